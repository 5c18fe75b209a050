//! Expressions and templates of `experiment.toml`: MiniJinja's, with columns as functions.
//!
//! `goodput(frames=5)` is the mean of that column at the point with this value of the field
//! `frames`; fields that are not named have the values of the point in question. A list of values
//! yields the list of means. `ci95('goodput', …)`, which is 0 with one seed, and `bound('goodput',
//! …)` are other parts of a row.

use super::error::{Place, hint};
use super::point::{Planned, Values};
use crate::experiment::Model;
use crate::layout::{Format, bound, one_hop_bound};
use crate::row::Row;
use crate::scenario::{RadioProfile, ScenarioError, tcplp};
use minijinja::value::Kwargs;
use minijinja::{Environment, Error, ErrorKind, UndefinedBehavior, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The language.
pub(super) fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_debug(true);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("fixed", |value: f64, digits: usize| format!("{value:.digits$}"));
    environment.add_filter("ratios", |values: Vec<f64>| {
        values.windows(2).map(|pair| pair[1] / pair[0]).collect::<Vec<f64>>()
    });
    environment.add_filter("place", |values: Vec<f64>, value: f64| {
        values.iter().position(|it| *it == value)
    });
    environment.add_filter("nearest", |values: Vec<f64>, to: f64| {
        let far = |place: &usize| (values[*place] - to).abs();
        (0..values.len()).min_by(|a, b| far(a).total_cmp(&far(b)))
    });
    environment.add_filter("sqrt", f64::sqrt);
    environment.add_filter("ceil", |value: f64| value.ceil() as i64);
    environment.add_filter("title", |model: &str| model_of(model).map(Model::name));
    environment.add_filter("suffix", |model: &str| model_of(model).map(Model::suffix));
    environment.add_function("segment_bound", segment_bound);
    environment.add_function("one_hop_bound", || one_hop_bound().kbps);
    environment.add_function("sharing", sharing);
    environment
}

/// Number of links of a line that exclude each other under a model of the medium.
fn sharing(model: &str, hops: u32) -> Result<f64, Error> {
    Ok(model_of(model)?.sharing(hops))
}

fn model_of(name: &str) -> Result<Model, Error> {
    let known = Model::ALL.into_iter().find(|model| model.key() == name);
    known.ok_or_else(|| {
        invalid(format!("no model `{name}`; {}", hint(name, &Model::ALL.map(Model::key))))
    })
}

/// Bound of the goodput over one hop, kb/s, with segments of so many frames. A segment is as long
/// as fits on any hop; between neighbours its headers are shorter.
fn segment_bound(frames: usize) -> f64 {
    let mss = Format::of(&tcplp::MAC, true).mss_for_frames(frames);
    let format = Format::between_neighbours(&tcplp::MAC, true);
    bound(RadioProfile::At86rf233, &tcplp::MAC, format, mss, 2).kbps
}

/// Whether `name` is a function of the language.
pub(super) fn is_function(name: &str) -> bool {
    environment().globals().any(|(known, _)| known == name)
}

/// Names that an expression may use.
pub(super) struct Known<'a>(pub(super) BTreeSet<&'a str>);

impl Known<'_> {
    /// Checks the form of an expression, and its names.
    ///
    /// # Errors
    /// The position of the error in the file, and the nearest name.
    pub(super) fn expression(&self, place: Place<'_>, text: &str) -> Result<(), ScenarioError> {
        let environment = environment();
        let compiled = environment.compile_expression_owned(text.to_owned());
        let compiled = compiled.map_err(|error| refused(place, text, &error))?;
        self.names(&environment, place, text, compiled.undeclared_variables(false))
    }

    /// The same for a template.
    ///
    /// # Errors
    /// As those of an expression.
    pub(super) fn template(&self, place: Place<'_>, text: &str) -> Result<(), ScenarioError> {
        let environment = environment();
        let compiled = environment.template_from_str(text);
        let compiled = compiled.map_err(|error| refused(place, text, &error))?;
        self.names(&environment, place, text, compiled.undeclared_variables(false))
    }

    fn names(
        &self,
        environment: &Environment<'_>,
        place: Place<'_>,
        text: &str,
        used: impl IntoIterator<Item = String>,
    ) -> Result<(), ScenarioError> {
        let of_language: BTreeSet<&str> = environment.globals().map(|(name, _)| name).collect();
        let known = |name: &str| self.0.contains(name) || of_language.contains(name);
        // In a fixed order, so that the message is the same each time.
        let used: BTreeSet<String> = used.into_iter().collect();
        let Some(name) = used.iter().find(|name| !known(name)) else { return Ok(()) };
        let names: Vec<&str> = self.0.iter().copied().collect();
        let message = format!("`{name}` is no field, column or value; {}", hint(name, &names));
        Err(place.inside(text, text.find(name.as_str()).unwrap_or(0), message))
    }
}

