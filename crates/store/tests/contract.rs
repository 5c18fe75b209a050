//! Stores keep the laws of a layer, with any flash and any order of calls.

use kinglet_flash::{Command, Event, Failure, Geometry};
use kinglet_store::{Frame, Label, MAX_PAYLOAD, Place, Ram, Record, Spilling, Store};
use kinglet_testkit::contract::{Subject, check};
use kinglet_time::{Duration, Instant};
use rand_core::Rng;
use rand_pcg::Pcg32;
use std::collections::BTreeMap;

const RECORDS: usize = 24;

/// A store of any kind, and the commands to its flash.
struct Device<S> {
    store: S,
    /// Octets at pages and offsets.
    flash: BTreeMap<(u16, u8), Vec<u8>>,
    /// Octets to be read.
    read: Vec<u8>,
    awaited: bool,
}

const PART: Geometry = Geometry {
    page_size: 256,
    programs_per_page: 255,
    pages_per_sector: 2,
    sectors: 9,
    longest_program: Duration::from_millis(5),
    longest_erase: Duration::from_millis(100),
};

impl<S: Store> Device<S> {
    fn event(&mut self, now: Instant, dice: u32, random: &mut Pcg32) -> String {
        let mut octets = std::mem::take(&mut self.read);
        octets.resize(256, 0xff);
        if dice & 0xf000 == 0 {
            octets.truncate(random.next_u32() as usize % 256);
            random.fill_bytes(&mut octets);
        }
        let event = match dice >> 16 & 15 {
            0 => Event::Failed { at: now, failure: Failure::Part },
            1 if dice & 0x30_0000 == 0 => Event::Failed { at: now, failure: Failure::LowVoltage },
            _ => Event::Done { at: now },
        };
        self.awaited = false;
        format!("{event:?} {:?}", self.store.handle_flash(now, event, &octets))
    }

    fn note(&mut self, command: Command, octets: &[u8]) {
        self.awaited = command != Command::Reset;
        match command {
            Command::Program { page, offset } => {
                self.flash.insert((page, offset), octets.to_vec());
            }
            Command::Read { page, offset, .. } => {
                self.read = self.flash.get(&(page, offset)).cloned().unwrap_or_default();
            }
            _ => {}
        }
    }
}

impl<S: Store> Subject for Device<S> {
    /// A reset and a command.
    const DRAIN_BOUND: usize = 2;

    fn fresh(seed: u64) -> Self {
        let mut store = S::NEW;
        if seed & 3 != 0 {
            store.attach(Instant::from_secs(1), PART, seed as u16);
        }
        Device { store, flash: BTreeMap::new(), read: Vec::new(), awaited: false }
    }

    fn operate(&mut self, now: Instant, random: &mut Pcg32) -> String {
        let dice = random.next_u32();
        let label = Label { to: (dice >> 8 & 3) as u8, tag: (dice >> 10 & 1) as u16 };
        match dice & 15 {
            0 if dice & 0x7000 == 0 => {
                let geometry = if dice & 0x8000 == 0 { PART } else { Geometry::M25P80 };
                format!("attach {}", self.store.attach(now, geometry, (dice >> 16) as u16))
            }
            0 if dice & 0x7000 == 0x1000 => {
                format!("drop {}", self.store.drop_all(now, label))
            }
            1 => {
                self.store.prefer(now, |to| to == label.to);
                "prefer".to_owned()
            }
            2..=6 => {
                let len = (dice >> 16) as usize % (MAX_PAYLOAD + 3);
                format!("put {:?}", self.store.put(now, label, &[dice as u8; 130][..len]))
            }
            7..=9 => {
                let mut out = [0; MAX_PAYLOAD];
                let out = &mut out[..if dice & 0x8000 == 0 { MAX_PAYLOAD } else { 9 }];
                format!("take {:?} {out:?}", self.store.take(now, label.to, out))
            }
            // A driver reports only requested events; others occur hardly ever.
            _ if self.awaited || dice & 0x700 == 0 => self.event(now, dice, random),
            _ => "nothing".to_owned(),
        }
    }

    fn poll(&mut self, now: Instant) -> Option<String> {
        let submission = self.store.poll_flash(now)?;
        let (command, octets) = (submission.command, submission.octets.to_vec());
        self.note(command, &octets);
        Some(format!("{command:?} {octets:?}"))
    }

    fn deadline(&self) -> Option<Instant> {
        self.store.deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.store.handle_deadline(now);
    }

    fn observe(&self) -> String {
        let (room, all) = (self.store.room(), self.store.room_in_all());
        let firsts: Vec<_> = (0..4).map(|to| self.store.first(|other| other == to)).collect();
        format!("{} {room} {all} {firsts:?} {:?}", self.store.len(), self.store.stats())
    }

    fn refuse(&mut self, now: Instant) -> bool {
        let refused = self.store.poll_flash(now).map(|submission| submission.command);
        if refused.is_some() {
            self.store.flash_refused(now);
        }
        refused.is_some()
    }

    fn owed(&self) -> usize {
        self.store.len()
    }

    fn occupancy(&self) -> Vec<(usize, usize)> {
        assert!(self.store.room() <= self.store.room_in_all());
        vec![(self.store.len() + self.store.room_in_all(), RECORDS)]
    }
}

#[test]
fn a_store_in_memory_keeps_the_laws() {
    check::<Device<Ram<[Frame; RECORDS]>>>(0..32, 300);
}

#[test]
fn a_store_with_flash_keeps_the_laws() {
    check::<Device<Spilling<[Place; 5], [Record; RECORDS]>>>(0..128, 400);
}

#[test]
fn one_with_the_fewest_places_keeps_them() {
    check::<Device<Spilling<[Place; 2], [Record; RECORDS]>>>(0..64, 400);
}
