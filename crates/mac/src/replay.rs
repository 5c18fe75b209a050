//! Replay protection: the frame counters of the devices whose frames have been accepted.
//!
//! Entries are never evicted: frames of an evicted device could be replayed from its first frame
//! on. So a device is refused if the table is full, as the standard refuses one without a device
//! descriptor (IEEE 802.15.4-2015, 9.2.3). Only a device with the key gets an entry. The link
//! statistics have a table of their own, whose entries are evicted.

use crate::stats::Discard;
use kinglet_mem::{Array, Empty};

/// Entry for the frame counter of one device: 12 octets.
#[derive(Clone, Copy)]
pub struct PeerCounter {
    /// Its EUI-64 in two words, so that the struct needs no alignment of eight octets.
    eui64: [u32; 2],
    /// One more than the counter of its last frame; 0 in a free entry.
    next_counter: u32,
}

impl Empty for PeerCounter {
    const EMPTY: Self = PeerCounter { eui64: [0; 2], next_counter: 0 };
}

/// The table of these devices. The free entries come last.
pub(crate) struct Peers<A: Array<PeerCounter>>(A);

impl<A: Array<PeerCounter>> Peers<A> {
    pub(crate) const fn new() -> Self {
        Peers(A::EMPTY)
    }

    /// Returns whether the counter is that of the last accepted frame of this device. An older
    /// counter is a replay.
    pub(crate) fn has_seen(&self, eui64: [u8; 8], counter: u32) -> Result<bool, Discard> {
        let eui64 = words(eui64);
        let Some(peer) = self.0.as_slice().iter().find(|peer| peer.has(eui64)) else {
            return Err(Discard::TooManyPeers);
        };
        match counter.saturating_add(1) {
            next if next > peer.next_counter => Ok(false),
            next if next == peer.next_counter => Ok(true),
            _ => Err(Discard::Replay),
        }
    }

    /// Records that a frame of this device with this counter, which passed [`Peers::has_seen`], was
    /// accepted.
    pub(crate) fn accept(&mut self, eui64: [u8; 8], counter: u32) {
        let eui64 = words(eui64);
        if let Some(peer) = self.0.as_mut_slice().iter_mut().find(|peer| peer.has(eui64)) {
            *peer = PeerCounter { eui64, next_counter: counter.saturating_add(1) };
        }
    }
}

impl PeerCounter {
    /// Returns whether this entry is the device's, or free.
    fn has(&self, [high, low]: [u32; 2]) -> bool {
        // Devices of a PAN differ in the last octets.
        self.eui64[1] == low && self.eui64[0] == high || self.next_counter == 0
    }
}

fn words([a, b, c, d, e, f, g, h]: [u8; 8]) -> [u32; 2] {
    [u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])]
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
    const B: [u8; 8] = [9, 2, 3, 4, 5, 6, 7, 8];
    const C: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 9];

    #[test]
    fn each_device_has_a_counter_and_one_too_many_none() {
        let mut peers = Peers::<[PeerCounter; 2]>::new();
        for (eui64, counter) in [(A, 7), (B, 0)] {
            assert_eq!(peers.has_seen(eui64, counter), Ok(false));
            peers.accept(eui64, counter);
            assert_eq!(peers.has_seen(eui64, counter), Ok(true));
            assert_eq!(peers.has_seen(eui64, counter + 1), Ok(false));
        }
        assert_eq!(peers.has_seen(A, 6), Err(Discard::Replay));
        assert_eq!(peers.has_seen(C, 100), Err(Discard::TooManyPeers));
        peers.accept(C, 100);
        assert_eq!((peers.has_seen(A, 7), peers.has_seen(B, 0)), (Ok(true), Ok(true)));
    }

    #[test]
    fn an_entry_takes_twelve_octets() {
        assert_eq!(size_of::<PeerCounter>(), 12);
    }
}
