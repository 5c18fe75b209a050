//! The segments in flight: for each its end, its last send time, and its state.
//!
//! The table is bounded by the memory plan. When it is full, adjacent records of the same kind
//! become one. If there are none, two of different kinds become one that claims less: a sender may
//! always know less than was reported, which costs at worst a needless retransmission or a timeout.
//!
//! Invariant: the records are contiguous, the first begins at `una`, and the last ends at SND.NXT
//! (unless the plan has no records at all).

use super::arrival::{Arrival, Stamp};
use super::scoreboard::Scoreboard;
use crate::paws::is_older;
use crate::seq::SeqNum;
use kinglet_mem::Empty;

/// The peer holds it (RFC 2018).
const SACKED: u32 = 1;
/// It is marked as lost, and has not been sent again since.
const LOST: u32 = 2;
/// It was sent more than once.
const RETRANSMITTED: u32 = 4;
const FLAGS: u32 = Stamp::SPARE;
const _: () = assert!(FLAGS == SACKED | LOST | RETRANSMITTED);

/// One segment in flight, in eight octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentRecord {
    end: SeqNum,
    /// A [`Stamp`] and, in its lowest bits, the flags.
    word: u32,
}

impl Empty for SegmentRecord {
    const EMPTY: Self = SegmentRecord { end: SeqNum::new(0), word: 0 };
}

impl SegmentRecord {
    fn stamp(self) -> Stamp {
        Stamp::of_word(self.word)
    }

    fn is(self, flag: u32) -> bool {
        self.word & flag != 0
    }

    fn outstanding(self) -> bool {
        !self.is(SACKED | LOST)
    }

    /// Merges two adjacent records into one, which claims no more than both.
    fn merged(self, next: SegmentRecord) -> SegmentRecord {
        let flags =
            (self.word & next.word & (SACKED | LOST)) | ((self.word | next.word) & RETRANSMITTED);
        SegmentRecord { end: next.end, word: self.stamp().later(next.stamp()).word() | flags }
    }
}

impl Arrival {
    //= rfc6298#3-1 rfc6298#3-2
    fn take(&mut self, record: SegmentRecord, octets: u32) {
        let first = self.octets == 0;
        self.octets = self.octets.saturating_add(octets);
        let rtt = self.now.since(record.stamp());
        self.last_us = self.last_us.min(rtt);
        let again = record.is(RETRANSMITTED);
        // Not the acknowledgment of the last transmission.
        let old = self.echo_age.is_some_and(|age| is_older(age, rtt));
        // Karn's algorithm (RFC 6298 §3), which timestamps make unnecessary.
        let certain = !again || (self.echo_age.is_some() && !old);
        if certain && first {
            self.rtt_us = Some(rtt);
        }
        if again {
            self.retransmitted = true;
            self.echo_is_old |= old;
            // It is not that either if it would be too fast.
            if old || rtt < self.min_rtt_us {
                return;
            }
        } else if record.end.before(self.fack) {
            self.reordered = true;
        }
        if self.newest.is_none_or(|(at, end)| record.stamp().sent_after(record.end, at, end)) {
            self.newest = Some((record.stamp(), record.end));
        }
    }
}

//= rfc8985#4-2
#[derive(Clone, Copy, Debug)]
pub struct Flight<R: ?Sized> {
    len: u8,
    /// Flags that records may have; no record has any other.
    marks: u8,
    una: SeqNum,
    records: R,
}

impl Flight<[SegmentRecord]> {
    fn held(&self) -> &[SegmentRecord] {
        self.records.get(..usize::from(self.len)).unwrap_or(&[])
    }

    fn held_mut(&mut self) -> &mut [SegmentRecord] {
        self.records.get_mut(..usize::from(self.len)).unwrap_or(&mut [])
    }

    /// Returns the records with the beginning of each.
    fn spans(&self) -> impl Iterator<Item = (SeqNum, SegmentRecord)> {
        let starts = core::iter::once(self.una).chain(self.held().iter().map(|r| r.end));
        starts.zip(self.held().iter().copied())
    }

