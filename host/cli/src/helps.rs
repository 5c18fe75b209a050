//! Checks of the help of every command: one screen, and examples that work.

use super::{Cli, Command, lab_cmd};
use crate::outputs::{Input, Output};
use clap::builder::ValueParser;
use clap::{CommandFactory, Parser};
use std::path::{Path, PathBuf};

/// Lines and columns of a screen.
const SCREEN: (usize, usize) = (40, 80);
/// Examples that are not commands of this program.
const OTHERS: [&str; 2] =
    ["unshare -rn bash", "sleep 2; curl -g 'http://[fd6b:696e:676c:7400:0:ff:fe00:2]/'"];

/// Each command line for a help, with the text that it prints.
fn helps() -> Vec<(String, String)> {
    let mut helps = Vec::new();
    let mut waiting = vec![(vec!["kinglet".to_owned()], Cli::command())];
    while let Some((words, command)) = waiting.pop() {
        for option in ["-h", "--help"] {
            let line = words.iter().map(String::as_str).chain([option]);
            let help = Cli::command().try_get_matches_from(line).unwrap_err();
            helps.push((format!("{} {option}", words.join(" ")), help.render().to_string()));
        }
        for below in command.get_subcommands() {
            let words = words.iter().cloned().chain([below.get_name().to_owned()]);
            waiting.push((words.collect(), below.clone()));
        }
    }
    helps
}

/// The lines of examples, for a shell or for the console of a node.
fn examples(help: &str) -> Vec<&str> {
    let after = help.lines().skip_while(|line| !line.starts_with("Example"));
    after.filter_map(|line| line.strip_prefix("  ")).collect()
}

/// The arguments of a command up to a redirection, a pipe or `&`.
fn words(line: &str) -> Vec<&str> {
    let line = line.strip_prefix("sudo ").unwrap_or(line);
    line.split_whitespace().take_while(|word| !["|", ">", "&"].contains(word)).collect()
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn every_help_is_one_screen() {
    let helps = helps();
    assert_eq!(helps.len(), 30, "fifteen commands, long and short");
    for (name, help) in helps {
        let lines = help.lines().count();
        let widest = help.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(lines <= SCREEN.0, "{name}: {lines} lines:\n{help}");
        assert!(widest <= SCREEN.1, "{name}: {widest} columns:\n{help}");
    }
}

#[test]
fn every_example_is_a_command_whose_files_exist() {
    for (name, help) in helps().into_iter().filter(|(name, _)| name.ends_with("--help")) {
        let examples = examples(&help);
        assert!(!examples.is_empty(), "{name} has no example:\n{help}");
        for example in examples {
            let words = words(example);
            match words.first() {
                Some(&"kinglet") => check_own(&words),
                _ if OTHERS.contains(&example) => {}
                _ => {
                    let console = example.parse::<kinglet_zep::console::Command>();
                    assert!(
                        name.starts_with("kinglet node") && console.is_ok(),
                        "{name}: {example}"
                    );
                }
            }
        }
    }
}

/// Asserts that the command line is valid, including the names in it.
fn check_own(words: &[&str]) {
    let cli = Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{words:?}: {error}"));
    if let Some(Command::Lab(lab_cmd::Command::Run(args))) = &cli.command {
        lab_cmd::select(&args.ids).unwrap();
    }
    for file in words.iter().filter(|word| word.ends_with(".toml")) {
        assert!(root().join(file).is_file(), "{file} of {words:?}");
    }
}

#[test]
fn every_document_that_a_help_names_exists() {
    let mut found = 0;
    for (name, help) in helps() {
        for word in help.split_whitespace() {
            let path = word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '/');
            let top = ["host/", "docs/", "experiments/", "examples/"];
            if top.iter().any(|top| path.starts_with(top)) {
                assert!(root().join(path).exists(), "{name}: {path}");
                found += 1;
            }
        }
    }
    assert!(found > 20, "{found}");
}

#[test]
fn no_option_takes_a_path_that_is_not_declared() {
    let path = clap::value_parser!(PathBuf).type_id();
    let known = [
        ValueParser::new(clap::value_parser!(Input)).type_id(),
        ValueParser::new(clap::value_parser!(Output)).type_id(),
    ];
    let mut waiting = vec![Cli::command()];
    while let Some(command) = waiting.pop() {
        for arg in command.get_arguments() {
            assert!(arg.get_value_parser().type_id() != path, "{}: {arg}", command.get_name());
            let is_file = arg.get_value_names().unwrap_or_default().iter().any(|name| {
                ["FILE", "DIR"].iter().any(|kind| name.starts_with(kind)) || name.contains(".toml")
            });
            let declared = known.contains(&arg.get_value_parser().type_id());
            assert_eq!(is_file, declared, "{}: {arg}", command.get_name());
        }
        waiting.extend(command.get_subcommands().cloned());
    }
}

/// [`crate::outputs`] is the only module that creates files.
#[test]
fn no_other_module_writes_files() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for entry in std::fs::read_dir(sources).unwrap() {
        let path = entry.unwrap().path();
        if ["outputs.rs", "helps.rs"].iter().any(|name| path.ends_with(name)) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for call in ["fs::write", "File::create", "OpenOptions", "create_dir", "fs::rename"] {
            assert!(!text.contains(call), "{}: {call}", path.display());
        }
    }
}
