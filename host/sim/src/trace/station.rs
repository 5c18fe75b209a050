//! The packets at a node: those that it has formed or received, and fragments.

use super::head::{Head, Key};
use super::{FrameId, Framed, PacketId, To};
use std::collections::{BTreeMap, VecDeque};

/// Packets of which a node is remembered to have them, whatever became of them.
const MOST_HELD: usize = 256;
/// Frames that a node may send again: the one with its radio, and those of others that come
/// before it.
const MOST_SENT: usize = 8;
/// Packets that TCP or UDP has formed and that have not been seen: more do not wait for a radio.
const MOST_FORMED: usize = 8;
/// Packets of which fragments have come.
const MOST_PARTIAL: usize = 64;

/// A packet at a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) packet: PacketId,
    pub(super) since_us: u64,
    /// This node has formed it.
    pub(super) formed: bool,
    /// Its first frame has been sent.
    pub(super) sent: bool,
    /// All of it has arrived.
    pub(super) whole: bool,
}

/// A packet of which some fragments have come.
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

/// The trace's knowledge of a node.
#[derive(Debug, Default)]
pub(super) struct Station {
    held: BTreeMap<Key, VecDeque<Held>>,
    order: VecDeque<Key>,
    /// Packets that leave in fragments, by receiver as the frame names it and tag.
    pub(super) tags: BTreeMap<(To, u16), PacketId>,
    partials: BTreeMap<(u32, u16), Partial>,
    sent: VecDeque<Sent>,
    /// Frames that its radio has received and its stack has not, by their beginning.
    heard: VecDeque<(u64, FrameId)>,
    /// The frame that its radio has.
    pub(super) current: Option<Framed>,
    /// The frame that it acknowledges.
    pub(super) acknowledges: FrameId,
    /// Times at which TCP, and UDP, formed packets that no frame has shown yet.
    pub(super) formed: [VecDeque<u64>; 2],
}

impl Station {
    /// The packet with this key that is sent next, or was sent last. Retransmissions may have the
    /// same headers: a packet that has arrived whole comes before one of which a fragment is
    /// missing, as that leaves only where fragments are relayed one by one.
    pub(super) fn next(&mut self, key: &Key) -> Option<&mut Held> {
        let all = self.held.get_mut(key)?;
        let whole = all.iter().position(|held| !held.sent && held.whole);
        let place = whole.or_else(|| all.iter().rposition(|held| !held.sent));
        all.get_mut(place.unwrap_or(all.len() - 1))
    }

    /// Remembers a packet.
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

    /// The same packet, if it is here already.
    pub(super) fn held(&mut self, key: &Key, packet: PacketId) -> Option<&mut Held> {
        self.held.get_mut(key)?.iter_mut().find(|held| held.packet == packet)
    }

    /// This packet, if it is here.
    pub(super) fn any(&mut self, packet: PacketId) -> Option<&mut Held> {
        // Mostly one of the last.
        let is = |held: &Held| held.packet == packet;
        let has = |key: &&Key| self.held.get(*key).is_some_and(|all| all.iter().any(is));
        let key = *self.order.iter().rev().find(has)?;
        self.held.get_mut(&key)?.iter_mut().find(|held| is(held))
    }

    /// The identity of these octets, if they were sent before, and the attempts with this one.
    pub(super) fn again(&mut self, octets: &[u8]) -> Option<(Framed, u32)> {
        let sent = self.sent.iter_mut().find(|sent| sent.octets == octets)?;
        sent.attempts += 1;
        Some((sent.framed, sent.attempts))
    }

    /// Remembers a frame.
    pub(super) fn first(&mut self, octets: &[u8], framed: Framed) {
        if self.sent.len() == MOST_SENT {
            self.sent.pop_front();
        }
        self.sent.push_back(Sent { octets: octets.to_vec(), framed, attempts: 1 });
    }

    /// The radio has received a frame that began at `start_us`.
    pub(super) fn hears(&mut self, start_us: u64, frame: FrameId) {
        if self.heard.len() == MOST_SENT {
            self.heard.pop_front();
        }
        self.heard.push_back((start_us, frame));
    }

    /// The stack receives the frame that began at `start_us`.
    pub(super) fn takes(&mut self, start_us: u64) -> Option<FrameId> {
        let place = self.heard.iter().position(|(start, _)| *start == start_us)?;
        self.heard.drain(..=place).next_back().map(|(_, frame)| frame)
    }

    /// TCP (`kind` 0) or UDP (1) has formed so many packets.
    pub(super) fn forms(&mut self, kind: usize, count: u32, now: u64) {
        let waiting = &mut self.formed[kind];
        for _ in 0..count.min(MOST_FORMED as u32) {
            waiting.push_back(now);
        }
        while waiting.len() > MOST_FORMED {
            waiting.pop_front();
        }
    }

    /// The time at which TCP or UDP formed this new packet, if that was counted.
    pub(super) fn formed(&mut self, head: &Head) -> Option<u64> {
        let kind = [head.is_tcp(), head.is_udp()].iter().position(|is| *is)?;
        self.formed[kind].pop_front()
    }

    /// A fragment of `sender` has come: its packet, if that is known, and whether it is complete.
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

    /// Forgets the packet of which no fragment has come for the longest time.
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
        // A retransmission has arrived whole; of the packet before it a fragment is missing.
        assert_eq!(next(&[held(1, false, false), held(2, false, true)]), Some(2));
        // Both are whole: the first one leaves first.
        assert_eq!(next(&[held(1, false, true), held(2, false, true)]), Some(1));
        // Fragments are relayed one by one: the last one that has begun to arrive.
        assert_eq!(next(&[held(1, false, false), held(2, false, false)]), Some(2));
        // One has been sent: the other is next, or the last one goes again.
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
        // The tag again, for another packet.
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
