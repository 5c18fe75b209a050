//! A minimal lexer for Rust, to distinguish code from comments and literals, and to find the end of
//! a function.

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Line of the word `fn`, counted from 1.
    pub(crate) line: usize,
    /// Number of lines with code from `fn` to the closing brace.
    pub(crate) code_lines: usize,
}

/// Replaces a character of a literal, so that the lines of a literal do not count as blank.
const LITERAL: char = '"';

/// Returns `source` with comments turned into blanks and the contents of literals into [`LITERAL`],
/// character for character, so that positions and lines stay the same.
pub(crate) fn mask(source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while at < chars.len() {
        let (end, fill) = match token_end(&chars, at) {
            Some(found) => found,
            None => {
                out.push(chars[at]);
                at += 1;
                continue;
            }
        };
        for &c in &chars[at..end] {
            out.push(if c == '\n' { '\n' } else { fill });
        }
        at = end;
    }
    out
}

/// Returns the contents of all literals, with their escaped quotes and line breaks resolved.
pub(crate) fn literals(source: &str) -> Vec<String> {
    let chars: Vec<char> = source.chars().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < chars.len() {
        let Some((end, fill)) = token_end(&chars, at) else {
            at += 1;
            continue;
        };
        if fill == LITERAL {
            let literal: String = chars[at..end].iter().collect();
            let mut lines = literal.split("\\\n").map(str::trim_start);
            let text = lines.next().unwrap_or_default().to_owned();
            let text = lines.fold(text, |text, line| text + line);
            let text = text.replace("\\n", "\n").replace("\\\"", "\"");
            let text = text.trim_start_matches('r').trim_matches('#');
            found.push(text.get(1..text.len().saturating_sub(1)).unwrap_or_default().to_owned());
        }
        at = end;
    }
    found
}

/// Returns the end of the comment or literal that starts at `at`, and its replacement.
fn token_end(chars: &[char], at: usize) -> Option<(usize, char)> {
    let starts = |text: &str| text.chars().enumerate().all(|(i, c)| get(chars, at + i) == c);
    if starts("//") {
        let end = chars[at..].iter().position(|&c| c == '\n').map_or(chars.len(), |n| at + n);
        return Some((end, ' '));
    }
    if starts("/*") {
        return Some((block_comment_end(chars, at), ' '));
    }
    if get(chars, at) == '"' {
        return Some((quoted_end(chars, at + 1, '"'), LITERAL));
    }
    if get(chars, at) == '\'' {
        return char_end(chars, at).map(|end| (end, LITERAL));
    }
    raw_string_end(chars, at).map(|end| (end, LITERAL))
}

