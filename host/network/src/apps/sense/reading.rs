//! Format of a reading.

use crate::memory::Growing;
use kinglet::time::Instant;
use kinglet_apps::sense::{self, Probe, Waiting};
use std::collections::VecDeque;

/// Octets of a reading (TCPlp §8.2).
pub const LEN: usize = Wind::LEN;
/// Octets of the number at the front of a reading.
pub(super) const NUMBER: usize = Wind::HEAD;
/// Maximum length of a sensor's queue in a scenario.
const MOST: usize = 10_000;

/// Storage of readings, and the readings of a sensor.
pub(super) type Room = Growing<Waiting<()>, MOST>;
pub(super) type Readings = sense::Readings<Wind, Room>;

/// Makes readings that the receiver can verify.
pub(super) struct Wind;

impl Probe for Wind {
    type Reading = ();
    const LEN: usize = 82;
    const HEAD: usize = 4;

    fn sample(&mut self, _now: Instant) {}

    fn write(&self, number: u32, (): (), at: usize, out: &mut [u8]) {
        out.copy_from_slice(&octets(number)[at..][..out.len()]);
    }
}

/// Octets of reading `number`.
pub(super) fn octets(number: u32) -> [u8; LEN] {
    let mut octets = [0; LEN];
    let (head, body) = octets.split_at_mut(NUMBER);
    head.copy_from_slice(&number.to_be_bytes());
    kinglet_apps::fill(u64::from(number), body);
    octets
}

/// Numbers of the readings in a sensor's queue, derived from its counters.
#[derive(Default)]
pub(super) struct Numbers {
    waiting: VecDeque<u32>,
    generated: u32,
    dropped: u32,
    left: u32,
}

impl Numbers {
    /// Numbers of the readings that have left the queue since the last call. At most one reading
    /// may have been made since then.
    pub(super) fn follow(&mut self, readings: &Readings) -> Vec<u32> {
        if readings.generated() > self.generated && readings.dropped() == self.dropped {
            self.waiting.push_back(self.generated);
        }
        let left = (readings.left() - self.left) as usize;
        (self.generated, self.dropped) = (readings.generated(), readings.dropped());
        self.left = readings.left();
        self.waiting.drain(..left).collect()
    }

    pub(super) fn waiting(&self) -> impl Iterator<Item = u32> {
        self.waiting.iter().copied()
    }
}
