//! State of a relay for the datagrams whose fragments it forwards (RFC 8930, 4: virtual reassembly
//! buffers), and the frames that wait for its neighbours.

use crate::fair_share::FairShare;
use core::fmt::Debug;
use core::net::Ipv6Addr;
use kinglet_mem::{Array, Claim, slot_for_new};
use kinglet_store::{Full, Label, Store};
use kinglet_time::{Instant, earliest};
use kinglet_wire::ieee802154::Address;

/// Maximum number of lanes: a lane is a pair of a neighbour that sends frames and one that gets
/// them.
const LANES: usize = 12;
/// A lane with at most this many waiting frames has priority: a sender of few frames does not wait
/// for those that fill the store.
const LITTLE: u16 = 2;

/// A datagram whose first fragment has been forwarded.
#[derive(Clone, Copy, Debug)]
pub struct Virtual {
    /// Link address of its sender, and the sender's tag.
    pub(crate) src: Address,
    pub(crate) tag: u16,
    pub(crate) size: u16,
    /// Next hop, and the tag that is used there.
    pub(crate) label: Label,
    /// Octets of it that have been forwarded.
    pub(crate) sent: u16,
    /// True if one of its fragments is lost: the others are not forwarded.
    pub(crate) broken: bool,
    pub(crate) touched: Instant,
    pub(crate) expires: Instant,
}

impl Virtual {
    pub(crate) fn is_of(&self, src: Address, tag: u16, size: u16) -> bool {
        (self.src, self.tag, self.size) == (src, tag, size)
    }
}

/// Frames that one neighbour has sent for another; they leave in the order of their arrival.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lane {
    /// Link address of the sender; [`Address::None`] if it is unknown.
    pub(crate) from: Address,
    pub(crate) to: Address,
    waiting: u16,
}

impl Lane {
    const EMPTY: Lane = Lane { from: Address::None, to: Address::None, waiting: 0 };
}

/// A set of lanes: a bit for each.
type Lanes = u16;
const _: () = assert!(LANES <= Lanes::BITS as usize);

fn is_in(lanes: Lanes, lane: u8) -> bool {
    lanes.checked_shr(lane.into()).is_some_and(|bits| bits & 1 != 0)
}

kinglet_mem::counters! {
    /// Counters of forwarded fragments; each counter stops at its maximum.
    pub struct RelayStats {
        /// Datagrams whose first fragment was forwarded, or which were one frame.
        datagrams,
        /// Frames put into the store.
        frames,
    }
    reasons {
        /// Datagrams abandoned because the store was full.
        full,
        /// Datagrams abandoned because a fragment was missing, or was not delivered.
        broken,
        /// Waiting frames of abandoned datagrams that were dropped.
        dropped,
        /// Datagrams evicted by newer ones.
        evicted,
        /// Datagrams that were not continued in time.
        expired,
    }
}

/// Increments a counter.
pub(crate) fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}

/// Forwarding of fragments: `V` has an entry for each datagram, `Q` stores their frames.
#[derive(Debug)]
pub struct Relay<V, Q> {
    /// Octets of payload in a frame to a short address; 0 while every hop reassembles.
    pub(crate) room: u8,
    /// True if the last frame given to the MAC was a relayed one: own ones are next.
    pub(crate) was_last: bool,
    pub(crate) virtuals: V,
    pub(crate) store: Q,
    pub(crate) stats: RelayStats,
    /// By [`Label::to`].
    lanes: [Lane; LANES],
    /// Fairness between the neighbours that send frames.
    pub(crate) fair_share: FairShare,
    /// Time until which other nodes are taken to need the channel.
    pub(crate) shared_until: Instant,
    /// Destination of the last own packet.
    pub(crate) own_went_to: Ipv6Addr,
}

/// Forwarding of single fragments, or none: a part of [`Fragmentation`](crate::Fragmentation).
pub trait Relaying: Debug {
    /// The initial state.
    const NEW: Self;
    /// True if fragments can be forwarded.
    const PRESENT: bool;
    /// The entries of datagrams.
    type Virtuals: Array<Option<Virtual>>;
    /// The queue of frames.
    type Store: Store;

    /// Returns the relay, if there is one.
    fn get(&self) -> Option<&Relay<Self::Virtuals, Self::Store>>;

    /// Returns the relay, if there is one, for modification.
    fn get_mut(&mut self) -> Option<&mut Relay<Self::Virtuals, Self::Store>>;
}

/// No forwarding of fragments: every hop reassembles.
impl Relaying for () {
    const NEW: Self = ();
    const PRESENT: bool = false;
    type Virtuals = [Option<Virtual>; 0];
    type Store = ();

