//! Renamed keys and values of scenario files: the table of their names, and the rewriting of text
//! that has old ones.
//!
//! Every reader of scenarios and sweeps applies [`upgrade`] first, so that files with old names are
//! read for one release. Comments, layout and line numbers of a text stay as they are.

use super::error::{Result, ScenarioError};
use super::path::FieldPath;
use super::read::Source;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Table;
use toml::de::{DeTable, DeValue};

/// A key of scenario files, or a value of a key, with its old and its new name.
#[derive(Debug)]
pub struct Rename {
    /// The section of the key.
    pub section: &'static str,
    /// The key whose value has the new name; `None` if the key itself has it.
    pub value_of: Option<&'static str>,
    /// The old name.
    pub old: &'static str,
    /// The new name.
    pub new: &'static str,
}

const fn key(section: &'static str, old: &'static str, new: &'static str) -> Rename {
    Rename { section, value_of: None, old, new }
}

/// All renamed keys and values. Entries are removed one release after their names.
pub const RENAMES: &[Rename] = &[
    key("flow", "hangs_up", "connection_per_batch"),
    key("leaf", "expecting_ms", "fast_poll_ms"),
    key("net", "aodv_doubts", "aodv_link_probes"),
    key("net", "tinyrpl_never_renews", "tinyrpl_routes_expire"),
    key("pairs", "at_once", "concurrent"),
    key("pairs", "dies_s", "failure_after_s"),
    key("pairs", "every_s", "interval_s"),
    key("tcp", "blip_counts_for_ever", "blip_counts_all_segments"),
    key("tcp", "linux_tiny_pieces", "linux_tiny_segments"),
    key("tcp", "window_by_distance", "window_by_hops"),
    key("wake", "border_sleeps", "border_duty_cycled"),
    key("wake", "rests", "sleep_in_gaps"),
    Rename { section: "tcp", value_of: Some("rto"), old: "distance", new: "linux" },
];

/// Tables of a sweep that have the sections of a scenario.
const INSIDE: [&str; 2] = ["fields", "scenario"];

/// Names at the top of scenarios and sweeps.
const TOP: [&str; 23] = [
    "base",
    "duration_s",
    "fault",
    "fields",
    "flow",
    "interference",
    "leaf",
    "mac",
    "medium",
    "name",
    "net",
    "node",
    "pairs",
    "radio",
    "scenario",
    "seed",
    "seeds",
    "start_hour",
    "tcp",
    "topology",
    "tunnel",
    "wake",
    "wire",
];

impl Rename {
    /// Finds the entry for a key, or for the `text` that is its value.
    fn of(path: &[String], text: Option<&str>) -> Option<&'static Rename> {
        let mut names: Vec<&str> = path.iter().map(String::as_str).collect();
        if names.first().is_some_and(|first| INSIDE.contains(first)) {
            names.remove(0);
        }
        // Entries of `[[…]]` and of lists.
        names.retain(|name| !name.bytes().all(|octet| octet.is_ascii_digit()));
        let [section, key] = names[..] else { return None };
        RENAMES.iter().find(|rename| {
            let name = rename.value_of.unwrap_or(rename.old);
            let has_value = text == rename.value_of.map(|_| rename.old);
            rename.section == section && name == key && has_value
        })
    }

    /// The key, or the key with its value, by its old or its new name.
    fn written(&self, name: &str) -> String {
        match self.value_of {
            Some(key) => format!("{}.{key} = \"{name}\"", self.section),
            None => format!("{}.{name}", self.section),
        }
    }
}

/// An old name that was found, and its replacement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The file of the scenario or sweep.
    pub file: PathBuf,
    /// Line of the name, from 1; `None` in a scenario without a file.
    pub line: Option<usize>,
    /// The old key, such as `net.aodv_doubts`, or key and value.
    pub old: String,
    /// The same with the new name.
    pub new: String,
}

impl fmt::Display for Change {
    /// A warning.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Change { file, line, old, new } = self;
        let file = file.display();
        match line {
            Some(line) => write!(
                f,
                "{file}:{line}: `{old}` is an old name of `{new}`; `kinglet upgrade {file}` \
                 rewrites it"
            ),
            None => write!(f, "{file}: `{old}` is an old name of `{new}`"),
        }
    }
}

/// The text of a scenario or sweep with new names only.
#[derive(Debug)]
pub struct Upgraded {
    /// The text.
    pub text: String,
    /// Its differences from the old text, in its order.
    pub changes: Vec<Change>,
}

impl Upgraded {
    /// Adds the old name to an error about a key that was renamed.
    pub fn explain(&self, error: ScenarioError) -> ScenarioError {
        let line = error.position.map(|(line, _)| line);
        let here = |change: &&Change| change.line == line && is_about(&error, &change.new);
        match self.changes.iter().find(here) {
            Some(Change { old, .. }) => {
                let message = format!("{} (written with its old name, `{old}`)", error.message);
                ScenarioError { message, ..error }
            }
            None => error,
        }
    }
}

