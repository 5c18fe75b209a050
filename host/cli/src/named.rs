//! Files that a scenario or a sweep names.

use kinglet_sweep::sweep::Base;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Keys whose values are paths relative to their file: the trace of an interference, the base of a
/// sweep.
const KEYS: [&str; 2] = ["file", "base"];

/// The files named in the one at `path`, and those named in them. Not all of them exist: a sweep
/// varies paths relative to its base. Empty if the file is not TOML.
pub(crate) fn named_files(path: &Path) -> Vec<PathBuf> {
    let mut dirs = vec![path.parent().unwrap_or(Path::new("")).to_path_buf()];
    let mut names = names_in(path);
    if let Some((_, base)) = names.iter().find(|(key, _)| *key == "base") {
        let base = dirs[0].join(base);
        names.extend(names_in(&base));
        dirs.extend(base.parent().map(Path::to_path_buf));
    }
    let at = |dir: &PathBuf| names.iter().map(|(_, name)| dir.join(name)).collect::<Vec<_>>();
    dirs.iter().flat_map(at).filter(|file| file.is_file()).collect()
}

/// The paths in a file of TOML, with their keys.
fn names_in(path: &Path) -> Vec<(&'static str, String)> {
    // A pipe has been read to its end.
    if !path.is_file() {
        return Vec::new();
    }
    let Ok(base) = Base::from_file(path) else { return Vec::new() };
    let table = serde_json::to_value(base.table()).unwrap_or_default();
    let mut names = Vec::new();
    let mut waiting = vec![(None, &table)];
    while let Some((key, value)) = waiting.pop() {
        match value {
            Value::String(text) => names.extend(key.map(|key| (key, text.clone()))),
            Value::Array(list) => waiting.extend(list.iter().map(|value| (key, value))),
            Value::Object(table) => waiting.extend(table.iter().map(|(name, value)| {
                // A sweep may write `"interference.0.file"`.
                let last = name.rsplit('.').next();
                (KEYS.into_iter().find(|key| Some(*key) == last), value)
            })),
            _ => {}
        }
    }
    names
}