    fn get(&self) -> Option<&Relay<Self::Virtuals, ()>> {
        None
    }

    fn get_mut(&mut self) -> Option<&mut Relay<Self::Virtuals, ()>> {
        None
    }
}

impl<V: Array<Option<Virtual>> + Debug, Q: Store + Debug> Relaying for Relay<V, Q> {
    const NEW: Self = Relay {
        room: 0,
        was_last: false,
        virtuals: V::EMPTY,
        store: Q::NEW,
        stats: RelayStats {
            datagrams: 0,
            frames: 0,
            full: 0,
            broken: 0,
            dropped: 0,
            evicted: 0,
            expired: 0,
        },
        lanes: [Lane::EMPTY; LANES],
        fair_share: FairShare::NEW,
        shared_until: Instant::ZERO,
        own_went_to: Ipv6Addr::UNSPECIFIED,
    };
    const PRESENT: bool = true;
    type Virtuals = V;
    type Store = Q;

    fn get(&self) -> Option<&Self> {
        Some(self)
    }

    fn get_mut(&mut self) -> Option<&mut Self> {
        Some(self)
    }
}

impl<V: Array<Option<Virtual>>, Q: Store> Relay<V, Q> {
    /// Returns the index of a lane. A new one takes an entry without waiting frames; if there is
    /// none, it shares another lane to the same neighbour.
    pub(crate) fn lane(&mut self, from: Address, to: Address) -> Option<u8> {
        if self.store.is_empty() {
            // Frames that a failing flash has lost were never removed from the counts.
            self.lanes.iter_mut().for_each(|lane| lane.waiting = 0);
        }
        let virtuals = self.virtuals.as_slice();
        let leads = |lane: usize| {
            virtuals.iter().flatten().any(|v| usize::from(v.label.to) == lane && !v.broken)
        };
        let lanes = self.lanes.iter().enumerate();
        let known = lanes.clone().find(|(_, lane)| (lane.from, lane.to) == (from, to));
        let idle = || lanes.clone().find(|&(at, lane)| lane.waiting == 0 && !leads(at));
        let shared = || lanes.clone().find(|(_, lane)| lane.to == to);
        let (at, &found) = known.or_else(idle).or_else(shared)?;
        if found.to != to || found.from != from && found.waiting == 0 {
            *self.lanes.get_mut(at)? = Lane { from, to, waiting: 0 };
        }
        u8::try_from(at).ok()
    }

    /// Returns the neighbour at whose `end` most frames wait.
    pub(crate) fn most(&self, end: impl Fn(&Lane) -> Address) -> Option<Address> {
        let waiting = |neighbour: Address| {
            let its = self.lanes.iter().filter(|lane| end(lane) == neighbour);
            its.fold(0_u16, |sum, lane| sum.saturating_add(lane.waiting))
        };
        let full = self.lanes.iter().filter(|lane| lane.waiting > 0).map(&end);
        full.filter(|neighbour| *neighbour != Address::None)
            .max_by_key(|neighbour| waiting(*neighbour))
    }

    pub(crate) fn link(&self, lane: u8) -> Address {
        self.lanes.get(usize::from(lane)).map_or(Address::None, |lane| lane.to)
    }

    /// Returns whether single fragments are forwarded.
    pub(crate) const fn is_on(&self) -> bool {
        self.room > 0
    }

    /// Returns the octets of payload in a frame of a lane: each octet of a longer link address is
    /// one of the header.
    pub(crate) fn room_for(&self, lane: u8) -> usize {
        let longer = self.link(lane).len().saturating_sub(Address::Short(0).len());
        usize::from(self.room).saturating_sub(longer)
    }

    pub(crate) fn put(&mut self, now: Instant, label: Label, payload: &[u8]) -> Result<(), Full> {
        self.store.put(now, label, payload)?;
        count(&mut self.stats.frames);
        if let Some(lane) = self.lanes.get_mut(usize::from(label.to)) {
            lane.waiting = lane.waiting.saturating_add(1);
            self.fair_share.received(now, lane.from);
        }
        Ok(())
    }

    /// Returns the next frame for a neighbour that is `wanted`: the oldest one in a lane with few
    /// frames, else the oldest one of all.
    pub(crate) fn first(&self, wanted: impl Fn(Address) -> bool) -> Option<(Label, Address)> {
        let wanted = self.lanes_with(|lane| wanted(lane.to));
        if wanted == 0 {
            return None;
        }
        let little = self.lanes_with(|lane| lane.waiting <= LITTLE);
        let label = self.first_in(wanted & little).or_else(|| self.first_in(wanted))?;
        Some((label, self.link(label.to)))
    }

