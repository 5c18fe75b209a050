//! Routing by flooding, in one file: the example of "Write your own routing protocol".
//!
//! Each node floods a beacon every ten seconds. The neighbour from which the first copy of a beacon
//! arrived is the next hop to its originator. A beacon says whether its originator is the border
//! router, to which all packets for other networks go.
//!
//! | octets | content of a beacon |
//! |---|---|
//! | 1 | 0x46 |
//! | 2 | short address of the originator |
//! | 2 | sequence number, one more for each beacon |
//! | 1 | bit 7: border router; bits 6 to 0: hops so far |
//!
//! The README explains the code from top to bottom.

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]

use core::fmt::Debug;
use core::net::Ipv6Addr;
use kinglet_random::Random;
use kinglet_routing::{Change, Each, Identity, Learnt, MAX_MESSAGE, Message, NextHop, NoHeaders};
use kinglet_routing::{PORT, Routing};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::same_prefix;
use kinglet_wire::sixlowpan::link_address_of;

/// First octet of a beacon.
const KIND: u8 = 0x46;
/// Bit of the last octet of a border router's beacon.
const BORDER: u8 = 0x80;
/// Time between two beacons of a node.
pub const PERIOD: Duration = Duration::from_secs(10);
/// Time without a beacon after which a route ends.
pub const LIFETIME: Duration = Duration::from_secs(35);
/// Longest delay of an own beacon in its period, so that nodes that were switched on together do
/// not flood at once.
const SPREAD: Duration = Duration::from_secs(5);
/// Longest delay of a copy, so that neighbours do not send theirs at once.
const JITTER: Duration = Duration::from_millis(50);
/// Hops after which a beacon is not passed on.
const MAX_HOPS: u8 = 32;
/// A sequence number that is at most so far behind the last one is that of a late copy; any other
/// one is new, also if its originator has restarted.
const LATE: u16 = 16;
/// Least signal strength: copies over weaker links arrive early and make bad routes.
const MIN_RSSI_DBM: i8 = -87;

kinglet_mem::counters! {
    /// Counters.
    pub struct Stats {
        /// Beacons sent, own ones and copies.
        sent,
    }
    reasons {
        /// Messages that are no beacon.
        malformed,
        /// Beacons received over links that are too weak.
        weak,
        /// Beacons of nodes for which the table had no room.
        no_room,
    }
}

/// State of a beacon that this node sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sending {
    /// It was sent.
    Done,
    /// It is due at this time.
    At(Instant),
    /// It is due.
    Due,
}

impl Sending {
    const fn deadline(self) -> Option<Instant> {
        if let Sending::At(at) = self { Some(at) } else { None }
    }

    fn handle_deadline(&mut self, now: Instant) {
        if self.deadline().is_some_and(|at| at <= now) {
            *self = Sending::Due;
        }
    }
}

/// The last beacon of a node, and the route to it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    originator: u16,
    sequence: u16,
    /// Last octet of the copy: hops so far, and whether it is a border router's.
    tail: u8,
    next_hop: u16,
    received: Instant,
    copy: Sending,
}

/// Flooding, with routes to at most `N` nodes.
pub struct Flood<const N: usize> {
    on: bool,
    short: u16,
    prefix: Ipv6Addr,
    is_border: bool,
    entries: [Option<Entry>; N],
    /// Number of the last own beacon.
    sequence: u16,
    own: Sending,
    /// Time at which the next own beacon is made.
    next: Option<Instant>,
    /// True if a route was found or lost since the node was notified.
    changed: bool,
    random: Random,
    stats: Stats,
}

impl<const N: usize> Flood<N> {
    /// Creates the protocol for a node. All addresses of the network begin with the first 64 bits
    /// of `prefix`; `is_border` is true at the border router.
    pub const fn new(node: Identity, prefix: Ipv6Addr, is_border: bool) -> Self {
        Flood {
            on: true,
            short: node.short,
            prefix,
            is_border,
            entries: [None; N],
            sequence: 0,
            own: Sending::Done,
            next: Some(Instant::ZERO),
            changed: false,
            random: Random::new(node.seed, 0),
            stats: Stats::ZERO,
        }
    }

    /// Returns the counters.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }

    fn via(&self, is_it: impl Fn(&Entry) -> bool) -> Option<NextHop> {
        let entry = self.entries.iter().flatten().find(|entry| is_it(entry))?;
        Some(NextHop::Link(Address::Short(entry.next_hop)))
    }

    fn remove(&mut self, is_it: impl Fn(&Entry) -> bool) {
        for place in &mut self.entries {
            self.changed |= place.take_if(|entry| is_it(entry)).is_some();
        }
    }

