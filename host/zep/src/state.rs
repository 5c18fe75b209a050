//! What a device keeps over restarts, in a directory of its own: a bound of its frame counters, and
//! RPL's version and DTSN.
//!
//! A frame counter must never be used twice with the same key. The stack reserves counters in
//! blocks ([`poll_counter_bound`]): the bound is on the disk before the first counter of its block
//! is used, so that a kill or a power failure at any moment wastes counters and repeats none. A
//! file that is damaged or belongs to another device is an error, never a counter of zero.
//!
//! [`poll_counter_bound`]: kinglet::mac::Mac::poll_counter_bound

use kinglet::rpl::Sequence;
use kinglet::{Node, Profile};
use kinglet_time::Instant;
use sha2::{Digest, Sha256};
use std::fmt::{self, Write as _};
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Name of the file.
const FILE: &str = "state";
/// Name of the next file while it is written.
const NEXT: &str = "state.new";
/// First line of the file.
const HEAD: &str = "kinglet state 1";

/// What is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The frame counter at which the next life begins.
    pub frame_counter: u32,
    /// RPL's version and DTSN in the next life of a root.
    pub rpl: Option<Sequence>,
}

/// Reason for rejecting a directory, or for not keeping something in it.
#[derive(Debug)]
pub struct StateError {
    path: PathBuf,
    what: What,
}

#[derive(Debug)]
enum What {
    Io(io::Error),
    InUse,
    Damaged(&'static str),
    Foreign { owner: String, wanted: String },
}

impl StateError {
    /// Returns true if the system has failed; otherwise the directory may not be used.
    pub const fn is_io(&self) -> bool {
        matches!(self.what, What::Io(_))
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the state {}: ", self.path.display())?;
        match &self.what {
            What::Io(error) => write!(f, "{error}"),
            What::InUse => f.write_str(
                "another process uses this directory; end it, or give each process a directory \
                 of its own",
            ),
            What::Damaged(why) => write!(
                f,
                "{why}, so the frame counters that were used are unknown; give the network \
                 another key, then delete this file (a copy of an earlier time would repeat \
                 counters)"
            ),
            What::Foreign { owner, wanted } => write!(
                f,
                "it belongs to {owner}, not to {wanted}; give each device a directory of its own"
            ),
        }
    }
}

impl std::error::Error for StateError {}

/// The directory of one device, which this process has locked.
#[derive(Debug)]
pub struct State {
    directory: PathBuf,
    /// The directory, locked, and open to synchronise renamed files.
    lock: File,
    owner: String,
    kept: Kept,
    /// True if `kept` is on the disk.
    is_written: bool,
    /// Number of frames that the stack had sent at the last look at it.
    sent: Option<u32>,
}

impl State {
    /// Opens the directory, creates it if it does not exist, and locks it until the value is
    /// dropped or the process ends. `owner` names the device on one line.
    ///
    /// # Errors
    /// [`StateError`]: the directory is in use or unusable, or its file is damaged or of another
    /// device.
    pub fn open(directory: &Path, owner: &str) -> Result<State, StateError> {
        let failed = |what| StateError { path: directory.to_path_buf(), what };
        match DirBuilder::new().mode(0o700).create(directory) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(failed(What::Io(error)));
            }
            _ => {}
        }
        let lock = File::open(directory).map_err(|error| failed(What::Io(error)))?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(failed(What::InUse)),
            Err(TryLockError::Error(error)) => return Err(failed(What::Io(error))),
            Ok(()) => {}
        }
        let path = directory.join(FILE);
        let kept = match fs::read_to_string(&path) {
            Ok(text) => Some(parse(&text, owner)),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                Some(Err(What::Damaged("it is not a text")))
            }
            Err(error) => Some(Err(What::Io(error))),
        };
        let is_written = kept.is_some();
        let kept = kept.transpose().map_err(|what| StateError { path, what })?.unwrap_or_default();
        let (directory, owner) = (directory.to_path_buf(), owner.to_owned());
        Ok(State { directory, lock, owner, kept, is_written, sent: None })
    }

    /// Returns what was kept last.
    pub const fn kept(&self) -> Kept {
        self.kept
    }

    /// Keeps what a stack reserves. To be called before it sends its first frame, and after each of
    /// its steps. `rpl` is the present sequence of a root: messages with it, or with the next one,
    /// may be on the air already, so those after both are kept.
    ///
    /// # Errors
    /// [`StateError`]: the stack must not send any more.
    pub fn follow<P: Profile>(
        &mut self,
        now: Instant,
        node: &mut Node<P>,
        rpl: impl FnOnce(&Node<P>) -> Option<Sequence>,
    ) -> Result<(), StateError> {
        let sent = Some(node.mac().stats().transmissions);
        if self.sent == sent {
            return Ok(());
        }
        self.sent = sent;
        let frame_counter = node.poll_counter_bound(now).unwrap_or(self.kept.frame_counter);
        let rpl = rpl(node).map(|sequence| sequence.next().next()).or(self.kept.rpl);
        self.keep(Kept { frame_counter, rpl })
    }

    /// Keeps this. It is on the disk when the call returns.
    ///
    /// # Errors
    /// [`StateError`]: the old file is unchanged then.
    pub fn keep(&mut self, kept: Kept) -> Result<(), StateError> {
        if self.is_written && self.kept == kept {
            return Ok(());
        }
        let path = self.directory.join(FILE);
        self.write(&path, kept).map_err(|error| StateError { path, what: What::Io(error) })?;
        (self.kept, self.is_written) = (kept, true);
        Ok(())
    }

    fn write(&self, path: &Path, kept: Kept) -> io::Result<()> {
        let next = self.directory.join(NEXT);
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&next)?;
        file.write_all(text(&self.owner, kept).as_bytes())?;
        file.sync_all()?;
        fs::rename(&next, path)?;
        self.lock.sync_all()
    }
}

