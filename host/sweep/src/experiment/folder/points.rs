//! Fields of an experiment, and its points: values of all fields.

use super::columns::{CARRIERS, Column, Given};
use super::error::{Place, hint};
use super::file::{File, Group, Text};
use super::formula::{Absent, Known, Scope};
use super::point::{Planned, Values};
use crate::experiment::{Effort, Model};
use crate::metric::Metric;
use kinglet_scenario::read::Source;
use kinglet_scenario::{FieldPath, Scenario, ScenarioError};
use minijinja::Value;
use std::collections::BTreeMap;
use toml::{Spanned, Table};

/// The field whose value is the carrier of the sensors that a point measures.
const CARRIER: &str = "carrier";
/// The field whose value is the hour of the day in which a point measures.
const HOUR: &str = "hour";
/// The field whose value is the number of the node that a point measures.
const NODE: &str = "node";
/// Cases that are part of the program: the models of the medium.
const MODELS: &str = "@models";

/// A varied field.
pub(super) enum Field {
    /// The value of keys of the scenario, with that of the base.
    Keys(Vec<FieldPath>, Value),
    /// Named cases with their settings; the one without settings is the base.
    Cases(BTreeMap<String, Table>, String),
    /// Values without settings, which affect what is measured or what settings compute; the base
    /// has the first one.
    Values(Vec<Value>),
    /// Models of the medium; the base has the first one.
    Models,
}

impl Field {
    /// Reads the fields of a file, whose base scenario is `base`.
    ///
    /// # Errors
    /// A [`ScenarioError`] with line and key.
    pub(super) fn all(
        source: Source<'_>,
        file: &File,
        base: &Table,
    ) -> Result<BTreeMap<String, Field>, ScenarioError> {
        let read = |(name, value): (&String, &Spanned<toml::Value>)| {
            let key = format!("fields.{name}");
            let place = Place::of(source, &key, value);
            Ok((name.clone(), Field::read(value.get_ref(), base).map_err(|e| place.error(e))?))
        };
        file.fields.iter().map(read).collect()
    }

    fn read(value: &toml::Value, base: &Table) -> Result<Field, String> {
        match value {
            toml::Value::String(name) if name == MODELS => Ok(Field::Models),
            toml::Value::String(keys) => {
                let paths = keys.split(',').flat_map(|key| entries(base, &FieldPath::parse(key)));
                let paths: Vec<FieldPath> = paths.collect();
                let mut values = paths.iter().map(|path| {
                    path.get(base).and_then(scalar).ok_or_else(|| {
                        format!("the base scenario has no value of `{path}`; give it there")
                    })
                });
                let default = values.next().ok_or("the base scenario has no such entry")??;
                // The point with the default is the base.
                match values.all(|value| value.is_ok_and(|value| value == default)) {
                    true => Ok(Field::Keys(paths, default)),
                    false => Err(format!("`{keys}` differ in the base scenario")),
                }
            }
            toml::Value::Table(cases) => {
                let table = |(name, case): (&String, &toml::Value)| match case {
                    toml::Value::Table(settings) => Ok((name.clone(), settings.clone())),
                    other => Err(format!(
                        "the case `{name}` is a {}, not a table of settings",
                        other.type_str()
                    )),
                };
                let cases: BTreeMap<_, _> = cases.iter().map(table).collect::<Result<_, _>>()?;
                let bases = cases.iter().filter(|(_, settings)| settings.is_empty());
                let base = bases.map(|(name, _)| name.clone()).next();
                let base = base.ok_or("no case is that of the base scenario: give one as {}")?;
                Ok(Field::Cases(cases, base))
            }
            toml::Value::Array(values) if !values.is_empty() => {
                let values: Option<Vec<Value>> = values.iter().map(scalar).collect();
                values.map(Field::Values).ok_or_else(|| "expected a list of values".to_owned())
            }
            other => Err(format!(
                "expected a key of the scenario, \"{MODELS}\", a table of cases or a list of \
                 values, found a {}",
                other.type_str()
            )),
        }
    }

    /// The value that the base scenario has.
    pub(super) fn default(&self) -> Value {
        match self {
            Field::Keys(_, value) => value.clone(),
            Field::Cases(_, base) => Value::from(base),
            Field::Values(values) => values.first().cloned().unwrap_or_default(),
            Field::Models => Value::from(Model::ALL[0].key()),
        }
    }