    /// Returns the entry of a node, or a free one.
    fn entry_of(&mut self, originator: u16) -> Option<&mut Option<Entry>> {
        let is_it = |entry: &Option<Entry>| entry.is_some_and(|it| it.originator == originator);
        let known = self.entries.iter().position(is_it);
        let free = || self.entries.iter().position(Option::is_none);
        let index = known.or_else(free)?;
        self.entries.get_mut(index)
    }
}

impl<const N: usize> Routing for Flood<N> {
    const NONE: Self = {
        let link = Address::None;
        let nobody = Identity { link, short: 0xFFFF, sleeps: false, seed: 0 };
        Flood { on: false, next: None, ..Flood::new(nobody, Ipv6Addr::UNSPECIFIED, false) }
    };
    const PORT: Option<u16> = Some(PORT);
    type Additions = NoHeaders;
    type Waiting<H: Copy + Debug> = [Option<H>; 0];

    fn is_on(&self) -> bool {
        self.on
    }

    fn route(&self, dst: Ipv6Addr) -> Option<Learnt> {
        if !same_prefix(dst, self.prefix, 64) {
            // A border router has routes of its own.
            let via = self.via(|entry| entry.tail & BORDER != 0);
            return (self.on && !self.is_border).then_some(Learnt { prefix_len: 0, via });
        }
        let Address::Short(short) = link_address_of(dst) else { return None };
        let via = self.via(|entry| entry.originator == short);
        Some(Learnt { prefix_len: 64, via })
    }

    fn handle_message(&mut self, now: Instant, from: u16, rssi_dbm: i8, message: &[u8]) {
        let &[KIND, a, b, c, d, tail] = message else {
            self.stats.malformed = self.stats.malformed.saturating_add(1);
            return;
        };
        if rssi_dbm < MIN_RSSI_DBM {
            self.stats.weak = self.stats.weak.saturating_add(1);
            return;
        }
        let (originator, sequence) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        if originator == self.short {
            return;
        }
        let delay = self.random.up_to(JITTER);
        let Some(entry) = self.entry_of(originator) else {
            self.stats.no_room = self.stats.no_room.saturating_add(1);
            return;
        };
        if entry.is_some_and(|last| last.sequence.wrapping_sub(sequence) <= LATE) {
            return;
        }
        let is_far = tail & !BORDER >= MAX_HOPS;
        let copy = if is_far { Sending::Done } else { Sending::At(now + delay) };
        let is_found = entry.is_none();
        // The hops are less than 128.
        let tail = tail.saturating_add(u8::from(!is_far));
        let next_hop = from;
        *entry = Some(Entry { originator, sequence, tail, next_hop, received: now, copy });
        self.changed |= is_found;
    }

    fn poll_message(&mut self, _: Instant, buf: &mut [u8; MAX_MESSAGE]) -> Option<Message> {
        let copy = self.entries.iter_mut().flatten().find(|entry| entry.copy == Sending::Due);
        let (originator, sequence, tail) = if self.own == Sending::Due {
            self.own = Sending::Done;
            (self.short, self.sequence, if self.is_border { BORDER } else { 0 })
        } else {
            let entry = copy?;
            entry.copy = Sending::Done;
            (entry.originator, entry.sequence, entry.tail)
        };
        let ([a, b], [c, d]) = (originator.to_be_bytes(), sequence.to_be_bytes());
        let beacon = [KIND, a, b, c, d, tail];
        kinglet_mem::copy(buf, &beacon);
        self.stats.sent = self.stats.sent.saturating_add(1);
        Some(Message { to: Address::BROADCAST, len: beacon.len() })
    }

    fn handle_sent(&mut self, _: Instant, to: Address, _: u8, acked: bool) {
        // The MAC has given the frame up after all retries: the next beacons make other routes.
        if !acked {
            self.remove(|entry| to == Address::Short(entry.next_hop));
        }
    }

    fn poll_change(&mut self) -> Option<Change> {
        core::mem::take(&mut self.changed).then_some(Change::Route)
    }

    fn reasons(&self, each: &mut Each<'_>) {
        self.stats.reasons().for_each(|(reason, count)| each("flood", reason, count));
    }

    fn deadline(&self) -> Option<Instant> {
        let entries = self.entries.iter().flatten();
        let times = entries.flat_map(|it| [Some(it.received + LIFETIME), it.copy.deadline()]);
        times.chain([self.own.deadline(), self.next]).flatten().min()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.remove(|entry| entry.received + LIFETIME <= now);
        for entry in self.entries.iter_mut().flatten() {
            entry.copy.handle_deadline(now);
        }
        self.own.handle_deadline(now);
        if self.next.is_some_and(|next| next <= now) {
            self.next = Some(now + PERIOD);
            self.sequence = self.sequence.wrapping_add(1);
            self.own = Sending::At(now + self.random.up_to(SPREAD));
        }
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
