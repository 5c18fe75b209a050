//! Reader for one TOML table that records the positions of all keys.
//!
//! Every `get`-like call names the key that it looks up. [`Reader::finish`] then refuses all keys
//! that were not looked up, and suggests the nearest that was. The list of valid keys is therefore
//! always up to date: it is the list of keys that are read.

use super::NodeId;
use super::error::{Result, ScenarioError, nearest};
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The file being read.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// Name for messages.
    pub file: &'a Path,
    /// Its text.
    pub text: &'a str,
}

impl<'a> Source<'a> {
    /// An error at `span`.
    pub fn error(&self, span: Range<usize>, field: &str, message: String) -> ScenarioError {
        ScenarioError::at(self.file, self.text, span, field, message)
    }

    /// The text as TOML.
    pub fn document(&self) -> Result<Spanned<DeTable<'a>>> {
        DeTable::parse(self.text).map_err(|error| {
            let message = format!("not valid TOML: {}", error.message().trim_end());
            self.error(error.span().unwrap_or(0..0), "", message)
        })
    }
}

/// One table, its place in the file, and the keys looked up so far.
pub struct Reader<'a> {
    source: Source<'a>,
    table: &'a DeTable<'a>,
    span: Range<usize>,
    path: String,
    asked: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    /// A reader of `table`, whose dotted path is `path`.
    pub fn new(
        source: Source<'a>,
        table: &'a DeTable<'a>,
        span: Range<usize>,
        path: String,
    ) -> Self {
        Reader { source, table, span, path, asked: Vec::new() }
    }

    /// The dotted path of `key` in this table.
    pub fn field(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// An error about this table as a whole.
    pub fn error(&self, message: String) -> ScenarioError {
        self.source.error(self.span.clone(), &self.path, message)
    }

    /// An error about the value of `key` (or about the whole table if it is absent).
    pub fn error_at(&self, key: &str, message: String) -> ScenarioError {
        let span = self.table.get(key).map_or(self.span.clone(), Spanned::span);
        self.source.error(span, &self.field(key), message)
    }

    /// First line of this table, from 1.
    pub fn line(&self) -> usize {
        self.error(String::new()).position.map_or(0, |(line, _)| line)
    }

    /// Refuses a file that is a sweep, and a section whose name is close to one of `names`.
    pub fn refuse_sections(&self, names: &[&'static str]) -> Result<()> {
        if let Some((key, _)) = self.table.get_key_value("fields") {
            let message = "this is a sweep: `kinglet sweep` runs it".to_owned();
            return Err(self.source.error(key.span(), "fields", message));
        }
        for key in self.table.keys() {
            let name = key.get_ref().as_ref();
            let near = nearest(name, names);
            if let Some(near) = near.filter(|_| !self.asked.contains(&name)) {
                let message = format!("unknown section; did you mean `{near}`?");
                return Err(self.source.error(key.span(), name, message).meant(Some(near)));
            }
        }
        Ok(())
    }

    /// Returns an error for the value of `key`, which has to be there; `what` describes it. A key
    /// whose name is near is reported instead.
    pub fn missing(&self, key: &'static str, what: &str) -> ScenarioError {
        let strangers = self.table.keys().filter(|it| !self.asked.contains(&it.get_ref().as_ref()));
        let mut near = strangers.filter(|it| nearest(it.get_ref(), &[key]).is_some());
        let Some(near) = near.next() else {
            return self.error_at(key, format!("missing; give {what}"));
        };
        let message = format!("unknown key; did you mean `{key}`?");
        self.source.error(near.span(), &self.field(near.get_ref()), message).meant(Some(key))
    }

    /// Refuses keys that were not looked up.
    pub fn finish(self) -> Result<()> {
        for key in self.table.keys() {
            let name = key.get_ref().as_ref();
            if self.asked.contains(&name) {
                continue;
            }
            let near = nearest(name, &self.asked);
            let hint = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("valid keys here: {}", self.asked.join(", ")),
            };
            let message = format!("unknown key; {hint}");
            return Err(self.source.error(key.span(), &self.field(name), message).meant(near));
        }
        Ok(())
    }

    fn value(&mut self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.asked.push(key);
        self.table.get(key)
    }

    fn wrong_type(&self, key: &str, value: &Spanned<DeValue<'_>>, wanted: &str) -> ScenarioError {
        let found = value.get_ref().type_str();
        let message = format!("expected {wanted}, found {found}");
        self.source.error(value.span(), &self.field(key), message)
    }

    /// Returns true if `key` is present.
    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Returns true if `key` is a table.
    pub fn has_table(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(|value| value.get_ref().is_table())
    }

    /// A number within `range`, if present.
    pub fn number_opt(
        &mut self,
        key: &'static str,
        range: RangeInclusive<f64>,
    ) -> Result<Option<f64>> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let number = match value.get_ref() {
            DeValue::Float(float) => float.as_str().replace('_', "").parse::<f64>().ok(),
            DeValue::Integer(integer) => parse_integer(integer).map(|i| i as f64),
            _ => return Err(self.wrong_type(key, value, "a number")),
        };
        match number {
            Some(number) if range.contains(&number) => Ok(Some(number)),
            _ => Err(self.out_of_range(key, value, range.start(), range.end())),
        }
    }

    /// A number within `range`, or `default`.
    pub fn number(
        &mut self,
        key: &'static str,
        range: RangeInclusive<f64>,
        default: f64,
    ) -> Result<f64> {
        Ok(self.number_opt(key, range)?.unwrap_or(default))
    }

    /// A whole number within `range`, if present.
    pub fn integer_opt(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let DeValue::Integer(integer) = value.get_ref() else {
            return Err(self.wrong_type(key, value, "a whole number"));
        };
        match parse_integer(integer).and_then(|i| u64::try_from(i).ok()) {
            Some(number) if range.contains(&number) => Ok(Some(number)),
            _ => Err(self.out_of_range(key, value, range.start(), range.end())),
        }
    }

    /// A whole number within `range`, or `default`.
    pub fn integer(
        &mut self,
        key: &'static str,
        range: RangeInclusive<u64>,
        default: u64,
    ) -> Result<u64> {
        Ok(self.integer_opt(key, range)?.unwrap_or(default))
    }

    fn out_of_range(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        low: &dyn std::fmt::Display,
        high: &dyn std::fmt::Display,
    ) -> ScenarioError {
        let written = self.source.text.get(value.span()).unwrap_or("?");
        let message = format!("{written} is out of range; allowed are {low} to {high}");
        self.source.error(value.span(), &self.field(key), message)
    }

    /// A boolean, if present.
    pub fn boolean_opt(&mut self, key: &'static str) -> Result<Option<bool>> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match value.get_ref().as_bool() {
            Some(boolean) => Ok(Some(boolean)),
            None => Err(self.wrong_type(key, value, "true or false")),
        }
    }

    /// A boolean, or `default`.
    pub fn boolean(&mut self, key: &'static str, default: bool) -> Result<bool> {
        Ok(self.boolean_opt(key)?.unwrap_or(default))
    }

    /// A string, if present.
    pub fn string_opt(&mut self, key: &'static str) -> Result<Option<&'a str>> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::String(text) => Ok(Some(text.as_ref())),
            _ => Err(self.wrong_type(key, value, "a string")),
        }
    }

    /// Strings, with the position of each for [`Reader::error_in`]; empty if absent.
    pub fn strings(&mut self, key: &'static str) -> Result<Vec<(&'a str, Range<usize>)>> {
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let DeValue::Array(array) = value.get_ref() else {
            return Err(self.wrong_type(key, value, "an array of strings"));
        };
        let texts = array.iter().map(|item| match item.get_ref() {
            DeValue::String(text) => Ok((text.as_ref(), item.span())),
            _ => Err(self.wrong_type(key, item, "a string")),
        });
        texts.collect()
    }

    /// An error about an item of the array `key`.
    pub fn error_in(&self, key: &str, item: Range<usize>, message: String) -> ScenarioError {
        self.source.error(item, &self.field(key), message)
    }

    /// One of the named choices, if present.
    pub fn choice_opt<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, T)],
    ) -> Result<Option<T>> {
        let Some(written) = self.string_opt(key)? else { return Ok(None) };
        if let Some((_, choice)) = choices.iter().find(|(name, _)| *name == written) {
            return Ok(Some(*choice));
        }
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let near = nearest(written, &names);
        let hint = match near {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("allowed are {}", quoted(&names)),
        };
        Err(self.error_at(key, format!("\"{written}\" is not known; {hint}")).meant(near))
    }

    /// One of the named choices, or `default`.
    pub fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, T)],
        default: T,
    ) -> Result<T> {
        Ok(self.choice_opt(key, choices)?.unwrap_or(default))
    }

    /// The number of an existing node.
    pub fn node(&mut self, key: &'static str, nodes: usize) -> Result<NodeId> {
        let last = nodes.saturating_sub(1);
        match self.integer_opt(key, 0..=last as u64)? {
            Some(number) => Ok(number as NodeId),
            None => Err(self.error_at(key, format!("missing; give a node number, 0 to {last}"))),
        }
    }

    /// A table, if present.
    pub fn table_opt(&mut self, key: &'static str) -> Result<Option<Reader<'a>>> {
        let Some(value) = self.value(key) else { return Ok(None) };
        match value.get_ref() {
            DeValue::Table(table) => {
                Ok(Some(Reader::new(self.source, table, value.span(), self.field(key))))
            }
            _ => Err(self.wrong_type(key, value, "a table")),
        }
    }

    /// An array of tables; empty if absent.
    pub fn tables(&mut self, key: &'static str) -> Result<Vec<Reader<'a>>> {
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let DeValue::Array(array) = value.get_ref() else {
            return Err(self.wrong_type(key, value, &format!("tables ([[{key}]])")));
        };
        let mut readers = Vec::new();
        for (index, item) in array.iter().enumerate() {
            let path = format!("{}[{index}]", self.field(key));
            match item.get_ref() {
                DeValue::Table(table) => {
                    readers.push(Reader::new(self.source, table, item.span(), path));
                }
                _ => return Err(self.wrong_type(key, item, &format!("a table ([[{key}]])"))),
            }
        }
        Ok(readers)
    }

    /// An array of whole numbers up to `max`; empty if absent.
    pub fn integers(&mut self, key: &'static str, max: u64) -> Result<Vec<u64>> {
        let Some(value) = self.value(key) else { return Ok(Vec::new()) };
        let DeValue::Array(array) = value.get_ref() else {
            return Err(self.wrong_type(key, value, "an array of whole numbers"));
        };
        array
            .iter()
            .map(|item| {
                let DeValue::Integer(integer) = item.get_ref() else {
                    return Err(self.wrong_type(key, item, "a whole number"));
                };
                match parse_integer(integer).and_then(|i| u64::try_from(i).ok()) {
                    Some(number) if number <= max => Ok(number),
                    _ => Err(self.out_of_range(key, item, &0, &max)),
                }
            })
            .collect()
    }
}

fn parse_integer(integer: &toml::de::DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix()).ok()
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(", ")
}
