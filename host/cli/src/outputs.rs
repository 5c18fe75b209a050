//! The files of a command: all of them are declared in [`Files`], checked together before anything
//! runs, and written through [`Outputs`].
//!
//! An output that is also an input is refused, and so are two outputs with one file. Two names are
//! one file if they lead to the same file in the file system: other spellings, symbolic links and
//! hard links, also of a file that does not exist yet. The check leaves no file. The command line
//! yields [`Input`] and [`Output`], whose paths are private: a command gets them by declaring them.

use crate::exit::{Code, Failure, incomplete};
use crate::named::named_files;
use clap::builder::{MapValueParser, PathBufValueParser, TypedValueParser, ValueParserFactory};
use kinglet_network::capture::{PROFILE, profile, whole};
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

/// A file that the command line names as an input.
#[derive(Clone, Debug)]
pub(crate) struct Input(PathBuf);

/// A file or directory that the command line names as an output.
#[derive(Clone, Debug)]
pub(crate) struct Output(PathBuf);

impl ValueParserFactory for Input {
    type Parser = MapValueParser<PathBufValueParser, fn(PathBuf) -> Input>;

    fn value_parser() -> Self::Parser {
        PathBufValueParser::new().map(Input)
    }
}

impl ValueParserFactory for Output {
    type Parser = MapValueParser<PathBufValueParser, fn(PathBuf) -> Output>;

    fn value_parser() -> Self::Parser {
        PathBufValueParser::new().map(Output)
    }
}

impl Output {
    /// An output with a path that the program chooses.
    pub(crate) fn at(path: impl Into<PathBuf>) -> Self {
        Output(path.into())
    }

    /// Returns true if it is to be a directory: its name has no extension, and it is not a file or
    /// device.
    pub(crate) fn is_directory(&self) -> bool {
        self.0.extension().is_none() && (self.0.is_dir() || !self.0.exists())
    }

    /// Determines the format of a table from the extension of its name.
    pub(crate) fn format<F>(&self, of: impl FnOnce(&Path) -> Option<F>) -> Result<F, Failure> {
        of(&self.0).ok_or_else(|| {
            let path = self.0.display();
            Failure::usage(format!(
                "--out {path}: unknown type of table; end the name in .csv or .parquet"
            ))
        })
    }
}

/// The declared files of a command.
#[derive(Default)]
pub(crate) struct Files {
    inputs: Vec<Declared>,
    outputs: Vec<Declared>,
}

/// One of the outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot(usize);

#[derive(Clone, Debug)]
struct Declared {
    /// For messages: `the scenario`, `--report`.
    name: String,
    /// The default of the option, or a file that the option does not name.
    note: Option<&'static str>,
    path: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Directory,
    /// A directory that does not exist yet, or is empty.
    NewDirectory,
    /// Standard output or error, if it is a file.
    Standard,
}

impl Declared {
    fn new(name: impl Into<String>, path: impl Into<PathBuf>, kind: Kind) -> Self {
        Declared { name: name.into(), note: None, path: path.into(), kind }
    }

    fn shown(&self) -> String {
        let (name, path) = (&self.name, self.path.display());
        match (self.kind, self.note) {
            (Kind::Standard, _) => name.clone(),
            (_, None) => format!("{name} {path}"),
            (_, Some(note)) => format!("{name} ({note}) {path}"),
        }
    }
}

