//! Settings as tables: each key of a section of scenario files is defined once.
//!
//! A [`Key`] has a name, which ends in its unit, a meaning, a range, and accessors to its place in
//! a [`Scenario`](super::Scenario). A table of keys drives the reading of a file ([`read`]), its
//! error messages, and the table in `SCENARIO.md` ([`markdown`]), whose defaults are those of the
//! stack or the lab. All three are therefore always consistent.

use super::error::Result;
use super::read::Reader;
use kinglet::time::Duration;
use std::ops::RangeInclusive;

/// One setting in a `T`.
pub(super) struct Key<T: 'static> {
    name: &'static str,
    meaning: &'static str,
    value: Value<T>,
    /// Description of the default, if it cannot be read from the initial value.
    default: Option<&'static str>,
    /// Description of the allowed values, if the range does not suffice.
    allowed: Option<&'static str>,
    /// Another key for the same setting in another unit.
    instead_of: Option<&'static str>,
    /// A key without which this one has no meaning.
    needs: Option<&'static str>,
    required: bool,
}

/// Type of a value, and its accessors in a `T`. A getter returns `None` if the value has another
/// form than that of this key (a size in octets that is given in segments).
pub(super) enum Value<T: 'static> {
    /// `true` or `false`.
    Flag { get: fn(&T) -> bool, set: fn(&mut T, bool) },
    /// A whole number.
    Whole { range: RangeInclusive<u64>, bound: Bound<T>, get: Get<T, u64>, set: fn(&mut T, u64) },
    /// Any number.
    Number { range: RangeInclusive<f64>, bound: Bound<T>, get: Get<T, f64>, set: fn(&mut T, f64) },
    /// A number in the unit of the name, kept as a time. `per_second` units are a second.
    Time {
        range: RangeInclusive<f64>,
        per_second: f64,
        whole: bool,
        get: Get<T, Duration>,
        set: fn(&mut T, Duration),
    },
    /// One of these words, by its index.
    Choice { names: &'static [&'static str], get: Get<T, usize>, set: fn(&mut T, usize) },
    /// Any text.
    Text { get: fn(&T) -> &str, set: fn(&mut T, String) },
    /// Tables, or a node: read by the code of the section.
    Apart,
}

/// Getter of a value in a `T`.
pub(super) type Get<T, V> = fn(&T) -> Option<V>;

/// Another setting of the same section that narrows a range.
pub(super) enum Bound<T: 'static> {
    /// No bound.
    No,
    /// At least the value of that key.
    Least(&'static str, fn(&T) -> f64),
    /// At most the value of that key.
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

    /// Adds a description of its default.
    pub(super) const fn default(mut self, text: &'static str) -> Self {
        self.default = Some(text);
        self
    }

    /// Adds a description of the allowed values.
    pub(super) const fn allowed(mut self, text: &'static str) -> Self {
        self.allowed = Some(text);
        self
    }

    /// Makes it an alternative to `other`: both together are refused.
    pub(super) const fn instead_of(mut self, other: &'static str) -> Self {
        self.instead_of = Some(other);
        self
    }

    /// Makes it refused without `other`.
    pub(super) const fn needs(mut self, other: &'static str) -> Self {
        self.needs = Some(other);
        self
    }

    /// Makes it mandatory.
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

    /// Refuses a key that conflicts with the rest of its section.
    fn check(&self, t: &Reader<'_>) -> Result<()> {
        if !t.has(self.name) {
            return Ok(());
        }
        if let Some(other) = self.instead_of.filter(|other| t.has(other)) {
            let message = format!("give either {} or {other}, not both", self.name);
            return Err(t.error_at(self.name, message));
        }
        // For `routing = "aodv"` the key is `routing`.
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

/// Reads the values of `keys` in `t` into `target`.
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

/// A number in common notation, with a typographic minus sign.
fn plain(number: f64) -> String {
    number.to_string().replace('-', "−")
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// A boolean at this path of the target.
macro_rules! flag {
    ($($at:ident).+) => {
        $crate::table::Value::Flag {
            get: |t| t.$($at).+,
            set: |t, flag| t.$($at).+ = flag,
        }
    };
}

/// A whole number of this type and range at this path of the target.
macro_rules! whole {
    ($range:expr, $($at:ident).+ : $type:ty $(, $bound:expr)?) => {
        $crate::table::Value::Whole {
            range: $range,
            bound: $crate::table::bound!($($bound)?),
            get: |t| Some(t.$($at).+.into()),
            set: |t, number| t.$($at).+ = number as $type,
        }
    };
}

/// Any number of this range at this path of the target.
macro_rules! number {
    ($range:expr, $($at:ident).+) => {
        $crate::table::Value::Number {
            range: $range,
            bound: $crate::table::Bound::No,
            get: |t| Some(t.$($at).+),
            set: |t, number| t.$($at).+ = number,
        }
    };
}

/// Whole milliseconds at this path of the target.
macro_rules! millis {
    ($range:expr, $($at:ident).+) => {
        $crate::table::Value::Time {
            range: $range,
            per_second: 1e3,
            whole: true,
            get: |t| Some(t.$($at).+),
            set: |t, time| t.$($at).+ = time,
        }
    };
}

/// One of these words at this path of the target.
macro_rules! choice {
    ($($at:ident).+ ; $($name:literal => $value:expr),+ $(,)?) => {
        $crate::table::Value::Choice {
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
        $crate::table::Bound::No
    };
    ($bound:expr) => {
        $bound
    };
}

pub(super) use {bound, choice, flag, millis, number, whole};