/// Returns true if the error is about this key.
fn is_about(error: &ScenarioError, new: &str) -> bool {
    let key = new.split(' ').next().and_then(|path| path.rsplit('.').next());
    error.field.rsplit('.').next() == key
}

/// A place in the text with an old name.
struct Found {
    span: Range<usize>,
    path: Vec<String>,
    rename: &'static Rename,
}

/// Replaces the old names in a scenario or a sweep.
///
/// # Errors
/// The text is not TOML, or has both names of a key.
pub fn upgrade(file: &Path, text: &str) -> Result<Upgraded> {
    let source = Source { file, text };
    let document = source.document()?;
    let mut upgraded = text.to_owned();
    let mut changes = Vec::new();
    // The last one first, so that the positions of the others stay valid.
    for Found { span, rename, .. } in found(source, document.get_ref())?.into_iter().rev() {
        let (line, _) = source.error(span.clone(), "", String::new()).position.unwrap_or_default();
        let written = text.get(span.clone()).unwrap_or_default();
        let new = match written.rsplit_once(rename.old) {
            Some((before, after)) => format!("{before}{}{after}", rename.new),
            // The old name has escapes.
            None => format!("\"{}\"", rename.new),
        };
        upgraded.replace_range(span, &new);
        let (old, new) = (rename.written(rename.old), rename.written(rename.new));
        changes.push(Change { file: file.to_path_buf(), line: Some(line), old, new });
    }
    changes.reverse();
    Ok(Upgraded { text: upgraded, changes })
}

/// All old names of a document, in its order.
fn found(source: Source<'_>, document: &DeTable<'_>) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    let mut keys = BTreeSet::new();
    let mut tables = vec![(FieldPath::whole(), document)];
    while let Some((above, table)) = tables.pop() {
        for (key, value) in table {
            let path = above.join(key.get_ref());
            keys.insert(path.parts().to_vec());
            let mut note = |path: &FieldPath, text, span| {
                let path = path.parts().to_vec();
                found.extend(Rename::of(&path, text).map(|rename| Found { span, path, rename }));
            };
            note(&path, None, key.span());
            let mut values = vec![(path, value)];
            while let Some((path, value)) = values.pop() {
                match value.get_ref() {
                    DeValue::String(text) => note(&path, Some(text.as_ref()), value.span()),
                    DeValue::Table(table) => tables.push((path, table)),
                    DeValue::Array(list) => {
                        let entry = |(index, value)| (path.join(&format!("{index}")), value);
                        values.extend(list.iter().enumerate().map(entry));
                    }
                    _ => {}
                }
            }
        }
    }
    found.sort_by_key(|found| found.span.start);
    for Found { span, path, rename } in found.iter().filter(|it| it.rename.value_of.is_none()) {
        let mut other = path.clone();
        other.pop();
        other.push(rename.new.to_owned());
        if keys.contains(&other) {
            let new = rename.new;
            let message = format!(
                "this is the old name of `{new}`, which is given as well; \
                                   remove one of them"
            );
            return Err(source.error(span.clone(), &rename.written(rename.old), message));
        }
    }
    Ok(found)
}

/// Replaces the old names in a table that is not from a file; `file` is for messages.
///
/// # Errors
/// Both names of a key.
pub fn upgrade_table(file: &Path, table: Table) -> Result<(Table, Vec<Change>)> {
    let nowhere = |field: &str, message| ScenarioError::nowhere(file, field, message);
    let text = toml::to_string(&table).map_err(|error| nowhere("", error.to_string()))?;
    let Upgraded { text, mut changes } =
        upgrade(file, &text).map_err(|error| nowhere(&error.field, error.message))?;
    if changes.is_empty() {
        return Ok((table, changes));
    }
    changes.iter_mut().for_each(|change| change.line = None);
    let table = text.parse().map_err(|error: toml::de::Error| nowhere("", error.to_string()))?;
    Ok((table, changes))
}

/// Checks that a text is a scenario or a sweep by the names at its top, as [`upgrade`] does not.
///
/// # Errors
/// The first name that neither has.
pub fn check_kind(file: &Path, text: &str) -> Result<()> {
    let source = Source { file, text };
    let document = source.document()?;
    let other = document.get_ref().keys().find(|key| !TOP.contains(&key.get_ref().as_ref()));
    let message = "neither a scenario nor a sweep; host/lab/SCENARIO.md and host/lab/SWEEPS.md \
                   have their keys";
    match other {
        Some(key) => Err(source.error(key.span(), key.get_ref(), message.to_owned())),
        None if document.get_ref().is_empty() => {
            Err(ScenarioError::nowhere(file, "", message.to_owned()))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
