//! A store and a simulated flash.

use super::sim::{Faults, Sim};
use super::*;
use kinglet_flash::{Command, Driver, MAX_PAGE};
use std::vec::Vec;

/// Sixteen sectors of eight pages, so that sectors are full soon.
pub(super) const SMALL: Geometry = Geometry {
    page_size: 256,
    programs_per_page: 255,
    pages_per_sector: 8,
    sectors: 16,
    longest_program: Duration::from_millis(5),
    longest_erase: Duration::from_secs(1),
};

/// Checks the invariants.
pub(super) fn check<P: Array<Place>, T: Array<Record>>(store: &Spilling<P, T>) {
    let in_flash = store.waiting().filter(|record| record.is_in_flash_only()).count();
    assert_eq!(store.in_flash, in_flash);
    let mut owners = std::vec![0; P::LEN];
    let mut slots = Vec::new();
    for record in store.waiting() {
        match record.whereabouts() {
            Whereabouts::Flash(slot) => slots.push(slot),
            Whereabouts::Memory(place) => {
                owners[usize::from(place)] += 1;
                let place = store.place(place).unwrap();
                assert!(matches!(place.state, State::Alone | State::Copied));
                slots.extend(Some(place.slot).filter(|_| place.state == State::Copied));
            }
        }
    }
    for (place, owners) in store.places.as_slice().iter().zip(owners) {
        assert_eq!(owners, usize::from(matches!(place.state, State::Alone | State::Copied)));
    }
    let awaiting = store.places_in(State::Awaiting);
    assert_eq!(awaiting, usize::from(matches!(store.flash.work, Work::Read { .. })));
    assert!(in_flash == 0 || store.places_in(State::Alone) < P::LEN, "a place is left for reading");
    let len = slots.len();
    slots.sort_unstable();
    slots.dedup();
    assert_eq!(slots.len(), len, "a slot is used twice");
    assert!(!store.flash.powered_down || slots.is_empty());
    assert!(store.room_in_all() >= store.room());
}

pub(super) struct Whole<P, T> {
    pub(super) store: Spilling<P, T>,
    pub(super) flash: Sim,
    pub(super) now: Instant,
}

type Few = Whole<[Place; 4], [Record; 64]>;

impl<P: Array<Place>, T: Array<Record>> Whole<P, T> {
    pub(super) fn attached(flash: Sim) -> Self {
        let mut whole = Whole { store: Spilling::NEW, flash, now: Instant::from_secs(1) };
        assert!(whole.store.attach(whole.now, whole.flash.geometry(), 0));
        whole
    }

    /// Returns an attached store that has finished its initial work.
    fn ready(geometry: Geometry) -> Self {
        let mut whole = Self::attached(Sim::new(geometry, 1));
        whole.pass(Duration::from_secs(2));
        whole.flash.commands.clear();
        whole
    }

    fn drive(&mut self) {
        while let Some(Submission { command, octets }) = self.store.poll_flash(self.now) {
            self.flash.submit(self.now, command, octets).expect("one at a time");
        }
    }

