//! Definition of a rule, its input, and the report of its findings.

pub(crate) mod circles;
pub(crate) mod compliance;
pub(crate) mod dependencies;
pub(crate) mod exceptions;
pub(crate) mod lexer;
pub(crate) mod prose;
pub(crate) mod size;
pub(crate) mod text;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders without text of this project.
const SKIPPED: [&str; 6] = ["target", ".git", "kinglet-out", "artifacts", "corpus", "snapshots"];

/// One file, as text.
pub(crate) struct File {
    /// Path below the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Returns whether it belongs to a crate that runs on a microcontroller.
    pub(crate) fn is_stack(&self) -> bool {
        self.path.starts_with("crates/") || self.path.starts_with("drivers/")
    }
}

/// Every text file of the repository, sorted by path.
pub(crate) struct Repository {
    pub(crate) files: Vec<File>,
}

impl Repository {
    pub(crate) fn open() -> Self {
        let root = root();
        let mut files = Vec::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            let entries = fs::read_dir(&folder)
                .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            for entry in entries {
                let path = entry.expect("a readable folder entry").path();
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if path.is_dir() {
                    if !SKIPPED.contains(&name.as_str()) {
                        folders.push(path);
                    }
                } else if is_text(&path, &name) {
                    let text = fs::read_to_string(&path)
                        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                    let path = path.strip_prefix(&root).expect("below the root");
                    files.push(File { path: path.to_string_lossy().replace('\\', "/"), text });
                }
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Repository { files }
    }

    /// Returns the manifests of the crates of the workspace.
    pub(crate) fn manifests(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| {
            let parts: Vec<&str> = file.path.split('/').collect();
            matches!(parts.as_slice(), ["crates" | "drivers" | "host", _, "Cargo.toml"])
        })
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.is_rust())
    }
}

/// Returns the folder of the workspace's manifest.
pub(crate) fn root() -> PathBuf {
    let testkit = Path::new(env!("CARGO_MANIFEST_DIR"));
    testkit.ancestors().nth(2).expect("testkit lies two folders below the root").to_path_buf()
}

fn is_text(path: &Path, name: &str) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let of_ours = ["rs", "toml", "md", "sh", "py", "x", "html", "js", "css", "yml", "yaml", "pkt"];
    if name == "Cargo.lock" {
        return false;
    }
    // Scripts without an extension are in these two folders.
    let parent = path.parent().and_then(Path::file_name).unwrap_or_default();
    of_ours.contains(&extension.as_ref())
        || (extension.is_empty() && (parent == ".ci" || parent == "tools"))
}

/// A violation of a rule by a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) rule: &'static str,
    pub(crate) path: String,
    /// Line, counted from 1; 0 for the file as a whole.
    pub(crate) line: usize,
    /// For a size rule: the subject that is too large, and its size.
    pub(crate) measure: Option<(String, usize)>,
    /// The remedy.
    pub(crate) remedy: String,
}

impl Violation {
    pub(crate) fn new(
        rule: &'static str,
        file: &File,
        line: usize,
        remedy: impl Into<String>,
    ) -> Self {
        let (path, remedy) = (file.path.clone(), remedy.into());
        Violation { rule, path, line, measure: None, remedy }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.rule, self.remedy)
    }
}

/// Fails with one line for each violation that is not excepted.
pub(crate) fn check(found: &[Violation]) {
    let left = exceptions::apply(found);
    let lines: Vec<String> = left.iter().map(|violation| violation.to_string()).collect();
    assert!(
        left.is_empty(),
        "{} of the repository's rules broken:\n{}",
        left.len(),
        lines.join("\n")
    );
}