impl Files {
    /// Declares an input. The files that it names, if it is TOML, are inputs as well.
    pub(crate) fn reads<'a>(&mut self, name: &str, file: &'a Input) -> &'a Path {
        self.reads_too(name, &file.0);
        &file.0
    }

    /// Declares a file that the command reads although the command line does not name it.
    pub(crate) fn reads_too(&mut self, name: &str, path: &Path) {
        self.inputs.push(Declared::new(name, path, Kind::File));
    }

    /// The same for a file in a directory that is an output.
    pub(crate) fn reads_inside(&mut self, name: &str, Slot(dir): Slot, file: &Path) {
        let path = self.outputs[dir].path.join(file);
        self.reads_too(name, &path);
    }

    /// Declares the output of `option`.
    pub(crate) fn writes(&mut self, option: &str, output: &Output) -> Slot {
        self.output(Declared::new(option, &output.0, Kind::File))
    }

    /// Declares the output of `option`, or its default.
    pub(crate) fn writes_or(
        &mut self,
        option: &str,
        output: Option<&Output>,
        default: impl FnOnce() -> PathBuf,
    ) -> Slot {
        match output {
            Some(output) => self.writes(option, output),
            None => {
                let note = Some("its default");
                self.output(Declared { note, ..Declared::new(option, default(), Kind::File) })
            }
        }
    }

    /// Declares a capture, and the settings next to it.
    pub(crate) fn captures(&mut self, option: &str, output: &Output) -> Slot {
        let capture = self.writes(option, output);
        self.profile(capture);
        capture
    }

    /// Declares the directory of `option`, which is created when a file is written to it.
    pub(crate) fn directory(&mut self, option: &str, output: &Output) -> Slot {
        self.output(Declared::new(option, &output.0, Kind::Directory))
    }

    /// Declares a directory that may have captures only, and the settings next to it.
    pub(crate) fn new_directory(&mut self, option: &str, output: &Output) -> Slot {
        let dir = self.output(Declared::new(option, &output.0, Kind::NewDirectory));
        self.profile(dir);
        dir
    }

    /// Declares a directory in a declared one.
    pub(crate) fn folder(&mut self, Slot(dir): Slot, name: &str) -> Slot {
        let Declared { name: option, path, .. } = &self.outputs[dir];
        self.output(Declared::new(option, path.join(name), Kind::Directory))
    }

    /// Declares a file in a declared directory.
    pub(crate) fn inside(&mut self, Slot(dir): Slot, name: &str) -> Slot {
        let Declared { name: option, path, .. } = &self.outputs[dir];
        self.output(Declared::new(option, path.join(name), Kind::File))
    }

    /// Declares a capture in a declared directory.
    pub(crate) fn capture_inside(&mut self, dir: Slot, name: &str) -> Slot {
        let capture = self.inside(dir, name);
        self.profile(capture);
        capture
    }

    fn profile(&mut self, Slot(capture): Slot) {
        let Declared { name, path, .. } = self.outputs[capture].clone();
        let Some(dir) = profile(&path) else { return };
        let note = Some("settings of the capture");
        let files = PROFILE.iter().map(|file| (dir.join(file), Kind::File));
        for (path, kind) in std::iter::once((dir.clone(), Kind::Directory)).chain(files) {
            self.output(Declared { name: name.clone(), note, path, kind });
        }
    }

    fn output(&mut self, declared: Declared) -> Slot {
        self.outputs.push(declared);
        Slot(self.outputs.len() - 1)
    }

    /// Checks all of them, before anything runs. No file is created or changed.
    ///
    /// # Errors
    /// An output is an input, two outputs are the same file, or an output cannot be written.
    pub(crate) fn check(mut self) -> Result<Outputs, Failure> {
        for (name, device) in
            [("standard output", "/dev/stdout"), ("standard error", "/dev/stderr")]
        {
            self.output(Declared::new(name, device, Kind::Standard));
        }
        // The program reads itself: a journal has its digest.
        if let Ok(program) = std::env::current_exe() {
            self.reads_too("the program", &program);
        }
        let named = self.inputs.iter().flat_map(|Declared { name, path, .. }| {
            let of = move |file| Declared::new(format!("a file of {name}"), file, Kind::File);
            named_files(path).into_iter().map(of)
        });
        let named: Vec<Declared> = named.collect();
        self.inputs.extend(named);
        let (inputs, outputs) = (Placed::all(&self.inputs), Placed::all(&self.outputs));
        for (index, output) in outputs.iter().enumerate() {
            output.check(&inputs, &outputs[..index]).map_err(Failure::usage)?;
        }
        let checked = Outputs { inputs: self.inputs, outputs: self.outputs };
        for output in &checked.outputs {
            checked.probe(output).map_err(|error| {
                let message = format!("{}: cannot be written: {error}", output.shown());
                Failure { code: Code::Io, message }
            })?;
        }
        Ok(checked)
    }
}

/// Files that have been checked, to be written.
pub(crate) struct Outputs {
    inputs: Vec<Declared>,
    outputs: Vec<Declared>,
}

impl Outputs {
    /// The path of an output that the simulation itself writes. Its directory is created, if that
    /// is possible.
    pub(crate) fn path(&self, Slot(slot): Slot) -> &Path {
        let path = &self.outputs[slot].path;
        // If this fails, the failure to create the file gives the reason.
        if let Some(dir) = self.directory_of(path) {
            let _ = fs::create_dir_all(dir);
        }
        path
    }

    /// Replaces the file by `text`, as a whole or not at all; returns true on success. The program
    /// ends with a list of the files that could not be written.
    pub(crate) fn write(&self, slot: Slot, text: &str) -> bool {
        self.write_by(slot, |path| whole::replace(path, |out| out.write_all(text.as_bytes())))
    }

    /// The same with a function that replaces the file.
    pub(crate) fn write_by(&self, slot: Slot, by: impl FnOnce(&Path) -> io::Result<()>) -> bool {
        let path = self.path(slot);
        let written = by(path);
        if let Err(error) = &written {
            incomplete(format!("not written: {}: {error}", path.display()));
        }
        written.is_ok()
    }

    /// Writes a file in a declared directory whose name is only known after the run.
    pub(crate) fn write_inside(&mut self, Slot(dir): Slot, name: &str, text: &str) {
        let Declared { name: option, path, .. } = &self.outputs[dir];
        let late = Declared::new(option, path.join(name), Kind::File);
        let allowed = match Placed::of(&late) {
            Some(late) => late.check(&Placed::all(&self.inputs), &Placed::all(&self.outputs)),
            None => Ok(()),
        };
        match allowed {
            Ok(()) => {
                self.outputs.push(late);
                self.write(Slot(self.outputs.len() - 1), text);
            }
            Err(message) => incomplete(format!("not written: {message}")),
        }
    }

