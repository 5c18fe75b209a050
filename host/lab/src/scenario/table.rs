//! Settings as tables: each key of a section of scenario files, once.
//!
//! A [`Key`] has a name, which ends in its unit, a meaning, what is allowed, and the way to its
//! place in a [`Scenario`](super::Scenario). From a table of keys come the reading of a file
//! ([`read`]), the messages about what is wrong in it, and the table in `SCENARIO.md`
//! ([`markdown`]), whose defaults are those of the value that the stack or the lab begins with. So
//! none of them can say what the others do not.

use super::error::Result;
use super::read::Reader;
use kinglet::time::Duration;
use std::ops::RangeInclusive;

/// One setting in a `T`.
pub(super) struct Key<T: 'static> {
    name: &'static str,
    meaning: &'static str,
    value: Value<T>,
    /// What to say of the default where the value to begin with does not tell.
    default: Option<&'static str>,
    /// What is allowed, in other words than those of the range.
    allowed: Option<&'static str>,
    /// Another key that says the same in another unit.
    instead_of: Option<&'static str>,
    /// A key without which this one has no meaning.
    needs: Option<&'static str>,
    required: bool,
}

/// What can be written, and how it is read from and put into a `T`. What is not there in the form
/// of this key (a size in octets that is given in segments) is `None`.
pub(super) enum Value<T: 'static> {
    /// `true` or `false`.
    Flag { get: fn(&T) -> bool, set: fn(&mut T, bool) },
    /// A whole number.
    Whole { range: RangeInclusive<u64>, bound: Bound<T>, get: Get<T, u64>, set: fn(&mut T, u64) },
    /// Any number.
    Number { range: RangeInclusive<f64>, bound: Bound<T>, get: Get<T, f64>, set: fn(&mut T, f64) },
    /// A number in the unit of the name, kept as a time. `per_second` of the unit are a second.
    Time {
        range: RangeInclusive<f64>,
        per_second: f64,
        whole: bool,
        get: Get<T, Duration>,
        set: fn(&mut T, Duration),
    },
    /// One of these words, by its place.
    Choice { names: &'static [&'static str], get: Get<T, usize>, set: fn(&mut T, usize) },
    /// Any text.
    Text { get: fn(&T) -> &str, set: fn(&mut T, String) },
    /// Tables, or a node, which whoever reads the section reads.
    Apart,
}

/// How a value is found in a `T`.
pub(super) type Get<T, V> = fn(&T) -> Option<V>;

