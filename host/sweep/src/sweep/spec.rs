//! Definition of a sweep: a scenario, fields with their values, and seeds.

use kinglet_scenario::renamed::{Change, Upgraded, upgrade, upgrade_table};
use kinglet_scenario::{FieldPath, Scenario, ScenarioError};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use toml::de::DeTable;
use toml::{Table, Value};

/// A scenario, values for some of its fields in all combinations, and seeds.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// File of the fields and seeds, for messages.
    pub(super) file: PathBuf,
    pub(super) base: Base,
    pub(super) fields: Vec<Field>,
    pub(super) seeds: Vec<u64>,
    /// Old names in its file or fields, which were read as the new ones.
    pub(super) renamed: Vec<Change>,
}

/// The scenario whose fields vary.
#[derive(Clone, Debug)]
pub struct Base {
    /// Its file; paths in it are relative to this one.
    file: PathBuf,
    table: Table,
    /// The file's text, if there is one, to find lines in it.
    text: String,
    /// Path of the scenario in that text.
    under: FieldPath,
    renamed: Vec<Change>,
}

impl Base {
    /// Reads a scenario file and checks its form only.
    ///
    /// # Errors
    /// [`ScenarioError`]
    pub fn from_file(file: &Path) -> Result<Self, ScenarioError> {
        let text =
            std::fs::read_to_string(file).map_err(|e| ScenarioError::unreadable(file, &e))?;
        Base::from_text(file, &text)
    }

    /// The same for the text of a file.
    ///
    /// # Errors
    /// [`ScenarioError`]
    pub fn from_text(file: &Path, text: &str) -> Result<Self, ScenarioError> {
        let Upgraded { text, changes: renamed } = upgrade(file, text)?;
        let (file, table) = (file.to_path_buf(), parse(file, &text)?);
        Ok(Base { file, table, text, under: FieldPath::whole(), renamed })
    }

    /// A scenario from code; paths in it are relative to `file`.
    ///
    /// # Errors
    /// [`ScenarioError`] for a key that is given by its old and its new name.
    pub fn from_table(file: &Path, table: Table) -> Result<Self, ScenarioError> {
        let (table, renamed) = upgrade_table(file, table)?;
        let (text, under) = (String::new(), FieldPath::whole());
        Ok(Base { file: file.into(), table, text, under, renamed })
    }

    /// Old names in its file, which were read as the new ones.
    pub fn renamed(&self) -> &[Change] {
        &self.renamed
    }

    /// Its actual or assumed file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The table of the scenario.
    pub const fn table(&self) -> &Table {
        &self.table
    }

    /// Reads a scenario from a modified version of the table; messages name no lines.
    ///
    /// # Errors
    /// [`ScenarioError`]
    pub fn read(&self, table: &Table) -> Result<Scenario, ScenarioError> {
        let file = &self.file;
        let text = toml::to_string(table)
            .map_err(|error| ScenarioError::nowhere(file, "", error.to_string()))?;
        // The lines of that text are unknown to the user.
        Scenario::from_toml(&file.to_string_lossy(), &text)
    }

    /// The scenario under `key` in the text of a file.
    pub(super) fn inside(file: &Path, text: &str, key: &str, table: Table) -> Self {
        let (file, text) = (file.to_path_buf(), text.to_owned());
        // The names were replaced in the whole text.
        Base { file, table, text, under: FieldPath::parse(key), renamed: Vec::new() }
    }

    /// The same message with the position of the field in this scenario.
    pub fn placed(&self, error: ScenarioError) -> ScenarioError {
        let document = DeTable::parse(&self.text).ok();
        let path = match error.field.as_str() {
            "" => self.under.clone(),
            field => self.under.join(field),
        };
        let span = document.and_then(|document| path.locate(document.get_ref()));
        match span {
            Some(span) => {
                let place = ScenarioError::at(&self.file, &self.text, span, "", String::new());
                ScenarioError { file: place.file, position: place.position, ..error }
            }
            None => ScenarioError { file: self.file.clone(), position: None, ..error },
        }
    }
}

/// One field with its values.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) path: FieldPath,
    pub(super) values: Vec<Value>,
    /// Line and column of each value, if they are from a file.
    pub(super) places: Vec<(usize, usize)>,
}

/// A sweep as it is sent to workers, which get their seeds separately.
#[derive(Serialize, Deserialize)]
struct Sent {
    file: PathBuf,
    base: Table,
    fields: Vec<(String, Vec<Value>)>,
}

impl Sweep {
    /// A sweep from code. `fields` are dotted paths (`tcp.ack_every`, `flow.0.bytes`) with their
    /// values; without `seeds` the only one is that of the scenario.
    ///
    /// # Errors
    /// [`ScenarioError`] for fields without values and those that no sweep can have.
    pub fn new(
        base: Base,
        fields: Vec<(String, Vec<Value>)>,
        seeds: Option<Vec<u64>>,
    ) -> Result<Self, ScenarioError> {
        let (file, mut renamed, mut read) = (base.file.clone(), Vec::new(), Vec::new());
        for (path, values) in fields {
            let field = Table::from_iter([(path, Value::Array(values))]);
            let (field, changes) = upgrade_table(&file, field)?;
            renamed.extend(changes);
            read.extend(field.into_iter().filter_map(|(path, values)| match values {
                Value::Array(values) => {
                    Some(Field { path: FieldPath::parse(&path), values, places: Vec::new() })
                }
                _ => None,
            }));
        }
        let seeds = seeds.unwrap_or_else(|| vec![base.seed()]);
        let sweep = Sweep { file, base, fields: read, seeds, renamed };
        sweep.checked()
    }

