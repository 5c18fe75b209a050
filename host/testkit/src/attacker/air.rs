//! Frames of a nearby radio without the key: it records received frames and repeats them, forges
//! frames and acknowledgements, and jams other transmissions.

use super::Known;
use super::message::{KINDS, packet, upper};
use crate::pair::{Seeded, Source};
use core::net::Ipv6Addr;
use kinglet_time::{Duration, Instant, earliest};
use std::collections::VecDeque;

/// Number of frames that it stores.
const RECORDED: usize = 128;
/// Number of frames that may wait to be sent.
const WAITING: usize = 16;
/// Longest frame without FCS.
const MAX_FRAME: usize = 125;
/// Octets of the FCS.
const FCS: u32 = 2;
/// Times on the air at 250 kb/s (IEEE 802.15.4-2015, 12.2): an octet, and the turnaround before an
/// acknowledgement.
const OCTET: Duration = Duration::from_micros(32);
const TURNAROUND: Duration = Duration::from_micros(192);
/// Octets of preamble and SFD.
const SYNCHRONISATION: u32 = 5;
/// 6LoWPAN dispatches (RFC 4944, 5.1 and 5.3): an uncompressed IPv6 header, a first fragment.
const IPV6: u8 = 0x41;
const FIRST_FRAGMENT: u8 = 0xc0;

/// Its actions in addition to forgeries and late replays; probabilities in 1/256 for each received
/// frame.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// Longest pause between two rounds of forgeries, in milliseconds.
    pub pause_ms: u32,
    /// An immediate replay.
    pub replays: u32,
    /// A forged acknowledgement.
    pub acknowledges: u32,
    /// Noise that collides with the acknowledgement or the next frame.
    pub jams: u32,
}

/// A frame to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shot {
    /// Time at which its SFD ends; `None` is as soon as possible.
    pub at: Option<Instant>,
    /// True if the channel is assessed before.
    pub polite: bool,
    /// The frame without FCS.
    pub octets: Vec<u8>,
}

/// Numbers of frames sent, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shots {
    /// Recorded frames, unchanged.
    pub replayed: u32,
    /// Recorded frames with octets changed.
    pub altered: u32,
    /// Frames without security.
    pub forged: u32,
    /// Acknowledgements.
    pub acknowledged: u32,
    /// Frames that collide with others.
    pub jammed: u32,
}

/// The attacker's source of frames.
pub struct Air {
    random: Seeded,
    known: Known,
    habits: Habits,
    recorded: Vec<Vec<u8>>,
    waiting: VecDeque<Shot>,
    next_at: Instant,
    from: Instant,
    until: Instant,
    shots: Shots,
}

impl Air {
    /// Creates an attacker that records from now on, and attacks from `from` until `until`.
    pub fn new(seed: u64, known: Known, habits: Habits, (from, until): (Instant, Instant)) -> Air {
        let (recorded, waiting, shots) = (Vec::new(), VecDeque::new(), Shots::default());
        let random = Seeded::new(seed);
        Air { random, known, habits, recorded, waiting, next_at: from, from, until, shots }
    }

    /// Returns the numbers of frames sent.
    pub fn shots(&self) -> Shots {
        self.shots
    }

    /// Handles a received frame whose SFD ended at `sfd`.
    pub fn handle_frame(&mut self, now: Instant, sfd: Instant, octets: &[u8]) {
        if self.recorded.len() < RECORDED {
            self.recorded.push(octets.to_vec());
        } else {
            let at = self.random.below(RECORDED as u32) as usize;
            self.recorded[at] = octets.to_vec();
        }
        if now < self.from || now >= self.until {
            return;
        }
        let Habits { replays, acknowledges, jams, .. } = self.habits;
        let ended = sfd + OCTET * (1 + octets.len() as u32 + FCS);
        if asks(octets) && self.random.chance(acknowledges) {
            let pending = if self.random.chance(64) { 0x10 } else { 0 };
            let at = Some(ended + TURNAROUND + OCTET * SYNCHRONISATION);
            self.shots.acknowledged += 1;
            self.put(at, false, vec![2 | pending, 0, octets[2]]);
        } else if self.random.chance(jams) {
            let wait = Duration::from_micros(self.random.below(3_000).into());
            let noise = self.octets(3, 100);
            self.shots.jammed += 1;
            self.put(Some(ended + TURNAROUND + OCTET * SYNCHRONISATION + wait), false, noise);
        } else if self.random.chance(replays) {
            self.shots.replayed += 1;
            self.put(None, true, octets.to_vec());
        }
    }

    /// Returns the next frame that is to be sent now.
    pub fn poll(&mut self, now: Instant) -> Option<Shot> {
        if now >= self.until {
            self.waiting.clear();
            self.next_at = self.until;
        } else if now >= self.next_at {
            for _ in 0..self.random.between(1, 4) {
                self.forge();
            }
            let pause = self.random.between(1, self.habits.pause_ms);
            self.next_at = now + Duration::from_millis(pause.into());
        }
        self.waiting.pop_front()
    }

