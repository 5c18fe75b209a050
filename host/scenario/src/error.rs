//! Errors of scenario files, with their position.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

pub(super) type Result<T> = std::result::Result<T, ScenarioError>;

/// An invalid scenario: place of the error and valid alternative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file, or a name for text from another source.
    pub file: PathBuf,
    /// Line and column, both from 1; `None` if something is missing from the whole file.
    pub position: Option<(usize, usize)>,
    /// Dotted path of the key, such as `mac.d_ms` or `flow[1].to`; empty for the file as a whole.
    pub field: String,
    /// Error and valid alternative.
    pub message: String,
    /// The nearest valid key or word; it is also part of the message.
    pub nearest: Option<Box<str>>,
    /// True if the file could not be read (as opposed to being invalid).
    pub io: bool,
}

impl ScenarioError {
    /// An error at `span` of `text`.
    pub fn at(file: &Path, text: &str, span: Range<usize>, field: &str, message: String) -> Self {
        ScenarioError {
            file: file.to_path_buf(),
            position: Some(line_column(text, span.start)),
            field: field.to_owned(),
            message,
            nearest: None,
            io: false,
        }
    }

    /// An error without a position in `file`.
    pub fn nowhere(file: &Path, field: &str, message: String) -> Self {
        let (file, field) = (file.to_path_buf(), field.to_owned());
        ScenarioError { file, position: None, field, message, nearest: None, io: false }
    }

    /// The same error with its nearest valid word.
    pub(super) fn meant(self, nearest: Option<&str>) -> Self {
        ScenarioError { nearest: nearest.map(Box::from), ..self }
    }

    /// The file cannot be read.
    pub fn unreadable(file: &Path, error: &std::io::Error) -> Self {
        ScenarioError {
            file: file.to_path_buf(),
            position: None,
            field: String::new(),
            message: format!("cannot be read: {error}; give the path of a scenario file (TOML)"),
            nearest: None,
            io: true,
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some((line, column)) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        f.write_str(": ")?;
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScenarioError {}

/// Line and column (characters, both from 1) of a byte offset.
fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let mut end = offset.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
    (line, column)
}

/// The candidate closest to `word`, if any is close enough: one edit away, or with all words of
/// `word` among its own, or at most one edit for every three characters, and two for short words.
pub fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let within = |allowed: usize| {
        let distances = candidates.iter().map(|c| (edit_distance(word, c), *c));
        let near = distances.filter(|(distance, _)| *distance <= allowed);
        near.min_by_key(|(distance, _)| *distance).map(|(_, c)| c)
    };
    let longer = candidates.iter().filter(|candidate| has_words_of(candidate, word));
    within(1)
        .or_else(|| longer.min_by_key(|candidate| candidate.len()).copied())
        .or_else(|| within((word.chars().count() / 3).max(2)))
}

/// Synonyms in names of keys.
const ALIKE: [(&str, &str); 3] = [("start", "from"), ("end", "until"), ("stop", "until")];

/// Returns true if `name` has every word of `word`, and the first of these is more than a unit.
fn has_words_of(name: &str, word: &str) -> bool {
    let parts = |text: &str| text.split(['_', '-', '.']).map(str::to_owned).collect::<Vec<_>>();
    let (name, word) = (parts(name), parts(word));
    let meant = |part: &String| {
        let alike = ALIKE.iter().any(|(a, b)| a == part && name.iter().any(|it| it == b));
        alike || name.contains(part)
    };
    word.first().is_some_and(|first| first.len() > 2) && word.iter().all(meant)
}

/// Levenshtein distance in characters.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance_counts_insertions_deletions_and_substitutions() {
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("same", "same"), 0);
    }

    #[test]
    fn nearest_gives_up_on_words_that_are_not_alike() {
        assert_eq!(nearest("duration", &["duration_s", "seed"]), Some("duration_s"));
        assert_eq!(nearest("zebra", &["duration_s", "seed"]), None);
    }

    #[test]
    fn nearest_knows_names_that_have_the_words() {
        assert_eq!(nearest("window", &["window_limit", "mss"]), Some("window_limit"));
        assert_eq!(nearest("retries", &["min_be", "max_frame_retries"]), Some("max_frame_retries"));
        assert_eq!(nearest("start_s", &["x_m", "from_s", "until_s"]), Some("from_s"));
        assert_eq!(nearest("tcp", &["pip", "tcp-bulk"]), Some("tcp-bulk"));
        assert_eq!(nearest("s", &["from_s"]), None);
    }

    #[test]
    fn positions_count_characters_not_octets() {
        assert_eq!(line_column("a\nüb", 4), (2, 2));
        assert_eq!(line_column("", 10), (1, 1));
    }
}