fn refused(place: Place<'_>, text: &str, error: &Error) -> ScenarioError {
    let offset = error.range().map_or(0, |range| range.start);
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    place.inside(text, offset, format!("not a valid expression: {detail}"))
}

/// Reason why there is no value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    /// A point was not measured.
    Missing,
    /// The expression has another fault.
    Fault(String),
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Absent::Missing => f.write_str("points are missing"),
            Absent::Fault(fault) => f.write_str(fault),
        }
    }
}

/// Rows of each column, by the values of their point's fields.
type Index = BTreeMap<String, Vec<(Values, Row)>>;
/// Part of a row.
type Part = fn(&Row) -> Option<f64>;

/// What an expression sees: the fields of one point, and the columns of all.
#[derive(Clone)]
pub(super) struct Scope {
    names: BTreeMap<String, Value>,
    /// A column has no value at one of the points.
    missing: Arc<AtomicBool>,
}

impl Scope {
    /// The fields of `here` alone.
    pub(super) fn of_fields(here: &Values) -> Self {
        Scope { names: here.clone(), missing: Arc::default() }
    }

    /// The scope of the point `here` among `points`, with the measured `columns`.
    pub(super) fn new(
        points: &[Planned],
        rows: &[Row],
        columns: &BTreeSet<&str>,
        here: &Values,
    ) -> Self {
        let mut index: Index = columns.iter().map(|name| ((*name).to_owned(), vec![])).collect();
        for row in rows {
            let point = points.iter().find(|point| point.name == row.label);
            if let (Some(point), Some(found)) = (point, index.get_mut(&row.metric)) {
                found.push((point.at.clone(), row.clone()));
            }
        }
        let Scope { mut names, missing } = Scope::of_fields(here);
        let find = Find { index: Arc::new(index), here: here.clone(), missing: missing.clone() };
        for column in columns {
            let (find, name) = (find.clone(), (*column).to_owned());
            let of = move |at: Kwargs| find.all(&name, &at, |row| Some(row.mean));
            names.insert((*column).to_owned(), Value::from_function(of));
        }
        let half: Part = |row| Some(row.ci95.unwrap_or(0.0));
        let parts: [(&str, Part); 2] = [("ci95", half), ("bound", |row| row.bound)];
        for (name, part) in parts {
            let find = find.clone();
            let of = move |column: &str, at: Kwargs| find.all(column, &at, part);
            names.insert(name.to_owned(), Value::from_function(of));
        }
        let values = move |column: &str, at: Kwargs| find.values(column, &at);
        names.insert("values".to_owned(), Value::from_function(values));
        Scope { names, missing }
    }

    /// The same with one more name.
    pub(super) fn with(mut self, name: &str, value: Value) -> Self {
        self.names.insert(name.to_owned(), value);
        self
    }

    /// Evaluates an expression and keeps its value under `name`.
    ///
    /// # Errors
    /// [`Absent`]
    pub(super) fn define(&mut self, name: &str, expression: &str) -> Result<(), Absent> {
        let value = self.value(expression)?;
        self.names.insert(name.to_owned(), value);
        Ok(())
    }

    /// The value of an expression.
    ///
    /// # Errors
    /// [`Absent`]
    pub(super) fn value(&self, expression: &str) -> Result<Value, Absent> {
        let environment = environment();
        let compiled = environment.compile_expression(expression);
        compiled.and_then(|it| it.eval(Value::from(self.names.clone()))).map_err(|e| self.why(&e))
    }

