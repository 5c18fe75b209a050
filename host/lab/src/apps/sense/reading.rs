//! What a reading looks like on its way.

use crate::memory::Growing;
use kinglet::time::Instant;
use kinglet_apps::sense::{self, Probe, Waiting};
use std::collections::VecDeque;

/// Octets of a reading (TCPlp §8.2).
pub const LEN: usize = Wind::LEN;
/// Octets of its number, at its front.
pub(super) const NUMBER: usize = Wind::HEAD;
/// The most readings that a scenario lets wait.
const MOST: usize = 10_000;

/// Where there is room for readings, and the readings of a sensor.
pub(super) type Room = Growing<Waiting<()>, MOST>;
pub(super) type Readings = sense::Readings<Wind, Room>;

/// Makes readings that whoever gets them can check.
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

/// The octets of reading `number`.
pub(super) fn octets(number: u32) -> [u8; LEN] {
    let mut octets = [0; LEN];
    let (head, body) = octets.split_at_mut(NUMBER);
    head.copy_from_slice(&number.to_be_bytes());
    kinglet_apps::fill(u64::from(number), body);
    octets
}

/// The numbers of the readings that wait with a sensor, told from its counters.
#[derive(Default)]
pub(super) struct Numbers {
    waiting: VecDeque<u32>,
    generated: u32,
    dropped: u32,
    left: u32,
}

impl Numbers {
    /// The numbers of those that have left since the last time. Since then one reading has been
    /// made at most.
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
