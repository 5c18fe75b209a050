//! Numbers that an attacker off the path must not guess: initial sequence numbers (RFC 6528),
//! timestamp offsets (RFC 7323 §7.1) and ephemeral ports (RFC 6056 §3.3.3), all from one keyed
//! hash.

use super::{Endpoint, Peer, Sizes};
use crate::seq::SeqNum;
use crate::timer::low_half;
use core::hash::Hasher;
use kinglet_mem::Array;
use kinglet_random::SipHash24;
use kinglet_time::Instant;

/// Purpose of a hash; part of its input, so that the hashes of one purpose reveal nothing about
/// another.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Purpose {
    Sequence = 1,
    Timestamp = 2,
    Port = 3,
    SynCookie = 4,
    FastOpen = 5,
}

impl<K: Peer, S: Sizes> Endpoint<K, S> {
    pub(super) fn keyed_hash(
        &self,
        purpose: Purpose,
        peer: &K,
        local_port: u16,
        remote_port: u16,
        more: &[u8],
    ) -> u64 {
        let mut hasher = SipHash24::new(&self.config.secret);
        hasher.write_u8(purpose as u8);
        peer.hash_into(&mut hasher);
        // Octets, not integers: a hash of integers would depend on the byte order of the machine.
        hasher.write(&local_port.to_be_bytes());
        hasher.write(&remote_port.to_be_bytes());
        hasher.write(more);
        hasher.finish()
    }

    /// ISN = M + F(addresses, ports, secret), M a clock of 4 µs (RFC 6528 §3).
    //= rfc9293#MUST-8 rfc9293#MUST-9 rfc9293#SHLD-1
    //= rfc6528#3-1 rfc6528#3-2
    pub(super) fn initial_sequence(
        &self,
        now: Instant,
        peer: &K,
        local_port: u16,
        remote_port: u16,
    ) -> SeqNum {
        let clock = low_half(now.as_micros() / 4);
        let hash = low_half(self.keyed_hash(Purpose::Sequence, peer, local_port, remote_port, &[]));
        SeqNum::new(hash.wrapping_add(clock))
    }

    //= rfc7323#7-1
    pub(super) fn timestamp_offset(&self, peer: &K, local_port: u16, remote_port: u16) -> u32 {
        low_half(self.keyed_hash(Purpose::Timestamp, peer, local_port, remote_port, &[]))
    }

    /// Returns a port that, with this peer and remote port, identifies no other connection: "simple
    /// hash-based port selection", which advances by one with each use.
    pub(super) fn ephemeral_port(&mut self, peer: &K, remote_port: u16) -> Option<u16> {
        let first = self.config.ephemeral_first;
        let count = u32::from(self.config.ephemeral_last.saturating_sub(first)).saturating_add(1);
        let offset = low_half(self.keyed_hash(Purpose::Port, peer, 0, remote_port, &[]));
        // At most one more than the number of names that can be in use.
        let tries = S::Connections::<K>::LEN
            .saturating_add(S::HalfOpen::<K>::LEN)
            .saturating_add(S::TimeWait::<K>::LEN)
            .saturating_add(S::Listeners::LEN)
            .saturating_add(1);
        for _ in 0..tries {
            let step = offset.wrapping_add(u32::from(self.port_counter));
            self.port_counter = self.port_counter.wrapping_add(1);
            let place = u16::try_from(step.checked_rem(count).unwrap_or(0)).unwrap_or(0);
            let port = first.saturating_add(place);
            if !self.is_taken(peer, port, remote_port) {
                return Some(port);
            }
        }
        None
    }

    /// Returns whether a connection, a half-open one, one in TIME-WAIT or a listener has this name.
    fn is_taken(&self, peer: &K, local: u16, remote: u16) -> bool {
        self.slots.as_slice().iter().any(|s| s.matches(peer, local, remote))
            || self.find_half_open(peer, local, remote).is_some()
            || self.find_time_wait(peer, local, remote).is_some()
            || self.find_listener(local).is_some()
    }
}