    fn octets(&self, flag: u32) -> u32 {
        if self.may_have(flag) { self.octets_of(|r| r.is(flag)) } else { 0 }
    }

    /// Returns whether any record may have one of these flags: mostly none has, and no search is
    /// needed.
    fn may_have(&self, flags: u32) -> bool {
        u32::from(self.marks) & flags != 0
    }

    fn note(&mut self, flags: u32) {
        self.marks |= u8::try_from(flags).unwrap_or(u8::MAX);
    }

    fn octets_of(&self, kind: impl Fn(SegmentRecord) -> bool) -> u32 {
        self.spans()
            .filter(|(_, r)| kind(*r))
            .fold(0, |sum, (start, r)| r.end.since(start).saturating_add(sum))
    }

    /// Applies `change` to the records that lie within `left..right`.
    fn within(
        &mut self,
        left: SeqNum,
        right: SeqNum,
        mut change: impl FnMut(SeqNum, &mut SegmentRecord),
    ) {
        self.cut(left);
        self.cut(right);
        let mut start = self.una;
        for record in self.held_mut() {
            if left.at_or_before(start) && record.end.at_or_before(right) {
                change(start, record);
            }
            start = record.end;
        }
    }

    /// Splits the record that goes across `at`, if there is room.
    fn cut(&mut self, at: SeqNum) {
        let across = |(start, r): &(SeqNum, SegmentRecord)| start.before(at) && at.before(r.end);
        if !self.spans().any(|span| across(&span)) || !self.make_room() {
            return;
        }
        // Making room may have moved the records, and even have cut off this one's neighbours.
        let Some(place) = self.spans().position(|span| across(&span)) else { return };
        let Some(&record) = self.held().get(place) else { return };
        self.insert(place, SegmentRecord { end: at, ..record });
    }

    fn insert(&mut self, place: usize, record: SegmentRecord) {
        self.len = self.len.saturating_add(1);
        // Not `rotate_right`, which is larger than all the rest of this file and can panic.
        let mut carried = record;
        for slot in self.held_mut().iter_mut().skip(place) {
            core::mem::swap(slot, &mut carried);
        }
    }

    /// Returns whether there is room for one more record, after merging two if need be: those that
    /// lose least by it, and among them the last.
    fn make_room(&mut self) -> bool {
        let capacity = self.records.len().min(usize::from(u8::MAX));
        if usize::from(self.len) < capacity {
            return true;
        }
        let pairs = self.held().iter().zip(self.held().iter().skip(1));
        let cost = |(a, b): (&SegmentRecord, &SegmentRecord)| match (a.word ^ b.word) & FLAGS {
            _ if a.is(SACKED) && b.is(SACKED) => 0_u8,
            0 if a.is(LOST) => 1,
            0 => 2,
            _ => 3,
        };
        let mut best = None;
        for (place, cost) in pairs.map(cost).enumerate() {
            if best.is_none_or(|(_, least)| cost <= least) {
                best = Some((place, cost));
            }
        }
        let Some((place, _)) = best else { return false };
        if let Some([first, second, ..]) = self.held_mut().get_mut(place..) {
            *second = first.merged(*second);
        }
        let Some(mut carried) = self.held().last().copied() else { return false };
        for slot in self.held_mut().iter_mut().skip(place).rev() {
            core::mem::swap(slot, &mut carried);
        }
        self.len = self.len.saturating_sub(1);
        true
    }
}

impl<const N: usize> Flight<[SegmentRecord; N]> {
    /// Creates a table with nothing in flight.
    pub(crate) fn new(una: SeqNum) -> Self {
        Flight { len: 0, marks: 0, una, records: [SegmentRecord::EMPTY; N] }
    }
}

impl Scoreboard for Flight<[SegmentRecord]> {
    fn reset(&mut self, una: SeqNum) {
        (self.len, self.marks, self.una) = (0, 0, una);
    }

