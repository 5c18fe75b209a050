//! What a relay knows of the datagrams whose fragments it passes on (RFC 8930, 4: virtual
//! reassembly buffers), and the frames that wait for its neighbours.

use core::fmt::Debug;
use kinglet_mem::Array;
use kinglet_store::{Full, Label, Store};
use kinglet_time::{Instant, earliest};
use kinglet_wire::ieee802154::Address;

/// Neighbours for whom frames may wait at the same time.
const HOPS: usize = 8;

/// A datagram whose first fragment has been passed on.
#[derive(Clone, Copy, Debug)]
pub struct Virtual {
    /// Who sends it here, and what it calls it.
    pub(crate) src: Address,
    pub(crate) tag: u16,
    pub(crate) size: u16,
    /// Where it goes, and what it is called there.
    pub(crate) label: Label,
    /// Octets of it that have been passed on.
    pub(crate) sent: u16,
    /// One of its fragments is lost: the others are not passed on.
    pub(crate) broken: bool,
    pub(crate) touched: Instant,
    pub(crate) expires: Instant,
}

impl Virtual {
    pub(crate) fn is_of(&self, src: Address, tag: u16, size: u16) -> bool {
        (self.src, self.tag, self.size) == (src, tag, size)
    }
}

/// A neighbour for whom frames wait.
#[derive(Clone, Copy, Debug)]
struct Hop {
    link: Address,
    waiting: u16,
}

/// What has happened to fragments that were passed on; each counter stops at its maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayStats {
    /// Datagrams whose first fragment was passed on, or which were one frame.
    pub datagrams: u32,
    /// Frames put into the store.
    pub frames: u32,
    /// Datagrams given up for want of room in the store.
    pub full: u32,
    /// Datagrams given up because a fragment was missing, or was not delivered.
    pub broken: u32,
    /// Frames that waited for a neighbour and were dropped for that.
    pub dropped: u32,
    /// Datagrams forgotten for newer ones.
    pub evicted: u32,
    /// Datagrams that were not continued in time.
    pub expired: u32,
}

/// Adds one to a counter.
pub(crate) fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}

/// Fragments on their way: `V` has a place for each datagram, `Q` keeps their frames.
#[derive(Debug)]
pub struct Relay<V, Q> {
    /// Octets of payload in a frame; 0 while every hop reassembles.
    pub(crate) room: u8,
    /// The last frame given to the MAC was a relayed one: own ones are next.
    pub(crate) was_last: bool,
    pub(crate) virtuals: V,
    pub(crate) store: Q,
    pub(crate) stats: RelayStats,
    hops: [Hop; HOPS],
}

/// Whether, and how, fragments are passed on one by one: a part of
/// [`Fragmentation`](crate::Fragmentation).
pub trait Relaying: Debug {
    /// Nothing is on its way.
    const NEW: Self;
    /// Whether there can be any.
    const PRESENT: bool;
    /// The places of datagrams.
    type Virtuals: Array<Option<Virtual>>;
    /// The queue of frames.
    type Store: Store;

    /// It, if there can be any.
    fn get(&self) -> Option<&Relay<Self::Virtuals, Self::Store>>;

    /// It, if there can be any.
    fn get_mut(&mut self) -> Option<&mut Relay<Self::Virtuals, Self::Store>>;
}

/// Every hop reassembles.
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
        hops: [Hop { link: Address::None, waiting: 0 }; HOPS],
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
    /// The number of a neighbour; a new one takes the place of one for whom nothing waits.
    pub(crate) fn hop(&mut self, link: Address) -> Option<u8> {
        let known = self.hops.iter().position(|hop| hop.link == link);
        let virtuals = self.virtuals.as_slice();
        let leads = |to: usize| {
            virtuals.iter().flatten().any(|v| usize::from(v.label.to) == to && !v.broken)
        };
        let index = match known {
            Some(index) => index,
            None => {
                let idle = |&(to, hop): &(usize, &Hop)| hop.waiting == 0 && !leads(to);
                self.hops.iter().enumerate().find(idle)?.0
            }
        };
        let hop = self.hops.get_mut(index)?;
        if known.is_none() {
            *hop = Hop { link, waiting: 0 };
        }
        u8::try_from(index).ok()
    }

    /// The neighbour for whom most frames wait.
    pub(crate) fn busiest(&self) -> Option<Address> {
        let most = self.hops.iter().max_by_key(|hop| hop.waiting)?;
        (most.waiting > 0).then_some(most.link)
    }

    pub(crate) fn link(&self, to: u8) -> Address {
        self.hops.get(usize::from(to)).map_or(Address::None, |hop| hop.link)
    }

    pub(crate) fn put(&mut self, now: Instant, label: Label, payload: &[u8]) -> Result<(), Full> {
        self.store.put(now, label, payload)?;
        count(&mut self.stats.frames);
        if let Some(hop) = self.hops.get_mut(usize::from(label.to)) {
            hop.waiting = hop.waiting.saturating_add(1);
        }
        Ok(())
    }

    /// The oldest frame for a neighbour that is `wanted`.
    pub(crate) fn first(&self, wanted: impl Fn(Address) -> bool) -> Option<(Label, Address)> {
        let label = self.store.first(|to| wanted(self.link(to)))?;
        Some((label, self.link(label.to)))
    }

    pub(crate) fn take(&mut self, now: Instant, to: u8, out: &mut [u8]) -> Option<usize> {
        let len = self.store.take(now, to, out)?;
        self.left(to, 1);
        Some(len)
    }

    fn left(&mut self, to: u8, frames: usize) {
        if let Some(hop) = self.hops.get_mut(usize::from(to)) {
            let frames = u16::try_from(frames).unwrap_or(u16::MAX);
            hop.waiting = hop.waiting.saturating_sub(frames);
        }
    }

    /// A frame of the datagram with this tag was not delivered, or is missing: the others are not
    /// sent.
    pub(crate) fn give_up(&mut self, now: Instant, tag: u16) {
        let places = self.virtuals.as_mut_slice().iter_mut().flatten();
        places.filter(|v| v.label.tag == tag).for_each(|v| v.broken = true);
        count(&mut self.stats.broken);
        for to in (0..).take(HOPS) {
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

    /// Frames for neighbours that are `wanted` are needed next.
    pub(crate) fn prefer(&mut self, now: Instant, wanted: impl Fn(Address) -> bool) {
        let (store, hops) = (&mut self.store, &self.hops);
        let is_wanted = |to: u8| hops.get(usize::from(to)).is_some_and(|hop| wanted(hop.link));
        if store.first(is_wanted).is_none() && store.oldest(is_wanted).is_some() {
            store.prefer(now, is_wanted);
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

    /// A place for a datagram from `src`: a free one, else that of the least recently continued of
    /// the same sender, or of anybody.
    pub(crate) fn place(&mut self, src: Address) -> Option<&mut Option<Virtual>> {
        let key = |place: &Option<Virtual>| match place {
            None => (false, false, Instant::ZERO),
            Some(v) => (true, v.src != src, v.touched),
        };
        let index = {
            let places = self.virtuals.as_mut_slice();
            places.iter().enumerate().min_by_key(|(_, place)| key(place))?.0
        };
        let place = self.virtuals.as_mut_slice().get_mut(index)?;
        if place.is_some() {
            count(&mut self.stats.evicted);
        }
        Some(place)
    }
}