    /// Advances the time, with a stop at each instant at which something is due.
    pub(super) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        self.drive();
        while let Some(at) =
            earliest(self.flash.next_event(), self.store.deadline()).filter(|&at| at <= end)
        {
            self.now = self.now.max(at);
            let mut octets = [0; MAX_PAGE];
            while let Some(event) = self.flash.poll_event(self.now, &mut octets) {
                self.store.handle_flash(self.now, event, &octets).unwrap();
            }
            if self.store.deadline().is_some_and(|at| at <= self.now) {
                self.store.handle_deadline(self.now);
            }
            self.drive();
            check(&self.store);
        }
        self.now = end;
    }

    fn put(&mut self, to: u8, tag: u16) -> Result<(), Full> {
        self.store.put(self.now, Label { to, tag }, &tag.to_le_bytes())
    }

    /// Puts a frame every six milliseconds, as from a radio.
    fn put_slowly(&mut self, to: u8, tags: core::ops::Range<u16>) {
        for tag in tags {
            self.put(to, tag).unwrap();
            self.pass(Duration::from_millis(6));
        }
    }

    /// The same, but the sender waits while there is no room.
    fn put_patiently(&mut self, to: u8, tags: core::ops::Range<u16>) {
        for tag in tags {
            let until = self.now + Duration::from_secs(60);
            while self.store.room() == 0 {
                self.pass(Duration::from_millis(6));
                assert!(self.now < until, "there is never room: {:?}", self.store.info());
            }
            self.put_slowly(to, tag..tag + 1);
        }
    }

    fn take(&mut self, to: u8) -> Option<u16> {
        let mut out = [0; MAX_PAYLOAD];
        let label = self.store.first(|other| other == to);
        let len = self.store.take(self.now, to, &mut out)?;
        let tag = u16::from_le_bytes(out[..len].try_into().unwrap());
        assert_eq!(label, Some(Label { to, tag }));
        Some(tag)
    }

    fn count(&self, kind: fn(&Command) -> bool) -> usize {
        self.flash.commands.iter().filter(|command| kind(command)).count()
    }
}

fn reads(command: &Command) -> bool {
    matches!(command, Command::Read { .. })
}

fn erases(command: &Command) -> bool {
    matches!(command, Command::Erase { .. })
}

fn is_left_alone(command: &Command) -> bool {
    matches!(command, Command::PowerDown)
}

#[test]
fn memory_for_a_frame_that_waits_is_eight_octets() {
    assert_eq!(size_of::<Record>(), 8);
    let more = size_of::<Spilling<[Place; 4], [Record; 256]>>()
        - size_of::<Spilling<[Place; 4], [Record; 128]>>();
    assert_eq!(more, 128 * 8);
}

#[test]
fn before_there_are_frames_one_sector_is_erased_and_the_part_is_powered_down() {
    let mut whole = Few::attached(Sim::new(Geometry::M25P80, 1));
    whole.pass(Duration::from_secs(3_600));
    assert_eq!(whole.flash.commands, [Command::Erase { sector: 0 }, Command::PowerDown]);
    assert!(whole.flash.powered_down && whole.store.info().powered_down);
    assert_eq!(whole.store.deadline(), None);
}

#[test]
fn the_first_sector_is_chosen_by_the_user() {
    let mut store: Spilling<[Place; 4], [Record; 64]> = Spilling::NEW;
    store.attach(Instant::ZERO, Geometry::M25P80, 16 + 5);
    let first = store.poll_flash(Instant::ZERO).map(|submission| submission.command);
    assert_eq!(first, Some(Command::Erase { sector: 5 }));
}

#[test]
fn a_short_queue_never_uses_the_flash() {
    let mut whole = Few::ready(Geometry::M25P80);
    for tag in 0..1_000 {
        whole.put(1, tag).unwrap();
        whole.pass(Duration::from_millis(6));
        whole.put(2, tag).unwrap();
        whole.pass(Duration::from_millis(6));
        assert_eq!((whole.take(1), whole.take(2)), (Some(tag), Some(tag)));
    }
    assert_eq!(whole.flash.commands, []);
    assert!(whole.flash.powered_down);
}

#[test]
fn a_long_burst_waits_in_flash_and_comes_back_in_order_without_pauses() {
    let mut whole = Few::ready(Geometry::M25P80);
    whole.put_slowly(1, 0..64);
    assert_eq!((whole.store.len(), whole.store.room(), whole.put(1, 99)), (64, 0, Err(Full)));
    assert_eq!(whole.count(reads), 0, "nothing is read while nothing is taken");
    assert!(whole.store.info().in_flash >= 60);
    for tag in 0..64 {
        assert_eq!(whole.take(1), Some(tag), "it is there when the radio is ready");
        whole.pass(Duration::from_millis(6));
    }
    assert_eq!(whole.count(reads) as u32, whole.store.stats().read);
    assert!(whole.store.stats().read <= whole.store.stats().written, "nothing is read twice");
    whole.pass(Duration::from_secs(2));
    assert!(whole.flash.powered_down);
    assert_eq!(whole.store.stats().most, 64);
}