    /// The number that an expression yields.
    ///
    /// # Errors
    /// [`Absent`]
    pub(super) fn number(&self, expression: &str) -> Result<f64, Absent> {
        let value = self.value(expression)?;
        let fault = |_| Absent::Fault(format!("`{expression}` yields no number"));
        f64::try_from(value).map_err(fault)
    }

    /// Whether a condition is met.
    ///
    /// # Errors
    /// [`Absent`]
    pub(super) fn is(&self, condition: &str) -> Result<bool, Absent> {
        Ok(self.value(condition)?.is_true())
    }

    /// The text of a template.
    ///
    /// # Errors
    /// [`Absent`]
    pub(super) fn text(&self, template: &str) -> Result<String, Absent> {
        let text = environment().render_str(template, Value::from(self.names.clone()));
        text.map_err(|error| self.why(&error))
    }

    fn why(&self, error: &Error) -> Absent {
        match self.missing.load(Ordering::Relaxed) {
            true => Absent::Missing,
            false => Absent::Fault(error.to_string()),
        }
    }
}

/// One point, or a list of them by the values of a field.
enum Points {
    One(Values),
    List(String, Vec<Values>),
}

/// Finds rows.
#[derive(Clone)]
struct Find {
    index: Arc<Index>,
    here: Values,
    missing: Arc<AtomicBool>,
}

impl Find {
    /// A part of the row at `at`; a list for a field with a list of values.
    fn all(&self, column: &str, at: &Kwargs, part: Part) -> Result<Value, Error> {
        match self.points(at)? {
            Points::One(at) => Ok(Value::from(self.one(column, &at, part)?)),
            Points::List(_, points) => {
                let each = points.iter().map(|at| self.one(column, at, part));
                Ok(Value::from(each.collect::<Result<Vec<f64>, Error>>()?))
            }
        }
    }

    /// The values of a field, given as a list, at which a column has a value.
    fn values(&self, column: &str, at: &Kwargs) -> Result<Value, Error> {
        let Points::List(field, points) = self.points(at)? else {
            return Err(invalid("give a list of values of one field".to_owned()));
        };
        let missing = self.missing.load(Ordering::Relaxed);
        let is_known = |at: &&Values| self.one(column, at, |row| Some(row.mean)).is_ok();
        let known = points.iter().filter(is_known).map(|at| at[&field].clone());
        let known: Vec<Value> = known.collect();
        // Without any of them there is nothing to judge.
        self.missing.store(missing || known.is_empty(), Ordering::Relaxed);
        match known.is_empty() {
            true => Err(invalid(format!("no value of {column}"))),
            false => Ok(Value::from(known)),
        }
    }

    /// The points at these values of fields.
    fn points(&self, at: &Kwargs) -> Result<Points, Error> {
        let mut here = self.here.clone();
        let mut list: Option<(String, Vec<Value>)> = None;
        for field in at.args() {
            let value: Value = at.get(field)?;
            let Some(known) = here.get_mut(field) else {
                let names: Vec<&str> = self.here.keys().map(String::as_str).collect();
                return Err(invalid(format!("no field `{field}`; {}", hint(field, &names))));
            };
            match value.as_str().is_none().then(|| value.try_iter()) {
                Some(Ok(values)) if list.is_none() => {
                    list = Some((field.to_owned(), values.collect()));
                }
                Some(Ok(_)) => return Err(invalid("one field can have a list of values".into())),
                _ => *known = value,
            }
        }
        let Some((field, values)) = list else { return Ok(Points::One(here)) };
        let with = |value| {
            let mut at = here.clone();
            at.insert(field.clone(), value);
            at
        };
        let points = values.into_iter().map(with).collect();
        Ok(Points::List(field.clone(), points))
    }

    fn one(&self, column: &str, at: &Values, part: Part) -> Result<f64, Error> {
        let Some(rows) = self.index.get(column) else {
            let names: Vec<&str> = self.index.keys().map(String::as_str).collect();
            return Err(invalid(format!("no column `{column}`; {}", hint(column, &names))));
        };
        let row = rows.iter().find(|(values, _)| values == at);
        row.and_then(|(_, row)| part(row)).ok_or_else(|| {
            self.missing.store(true, Ordering::Relaxed);
            invalid(format!("no value of {column}"))
        })
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}