    /// Returns the time of the next poll.
    pub fn deadline(&self) -> Option<Instant> {
        let next = (self.next_at < self.until).then_some(self.next_at);
        let waiting = (!self.waiting.is_empty()).then_some(Instant::ZERO);
        earliest(next, waiting)
    }

    fn put(&mut self, at: Option<Instant>, polite: bool, octets: Vec<u8>) {
        if self.waiting.len() < WAITING {
            self.waiting.push_back(Shot { at, polite, octets });
        }
    }

    /// Queues a late replay, an altered one, or a forgery.
    fn forge(&mut self) {
        let what = self.random.below(4);
        let len = self.recorded.len() as u32;
        if what < 2 && len > 0 {
            let at = self.random.below(len) as usize;
            let mut octets = self.recorded[at].clone();
            if what == 0 {
                self.shots.replayed += 1;
            } else {
                self.alter(&mut octets);
                self.shots.altered += 1;
            }
            return self.put(None, true, octets);
        }
        let octets = self.unsecured();
        self.shots.forged += 1;
        self.put(None, true, octets);
    }

    /// Changes flags, the counter, the length, or any bit.
    fn alter(&mut self, octets: &mut Vec<u8>) {
        for _ in 0..self.random.between(1, 3) {
            let within = if self.random.chance(128) { 16 } else { octets.len() as u32 };
            let at = self.random.below(within.min(octets.len() as u32)) as usize;
            if let Some(octet) = octets.get_mut(at) {
                *octet ^= 1 << self.random.below(8);
            }
        }
        if self.random.chance(32) {
            octets.truncate(1 + self.random.below(octets.len() as u32) as usize);
        }
    }

    /// Returns a frame of any type and version without security, from a node or from an address of
    /// no node.
    fn unsecured(&mut self) -> Vec<u8> {
        let kind = self.random.below(8) as u8;
        let version = self.random.below(3) as u8;
        let ask = u8::from(self.random.chance(128)) << 5;
        let (from, to) = (self.node(), self.node());
        let for_all = self.random.chance(96);
        let dst = if for_all { 0xffff } else { self.known.shorts[to] };
        let src = if self.random.chance(64) { 0x777 } else { self.known.shorts[from] };
        let number = self.random.below(256) as u8;
        let head = [kind | ask | 0x40, 0x88 | version << 4, number];
        let addresses = [self.known.pan_id, dst, src].map(u16::to_le_bytes).concat();
        let payload = match kind {
            // A command: association, data request, orphan, realignment and so on.
            3 => self.octets(1, 9).into_iter().map(|it| it % 10).collect(),
            1 => self.datagram(from, (!for_all).then_some(to)),
            _ => self.octets(0, 40),
        };
        let mut octets = [&head[..], &addresses, &payload].concat();
        octets.truncate(MAX_FRAME);
        octets
    }

    /// Returns a packet with a neighbour as its source, whole or as the first fragment of one.
    fn datagram(&mut self, from: usize, to: Option<usize>) -> Vec<u8> {
        let group = [1, 2, 0x1a][self.random.below(3) as usize];
        let all = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, group);
        let dst = to.map_or(all, |to| match self.random.chance(128) {
            true => self.known.near(to),
            false => self.known.nodes[to],
        });
        let ends = (self.known.near(from), dst);
        let kind = KINDS[self.random.below(KINDS.len() as u32) as usize];
        let (next, body) = upper(&mut self.random, &self.known, kind, ends);
        let packet = packet(ends, next, 255, &body);
        if self.random.chance(192) && packet.len() < 110 {
            return [&[IPV6], &packet[..]].concat();
        }
        let [high, low] = (packet.len() as u16).to_be_bytes();
        let tag = self.random.below(256) as u8;
        let cut = packet.len().min(96) & !7;
        [&[FIRST_FRAGMENT | high & 7, low, 0, tag, IPV6], &packet[..cut]].concat()
    }

    fn node(&mut self) -> usize {
        self.random.below(self.known.shorts.len() as u32) as usize
    }

    fn octets(&mut self, least: u32, most: u32) -> Vec<u8> {
        let len = self.random.between(least, most);
        (0..len).map(|_| self.random.below(256) as u8).collect()
    }
}

/// Returns whether a frame has a sequence number and requests an immediate acknowledgement.
fn asks(octets: &[u8]) -> bool {
    matches!(octets, [low, high, _, ..] if low & 0x20 != 0 && high & 0x30 != 0x20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv6Addr;

    #[test]
    fn an_attacker_has_no_deadline_once_its_time_is_over() {
        let known = Known {
            nodes: vec![Ipv6Addr::LOCALHOST; 2],
            host: Ipv6Addr::LOCALHOST,
            ports: vec![80],
            routing_port: 1,
            pan_id: 1,
            shorts: vec![1, 2],
        };
        let habits = Habits { pause_ms: 300, replays: 16, acknowledges: 8, jams: 4 };
        let (from, until) = (Instant::from_secs(10), Instant::from_secs(20));
        let mut air = Air::new(1, known, habits, (from, until));
        assert_eq!(air.deadline(), Some(from));
        assert!(air.poll(from).is_some() && air.deadline() < Some(until));
        // The radio was busy until then.
        assert_eq!((air.poll(until), air.deadline()), (None, None));
    }
}
