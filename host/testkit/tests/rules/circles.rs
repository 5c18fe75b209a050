//! No two modules of a crate import each other, directly or through other modules.
//!
//! A module and its submodules count as one: a `mod.rs` may name its submodules, and a submodule
//! may use definitions of its `mod.rs`. Every other pair of modules has one direction, so that the
//! lower one can be read without the higher one. Tests may import anything.

use super::lexer::{is_word, mask};
use super::{File, Repository, Violation};
use std::collections::{BTreeMap, BTreeSet};

/// A module by its path below the root of its crate, which is empty.
type Module = Vec<String>;
/// The imports of each module.
type Imports = BTreeMap<Module, BTreeSet<Module>>;

pub(crate) fn violations(repository: &Repository) -> Vec<Violation> {
    let mut crates: BTreeMap<&str, BTreeMap<Module, &File>> = BTreeMap::new();
    for file in repository.rust() {
        if let Some((root, inside)) = file.path.split_once("/src/")
            && ["crates/", "drivers/", "host/"].iter().any(|folder| root.starts_with(folder))
        {
            crates.entry(root).or_default().insert(module(inside), file);
        }
    }
    crates.values().flat_map(of_crate).collect()
}

/// Returns the module of a file below `src`.
fn module(inside: &str) -> Module {
    let path = inside.trim_end_matches(".rs");
    let path = path.trim_end_matches("/mod");
    match path {
        "lib" | "main" | "mod" => Module::new(),
        path => path.split('/').map(str::to_owned).collect(),
    }
}

fn of_crate(files: &BTreeMap<Module, &File>) -> Vec<Violation> {
    let texts: BTreeMap<&Module, String> =
        files.iter().map(|(module, file)| (module, without_tests(&mask(&file.text)))).collect();
    let in_tests = |module: &Module| {
        let Some((name, parent)) = module.split_last() else { return false };
        let declared = |parent: &File| mask(&parent.text).contains(&format!("{TEST}mod {name};"));
        files.get(parent).is_some_and(|parent| declared(parent))
    };
    let mut imports = Imports::new();
    for (module, text) in texts.iter().filter(|(module, _)| !in_tests(module)) {
        let known = |path: &[String]| files.contains_key(path);
        let named = paths(text).into_iter().filter_map(|path| resolve(module, &path, &known));
        let others = named.filter(|other| !other.starts_with(module) && !module.starts_with(other));
        imports.insert((*module).clone(), others.collect());
    }
    circles(&imports).into_iter().map(|circle| violation(files, &circle)).collect()
}

fn violation(files: &BTreeMap<Module, &File>, circle: &[Module]) -> Violation {
    let names: Vec<String> = circle.iter().map(|module| module.join("/")).collect();
    let remedy = format!("import each other in a circle: {}", names.join(", "));
    let violation = Violation::new("circle", files[&circle[0]], 0, remedy);
    Violation { measure: Some((String::new(), circle.len())), ..violation }
}

/// The attribute before a module of tests.
const TEST: &str = "#[cfg(test)]\n";

/// Returns masked `text` without its modules of tests.
fn without_tests(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(&format!("{TEST}mod ")) {
        out.push_str(before);
        let end = match (after.find('{'), after.find(';')) {
            (Some(open), semicolon) if semicolon.is_none_or(|at| open < at) => {
                // `rustfmt` closes a module in the first column.
                after.find("\n}").map_or(after.len(), |at| at + 2)
            }
            (_, semicolon) => semicolon.unwrap_or(after.len()),
        };
        rest = &after[end..];
    }
    out + rest
}

/// Returns every path of masked `text` that begins with `crate` or `super`.
fn paths(text: &str) -> Vec<Vec<String>> {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let (word, end) = word(&chars, at);
        if word.is_empty() {
            at += 1;
            continue;
        }
        let begins = at < 2 || chars[at - 2..at] != [':', ':'];
        if begins && (word == "crate" || word == "super") {
            tree(&chars, at, Vec::new(), &mut found);
        }
        at = end;
    }
    found
}

