//! Received packets: origin and fate.

use crate::pool::PacketHandle;
use crate::stats::Discard;
use core::ops::Range;
use kinglet_wire::icmpv6::Kind;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::Header;

/// A packet for an upper layer outside this crate: TCP, or routing. Its slot belongs to the
/// receiver until [`Net::release`](crate::Net::release).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The slot.
    pub packet: PacketHandle,
    /// The IPv6 header.
    pub header: Header,
    /// Index of the own address that it is for ([`Net::own_index`](crate::Net::own_index)); `None`
    /// for a multicast group.
    pub own: Option<u8>,
    /// Range of the upper layer's octets in [`Net::packet`](crate::Net::packet).
    pub upper: Range<usize>,
    /// The upper layer's protocol number.
    pub protocol: u8,
}

/// The origin of a packet. Only a radio neighbour may change tables of discovery, routing, contexts
/// or groups: a hop limit of 255 proves nothing about a packet of another origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ingress {
    /// A radio neighbour sent it.
    Radio,
    /// It came through the host interface.
    Host,
    /// It came out of a tunnel: an outer header was removed here.
    Tunnel,
    /// This node created it.
    Here,
}

/// Reception of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// True if it came in a link-layer broadcast.
    pub(crate) broadcast: bool,
    /// Its origin.
    pub(crate) ingress: Ingress,
    /// Link address of the sender; `None` if it came from the host, or is no longer known.
    pub(crate) from: Address,
}

impl Arrival {
    pub(crate) fn is_from_host(self) -> bool {
        self.ingress == Ingress::Host
    }
}

/// Result of a packet's processing.
pub(crate) enum Fate {
    /// For the upper layer, with the range of its octets and its protocol; the slot goes along.
    Deliver(Range<usize>, u8),
    /// Its slot was moved to a queue.
    Moved,
    /// Finished; the slot is to be released.
    Done,
    /// Discarded.
    Drop(Discard),
    /// Discarded, and reported to the sender.
    Report(Discard, Kind),
}
