//! Packets from the host interface to the radio (`border.rs`).

use super::{Net, Sizes};
use crate::border::{Border, BorderStats, FromHost};
use crate::config::BorderPolicy;
use crate::frame::Class;
use crate::outgoing::Queued;
use crate::pool::PacketHandle;
use crate::stats::Discard;
use crate::tables::Egress;
use core::net::Ipv6Addr;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Returns the counters of the queue between host and radio, if it is present and in use.
    pub fn border_stats(&self) -> Option<&BorderStats> {
        self.border.stats().filter(|_| self.config.border == BorderPolicy::Fair)
    }

    /// Queues a packet from the host. On an error its slot still belongs to the caller.
    pub(crate) fn enqueue_from_host(
        &mut self,
        now: Instant,
        packet: PacketHandle,
        egress: Egress,
        destination: Ipv6Addr,
    ) -> Result<(), Discard> {
        let Egress::Radio(next_hop) = egress else {
            return self.enqueue(now, packet, egress, Class::Data);
        };
        // These packets wait elsewhere, and for another reason than the channel.
        if self.sleeps(next_hop) || next_hop == Address::None {
            return self.enqueue(now, packet, egress, Class::Data);
        }
        let limit = usize::from(self.config.border_limit);
        let len = u16::try_from(self.pool.get(packet).len()).unwrap_or(u16::MAX);
        let queued = Queued { packet, next_hop };
        let relayed = self.resolve(destination) != next_hop;
        let packet_in = FromHost { queued, key: key_of(destination), len, relayed };
        match self.border.push(now, limit, packet_in) {
            None => Ok(()),
            Some(gone) if gone == packet => Err(Discard::QueueFull),
            Some(gone) => {
                self.release(gone);
                self.stats.discard(Discard::QueueFull);
                Ok(())
            }
        }
    }

    /// Removes a packet that is about to be sent from the radio's queues.
    pub(crate) fn leave_queue(&mut self, now: Instant, packet: PacketHandle) {
        if S::Border::PRESENT && self.border.front().is_some_and(|queued| queued.packet == packet) {
            return self.border.pop(now, self.next_token);
        }
        self.border.note_other();
        let _ = self.output.pop();
    }
}

/// Returns a number for a destination.
fn key_of(destination: Ipv6Addr) -> u32 {
    let bits = destination.to_bits();
    [32, 64, 96].iter().fold(bits as u32, |key, shift| key.rotate_left(7) ^ (bits >> shift) as u32)
}
