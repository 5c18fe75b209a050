//! Frames in memory.

use crate::{Full, Label, MAX_PAYLOAD, Stats, Store, count};
use kinglet_mem::{Array, Empty, copy};
use kinglet_time::Instant;

/// A place for one frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    label: Label,
    /// 0 if the place is free.
    len: u8,
    /// Arrival number. It does not wrap while a frame waits: with a thousand frames a second it
    /// wraps after 49 days.
    order: u32,
    payload: [u8; MAX_PAYLOAD],
}

impl Empty for Frame {
    const EMPTY: Self =
        Frame { label: Label { to: 0, tag: 0 }, len: 0, order: 0, payload: [0; MAX_PAYLOAD] };
}

/// A store for as many frames as `A` has places.
#[derive(Debug)]
pub struct Ram<A> {
    places: A,
    used: usize,
    next_order: u32,
    stats: Stats,
}

impl<A: Array<Frame>> Ram<A> {
    /// Returns the place of the oldest wanted frame.
    fn place_of_oldest(&self, wanted: impl Fn(Label) -> bool) -> Option<usize> {
        // Numbers wrap, so ages are compared.
        let age = |frame: &Frame| self.next_order.wrapping_sub(frame.order);
        let waits = |frame: &Frame| frame.len > 0 && wanted(frame.label);
        let places = self.places.as_slice().iter().enumerate();
        places.filter(|(_, f)| waits(f)).max_by_key(|(_, f)| age(f)).map(|(index, _)| index)
    }

    fn take_in(&mut self, label: Label, payload: &[u8]) -> Result<(), Full> {
        let len = u8::try_from(payload.len()).map_err(|_| Full)?;
        let free = self.places.as_mut_slice().iter_mut().find(|frame| frame.len == 0);
        let frame = free.filter(|_| len > 0).ok_or(Full)?;
        copy(frame.payload.get_mut(..payload.len()).ok_or(Full)?, payload);
        (frame.label, frame.len, frame.order) = (label, len, self.next_order);
        self.next_order = self.next_order.wrapping_add(1);
        self.used = self.used.saturating_add(1);
        Ok(())
    }
}

impl<A: Array<Frame>> Store for Ram<A> {
    const NEW: Self = Ram { places: A::EMPTY, used: 0, next_order: 0, stats: Stats::NONE };
    const HOLDS: bool = true;

    fn len(&self) -> usize {
        self.used
    }

    fn room(&self) -> usize {
        A::LEN.saturating_sub(self.used)
    }

    fn put(&mut self, _: Instant, label: Label, payload: &[u8]) -> Result<(), Full> {
        let put = self.take_in(label, payload);
        self.stats.note_put(put, self.used);
        put
    }

    fn first(&self, wanted: impl Fn(u8) -> bool) -> Option<Label> {
        let index = self.place_of_oldest(|label| wanted(label.to))?;
        self.places.as_slice().get(index).map(|frame| frame.label)
    }

    fn take(&mut self, _: Instant, to: u8, out: &mut [u8]) -> Option<usize> {
        let index = self.place_of_oldest(|label| label.to == to)?;
        let frame = self.places.as_mut_slice().get_mut(index)?;
        let len = usize::from(frame.len);
        copy(out.get_mut(..len)?, frame.payload.get(..len)?);
        frame.len = 0;
        self.used = self.used.saturating_sub(1);
        count(&mut self.stats.taken);
        Some(len)
    }

    fn drop_all(&mut self, _: Instant, label: Label) -> usize {
        let mut dropped = 0_usize;
        for frame in self.places.as_mut_slice() {
            if frame.len > 0 && frame.label == label {
                frame.len = 0;
                dropped = dropped.saturating_add(1);
            }
        }
        self.used = self.used.saturating_sub(dropped);
        self.stats.note_dropped(dropped);
        dropped
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const NOW: Instant = Instant::ZERO;

    fn label(to: u8, tag: u16) -> Label {
        Label { to, tag }
    }

    fn taken(ram: &mut Ram<[Frame; 4]>, to: u8) -> Option<Vec<u8>> {
        let mut out = [0; MAX_PAYLOAD];
        ram.take(NOW, to, &mut out).map(|len| out[..len].to_vec())
    }

    #[test]
    fn frames_for_one_leave_in_order_and_pass_those_for_others() {
        let mut ram: Ram<[Frame; 4]> = Ram::NEW;
        for (to, payload) in [(1, b"a"), (2, b"b"), (1, b"c"), (2, b"d")] {
            ram.put(NOW, label(to, 7), payload).unwrap();
        }
        assert_eq!(ram.first(|_| true), Some(label(1, 7)));
        assert_eq!(ram.oldest(|to| to == 2), Some(label(2, 7)));
        assert_eq!(taken(&mut ram, 2).as_deref(), Some(&b"b"[..]));
        // The freed place is used by a newer frame.
        ram.put(NOW, label(2, 8), b"e").unwrap();
        let rest = [1, 2, 2, 1].map(|to| taken(&mut ram, to).unwrap());
        assert_eq!(rest, [b"a", b"d", b"e", b"c"]);
        assert!(ram.is_empty() && taken(&mut ram, 1).is_none());
    }

    #[test]
    fn a_full_one_and_payloads_that_do_not_fit_are_refused() {
        let mut ram: Ram<[Frame; 4]> = Ram::NEW;
        assert_eq!(ram.put(NOW, label(1, 1), &[]), Err(Full));
        assert_eq!(ram.put(NOW, label(1, 1), &[0; MAX_PAYLOAD + 1]), Err(Full));
        assert_eq!((ram.len(), ram.room(), ram.room_in_all()), (0, 4, 4));
        for _ in 0..4 {
            ram.put(NOW, label(1, 1), &[9; MAX_PAYLOAD]).unwrap();
        }
        assert_eq!((ram.put(NOW, label(1, 1), b"x"), ram.room()), (Err(Full), 0));
        assert_eq!(ram.take(NOW, 1, &mut [0; MAX_PAYLOAD - 1]), None, "too short");
        assert_eq!(ram.len(), 4);
        let Stats { put, refused, most, .. } = *ram.stats();
        assert_eq!((put, refused, most), (4, 3, 4));
    }

    #[test]
    fn dropped_frames_are_those_of_one_label() {
        let mut ram: Ram<[Frame; 4]> = Ram::NEW;
        for (to, tag) in [(1, 1), (1, 2), (2, 1), (1, 1)] {
            ram.put(NOW, label(to, tag), b"x").unwrap();
        }
        assert_eq!(ram.drop_all(NOW, label(1, 1)), 2);
        assert_eq!(ram.drop_all(NOW, label(1, 1)), 0);
        assert_eq!((ram.len(), ram.stats().dropped), (2, 2));
        assert_eq!(ram.first(|to| to == 1), Some(label(1, 2)));
    }

    #[test]
    fn one_that_waits_while_a_hundred_thousand_pass_stays_the_oldest() {
        let mut ram: Ram<[Frame; 4]> = Ram::NEW;
        ram.put(NOW, label(1, 0), b"old").unwrap();
        for round in 0..100_000 {
            if round == 60_000 {
                ram.put(NOW, label(1, 1), b"new").unwrap();
            }
            ram.put(NOW, label(2, 0), b"x").unwrap();
            taken(&mut ram, 2).unwrap();
        }
        assert_eq!(ram.first(|to| to == 1), Some(label(1, 0)));
    }
}