    /// Checks a value.
    fn check(&self, value: &Value) -> Result<(), String> {
        let names: Vec<String> = match self {
            Field::Keys(..) => return Ok(()),
            Field::Cases(cases, _) => cases.keys().cloned().collect(),
            Field::Values(values) => values.iter().map(Value::to_string).collect(),
            Field::Models => Model::ALL.map(|model| model.key().to_owned()).into(),
        };
        let name = value.to_string();
        if names.contains(&name) {
            return Ok(());
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Err(format!("`{name}` is no case of this field; {}", hint(&name, &names)))
    }

    /// Sets this field of a scenario; `scope` has all fields of the point.
    pub(super) fn set(
        &self,
        table: &mut Table,
        value: &Value,
        scope: &Scope,
    ) -> Result<(), String> {
        match self {
            Field::Keys(paths, _) => {
                paths.iter().try_for_each(|path| path.set(table, toml_of(value)))
            }
            Field::Cases(cases, _) => match cases.get(&value.to_string()) {
                Some(settings) => merge(table, settings, scope),
                None => Ok(()),
            },
            // A model depends on the nodes, so that it is applied to the whole scenario.
            Field::Values(_) | Field::Models => Ok(()),
        }
    }

    /// Completes the scenario after its table was read.
    pub(super) fn complete(&self, scenario: &mut Scenario, value: &Value) {
        // The first one is that of the base.
        let others = &Model::ALL[1..];
        let model = others.iter().find(|model| value.as_str() == Some(model.key()));
        if let (Field::Models, Some(model)) = (self, model) {
            model.apply(scenario);
        }
    }
}

/// The path with `*` replaced by each number of an entry: `flow.*.period_ms`.
fn entries(table: &Table, path: &FieldPath) -> Vec<FieldPath> {
    let Some(star) = path.parts().iter().position(|part| part == ALL) else {
        return vec![path.clone()];
    };
    let (above, below) = (path.parts()[..star].join("."), path.parts()[star + 1..].join("."));
    let list = FieldPath::parse(&above).get(table).and_then(toml::Value::as_array);
    let numbers = 0..list.map_or(0, Vec::len);
    numbers.map(|number| FieldPath::parse(&format!("{above}.{number}.{below}"))).collect()
}

/// In settings: the key or table is not given, so that it has its default.
const DEFAULT: &str = "@default";
/// Stands for all entries of a list.
const ALL: &str = "*";
/// Begin of a text that is an expression of the fields.
const EXPRESSION: &str = "= ";

/// A setting, with the values of its expressions.
fn evaluate(setting: &toml::Value, scope: &Scope) -> Result<toml::Value, String> {
    Ok(match setting {
        toml::Value::String(text) => match text.strip_prefix(EXPRESSION) {
            Some(text) => {
                let value = scope.value(text).map_err(|absent| format!("`{text}`: {absent}"))?;
                toml_of(&value)
            }
            None => setting.clone(),
        },
        toml::Value::Array(list) => {
            let list = list.iter().map(|it| evaluate(it, scope));
            toml::Value::Array(list.collect::<Result<_, _>>()?)
        }
        toml::Value::Table(table) => {
            let entries = table.iter().map(|(key, it)| Ok((key.clone(), evaluate(it, scope)?)));
            toml::Value::Table(entries.collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    })
}

/// Sets all values of `settings`, whose tables are merged and whose expressions see `scope`.
pub(super) fn merge(table: &mut Table, settings: &Table, scope: &Scope) -> Result<(), String> {
    let mut waiting = vec![(FieldPath::whole(), settings)];
    while let Some((above, settings)) = waiting.pop() {
        for (key, value) in settings {
            let path = above.join(key);
            match value {
                toml::Value::Table(inside) => waiting.push((path, inside)),
                toml::Value::String(word) if word == DEFAULT => path.remove(table),
                value => {
                    let value = evaluate(value, scope)?;
                    for path in entries(table, &path) {
                        path.set(table, value.clone())?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// A scalar as a value of the language.
pub(super) fn scalar(value: &toml::Value) -> Option<Value> {
    Some(match value {
        toml::Value::String(text) => Value::from(text),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Float(number) => Value::from(*number),
        toml::Value::Boolean(yes) => Value::from(*yes),
        _ => return None,
    })
}

/// The reverse of [`scalar`].
fn toml_of(value: &Value) -> toml::Value {
    if let Some(text) = value.as_str() {
        return toml::Value::String(text.to_owned());
    }
    match bool::try_from(value.clone()) {
        Ok(yes) if value.kind() == minijinja::value::ValueKind::Bool => toml::Value::Boolean(yes),
        _ => match value.as_i64().filter(|_| value.is_integer()) {
            Some(number) => toml::Value::Integer(number),
            None => toml::Value::Float(f64::try_from(value.clone()).unwrap_or(f64::NAN)),
        },
    }
}

/// The parts of a file that determine its points.
pub(super) struct Points<'a> {
    pub(super) source: Source<'a>,
    pub(super) file: &'a File,
    pub(super) fields: &'a BTreeMap<String, Field>,
}

impl Points<'_> {
    /// All points of the complete or the short form.
    ///
    /// # Errors
    /// A [`ScenarioError`] with line and key.
    pub(super) fn plan(&self, effort: Effort) -> Result<Vec<Planned>, ScenarioError> {
        let mut points = Vec::new();
        for (index, group) in self.file.points.iter().enumerate() {
            for at in self.combinations(group, effort)? {
                points.push(self.point(index, group, at)?);
            }
        }
        Ok(points)
    }

    /// The values of a group's points.
    fn combinations(&self, group: &Group, effort: Effort) -> Result<Vec<Values>, ScenarioError> {
        let mut given: Vec<_> = group.at.iter().collect();
        given.sort_by_key(|(_, value)| value.span().start);
        if effort == Effort::Quick {
            for (name, value) in &mut given {
                *value = group.quick_at.get(*name).unwrap_or(value);
            }
        }
        let defaults = self.fields.iter().map(|(name, field)| (name.clone(), field.default()));
        let all = self.vary(&defaults.collect(), given.into_iter())?;
        let Some(when) = &group.when else { return Ok(all) };
        let place = Place::of(self.source, "when", when);
        let known = Known(self.fields.keys().map(String::as_str).collect());
        known.expression(place, when.get_ref())?;
        let mut chosen = Vec::new();
        for at in all {
            let is = Scope::of_fields(&at).is(when.get_ref());
            if is.map_err(|absent| place.error(absent.to_string()))? {
                chosen.push(at);
            }
        }
        Ok(chosen)
    }

    /// `here` with values of fields in all combinations; the last field varies fastest.
    ///
    /// # Errors
    /// A [`ScenarioError`] with line and key.
    pub(super) fn vary<'b>(
        &self,
        here: &Values,
        given: impl Iterator<Item = (&'b String, &'b Spanned<toml::Value>)>,
    ) -> Result<Vec<Values>, ScenarioError> {
        let mut points = vec![here.clone()];
        for (name, values) in given {
            let values = self.values(name, values)?;
            let with = |point: Values| {
                let each = values.clone().into_iter();
                each.map(move |value| {
                    let mut point = point.clone();
                    point.insert(name.clone(), value);
                    point
                })
            };
            points = points.into_iter().flat_map(with).collect();
        }
        Ok(points)
    }

    /// One value of a field, or a list of them.
    ///
    /// # Errors
    /// A [`ScenarioError`] with line and key.
    pub(super) fn values(
        &self,
        name: &str,
        given: &Spanned<toml::Value>,
    ) -> Result<Vec<Value>, ScenarioError> {
        let place = Place::of(self.source, name, given);
        let Some(field) = self.fields.get(name) else {
            let names: Vec<&str> = self.fields.keys().map(String::as_str).collect();
            return Err(place.error(format!("no such field; {}", hint(name, &names))));
        };
        let list = match given.get_ref() {
            toml::Value::Array(values) => values.iter().collect(),
            value => vec![value],
        };
        let one = |value: &toml::Value| {
            let scalar = scalar(value).ok_or("expected a value or a list of values".to_owned())?;
            field.check(&scalar).map(|()| scalar)
        };
        list.into_iter().map(one).collect::<Result<_, _>>().map_err(|e| place.error(e))
    }

    fn point(&self, index: usize, group: &Group, at: Values) -> Result<Planned, ScenarioError> {
        let known = Known(self.fields.keys().map(String::as_str).collect());
        let scope = Scope::of_fields(&at);
        let template = |key: &str, text: &Text| {
            let place = Place::of(self.source, key, text);
            known.template(place, text.get_ref())?;
            scope.text(text.get_ref()).map_err(|absent| place.error(absent.to_string()))
        };
        let (name, curve) = (template("name", &group.name)?, template("curve", &group.curve)?);
        let place = Place::of(self.source, "x", &group.x);
        known.expression(place, group.x.get_ref())?;
        let x = scope.number(group.x.get_ref()).map_err(|e: Absent| place.error(e.to_string()))?;
        let metrics = self.metrics(group.columns.as_ref().unwrap_or(&self.file.columns), &at)?;
        // Plans are made once in a run of the program.
        let (curve, metrics) = (Box::leak(curve.into_boxed_str()), Vec::leak(metrics));
        Ok(Planned { at, name, curve, x, metrics, group: index })
    }

    fn metrics(&self, columns: &[Text], at: &Values) -> Result<Vec<Metric>, ScenarioError> {
        let carrier = at.get(CARRIER).and_then(Value::as_str);
        let find = |name: &str| CARRIERS.iter().find(|(of, _)| *of == name).map(|(_, it)| *it);
        let number = |field: &str| at.get(field).and_then(|it| it.to_string().parse().ok());
        let given =
            Given { carrier: carrier.and_then(find), hour: number(HOUR), node: number(NODE) };
        let metric = |key: &Text| {
            let place = Place::of(self.source, "columns", key);
            let Some(column) = Column::find(key.get_ref()) else {
                let keys: Vec<&str> = super::columns::COLUMNS.iter().map(|it| it.key).collect();
                return Err(place.error(format!("no such column; {}", hint(key.get_ref(), &keys))));
            };
            column.metric(given).ok_or_else(|| {
                let names = CARRIERS.map(|(name, _)| name).join(", ");
                place.error(format!("it needs {}; carriers are {names}", column.needs()))
            })
        };
        columns.iter().map(metric).collect()
    }
}
