//! Reading of a script's text from front to back, with positions for errors.

/// An error, and its offset in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) at: usize,
    pub(super) what: String,
}

/// Returns line and column of an offset, both from 1.
pub(super) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before[start..].chars().count() + 1)
}

#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0 }
    }

    /// Returns the text that follows, after white space and comments.
    pub(super) fn rest(&mut self) -> &'a str {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            let comment = if trimmed.starts_with("//") || trimmed.starts_with('#') {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else if trimmed.starts_with("/*") {
                match trimmed.find("*/") {
                    Some(end) => end + 2,
                    None => return trimmed,
                }
            } else {
                return trimmed;
            };
            self.at += comment;
        }
    }

    /// Returns the offset of the text that follows.
    pub(super) fn at(&mut self) -> usize {
        self.rest();
        self.at
    }

    pub(super) fn is_at_end(&mut self) -> bool {
        self.rest().is_empty()
    }

    pub(super) fn starts_with(&mut self, mark: &str) -> bool {
        self.rest().starts_with(mark)
    }

    /// Skips `mark` if it is next. Returns whether it was.
    pub(super) fn eat(&mut self, mark: &str) -> bool {
        let found = self.starts_with(mark);
        self.at += if found { mark.len() } else { 0 };
        found
    }

    /// Skips `mark`, which must be next.
    pub(super) fn expect(&mut self, mark: &str) -> Result<(), Wrong> {
        if self.eat(mark) { Ok(()) } else { Err(self.wrong(&format!("`{mark}` is missing"))) }
    }

    /// Skips the word `word` if it is next. Returns whether it was.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.rest();
        let len = found.find(|c| !is_word(c)).unwrap_or(found.len());
        found[..len] == *word && self.eat(word)
    }

    /// Reads the letters, digits and underscores that are next; empty if there are none.
    pub(super) fn word(&mut self) -> &'a str {
        self.run(is_word)
    }

    /// Reads the next characters as long as `such` returns true.
    pub(super) fn run(&mut self, such: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let len = rest.find(|c| !such(c)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// Reads everything up to `close`, and skips `close`.
    pub(super) fn until(&mut self, close: &str) -> Result<&'a str, Wrong> {
        let rest = &self.text[self.at..];
        let Some(len) = rest.find(close) else {
            return Err(self.wrong(&format!("`{close}` never comes")));
        };
        self.at += len + close.len();
        Ok(&rest[..len])
    }

    /// Reads a decimal number.
    pub(super) fn number<T: std::str::FromStr>(&mut self) -> Result<T, Wrong> {
        let mut ahead = self.clone();
        let digits = ahead.word();
        let Ok(number) = digits.parse() else {
            return Err(self.wrong("a number is missing or out of range"));
        };
        *self = ahead;
        Ok(number)
    }

    /// Returns an error at the text that follows.
    pub(super) fn wrong(&mut self, what: &str) -> Wrong {
        let rest = self.rest().lines().next().unwrap_or_default();
        let shown: String = rest.chars().take(40).collect();
        let what = if shown.is_empty() { what.to_owned() } else { format!("{what}: `{shown}`") };
        Wrong { at: self.at, what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_space_are_passed_over() {
        let mut cursor = Cursor::new("// one\n /* two\n three */ # four\n a_1 'x");
        assert_eq!(cursor.word(), "a_1");
        assert!(cursor.eat("'") && !cursor.eat("'") && cursor.eat_word("x") && cursor.is_at_end());
        assert!(!Cursor::new("words").eat_word("word"));
    }

    #[test]
    fn a_place_is_reported_by_line_and_column() {
        let text = "ab\ncdé f";
        let mut cursor = Cursor::new(text);
        cursor.until("é").expect("is there");
        let wrong = cursor.wrong("odd");
        assert_eq!((place(text, wrong.at), wrong.what.as_str()), ((2, 5), "odd: `f`"));
        assert_eq!(place(text, 0), (1, 1));
    }
}
