//! Finished runs in a file: a line for each as soon as it has ended.
//!
//! After a kill or with a full disk only the last line is incomplete; the next run truncates it.

use super::record::Finished;
use kinglet_network::table::Record;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The first line names the format of the others.
const FORMAT: &str = "kinglet-sweep-1";
/// Longest time between two calls of `fsync`.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// The finished runs of a sweep, on the disk. A new journal without a run in it is removed with the
/// value.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Octets of whole lines.
    whole: u64,
    synced: Instant,
    /// True if it was created here and has no run yet.
    is_empty: bool,
}

/// Reason for which a journal cannot be used.
#[derive(Debug)]
pub enum JournalError {
    /// It cannot be opened or read.
    Unreadable {
        /// Its path.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// It cannot be written.
    Io {
        /// Its path.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// This is not a journal, or a damaged one.
    Damaged {
        /// Its path.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// Another program made its runs; the results of this one may differ.
    OtherProgram {
        /// Its path.
        path: PathBuf,
    },
    /// Another process writes to it.
    InUse {
        /// Its path.
        path: PathBuf,
    },
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JournalError::Unreadable { path, error } => write!(f, "{}: {error}", path.display()),
            JournalError::Io { path, error } => write!(
                f,
                "{}: {error}; finished runs are kept there, and the same command goes on from it",
                path.display()
            ),
            JournalError::Damaged { path, line } => {
                write!(
                    f,
                    "{}:{line}: not a journal of finished runs, or a damaged one; give --journal a \
                     new file or remove this one",
                    path.display()
                )
            }
            JournalError::OtherProgram { path } => write!(
                f,
                "{}: its runs were made by another build of kinglet, whose results may differ; \
                 remove it or give --journal another file",
                path.display()
            ),
            JournalError::InUse { path } => {
                write!(
                    f,
                    "{}: in use by another process; wait for its end or give --journal another \
                     file",
                    path.display()
                )
            }
        }
    }
}

impl std::error::Error for JournalError {}

#[derive(Serialize, Deserialize)]
struct Head {
    format: String,
    program: String,
}

#[derive(Serialize, Deserialize)]
struct Line {
    run: String,
    rows: Vec<Record>,
}

impl Journal {
    /// Opens or creates the journal at `path`, for runs of `program`, which identifies the build.
    /// Also returns the runs in it.
    ///
    /// # Errors
    /// [`JournalError`]
    pub fn open(path: &Path, program: &str) -> Result<(Self, Finished), JournalError> {
        let failed = |error| JournalError::Unreadable { path: path.to_path_buf(), error };
        let (mut file, is_empty) = open(path).map_err(failed)?;
        // A device may have no end.
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(JournalError::Damaged { path: path.to_path_buf(), line: 1 });
        }
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(JournalError::InUse { path: path.to_path_buf() });
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut octets = Vec::new();
        file.read_to_end(&mut octets).map_err(failed)?;
        let (whole, finished) = read(path, &octets, program)?;
        let (path, synced) = (path.to_path_buf(), Instant::now());
        let mut journal = Journal { path, file, whole: whole as u64, synced, is_empty };
        journal.cut().map_err(|error| journal.failed(error))?;
        if journal.whole == 0 {
            let head = Head { format: FORMAT.to_owned(), program: program.to_owned() };
            journal.append_line(&head)?;
        }
        Ok((journal, finished))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a run that has ended.
    ///
    /// # Errors
    /// [`JournalError::Io`]; earlier lines are unchanged.
    pub fn append(&mut self, key: &str, rows: &[Record]) -> Result<(), JournalError> {
        self.append_line(&Line { run: key.to_owned(), rows: rows.to_vec() })?;
        self.is_empty = false;
        if self.synced.elapsed() >= SYNC_EVERY {
            self.sync()?;
        }
        Ok(())
    }

    /// Waits until all octets are on the disk.
    ///
    /// # Errors
    /// [`JournalError::Io`]
    pub fn sync(&mut self) -> Result<(), JournalError> {
        self.synced = Instant::now();
        self.file.sync_data().map_err(|error| self.failed(error))
    }

    fn append_line(&mut self, line: &impl Serialize) -> Result<(), JournalError> {
        let mut text = serde_json::to_vec(line).map_err(|error| self.failed(error.into()))?;
        text.push(b'\n');
        if let Err(error) = self.file.write_all(&text) {
            // If this fails too, the next run truncates the line.
            let _ = self.cut();
            return Err(self.failed(error));
        }
        self.whole += text.len() as u64;
        Ok(())
    }

    /// Truncates the file after the last whole line, and continues there.
    fn cut(&mut self) -> io::Result<()> {
        if self.file.metadata()?.len() > self.whole {
            self.file.set_len(self.whole)?;
        }
        self.file.seek(SeekFrom::Start(self.whole)).map(|_| ())
    }

    fn failed(&self, error: io::Error) -> JournalError {
        JournalError::Io { path: self.path.clone(), error }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if self.is_empty {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Opens the file at `path`; also returns whether it is new.
fn open(path: &Path) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    match options.create_new(true).open(path) {
        Ok(file) => Ok((file, true)),
        // Also a symbolic link to a file that does not exist.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Ok((options.create_new(false).create(true).truncate(false).open(path)?, false))
        }
        Err(error) => Err(error),
    }
}

/// Identifies the build of the program in this file, for [`Journal::open`].
///
/// # Errors
/// The file cannot be read.
pub fn digest(program: &Path) -> io::Result<String> {
    let mut digest = Sha256::new();
    io::copy(&mut File::open(program)?, &mut digest)?;
    Ok(digest.finalize().iter().take(16).map(|octet| format!("{octet:02x}")).collect())
}

/// The number of octets in whole lines, and the runs in them.
fn read(path: &Path, octets: &[u8], program: &str) -> Result<(usize, Finished), JournalError> {
    let mut finished = Finished::new();
    let mut whole = 0;
    let lines = octets.split_inclusive(|octet| *octet == b'\n');
    let lines: Vec<&[u8]> = lines.filter(|line| line.ends_with(b"\n")).collect();
    for (index, line) in lines.iter().enumerate() {
        let damaged = || JournalError::Damaged { path: path.to_path_buf(), line: index + 1 };
        if index == 0 {
            let head: Head = serde_json::from_slice(line).map_err(|_| damaged())?;
            if (head.format.as_str(), head.program.as_str()) != (FORMAT, program) {
                return Err(JournalError::OtherProgram { path: path.to_path_buf() });
            }
        } else {
            match serde_json::from_slice::<Line>(line) {
                Ok(Line { run, rows }) => {
                    finished.insert(run, rows);
                }
                // A power failure before the octets were on the disk.
                Err(_) if index + 1 == lines.len() => break,
                Err(_) => return Err(damaged()),
            }
        }
        whole += line.len();
    }
    // A file that is not a journal, named by mistake, is unchanged.
    if whole == 0 && !octets.is_empty() && !octets.starts_with(b"{\"format\"") {
        return Err(JournalError::Damaged { path: path.to_path_buf(), line: 1 });
    }
    Ok((whole, finished))
}
