//! Which code meets which requirement of an RFC, and which test shows it.
//!
//! The requirements stand in `crates/tcp/compliance/*.toml`, the marks (`//= rfc9293#MUST-17`, for
//! tests with ` type=test`) above the code, tests and segment scripts. From both comes
//! `crates/tcp/COMPLIANCE.md`.

use super::{File, Repository, Violation};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt::Write;

const TABLE: &str = "crates/tcp/COMPLIANCE.md";
const LISTS: &str = "crates/tcp/compliance/";
const MARK: &str = "//= ";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    title: String,
    /// Only tests are asked for.
    #[serde(default)]
    tests_only: bool,
    requirement: Vec<Requirement>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Requirement {
    id: String,
    section: String,
    text: String,
    /// How it is met, where the sentence alone would mislead.
    note: Option<String>,
    /// Why it is deliberately not met.
    exception: Option<String>,
    /// Why there is nothing to meet.
    not_applicable: Option<String>,
}

impl Requirement {
    fn reason(&self) -> Option<String> {
        match (&self.exception, &self.not_applicable) {
            (Some(reason), _) => Some(format!("**Exception.** {reason}")),
            (None, Some(reason)) => Some(format!("Not applicable. {reason}")),
            (None, None) => None,
        }
    }
}

/// `//= rfc9293#MUST-17` somewhere.
struct Mark {
    /// `rfc9293#MUST-17`
    target: String,
    is_test: bool,
    path: String,
    line: usize,
    /// What it stands above or in: the name of a function, type or constant; empty for a script.
    item: String,
}

impl Mark {
    fn place(&self) -> String {
        if self.item.is_empty() {
            format!("`{}`", self.path)
        } else {
            format!("`{}` {}", self.path, self.item)
        }
    }
}

/// Requirements without code, without test, without reason; marks of unknown requirements.
pub(crate) fn gaps(repository: &Repository) -> Vec<Violation> {
    let marks = marks(repository);
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for (file, name, list) in lists(repository) {
        for requirement in &list.requirement {
            let target = format!("{name}#{}", requirement.id);
            let has = |test| marks.iter().any(|m| m.target == target && m.is_test == test);
            let missing = match (requirement.reason(), has(false) || list.tests_only, has(true)) {
                (None, false, _) => Some("no code is marked with it, and no reason is given"),
                (None, _, false) => Some("no test is marked with it"),
                (Some(_), true, _) if !list.tests_only => Some("it has a reason and code as well"),
                _ => None,
            };
            if let Some(missing) = missing {
                found.push(Violation::new("compliance", file, 0, format!("{target}: {missing}")));
            }
            if !known.insert(target.clone()) {
                found.push(Violation::new("compliance", file, 0, format!("{target} stands twice")));
            }
        }
    }
    for mark in marks.iter().filter(|mark| !known.contains(&mark.target)) {
        found.push(Violation {
            rule: "compliance",
            path: mark.path.clone(),
            line: mark.line,
            measure: None,
            remedy: format!("no list in {LISTS} has {}", mark.target),
        });
    }
    found
}

/// What `COMPLIANCE.md` has to say.
pub(crate) fn table(repository: &Repository) -> String {
    let marks = marks(repository);
    let mut out = String::from(
        "# Compliance of kinglet-tcp\n\nGenerated from `compliance/*.toml` and the marks in code \
         and tests; after a change:\n\
         `KINGLET_BLESS=1 cargo test -p kinglet-testkit --test repository`.\n",
    );
    for (_, name, list) in lists(repository) {
        let met = list.requirement.iter().filter(|r| r.reason().is_none()).count();
        let exceptions = list.requirement.iter().filter(|r| r.exception.is_some()).count();
        let void = list.requirement.len() - met - exceptions;
        let verb = if list.tests_only { "tested" } else { "met and tested" };
        writeln!(
            out,
            "\n## {}\n\n{met} {verb}, {exceptions} deliberate exceptions, {void} not \
            applicable.\n",
            list.title
        )
        .expect("a string takes everything");
        let code = if list.tests_only { "" } else { " code |" };
        let rule = if list.tests_only { "" } else { "---|" };
        writeln!(out, "| | § | |{code} tests |\n|---|---|---|{rule}---|").expect("as above");
        for requirement in &list.requirement {
            let target = format!("{name}#{}", requirement.id);
            let places = |test| {
                let places: BTreeSet<String> = marks
                    .iter()
                    .filter(|mark| mark.target == target && mark.is_test == test)
                    .map(Mark::place)
                    .collect();
                places.into_iter().collect::<Vec<_>>().join(", ")
            };
            let Requirement { id, section, text, note, .. } = requirement;
            let text =
                format!("{text}{}", note.as_ref().map_or(String::new(), |n| format!(" *{n}*")));
            let code = match requirement.reason() {
                Some(reason) => format!(" {reason} |"),
                None if list.tests_only => String::new(),
                None => format!(" {} |", places(false)),
            };
            writeln!(out, "| {id} | {section} | {text} |{code} {} |", places(true))
                .expect("as above");
        }
    }
    out
}

