//! Packet slots and their handles.
//!
//! Invariant: a slot is either on the free list (or has never been used) or has exactly one owner,
//! which holds its handle.

use core::marker::PhantomData;
use core::ops::Range;
use kinglet_mem::{Array, Empty, copy};

/// Slots that stay free when a packet is parked in a queue: one for input that is not fragmented,
/// one for a reassembly. Acknowledgements, whose arrival empties the queues, need no more than
/// that.
pub const RESERVED: usize = 2;

/// Storage for one packet, aligned to a word, and so are the fragments of a datagram: small cores
/// copy and sum words four times as fast as octets.
#[derive(Debug)]
#[repr(C, align(4))]
pub struct Slot<B> {
    storage: B,
    len: u16,
    generation: u8,
    used: bool,
    /// The next free slot plus one; 0 ends the list.
    next: u8,
}

impl<B: Array<u8>> Empty for Slot<B> {
    const EMPTY: Self = Slot { storage: B::EMPTY, len: 0, generation: 0, used: false, next: 0 };
}

/// A packet slot that its holder owns until it releases it. A copy that is kept longer is
/// recognised as stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHandle {
    index: u8,
    generation: u8,
}

#[derive(Debug)]
pub(crate) struct Pool<P, B> {
    slots: P,
    /// The first free slot plus one; 0 if there is none.
    free_list: u8,
    /// Slots from this one on have never been used.
    fresh: u8,
    used: u8,
    storage: PhantomData<B>,
}

impl<P: Array<Slot<B>>, B: Array<u8>> Pool<P, B> {
    pub(crate) const fn new() -> Self {
        Pool { slots: P::EMPTY, free_list: 0, fresh: 0, used: 0, storage: PhantomData }
    }

    /// Returns the number of free slots.
    pub(crate) fn free(&self) -> usize {
        P::LEN.min(usize::from(u8::MAX)).saturating_sub(usize::from(self.used))
    }

    /// Allocates a slot, if `keep` others stay free. Its octets are not cleared.
    pub(crate) fn alloc(&mut self, keep: usize) -> Option<PacketHandle> {
        if self.free() <= keep {
            return None;
        }
        let index = match self.free_list.checked_sub(1) {
            Some(index) => index,
            None => {
                let index = self.fresh;
                self.fresh = self.fresh.saturating_add(1);
                index
            }
        };
        let slot = self.slots.as_mut_slice().get_mut(usize::from(index))?;
        if self.free_list != 0 {
            self.free_list = slot.next;
        }
        slot.used = true;
        slot.len = 0;
        self.used = self.used.saturating_add(1);
        Some(PacketHandle { index, generation: slot.generation })
    }

    /// Releases a slot; `false` if the handle is stale.
    pub(crate) fn release(&mut self, handle: PacketHandle) -> bool {
        let free_list = self.free_list;
        let Some(slot) = self.slot_mut(handle) else { return false };
        slot.used = false;
        slot.generation = slot.generation.wrapping_add(1);
        slot.next = free_list;
        self.free_list = handle.index.saturating_add(1);
        self.used = self.used.saturating_sub(1);
        true
    }

    #[inline(never)]
    fn slot_mut(&mut self, handle: PacketHandle) -> Option<&mut Slot<B>> {
        self.slots
            .as_mut_slice()
            .get_mut(usize::from(handle.index))
            .filter(|slot| slot.used && slot.generation == handle.generation)
    }

    /// Returns the packet; empty if the handle is stale.
    #[inline(never)]
    pub(crate) fn get(&self, handle: PacketHandle) -> &[u8] {
        self.slots
            .as_slice()
            .get(usize::from(handle.index))
            .filter(|slot| slot.used && slot.generation == handle.generation)
            .and_then(|slot| slot.storage.as_slice().get(..usize::from(slot.len)))
            .unwrap_or_default()
    }