#[test]
fn the_oldest_frame_for_each_neighbour_is_read_first() {
    let mut whole = Few::ready(Geometry::M25P80);
    // Frames for the first neighbour fill memory; those for the others follow them.
    whole.put_slowly(1, 0..20);
    whole.put_slowly(2, 20..22);
    whole.put_slowly(3, 22..24);
    whole.pass(Duration::from_millis(50));
    let firsts = [1, 2, 3].map(|to| whole.store.first(|other| other == to).map(|l| l.tag));
    assert_eq!(firsts, [Some(0), Some(20), Some(22)]);
    assert_eq!([3, 2, 1].map(|to| whole.take(to)), [Some(22), Some(20), Some(0)]);
}

#[test]
fn frames_of_preferred_recipients_are_read_before_others() {
    let mut whole = Few::ready(Geometry::M25P80);
    for to in 1..=8 {
        whole.put_slowly(to, to.into()..u16::from(to) + 1);
    }
    let hidden = (1..=8).find(|&to| whole.store.first(|other| other == to).is_none()).unwrap();
    whole.pass(Duration::from_secs(1));
    assert_eq!(whole.take(hidden), None, "all others are as urgent");
    assert_eq!(whole.store.oldest(|to| to == hidden).map(|label| label.to), Some(hidden));
    whole.store.prefer(whole.now, |to| to == hidden);
    whole.pass(Duration::from_millis(20));
    assert_eq!(whole.take(hidden), Some(hidden.into()));
}

#[test]
fn frames_put_faster_than_the_flash_writes_are_refused_and_none_is_lost() {
    let mut whole = Few::ready(Geometry::M25P80);
    let mut put = 0;
    while whole.put(1, put).is_ok() {
        put += 1;
    }
    assert_eq!((put, whole.store.room()), (4, 0));
    assert_eq!(whole.store.room_in_all(), 60);
    whole.pass(Duration::from_millis(10));
    assert_eq!(whole.store.room(), 2);
    whole.put(1, put).unwrap();
    for tag in 0..=put {
        assert_eq!(whole.take(1), Some(tag));
        whole.pass(Duration::from_millis(5));
    }
}

#[test]
fn sectors_wear_alike_and_are_erased_no_more_than_needed() {
    let mut whole = Few::ready(SMALL);
    for _ in 0..200 {
        whole.put_slowly(1, 0..16);
        for tag in 0..16 {
            assert_eq!(whole.take(1), Some(tag));
            whole.pass(Duration::from_millis(6));
        }
        whole.pass(Duration::from_secs(3));
    }
    let (least, most) = (whole.flash.erased.iter().min(), whole.flash.erased.iter().max());
    assert!(most.unwrap() - least.unwrap() <= 1, "{:?}", whole.flash.erased);
    let Stats { written, erased, .. } = *whole.store.stats();
    assert!(erased <= written.div_ceil(16) + 1, "{erased} sectors for {written} frames");
}

#[test]
fn a_sector_is_erased_ahead_when_it_is_quiet() {
    let mut whole = Few::ready(SMALL);
    whole.put_slowly(1, 0..8);
    assert_eq!(whole.count(erases), 0, "not in the burst");
    whole.pass(Duration::from_millis(1_500));
    assert_eq!(whole.count(erases), 1);
    whole.put_slowly(1, 8..28);
    assert_eq!(whole.count(erases), 1, "and so not when it is needed");
}

