//! `cargo xtask` lists the tools of the project, and `cargo xtask TOOL ARGUMENT...` runs one.
//!
//! A tool is an executable script that begins with a comment or a docstring, whose first sentence
//! this lists. The tools are the files of `tools/` and those of [`OTHERS`].

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Tools outside of `tools/`: their names and files.
const OTHERS: [(&str, &str); 4] = [
    ("ci", ".ci/run"),
    ("long", ".ci/long"),
    ("bench-simulator", "bench/simulator"),
    ("bench-stacks", "bench/reference-link/run.sh"),
];

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tools = tools(&root);
    let mut words = std::env::args_os().skip(1);
    let Some(name) = words.next().filter(|word| word != "--help" && word != "-h") else {
        let _ = std::io::stdout().write_all(help(&tools).as_bytes());
        return ExitCode::SUCCESS;
    };
    let Some((_, file)) = tools.iter().find(|(tool, _)| **tool == *name) else {
        eprintln!("cargo xtask: no tool is called {}\n\n{}", name.display(), help(&tools));
        return ExitCode::from(2);
    };
    match Command::new(file).args(words).status() {
        Ok(status) => ExitCode::from(status.code().and_then(|c| u8::try_from(c).ok()).unwrap_or(1)),
        Err(error) => {
            eprintln!("cargo xtask: {} does not start: {error}", file.display());
            ExitCode::FAILURE
        }
    }
}

/// Names and files, in alphabetical order.
fn tools(root: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(root.join("tools")).into_iter().flatten().flatten();
    let named = entries.map(|it| (it.file_name().to_string_lossy().into_owned(), it.path()));
    let others = OTHERS.map(|(name, file)| (name.to_owned(), root.join(file)));
    let mut tools: Vec<_> = named.filter(|(_, path)| path.is_file()).chain(others).collect();
    tools.sort();
    tools
}

fn help(tools: &[(String, PathBuf)]) -> String {
    let mut text = "\
Usage: cargo xtask TOOL [ARGUMENT]...

The first lines of each file say more, and `cargo xtask TOOL --help` where a
tool has options.

Tools:
"
    .to_owned();
    for (name, file) in tools {
        let summary = std::fs::read_to_string(file).ok().and_then(|script| summary(&script));
        text.push_str(&format!("  {name:<22}{}\n", summary.unwrap_or_default()));
    }
    text
}

/// The first sentence of a script's first comment or docstring, without its full stop.
fn summary(script: &str) -> Option<String> {
    let lines = script.lines().skip(1).map(|line| line.trim_start_matches(['#', '"', ' ']));
    let text: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let text = text.join(" ");
    let end = text.find(". ").or_else(|| text.find(": ")).unwrap_or(text.len());
    let sentence = text[..end].trim_end_matches(['.', ':']);
    (!sentence.is_empty()).then(|| sentence.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn every_tool_is_listed_with_what_it_does_and_can_be_run() {
        let tools = tools(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
        assert!(tools.iter().any(|(name, _)| name == "size-table"));
        let help = help(&tools);
        for (name, file) in &tools {
            let line = help.lines().find(|line| line.trim_start().starts_with(name.as_str()));
            let listed = line.and_then(|line| line.trim_start().strip_prefix(name.as_str()));
            assert!(listed.is_some_and(|text| text.trim().len() > 20), "{name}: {line:?}");
            let mode = std::fs::metadata(file).expect(name).permissions().mode();
            assert!(mode & 0o111 != 0, "{name} is not executable");
        }
    }

    #[test]
    fn a_summary_is_one_sentence() {
        let bash = "#!/usr/bin/env bash\n# Counts a thing: all of\n# them. And more.\n#\n# Usage\n";
        assert_eq!(summary(bash).as_deref(), Some("Counts a thing: all of them"));
        let python = "#!/usr/bin/env python3\n\"\"\"Says so.\n\nMore.\n\"\"\"\n";
        assert_eq!(summary(python).as_deref(), Some("Says so"));
        assert_eq!(summary("#!/bin/sh\n\nset -e\n"), None);
    }
}
