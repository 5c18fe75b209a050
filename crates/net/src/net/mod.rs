//! State of the network layer, its tables, deadlines and counters.

mod congestion;
mod extension_headers;
mod forward;
mod fragment;
mod header_build;
mod icmp;
mod indirect;
mod input;
mod interface;
mod ipv6_fragments;
mod messages;
mod reassembly;
mod relay;
mod reroute;
mod resolve;
mod route_discovery;
mod sharing;
mod strangers;
mod submit;
mod threshold;
mod udp;

pub use fragment::{Cut, Datagram, Fragmentation, Rfc4944};
pub use relay::{AdmissionPolicy, Rfc8930};

use crate::border::Border;
use crate::child::{Child, Parked};
use crate::codec::{HeaderCompression, Ready};
use crate::config::NetConfig;
use crate::discovery::Discovery;
use crate::ipv6_partial::Ipv6Fragments;
use crate::outgoing::{Current, External, FINISHED, Queued};
use crate::partial::Partial;
use crate::pool::{PacketHandle, Pool, Slot};
use crate::queue::Queue;
use crate::red;
use crate::relay::Relaying;
use crate::report::{EchoReply, ErrorReport};
use crate::socket::UdpSocket;
use crate::stats::Stats;
use crate::tables::{InterfaceAddress, Neighbour, Route};
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_routing::{Additions, Routing};
use kinglet_time::{Instant, earliest};
use kinglet_wire::sixlowpan::Context;

/// A memory plan: sizes of the tables.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no memory plan of the network layer",
    note = "`kinglet::profile!` makes the plan of a whole node"
)]
pub trait Sizes {
    /// True if packets of other nodes can be forwarded. If false, [`NetConfig::forward`] has no
    /// effect, and the program contains neither forwarding nor the memory reserved for it.
    const FORWARDS: bool = true;
    /// True if [`NetConfig::queue`] can be random early detection. If false, it is tail drop, and
    /// the program contains nothing else. Only useful if packets are forwarded.
    const DETECTS_CONGESTION: bool = true;
    /// True if ICMPv6 errors report discarded packets to their senders (RFC 4443, 2.4); a minimal
    /// host can do without. Echo requests are answered in any case.
    const REPORTS_ERRORS: bool = true;
    /// The octets of one packet: 1280 (the MTU) unless only smaller packets are received; 1500 to
    /// receive all packets in IPv6 fragments ([`Sizes::Ipv6Fragments`]). Headers that routing adds
    /// come on top: for packets of 1280 octets, [`MAX_ADDED`] and 40 more for an outer header, and
    /// so 1392.
    ///
    /// [`MAX_ADDED`]: kinglet_routing::MAX_ADDED
    type Storage: Array<u8>;
    /// Packet slots, 4 to 255.
    type Packets: Array<Slot<Self::Storage>>;
    /// Datagrams being reassembled at a time, at least 1.
    type Reassembly: Array<Option<Partial>>;
    /// Packets waiting for the radio (ICMPv6 errors have two entries of their own).
    type Output: Array<Option<Queued>>;
    /// Packets waiting for the host interface; length 0 if there is none.
    type Host: Array<Option<Queued>>;
    /// Queue between host interface and radio: `()` to share that of forwarded packets, or
    /// [`BorderQueue`](crate::BorderQueue).
    type Border: Border;
    /// Sleeping neighbours; length 0 if this node is not a parent.
    type Children: Array<Option<Child>>;
    /// Packets waiting for them, at least one for each. With all entries taken, those of `Output`
    /// should still find slots.
    type Indirect: Array<Option<Parked>>;
    /// Own addresses in addition to the link-local ones.
    type Addresses: Array<Option<InterfaceAddress>>;
    /// Joined multicast groups in addition to those of all nodes.
    type Groups: Array<Option<Ipv6Addr>>;
    /// Static routes.
    type Routes: Array<Option<Route>>;
    /// Static neighbours, whose link address does not follow from their IID.
    type Neighbours: Array<Option<Neighbour>>;
    /// 6LoWPAN contexts, at most 16.
    type Contexts: Array<Option<Context>>;
    /// The routing protocol; `()` if all routes are static.
    type Routing: Routing;
    /// Neighbour discovery; `()` if link addresses follow from addresses or the neighbour table.
    type Discovery: Discovery;
    /// Fragmentation of datagrams: [`Rfc4944`], or [`Rfc8930`] if relays forward single fragments.
    type Fragmentation: Fragmentation;
    /// Reassembly and transmission of packets that are longer than 1280 octets: `()` for none, or
    /// [`Ipv6Reassembly`](crate::Ipv6Reassembly).
    type Ipv6Fragments: Ipv6Fragments;
    /// Header compression: [`Iphc`](crate::Iphc).
    type Headers: HeaderCompression;
    /// UDP sockets, at most 255.
    type UdpSockets: Array<UdpSocket>;
}

