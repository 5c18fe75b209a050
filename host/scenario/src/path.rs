//! Path of a value in a scenario.

use std::fmt;
use std::ops::Range;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

/// Keys from the top of a scenario down, and indices for the entries of `[[…]]`, counted from 0:
/// `tcp.ack_every`, `flow.0.bytes`, `topology.line.hops`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPath(Vec<String>);

impl FieldPath {
    /// Parses `tcp.ack_every`, or `flow[0].bytes` as in messages about scenarios.
    pub fn parse(text: &str) -> Self {
        let text = text.replace('[', ".").replace(']', "");
        FieldPath(text.split('.').map(|part| part.trim().to_owned()).collect())
    }

    /// This path with `key` appended.
    pub fn join(&self, key: &str) -> Self {
        let more = FieldPath::parse(key).0;
        FieldPath(self.0.iter().cloned().chain(more).collect())
    }

    /// Path of a whole document.
    pub const fn whole() -> Self {
        FieldPath(Vec::new())
    }

    /// Its keys and indices.
    pub fn parts(&self) -> &[String] {
        &self.0
    }

    /// Number of common leading keys, if one path is a prefix of the other.
    pub fn overlap(&self, other: &Self) -> Option<usize> {
        let same = self.0.iter().zip(&other.0).take_while(|(a, b)| a == b).count();
        (same == self.0.len().min(other.0.len()) && same > 0).then_some(same)
    }

    /// Sets the value at the path. Missing tables along it are created.
    ///
    /// # Errors
    /// The value that is in the way.
    pub fn set(&self, root: &mut Table, value: Value) -> Result<(), String> {
        let Some((first, rest)) = self.0.split_first() else { return Ok(()) };
        let new = || Value::Table(Table::new());
        let mut at = root.entry(first.clone()).or_insert_with(new);
        let mut prefix = first.clone();
        for part in rest {
            at = match at {
                Value::Table(table) => table.entry(part.clone()).or_insert_with(new),
                Value::Array(entries) => {
                    let count = entries.len();
                    let entry = part.parse().ok().and_then(|number: usize| entries.get_mut(number));
                    entry.ok_or_else(|| {
                        format!("`{prefix}` has {count} entries, numbered from 0, but not {part}")
                    })?
                }
                other => return Err(format!("`{prefix}` is a {}, not a table", other.type_str())),
            };
            prefix = format!("{prefix}.{part}");
        }
        *at = value;
        Ok(())
    }

    /// The value at the path.
    pub fn get<'a>(&self, root: &'a Table) -> Option<&'a Value> {
        let (first, rest) = self.0.split_first()?;
        rest.iter().try_fold(root.get(first)?, |at, part| match at {
            Value::Table(table) => table.get(part),
            Value::Array(entries) => entries.get(part.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Removes the value at the path if there is one.
    pub fn remove(&self, root: &mut Table) {
        let Some((last, above)) = self.0.split_last() else { return };
        let table = above.iter().try_fold(root, |at, part| at.get_mut(part)?.as_table_mut());
        if let Some(table) = table {
            table.remove(last);
        }
    }

    /// Position of the path in `document`, or of its longest existing prefix.
    pub fn locate(&self, document: &DeTable<'_>) -> Option<Range<usize>> {
        let mut found = None;
        let mut parts = self.0.iter();
        let (key, mut value) = document.get_key_value(parts.next()?.as_str())?;
        found.replace(key.span());
        for part in parts {
            let next = match value.get_ref() {
                DeValue::Table(table) => {
                    table.get_key_value(part.as_str()).map(|(key, value)| (key.span(), value))
                }
                DeValue::Array(entries) => {
                    let number = part.parse().ok();
                    let entry = number.and_then(|number: usize| entries.get(number));
                    entry.map(|value| (value.span(), value))
                }
                _ => None,
            };
            let Some((span, inside)) = next else { break };
            found.replace(span);
            value = inside;
        }
        found
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(path: &str, text: &str) -> Result<String, String> {
        let mut table: Table = text.parse().expect("valid TOML");
        FieldPath::parse(path).set(&mut table, Value::Integer(7))?;
        Ok(toml::to_string(&table).expect("it was TOML"))
    }

    #[test]
    fn a_value_goes_where_its_path_says_and_tables_are_made() {
        assert_eq!(set("tcp.ack_every", "").unwrap(), "[tcp]\nack_every = 7\n");
        assert_eq!(
            set("flow.1.to", "[[flow]]\n[[flow]]\nto = 1\n").unwrap().matches('7').count(),
            1
        );
        assert_eq!(set("flow[0].to", "[[flow]]\nto = 1\n").unwrap(), "[[flow]]\nto = 7\n");
    }

    #[test]
    fn a_value_that_is_no_table_is_named() {
        let error = set("flow.2.to", "[[flow]]\n").unwrap_err();
        assert_eq!(error, "`flow` has 1 entries, numbered from 0, but not 2");
        let error = set("seed.first", "seed = 1\n").unwrap_err();
        assert_eq!(error, "`seed` is a integer, not a table");
    }

    #[test]
    fn a_value_is_read_and_removed_where_it_is() {
        let mut table: Table = "[tcp]\nnagle = true\n[[flow]]\nto = 3".parse().expect("valid TOML");
        let at = |table: &Table, path| FieldPath::parse(path).get(table).map(ToString::to_string);
        assert_eq!(at(&table, "flow.0.to").as_deref(), Some("3"));
        assert_eq!((at(&table, "flow.1.to"), at(&table, "tcp.nagle.on")), (None, None));
        FieldPath::parse("tcp.nagle").remove(&mut table);
        FieldPath::parse("mac.csma").remove(&mut table);
        assert_eq!(toml::to_string(&table).expect("it was TOML"), "[[flow]]\nto = 3\n\n[tcp]\n");
        FieldPath::parse("tcp").remove(&mut table);
        assert_eq!(at(&table, "tcp"), None);
    }

    #[test]
    fn a_path_is_found_in_the_text_as_far_as_it_is_there() {
        let text = "[tcp]\nnagle = true\n\n[[flow]]\nto = 0\n";
        let document = DeTable::parse(text).expect("valid TOML");
        let at = |path| FieldPath::parse(path).locate(document.get_ref()).map(|span| span.start);
        assert_eq!(at("tcp.nagle"), text.find("nagle"));
        assert_eq!(at("tcp.sack"), text.find("tcp"));
        assert_eq!(at("flow.0.to"), text.find("to ="));
        assert_eq!(at("mac"), None);
    }
}
