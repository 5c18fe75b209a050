//! Forbidden text in sources, and required declarations of the stack crates.

use super::lexer::{closing, is_word, line_of, mask, words};
use super::{File, Repository, Violation};

/// The only files that may have `unsafe` code on a microcontroller: one that calls assembly, and
/// one that accesses the registers of a chip.
const ASSEMBLY: &str = "crates/octets/src/armv6m.rs";
const REGISTERS: &str = "drivers/nrf52840/src/mmio.rs";

/// Checks the stack crates: `no_std`, no allocation, no `unsafe`, no floats, every `allow` with its
/// reason.
pub(crate) fn stack_crates(repository: &Repository) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in repository.rust().filter(|file| file.is_stack()) {
        if file.path.ends_with("/src/lib.rs") {
            found.extend(declarations(file));
        }
        let masked: Vec<char> = mask(&file.text).chars().collect();
        for word in ["f32", "f64"] {
            found.extend(each_word(file, &masked, "float", word, "use integers with a unit"));
        }
        for at in float_literals(&masked) {
            let line = line_of(&masked, at);
            found.push(Violation::new("float", file, line, "a float literal; use integers"));
        }
        if ![ASSEMBLY, REGISTERS].contains(&file.path.as_str()) {
            found.extend(each_word(file, &masked, "unsafe", "unsafe", "stack crates forbid it"));
        }
        found.extend(unexplained_allows(file, &masked));
        found.extend(allocation(file, &masked));
    }
    found
}

fn declarations(file: &File) -> Vec<Violation> {
    let masked = mask(&file.text);
    // A lint that is forbidden cannot be allowed for one module.
    let has_unsafe = |file_of: &str| file_of.starts_with(file.path.trim_end_matches("lib.rs"));
    let level = if has_unsafe(ASSEMBLY) || has_unsafe(REGISTERS) {
        "#![deny(unsafe_code)]"
    } else {
        "#![forbid(unsafe_code)]"
    };
    let missing = ["#![no_std]", level]
        .into_iter()
        .filter(|declaration| !masked.lines().any(|line| line.trim() == *declaration));
    missing
        .map(|declaration| Violation::new("declaration", file, 1, format!("lacks {declaration}")))
        .collect()
}

fn each_word(
    file: &File,
    masked: &[char],
    rule: &'static str,
    word: &str,
    remedy: &str,
) -> Vec<Violation> {
    let found = words(masked, word).into_iter();
    found
        .map(|at| Violation::new(rule, file, line_of(masked, at), format!("`{word}`: {remedy}")))
        .collect()
}

/// Returns the positions of `1.5` and the like; `pair.0.1` and `0..9` do not count.
fn float_literals(masked: &[char]) -> Vec<usize> {
    let mut found = Vec::new();
    for (at, window) in masked.windows(3).enumerate() {
        if let [before, '.', after] = window {
            let digits = masked[..=at].iter().rev().take_while(|c| c.is_ascii_digit()).count();
            let start = at + 1 - digits;
            let prior = start.checked_sub(1).map_or(' ', |i| masked[i]);
            let alone = prior != '.' && !is_word(prior);
            if before.is_ascii_digit() && after.is_ascii_digit() && alone {
                found.push(at);
            }
        }
    }
    found
}

fn unexplained_allows(file: &File, masked: &[char]) -> Vec<Violation> {
    let mut found = Vec::new();
    for word in ["allow", "expect"] {
        for at in words(masked, word) {
            let open = at + word.len();
            let before = at.checked_sub(1).map_or(' ', |i| masked[i]);
            // An attribute, alone or inside `cfg_attr`; not a method or a function.
            let attribute =
                masked.get(open) == Some(&'(') && matches!(before, '[' | ' ' | '(' | '\n');
            if !attribute || declares_function(masked, at) {
                continue;
            }
            let inside: String = masked[open..closing(masked, open)].iter().collect();
            if !inside.contains("reason =") {
                let remedy = format!("`{word}` needs `reason = \"…\"`, and a true one");
                found.push(Violation::new("allow-reason", file, line_of(masked, at), remedy));
            }
        }
    }
    found
}

