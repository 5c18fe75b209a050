//! The file with the key of a network: 32 hexadecimal digits, which only its owner may read.

use kinglet::mac::Security;
use kinglet::radio::Key;
use kinglet_identity::EUI64_PREFIX;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Permissions of the group and of others.
const SHARED: u32 = 0o077;
/// Octets of the longest file.
const LONGEST: u64 = 256;

/// Reason for rejecting a key file.
#[derive(Debug)]
pub struct KeyError {
    path: PathBuf,
    /// The error of the system; otherwise the text has the reason.
    io: Option<io::Error>,
    what: String,
}

impl KeyError {
    /// Returns true if the file cannot be read; otherwise it may not be used.
    pub const fn is_io(&self) -> bool {
        self.io.is_some()
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the key file {}: ", self.path.display())?;
        match &self.io {
            Some(error) => write!(f, "cannot be read: {error}"),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for KeyError {}

/// Reads the key of a network. Its frame counters begin at `first_counter`.
///
/// # Errors
/// The file cannot be read, others than its owner may read it, or it is not a key.
pub fn read(path: &Path, first_counter: u32) -> Result<Security, KeyError> {
    let failed =
        |error| KeyError { path: path.to_path_buf(), io: Some(error), what: String::new() };
    let wrong = |what| KeyError { path: path.to_path_buf(), io: None, what };
    let file = File::open(path).map_err(failed)?;
    // Of the file that is open, so that no other one takes its place.
    let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o777;
    if mode & SHARED != 0 {
        let path = path.display();
        return Err(wrong(format!(
            "others than its owner may use it (its mode is {mode:03o}), so the key may be known; \
             run `chmod 600 {path}`, and give the network another key if others had access"
        )));
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).map_err(failed)?;
    let key = parse(text.trim()).ok_or_else(|| {
        let right = "`openssl rand -hex 16` makes one";
        wrong(format!("it does not have exactly 32 hexadecimal digits; {right}"))
    })?;
    Ok(Security { key: Key(key), eui64_prefix: EUI64_PREFIX, first_counter })
}

fn parse(text: &str) -> Option<[u8; 16]> {
    let mut key = [0; 16];
    if text.len() != 2 * key.len() || !text.bytes().all(|octet| octet.is_ascii_hexdigit()) {
        return None;
    }
    for (octet, place) in key.iter_mut().zip((0..text.len()).step_by(2)) {
        *octet = u8::from_str_radix(text.get(place..place + 2)?, 16).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};

    fn file(name: &str, text: &str, mode: u32) -> PathBuf {
        let path = std::env::temp_dir().join(format!("kinglet-key-{}-{name}", std::process::id()));
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn a_key_is_read_from_a_file_that_only_its_owner_reads() {
        let text = "00112233445566778899aAbBcCdDeEfF\n";
        for mode in [0o600, 0o400] {
            let path = file("right", text, mode);
            let security = read(&path, 7).unwrap();
            assert_eq!((security.key.0[1], security.key.0[15]), (0x11, 0xff));
            assert_eq!(security.first_counter, 7);
            fs::remove_file(path).unwrap();
        }
        for mode in [0o640, 0o604, 0o620, 0o644, 0o601] {
            let path = file("shared", text, mode);
            let error = read(&path, 0).unwrap_err();
            assert!(!error.is_io());
            let says = error.to_string();
            assert!(says.contains(&format!("`chmod 600 {}`", path.display())), "{says}");
            assert!(says.contains(&format!("{mode:03o}")), "{says}");
            fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn a_file_without_a_key_is_refused() {
        for text in
            ["", "00112233445566778899aabbccddeef", "00112233445566778899aabbccddeefg", "0x"]
        {
            let path = file("wrong", text, 0o600);
            let error = read(&path, 0).unwrap_err();
            assert!(!error.is_io() && error.to_string().contains("32 hexadecimal digits"));
            fs::remove_file(path).unwrap();
        }
        assert!(read(Path::new("/no/such/file"), 0).unwrap_err().is_io());
    }
}