    fn push(&mut self, end: SeqNum, at: Stamp) {
        let record = SegmentRecord { end, word: at.word() };
        if self.make_room() {
            self.insert(usize::from(self.len), record);
        } else if let Some(last) = self.held_mut().last_mut() {
            *last = last.merged(record);
        }
    }

    //= rfc8985#4-3
    fn retransmit(&mut self, start: SeqNum, end: SeqNum, at: Stamp) {
        self.note(RETRANSMITTED);
        self.cut(start);
        self.cut(end);
        // From here on the records of this stretch are one. If the table had no room to cut, that
        // record also covers the adjacent octets, about which nothing more is then known.
        let mut begin = self.una;
        let mut count: u8 = 0;
        let mut merged = false;
        for i in 0..usize::from(self.len) {
            let Some(&record) = self.records.get(i) else { break };
            let inside = start.before(record.end) && begin.before(end) && !record.is(SACKED);
            begin = record.end;
            let place = if inside && merged { count.saturating_sub(1) } else { count };
            let new = SegmentRecord { end: record.end, word: at.word() | RETRANSMITTED };
            if let Some(slot) = self.records.get_mut(usize::from(place)) {
                *slot = if inside { new } else { record };
            }
            count = place.saturating_add(1);
            merged = inside;
        }
        self.len = count;
        if let Some(last) = self.held_mut().last_mut() {
            last.end = last.end.later(end);
        }
    }

    fn advance(&mut self, una: SeqNum, arrival: &mut Arrival) {
        let (mut kept, mut flags): (u8, u32) = (0, 0);
        for i in 0..usize::from(self.len) {
            let Some(&record) = self.records.get(i) else { break };
            let arrived = record.end.earlier(una).since(self.una);
            if arrived > 0 && !record.is(SACKED) {
                arrival.take(record, arrived);
            }
            self.una = self.una.plus(arrived);
            if record.end.after(una) {
                flags |= record.word & FLAGS;
                if let Some(slot) = self.records.get_mut(usize::from(kept)) {
                    *slot = record;
                }
                kept = kept.saturating_add(1);
            }
        }
        self.len = kept;
        self.marks = 0;
        self.note(flags);
        self.una = self.una.later(una);
    }

    fn sack(&mut self, left: SeqNum, right: SeqNum, arrival: &mut Arrival) {
        self.note(SACKED);
        self.within(left, right, |start, record| {
            if !record.is(SACKED) {
                arrival.take(*record, record.end.since(start));
                record.word = (record.word | SACKED) & !LOST;
            }
        });
    }

    fn lose(&mut self, left: SeqNum, right: SeqNum) {
        self.note(LOST);
        self.within(left, right, |_, record| {
            if !record.is(SACKED) {
                record.word |= LOST;
            }
        });
    }

    fn lose_first(&mut self, _: SeqNum) {
        self.note(LOST);
        if let Some(first) = self.held_mut().first_mut() {
            first.word = (first.word | LOST) & !SACKED;
        }
    }

    fn find_all(&mut self) {
        for record in self.held_mut() {
            record.word &= !LOST;
        }
    }

    fn forget(&mut self) {
        for record in self.held_mut() {
            record.word &= !SACKED;
        }
    }

    fn time_out(&mut self, now: Stamp, wait_us: u32) {
        for record in self.held_mut().iter_mut().filter(|r| r.outstanding()) {
            if now.since(record.stamp()) >= wait_us {
                record.word |= LOST;
            }
        }
        self.lose_first(self.una);
    }

