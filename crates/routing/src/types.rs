//! Types of the interface: routes, messages, changes.

use core::net::Ipv6Addr;
use kinglet_time::Duration;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::Header;
use kinglet_wire::sixlowpan::{Context, derived_iid};

/// UDP port of the messages between neighbours, of any protocol that has such messages: a network
/// has one routing protocol. It is one of the ports that compress to four bits (RFC 6282, 4.3.3),
/// not Thread's 19788: the messages are not Thread's.
pub const PORT: u16 = 0xF0BF;

/// Octets of the longest message between neighbours: one 802.15.4 frame also with security and
/// uncompressed addresses.
pub const MAX_MESSAGE: usize = 80;

/// Octets of the longest ICMPv6 message of routing or discovery that is sent.
pub const MAX_ICMPV6: usize = 256;

/// Callback that takes a layer, one of its reasons, and the count of that reason.
pub type Each<'a> = dyn FnMut(&'static str, &'static str, u32) + 'a;

/// Callback that takes a relation of a node (`parent`, `DODAG`, `default router`, `registration`,
/// `child`, `neighbour`) and the address of its other end; of a DODAG, that of its root.
pub type EachRelation<'a> = dyn FnMut(&'static str, Ipv6Addr) + 'a;

/// Identity of a node, from which its protocol is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Link address: the short one if the node has one, otherwise the EUI-64.
    pub link: Address,
    /// Short address; 0xFFFF if there is none.
    pub short: u16,
    /// True if the receiver is off between frames.
    pub sleeps: bool,
    /// Seed of random numbers, another one for each node.
    pub seed: u64,
}

/// Next hop of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// The neighbour with this link address.
    Link(Address),
    /// The destination itself, which is a neighbour: its link address comes from the neighbour
    /// table or its IID.
    OnLink,
    /// The host interface of a border router.
    Host,
}

/// A learned route to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learnt {
    /// Length of the learned prefix: static routes with at least this length take precedence.
    pub prefix_len: u8,
    /// Next hop; `None` if the destination is unreachable.
    pub via: Option<NextHop>,
}

/// Origin of a packet that is about to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// This node originated it.
    Here,
    /// It is forwarded, and has a routing option.
    Marked,
    /// It is forwarded, and has no option: it comes from outside, or from a neighbour without this
    /// routing protocol.
    Bare,
}

/// Headers that are added to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Added {
    /// Type of the first extension header (RFC 8200, 4, Next Header).
    pub kind: u8,
    /// Octets of all of them, at most [`MAX_ADDED`](crate::MAX_ADDED).
    pub len: usize,
    /// First destination of the packet: its final one, unless there is a source route.
    pub dst: Ipv6Addr,
    /// Source of an outer header, which these extension headers follow; its destination is then
    /// `dst`. `None` if they become part of the packet itself.
    pub outer: Option<Ipv6Addr>,
}

/// Reason why a protocol refuses to forward a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no route.
    NoRoute,
    /// The routing data of the packet are malformed, or indicate a loop.
    Data,
}

/// A message to a neighbour, or to all neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Address of its receiver.
    pub to: Address,
    /// Length in octets.
    pub len: usize,
}

/// A received ICMPv6 message. Only its checksum has been verified.
#[derive(Clone, Copy, Debug)]
pub struct Icmpv6In<'a> {
    /// Link address of the neighbour that sent the frame; it need not be the originator.
    pub from: Address,
    /// IPv6 header. Only a hop limit of 255 shows that the neighbour is the originator.
    pub header: Header,
    /// Octets from the type on; at least four.
    pub octets: &'a [u8],
}

/// An ICMPv6 message to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icmpv6Out {
    /// Source address; `None`: the usual one for `dst`.
    pub src: Option<Ipv6Addr>,
    /// Destination address.
    pub dst: Ipv6Addr,
    /// Link address for direct transmission, even to a sleeping neighbour; `None`: routed as all
    /// packets to `dst`.
    pub via: Option<Address>,
    /// Hop limit: 255 if the receiver checks that a neighbour is the originator.
    pub hop_limit: u8,
    /// True if a Router Alert precedes it (RFC 2711), as for MLD. Only messages of discovery have
    /// one.
    pub alert: bool,
    /// Number of octets from the type on.
    pub len: usize,
}

/// A registered host that requests reachability through this router (the R flag, RFC 8505, 5.1);
/// routing advertises its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisteredHost {
    /// The address.
    pub address: Ipv6Addr,
    /// Link address of the neighbour that has it.
    pub link: Address,
    /// Transaction identifier of its registration.
    pub tid: u8,
    /// Time until it expires; zero: it has ended.
    pub lifetime: Duration,
}

/// A change of this node's position in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A leaf has another parent, or none.
    Parent(Option<u16>),
    /// Waiting packets may have another route: a router has another parent, or a route was found or
    /// lost.
    Route,
    /// A neighbour that sleeps has become a child of this router.
    Child(u16),
    /// This neighbour is its child no longer.
    NoChild(u16),
    /// The node has this address from now on.
    Address(Ipv6Addr),
    /// The node has this address no longer.
    /// [`Routing::handle_address`](crate::Routing::handle_address) was called for it.
    NoAddress(Ipv6Addr),
    /// The node has this 6LoWPAN context from now on; with `None` no longer.
    Context {
        /// Its identifier, 0 to 15.
        id: u8,
        /// The context.
        context: Option<Context>,
    },
}

/// Returns the link-local address of the neighbour with a link address.
pub fn link_local(link: Address) -> Ipv6Addr {
    let identifier = derived_iid(link).map_or(0, u64::from_be_bytes);
    Ipv6Addr::from_bits(0xFE80 << 112 | u128::from(identifier))
}