/// Storage for the headers of a packet whose payload stays with its owner.
pub(crate) type Head<S> = <<<S as Sizes>::Routing as Routing>::Additions as Additions>::Head;

/// Received echo replies and error reports that wait to be polled; new ones replace the oldest.
const REPORTS: usize = 4;
/// ICMPv6 errors that wait for the radio.
const CONTROL: usize = 2;

/// The network layer of a node. `X` is the key of an upper layer's payload
/// ([`Body::External`](crate::Body::External)).
///
/// The fields have this order because a small core addresses the first 124 octets of a structure
/// without additional instructions: frequently used fields come first, the packets last.
#[derive(Debug)]
#[repr(C)]
pub struct Net<S: Sizes, X: Copy> {
    pub(crate) current: Option<Current>,
    pub(crate) next_token: u32,
    /// True if the last datagram begun was an external one: the queue is next.
    pub(crate) external_was_last: bool,
    /// Received datagrams that the application has not read.
    pub(crate) unread: u8,
    /// Used part of the ICMPv6 error budget.
    pub(crate) errors_spent: u8,
    pub(crate) output: Queue<S::Output, Queued>,
    pub(crate) border: S::Border,
    pub(crate) control: Queue<[Option<Queued>; CONTROL], Queued>,
    pub(crate) external: Option<External<X, Head<S>>>,
    pub(crate) config: NetConfig,
    pub(crate) stats: Stats,
    pub(crate) ready: Ready<<S::Headers as HeaderCompression>::Compressed>,
    /// The last completely written datagrams with external payload, newest first.
    pub(crate) finished: [Option<(u32, X)>; FINISHED],
    pub(crate) partials: S::Reassembly,
    /// Expiry of the first of them.
    pub(crate) first_expires: Option<Instant>,
    pub(crate) fragments: S::Ipv6Fragments,
    pub(crate) relay: <S::Fragmentation as Fragmentation>::Relay,
    pub(crate) addresses: S::Addresses,
    /// Multicast groups in addition to those of all nodes.
    pub(crate) groups: S::Groups,
    pub(crate) routes: S::Routes,
    pub(crate) neighbours: S::Neighbours,
    pub(crate) contexts: S::Contexts,
    pub(crate) routing: S::Routing,
    pub(crate) discovery: S::Discovery,
    /// Packets whose next hop is being resolved, in order; free entries come last.
    pub(crate) unresolved: <S::Discovery as Discovery>::Unresolved,
    /// Packets that wait for route discovery, in order; free entries come last.
    pub(crate) unrouted: <S::Routing as Routing>::Waiting<PacketHandle>,
    pub(crate) codec: S::Headers,
    pub(crate) sockets: S::UdpSockets,
    pub(crate) red: red::State,
    pub(crate) host: Queue<S::Host, Queued>,
    pub(crate) children: S::Children,
    /// Packets for children, in order; free entries come last.
    pub(crate) parked: S::Indirect,
    pub(crate) echo_replies: Queue<[Option<EchoReply>; REPORTS], EchoReply>,
    pub(crate) errors: Queue<[Option<ErrorReport>; REPORTS], ErrorReport>,
    pub(crate) errors_since: Instant,
    pub(crate) pool: Pool<S::Packets, S::Storage>,
}