/// The table as it stands in the repository.
pub(crate) fn committed(repository: &Repository) -> &str {
    repository.files.iter().find(|file| file.path == TABLE).map_or("", |file| &file.text)
}

/// Writes the table.
pub(crate) fn bless(table: &str) {
    std::fs::write(super::root().join(TABLE), table).expect("a writable repository");
}

/// The lists with their names, `rfc9293` for `compliance/rfc9293.toml`.
fn lists(repository: &Repository) -> Vec<(&File, String, List)> {
    let files = repository.files.iter().filter(|file| file.path.starts_with(LISTS));
    files
        .map(|file| {
            let list =
                toml::from_str(&file.text).unwrap_or_else(|error| panic!("{}: {error}", file.path));
            let name = file.path[LISTS.len()..].trim_end_matches(".toml").to_string();
            (file, name, list)
        })
        .collect()
}

fn marks(repository: &Repository) -> Vec<Mark> {
    let mut marks = Vec::new();
    for file in &repository.files {
        let script = file.path.ends_with(".pkt");
        let tests = script || file.path.contains("/tests/") || file.path.ends_with("/tests.rs");
        if !script && !file.is_rust() {
            continue;
        }
        let lines: Vec<&str> = file.text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(rest) = line.trim_start().strip_prefix(MARK) else { continue };
            let declared = rest.split_whitespace().any(|word| word == "type=test");
            for target in rest.split_whitespace().filter(|word| word.contains('#')) {
                marks.push(Mark {
                    target: target.to_string(),
                    is_test: tests || declared,
                    path: file.path.clone(),
                    line: at + 1,
                    item: if script { String::new() } else { item(&lines, at) },
                });
            }
        }
    }
    marks
}

/// The item that begins below line `at`, else the one that line `at` is in.
fn item(lines: &[&str], at: usize) -> String {
    let below = lines.iter().skip(at).find(|line| {
        let line = line.trim_start();
        !line.starts_with("//") && !line.starts_with("#[")
    });
    let above = lines.iter().take(at).rev();
    below.into_iter().chain(above).find_map(|line| name_of(line)).unwrap_or_default()
}

/// The name that a line declares, if it declares a function, type or constant.
fn name_of(line: &str) -> Option<String> {
    let mut words = line
        .split_whitespace()
        .skip_while(|word| word.starts_with("pub") || ["const", "unsafe"].contains(word));
    let is_const = line.trim_start().trim_start_matches("pub ").starts_with("const ");
    let first = words.next()?;
    let name = match first {
        "fn" | "struct" | "enum" | "trait" | "static" | "mod" => words.next()?,
        name if is_const => name,
        _ => return None,
    };
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    (end > 0).then(|| name[..end].to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_names_the_item_below_or_around_it() {
        let lines = [
            "struct A {",
            "//= rfc9293#MUST-1",
            "#[inline]",
            "pub(crate) fn b() {",
            "//= x#1",
            "c();",
        ];
        assert_eq!(item(&lines, 1), "b");
        assert_eq!(item(&lines, 4), "b");
        assert_eq!(name_of("    pub const D_E: u8 = 1;"), Some("D_E".into()));
        assert_eq!(name_of("pub const fn f() {"), Some("f".into()));
        assert_eq!(name_of("let x = 1;"), None);
    }
}
