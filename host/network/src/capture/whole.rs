//! Files that are replaced as a whole: a temporary file in the same directory, renamed when it is
//! complete. An old file survives a full disk, Ctrl-C and a power failure.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Number of temporary names that are tried. A name is in use only if a process with this number
/// left its file behind.
const TRIES: u32 = 1_000;
/// Longest chain of symbolic links that is followed (Linux: MAXSYMLINKS).
const LINKS: u32 = 40;
/// Characters of a file's name in that of its temporary file: no file system has a lower limit.
const STEM: usize = 40;

/// Replaces the file at `path` by the octets that `write` writes, as a whole or not at all. The new
/// file has the permissions of the old one. A symbolic link stays and its target is replaced. A
/// device, a pipe or a file that cannot be renamed over (a mount point, a directory without write
/// permission) is written in place.
///
/// # Errors
/// The errors of the file system and of `write`; the old file is unchanged then.
pub fn replace(path: &Path, write: impl Fn(&mut File) -> io::Result<()>) -> io::Result<()> {
    let old = existing(path)?;
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return write(&mut in_place(path)?);
    }
    let target = target(path);
    let (part, mut file) = match temporary(&target) {
        Ok(created) => created,
        Err(error) if old.is_some() && is_denied(&error) => return write(&mut in_place(path)?),
        Err(error) => return Err(error),
    };
    let written = write(&mut file).and_then(|()| {
        if let Some(old) = &old {
            file.set_permissions(old.permissions())?;
        }
        file.sync_all()
    });
    let done = written.and_then(|()| fs::rename(&part, &target));
    if done.is_err() {
        // Its octets may have filled the disk.
        let _ = fs::remove_file(&part);
    }
    match done {
        Err(error) if old.is_some() && is_denied(&error) => write(&mut in_place(path)?),
        done => done,
    }
}

/// Checks that the file at `path` can be written, and leaves everything as it is: an old file keeps
/// its octets, and no new one appears.
///
/// # Errors
/// The errors of the file system.
pub fn probe(path: &Path) -> io::Result<()> {
    match existing(path)? {
        // Opening a pipe would wait for its reader, and closing it would end the stream.
        Some(old) if !old.is_file() && !old.is_dir() => Ok(()),
        Some(_) => OpenOptions::new().write(true).open(path).map(drop),
        None => {
            let (part, file) = temporary(&target(path))?;
            drop(file);
            fs::remove_file(part)
        }
    }
}

/// The target of `path`: all symbolic links in its last component are followed. It need not exist.
pub fn target(path: &Path) -> PathBuf {
    let mut target = path.to_path_buf();
    for _ in 0..LINKS {
        let Ok(next) = fs::read_link(&target) else { break };
        target = directory(&target).join(next);
    }
    target
}

fn existing(path: &Path) -> io::Result<Option<fs::Metadata>> {
    match fs::metadata(path) {
        Ok(old) => Ok(Some(old)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn in_place(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).truncate(true).open(path)
}

/// A new file in the directory of `target`.
fn temporary(target: &Path) -> io::Result<(PathBuf, File)> {
    let name = target.file_name().ok_or(ErrorKind::InvalidFilename)?;
    let stem: String = name.to_string_lossy().chars().take(STEM).collect();
    for number in 0..TRIES {
        let part = OsString::from(format!("{stem}.{}-{number}.part", std::process::id()));
        let part = directory(target).join(part);
        match OpenOptions::new().write(true).create_new(true).open(&part) {
            Ok(file) => return Ok((part, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

fn directory(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// True if the directory refuses a new name; false if the disk refuses octets.
fn is_denied(error: &io::Error) -> bool {
    use ErrorKind::{PermissionDenied, ReadOnlyFilesystem, ResourceBusy};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | ResourceBusy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    /// An empty directory for this test.
    fn place(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("kinglet-whole-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).expect("a directory");
        dir
    }

    fn names(dir: &Path) -> Vec<OsString> {
        let entries = fs::read_dir(dir).expect("a directory");
        let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let dir = place("failed");
        let path = dir.join("a");
        let full = |file: &mut File| {
            file.write_all(b"a part")?;
            Err(ErrorKind::StorageFull.into())
        };
        assert_eq!(replace(&path, full).expect_err("full").kind(), ErrorKind::StorageFull);
        assert!(names(&dir).is_empty());
        fs::write(&path, "old").expect("written");
        assert!(replace(&path, full).is_err());
        assert_eq!((fs::read(&path).expect("old"), names(&dir).len()), (b"old".to_vec(), 1));
        replace(&path, |file| file.write_all(b"new")).expect("written");
        assert_eq!((fs::read(&path).expect("new"), names(&dir).len()), (b"new".to_vec(), 1));
        fs::remove_dir_all(dir).expect("removed");
    }

    #[test]
    fn no_other_file_is_taken_for_the_temporary_one() {
        let dir = place("taken");
        let part = dir.join(format!("a.{}-0.part", std::process::id()));
        fs::write(&part, "an input").expect("written");
        replace(&dir.join("a"), |file| file.write_all(b"new")).expect("written");
        probe(&dir.join("b")).expect("possible");
        assert_eq!(fs::read(&part).expect("there"), b"an input");
        assert_eq!(names(&dir).len(), 2);
        fs::remove_dir_all(dir).expect("removed");
    }

    #[test]
    fn a_long_name_needs_no_longer_one() {
        let dir = place("long");
        let path = dir.join("x".repeat(255));
        probe(&path).expect("possible");
        replace(&path, |file| file.write_all(b"new")).expect("written");
        assert_eq!(names(&dir).len(), 1);
        assert!(probe(&dir.join("x".repeat(256))).is_err());
        fs::remove_dir_all(dir).expect("removed");
    }

    #[test]
    fn a_probe_changes_nothing_and_notices_a_missing_directory() {
        let dir = place("probe");
        fs::write(dir.join("old"), "old").expect("written");
        probe(&dir.join("old")).expect("possible");
        probe(&dir.join("new")).expect("possible");
        assert_eq!(probe(&dir.join("no/new")).expect_err("none").kind(), ErrorKind::NotFound);
        assert_eq!(probe(&dir).expect_err("a directory").kind(), ErrorKind::IsADirectory);
        assert_eq!(names(&dir), ["old"]);
        assert_eq!(fs::read(dir.join("old")).expect("there"), b"old");
        fs::remove_dir_all(dir).expect("removed");
    }
}
