//! The neighbour table: lookup, insertion and eviction.

use crate::neighbour::Neighbour;
use crate::stats::{Stats, bump};
use core::net::Ipv6Addr;
use kinglet_mem::{Claim, slot_for_new};
use kinglet_time::Instant;

/// Reason for the insertion of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A message from it was received. Any node can send one, so it evicts no entry in use.
    Heard,
    /// A packet is for it.
    Wanted,
    /// A packet for it came to a router, where neighbours used since this time stay: a scan of a
    /// prefix from outside evicts none of them.
    Stray(Instant),
}

/// Returns the neighbour with this address.
pub(crate) fn find(table: &[Option<Neighbour>], address: Ipv6Addr) -> Option<&Neighbour> {
    table.iter().flatten().find(|it| it.address == address)
}

/// Returns the neighbour with this address for modification.
pub(crate) fn find_mut(
    table: &mut [Option<Neighbour>],
    address: Ipv6Addr,
) -> Option<&mut Neighbour> {
    table.iter_mut().flatten().find(|it| it.address == address)
}

/// Inserts a neighbour into a free entry, or else into the one that was used longest ago; entries
/// for which there never was a packet go first. A neighbour that was only received evicts no other
/// entries than those. Packets wait for neighbours with a pending resolution, so these are not
/// evicted.
pub(crate) fn insert<'a>(
    table: &'a mut [Option<Neighbour>],
    stats: &mut Stats,
    cause: Cause,
    address: Ipv6Addr,
) -> Option<&'a mut Neighbour> {
    let may_go = |it: &Neighbour| match cause {
        Cause::Heard => it.used.is_none(),
        Cause::Wanted => !it.waits(),
        Cause::Stray(since) => !it.waits() && it.used.is_none_or(|used| used < since),
    };
    let claim = |place: &Option<Neighbour>| match place {
        None => Claim::Free,
        Some(it) if may_go(it) => Claim::Idle(it.used),
        Some(_) => Claim::InUse,
    };
    let Some(place) = slot_for_new(table, claim).and_then(|index| table.get_mut(index)) else {
        bump(&mut stats.refused);
        return None;
    };
    if place.is_some() {
        bump(&mut stats.evicted);
    }
    Some(place.insert(Neighbour::new(address)))
}
