//! Output files: captures and traces, which grow during a simulation; the settings with which
//! Wireshark and tshark read a capture; files that are replaced [as a whole](whole).
//!
//! The settings are a directory next to the capture, `out.pcap.profile` for `out.pcap`.
//! WIRESHARK_CONFIG_DIR points the programs to it. It has the 6LoWPAN contexts and, with link
//! security, the key and the addresses of all nodes. Without the contexts the programs decompress a
//! wrong address of the host, and report wrong checksums for all its packets. Without the key they
//! decode no packet.

pub mod whole;

use crate::build::contexts;
use kinglet_scenario::{LinkAddresses, Scenario};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

/// The directory with the settings for the capture at `path`; `None` if the capture is a device or
/// a pipe, next to which there is nothing.
pub fn profile(path: &Path) -> Option<PathBuf> {
    if path.metadata().is_ok_and(|data| !data.is_file() && !data.is_dir()) {
        return None;
    }
    let mut dir = path.as_os_str().to_owned();
    dir.push(".profile");
    Some(PathBuf::from(dir))
}

/// The files in that directory.
pub const PROFILE: [&str; 4] =
    ["preferences", "decode_as_entries", "ieee802154_keys", "802154_addresses"];

/// Writes the settings for captures of `scenario` next to the capture at `path`, and returns the
/// command that reads it with them; none if the capture is a device or a pipe.
///
/// # Errors
/// Each file that could not be written, with the reason.
pub fn write_profile(scenario: &Scenario, path: &Path) -> Result<Option<String>, Vec<String>> {
    let Some(dir) = profile(path) else { return Ok(None) };
    // Wireshark and tshark do not recognise 6LoWPAN without a leading Page 0 (RFC 8025).
    let decode = format!("decode_as_entry: wpan.panid,{},(none),6LoWPAN\n", scenario.mac.pan_id.0);
    let (key, addresses) = keys(scenario);
    let texts = [preferences(scenario), decode, key, addresses];
    let failed = |file: &Path, error: &io::Error| format!("{}: {error}", file.display());
    std::fs::create_dir_all(&dir).map_err(|error| vec![failed(&dir, &error)])?;
    let failures = PROFILE.iter().zip(texts).filter_map(|(name, text)| {
        let file = dir.join(name);
        let written = whole::replace(&file, |out| out.write_all(text.as_bytes()));
        Some(failed(&file, &written.err()?))
    });
    let failures: Vec<String> = failures.collect();
    if !failures.is_empty() {
        return Err(failures);
    }
    let of_node = path.join("node-0.pcapng");
    let (dir, path) = (quoted(&dir), quoted(if path.is_dir() { &of_node } else { path }));
    Ok(Some(format!("WIRESHARK_CONFIG_DIR={dir} tshark -r {path}")))
}

fn preferences(scenario: &Scenario) -> String {
    let mut text = String::new();
    for (number, context) in contexts(scenario).iter().enumerate() {
        let Some(context) = context else { continue };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "6lowpan.context{number}: {}/{}", context.prefix, context.len);
    }
    // Wrong checksums are marked. Streams are not reassembled, because a capture has each segment
    // once for every hop.
    text + "tcp.check_checksum: TRUE\nudp.check_checksum: TRUE\ntcp.desegment_tcp_streams: FALSE\n"
}

/// Wireshark's tables of keys and of extended addresses; empty without link security.
fn keys(scenario: &Scenario) -> (String, String) {
    let (mut key, mut addresses) = (String::new(), String::new());
    let Some(security) = &scenario.mac.security else { return (key, addresses) };
    let hex = |octets: &[u8]| octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>();
    let _ = writeln!(key, "\"{}\",\"1\",\"No hash\"", hex(&security.key.0));
    let (prefix, pan) = (hex(&security.eui64_prefix), scenario.mac.pan_id.0);
    // Frames with an EUI-64 as source name it themselves.
    if scenario.link_addresses == LinkAddresses::Extended {
        return (key, addresses);
    }
    for short in (0..scenario.host()).map(|node| scenario.addressing().short(node)) {
        let _ = writeln!(addresses, "\"{short:04x}\",\"{pan:04x}\",{prefix}{short:04x}");
    }
    (key, addresses)
}

/// Quotes a path as an argument in a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A file that reports its first failure; the simulation that writes to it continues.
pub struct Observations {
    file: BufWriter<File>,
    path: PathBuf,
    failed: Option<Sender<String>>,
}

impl Observations {
    /// Creates a file at `path`. Its first failure goes to `failed`, with the path.
    ///
    /// # Errors
    /// The error of the file system.
    pub fn create(path: &Path, failed: Sender<String>) -> io::Result<Self> {
        let file = BufWriter::new(File::create(path)?);
        Ok(Observations { file, path: path.to_path_buf(), failed: Some(failed) })
    }

    fn reported<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && let Some(failed) = self.failed.take()
        {
            // A caller that has dropped the receiver has no use for the report.
            let _ = failed.send(format!("{}: {error}", self.path.display()));
        }
        result
    }
}

impl Write for Observations {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        let result = self.file.write(octets);
        self.reported(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.file.flush();
        self.reported(result)
    }
}

impl Drop for Observations {
    fn drop(&mut self) {
        // The failure has been reported.
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_where_a_shell_would_split_them() {
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
    fn short_addresses_alone_need_a_table() {
        let of = |link_addresses| {
            let scenario = Scenario { link_addresses, ..Scenario::default().on_line(2, 8.0) };
            let (key, addresses) = keys(&scenario);
            assert_eq!(key.lines().count(), 1);
            addresses.lines().count()
        };
        assert_eq!([LinkAddresses::Short, LinkAddresses::Extended].map(of), [3, 0]);
    }

    #[test]
    fn a_capture_that_is_a_device_has_no_settings() {
        let written = write_profile(&Scenario::default(), Path::new("/dev/null"));
        assert_eq!(written.expect("nothing to write"), None);
        assert!(!Path::new("/dev/null.profile").exists());
    }
}