fn declares_function(masked: &[char], at: usize) -> bool {
    let before: String = masked[at.saturating_sub(3)..at].iter().collect();
    before == "fn "
}

/// Forbids `alloc`, and `std` except for tests.
fn allocation(file: &File, masked: &[char]) -> Vec<Violation> {
    let text: String = masked.iter().collect();
    let mut found = Vec::new();
    let mut previous = "";
    for (index, line) in text.lines().map(str::trim).enumerate() {
        let external = ["extern crate alloc;", "extern crate std;"].contains(&line);
        if external && previous != "#[cfg(test)]" && !file.path.contains("/tests/") {
            let remedy = "only under #[cfg(test)]: the stack does not allocate";
            found.push(Violation::new("allocation", file, index + 1, remedy));
        }
        if !line.is_empty() {
            previous = line;
        }
    }
    found
}

/// On the host only the plug-in that C calls may have `unsafe` code; clippy requires its reasons
/// there.
pub(crate) fn unsafe_on_the_host(repository: &Repository) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in repository.rust() {
        if file.path.starts_with("host/") && !file.path.starts_with("host/packetdrill/") {
            let masked: Vec<char> = mask(&file.text).chars().collect();
            let remedy = "only host/packetdrill, which C calls, may have it";
            found.extend(each_word(file, &masked, "unsafe", "unsafe", remedy));
        }
    }
    found
}

/// Forbids hashed collections: their iteration order differs from run to run.
pub(crate) fn hashed_collections(repository: &Repository) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in repository.rust() {
        let masked: Vec<char> = mask(&file.text).chars().collect();
        for word in ["HashMap", "HashSet"] {
            let remedy = "its order is random; use a BTree collection or a Vec";
            found.extend(each_word(file, &masked, "hashed-collection", word, remedy));
        }
    }
    found
}

/// Finds macros, attributes and marks of unfinished work.
pub(crate) fn unfinished(repository: &Repository) -> Vec<Violation> {
    // In two halves, so that this file does not violate its own rule.
    let marks =
        [concat!("FIX", "ME"), concat!("XX", "X"), concat!("HA", "CK"), concat!("TO", "DO")];
    let mut found = Vec::new();
    for file in &repository.files {
        if file.path.ends_with(".md") {
            continue;
        }
        let raw: Vec<char> = file.text.chars().collect();
        for mark in marks {
            found.extend(each_word(file, &raw, "marker", mark, "finish it, or open an issue"));
        }
        if file.is_rust() {
            found.extend(unfinished_code(file));
        }
    }
    found
}

fn unfinished_code(file: &File) -> Vec<Violation> {
    let masked = mask(&file.text);
    let mut found = Vec::new();
    for (index, line) in masked.lines().enumerate() {
        for text in ["todo!(", "unimplemented!(", "#[ignore"] {
            if line.contains(text) {
                let remedy = format!("`{text}`: finish it, or leave it out");
                found.push(Violation::new("unfinished", file, index + 1, remedy));
            }
        }
    }
    found
}

/// Finds absolute paths of one machine, in code, scripts or prose.
pub(crate) fn machine_paths(repository: &Repository) -> Vec<Violation> {
    let roots = ["work", "root", "home", "tmp", "Users"].map(|name| format!("/{name}"));
    let mut found = Vec::new();
    for file in &repository.files {
        for (index, line) in file.text.lines().enumerate() {
            if let Some(root) = roots.iter().find(|root| holds_path(line, root)) {
                let remedy = format!("an absolute path below {root}; take it from the caller");
                found.push(Violation::new("machine-path", file, index + 1, remedy));
            }
        }
    }
    found
}