    /// Checks that it can be written; nothing changes.
    fn probe(&self, output: &Declared) -> io::Result<()> {
        let path = &output.path;
        match output.kind {
            Kind::Standard => Ok(()),
            Kind::Directory => probe_directory(path),
            Kind::NewDirectory => {
                let full = fs::read_dir(path).is_ok_and(|mut inside| inside.next().is_some());
                let message = "the directory exists and is not empty; give the name of a new one";
                if full { Err(io::Error::other(message)) } else { probe_directory(path) }
            }
            Kind::File => match self.directory_of(path) {
                Some(dir) if !dir.exists() => Ok(()),
                _ => whole::probe(path),
            },
        }
    }

    /// The directory of a file, if it is declared and thus created when it is needed.
    fn directory_of<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        let dir = path.parent()?;
        let declared = |it: &Declared| it.kind == Kind::Directory && it.path == dir;
        self.outputs.iter().any(declared).then_some(dir)
    }
}

/// Checks that the directory exists or can be created.
fn probe_directory(path: &Path) -> io::Result<()> {
    let mut missing = None;
    let mut at = path;
    loop {
        let here = if at.as_os_str().is_empty() { Path::new(".") } else { at };
        match fs::metadata(here) {
            Ok(data) if !data.is_dir() => return Err(ErrorKind::NotADirectory.into()),
            Ok(_) => return missing.map_or(Ok(()), whole::probe),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Err(error) => {
                missing = Some(at);
                at = at.parent().ok_or(error)?;
            }
        }
    }
}

/// A declared file and its place.
struct Placed<'a> {
    file: &'a Declared,
    place: Place,
}

impl<'a> Placed<'a> {
    /// `None` for a standard output that is not a file: a terminal or a pipe takes every output.
    fn of(file: &'a Declared) -> Option<Self> {
        let place = Place::of(&file.path)?;
        (file.kind != Kind::Standard || place.is_file).then_some(Placed { file, place })
    }

    fn all(files: &'a [Declared]) -> Vec<Self> {
        files.iter().filter_map(Placed::of).collect()
    }

    /// Refuses this output if it is one of `inputs` or shares a file with one of `outputs`.
    fn check(&self, inputs: &[Placed<'_>], outputs: &[Placed<'_>]) -> Result<(), String> {
        let shown = self.file.shown();
        if let Some(input) = inputs.iter().find(|input| self.place.is_same(&input.place)) {
            let (input, option) = (input.file.shown(), &self.file.name);
            return Err(format!("{shown} would overwrite {input}; give {option} another file"));
        }
        for other in outputs.iter().filter(|other| !self.may_share(other)) {
            let both = || format!("{} and {shown}", other.file.shown());
            if self.place.is_same(&other.place) {
                return Err(format!("{} are the same file; give each its own", both()));
            }
            if self.is_inside(other) || other.is_inside(self) {
                let why = "one is a file, not a directory for the other; give another path";
                return Err(format!("{}: {why}", both()));
            }
        }
        Ok(())
    }

    fn may_share(&self, other: &Self) -> bool {
        let kinds = [self.file.kind, other.file.kind];
        let directory = |kind| matches!(kind, Kind::Directory | Kind::NewDirectory);
        kinds.into_iter().all(directory) || kinds == [Kind::Standard; 2]
    }

    fn is_inside(&self, other: &Self) -> bool {
        other.file.kind == Kind::File && self.place.is_inside(&other.place)
    }
}

/// A file in the file system, or the place of one that does not exist yet.
struct Place {
    /// Device and number of the file, or of the last directory of its path that exists.
    there: (u64, u64),
    /// The rest of the path.
    rest: PathBuf,
    /// A regular file.
    is_file: bool,
    /// A character device, as `/dev/null`: any number of commands may use it.
    is_shared: bool,
}

impl Place {
    fn of(path: &Path) -> Option<Self> {
        // A link of /proc/self/fd may point to a pipe, which has no path.
        let path = if path.exists() { path.to_path_buf() } else { whole::target(path) };
        let path = std::path::absolute(path).ok()?;
        let mut rest: Vec<OsString> = Vec::new();
        let mut at = path.as_path();
        loop {
            if let Ok(data) = fs::metadata(at) {
                let is_shared = data.file_type().is_char_device();
                let there = (data.dev(), data.ino());
                let rest: PathBuf = rest.iter().rev().collect();
                return Some(Place {
                    there,
                    rest: plain(&rest),
                    is_file: data.is_file(),
                    is_shared,
                });
            }
            let last = at.components().next_back()?;
            rest.push(last.as_os_str().to_owned());
            at = at.parent()?;
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.there == other.there && self.rest == other.rest) && !self.is_shared
    }

    fn is_inside(&self, other: &Self) -> bool {
        self.there == other.there && self.rest != other.rest && self.rest.starts_with(&other.rest)
    }
}

/// A path without `..`, of directories that do not exist: no link is among them.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part != Component::ParentDir || !plain.pop() {
            plain.push(part);
        }
    }
    plain
}