fn get(chars: &[char], at: usize) -> char {
    chars.get(at).copied().unwrap_or('\0')
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Block comments nest.
fn block_comment_end(chars: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while at < chars.len() {
        match (get(chars, at), get(chars, at + 1)) {
            ('/', '*') => (at, depth) = (at + 2, depth + 1),
            ('*', '/') => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at.min(chars.len())
}

/// Returns the position after the closing `quote`; a backslash escapes the next character.
fn quoted_end(chars: &[char], start: usize, quote: char) -> usize {
    let mut at = start;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// Returns the end of a character literal; `None` for a lifetime or a label.
fn char_end(chars: &[char], at: usize) -> Option<usize> {
    if get(chars, at + 1) == '\\' {
        return Some(quoted_end(chars, at + 1, '\''));
    }
    (get(chars, at + 2) == '\'').then_some(at + 3)
}

/// Returns the end of `r"…"`, `r#"…"#` and so on that starts at the `r`; a `b` or `c` before it is
/// plain code.
fn raw_string_end(chars: &[char], at: usize) -> Option<usize> {
    if get(chars, at) != 'r' {
        return None;
    }
    let before = |n: usize| at.checked_sub(n).map_or(' ', |i| chars[i]);
    let prefixed = matches!(before(1), 'b' | 'c') && !is_word(before(2));
    let in_word = is_word(before(1)) && !prefixed;
    let hashes = chars[at + 1..].iter().take_while(|&&c| c == '#').count();
    if in_word || get(chars, at + 1 + hashes) != '"' {
        return None;
    }
    let mut end = at + 2 + hashes;
    while end < chars.len() {
        let closes = chars[end] == '"' && (1..=hashes).all(|i| get(chars, end + i) == '#');
        if closes {
            return Some(end + 1 + hashes);
        }
        end += 1;
    }
    Some(chars.len())
}

/// Returns the number of lines of masked source with code.
pub(crate) fn code_lines(masked: &str) -> usize {
    masked.lines().filter(|line| !line.trim().is_empty()).count()
}

/// Returns the positions (in characters) of `word` in `masked` at which it is not a part of a
/// longer word.
pub(crate) fn words(masked: &[char], word: &str) -> Vec<usize> {
    let word: Vec<char> = word.chars().collect();
    let mut found = Vec::new();
    for (at, window) in masked.windows(word.len()).enumerate() {
        let before = at.checked_sub(1).map_or(' ', |i| masked[i]);
        if window == word && !is_word(before) && !is_word(get(masked, at + word.len())) {
            found.push(at);
        }
    }
    found
}

/// Returns the line of position `at`, counted from 1.
pub(crate) fn line_of(masked: &[char], at: usize) -> usize {
    1 + masked[..at].iter().filter(|&&c| c == '\n').count()
}

/// Returns the position after the bracket that closes the one at `open`.
pub(crate) fn closing(masked: &[char], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, &c) in masked.iter().enumerate().skip(open) {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    masked.len()
}

/// Returns every function of masked source that has a body, nested ones too.
pub(crate) fn functions(masked: &str) -> Vec<Function> {
    let chars: Vec<char> = masked.chars().collect();
    let mut found = Vec::new();
    for start in words(&chars, "fn") {
        let name: String = chars[start + 2..]
            .iter()
            .skip_while(|c| c.is_whitespace())
            .take_while(|&&c| is_word(c))
            .collect();
        // Without a name it is the type of a function pointer.
        if name.is_empty() {
            continue;
        }
        if let Some(body) = body_start(&chars, start) {
            let text: String = chars[start..closing(&chars, body)].iter().collect();
            let line = line_of(&chars, start);
            found.push(Function { name, line, code_lines: code_lines(&text) });
        }
    }
    found
}

/// Returns the brace that opens the body; `None` if the declaration ends without one.
fn body_start(chars: &[char], start: usize) -> Option<usize> {
    let mut at = start;
    let mut last = ' ';
    while at < chars.len() {
        match chars[at] {
            // `<{ N }>` is a constant argument, not a body.
            '(' | '[' => at = closing(chars, at),
            '{' if last == '<' => at = closing(chars, at),
            '{' => return Some(at),
            ';' => return None,
            _ => at += 1,
        }
        last = match get(chars, at.saturating_sub(1)) {
            c if c.is_whitespace() => last,
            c => c,
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_become_blank_and_literals_do_not() {
        assert_eq!(mask("a // b\nc"), "a     \nc");
        assert_eq!(mask("a /* b /* c */ d */ e"), "a                   e");
        assert_eq!(mask("\"{// \\\" }\" x"), "\"\"\"\"\"\"\"\"\"\" x");
        assert_eq!(code_lines(&mask("\"one\ntwo\n\nfour\" // five\n// six\n")), 3);
    }

    #[test]
    fn raw_strings_end_at_their_own_hashes() {
        let masked = mask("r#\"a \" fn x() { \"# + br\"\\\" + r#fn");
        assert!(masked.ends_with(" + r#fn"), "{masked}");
        assert!(!masked.contains('{'), "{masked}");
        assert_eq!(mask("for\"x\""), "for\"\"\"");
    }

    #[test]
    fn literals_have_their_contents() {
        let found = literals("f(\"a \\\n  b \\\"c\\\"\", 'x', r#\"d \"e\" f\"#) // \"g\"");
        assert_eq!(found, ["a b \"c\"", "x", "d \"e\" f"]);
    }

    #[test]
    fn lifetimes_are_not_characters() {
        assert_eq!(mask("&'a str, '}', '\\'', '\\u{7d}', 'b"), {
            let q = |n| "\"".repeat(n);
            format!("&'a str, {}, {}, {}, 'b", q(3), q(4), q(8))
        });
    }

    #[test]
    fn a_function_ends_at_its_own_brace() {
        let source = "trait T { fn declared(a: [u8; 2]); }\n\
            fn one(f: fn(u8) -> u8) -> [u8; 2] {\n // no\n\n if a { '}' } else { b }\n}\n\
            impl X<{ 1 }> { fn two() -> Y<{ 2 }> { fn three() {} } }\n";
        let found: Vec<(String, usize, usize)> = functions(&mask(source))
            .into_iter()
            .map(|function| (function.name, function.line, function.code_lines))
            .collect();
        let expected = [("one", 2, 3), ("two", 7, 1), ("three", 7, 1)];
        assert_eq!(found, expected.map(|(name, line, lines)| (name.to_owned(), line, lines)));
    }

    #[test]
    fn words_are_whole() {
        let chars: Vec<char> = "unsafe unsafe_code is_unsafe (unsafe)".chars().collect();
        assert_eq!(words(&chars, "unsafe"), [0, 30]);
    }
}
