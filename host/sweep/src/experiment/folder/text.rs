//! Text of an experiment, from its `README.md`.

use kinglet_scenario::ScenarioError;
use std::path::Path;

/// The parts of a README that the program shows. Texts are read once in a run of the program.
#[derive(Clone, Copy)]
pub struct Text {
    /// First heading.
    pub title: &'static str,
    /// Section "Question".
    pub question: &'static str,
    /// Section "Method".
    pub method: &'static str,
    /// Items of the section "Threats to validity".
    pub threats: &'static [&'static str],
}

fn kept(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

impl Text {
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
        let (question, method) = (section("Question")?.join(" "), section("Method")?.join(" "));
        let threats = section("Threats to validity")?.into_iter();
        let threats = threats.map(|item| kept(item.trim_start_matches("* ").to_owned()));
        Ok(Text {
            title: kept(title.to_owned()),
            question: kept(question),
            method: kept(method),
            threats: Vec::leak(threats.collect()),
        })
    }
}

/// Reads the text of an experiment whose plan is in Rust; `folder` is its folder.
///
/// # Errors
/// The missing section.
pub fn text(folder: &Path, readme: &str) -> Result<Text, ScenarioError> {
    Text::new(&folder.join("README.md"), readme)
}
