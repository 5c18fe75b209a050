//! Limits for the length of files, functions and lines.

use super::lexer::{code_lines, functions, mask};
use super::{File, Repository, Violation};

const FILE_CODE_LINES: usize = 600;
const FUNCTION_CODE_LINES: usize = 70;
const COLUMNS: usize = 100;

pub(crate) fn violations(repository: &Repository) -> Vec<Violation> {
    repository.rust().flat_map(of_file).collect()
}

fn of_file(file: &File) -> Vec<Violation> {
    let masked = mask(&file.text);
    let mut found = Vec::new();
    let total = code_lines(&masked);
    if total > FILE_CODE_LINES {
        let remedy = format!("{total} lines of code; split it: at most {FILE_CODE_LINES}");
        let violation = Violation::new("file-length", file, 0, remedy);
        found.push(Violation { measure: Some((String::new(), total)), ..violation });
    }
    for function in functions(&masked) {
        if function.code_lines > FUNCTION_CODE_LINES {
            let (name, lines) = (function.name, function.code_lines);
            let remedy = format!("`{name}` has {lines} lines; at most {FUNCTION_CODE_LINES}");
            let violation = Violation::new("function-length", file, function.line, remedy);
            found.push(Violation { measure: Some((name, lines)), ..violation });
        }
    }
    for (index, line) in file.text.lines().enumerate() {
        let columns = line.chars().count();
        if columns > COLUMNS {
            let remedy = format!("{columns} columns; at most {COLUMNS}");
            found.push(Violation::new("columns", file, index + 1, remedy));
        }
    }
    found
}

#[test]
fn one_line_more_than_allowed_is_found() {
    let source = |statements: usize| {
        let body = "    step();\n".repeat(statements);
        File { path: "a.rs".to_owned(), text: format!("fn long() {{\n{body}}}\n") }
    };
    assert_eq!(of_file(&source(FUNCTION_CODE_LINES - 2)), []);
    let found = of_file(&source(FUNCTION_CODE_LINES - 1));
    assert_eq!(found[0].measure, Some(("long".to_owned(), FUNCTION_CODE_LINES + 1)));
    let found = of_file(&source(FILE_CODE_LINES - 1));
    assert_eq!(found[0].rule, "file-length");
    let wide = File { path: "b.rs".to_owned(), text: format!("//{}", "é".repeat(COLUMNS - 1)) };
    assert_eq!(of_file(&wide)[0].rule, "columns");
}