    /// Old names in its file and in that of its base, which were read as the new ones.
    pub fn renamed(&self) -> impl Iterator<Item = &Change> {
        self.renamed.iter().chain(&self.base.renamed)
    }

    /// Returns this sweep if it has anything to run.
    pub(super) fn checked(self) -> Result<Self, ScenarioError> {
        let refuse = |field: &str, message: &str| {
            Err(ScenarioError::nowhere(&self.file, field, message.to_owned()))
        };
        if self.seeds.is_empty() {
            return refuse("seeds", "no seeds");
        }
        for (index, field) in self.fields.iter().enumerate() {
            let name = field.path.to_string();
            if field.values.is_empty() {
                return refuse(&name, "no values");
            }
            if name == "seed" {
                return refuse(&name, "give them as `seeds`");
            }
            let others = self.fields.iter().take(index);
            if let Some(other) = others.into_iter().find(|o| o.path.overlap(&field.path).is_some())
            {
                let position = field.places.first().copied();
                let message = format!("`{}` is varied as well", other.path);
                let error = ScenarioError::nowhere(&self.file, &name, message);
                return Err(ScenarioError { position, ..error });
            }
        }
        Ok(self)
    }

    /// Names of the fields, in order.
    pub fn fields(&self) -> Vec<String> {
        self.fields.iter().map(|field| field.path.to_string()).collect()
    }

    /// The seeds, in order.
    pub fn seeds(&self) -> &[u64] {
        &self.seeds
    }

    /// Number of combinations of values.
    pub fn points(&self) -> usize {
        self.fields.iter().map(|field| field.values.len()).product()
    }

    /// The values of the fields at a point; the last field varies fastest.
    pub fn values(&self, point: usize) -> Vec<&Value> {
        self.places(point).into_iter().map(|(field, place)| &field.values[place]).collect()
    }

    /// Number of values of each field.
    pub fn counts(&self) -> Vec<usize> {
        self.fields.iter().map(|field| field.values.len()).collect()
    }

    /// Index of each field's value at `point`.
    pub fn levels(&self, point: usize) -> Vec<usize> {
        self.places(point).into_iter().map(|(_, place)| place).collect()
    }

    /// A value of a field, both by index, as TOML; empty if there is none.
    pub fn value(&self, field: usize, level: usize) -> String {
        let value = self.fields.get(field).and_then(|field| field.values.get(level));
        value.map(ToString::to_string).unwrap_or_default()
    }

    /// Each field with the index of its value at `point`.
    fn places(&self, point: usize) -> Vec<(&Field, usize)> {
        let mut rest = point;
        let mut places: Vec<(&Field, usize)> = Vec::new();
        for field in self.fields.iter().rev() {
            places.push((field, rest % field.values.len()));
            rest /= field.values.len();
        }
        places.reverse();
        places
    }

    /// The scenario of a point.
    ///
    /// # Errors
    /// A [`ScenarioError`] with the position of the error in the sweep or in its base.
    pub fn scenario(&self, point: usize) -> Result<Scenario, ScenarioError> {
        let mut table = self.base.table.clone();
        for (field, place) in self.places(point) {
            field.path.set(&mut table, field.values[place].clone()).map_err(|message| {
                let position = field.places.get(place).copied();
                let error = ScenarioError::nowhere(&self.file, &field.path.to_string(), message);
                ScenarioError { position, ..error }
            })?;
        }
        self.base.read(&table).map_err(|error| self.placed(point, error))
    }

    /// The same message with the position of the field's value.
    pub(super) fn placed(&self, point: usize, error: ScenarioError) -> ScenarioError {
        let path = FieldPath::parse(&error.field);
        let places = self.places(point).into_iter();
        let near = places.filter_map(|(field, place)| {
            Some((field.path.overlap(&path)?, field.places.get(place).copied()))
        });
        match near.max_by_key(|(overlap, _)| *overlap) {
            Some((_, position)) => ScenarioError { file: self.file.clone(), position, ..error },
            None => self.base.placed(error),
        }
    }

    /// The sweep as text, for a remote worker ([`Sweep::from_json`]).
    ///
    /// # Errors
    /// A value that JSON cannot represent.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let fields = self.fields.iter();
        let sent = Sent {
            // The working directory of that worker may differ.
            file: std::path::absolute(&self.base.file).unwrap_or(self.base.file.clone()),
            base: self.base.table.clone(),
            fields: fields.map(|field| (field.path.to_string(), field.values.clone())).collect(),
        };
        serde_json::to_string(&sent)
    }

    /// Reads the text of [`Sweep::to_json`]; messages name no lines.
    ///
    /// # Errors
    /// Text of another form.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let Sent { file, base, fields } = serde_json::from_str(text)?;
        let base = Base::from_table(&file, base);
        let sweep = base.and_then(|base| Sweep::new(base, fields, None));
        sweep.map_err(serde::de::Error::custom)
    }
}

impl Base {
    /// The seed of the scenario, or the default one.
    pub(super) fn seed(&self) -> u64 {
        let given = self.table.get("seed").and_then(Value::as_integer);
        given.and_then(|seed| seed.try_into().ok()).unwrap_or(Scenario::default().seed)
    }
}

/// The tables of a file.
pub(super) fn parse(file: &Path, text: &str) -> Result<Table, ScenarioError> {
    text.parse::<Table>().map_err(|error| {
        let message = format!("not valid TOML: {}", error.message().trim_end());
        ScenarioError::at(file, text, error.span().unwrap_or(0..0), "", message)
    })
}
