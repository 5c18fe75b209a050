//! The list of exceptions, and the violations that it covers.

use super::{Violation, root};
use std::fs;

/// An entry of the list, with its words unchanged.
type Entry = Vec<String>;

/// Returns the violations that no exception covers.
pub(crate) fn apply(found: &[Violation]) -> Vec<Violation> {
    let entries = parse(&list());
    found.iter().filter(|violation| !entries.contains(&entry_for(violation))).cloned().collect()
}

/// Returns the entries that cover no violation.
pub(crate) fn idle(found: &[Violation]) -> Vec<String> {
    let needed: Vec<Entry> = found.iter().map(entry_for).collect();
    let entries = parse(&list());
    entries.iter().filter(|entry| !needed.contains(entry)).map(|entry| entry.join(" ")).collect()
}

fn list() -> String {
    let path = root().join("host/testkit/tests/repository-exceptions.txt");
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn parse(list: &str) -> Vec<Entry> {
    let lines = list.lines().map(str::trim);
    let entries = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    entries.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

/// Returns the entry that would except `violation`: size rules name the exact size, so that growth
/// needs an edit that a reviewer sees, and shrinking one that lowers the number.
fn entry_for(violation: &Violation) -> Entry {
    let mut entry = vec![violation.rule.to_owned(), violation.path.clone()];
    if let Some((subject, size)) = &violation.measure {
        if !subject.is_empty() {
            entry.push(subject.clone());
        }
        entry.push(size.to_string());
    }
    entry
}

#[test]
fn a_size_exception_holds_for_exactly_one_size() {
    let violation = |size| Violation {
        rule: "function-length",
        path: "a.rs".to_owned(),
        line: 3,
        measure: Some(("long".to_owned(), size)),
        remedy: String::new(),
    };
    let entries = parse("# why\n\nfunction-length a.rs long 80\n");
    assert!(entries.contains(&entry_for(&violation(80))));
    assert!(!entries.contains(&entry_for(&violation(81))));
    assert!(!entries.contains(&entry_for(&violation(79))));
}
