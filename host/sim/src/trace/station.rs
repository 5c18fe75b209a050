//! Packets at a node: packets formed or received by it, and fragments.

use super::head::{Head, Key};
use super::{FrameId, Framed, PacketId, To};
use std::collections::{BTreeMap, VecDeque};

/// Maximum number of packets remembered at a node.
const MOST_HELD: usize = 256;
/// Maximum number of frames that a node may send again: the one at its radio, and frames of others
/// sent before it.
const MOST_SENT: usize = 8;
/// Maximum number of packets formed by TCP or UDP and not yet seen in a frame; no more are queued
/// for a radio.
const MOST_FORMED: usize = 8;
/// Maximum number of packets with received fragments.
const MOST_PARTIAL: usize = 64;

/// A packet at a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) packet: PacketId,
    pub(super) since_us: u64,
    /// True if this node has formed it.
    pub(super) formed: bool,
    /// True if its first frame has been sent.
    pub(super) sent: bool,
    /// True if all of it has arrived.
    pub(super) whole: bool,
}

/// A packet with some received fragments.
#[derive(Clone, Debug)]
pub(super) struct Partial {
    pub(super) packet: Option<PacketId>,
    pub(super) touched_us: u64,
    /// Offsets and lengths of the fragments.
    pieces: BTreeMap<u16, u16>,
    size: u16,
}

/// A frame that may be sent again.
#[derive(Clone, Debug)]
struct Sent {
    octets: Vec<u8>,
    framed: Framed,
    attempts: u32,
}

/// Knowledge of the trace about a node.
#[derive(Debug, Default)]
pub(super) struct Station {
    held: BTreeMap<Key, VecDeque<Held>>,
    order: VecDeque<Key>,
    /// Packets sent in fragments, by tag and by the receiver in the frame.
    pub(super) tags: BTreeMap<(To, u16), PacketId>,
    partials: BTreeMap<(u32, u16), Partial>,
    sent: VecDeque<Sent>,
    /// Frames that its radio has received and its stack has not, by their start.
    heard: VecDeque<(u64, FrameId)>,
    /// Frame at its radio.
    pub(super) current: Option<Framed>,
    /// Frame that it acknowledges.
    pub(super) acknowledges: FrameId,
    /// Times at which TCP, and UDP, formed packets that have not been seen in a frame.
    pub(super) formed: [VecDeque<u64>; 2],
}

impl Station {
    /// The packet with this key that is sent next or was sent last. Retransmissions may have the
    /// same headers. A complete packet has precedence over one with missing fragments, because the
    /// latter is sent only if fragments are forwarded one by one.
    pub(super) fn next(&mut self, key: &Key) -> Option<&mut Held> {
        let all = self.held.get_mut(key)?;
        let whole = all.iter().position(|held| !held.sent && held.whole);
        let place = whole.or_else(|| all.iter().rposition(|held| !held.sent));
        all.get_mut(place.unwrap_or(all.len() - 1))
    }

    /// Stores a packet.
    pub(super) fn hold(&mut self, key: Key, held: Held) {
        self.held.entry(key).or_default().push_back(held);
        self.order.push_back(key);
        if self.order.len() > MOST_HELD
            && let Some(oldest) = self.order.pop_front()
            && let Some(all) = self.held.get_mut(&oldest)
        {
            all.pop_front();
            if all.is_empty() {
                self.held.remove(&oldest);
            }
        }
    }

    /// The same packet, if it is already at this node.
    pub(super) fn held(&mut self, key: &Key, packet: PacketId) -> Option<&mut Held> {
        self.held.get_mut(key)?.iter_mut().find(|held| held.packet == packet)
    }

    /// This packet, if it is at this node.
    pub(super) fn any(&mut self, packet: PacketId) -> Option<&mut Held> {
        // Usually one of the last.
        let is = |held: &Held| held.packet == packet;
        let has = |key: &&Key| self.held.get(*key).is_some_and(|all| all.iter().any(is));
        let key = *self.order.iter().rev().find(has)?;
        self.held.get_mut(&key)?.iter_mut().find(|held| is(held))
    }

    /// The frame with these octets, if it was sent before, and the number of attempts including
    /// this one.
    pub(super) fn again(&mut self, octets: &[u8]) -> Option<(Framed, u32)> {
        let sent = self.sent.iter_mut().find(|sent| sent.octets == octets)?;
        sent.attempts += 1;
        Some((sent.framed, sent.attempts))
    }

    /// Stores a frame.
    pub(super) fn first(&mut self, octets: &[u8], framed: Framed) {
        if self.sent.len() == MOST_SENT {
            self.sent.pop_front();
        }
        self.sent.push_back(Sent { octets: octets.to_vec(), framed, attempts: 1 });
    }

    /// Notes that the radio has received a frame that began at `start_us`.
    pub(super) fn hears(&mut self, start_us: u64, frame: FrameId) {
        if self.heard.len() == MOST_SENT {
            self.heard.pop_front();
        }
        self.heard.push_back((start_us, frame));
    }

