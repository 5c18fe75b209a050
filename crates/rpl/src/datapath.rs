//! The RPL option of packets: its check and its next value (RFC 6550, 11.2).

use core::net::Ipv6Addr;
use kinglet_wire::rpl::PacketInformation;

/// Route of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// To this neighbour, a link-local address.
    Neighbour(Ipv6Addr),
    /// Down by a source route, which the root computes.
    SourceRoute,
    /// Out of the DODAG. Only a root returns this.
    Outside,
    /// No route.
    Unreachable,
}

/// Headers that a packet needs at a router (RFC 9008, 7 and 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// None: the packet leaves the network here, or has them.
    Nothing,
    /// The option, and the source route if there is one, in the packet itself, which originates
    /// here.
    Own,
    /// The same in an outer header to this address, as the packet originates at another node.
    Outer(Ipv6Addr),
}

/// Reason for which a packet is not forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its option names another instance (11.2.2.1).
    OtherInstance,
    /// A second rank error: it is in a loop (11.2.2.2).
    Loop,
    /// There is no route to its destination.
    NoRoute,
}

/// Forwarding of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Onward {
    /// Its route.
    pub next_hop: NextHop,
    /// Its option at the next hop.
    pub information: PacketInformation,
}

/// Consistency of a packet's direction with the ranks of sender and receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Consistent, or undecidable.
    Consistent,
    /// First rank error.
    FirstError,
    /// Second rank error.
    SecondError,
}

/// Checks a packet by the SenderRank in its option and the own DAGRank. A sender that is not a
/// router has written zero; one that sends into the next version of the DODAG, INFINITE_RANK. The
/// RFC permits equal ranks, but parent and child never have them. Two neighbours of equal rank,
/// each with a stale target behind the other, would pass a packet back and forth until its hop
/// limit is exceeded.
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
