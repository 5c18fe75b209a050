//! Traceability of RFC requirements: the code that meets each one, and the test that shows it.
//!
//! The requirements are in `crates/*/compliance/*.toml`; the marks (`//= rfc9293#MUST-17`, for
//! tests with ` type=test`) are above the code, tests and segment scripts. A page is generated for
//! each list from both, `compliance/rfc9293.md` next to `rfc9293.toml`, and `COMPLIANCE.md` of the
//! crate has the counts of all its lists.

use super::{File, Repository, Violation};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const MARK: &str = "//= ";
/// One requirement in this number may be an exception.
const PER_EXCEPTION: usize = 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    title: String,
    /// True if only tests are required.
    #[serde(default)]
    tests_only: bool,
    requirement: Vec<Requirement>,
}

impl List {
    fn exceptions(&self) -> usize {
        self.requirement.iter().filter(|r| r.exception.is_some()).count()
    }

    /// Returns the numbers of requirements that are met, excepted and not applicable.
    fn counts(&self) -> (usize, usize, usize) {
        let met = self.requirement.iter().filter(|r| r.reason().is_none()).count();
        (met, self.exceptions(), self.requirement.len() - met - self.exceptions())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Requirement {
    id: String,
    section: String,
    text: String,
    /// Explains how it is met, if the sentence alone would mislead.
    note: Option<String>,
    /// Reason for which it is deliberately not met.
    exception: Option<String>,
    /// Reason for which it does not apply.
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

/// A mark such as `//= rfc9293#MUST-17`.
struct Mark {
    /// `rfc9293#MUST-17`
    target: String,
    is_test: bool,
    path: String,
    line: usize,
    /// The item below or around it: the name of a function, type or constant; empty for a script.
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

/// Returns the requirements without code, without test, or without reason, and marks of unknown
/// requirements.
pub(crate) fn gaps(repository: &Repository) -> Vec<Violation> {
    let marks = marks(repository);
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for Listed { file, name, list, .. } in lists(repository) {
        if list.exceptions() * PER_EXCEPTION > list.requirement.len() {
            let remedy = format!("more than one in {PER_EXCEPTION} is an exception");
            found.push(Violation::new("compliance", file, 0, remedy));
        }
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
            remedy: format!("no list has {}", mark.target),
        });
    }
    found
}

/// Returns the generated pages by their paths.
pub(crate) fn tables(repository: &Repository) -> BTreeMap<String, String> {
    let marks = marks(repository);
    let mut tables = BTreeMap::new();
    for Listed { folder, name, list, .. } in lists(repository) {
        let index = tables.entry(format!("{folder}/COMPLIANCE.md")).or_insert_with(|| {
            let name = folder.rsplit('/').next().unwrap_or_default();
            format!(
                "# Compliance of kinglet-{name}\n\nGenerated from `compliance/*.toml` and the \
                 marks in code and tests; after a change:\n\
                 `KINGLET_BLESS=1 cargo test -p kinglet-testkit --test repository`.\n\n\
                 | | met and tested | deliberate exceptions | not applicable |\n\
                 |---|--:|--:|--:|\n"
            )
        });
        let (met, exceptions, void) = list.counts();
        let title = &list.title;
        writeln!(index, "| [{title}](compliance/{name}.md) | {met} | {exceptions} | {void} |")
            .expect("a string takes everything");
        let mut page = format!("# Compliance with {title}\n\nGenerated: see the [index].\n");
        write_list(&mut page, &name, &list, &marks);
        page.push_str("\n[index]: ../COMPLIANCE.md\n");
        tables.insert(format!("{folder}/compliance/{name}.md"), page);
    }
    tables
}

/// Writes the counts and the table of one list.
fn write_list(out: &mut String, name: &str, list: &List, marks: &[Mark]) {
    let (met, exceptions, void) = list.counts();
    let verb = if list.tests_only { "tested" } else { "met and tested" };
    writeln!(out, "\n{met} {verb}, {exceptions} deliberate exceptions, {void} not applicable.\n")
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
        let text = format!("{text}{}", note.as_ref().map_or(String::new(), |n| format!(" *{n}*")));
        let code = match requirement.reason() {
            Some(reason) => format!(" {reason} |"),
            None if list.tests_only => String::new(),
            None => format!(" {} |", places(false)),
        };
        writeln!(out, "| {id} | {section} | {text} |{code} {} |", places(true)).expect("as above");
    }
}

/// Returns the table at this path in the repository.
pub(crate) fn committed<'a>(repository: &'a Repository, path: &str) -> &'a str {
    repository.files.iter().find(|file| file.path == path).map_or("", |file| &file.text)
}