    /// Returns the frame that began at `start_us`, which the stack receives now.
    pub(super) fn takes(&mut self, start_us: u64) -> Option<FrameId> {
        let place = self.heard.iter().position(|(start, _)| *start == start_us)?;
        self.heard.drain(..=place).next_back().map(|(_, frame)| frame)
    }

    /// Notes that TCP (`kind` 0) or UDP (1) has formed `count` packets.
    pub(super) fn forms(&mut self, kind: usize, count: u32, now: u64) {
        let waiting = &mut self.formed[kind];
        for _ in 0..count.min(MOST_FORMED as u32) {
            waiting.push_back(now);
        }
        while waiting.len() > MOST_FORMED {
            waiting.pop_front();
        }
    }

    /// Time at which TCP or UDP formed this new packet, if it was counted.
    pub(super) fn formed(&mut self, head: &Head) -> Option<u64> {
        let kind = [head.is_tcp(), head.is_udp()].iter().position(|is| *is)?;
        self.formed[kind].pop_front()
    }

    /// Notes a fragment of `sender`. Returns its packet, if known, and whether it is complete.
    pub(super) fn piece(
        &mut self,
        (sender, tag): (u32, u16),
        size: u16,
        (offset, octets): (u16, u16),
        (packet, now): (Option<PacketId>, u64),
    ) -> (Option<PacketId>, bool) {
        let new = || Partial { packet, touched_us: now, pieces: BTreeMap::new(), size };
        let partial = self.partials.entry((sender, tag)).or_insert_with(new);
        if partial.size != size || (packet.is_some() && partial.packet != packet) {
            *partial = Partial { packet: packet.or(partial.packet), ..new() };
        }
        partial.touched_us = now;
        partial.pieces.insert(offset, octets);
        let packet = partial.packet;
        let come: u32 = partial.pieces.values().map(|octets| u32::from(*octets)).sum();
        let whole = come >= u32::from(size);
        if whole {
            self.partials.remove(&(sender, tag));
        } else if self.partials.len() > MOST_PARTIAL {
            self.oldest_partial();
        }
        (packet, whole)
    }

    /// Drops the packet whose last fragment is the oldest.
    pub(super) fn oldest_partial(&mut self) -> Option<PacketId> {
        let oldest = self.partials.iter().min_by_key(|(_, partial)| partial.touched_us)?;
        let name = *oldest.0;
        self.partials.remove(&name)?.packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv6Addr;

    const KEY: Key = (Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED, 6, [0; 20]);

    fn held(packet: PacketId, sent: bool, whole: bool) -> Held {
        Held { packet, since_us: 0, formed: false, sent, whole }
    }

    fn next(all: &[Held]) -> Option<PacketId> {
        let mut station = Station::default();
        all.iter().for_each(|held| station.hold(KEY, *held));
        station.next(&KEY).map(|held| held.packet)
    }

    #[test]
    fn of_packets_with_the_same_headers_the_one_that_can_leave_is_next() {
        assert_eq!(next(&[]), None);
        // A retransmission has arrived completely; the packet before it lacks a fragment.
        assert_eq!(next(&[held(1, false, false), held(2, false, true)]), Some(2));
        // Both are complete: the first one is sent first.
        assert_eq!(next(&[held(1, false, true), held(2, false, true)]), Some(1));
        // Fragments are forwarded one by one: the last one that has begun to arrive.
        assert_eq!(next(&[held(1, false, false), held(2, false, false)]), Some(2));
        // One has been sent: the other one is next, or the last one is sent again.
        assert_eq!(next(&[held(1, true, true), held(2, false, true)]), Some(2));
        assert_eq!(next(&[held(1, true, true), held(2, true, true)]), Some(2));
    }

    #[test]
    fn a_packet_is_whole_when_each_octet_has_come_however_often() {
        let mut station = Station::default();
        let mut piece = |tag, size, offset, octets, packet| {
            station.piece((7, tag), size, (offset, octets), (packet, 0))
        };
        assert_eq!(piece(1, 300, 0, 100, Some(9)), (Some(9), false));
        assert_eq!(piece(1, 300, 200, 100, None), (Some(9), false));
        assert_eq!(piece(1, 300, 200, 100, None), (Some(9), false), "a repetition");
        assert_eq!(piece(1, 300, 100, 100, None), (Some(9), true));
        // The tag is reused for another packet.
        assert_eq!(piece(1, 200, 0, 100, Some(10)), (Some(10), false));
        assert_eq!(piece(1, 200, 0, 100, Some(11)), (Some(11), false));
        assert_eq!(piece(1, 200, 100, 100, None), (Some(11), true));
    }

    #[test]
    fn a_radio_reports_frames_in_their_order_and_may_leave_some_out() {
        let mut station = Station::default();
        [(10, 1), (20, 2), (30, 3)].into_iter().for_each(|(us, frame)| station.hears(us, frame));
        assert_eq!(station.takes(20), Some(2));
        assert_eq!(station.takes(10), None);
        assert_eq!(station.takes(30), Some(3));
    }
}
