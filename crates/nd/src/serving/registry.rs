//! Who is registered: whose address is where, until when (RFC 6775, 3.5; RFC 8505, 5.7). Nobody
//! gives way to anybody before his time is over.

use crate::role::Routed;
use core::cmp::Ordering;
use core::net::Ipv6Addr;
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::is_link_local;
use kinglet_wire::lollipop::Counter;
use kinglet_wire::nd::{Duplicate, Registration, status};

/// What routing has been told of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// Nothing, and nothing is to be told.
    No,
    /// Nothing yet.
    Due,
    /// That it is here.
    Yes,
    /// That it is here, and is to be told that it is not any more.
    Over,
}

/// Where an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Site {
    /// With the neighbour that has this link address.
    Here(Address),
    /// With a neighbour of this router, which has told this border router of it.
    Behind(Ipv6Addr),
}

/// An address that is registered.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    pub(super) address: Ipv6Addr,
    pub(super) site: Site,
    pub(super) rovr: [u8; 8],
    pub(super) tid: Option<Counter>,
    pub(super) until: Instant,
    told: Told,
}

impl Registered {
    /// The address.
    pub const fn address(&self) -> Ipv6Addr {
        self.address
    }

    /// The link address of the neighbour that has it; [`Address::None`] if it is registered with
    /// another router, which has told this one.
    pub const fn link(&self) -> Address {
        match self.site {
            Site::Here(link) => link,
            Site::Behind(_) => Address::None,
        }
    }

    /// By which its owner shows that it is his (Registration Ownership Verifier, RFC 8505, 5.3).
    pub const fn rovr(&self) -> [u8; 8] {
        self.rovr
    }

    /// When the registration ends.
    pub const fn until(&self) -> Instant {
        self.until
    }

    /// Whether it is over, and only kept until routing has been told.
    pub(super) fn is_over(&self) -> bool {
        self.until == Instant::ZERO
    }

    /// What routing is to be told, once.
    fn poll_routed(&mut self, now: Instant) -> Option<Routed> {
        let lifetime = match self.told {
            Told::No | Told::Yes => return None,
            Told::Due => self.until - now,
            Told::Over => Duration::ZERO,
        };
        self.told = if self.told == Told::Due { Told::Yes } else { Told::No };
        // What is told of has one.
        let (address, tid) = (self.address, self.tid.map_or(0, Counter::value));
        Some(Routed { address, link: self.link(), tid, lifetime })
    }
}

/// The registration in this place ends. If routing has been told of it, that hears of this first.
fn end(place: &mut Option<Registered>) {
    let Some(known) = place else { return };
    match known.told {
        Told::No | Told::Due => *place = None,
        Told::Yes | Told::Over => (known.told, known.until) = (Told::Over, Instant::ZERO),
    }
}

/// What routing is to be told, one address at a time.
pub(super) fn poll_routed(table: &mut [Option<Registered>], now: Instant) -> Option<Routed> {
    table.iter_mut().find_map(|place| {
        let routed = place.as_mut()?.poll_routed(now)?;
        let _ = place.take_if(|known| known.is_over());
        Some(routed)
    })
}

/// Ends what is over by now.
//= rfc6775#6.5.3-2
pub(super) fn expire(table: &mut [Option<Registered>], now: Instant) {
    for place in table {
        if place.is_some_and(|known| known.until <= now) {
            end(place);
        }
    }
}

/// What is asked of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) address: Ipv6Addr,
    pub(super) rovr: [u8; 8],
    pub(super) tid: Option<u8>,
    pub(super) lifetime_min: u16,
    /// Whether routing is to make it known.
    routed: bool,
}

impl Entry {
    pub(super) const fn of(address: Ipv6Addr, asked: &Registration) -> Self {
        let Registration { rovr, tid, lifetime_min, routed, .. } = *asked;
        // Without a transaction nobody could tell where it was last.
        let routed = routed && tid.is_some() && !is_link_local(address);
        Entry { address, rovr, tid, lifetime_min, routed }
    }

