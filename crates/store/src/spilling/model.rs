//! Random operations on a store and a flash that fails, compared with a queue for each neighbour.

use super::sim::{Faults, Sim};
use super::tests::{SMALL, Whole, check};
use super::{Place, Record};
use crate::{Label, MAX_PAYLOAD, Stats, Store};
use kinglet_flash::Geometry;
use kinglet_mem::Array;
use kinglet_time::Duration;
use rand_core::Rng;
use rand_pcg::Pcg32;
use std::collections::VecDeque;
use std::vec;
use std::vec::Vec;

const NEIGHBOURS: u8 = 6;
/// A neighbour that sleeps for so long that it is hardly ever sent to; few frames are for it.
const SLEEPS: u8 = 5;

struct Model<P, T> {
    whole: Whole<P, T>,
    queues: Vec<VecDeque<(u16, Vec<u8>)>>,
    /// Frames of the model that the store no longer had.
    missing: u32,
    random: Pcg32,
    serial: u32,
    /// True if more frames are put than taken.
    fills: bool,
}

impl<P: Array<Place>, T: Array<Record>> Model<P, T> {
    fn new(seed: u64, geometry: Geometry, faults: Faults) -> Self {
        let mut whole = Whole::attached(Sim::new(geometry, seed));
        whole.flash.faults = faults;
        let queues = vec![VecDeque::new(); usize::from(NEIGHBOURS)];
        Model { whole, queues, missing: 0, random: Pcg32::new(seed, 1), serial: 0, fills: true }
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.random.next_u32() % bound
    }

    fn put(&mut self) {
        self.serial += 1;
        let mut payload = self.serial.to_le_bytes().to_vec();
        payload.resize(4 + self.below(MAX_PAYLOAD as u32 - 3) as usize, self.serial as u8);
        let mut to = self.below(NEIGHBOURS.into()) as u8;
        if to == SLEEPS && self.below(8) > 0 {
            to = 0;
        }
        let label = Label { to, tag: self.below(3) as u16 };
        let room = self.whole.store.room();
        let put = self.whole.store.put(self.whole.now, label, &payload);
        assert_eq!(put.is_ok(), room > 0, "room is honest");
        if put.is_ok() {
            self.queues[usize::from(label.to)].push_back((label.tag, payload));
            assert!(self.whole.store.room() + 1 >= room, "and stays so");
        }
    }

    fn take(&mut self, to: u8) -> bool {
        let mut out = [0; MAX_PAYLOAD];
        let first = self.whole.store.first(|other| other == to);
        let taken = self.whole.store.take(self.whole.now, to, &mut out);
        assert_eq!(first.is_some(), taken.is_some());
        let Some(len) = taken else { return false };
        // Older frames were lost; a frame that was put never changes.
        while let Some((tag, payload)) = self.queues[usize::from(to)].pop_front() {
            if payload == out[..len] {
                assert_eq!(first.map(|label| label.tag), Some(tag));
                return true;
            }
            self.missing += 1;
        }
        panic!("a frame came that was never put, or out of order");
    }

    fn drop_all(&mut self) {
        let label = Label { to: self.below(NEIGHBOURS.into()) as u8, tag: self.below(3) as u16 };
        let dropped = self.whole.store.drop_all(self.whole.now, label);
        let queue = &mut self.queues[usize::from(label.to)];
        let before = queue.len();
        queue.retain(|(tag, _)| *tag != label.tag);
        self.missing += (before - queue.len() - dropped) as u32;
    }

    fn step(&mut self) {
        match self.below(16) {
            0 if self.below(16) == 0 => self.drop_all(),
            0 => self.fills = self.below(2) == 0,
            1 => {
                let to = self.below(NEIGHBOURS.into()) as u8;
                self.whole.store.prefer(self.whole.now, |other| other == to);
            }
            2 if self.below(4) == 0 => self.whole.pass(Duration::from_secs(1)),
            3..=5 => self.take_any(),
            6..=8 => self.put(),
            _ if self.fills => self.put(),
            _ => self.take_any(),
        }
        let micros = u64::from(self.below(6_000));
        self.whole.pass(Duration::from_micros(micros));
        check(&self.whole.store);
    }

