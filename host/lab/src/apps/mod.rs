//! The applications of scenarios, as firmware would write them: driven by polls, on socket handles.

pub mod bulk;
pub mod coap;
pub mod http;
pub mod http_client;
pub mod peer;
pub mod sense;
pub mod services;
pub mod tcp;
pub mod udp;

use kinglet::time::{Duration, Instant};
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

/// When a refused connection is tried again: after one second, then after the double each time, a
/// minute at most.
#[derive(Clone, Copy, Debug, Default)]
struct Again {
    /// Not before this; the beginning of time if nothing was refused.
    at: Instant,
    /// The pause before that.
    pause: Duration,
}

impl Again {
    const LEAST: Duration = Duration::from_secs(1);
    const MOST: Duration = Duration::from_secs(60);

    /// A refusal has come.
    fn refused(&mut self, now: Instant) {
        self.pause = (self.pause * 2).clamp(Self::LEAST, Self::MOST);
        self.at = now + self.pause;
    }
}

/// Octet `at` of the stream that bulk transfers carry. Its period of 251 octets, a prime, divides
/// no segment, frame or buffer size, so data in the wrong place does not look right.
pub fn pattern(at: u64) -> u8 {
    (at % PERIOD as u64) as u8
}

/// Octets after which the stream begins again.
const PERIOD: usize = 251;
/// Octets that are written or compared at a time.
const STRETCH: usize = 1_024;

/// The stream from its beginning on: a stretch that begins anywhere in the first period is in it.
static STREAM: [u8; PERIOD + STRETCH] = {
    let mut stream = [0; PERIOD + STRETCH];
    let mut at = 0;
    while at < stream.len() {
        stream[at] = (at % PERIOD) as u8;
        at += 1;
    }
    stream
};

/// `len` octets of the stream from octet `at` on, [`STRETCH`] at most.
fn stretch(at: u64, len: usize) -> &'static [u8] {
    let begin = (at % PERIOD as u64) as usize;
    &STREAM[begin..begin + len]
}

/// Fills `out` with the stream from octet `at` on.
pub fn fill(at: u64, out: &mut [u8]) {
    for (number, out) in out.chunks_mut(STRETCH).enumerate() {
        out.copy_from_slice(stretch(at + (number * STRETCH) as u64, out.len()));
    }
}

/// Whether `octets` are what the stream holds from octet `at` on.
pub fn is_intact(at: u64, octets: &[u8]) -> bool {
    let mut stretches = octets.chunks(STRETCH).enumerate();
    stretches
        .all(|(number, octets)| octets == stretch(at + (number * STRETCH) as u64, octets.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_followed_by_ever_longer_pauses() {
        let (mut again, mut now) = (Again::default(), Instant::from_secs(5));
        let pauses: Vec<u64> = (0..8)
            .map(|_| {
                again.refused(now);
                let pause = again.at - now;
                now = again.at;
                pause.as_millis() / 1_000
            })
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
    }

    #[test]
    fn a_shifted_stream_is_noticed() {
        let mut octets = [0; 3_000];
        fill(1_000, &mut octets);
        assert!(is_intact(1_000, &octets));
        assert!(!is_intact(1_001, &octets));
        assert!((0..3_000).all(|i| octets[i as usize] == pattern(1_000 + i)));
    }
}
