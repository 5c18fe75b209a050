//! `kinglet upgrade`: rewrites scenarios and sweeps that have old names of keys.

use crate::exit::{Code, Failure, note, say};
use crate::outputs::{Files, Input, Output};
use kinglet_scenario::renamed::{Change, Upgraded, check_kind, upgrade};
use std::path::Path;

#[derive(clap::Args)]
#[command(after_help = "\
Examples, from the project's root:
  kinglet upgrade host/lab/scenarios/office.toml host/lab/sweeps/window.toml
  kinglet upgrade --check host/lab/scenarios/annotated.toml

Only the old names change: comments, layout and line numbers stay. A file is
replaced as a whole or not at all, and a file with new names only is not
touched. If one of the files is neither a scenario nor a sweep, cannot be read
or has both names of a key, no file is rewritten. All commands read old names
for one release, with a warning. docs/renamed.md lists old and new names.")]
pub(crate) struct Args {
    /// Scenarios and sweeps
    #[arg(value_name = "FILE.toml", required = true)]
    files: Vec<Input>,
    /// Only report what would change; exit with 1 if
    /// anything would
    #[arg(long, verbatim_doc_comment)]
    check: bool,
    /// Print the changes as JSON
    #[arg(long)]
    json: bool,
}

/// A file and its changes.
struct Report<'a> {
    file: &'a Path,
    changes: Vec<Change>,
    text: String,
}

pub(crate) fn run(args: &Args) -> Result<Code, Failure> {
    let mut inputs = Files::default();
    let mut reports = Vec::new();
    let mut refused: Option<Failure> = None;
    for file in &args.files {
        let file = inputs.reads("the file", file);
        match read(file) {
            Ok(report) => reports.push(report),
            Err(error) => {
                refused.iter().for_each(|failure| note(&failure.message));
                refused = Some(error);
            }
        }
    }
    if let Some(failure) = refused {
        let others = if reports.is_empty() { "" } else { "; no file was rewritten" };
        return Err(Failure { message: format!("{}{others}", failure.message), ..failure });
    }
    if !args.check {
        rewrite(&reports)?;
    }
    let changed = reports.iter().any(|report| !report.changes.is_empty());
    if args.json {
        let record = |Report { file, changes, .. }: &Report<'_>| {
            let file = file.to_string_lossy();
            serde_json::json!({ "file": file, "changes": changes })
        };
        let records: Vec<_> = reports.iter().map(record).collect();
        say(&format!("{:#}\n", serde_json::json!(records)));
    } else {
        reports.iter().for_each(|report| say(&lines(report)));
    }
    Ok(if args.check && changed { Code::CheckFailed } else { Code::Success })
}

fn read(file: &Path) -> Result<Report<'_>, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| Failure::io(file, &error))?;
    check_kind(file, &text)?;
    let Upgraded { text, changes } = upgrade(file, &text)?;
    Ok(Report { file, changes, text })
}

/// Replaces the files that have changes.
fn rewrite(reports: &[Report<'_>]) -> Result<(), Failure> {
    let mut files = Files::default();
    let changed = reports.iter().filter(|report| !report.changes.is_empty());
    let slots: Vec<_> = changed
        .map(|report| (files.writes("the file", &Output::at(report.file)), &report.text))
        .collect();
    let outputs = files.check()?;
    for (slot, text) in slots {
        outputs.write(slot, text);
    }
    Ok(())
}

fn lines(report: &Report<'_>) -> String {
    let file = report.file.display();
    if report.changes.is_empty() {
        return format!("{file}: nothing to change\n");
    }
    let line = |change: &Change| {
        let place = change.line.map_or(String::new(), |line| format!(":{line}"));
        format!("{file}{place}: {} -> {}\n", change.old, change.new)
    };
    report.changes.iter().map(line).collect()
}
