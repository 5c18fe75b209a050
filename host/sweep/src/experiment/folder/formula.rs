//! Expressions and templates of `experiment.toml`: MiniJinja's, with columns as functions.
//!
//! `goodput(frames=5)` is the mean of that column at the point with this value of the field
//! `frames`; fields that are not named have the values of the point in question. A list of values
//! yields the list of means. `ci95('goodput', …)`, which is 0 with one seed, and `bound('goodput',
//! …)` are other parts of a row.

use super::error::{Place, hint};
use super::language::{environment, invalid};
use super::point::{Planned, Values};
use crate::row::Row;
use kinglet_scenario::ScenarioError;
use minijinja::value::Kwargs;
use minijinja::{Environment, Error, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns whether `name` is a function of the language.
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
pub enum Absent {
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

/// The names in an expression: the fields of one point, and the columns of all.
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
        let has = {
            let find = find.clone();
            move |column: &str, at: Kwargs| find.has(column, &at)
        };
        names.insert("has".to_owned(), Value::from_function(has));
        let every = {
            let find = find.clone();
            move |column: &str, at: Kwargs| find.every(column, &at, |point| point.1.mean)
        };
        names.insert("every".to_owned(), Value::from_function(every));
        let labels = {
            let find = find.clone();
            move |column: &str, at: Kwargs| find.every(column, &at, |point| point.1.label.clone())
        };
        names.insert("names".to_owned(), Value::from_function(labels));
        let over = {
            let find = find.clone();
            move |field: &str, column: &str, at: Kwargs| find.over(field, column, &at)
        };
        names.insert("over".to_owned(), Value::from_function(over));
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

    /// Whether a column has a value at the point, or at all points of a list.
    fn has(&self, column: &str, at: &Kwargs) -> Result<bool, Error> {
        let rows = self.rows(column)?;
        let points = match self.points(at)? {
            Points::One(at) => vec![at],
            Points::List(_, points) => points,
        };
        Ok(points.iter().all(|at| rows.iter().any(|(values, _)| values == at)))
    }

    /// A part of all rows of a column at points with these values of fields, whatever the others.
    fn every<T>(
        &self,
        column: &str,
        at: &Kwargs,
        part: fn(&(Values, Row)) -> T,
    ) -> Result<Vec<T>, Error> {
        let mut given: Vec<(&str, Value)> = Vec::new();
        for field in at.args() {
            self.known(field, &self.here)?;
            given.push((field, at.get(field)?));
        }
        let is_there = |row: &&(Values, Row)| given.iter().all(|(field, it)| row.0[*field] == *it);
        let parts: Vec<T> = self.rows(column)?.iter().filter(is_there).map(part).collect();
        if parts.is_empty() { Err(self.absent(column)) } else { Ok(parts) }
    }

    /// The means of a column at all planned values of a field at which it has one; for another
    /// field with a list of values, a list of such lists.
    fn over(&self, field: &str, column: &str, at: &Kwargs) -> Result<Value, Error> {
        self.known(field, &self.here)?;
        let rows = self.rows(column)?;
        let each = |here: &Values| {
            let others =
                |at: &Values| at.iter().all(|(name, it)| name == field || here[name] == *it);
            let means = rows.iter().filter(|(at, _)| others(at)).map(|(_, row)| row.mean);
            let means: Vec<f64> = means.collect();
            if means.is_empty() {
                return Err(self.absent(column));
            }
            Ok(Value::from(means))
        };
        match self.points(at)? {
            Points::One(here) => each(&here),
            Points::List(_, points) => {
                Ok(Value::from(points.iter().map(each).collect::<Result<Vec<_>, Error>>()?))
            }
        }
    }

    /// Refuses a name that is no field.
    fn known(&self, field: &str, here: &Values) -> Result<(), Error> {
        if here.contains_key(field) {
            return Ok(());
        }
        let names: Vec<&str> = here.keys().map(String::as_str).collect();
        Err(invalid(format!("no field `{field}`; {}", hint(field, &names))))
    }

    /// The points at these values of fields.
    fn points(&self, at: &Kwargs) -> Result<Points, Error> {
        let mut here = self.here.clone();
        let mut list: Option<(String, Vec<Value>)> = None;
        for field in at.args() {
            let value: Value = at.get(field)?;
            self.known(field, &here)?;
            match value.as_str().is_none().then(|| value.try_iter()) {
                Some(Ok(values)) if list.is_none() => {
                    list = Some((field.to_owned(), values.collect()));
                }
                Some(Ok(_)) => return Err(invalid("one field can have a list of values".into())),
                _ => {
                    here.insert(field.to_owned(), value);
                }
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
        let row = self.rows(column)?.iter().find(|(values, _)| values == at);
        row.and_then(|(_, row)| part(row)).ok_or_else(|| self.absent(column))
    }

    /// All rows of a column.
    fn rows(&self, column: &str) -> Result<&[(Values, Row)], Error> {
        let rows = self.index.get(column).map(Vec::as_slice);
        rows.ok_or_else(|| {
            let names: Vec<&str> = self.index.keys().map(String::as_str).collect();
            invalid(format!("no column `{column}`; {}", hint(column, &names)))
        })
    }

    /// The error of a column without a value, which is noted.
    fn absent(&self, column: &str) -> Error {
        self.missing.store(true, Ordering::Relaxed);
        invalid(format!("no value of {column}"))
    }
}