/// Another setting of the same section that narrows a range.
pub(super) enum Bound<T: 'static> {
    /// None does.
    No,
    /// At least what that key says.
    Least(&'static str, fn(&T) -> f64),
    /// At most what that key says.
    Most(&'static str, fn(&T) -> f64),
}

impl<T> Bound<T> {
    fn narrow(&self, target: &T, low: f64, high: f64) -> (f64, f64) {
        match self {
            Bound::No => (low, high),
            Bound::Least(_, of) => (low.max(of(target)), high),
            Bound::Most(_, of) => (low, high.min(of(target))),
        }
    }
}

impl<T> Key<T> {
    /// A key with this value.
    pub(super) const fn new(name: &'static str, value: Value<T>, meaning: &'static str) -> Self {
        Key {
            name,
            meaning,
            value,
            default: None,
            allowed: None,
            instead_of: None,
            needs: None,
            required: false,
        }
    }

    /// The same with this said of its default.
    pub(super) const fn default(mut self, text: &'static str) -> Self {
        self.default = Some(text);
        self
    }

    /// The same with this said of what is allowed.
    pub(super) const fn allowed(mut self, text: &'static str) -> Self {
        self.allowed = Some(text);
        self
    }

    /// The same, refused beside `other`.
    pub(super) const fn instead_of(mut self, other: &'static str) -> Self {
        self.instead_of = Some(other);
        self
    }

    /// The same, refused without `other`.
    pub(super) const fn needs(mut self, other: &'static str) -> Self {
        self.needs = Some(other);
        self
    }

    /// The same, which has to be given.
    pub(super) const fn required(mut self) -> Self {
        self.required = true;
        self.default("required")
    }

    fn read(&self, t: &mut Reader<'_>, target: &mut T) -> Result<()> {
        let key = self.name;
        match &self.value {
            Value::Flag { set, .. } => {
                if let Some(flag) = t.boolean_opt(key)? {
                    set(target, flag);
                }
            }
            Value::Whole { range, bound, set, .. } => {
                let (low, high) = bound.narrow(target, 0.0, u32::MAX.into());
                let low = (low as u64).max(*range.start());
                let high = match bound {
                    Bound::Most(..) => (high as u64).min(*range.end()),
                    _ => *range.end(),
                };
                if let Some(number) = t.integer_opt(key, low..=high)? {
                    set(target, number);
                }
            }
            Value::Number { range, bound, set, .. } => {
                let (low, high) = bound.narrow(target, *range.start(), *range.end());
                if let Some(number) = t.number_opt(key, low..=high)? {
                    set(target, number);
                }
            }
            Value::Time { range, per_second, whole, set, .. } => {
                let number = match whole {
                    true => t
                        .integer_opt(key, *range.start() as u64..=*range.end() as u64)?
                        .map(|number| number as f64),
                    false => t.number_opt(key, range.clone())?,
                };
                if let Some(number) = number {
                    set(target, Duration::from_micros((number * (1e6 / per_second)) as u64));
                }
            }
            Value::Choice { names, set, .. } => self.choose(t, names, *set, target)?,
            Value::Text { set, .. } => {
                if let Some(text) = t.string_opt(key)? {
                    set(target, text.to_owned());
                }
            }
            Value::Apart => {}
        }
        Ok(())
    }

    fn choose(
        &self,
        t: &mut Reader<'_>,
        names: &[&'static str],
        set: fn(&mut T, usize),
        target: &mut T,
    ) -> Result<()> {
        let places: Vec<_> = names.iter().enumerate().map(|(place, name)| (*name, place)).collect();
        match t.choice_opt(self.name, &places)? {
            Some(place) => set(target, place),
            None if self.required => {
                let message = format!("missing; give one of {}", quoted(names));
                return Err(t.error_at(self.name, message));
            }
            None => {}
        }
        Ok(())
    }

    /// Refuses what the rest of its section does not admit.
    fn check(&self, t: &Reader<'_>) -> Result<()> {
        if !t.has(self.name) {
            return Ok(());
        }
        if let Some(other) = self.instead_of.filter(|other| t.has(other)) {
            let message = format!("give either {} or {other}, not both", self.name);
            return Err(t.error_at(self.name, message));
        }
        // `routing = "aodv"` is about the key `routing`.
        let has = |other: &str| other.split(' ').next().is_some_and(|key| t.has(key));
        if let Some(other) = self.needs.filter(|other| !has(other)) {
            return Err(t.error_at(self.name, format!("has no meaning without {other}")));
        }
        Ok(())
    }

    fn row(&self, begin: &T) -> String {
        let of = |low: f64, high: f64, bound: &Bound<T>| match bound {
            Bound::No => format!("{} to {}", plain(low), plain(high)),
            Bound::Least(key, _) => format!("`{key}` to {}", plain(high)),
            Bound::Most(key, _) => format!("{} to `{key}`", plain(low)),
        };
        let (allowed, default) = match &self.value {
            Value::Flag { get, .. } => ("boolean".to_owned(), Some(format!("`{}`", get(begin)))),
            Value::Whole { range, bound, get, .. } => {
                let allowed = of(*range.start() as f64, *range.end() as f64, bound);
                (allowed, get(begin).map(|number| number.to_string()))
            }
            Value::Number { range, bound, get, .. } => {
                (of(*range.start(), *range.end(), bound), get(begin).map(plain))
            }
            Value::Time { range, per_second, get, .. } => {
                let number = |time: Duration| plain(time.as_micros() as f64 * per_second / 1e6);
                let allowed = of(*range.start(), *range.end(), &Bound::No);
                (allowed, get(begin).map(number))
            }
            Value::Choice { names, get, .. } => {
                let names: Vec<_> = names.iter().map(|name| format!("`\"{name}\"`")).collect();
                let default = get(begin).and_then(|place| names.get(place).cloned());
                (names.join(", "), default)
            }
            Value::Text { get, .. } => ("text".to_owned(), Some(format!("`\"{}\"`", get(begin)))),
            Value::Apart => (String::new(), None),
        };
        let allowed = self.allowed.map_or(allowed, str::to_owned);
        let default = self.default.map_or(default.unwrap_or_default(), str::to_owned);
        let cells = [format!("`{}`", self.name), self.meaning.to_owned(), allowed, default];
        let cells = cells.map(|cell| if cell.is_empty() { cell } else { format!("{cell} ") });
        format!("| {}\n", cells.map(|cell| format!("{cell}| ")).concat().trim_end())
    }
}

/// Reads what `t` says of `keys` into `target`.
///
/// # Errors
/// The first value that is not allowed, with its place in the file.
pub(super) fn read<T>(t: &mut Reader<'_>, keys: &[Key<T>], target: &mut T) -> Result<()> {
    for key in keys {
        key.read(t, target)?;
    }
    keys.iter().try_for_each(|key| key.check(t))
}

/// The table of these keys; `begin` has the defaults.
pub(super) fn markdown<T>(keys: &[Key<T>], begin: &T) -> String {
    keys.iter().map(|key| key.row(begin)).collect()
}

/// A number as people write it, with a minus sign that is one.
fn plain(number: f64) -> String {
    number.to_string().replace('-', "−")
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// A boolean at this path of the target.
macro_rules! flag {
    ($($at:ident).+) => {
        $crate::scenario::table::Value::Flag {
            get: |t| t.$($at).+,
            set: |t, flag| t.$($at).+ = flag,
        }
    };
}

/// A whole number of this type and range at this path of the target.
macro_rules! whole {
    ($range:expr, $($at:ident).+ : $type:ty $(, $bound:expr)?) => {
        $crate::scenario::table::Value::Whole {
            range: $range,
            bound: $crate::scenario::table::bound!($($bound)?),
            get: |t| Some(t.$($at).+.into()),
            set: |t, number| t.$($at).+ = number as $type,
        }
    };
}

/// Any number of this range at this path of the target.
macro_rules! number {
    ($range:expr, $($at:ident).+) => {
        $crate::scenario::table::Value::Number {
            range: $range,
            bound: $crate::scenario::table::Bound::No,
            get: |t| Some(t.$($at).+),
            set: |t, number| t.$($at).+ = number,
        }
    };
}

/// Whole milliseconds at this path of the target.
macro_rules! millis {
    ($range:expr, $($at:ident).+) => {
        $crate::scenario::table::Value::Time {
            range: $range,
            per_second: 1e3,
            whole: true,
            get: |t| Some(t.$($at).+),
            set: |t, time| t.$($at).+ = time,
        }
    };
}

/// One of these, under these names, at this path of the target.
macro_rules! choice {
    ($($at:ident).+ ; $($name:literal => $value:expr),+ $(,)?) => {
        $crate::scenario::table::Value::Choice {
            names: &[$($name),+],
            get: |t| [$($value),+].iter().position(|value| *value == t.$($at).+),
            set: |t, place| {
                if let Some(value) = [$($value),+].into_iter().nth(place) {
                    t.$($at).+ = value;
                }
            },
        }
    };
}

/// The bound if there is one.
macro_rules! bound {
    () => {
        $crate::scenario::table::Bound::No
    };
    ($bound:expr) => {
        $bound
    };
}

pub(super) use {bound, choice, flag, millis, number, whole};