    pub(super) const fn told(told: &Duplicate) -> Self {
        let Duplicate { address, rovr, tid, lifetime_min, .. } = *told;
        Entry { address, rovr, tid, lifetime_min, routed: false }
    }

    /// What a router is told that had it before.
    pub(super) const fn moved(&self) -> Duplicate {
        let Entry { address, rovr, tid, lifetime_min, .. } = *self;
        let (confirmation, status) = (true, status::MOVED);
        Duplicate { confirmation, status, tid, lifetime_min, rovr, address }
    }
}

/// What the table says of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// There is none with this address.
    New,
    /// It is this one, and what is asked is as late or later.
    Same,
    /// There is a later one.
    Older,
    /// It is another node's.
    Another,
}

pub(super) fn find(table: &[Option<Registered>], address: Ipv6Addr) -> Option<&Registered> {
    table.iter().flatten().find(|known| known.address == address && !known.is_over())
}

/// Compares an entry with the one that there is. Counters that cannot be compared are those of
/// somebody who has lost his, and the last word counts (RFC 8505, 5.2). What has no counter updates
/// nothing that has one: it may be anybody's repetition (6.3).
//= rfc8505#5.2.1-2 rfc8505#5.3-1 rfc8505#5.3-3
pub(super) fn look(table: &[Option<Registered>], entry: &Entry) -> Finding {
    let Some(known) = find(table, entry.address) else { return Finding::New };
    if known.rovr != entry.rovr {
        return Finding::Another;
    }
    match (known.tid, entry.tid) {
        (Some(had), Some(tid)) if Counter::new(tid).compare(had) == Some(Ordering::Less) => {
            Finding::Older
        }
        (Some(_), None) => Finding::Older,
        _ => Finding::Same,
    }
}

/// Keeps an entry that was found new or the same, or forgets it if it has no lifetime; whether
/// there is room.
//= rfc6775#6.5.3-1 rfc8505#4.1-6
pub(super) fn keep(
    table: &mut [Option<Registered>],
    now: Instant,
    entry: &Entry,
    site: Site,
) -> bool {
    let Entry { address, rovr, tid, lifetime_min, routed } = *entry;
    let is = |place: &Option<Registered>| place.is_some_and(|known| known.address == address);
    let known = table.iter().position(is);
    if lifetime_min == 0 {
        if let Some(place) = known.and_then(|index| table.get_mut(index)) {
            end(place);
        }
        return true;
    }
    let index = known.or_else(|| table.iter().position(Option::is_none));
    let Some(place) = index.and_then(|index| table.get_mut(index)) else { return false };
    let until = now + Duration::from_secs(u64::from(lifetime_min) * 60);
    let told = place.filter(|known| matches!(known.told, Told::Yes | Told::Over));
    // By the last one it is taken back.
    let tid = tid.map(Counter::new).or(told.and_then(|known| known.tid));
    let told = match (routed, told.is_some()) {
        (true, _) => Told::Due,
        (false, true) => Told::Over,
        (false, false) => Told::No,
    };
    *place = Some(Registered { address, site, rovr, tid, until, told });
    true
}

/// Forgets an address.
pub(super) fn forget(table: &mut [Option<Registered>], address: Ipv6Addr) {
    for place in table {
        if place.is_some_and(|known| known.address == address) {
            end(place);
        }
    }
}

/// Forgets an entry of which there is a later one elsewhere (RFC 8505, 5.7).
//= rfc8505#5.7-2
pub(super) fn forget_older(table: &mut [Option<Registered>], entry: &Entry) -> bool {
    let older = |known: &Registered| match (known.tid, entry.tid) {
        (Some(had), Some(tid)) => had.is_before(Counter::new(tid)),
        _ => false,
    };
    let is = |known: &Registered| known.address == entry.address && known.rovr == entry.rovr;
    let place = table.iter_mut().find(|place| place.as_ref().is_some_and(|it| is(it) && older(it)));
    place.map(end).is_some()
}