/// Writes a table.
pub(crate) fn bless(path: &str, table: &str) {
    std::fs::write(super::root().join(path), table).expect("a writable repository");
}

/// A list and its place.
struct Listed<'a> {
    file: &'a File,
    /// `crates/tcp`
    folder: &'a str,
    /// `rfc9293` for `compliance/rfc9293.toml`
    name: String,
    list: List,
}

fn lists(repository: &Repository) -> Vec<Listed<'_>> {
    let listed = |file| {
        let (folder, name) = list_name(file)?;
        let list =
            toml::from_str(&file.text).unwrap_or_else(|error| panic!("{}: {error}", file.path));
        Some(Listed { file, folder, name: name.to_string(), list })
    };
    repository.files.iter().filter_map(listed).collect()
}

/// Returns folder and name of a list of requirements, if the file is one.
fn list_name(file: &File) -> Option<(&str, &str)> {
    let (folder, name) = file.path.split_once("/compliance/")?;
    let name = name.strip_suffix(".toml")?;
    (file.is_stack() && folder.matches('/').count() == 1).then_some((folder, name))
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

/// Returns the item that begins below line `at`, or else the one that contains line `at`.
fn item(lines: &[&str], at: usize) -> String {
    let below = lines.iter().skip(at).find(|line| {
        let line = line.trim_start();
        !line.starts_with("//") && !line.starts_with("#[")
    });
    let above = lines.iter().take(at).rev();
    below.into_iter().chain(above).find_map(|line| name_of(line)).unwrap_or_default()
}

/// Returns the name that a line declares, if it declares a function, type or constant.
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

    fn file(path: &str, text: &str) -> File {
        File { path: path.into(), text: text.into() }
    }

    fn requirement(id: &str, more: &str) -> String {
        format!("[[requirement]]\nid = \"{id}\"\nsection = \"1\"\ntext = \"t\"\n{more}\n")
    }

    #[test]
    fn each_crate_with_lists_has_a_table_of_its_own() {
        let list = format!("title = \"T\"\n{}", requirement("1", ""));
        let code = "//= rfc1#1\nfn a() {}\n//= rfc1#1 type=test\nfn b() {}\n";
        let files = vec![
            file("crates/x/compliance/rfc1.toml", &list),
            file("crates/x/src/lib.rs", code),
            file("crates/y/compliance/rfc2.toml", &list),
            file("host/z/compliance/rfc3.toml", &list),
        ];
        let repository = Repository { files };
        let tables = tables(&repository);
        let paths: Vec<_> = tables.keys().map(String::as_str).collect();
        let [x, y] = ["x", "y"].map(|name| format!("crates/{name}/COMPLIANCE.md"));
        let pages = ["crates/x/compliance/rfc1.md", "crates/y/compliance/rfc2.md"];
        assert_eq!(paths, [&x, pages[0], &y, pages[1]]);
        assert!(tables[&x].contains("| [T](compliance/rfc1.md) | 1 | 0 | 0 |"));
        let table = &tables[pages[0]];
        assert!(
            table.contains("| 1 | 1 | t | `crates/x/src/lib.rs` a | `crates/x/src/lib.rs` b |")
        );
        let gaps = gaps(&repository);
        assert_eq!(gaps.len(), 1, "{gaps:?}");
        assert!(gaps[0].path.ends_with("rfc2.toml"));
    }

    #[test]
    fn more_than_one_exception_in_ten_is_too_many() {
        let list = |exceptions: usize| {
            let reason =
                |n| if n < exceptions { "exception = \"e\"" } else { "not_applicable = \"n\"" };
            let all: String = (0..10).map(|n| requirement(&n.to_string(), reason(n))).collect();
            let text = format!("title = \"T\"\n{all}");
            gaps(&Repository { files: vec![file("crates/x/compliance/rfc1.toml", &text)] }).len()
        };
        assert_eq!([1, 2].map(list), [0, 1]);
    }

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