    fn take_any(&mut self) {
        let to = self.below(NEIGHBOURS.into()) as u8;
        if to != SLEEPS || self.below(64) == 0 {
            self.take(to);
        }
    }

    /// Takes all that is left, with patience.
    fn drain(&mut self) {
        for _ in 0..100_000 {
            let Some(label) = self.whole.store.oldest(|_| true) else { break };
            if !self.take(label.to) {
                self.whole.store.prefer(self.whole.now, |_| true);
                self.whole.pass(Duration::from_millis(500));
            }
            check(&self.whole.store);
        }
        assert!(self.whole.store.is_empty(), "everything comes out: {:?}", self.whole.store.info());
        self.missing += self.queues.iter().map(VecDeque::len).sum::<usize>() as u32;
        assert_eq!(self.missing, self.whole.store.stats().lost, "the missing frames were counted");
    }
}

/// Runs with these seeds. Returns the counters of each run.
fn run<P: Array<Place>, T: Array<Record>>(
    seeds: core::ops::Range<u64>,
    geometry: Geometry,
    faults: Faults,
) -> Vec<Stats> {
    let one = |seed| {
        let mut model: Model<P, T> = Model::new(seed, geometry, faults);
        for _ in 0..4_000 {
            model.step();
        }
        model.drain();
        *model.whole.store.stats()
    };
    seeds.map(one).collect()
}

fn sum(stats: &[Stats], field: impl Fn(&Stats) -> u32) -> u32 {
    stats.iter().map(field).sum()
}

#[test]
fn without_failures_nothing_is_lost() {
    let stats = run::<[Place; 4], [Record; 256]>(0..24, Geometry::M25P80, Faults::default());
    assert!(sum(&stats, |s| s.written) > 1_000 && sum(&stats, |s| s.read) > 1_000, "{stats:?}");
    assert_eq!(sum(&stats, |s| s.lost + s.failed_reads + s.failed_writes), 0);
}

#[test]
fn with_few_sectors_nothing_is_lost() {
    for (places, stats) in [
        (2, run::<[Place; 2], [Record; 32]>(0..24, SMALL, Faults::default())),
        (8, run::<[Place; 8], [Record; 100]>(0..24, SMALL, Faults::default())),
    ] {
        assert!(sum(&stats, |s| s.erased) > 100, "{places} {stats:?}");
        assert_eq!(sum(&stats, |s| s.lost), 0);
    }
}

#[test]
fn writes_that_fail_lose_nothing() {
    let faults = Faults { program: 40, erase: 30, ..Faults::default() };
    let stats = run::<[Place; 6], [Record; 64]>(0..48, SMALL, faults);
    assert!(sum(&stats, |s| s.failed_writes) > 100 && sum(&stats, |s| s.written) > 1_000);
    assert!(sum(&stats, |s| s.given_up) > 0);
    assert_eq!(sum(&stats, |s| s.lost), 0);
}

#[test]
fn events_that_are_lost_lose_no_frames_that_are_not_counted() {
    let faults = Faults { silent: 10, ..Faults::default() };
    let stats = run::<[Place; 5], [Record; 64]>(0..24, SMALL, faults);
    assert!(sum(&stats, |s| s.failed_writes) > 20 && sum(&stats, |s| s.failed_reads) > 20);
}

#[test]
fn no_frame_comes_damaged_or_out_of_order_whatever_fails() {
    let faults = Faults {
        program: 10,
        erase: 10,
        read: 60,
        weak_program: 20,
        wrong_read: 60,
        silent: 2,
        low_voltage: false,
    };
    let stats = run::<[Place; 4], [Record; 256]>(0..48, SMALL, faults);
    assert!(sum(&stats, |s| s.lost) > 10 && sum(&stats, |s| s.taken) > 10_000, "{stats:?}");
    let tables = run::<[Place; 3], [Record; 3]>(0..12, SMALL, faults);
    assert!(sum(&tables, |s| s.taken) > 1_000);
}
