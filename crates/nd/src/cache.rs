//! The table of neighbours: looking for one, and making room for another.

use crate::neighbour::Neighbour;
use crate::stats::{Stats, bump};
use core::net::Ipv6Addr;
use kinglet_time::Instant;

/// Why somebody is to get a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It has sent something: anybody can do that, so it takes no place of one that is in use.
    Heard,
    /// A packet is for it.
    Wanted,
    /// The same at a router, since when neighbours that are in use keep their places: whoever scans
    /// a prefix from outside evicts none of them.
    Stray(Instant),
}

/// The neighbour with this address.
pub(crate) fn find(table: &[Option<Neighbour>], address: Ipv6Addr) -> Option<&Neighbour> {
    table.iter().flatten().find(|it| it.address == address)
}

/// The same, to change it.
pub(crate) fn find_mut(
    table: &mut [Option<Neighbour>],
    address: Ipv6Addr,
) -> Option<&mut Neighbour> {
    table.iter_mut().flatten().find(|it| it.address == address)
}

/// Gives a neighbour that has none a place: a free one, or else that of the one that was used
/// longest ago, those first for whom there never was a packet. Who was only heard takes no other
/// places than theirs; and packets wait for whoever is being asked for, so that none gives way to
/// another.
pub(crate) fn insert<'a>(
    table: &'a mut [Option<Neighbour>],
    stats: &mut Stats,
    cause: Cause,
    address: Ipv6Addr,
) -> Option<&'a mut Neighbour> {
    let free = table.iter().position(Option::is_none);
    let index = match free {
        Some(index) => index,
        None => {
            let known = table.iter().enumerate().filter_map(|(at, it)| Some((at, it.as_ref()?)));
            let may_go = |it: &Neighbour| match cause {
                Cause::Heard => it.used.is_none(),
                Cause::Wanted => !it.waits(),
                Cause::Stray(since) => !it.waits() && it.used.is_none_or(|used| used < since),
            };
            let last = known.filter(|(_, it)| may_go(it)).min_by_key(|(_, it)| it.used);
            let Some((index, _)) = last else {
                bump(&mut stats.refused);
                return None;
            };
            bump(&mut stats.evicted);
            index
        }
    };
    Some(table.get_mut(index)?.insert(Neighbour::new(address)))
}