/// Returns whether `root` is the start of a path in `line`, not a part in the middle.
fn holds_path(line: &str, root: &str) -> bool {
    line.match_indices(root).any(|(at, _)| {
        let before = line[..at].chars().next_back().unwrap_or(' ');
        let after = line[at + root.len()..].chars().next().unwrap_or(' ');
        let starts = before.is_whitespace() || matches!(before, '"' | '\'' | '=' | '(' | '`' | ':');
        // A regular format string such as "{dir}/tmp" is relative to something; so is "a/tmp".
        starts && after == '/'
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack_file(text: &str) -> Repository {
        let (path, text) = ("crates/x/src/a.rs".to_owned(), text.to_owned());
        Repository { files: vec![File { path, text }] }
    }

    fn rules(found: Vec<Violation>) -> Vec<&'static str> {
        found.into_iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn floats_are_found_and_tuple_fields_are_not() {
        let clean = "let a = pair.0.1 + t.1; for i in 0..9 {} \"1.5\" // f64 1.5\n 1.max(2)";
        assert_eq!(rules(stack_crates(&stack_file(clean))), [""; 0]);
        assert_eq!(rules(stack_crates(&stack_file("let a = 1.5; let b: f32;"))), ["float"; 2]);
    }

    #[test]
    fn an_allow_needs_its_reason() {
        let bare = "#[allow(dead_code)]\n#![cfg_attr(test, allow(unused))]";
        assert_eq!(rules(stack_crates(&stack_file(bare))), ["allow-reason"; 2]);
        let fine = "#[allow(a, reason = \"b\")] fn allow(x: u8) { self.allow(x); r.expect(\"c\") }";
        assert_eq!(rules(stack_crates(&stack_file(fine))), [""; 0]);
    }

    #[test]
    fn std_is_for_tests_and_unsafe_for_none() {
        let found = rules(stack_crates(&stack_file("extern crate alloc;\nunsafe {}")));
        assert_eq!(found, ["unsafe", "allocation"]);
        let fine = "#![forbid(unsafe_code)]\n#[cfg(test)]\nextern crate std;";
        assert_eq!(rules(stack_crates(&stack_file(fine))), [""; 0]);
    }

    #[test]
    fn two_modules_may_be_unsafe() {
        let file = |path: &str, text: &str| {
            let (path, text) = (path.to_owned(), text.to_owned());
            Repository { files: vec![File { path, text }] }
        };
        assert_eq!(rules(stack_crates(&file(ASSEMBLY, "unsafe {}"))), [""; 0]);
        assert_eq!(rules(stack_crates(&file(REGISTERS, "unsafe {}"))), [""; 0]);
        let lib = "#![no_std]\n#![deny(unsafe_code)]";
        assert_eq!(rules(stack_crates(&file("crates/octets/src/lib.rs", lib))), [""; 0]);
        assert_eq!(rules(stack_crates(&file("crates/mem/src/lib.rs", lib))), ["declaration"]);
    }

    #[test]
    fn a_library_must_declare_its_restrictions() {
        let (path, text) = ("crates/x/src/lib.rs".to_owned(), "// #![no_std]\n".to_owned());
        let found = stack_crates(&Repository { files: vec![File { path, text }] });
        assert_eq!(rules(found), ["declaration"; 2]);
    }

    #[test]
    fn unfinished_work_is_found_in_code_and_comments() {
        let text =
            format!("// {}: later\nfn a() {{ {}!() }}\n#[ignore]\n", concat!("FIX", "ME"), "todo");
        assert_eq!(rules(unfinished(&stack_file(&text))), ["marker", "unfinished", "unfinished"]);
        assert_eq!(rules(unfinished(&stack_file("let a = \"todo!()\"; // prefix"))), [""; 0]);
    }

    #[test]
    fn a_path_is_absolute_only_at_its_start() {
        let root = concat!("/", "tmp");
        for line in [format!("\"{root}/x\""), format!("cd {root}/x"), format!("DIR={root}/y")] {
            assert!(holds_path(&line, root), "{line}");
        }
        for line in
            [format!("a{root}/x"), format!("https://a.example{root}/x"), format!("{root}fs")]
        {
            assert!(!holds_path(&line, root), "{line}");
        }
    }
}
