//! Packets that have come in: how, and what becomes of them.

use crate::pool::PacketHandle;
use crate::stats::Discard;
use core::ops::Range;
use kinglet_wire::icmpv6::Kind;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::Header;

/// A packet for an upper layer that is not part of this crate: TCP, or routing. Its slot belongs to
/// the receiver until [`Net::release`](crate::Net::release).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The slot.
    pub packet: PacketHandle,
    /// The IPv6 header.
    pub header: Header,
    /// The name of the own address that it is for ([`Net::own_index`](crate::Net::own_index));
    /// `None` if it is for a group.
    pub own: Option<u8>,
    /// Where the upper layer's octets are in [`Net::packet`](crate::Net::packet).
    pub upper: Range<usize>,
    /// The upper layer's protocol number.
    pub protocol: u8,
}

/// The origin of a packet. Only a radio neighbour changes tables of discovery, routing, contexts
/// or groups: a hop limit of 255 proves nothing of a packet that came another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ingress {
    /// A radio neighbour sent it.
    Radio,
    /// It came through the host interface.
    Host,
    /// It came out of a tunnel: an outer header was removed here.
    Tunnel,
    /// This node made it.
    Here,
}

/// How a packet came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// In a link-layer broadcast.
    pub(crate) broadcast: bool,
    /// Its origin.
    pub(crate) ingress: Ingress,
    /// From this neighbour; `None` if it came from the host, or is not known any more.
    pub(crate) from: Address,
}

impl Arrival {
    pub(crate) fn is_from_host(self) -> bool {
        self.ingress == Ingress::Host
    }
}

/// What a packet's processing came to.
pub(crate) enum Fate {
    /// For the upper layer, whose octets and protocol these are; the slot goes along.
    Deliver(Range<usize>, u8),
    /// Its slot was moved to a queue.
    Moved,
    /// Dealt with; the slot is free again.
    Done,
    /// Discarded.
    Drop(Discard),
    /// Discarded, and the sender is told.
    Report(Discard, Kind),
}
