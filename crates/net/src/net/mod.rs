//! The layer's state, its tables, its clock and its self-description.

mod compose;
mod congestion;
mod divert;
mod extend;
mod forward;
mod fragment;
mod icmp;
mod indirect;
mod input;
mod interface;
mod messages;
mod originals;
mod reassembly;
mod relay;
mod resolve;
mod seek;
mod strangers;
mod submit;
mod threshold;
mod udp;

pub use fragment::{Cut, Datagram, Fragmentation, Rfc4944};
pub use relay::{Rfc8930, Welcome};

use crate::border::Border;
use crate::child::{Child, Parked};
use crate::codec::{HeaderCompression, Ready};
use crate::config::Config;
use crate::discovery::Discovery;
use crate::original::Ipv6Fragments;
use crate::outgoing::{Current, External, FINISHED, Queued};
use crate::partial::Partial;
use crate::pool::{PacketHandle, Pool, Slot};
use crate::queue::Queue;
use crate::red;
use crate::relay::Relaying;
use crate::report::{EchoReply, ErrorReport};
use crate::routing::Routing;
use crate::socket::UdpSocket;
use crate::stats::Stats;
use crate::tables::{InterfaceAddress, Neighbour, Route};
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_time::{Instant, earliest};
use kinglet_wire::sixlowpan::Context;

/// A memory plan: how long each table is.
pub trait Sizes {
    /// Whether packets for others can be forwarded; if not, [`Config::forward`] has no effect, and
    /// nothing of it is in the program, nor of the room that a node leaves for what it relays.
    const FORWARDS: bool = true;
    /// Whether [`Config::queue`] can be random early detection; if not, it is tail drop, and
    /// nothing of the other is in the program. Only of use where packets are forwarded.
    const DETECTS_CONGESTION: bool = true;
    /// Whether senders of packets that are discarded are told so (RFC 4443, 2.4): a host that runs
    /// no more than it must can do without; echo requests are answered all the same.
    const REPORTS_ERRORS: bool = true;
    /// The octets of one packet: 1280 (the MTU) unless only smaller packets are to be received;
    /// 1500 to receive all that come in fragments of IPv6's own ([`Sizes::Ipv6Fragments`]). What
    /// routing adds to packets comes on top: where those that it adds to have 1280 octets,
    /// [`MAX_ADDED`](crate::MAX_ADDED) and 40 more for an outer header, which makes 1392.
    type Storage: Array<u8>;
    /// Packet slots, 4 to 255.
    type Packets: Array<Slot<Self::Storage>>;
    /// Datagrams being reassembled at a time, at least 1.
    type Reassembly: Array<Option<Partial>>;
    /// Packets waiting for the radio (errors have two places of their own).
    type Output: Array<Option<Queued>>;
    /// Packets waiting for the host interface; length 0 if there is none.
    type Host: Array<Option<Queued>>;
    /// What waits between host interface and radio: `()` if it is what the node relays as well, or
    /// [`BorderQueue`](crate::BorderQueue).
    type Border: Border;
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
    /// Who learns link addresses; `()` if addresses tell them, or the table of neighbours does.
    type Discovery: Discovery;
    /// How datagrams are cut into frames: [`Rfc4944`], or [`Rfc8930`] where relays pass fragments
    /// on one by one.
    type Fragmentation: Fragmentation;
    /// Whether packets that are longer than 1280 octets are put together, and sent: `()` if not, or
    /// [`Originals`](crate::Originals).
    type Ipv6Fragments: Ipv6Fragments;
    /// How headers are compressed: [`Iphc`](crate::Iphc).
    type Headers: HeaderCompression;
    /// UDP sockets, at most 255.
    type UdpSockets: Array<UdpSocket>;
}

/// Room for received echo replies and error reports that nobody has asked for yet; the oldest go.
const REPORTS: usize = 4;
/// Room for ICMPv6 errors on their way out.
const CONTROL: usize = 2;