    fn detect(&mut self, now: Stamp, (at, end): (Stamp, SeqNum), wait_us: u32) -> (bool, u32) {
        let (mut found, mut wait) = (false, 0);
        let before = |r: &SegmentRecord| at.sent_after(end, r.stamp(), r.end);
        if self.marks == 0 && !self.held().first().is_some_and(before) {
            // All were sent once and in order, so none of them before what has arrived.
            return (found, wait);
        }
        for record in self.held_mut().iter_mut().filter(|r| r.outstanding()) {
            if at.sent_after(end, record.stamp(), record.end) {
                let remaining = wait_us.saturating_sub(now.since(record.stamp()));
                if remaining == 0 {
                    record.word |= LOST;
                    found = true;
                }
                wait = remaining.max(wait);
            }
        }
        if found {
            self.note(LOST);
        }
        (found, wait)
    }

    //= rfc6675#4-5 rfc6675#5.1-7
    fn first_lost(&self) -> Option<(SeqNum, SeqNum)> {
        if !self.may_have(LOST) {
            return None;
        }
        let (start, first) = self.spans().find(|(_, r)| r.is(LOST))?;
        let run = self.held().iter().skip_while(|r| !r.is(LOST)).take_while(|r| r.is(LOST));
        Some((start, run.last().map_or(first.end, |r| r.end)))
    }

    fn first_end(&self) -> SeqNum {
        self.held().first().map_or(self.una, |r| r.end)
    }

    fn last_start(&self) -> SeqNum {
        self.spans().last().map_or(self.una, |(start, _)| start)
    }

    fn fack(&self) -> SeqNum {
        if !self.may_have(SACKED) {
            return self.una;
        }
        self.held().iter().rfind(|r| r.is(SACKED)).map_or(self.una, |r| r.end)
    }

    fn lost(&self) -> u32 {
        self.octets(LOST)
    }

    fn gone(&self) -> u32 {
        self.octets(SACKED | LOST)
    }

    fn sacked(&self) -> u32 {
        self.octets(SACKED)
    }

    fn covers(&self, una: SeqNum, nxt: SeqNum) -> bool {
        let end = self.held().last().map_or(self.una, |r| r.end);
        let marked = self.held().iter().fold(0, |marks, r| marks | (r.word & FLAGS));
        self.una == una
            && (end == nxt || self.records.is_empty())
            && self.spans().all(|(start, r)| start.before(r.end))
            && marked & !u32::from(self.marks) == 0
    }

    fn retransmitted(&self) -> u32 {
        self.octets_of(|r| r.is(RETRANSMITTED) && r.outstanding())
    }

    fn is_reneged(&self) -> bool {
        self.held().first().is_some_and(|r| r.is(SACKED))
    }

