//! Errors of `experiment.toml`, with their position.

use kinglet_scenario::read::Source;
use kinglet_scenario::{ScenarioError, nearest};
use std::ops::Range;
use toml::Spanned;

/// A place in a file.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    source: Source<'a>,
    start: usize,
    end: usize,
    field: &'a str,
}

impl<'a> Place<'a> {
    /// The place of a value, whose key is `field`.
    pub(super) fn of<T>(source: Source<'a>, field: &'a str, value: &Spanned<T>) -> Self {
        let Range { start, end } = value.span();
        Place { source, start, end, field }
    }

    /// An error at this place.
    pub(super) fn error(self, message: String) -> ScenarioError {
        self.source.error(self.start..self.end, self.field, message)
    }

    /// An error at `offset` of `text`, which is the string at this place.
    pub(super) fn inside(self, text: &str, offset: usize, message: String) -> ScenarioError {
        // A string with escapes differs from what is written; its begin is near enough.
        let written = self.source.text.get(self.start..self.end).unwrap_or_default();
        let start = written.find(text).map_or(self.start, |quotes| self.start + quotes + offset);
        self.source.error(start..self.end, self.field, message)
    }
}

/// The nearest of the valid names, or all of them.
pub(super) fn hint(name: &str, valid: &[&str]) -> String {
    match nearest(name, valid) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("valid are {}", valid.join(", ")),
    }
}
