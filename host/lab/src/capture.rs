//! Files of observations, and what Wireshark and tshark need beside a capture: a directory of
//! settings with the 6LoWPAN contexts and, with link security, the key and the addresses of all
//! nodes.
//!
//! It stands beside the file, `out.pcap.profile` for `out.pcap`, and WIRESHARK_CONFIG_DIR leads the
//! programs to it. Without the contexts they take the host's address for another one, so that no
//! checksum of what goes to and from it fits; without the key they see no packet at all.

use crate::build::{contexts, short_of};
use crate::scenario::Scenario;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

/// Writes the settings for captures of `scenario` beside the capture at `path`, and says how to
/// read it with them. Nothing if the capture is no file: a pipe has nothing beside it.
///
/// # Errors
/// What the file system reports.
pub fn write_profile(scenario: &Scenario, path: &Path) -> io::Result<Option<String>> {
    if path.metadata().is_ok_and(|data| !data.is_file()) {
        return Ok(None);
    }
    let mut dir = path.as_os_str().to_owned();
    dir.push(".profile");
    let dir = PathBuf::from(dir);
    std::fs::create_dir_all(&dir)?;
    std::fs::write(dir.join("preferences"), preferences(scenario))?;
    // What they take for 6LoWPAN by themselves are not frames that begin with Page 1 (RFC 8025).
    let decode = format!("decode_as_entry: wpan.panid,{},(none),6LoWPAN\n", scenario.mac.pan_id.0);
    std::fs::write(dir.join("decode_as_entries"), decode)?;
    let (key, addresses) = keys(scenario);
    std::fs::write(dir.join("ieee802154_keys"), key)?;
    std::fs::write(dir.join("802154_addresses"), addresses)?;
    let (dir, path) = (quoted(&dir), quoted(path));
    Ok(Some(format!("WIRESHARK_CONFIG_DIR={dir} tshark -r {path}")))
}

fn preferences(scenario: &Scenario) -> String {
    let mut text = String::new();
    for (number, context) in contexts(scenario).iter().enumerate() {
        let Some(context) = context else { continue };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "6lowpan.context{number}: {}/{}", context.prefix, context.len);
    }
    // Wrong checksums are to be seen. A segment is in a capture once for every hop, so streams
    // cannot be put together from it.
    text + "tcp.check_checksum: TRUE\nudp.check_checksum: TRUE\ntcp.desegment_tcp_streams: FALSE\n"
}

/// Wireshark's tables of keys and of long addresses; empty without link security.
fn keys(scenario: &Scenario) -> (String, String) {
    let (mut key, mut addresses) = (String::new(), String::new());
    let Some(security) = &scenario.mac.security else { return (key, addresses) };
    let hex = |octets: &[u8]| octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>();
    let _ = writeln!(key, "\"{}\",\"1\",\"No hash\"", hex(&security.key.0));
    let (prefix, pan) = (hex(&security.eui64_prefix), scenario.mac.pan_id.0);
    for short in (0..scenario.host()).map(short_of) {
        let _ = writeln!(addresses, "\"{short:04x}\",\"{pan:04x}\",{prefix}{short:04x}");
    }
    (key, addresses)
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A file that tells of its first failure: whoever writes to it goes on without.
pub struct Observations {
    file: BufWriter<File>,
    path: PathBuf,
    failed: Option<Sender<String>>,
}

impl Observations {
    /// A new file at `path`. Its first failure goes to `failed`, with the path.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn create(path: &Path, failed: Sender<String>) -> io::Result<Self> {
        let file = BufWriter::new(File::create(path)?);
        Ok(Observations { file, path: path.to_path_buf(), failed: Some(failed) })
    }

    fn told<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && let Some(failed) = self.failed.take()
        {
            // Nobody to tell is nobody who wants to know.
            let _ = failed.send(format!("{}: {error}", self.path.display()));
        }
        result
    }
}

impl Write for Observations {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let result = self.file.write(octets);
        self.told(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.file.flush();
        self.told(result)
    }
}

impl Drop for Observations {
    fn drop(&mut self) {
        // A failure has been told.
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_where_a_shell_would_take_them_apart() {
        for (path, text) in [
            ("a/b-c_1.pcap", "a/b-c_1.pcap"),
            ("my captures/a.pcap", "'my captures/a.pcap'"),
            ("it's", "'it'\\''s'"),
            ("$HOME", "'$HOME'"),
        ] {
            assert_eq!(quoted(Path::new(path)), text);
        }
    }

    #[test]
    fn a_capture_that_is_no_file_has_nothing_beside_it() {
        let written = write_profile(&Scenario::default(), Path::new("/dev/null"));
        assert_eq!(written.expect("nothing to write"), None);
        assert!(!Path::new("/dev/null.profile").exists());
    }
}