    /// Returns all octets of the slot, also beyond the packet's end; empty if the handle is stale.
    pub(crate) fn storage_mut(&mut self, handle: PacketHandle) -> &mut [u8] {
        self.slot_mut(handle).map(|slot| slot.storage.as_mut_slice()).unwrap_or_default()
    }

    /// Copies octets of a packet to `at` in another slot. Nothing changes if the handles do not
    /// name two slots, or one of the ranges is not inside its slot.
    pub(crate) fn copy(
        &mut self,
        from: PacketHandle,
        octets: Range<usize>,
        to: PacketHandle,
        at: usize,
    ) -> Option<()> {
        let places = [usize::from(from.index), usize::from(to.index)];
        let [source, target] = self.slots.as_mut_slice().get_disjoint_mut(places).ok()?;
        let is = |slot: &Slot<B>, handle: PacketHandle| {
            slot.used && slot.generation == handle.generation
        };
        if !is(source, from) || !is(target, to) {
            return None;
        }
        let octets = source.storage.as_slice().get(octets)?;
        let end = at.checked_add(octets.len())?;
        copy(target.storage.as_mut_slice().get_mut(at..end)?, octets);
        Some(())
    }

    /// Sets the length of the packet, at most that of the slot.
    pub(crate) fn set_len(&mut self, handle: PacketHandle, len: usize) {
        if let Some(slot) = self.slot_mut(handle) {
            slot.len = u16::try_from(len.min(B::LEN)).unwrap_or(u16::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Tiny = Pool<[Slot<[u8; 8]>; 3], [u8; 8]>;

    #[test]
    fn slots_are_handed_out_once_and_come_back() {
        let mut pool = Tiny::new();
        let (a, b, c) = (pool.alloc(0).unwrap(), pool.alloc(0).unwrap(), pool.alloc(0).unwrap());
        assert!(a != b && b != c && a != c);
        assert_eq!((pool.alloc(0), pool.free()), (None, 0));
        assert!(pool.release(b) && pool.release(a));
        assert_eq!(pool.free(), 2);
        assert_eq!(pool.alloc(2), None);
        assert_eq!(pool.alloc(1).map(|handle| handle.index), Some(a.index));
        assert_eq!(pool.alloc(0).map(|handle| handle.index), Some(b.index));
    }

    #[test]
    fn octets_are_copied_between_two_slots_of_those_who_own_them() {
        let mut pool = Tiny::new();
        let (a, b) = (pool.alloc(0).unwrap(), pool.alloc(0).unwrap());
        pool.storage_mut(a).copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
        pool.set_len(b, 8);
        assert_eq!(pool.copy(a, 1..4, b, 5), Some(()));
        assert_eq!(pool.get(b), [0, 0, 0, 0, 0, 2, 3, 4]);
        assert_eq!(pool.copy(a, 1..4, b, 6), None);
        assert_eq!(pool.copy(a, 6..9, b, 0), None);
        assert_eq!(pool.copy(a, 0..1, a, 4), None);
        assert!(pool.release(a));
        assert_eq!(pool.copy(a, 0..1, b, 0), None);
        assert_eq!(pool.get(b), [0, 0, 0, 0, 0, 2, 3, 4]);
    }

    #[test]
    fn a_stale_handle_refers_to_nothing() {
        let mut pool = Tiny::new();
        let old = pool.alloc(0).unwrap();
        assert!(pool.release(old));
        assert!(!pool.release(old));
        let new = pool.alloc(0).unwrap();
        pool.set_len(new, 5);
        pool.set_len(old, 7);
        assert_eq!((pool.get(new).len(), pool.get(old).len()), (5, 0));
        assert!(pool.storage_mut(old).is_empty());
        assert_eq!(pool.free(), 2);
        let other = pool.alloc(0).unwrap();
        assert_eq!((pool.copy(old, 0..1, other, 0), pool.copy(other, 0..1, old, 0)), (None, None));
        assert!(!pool.release(old) && pool.release(new) && pool.release(other));
    }
}