/// Adds the names of the path or tree of paths at `at` below `prefix`. Returns its end.
fn tree(
    chars: &[char],
    mut at: usize,
    mut prefix: Vec<String>,
    found: &mut Vec<Vec<String>>,
) -> usize {
    loop {
        at = skip(chars, at);
        if chars.get(at) == Some(&'{') {
            at += 1;
            while chars.get(at).is_some_and(|c| *c != '}') {
                at = tree(chars, at, prefix.clone(), found);
                // Skips another name for it, and the comma.
                while chars.get(at).is_some_and(|c| *c != ',' && *c != '}') {
                    at += 1;
                }
                at = skip(chars, at + usize::from(chars.get(at) == Some(&',')));
            }
            return at + 1;
        }
        let (word, end) = word(chars, at);
        if word.is_empty() {
            found.push(prefix);
            return at;
        }
        prefix.push(word);
        at = end;
        if chars.get(at..at + 2) != Some(&[':', ':']) {
            found.push(prefix);
            return at;
        }
        at += 2;
    }
}

fn skip(chars: &[char], mut at: usize) -> usize {
    while chars.get(at).is_some_and(|c| c.is_whitespace()) {
        at += 1;
    }
    at
}

fn word(chars: &[char], at: usize) -> (String, usize) {
    let word: String = chars[at.min(chars.len())..].iter().take_while(|c| is_word(**c)).collect();
    let end = at + word.chars().count();
    (word, end)
}

/// Returns the module to which `path`, written in `module`, leads.
fn resolve(module: &Module, path: &[String], known: &dyn Fn(&[String]) -> bool) -> Option<Module> {
    let ups = path.iter().take_while(|word| *word == "super").count();
    let (mut at, rest) = match ups {
        0 => (Module::new(), &path[1..]),
        _ => (module[..module.len().checked_sub(ups)?].to_vec(), &path[ups..]),
    };
    for word in rest {
        at.push(word.clone());
        if !known(&at) {
            at.pop();
            break;
        }
    }
    known(&at).then_some(at)
}

/// Returns the sets of modules that reach each other, in order.
fn circles(imports: &Imports) -> Vec<Vec<Module>> {
    let from: BTreeMap<&Module, BTreeSet<&Module>> =
        imports.keys().map(|module| (module, reached(imports, module))).collect();
    let mut found = BTreeSet::new();
    for (module, reach) in &from {
        let back = |other: &&&Module| from.get(**other).is_some_and(|of| of.contains(module));
        let circle: Vec<Module> = reach.iter().filter(back).map(|m| (**m).clone()).collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}

/// Returns all modules that `module` imports, directly or indirectly.
fn reached<'a>(imports: &'a Imports, module: &'a Module) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut next = vec![module];
    while let Some(module) = next.pop() {
        for other in imports.get(module).into_iter().flatten() {
            if reached.insert(other) {
                next.push(other);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<(String, usize)> {
        let file = |(path, text): &(&str, &str)| File {
            path: format!("crates/a/src/{path}"),
            text: (*text).to_owned(),
        };
        let repository = Repository { files: files.iter().map(file).collect() };
        let size = |found: &Violation| found.measure.clone().map_or(0, |(_, size)| size);
        violations(&repository).iter().map(|v| (v.path.clone(), size(v))).collect()
    }

    #[test]
    fn a_circle_is_found_however_it_is_written() {
        let circle = [("crates/a/src/b.rs".to_owned(), 3)];
        let c = ("c.rs", "use crate::{\n    d::{E, F as G},\n};\n");
        for d in ["use super::b;\n", "fn f(x: crate::b::X<u8>) {}\n", "use super::{b::{self}};\n"] {
            let files = [("lib.rs", "mod b;\n"), ("b.rs", "use crate::c::C;\n"), c, ("d.rs", d)];
            assert_eq!(found(&files), circle, "{d}");
        }
        assert_eq!(found(&[("b.rs", "use crate::c::C;\n"), c, ("d.rs", "")]), []);
    }

    #[test]
    fn a_module_and_its_inside_are_one_and_tests_do_not_count() {
        let rooms = [("b/mod.rs", "mod c;\nuse c::C;\n"), ("b/c.rs", "use super::B;\n")];
        assert_eq!(found(&rooms), []);
        let test = "#[cfg(test)]\nmod tests {\n    use crate::c::C;\n}\n";
        assert_eq!(found(&[("b.rs", test), ("c.rs", "use crate::b::B;\n")]), []);
        let apart = [("b.rs", "#[cfg(test)]\nmod tests;\n"), ("b/tests.rs", "use crate::c::C;\n")];
        assert_eq!(found(&[apart[0], apart[1], ("c.rs", "use crate::b::B;\n")]), []);
        let comment = "// use crate::c::C;\nconst TEXT: &str = \"crate::c\";\n";
        assert_eq!(found(&[("b.rs", comment), ("c.rs", "use crate::b::B;\n")]), []);
    }
}