/// Returns the file.
fn text(owner: &str, kept: Kept) -> String {
    let mut text = format!("{HEAD}\nowner {owner}\nframe_counter {}\n", kept.frame_counter);
    if let Some(Sequence { version, dtsn }) = kept.rpl {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "rpl {version} {dtsn}");
    }
    let check = check_of(&text);
    text + "check " + &check + "\n"
}

/// Returns the checksum of the lines before its own.
fn check_of(lines: &str) -> String {
    let digest = Sha256::digest(lines.as_bytes());
    digest.iter().take(8).fold(String::new(), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    })
}

fn parse(text: &str, wanted: &str) -> Result<Kept, What> {
    let split = text.rfind("check ").map(|place| text.split_at(place));
    let (lines, check) = split.ok_or(What::Damaged("it has no checksum"))?;
    if check != format!("check {}\n", check_of(lines)) {
        return Err(What::Damaged("its checksum does not match its contents"));
    }
    let mut lines = lines.lines();
    if lines.next() != Some(HEAD) {
        return Err(What::Damaged("it was written by another version"));
    }
    let mut owner = None;
    let (mut counter, mut kept) = (None, Kept::default());
    for line in lines {
        let (key, value) = line.split_once(' ').unwrap_or((line, ""));
        match key {
            "owner" => owner = Some(value),
            "frame_counter" => counter = value.parse().ok(),
            "rpl" => {
                let numbers = value.split_once(' ');
                let (version, dtsn) = numbers.ok_or(What::Damaged("its RPL line is short"))?;
                let number = |text: &str| {
                    text.parse().map_err(|_| What::Damaged("its RPL line has no numbers"))
                };
                kept.rpl = Some(Sequence { version: number(version)?, dtsn: number(dtsn)? });
            }
            _ => return Err(What::Damaged("it has an unknown line")),
        }
    }
    let owner = owner.ok_or(What::Damaged("it names no owner"))?;
    if owner != wanted {
        let (owner, wanted) = (owner.to_owned(), wanted.to_owned());
        return Err(What::Foreign { owner, wanted });
    }
    kept.frame_counter = counter.ok_or(What::Damaged("it has no frame counter"))?;
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: &str = "02:12:4b:00:00:00:00:0a";

    /// A directory that is removed with the value.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let name = format!("kinglet-state-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&path);
            Place(path)
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_was_kept_is_found_again() {
        let place = Place::new("again");
        let rpl = Some(Sequence { version: 1, dtsn: 2 });
        let mut last = Kept::default();
        for (frame_counter, rpl) in [(16_384, None), (9, rpl), (0, None)] {
            let mut state = State::open(&place.0, OWNER).unwrap();
            assert_eq!(state.kept(), last);
            last = Kept { frame_counter, rpl };
            state.keep(last).unwrap();
            assert_eq!(state.kept(), last);
        }
        // A life that ended while it wrote.
        fs::write(place.0.join(NEXT), "kinglet st").unwrap();
        let mut state = State::open(&place.0, OWNER).unwrap();
        state.keep(Kept { frame_counter: 5, rpl: None }).unwrap();
        assert!(!place.0.join(NEXT).exists());
    }

    #[test]
    fn what_has_not_changed_is_not_written_again() {
        let place = Place::new("unchanged");
        let mut state = State::open(&place.0, OWNER).unwrap();
        state.keep(Kept::default()).unwrap();
        assert!(place.0.join(FILE).exists(), "the first one is written, whatever it is");
        fs::remove_file(place.0.join(FILE)).unwrap();
        state.keep(Kept::default()).unwrap();
        assert!(!place.0.join(FILE).exists());
    }

    #[test]
    fn a_second_process_is_refused() {
        let place = Place::new("lock");
        let first = State::open(&place.0, OWNER).unwrap();
        let error = State::open(&place.0, OWNER).unwrap_err();
        assert!(error.to_string().contains("another process uses this directory"), "{error}");
        assert!(!error.is_io());
        drop(first);
        State::open(&place.0, OWNER).unwrap();
    }

    #[test]
    fn each_damaged_octet_is_found() {
        let place = Place::new("damaged");
        fs::create_dir(&place.0).unwrap();
        let right = text(
            OWNER,
            Kept { frame_counter: 16_384, rpl: Some(Sequence { version: 240, dtsn: 7 }) },
        );
        let opens = |octets: &[u8]| {
            fs::write(place.0.join(FILE), octets).unwrap();
            State::open(&place.0, OWNER).map(|state| state.kept().frame_counter)
        };
        assert_eq!(opens(right.as_bytes()).unwrap(), 16_384);
        for at in 0..right.len() {
            let mut octets = right.clone().into_bytes();
            octets[at] ^= 1;
            let error = opens(&octets).expect_err("a damaged octet").to_string();
            assert!(error.contains("give the network another key"), "{at}: {error}");
            assert!(opens(&right.as_bytes()[..at]).is_err(), "cut at {at}");
        }
        assert!(opens(&[0xff, 0xfe]).unwrap_err().to_string().contains("not a text"));
    }

    #[test]
    fn the_state_of_another_device_is_refused() {
        let place = Place::new("foreign");
        State::open(&place.0, "02:12:4b:00:00:00:00:0b").unwrap().keep(Kept::default()).unwrap();
        let error = State::open(&place.0, OWNER).unwrap_err().to_string();
        let says = "belongs to 02:12:4b:00:00:00:00:0b, not to 02:12:4b:00:00:00:00:0a";
        assert!(error.contains(says), "{error}");
    }

    #[test]
    fn a_file_without_its_lines_is_refused() {
        let whole = |lines: &str| format!("{lines}check {}\n", check_of(lines));
        for (lines, says) in [
            ("", "another version"),
            ("kinglet state 2\n", "another version"),
            ("kinglet state 1\nframe_counter 1\n", "no owner"),
            ("kinglet state 1\nowner x\n", "no frame counter"),
            ("kinglet state 1\nowner x\nframe_counter -1\n", "no frame counter"),
            ("kinglet state 1\nowner x\nframe_counter 1\nmore\n", "an unknown line"),
            ("kinglet state 1\nowner x\nframe_counter 1\nrpl 1\n", "RPL line is short"),
            ("kinglet state 1\nowner x\nframe_counter 1\nrpl 1 x\n", "RPL line has no numbers"),
        ] {
            match parse(&whole(lines), "x") {
                Err(What::Damaged(why)) => assert!(why.contains(says), "{lines}: {why}"),
                other => panic!("{lines}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_directory_that_cannot_be_created_is_an_error_of_the_system() {
        let error = State::open(Path::new("/proc/no/such"), OWNER).unwrap_err();
        assert!(error.is_io(), "{error}");
    }
}
