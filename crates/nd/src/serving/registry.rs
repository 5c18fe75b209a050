//! Registrations: address, location and lifetime (RFC 6775, 3.5; RFC 8505, 5.7). No entry is
//! evicted before its lifetime is over.

use core::cmp::Ordering;
use core::net::Ipv6Addr;
use kinglet_routing::RegisteredHost;
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::is_link_local;
use kinglet_wire::lollipop::Counter;
use kinglet_wire::nd::{Duplicate, Registration, status};

/// State of the reports of an address to routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reported {
    /// Not reported, and not to be reported.
    No,
    /// Registered, still to be reported.
    Due,
    /// Reported, and its renewal is still to be reported.
    Again,
    /// Reported.
    Yes,
    /// Reported, and its end is still to be reported.
    EndDue,
}

impl Reported {
    /// Returns whether routing has had a report, and therefore needs one of the end.
    const fn was_reported(self) -> bool {
        matches!(self, Reported::Again | Reported::Yes | Reported::EndDue)
    }
}

/// Location of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Site {
    /// At the neighbour with this link address.
    Here(Address),
    /// At a neighbour of this router, which has registered it with this border router.
    Behind(Ipv6Addr),
}

/// A registered address.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    pub(super) address: Ipv6Addr,
    pub(super) site: Site,
    pub(super) rovr: [u8; 8],
    pub(super) tid: Option<Counter>,
    pub(super) until: Instant,
    reported: Reported,
}

impl Registered {
    /// Returns the address.
    pub const fn address(&self) -> Ipv6Addr {
        self.address
    }

    /// Returns the link address of the neighbour that has it; [`Address::None`] if it is registered
    /// with another router, which has notified this one.
    pub const fn link(&self) -> Address {
        match self.site {
            Site::Here(link) => link,
            Site::Behind(_) => Address::None,
        }
    }

    /// Returns the owner's proof of ownership (Registration Ownership Verifier, RFC 8505, 5.3).
    pub const fn rovr(&self) -> [u8; 8] {
        self.rovr
    }

    /// Returns the time at which the registration ends.
    pub const fn until(&self) -> Instant {
        self.until
    }

    /// Returns whether it has ended, and is kept only until routing is notified.
    pub(super) fn is_over(&self) -> bool {
        self.until == Instant::ZERO
    }

    /// Returns the report for routing, once.
    fn poll_routed(&mut self, now: Instant) -> Option<RegisteredHost> {
        let lifetime = match self.reported {
            Reported::No | Reported::Yes => return None,
            Reported::Due | Reported::Again => self.until - now,
            Reported::EndDue => Duration::ZERO,
        };
        self.reported =
            if self.reported == Reported::EndDue { Reported::No } else { Reported::Yes };
        // A reported address has a transaction.
        let (address, tid) = (self.address, self.tid.map_or(0, Counter::value));
        Some(RegisteredHost { address, link: self.link(), tid, lifetime })
    }
}

/// Ends a registration. One that was reported to routing is kept until its end is reported, too.
fn end(place: &mut Option<Registered>) {
    let Some(known) = place else { return };
    if known.reported.was_reported() {
        (known.reported, known.until) = (Reported::EndDue, Instant::ZERO);
    } else {
        *place = None;
    }
}

/// Returns the next report for routing.
pub(super) fn poll_routed(
    table: &mut [Option<Registered>],
    now: Instant,
) -> Option<RegisteredHost> {
    table.iter_mut().find_map(|place| {
        let routed = place.as_mut()?.poll_routed(now)?;
        let _ = place.take_if(|known| known.is_over());
        Some(routed)
    })
}

/// Ends expired registrations.
//= rfc6775#6.5.3-2
pub(super) fn expire(table: &mut [Option<Registered>], now: Instant) {
    for place in table {
        if place.is_some_and(|known| known.until <= now) {
            end(place);
        }
    }
}

/// A registration request, as it is compared with the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) address: Ipv6Addr,
    pub(super) rovr: [u8; 8],
    pub(super) tid: Option<u8>,
    pub(super) lifetime_min: u16,
    /// True if routing has to advertise it.
    routed: bool,
}

impl Entry {
    pub(super) const fn of(address: Ipv6Addr, asked: &Registration) -> Self {
        let Registration { rovr, tid, lifetime_min, routed, .. } = *asked;
        // Without a transaction its latest location could not be determined.
        let routed = routed && tid.is_some() && !is_link_local(address);
        Entry { address, rovr, tid, lifetime_min, routed }
    }

    pub(super) const fn of_duplicate(message: &Duplicate) -> Self {
        let Duplicate { address, rovr, tid, lifetime_min, .. } = *message;
        Entry { address, rovr, tid, lifetime_min, routed: false }
    }

    /// Returns the message to the router that had the address before.
    pub(super) const fn moved(&self) -> Duplicate {
        let Entry { address, rovr, tid, lifetime_min, .. } = *self;
        let (confirmation, status) = (true, status::MOVED);
        Duplicate { confirmation, status, tid, lifetime_min, rovr, address }
    }
}

/// Result of the comparison of a request with the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The address has no entry.
    New,
    /// The entry has the same owner and is not newer.
    Same,
    /// The entry is newer than the request.
    Older,
    /// The address has another owner.
    Another,
}

pub(super) fn find(table: &[Option<Registered>], address: Ipv6Addr) -> Option<&Registered> {
    table.iter().flatten().find(|known| known.address == address && !known.is_over())
}

/// Compares a request with the existing entry. Counters that are not comparable mean that the host
/// has lost its counter; the request then counts (RFC 8505, 5.2). A request without a counter does
/// not update an entry with one: any node may have replayed it (6.3).
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

/// Stores an entry that was found new or the same, or ends it if the lifetime is zero. Returns
/// false if the table is full.
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
    let reported = place.filter(|known| known.reported.was_reported());
    // Its end is reported under the last transaction.
    let tid = tid.map(Counter::new).or(reported.and_then(|known| known.tid));
    let reported = match (routed, reported.is_some()) {
        (true, true) => Reported::Again,
        (true, false) => Reported::Due,
        (false, true) => Reported::EndDue,
        (false, false) => Reported::No,
    };
    *place = Some(Registered { address, site, rovr, tid, until, reported });
    true
}

/// Ends the registration of an address.
pub(super) fn forget(table: &mut [Option<Registered>], address: Ipv6Addr) {
    for place in table {
        if place.is_some_and(|known| known.address == address) {
            end(place);
        }
    }
}

/// Ends a registration that a later one elsewhere replaces (RFC 8505, 5.7).
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