    /// Returns the lanes with waiting frames for which this holds. Each lane is checked once, and
    /// not each of the hundreds of frames that may wait.
    fn lanes_with(&self, holds: impl Fn(&Lane) -> bool) -> Lanes {
        if self.store.is_empty() {
            return 0;
        }
        let holds = |lane: &Lane| lane.waiting > 0 && holds(lane);
        self.lanes.iter().rev().fold(0, |lanes, lane| lanes << 1 | Lanes::from(holds(lane)))
    }

    fn first_in(&self, lanes: Lanes) -> Option<Label> {
        if lanes == 0 { None } else { self.store.first(|lane| is_in(lanes, lane)) }
    }

    pub(crate) fn take(&mut self, now: Instant, to: u8, out: &mut [u8]) -> Option<usize> {
        let len = self.store.take(now, to, out)?;
        self.left(to, 1);
        Some(len)
    }

    fn left(&mut self, lane: u8, frames: usize) {
        if let Some(lane) = self.lanes.get_mut(usize::from(lane)) {
            let frames = u16::try_from(frames).unwrap_or(u16::MAX);
            lane.waiting = lane.waiting.saturating_sub(frames);
        }
    }

    /// Abandons a datagram after the loss of a frame: the other frames with its tag are not sent.
    pub(crate) fn give_up(&mut self, now: Instant, tag: u16) {
        let places = self.virtuals.as_mut_slice().iter_mut().flatten();
        places.filter(|v| v.label.tag == tag).for_each(|v| v.broken = true);
        count(&mut self.stats.broken);
        for to in (0..).take(LANES) {
            let dropped = self.store.drop_all(now, Label { to, tag });
            let more = u32::try_from(dropped).unwrap_or(u32::MAX);
            self.stats.dropped = self.stats.dropped.saturating_add(more);
            self.left(to, dropped);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        let mut first = self.store.deadline();
        for place in self.virtuals.as_slice().iter().flatten() {
            first = earliest(first, Some(place.expires));
        }
        first
    }

    /// Asks the store to provide frames for neighbours that are `wanted` first.
    pub(crate) fn prefer(&mut self, now: Instant, wanted: impl Fn(Address) -> bool) {
        let lanes = self.lanes_with(|lane| wanted(lane.to));
        if lanes != 0 && self.first_in(lanes).is_none() {
            self.store.prefer(now, |lane| is_in(lanes, lane));
        }
    }

    pub(crate) fn expire(&mut self, now: Instant) {
        self.store.handle_deadline(now);
        for place in self.virtuals.as_mut_slice() {
            if place.as_ref().is_some_and(|v| now >= v.expires) {
                *place = None;
                count(&mut self.stats.expired);
            }
        }
    }

    /// Returns an entry for a datagram from `src`: a free one, else the least recently continued
    /// one of the same sender, or of any sender.
    pub(crate) fn place(&mut self, src: Address) -> Option<&mut Option<Virtual>> {
        let claim = |place: &Option<Virtual>| match place {
            None => Claim::Free,
            Some(v) => Claim::Idle((v.src != src, v.touched)),
        };
        let index = slot_for_new(self.virtuals.as_slice(), claim)?;
        let place = self.virtuals.as_mut_slice().get_mut(index)?;
        if place.is_some() {
            count(&mut self.stats.evicted);
        }
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: Instant = Instant::ZERO;

    /// Holds this number of frames.
    #[derive(Debug)]
    struct Counting(usize);

    impl Store for Counting {
        const NEW: Self = Counting(0);
        const HOLDS: bool = true;

        fn len(&self) -> usize {
            self.0
        }

        fn room(&self) -> usize {
            usize::MAX
        }

        fn put(&mut self, _: Instant, _: Label, _: &[u8]) -> Result<(), Full> {
            self.0 += 1;
            Ok(())
        }

        fn first(&self, _: impl Fn(u8) -> bool) -> Option<Label> {
            None
        }

        fn take(&mut self, _: Instant, _: u8, _: &mut [u8]) -> Option<usize> {
            None
        }

        fn drop_all(&mut self, _: Instant, _: Label) -> usize {
            0
        }
    }

    #[test]
    fn a_lane_whose_frames_the_store_has_lost_is_free() {
        let mut relay: Relay<[Option<Virtual>; 1], Counting> = Relay::NEW;
        for n in 0..LANES as u16 {
            let to = relay.lane(Address::Short(n), Address::Short(100 + n)).unwrap();
            relay.put(T0, Label { to, tag: n }, b"x").unwrap();
        }
        let more = (Address::Short(50), Address::Short(150));
        assert_eq!(relay.lane(more.0, more.1), None, "in each of them something waits");
        relay.store.0 = 0;
        assert_eq!(relay.lane(more.0, more.1), Some(0));
    }
}