/// The network layer of a node. `X` is what an upper layer calls its payload by
/// ([`Body::External`](crate::Body::External)).
///
/// Its fields lie in this order: what is looked at most comes first, the packets last, because a
/// small core reaches no further than 124 octets from where a structure begins without reckoning.
#[derive(Debug)]
#[repr(C)]
pub struct Net<S: Sizes, X: Copy> {
    pub(crate) current: Option<Current>,
    pub(crate) next_token: u32,
    /// Whether the last datagram begun was an external one: the queue is next.
    pub(crate) external_was_last: bool,
    /// Received datagrams that the application has not read.
    pub(crate) unread: u8,
    /// Tokens for ICMPv6 errors that were spent and are not earned back yet.
    pub(crate) errors_spent: u8,
    pub(crate) output: Queue<S::Output, Queued>,
    pub(crate) border: S::Border,
    pub(crate) control: Queue<[Option<Queued>; CONTROL], Queued>,
    pub(crate) external: Option<External<X, <S::Routing as Routing>::Head>>,
    pub(crate) config: Config,
    pub(crate) stats: Stats,
    pub(crate) ready: Ready<<S::Headers as HeaderCompression>::Compressed>,
    /// The last datagrams with external payload that were written as a whole, newest first.
    pub(crate) finished: [Option<(u32, X)>; FINISHED],
    pub(crate) partials: S::Reassembly,
    /// When the first of them expires.
    pub(crate) first_expires: Option<Instant>,
    pub(crate) fragments: S::Ipv6Fragments,
    pub(crate) relay: <S::Fragmentation as Fragmentation>::Relay,
    pub(crate) addresses: S::Addresses,
    /// Multicast groups beside those of all nodes.
    pub(crate) groups: S::Groups,
    pub(crate) routes: S::Routes,
    pub(crate) neighbours: S::Neighbours,
    pub(crate) contexts: S::Contexts,
    pub(crate) routing: S::Routing,
    pub(crate) discovery: S::Discovery,
    /// Packets whose next hop is being asked for, in order; the free places come last.
    pub(crate) unresolved: <S::Discovery as Discovery>::Unresolved,
    /// Packets whose way is being sought, in order; the free places come last.
    pub(crate) unrouted: <S::Routing as Routing>::Waiting,
    pub(crate) codec: S::Headers,
    pub(crate) sockets: S::UdpSockets,
    pub(crate) red: red::State,
    pub(crate) host: Queue<S::Host, Queued>,
    pub(crate) children: S::Children,
    /// Packets for children, in order; the free places come last.
    pub(crate) parked: S::Indirect,
    pub(crate) echo_replies: Queue<[Option<EchoReply>; REPORTS], EchoReply>,
    pub(crate) errors: Queue<[Option<ErrorReport>; REPORTS], ErrorReport>,
    pub(crate) errors_since: Instant,
    pub(crate) pool: Pool<S::Packets, S::Storage>,
}

/// How full the tables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Free packet slots.
    pub free_packets: usize,
    /// Datagrams of 6LoWPAN of which fragments have come.
    pub reassemblies: usize,
    /// Packets of IPv6 of which fragments have come, those given up included.
    pub originals: usize,
    /// Packets waiting for the radio, the one in progress not counted.
    pub queued: usize,
    /// Packets from the host waiting for the radio, in a queue of their own.
    pub from_host: usize,
    /// Packets waiting for the host interface.
    pub host_queued: usize,
    /// Packets waiting for children, those in progress included.
    pub indirect: usize,
    /// Packets waiting until a way was found.
    pub unrouted: usize,
    /// Whether a packet with external payload waits or is in progress.
    pub external: bool,
}

impl<S: Sizes, X: Copy> Net<S, X> {
    /// A layer with empty tables.
    pub const fn new(config: Config) -> Self {
        Self::with_layers(config, S::Routing::NONE, S::Discovery::NONE)
    }

    /// A layer with empty tables that asks `routing` for its ways, and `discovery` for link
    /// addresses.
    pub const fn with_layers(config: Config, routing: S::Routing, discovery: S::Discovery) -> Self {
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
            unrouted: <S::Routing as Routing>::Waiting::EMPTY,
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

    /// The parameters.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The octets of a packet; empty if the handle was given back.
    pub fn packet(&self, handle: PacketHandle) -> &[u8] {
        self.pool.get(handle)
    }

    /// Gives the slot of a [`Delivery`](crate::Delivery) back. A second time does nothing.
    pub fn release(&mut self, handle: PacketHandle) {
        let _ = self.pool.release(handle);
    }

    /// When the next reassembly or packet for a child runs out of time. Nothing else here waits for
    /// a clock.
    pub fn deadline(&self) -> Option<Instant> {
        let first = earliest(self.indirect_deadline(), S::Fragmentation::deadline(self));
        let first = earliest(first, self.border.deadline());
        if S::Ipv6Fragments::PLACES == 0 {
            return first;
        }
        earliest(first, self.originals_deadline())
    }

    /// Gives up reassemblies and packets for children whose time is over.
    pub fn handle_deadline(&mut self, now: Instant) {
        S::Fragmentation::handle_deadline(self, now);
        self.border.handle_deadline(now);
        if S::Ipv6Fragments::PLACES > 0 {
            self.expire_originals(now);
        }
        self.expire_parked(now);
    }

    /// How full the tables are.
    pub fn info(&self) -> Info {
        Info {
            free_packets: self.pool.free(),
            reassemblies: self.partials.as_slice().iter().flatten().count(),
            originals: self.fragments.originals().iter().flatten().count(),
            queued: self.output.len().saturating_add(self.control.len()),
            from_host: self.border.waiting(),
            host_queued: self.host.len(),
            indirect: self.parked.as_slice().iter().flatten().count(),
            unrouted: self.unrouted.as_slice().iter().flatten().count(),
            external: self.external.is_some(),
        }
    }

    /// What passed and what was discarded.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }
}
