//! What the RPL option of a packet says and must say next (RFC 6550, 11.2).

use core::net::Ipv6Addr;
use kinglet_wire::rpl::PacketInformation;

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To this neighbour, a link-local address.
    Neighbour(Ipv6Addr),
    /// Down by a source route, which the root computes.
    SourceRoute,
    /// Out of the DODAG, which only a root can say.
    Outside,
    /// Nowhere.
    Unreachable,
}

/// Which headers a packet needs where it comes to a router (RFC 9008, 7 and 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// None: it leaves the network here, or has them.
    Nothing,
    /// The option, and a source route if that is its way, in the packet itself, which begins here.
    Own,
    /// The same in an outer header to this address, as the packet is somebody else's.
    Outer(Ipv6Addr),
}

/// Why a packet goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its option names another instance (11.2.2.1).
    OtherInstance,
    /// A second rank error: it is in a loop (11.2.2.2).
    Loop,
    /// No way leads to its destination.
    NoRoute,
}

/// How a packet goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Onward {
    /// Where.
    pub way: Way,
    /// The option that it carries then.
    pub information: PacketInformation,
}

/// What the ranks of sender and receiver say of a packet's direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Right, or not to be told.
    Consistent,
    /// Wrong for the first time.
    FirstError,
    /// Wrong again.
    SecondError,
}

/// Judges a packet by the SenderRank in its option and the own DAGRank. A sender that is no router
/// has written zero; one that sends into the next version of the DODAG, INFINITE_RANK. The RFC has
/// nothing against equal ranks, but parent and child never have them, and two neighbours that do,
/// each with a stale target behind the other, would pass a packet to and fro to its end.
pub(crate) const fn judge(information: &PacketInformation, own: u16) -> Direction {
    let PacketInformation { down, sender_rank, rank_error, .. } = *information;
    let wrong = match sender_rank {
        0 | u16::MAX => false,
        rank if down => rank >= own,
        rank => rank <= own,
    };
    match (wrong, rank_error) {
        (false, _) => Direction::Consistent,
        (true, false) => Direction::FirstError,
        (true, true) => Direction::SecondError,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_judged_by_its_direction_and_the_senders_rank() {
        let information = |down, sender_rank, rank_error| PacketInformation {
            down,
            rank_error,
            forwarding_error: false,
            instance: 0,
            sender_rank,
        };
        for (down, sender, error, expected) in [
            (true, 2, false, Direction::Consistent),
            (true, 3, false, Direction::FirstError),
            (false, 3, true, Direction::SecondError),
            (true, 4, false, Direction::FirstError),
            (false, 4, true, Direction::Consistent),
            (false, 2, false, Direction::FirstError),
            (false, 2, true, Direction::SecondError),
            (false, 0, true, Direction::Consistent),
            (true, u16::MAX, true, Direction::Consistent),
        ] {
            assert_eq!(judge(&information(down, sender, error), 3), expected, "{down} {sender}");
        }
    }
}
