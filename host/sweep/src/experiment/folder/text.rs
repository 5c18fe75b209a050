//! Text of an experiment, from its `README.md`.

use kinglet_scenario::ScenarioError;
use std::path::Path;

/// The parts that the program shows.
pub(super) struct Readme {
    /// First heading.
    pub(super) title: String,
    /// Section "Question".
    pub(super) question: String,
    /// Section "Method".
    pub(super) method: String,
    /// Items of the section "Threats to validity".
    pub(super) threats: Vec<String>,
}

impl Readme {
    /// Reads the sections of `text`.
    ///
    /// # Errors
    /// The missing section.
    pub(super) fn new(path: &Path, text: &str) -> Result<Self, ScenarioError> {
        let section = |name: &str| {
            let mut parts = text.split("\n## ");
            let found = parts.find_map(|part| part.strip_prefix(name)?.strip_prefix('\n'));
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            let lacks = || format!("no section; give one with the heading `## {name}`");
            let text = found.ok_or_else(|| ScenarioError::nowhere(path, name, lacks()))?;
            Ok(text.split("\n* ").map(words).filter(|part| !part.is_empty()).collect::<Vec<_>>())
        };
        let title = text.lines().next().and_then(|line| line.strip_prefix("# "));
        let title = title.ok_or_else(|| {
            let message = "the first line is no heading; give one as `# TITLE`";
            ScenarioError::nowhere(path, "", message.to_owned())
        })?;
        Ok(Readme {
            title: title.to_owned(),
            question: section("Question")?.join(" "),
            method: section("Method")?.join(" "),
            threats: section("Threats to validity")?
                .into_iter()
                .map(|item| item.trim_start_matches("* ").to_owned())
                .collect(),
        })
    }
}