#[test]
fn a_sector_in_which_something_waits_is_passed_over() {
    let geometry = Geometry { sectors: 5, ..SMALL };
    let mut whole = Few::ready(geometry);
    whole.put_slowly(1, 0..6);
    for round in 0..20 {
        whole.put_patiently(2, 0..16);
        for tag in 0..16 {
            while whole.take(2) != Some(tag) {
                whole.store.prefer(whole.now, |to| to == 2);
                whole.pass(Duration::from_millis(6));
            }
        }
        whole.pass(Duration::from_secs(3));
        assert_eq!(whole.store.len(), 6, "{round}");
    }
    assert_eq!((0..6).map(|_| whole.take_patiently(1)).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    assert_eq!(whole.store.stats().lost, 0);
}

#[test]
fn frames_that_wait_in_every_sector_are_moved() {
    let geometry = Geometry { sectors: 6, ..SMALL };
    let mut whole = Few::ready(geometry);
    for round in 0..60 {
        // One frame that will wait for long, and then many that do not.
        if round < 12 {
            whole.put_patiently(1, round..round + 1);
        }
        whole.put_patiently(2, 0..12);
        for tag in 0..12 {
            assert_eq!(whole.take_patiently(2), tag);
            whole.pass(Duration::from_millis(6));
        }
        whole.pass(Duration::from_secs(3));
        assert!(whole.store.flash.log.next().is_some(), "{round}");
    }
    assert_eq!((0..12).map(|_| whole.take_patiently(1)).collect::<Vec<_>>(), Vec::from_iter(0..12));
    let Stats { written, lost, erased, put, .. } = *whole.store.stats();
    assert_eq!((lost, whole.store.len()), (0, 0));
    assert!(written < put * 3 / 2 && erased < written / 8, "{written} of {put}, {erased}");
}

impl Few {
    fn take_patiently(&mut self, to: u8) -> u16 {
        for _ in 0..100 {
            if let Some(tag) = self.take(to) {
                return tag;
            }
            self.store.prefer(self.now, |other| other == to);
            self.pass(Duration::from_secs(1));
        }
        panic!("nothing for {to}");
    }
}

#[test]
fn the_part_is_powered_down_when_memory_suffices_again() {
    let mut whole = Few::ready(Geometry::M25P80);
    whole.put_slowly(1, 0..4);
    assert!(whole.count(is_left_alone) == 0 && !whole.flash.powered_down);
    assert_eq!((whole.take(1), whole.take(1)), (Some(0), Some(1)));
    whole.pass(Duration::from_secs(1));
    assert_eq!((whole.store.len(), whole.store.info().in_flash), (2, 0));
    assert!(whole.flash.powered_down, "both are in memory");
    assert_eq!((whole.take(1), whole.take(1)), (Some(2), Some(3)));
    assert_eq!(whole.count(reads), 0);
}

#[test]
fn below_its_voltage_nothing_is_written_and_nothing_is_lost() {
    let mut whole = Few::ready(Geometry::M25P80);
    whole.put_slowly(1, 0..8);
    whole.flash.faults.low_voltage = true;
    let mut put = 8;
    while whole.put(1, put).is_ok() {
        put += 1;
        whole.pass(Duration::from_millis(6));
    }
    assert_eq!(whole.store.info().writes, Writes::LowVoltage);
    let Stats { given_up, failed_writes, .. } = *whole.store.stats();
    assert_eq!((given_up, failed_writes), (1, 1), "at once");
    assert_eq!(whole.store.room_in_all(), whole.store.room());
    for tag in 0..put {
        assert_eq!(whole.take_patiently(1), tag);
    }
    // It continues in memory, and in flash when the user requests it.
    whole.put_slowly(1, 0..4);
    assert_eq!(whole.put(1, 4), Err(Full));
    whole.flash.faults.low_voltage = false;
    assert!(whole.store.attach(whole.now, Geometry::M25P80, 0));
    whole.pass(Duration::from_millis(20));
    whole.put_slowly(1, 4..20);
    assert_eq!((0..20).map(|_| whole.take_patiently(1)).sum::<u16>(), 190);
    assert_eq!(whole.store.stats().lost, 0);
}

#[test]
fn a_write_that_fails_is_tried_at_another_page() {
    let mut whole = Few::ready(Geometry::M25P80);
    whole.put_slowly(1, 0..2);
    whole.flash.faults.program = 255;
    whole.put(1, 2).unwrap();
    whole.store.poll_flash(whole.now).map(|s| s.command).unwrap();
    let at = whole.now;
    let failed = Event::Failed { at, failure: kinglet_flash::Failure::Part };
    whole.store.handle_flash(at, failed, &[]).unwrap();
    let again = whole.store.poll_flash(at).map(|submission| submission.command);
    assert_eq!(again, Some(Command::Program { page: 1, offset: 0 }));
    assert_eq!(whole.store.stats().failed_writes, 1);
}

#[test]
fn a_flash_that_cannot_be_read_gives_its_frames_up_and_counts_them() {
    let mut whole = Few::ready(Geometry::M25P80);
    whole.put_slowly(1, 0..20);
    let in_flash = whole.store.info().in_flash as u32;
    whole.flash.faults.silent = 255;
    let mut taken = 0;
    for _ in 0..2_000 {
        taken += u32::from(whole.take(1).is_some());
        whole.pass(Duration::from_secs(1));
    }
    let Stats { lost, failed_reads, .. } = *whole.store.stats();
    assert!(whole.store.is_empty() && lost >= in_flash - 4 && taken + lost == 20);
    assert!(failed_reads >= lost + 2 && failed_reads <= lost + 8, "{failed_reads} for {lost}");
}

#[test]
fn after_a_start_the_content_of_the_flash_is_ignored() {
    let mut whole = Few::ready(SMALL);
    whole.put_patiently(1, 0..40);
    // Power is lost in the middle of a program, and of an erasure.
    whole.flash.faults = Faults { program: 255, erase: 255, ..Faults::default() };
    whole.put_patiently(1, 40..41);
    let Whole { flash, .. } = whole;
    for first_sector in 0..16 {
        let mut octets = flash.octets.clone();
        octets[..100].fill(0);
        let mut part = Sim::new(SMALL, 2);
        part.octets = octets;
        let mut again = Few::attached(part);
        again.store = Spilling::NEW;
        again.store.attach(again.now, SMALL, first_sector);
        assert_eq!((again.take(1), again.store.len()), (None, 0));
        again.pass(Duration::from_secs(2));
        again.put_patiently(1, 100..140);
        assert_eq!((100..140).map(|_| again.take_patiently(1)).sum::<u16>(), 4_780);
        assert_eq!(again.store.stats().lost, 0);
    }
}

#[test]
fn another_part_begins_empty_and_the_first_ones_content_counts_as_lost() {
    let mut whole = Few::ready(Geometry::M25P80);
    whole.put_slowly(1, 0..20);
    let in_flash = whole.store.info().in_flash as u32;
    assert!(!whole.store.attach(whole.now, Geometry::NONE, 0));
    check(&whole.store);
    assert_eq!(whole.store.stats().lost, in_flash);
    assert_eq!(
        (whole.store.info().writes, whole.store.poll_flash(whole.now)),
        (Writes::NoFlash, None)
    );
    assert_eq!(whole.store.len(), 20 - in_flash as usize);
}

#[test]
fn unexpected_events_change_nothing() {
    let mut whole = Few::ready(Geometry::M25P80);
    let event = Event::Done { at: whole.now };
    assert_eq!(whole.store.handle_flash(whole.now, event, &[]), Err(Discard::NotAwaited));
    whole.store.flash_refused(whole.now);
    let reset = whole.store.poll_flash(whole.now).map(|submission| submission.command);
    assert_eq!((reset, whole.store.poll_flash(whole.now)), (Some(Command::Reset), None));
}

#[test]
fn frames_dropped_while_they_are_read_or_written_free_their_places() {
    let mut whole = Few::ready(Geometry::M25P80);
    whole.put_slowly(1, 0..12);
    for tag in 0..3 {
        whole.take(1).unwrap();
        whole.drive();
        let _ = whole.store.drop_all(whole.now, Label { to: 1, tag: tag + 2 + 2 * tag });
        check(&whole.store);
        whole.pass(Duration::from_millis(10));
    }
    while let Some(label) = whole.store.oldest(|_| true) {
        whole.store.drop_all(whole.now, label);
        check(&whole.store);
    }
    whole.pass(Duration::from_secs(2));
    assert!(whole.flash.powered_down && whole.store.info().places == 0);
}