/// Fill levels of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Free packet slots.
    pub free_packets: usize,
    /// 6LoWPAN datagrams with missing fragments.
    pub reassemblies: usize,
    /// IPv6 packets with missing fragments, including abandoned ones.
    pub ipv6_partials: usize,
    /// Packets waiting for the radio, excluding the one in progress.
    pub queued: usize,
    /// Packets from the host waiting for the radio, in a queue of their own.
    pub from_host: usize,
    /// Packets waiting for the host interface.
    pub host_queued: usize,
    /// Packets waiting for children, including those in progress.
    pub indirect: usize,
    /// Packets waiting for route discovery.
    pub unrouted: usize,
    /// True if a packet with external payload waits or is in progress.
    pub external: bool,
}

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Returns a layer with empty tables.
    pub const fn new(config: NetConfig) -> Self {
        Self::with_layers(config, S::Routing::NONE, S::Discovery::NONE)
    }

    /// Returns a layer with empty tables that uses `routing` for routes, and `discovery` for link
    /// addresses.
    pub const fn with_layers(
        config: NetConfig,
        routing: S::Routing,
        discovery: S::Discovery,
    ) -> Self {
        Net {
            config,
            pool: Pool::new(),
            partials: S::Reassembly::EMPTY,
            first_expires: None,
            fragments: S::Ipv6Fragments::NONE,
            relay: <S::Fragmentation as Fragmentation>::Relay::NEW,
            addresses: S::Addresses::EMPTY,
            groups: S::Groups::EMPTY,
            routes: S::Routes::EMPTY,
            neighbours: S::Neighbours::EMPTY,
            contexts: S::Contexts::EMPTY,
            routing,
            discovery,
            unresolved: <S::Discovery as Discovery>::Unresolved::EMPTY,
            unrouted: <S::Routing as Routing>::Waiting::<PacketHandle>::EMPTY,
            codec: S::Headers::NEW,
            ready: Ready::NONE,
            sockets: S::UdpSockets::EMPTY,
            output: Queue::new(),
            border: S::Border::EMPTY,
            red: red::State::new(config.first_tag),
            control: Queue::new(),
            host: Queue::new(),
            children: S::Children::EMPTY,
            parked: S::Indirect::EMPTY,
            external: None,
            finished: [None; FINISHED],
            current: None,
            external_was_last: false,
            next_token: config.first_tag as u32,
            echo_replies: Queue::new(),
            errors: Queue::new(),
            errors_spent: 0,
            errors_since: Instant::ZERO,
            unread: 0,
            stats: Stats::ZERO,
        }
    }

    /// Returns the configuration.
    pub const fn config(&self) -> &NetConfig {
        &self.config
    }

    /// Returns the octets of a packet; empty if the handle was released.
    pub fn packet(&self, handle: PacketHandle) -> &[u8] {
        self.pool.get(handle)
    }

    /// Releases the slot of a [`Delivery`](crate::Delivery). A second call does nothing.
    pub fn release(&mut self, handle: PacketHandle) {
        let _ = self.pool.release(handle);
    }

    /// Returns the time of the next expiry of a reassembly, a packet for a child or a delay of the
    /// border queue.
    pub fn deadline(&self) -> Option<Instant> {
        let first = earliest(self.indirect_deadline(), S::Fragmentation::deadline(self));
        let first = earliest(first, self.border.deadline());
        if S::Ipv6Fragments::PLACES == 0 {
            return first;
        }
        earliest(first, self.ipv6_partials_deadline())
    }

    /// Removes expired reassemblies and packets for children, and ends delays of the border queue.
    pub fn handle_deadline(&mut self, now: Instant) {
        S::Fragmentation::handle_deadline(self, now);
        self.border.handle_deadline(now);
        if S::Ipv6Fragments::PLACES > 0 {
            self.expire_ipv6_partials(now);
        }
        self.expire_parked(now);
    }

    /// Returns the fill levels of the tables.
    pub fn info(&self) -> Info {
        Info {
            free_packets: self.pool.free(),
            reassemblies: self.partials.as_slice().iter().flatten().count(),
            ipv6_partials: self.fragments.ipv6_partials().iter().flatten().count(),
            queued: self.output.len().saturating_add(self.control.len()),
            from_host: self.border.waiting(),
            host_queued: self.host.len(),
            indirect: self.parked.as_slice().iter().flatten().count(),
            unrouted: self.unrouted.as_slice().iter().flatten().count(),
            external: self.external.is_some(),
        }
    }

    /// Returns the packet counters and discards.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }
}
