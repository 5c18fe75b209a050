//! What a node's network layer is told at its start, and how big its tables are.

use crate::codec::{HeaderCompression, Iphc};
use crate::fragment::{Fragmentation, Rfc4944};
use crate::indirect::{Child, Indirect, Parked};
use crate::pool::Slot;
use crate::reassembly::Partial;
use crate::red::QueueDiscipline;
use crate::routing::Routing;
use crate::submit::Queued;
use crate::tables::{InterfaceAddress, Neighbour, Route};
use crate::udp::UdpSocket;
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_time::Duration;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::sixlowpan::Context;

/// Parameters; tables are filled by the `add_` methods of [`Net`](crate::Net).
//= rfc9293#MUST-49
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The link address that the MAC puts into frames as their source. IIDs are elided relative to
    /// it, so a wrong one makes every frame unreadable.
    pub link: Address,
    /// A second link address that the MAC also accepts frames for, or [`Address::None`].
    pub alias: Address,
    /// Whether packets for others are forwarded (RFC 8200, 2: a router).
    pub forward: bool,
    /// Hop limit of packets that originate here, 1 to 255.
    pub hop_limit: u8,
    /// Tag of the first datagram that is fragmented; each has the next one (RFC 4944, 5.3, leaves
    /// the first open). Should differ from boot to boot: a receiver that still waits for the
    /// rest of a datagram from before would take fragments with its tag for that rest.
    pub first_tag: u16,
    /// How long a datagram may take to arrive, from its first fragment; RFC 4944, 5.3 allows up to
    /// 60 s.
    pub reassembly_timeout: Duration,
    /// How many ICMPv6 errors may leave in a burst (RFC 4443, 2.4 (f): B).
    pub icmp_error_burst: u8,
    /// The time in which the right to one more error is earned (RFC 4443, 2.4 (f): 1/N).
    pub icmp_error_interval: Duration,
    /// What happens to packets that are to be relayed while others wait.
    pub queue: QueueDiscipline,
    /// How many packets may wait for the radio before one that is to be relayed is dropped. The
    /// table's length is a limit too.
    pub queue_limit: u8,
    /// How packets for neighbours that sleep are kept.
    pub indirect: Indirect,
}

impl Config {
    /// A host with these defaults:
    ///
    /// * hop limit 64 (IANA's recommended default, RFC 1700; LOWPAN_IPHC elides it),
    /// * datagram tags from 0; a node should begin elsewhere after every boot,
    /// * reassembly within 5 s: a packet of 1280 octets takes some 14 frames; with every frame sent
    ///   four times and a link-retry delay of up to 100 ms (TCPlp §7.1: 50 ms on average) that is
    ///   14 · 4 · 50 ms ≈ 2.8 s, and a sender that needs longer has lost the packet by its RTO,
    /// * ICMPv6 errors: 10 in a burst, 10 a second (RFC 4443, 2.4 (f), "a small/mid-size device"),
    /// * no random early detection: few packets wait where nobody relays,
    /// * no limit to packets that are relayed but the table's,
    /// * [`Indirect::DEFAULT`] for children.
    pub const fn new(link: Address) -> Self {
        Config {
            link,
            alias: Address::None,
            forward: false,
            hop_limit: 64,
            first_tag: 0,
            reassembly_timeout: Duration::from_secs(5),
            icmp_error_burst: 10,
            icmp_error_interval: Duration::from_millis(100),
            queue: QueueDiscipline::TailDrop,
            queue_limit: u8::MAX,
            indirect: Indirect::DEFAULT,
        }
    }
}

/// A memory plan: how long each table is.
pub trait Sizes {
    /// Whether packets for others can be forwarded; if not, [`Config::forward`] has no effect, and
    /// nothing of it is in the program.
    const FORWARDS: bool = true;
    /// Whether [`Config::queue`] can be random early detection; if not, it is tail drop, and
    /// nothing of the other is in the program. Only of use where packets are forwarded.
    const DETECTS_CONGESTION: bool = true;
    /// Whether senders of packets that are discarded are told so (RFC 4443, 2.4): a host that runs
    /// no more than it must can do without; echo requests are answered all the same.
    const REPORTS_ERRORS: bool = true;
    /// The octets of one packet: 1280 (the MTU) unless only smaller packets are to be received.
    type Storage: Array<u8>;
    /// Packet slots, 4 to 255.
    type Packets: Array<Slot<Self::Storage>>;
    /// Datagrams being reassembled at a time, at least 1.
    type Reassembly: Array<Option<Partial>>;
    /// Packets waiting for the radio (errors have two places of their own).
    type Output: Array<Option<Queued>>;
    /// Packets waiting for the host interface; length 0 if there is none.
    type Host: Array<Option<Queued>>;
    /// Neighbours that sleep; length 0 if this node is nobody's parent.
    type Children: Array<Option<Child>>;
    /// Packets waiting for them, at least one for each. With all places taken, those of `Output`
    /// should still find slots.
    type Indirect: Array<Option<Parked>>;
    /// Own addresses beside the link-local ones.
    type Addresses: Array<Option<InterfaceAddress>>;
    /// Multicast groups that are joined, beside those of all nodes.
    type Groups: Array<Option<Ipv6Addr>>;
    /// Static routes.
    type Routes: Array<Option<Route>>;
    /// Static neighbours, for those whose IID does not tell the link address.
    type Neighbours: Array<Option<Neighbour>>;
    /// 6LoWPAN contexts, at most 16.
    type Contexts: Array<Option<Context>>;
    /// Who learns routes; `()` if all are static.
    type Routing: Routing;
    /// How datagrams are cut into frames: [`Rfc4944`].
    type Fragmentation: Fragmentation;
    /// How headers are compressed: [`Iphc`].
    type Headers: HeaderCompression;
    /// UDP sockets, at most 255.
    type UdpSockets: Array<UdpSocket>;
}

/// The smallest plan that makes sense, for examples and tests.
#[derive(Clone, Copy, Debug)]
pub struct Small;

impl Sizes for Small {
    type Storage = [u8; 1280];
    type Packets = [Slot<Self::Storage>; 4];
    type Reassembly = [Option<Partial>; 2];
    type Output = [Option<Queued>; 4];
    type Host = [Option<Queued>; 2];
    type Children = [Option<Child>; 0];
    type Indirect = [Option<Parked>; 0];
    type Addresses = [Option<InterfaceAddress>; 2];
    type Groups = [Option<Ipv6Addr>; 1];
    type Routes = [Option<Route>; 4];
    type Neighbours = [Option<Neighbour>; 2];
    type Contexts = [Option<Context>; 2];
    type Routing = ();
    type Fragmentation = Rfc4944;
    type Headers = Iphc;
    type UdpSockets = [UdpSocket; 2];
}