    fn age(&mut self, now: Stamp) {
        for record in self.held_mut().iter_mut().filter(|r| !r.stamp().is_recent(now)) {
            record.word = now.oldest().word() | (record.word & FLAGS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_time::Instant;
    use proptest::prelude::*;
    use std::vec;
    use std::vec::Vec;

    const BASE: SeqNum = SeqNum::new(u32::MAX - 100);

    fn seq(octet: usize) -> SeqNum {
        BASE.plus(octet as u32)
    }

    fn at(step: usize) -> Stamp {
        Stamp::of(Instant::from_millis(4 * step as u64))
    }

    fn arrival(now: Stamp) -> Arrival {
        Arrival {
            now,
            echo_age: None,
            min_rtt_us: 0,
            fack: BASE,
            octets: 0,
            newest: None,
            rtt_us: None,
            last_us: u32::MAX,
            reordered: false,
            retransmitted: false,
            echo_is_old: false,
        }
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Push(usize),
        Sack(usize, usize),
        Lose(usize, usize),
        Resend(usize),
        Advance(usize),
        Detect,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (1usize..30).prop_map(Step::Push),
            (0usize..200, 1usize..60).prop_map(|(a, n)| Step::Sack(a, n)),
            (0usize..200, 1usize..60).prop_map(|(a, n)| Step::Lose(a, n)),
            (1usize..40).prop_map(Step::Resend),
            (0usize..25).prop_map(Step::Advance),
            Just(Step::Detect),
        ]
    }

    /// The same, octet by octet and without bound.
    #[derive(Default)]
    struct Naive {
        octets: Vec<(u32, Stamp)>,
        una: usize,
        newest: Option<Stamp>,
    }

    impl Naive {
        fn arrive(&mut self, from: usize, to: usize) -> u32 {
            let fresh = self.octets[from..to].iter().filter(|o| o.0 & SACKED == 0);
            let stamps: Vec<Stamp> = fresh.map(|o| o.1).collect();
            self.newest =
                stamps.iter().fold(self.newest, |n, s| Some(n.map_or(*s, |n| n.later(*s))));
            stamps.len() as u32
        }

        fn first_lost(&self) -> Option<(usize, usize)> {
            let lost = |i: &usize| self.octets[*i].0 & LOST != 0;
            let start = (self.una..self.octets.len()).find(lost)?;
            Some((
                start,
                (start..self.octets.len()).find(|i| !lost(i)).unwrap_or(self.octets.len()),
            ))
        }
    }

    fn play<const N: usize>(steps: &[Step], exact: bool) -> Result<(), TestCaseError> {
        let flight: &mut Flight<[SegmentRecord]> = &mut Flight::<[SegmentRecord; N]>::new(BASE);
        let mut naive = Naive::default();
        let mut reported = [false; 4000];
        for (i, step) in steps.iter().enumerate() {
            let (now, end) = (at(i), naive.octets.len());
            let mut heard = arrival(now);
            match *step {
                Step::Push(len) => {
                    flight.push(seq(end + len), now);
                    naive.octets.resize(end + len, (0, now));
                }
                Step::Sack(offset, len) => {
                    let left = (naive.una + offset).min(end);
                    let right = (left + len).min(end);
                    flight.sack(seq(left), seq(right), &mut heard);
                    reported[left..right].fill(true);
                    let fresh = naive.arrive(left, right);
                    for octet in &mut naive.octets[left..right] {
                        octet.0 = (octet.0 | SACKED) & !LOST;
                    }
                    prop_assert!(!exact || heard.octets == fresh);
                }
                Step::Lose(offset, len) => {
                    let left = (naive.una + offset).min(end);
                    let right = (left + len).min(end);
                    flight.lose(seq(left), seq(right));
                    let held = |o: &&mut (u32, Stamp)| o.0 & SACKED == 0;
                    naive.octets[left..right].iter_mut().filter(held).for_each(|o| o.0 |= LOST);
                }
                Step::Resend(len) => {
                    let Some((start, run_end)) = flight.first_lost() else { continue };
                    let to = start.plus(len as u32).earlier(run_end);
                    flight.retransmit(start, to, now);
                    prop_assert!(flight.first_lost().is_none_or(|(s, _)| !s.before(to)));
                    if exact {
                        let from = start.since(BASE) as usize;
                        naive.octets[from..to.since(BASE) as usize].fill((RETRANSMITTED, now));
                    }
                }
                Step::Advance(len) => {
                    let una = (naive.una + len).min(end);
                    flight.advance(seq(una), &mut heard);
                    let fresh = naive.arrive(naive.una, una);
                    naive.una = una;
                    prop_assert!(!exact || heard.octets == fresh);
                }
                Step::Detect => {
                    let Some(newest) = naive.newest else { continue };
                    flight.detect(now, (newest, BASE), 0);
                    for octet in &mut naive.octets[naive.una..] {
                        if octet.0 & (SACKED | LOST) == 0 && newest.since(octet.1) > 0 {
                            octet.0 |= LOST;
                        }
                    }
                }
            }
            compare(flight, &naive, &reported, exact)?;
        }
        Ok(())
    }

    fn compare(
        flight: &Flight<[SegmentRecord]>,
        naive: &Naive,
        reported: &[bool],
        exact: bool,
    ) -> Result<(), TestCaseError> {
        let (una, end) = (naive.una, naive.octets.len());
        prop_assert!(usize::from(flight.len) <= flight.records.len());
        prop_assert!(flight.spans().all(|(start, r)| start.before(r.end)), "no empty record");
        prop_assert_eq!(flight.held().last().map_or(flight.una, |r| r.end), seq(end));
        let mut got = vec![(0, Stamp::default()); end];
        for (start, r) in flight.spans() {
            let (from, to) = (start.since(BASE) as usize, r.end.since(BASE) as usize);
            got[from..to].fill((r.word & FLAGS, r.stamp()));
        }
        for i in una..end {
            prop_assert!(got[i].0 & SACKED == 0 || reported[i], "claims that {} arrived", i);
        }
        if exact {
            let word = |o: &(u32, Stamp)| (o.0, if o.0 & SACKED == 0 { o.1 } else { at(0) });
            let want = naive.octets[una..].iter().map(word);
            prop_assert!(got[una..].iter().map(word).eq(want));
            let lost = flight.first_lost().map(|(a, b)| (a.since(BASE), b.since(BASE)));
            prop_assert_eq!(lost, naive.first_lost().map(|(a, b)| (a as u32, b as u32)));
            let gone = naive.octets[una..].iter().filter(|o| o.0 & (SACKED | LOST) != 0);
            prop_assert_eq!(flight.gone() as usize, gone.count());
        }
        Ok(())
    }

    proptest! {
        /// With room for all records the table agrees with a map of octets.
        #[test]
        fn the_table_agrees_with_octets(steps in proptest::collection::vec(step(), 1..60)) {
            play::<120>(&steps, true)?;
        }

        /// With any amount of room, the table claims only reported octets to have arrived, it
        /// covers the whole flight, and all lost data can be sent again.
        #[test]
        fn a_full_table_never_claims_too_much(steps in proptest::collection::vec(step(), 1..120)) {
            play::<1>(&steps, false)?;
            play::<2>(&steps, false)?;
            play::<5>(&steps, false)?;
        }
    }

    #[test]
    fn a_full_table_first_merges_what_is_known_equally() {
        let flight: &mut Flight<[SegmentRecord]> = &mut Flight::<[SegmentRecord; 4]>::new(BASE);
        for i in 1..=4 {
            flight.push(seq(10 * i), at(i));
        }
        flight.sack(seq(20), seq(40), &mut arrival(at(9)));
        flight.push(seq(50), at(10));
        assert_eq!((flight.sacked(), flight.len, flight.fack()), (20, 4, seq(40)));
    }

    //= rfc6298#3-2 type=test
    #[test]
    fn only_an_unambiguous_segment_is_timed() {
        let acknowledged = |echo_age| {
            let flight: &mut Flight<[SegmentRecord]> = &mut Flight::<[SegmentRecord; 4]>::new(BASE);
            flight.push(seq(10), at(0));
            flight.retransmit(seq(0), seq(10), at(100));
            let mut heard = Arrival { echo_age, ..arrival(at(150)) };
            flight.advance(seq(10), &mut heard);
            heard
        };
        let plain = acknowledged(None);
        assert_eq!((plain.rtt_us, plain.octets), (None, 10), "Karn");
        assert_eq!(acknowledged(Some(195)).rtt_us, Some(200_000));
        // The least round trip so far is possible, a shorter one is not.
        for (min_rtt_us, is_possible) in [(200_000, true), (200_001, false)] {
            let flight: &mut Flight<[SegmentRecord]> = &mut Flight::<[SegmentRecord; 4]>::new(BASE);
            flight.push(seq(10), at(0));
            flight.retransmit(seq(0), seq(10), at(100));
            let mut heard = Arrival { echo_age: Some(195), min_rtt_us, ..arrival(at(150)) };
            flight.advance(seq(10), &mut heard);
            assert_eq!(heard.rtt_us, Some(200_000));
            assert_eq!(heard.newest, is_possible.then_some((at(100), seq(10))));
        }
        let old = acknowledged(Some(600));
        assert_eq!((old.rtt_us, old.newest), (None, None), "the first transmission was echoed");
    }
}
