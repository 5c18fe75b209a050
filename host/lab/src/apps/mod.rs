//! The applications of scenarios, as firmware would write them: driven by polls, on socket handles.

pub mod bulk;
pub mod coap;
pub mod http;
pub mod http_client;
pub mod sense;
pub mod udp;

use sha2::{Digest, Sha256};
use std::fmt::Write;

/// What servers say of a body of `total` octets that was uploaded: length and SHA-256. `hash` can
/// be used for another one after it.
fn digest_line(total: u64, hash: &mut Sha256) -> String {
    let mut text = format!("{total} ");
    for octet in hash.finalize_reset() {
        // Writing to a String cannot fail.
        let _ = write!(text, "{octet:02x}");
    }
    text.push('\n');
    text
}

/// Octet `at` of the stream that bulk transfers carry. Its period of 251 octets, a prime, divides
/// no segment, frame or buffer size, so data in the wrong place does not look right.
pub fn pattern(at: u64) -> u8 {
    (at % 251) as u8
}

/// Fills `out` with the stream from octet `at` on.
pub fn fill(at: u64, out: &mut [u8]) {
    let mut value = pattern(at);
    for octet in out {
        *octet = value;
        value = if value == 250 { 0 } else { value + 1 };
    }
}

/// Whether `octets` are what the stream holds from octet `at` on.
pub fn is_intact(at: u64, octets: &[u8]) -> bool {
    let mut value = pattern(at);
    octets.iter().all(|octet| {
        let right = *octet == value;
        value = if value == 250 { 0 } else { value + 1 };
        right
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shifted_stream_is_noticed() {
        let mut octets = [0; 600];
        fill(1_000, &mut octets);
        assert!(is_intact(1_000, &octets));
        assert!(!is_intact(1_001, &octets));
        assert!((0..600).all(|i| octets[i as usize] == pattern(1_000 + i)));
    }
}
