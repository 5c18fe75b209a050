//! Reads arbitrary bytes as a sequence of calls.

use kinglet_time::{Duration, Instant};

/// The remaining bytes.
pub struct Input<'a> {
    rest: &'a [u8],
    now: Instant,
}

impl<'a> Input<'a> {
    /// A sequence that starts at the origin of time.
    pub fn new(rest: &'a [u8]) -> Self {
        Input { rest, now: Instant::ZERO }
    }

    /// The next octet; `None` at the end.
    pub fn octet(&mut self) -> Option<u8> {
        let (&octet, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(octet)
    }

    /// The next two octets as a number; zero at the end.
    pub fn word(&mut self) -> u16 {
        u16::from_be_bytes([self.octet().unwrap_or(0), self.octet().unwrap_or(0)])
    }

    /// A length octet and as many octets as it says, or as remain.
    pub fn octets(&mut self) -> &'a [u8] {
        let len = usize::from(self.octet().unwrap_or(0)).min(self.rest.len());
        let (octets, rest) = self.rest.split_at(len);
        self.rest = rest;
        octets
    }

    /// Advances the time by 0 to 65 s.
    pub fn later(&mut self) -> Instant {
        let units = u64::from(self.word());
        self.now += if units < 0x8000 {
            Duration::from_micros(units)
        } else {
            Duration::from_millis(units)
        };
        self.now
    }

    /// The time now.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Advances the time to `at`, unless that has passed.
    pub fn skip_to(&mut self, at: Instant) -> Instant {
        self.now = self.now.max(at);
        self.now
    }
}
