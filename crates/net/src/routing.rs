//! Interface to a routing protocol, which learns routes outside this crate. Its messages are in
//! `net/messages.rs`.

use crate::outgoing::MAX_HEAD;
use crate::pool::PacketHandle;
use crate::stats::Discard;
use crate::tables::NextHop;
use core::fmt::Debug;
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{self, Header};
use kinglet_wire::sixlowpan::routed::Dodag;

/// A learned route to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learnt {
    /// Length of the learned prefix: static routes with at least this length take precedence.
    pub prefix_len: u8,
    /// Next hop; `None` if the destination is unreachable.
    pub via: Option<NextHop>,
}

/// Maximum octets of extension headers that routing adds to a packet: an option of RPL, and a
/// source route of 64 octets.
pub const MAX_ADDED: usize = 72;

/// Storage for headers of packets to which nothing is added ([`Routing::Head`]).
pub type PlainHead = [u8; MAX_HEAD];

/// Storage for headers with routing's additions and an outer header.
pub type ExtendedHead = [u8; MAX_HEAD + MAX_ADDED + ipv6::HEADER_LEN];

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
    /// Octets of all of them, at most [`MAX_ADDED`].
    pub len: usize,
    /// First destination of the packet: its final one, unless there is a source route.
    pub dst: Ipv6Addr,
    /// Source of an outer header, which these extension headers follow; its destination is then
    /// `dst`. `None` if they become part of the packet itself.
    pub outer: Option<Ipv6Addr>,
}

/// A routing protocol.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no routing protocol",
    note = "`routing` is `()`, `kinglet::Meshed`, `kinglet::Rpled` or `kinglet::Aoded`"
)]
pub trait Routing {
    /// The initial state.
    const NONE: Self;
    /// The UDP port of the messages, `None` if there are none. No socket receives datagrams to it.
    const PORT: Option<u16>;
    /// The types of ICMPv6 messages that it processes: none that [`Net`](crate::Net) or discovery
    /// uses. RPL's is 155 (RFC 6550, 6).
    const ICMPV6: &'static [u8] = &[];
    /// The multicast group of those messages; every node with this routing protocol is a member.
    const GROUP: Option<Ipv6Addr> = None;

    /// True if packets carry routing data: the RPL option (RFC 6553), source routes (RFC 6554),
    /// outer headers (RFC 9008). If false, the program contains none of that.
    const EXTENDS: bool = false;
    /// Storage for the headers of a packet whose payload stays with its owner: [`PlainHead`], or
    /// [`ExtendedHead`] if the protocol extends headers.
    type Head: Array<u8> + Debug;
    /// Packets that wait for route discovery; of length 0 if the protocol has none, and the program
    /// then contains none of that.
    type Waiting: Array<Option<PacketHandle>> + Debug;

    /// Returns the route to `dst`; `None` if the protocol will never have one.
    fn route(&self, dst: Ipv6Addr) -> Option<Learnt>;

    /// Returns whether routes to `dst` are discovered on demand.
    fn discovers(&self, _dst: Ipv6Addr) -> bool {
        false
    }

    /// Returns whether route discovery for `dst` is in progress.
    fn is_discovering(&self, _dst: Ipv6Addr) -> bool {
        false
    }

    /// Starts route discovery for a packet of this node to `dst`, for which [`Routing::route`] has
    /// no route. Returns whether discovery is in progress.
    fn discover(&mut self, _now: Instant, _dst: Ipv6Addr) -> bool {
        false
    }

    /// Processes a packet from `src` to `dst` that uses the route of [`Routing::route`]; `from` is
    /// the neighbour that sent it, or [`Address::None`] for a packet of this node.
    fn handle_use(&mut self, _now: Instant, _src: Ipv6Addr, _dst: Ipv6Addr, _from: Address) {}

    /// Processes a packet to `dst` from this neighbour without a route. Returns whether routing
    /// reports that, so that its source, which may know another route, gets no ICMPv6 error.
    fn handle_stray(&mut self, _now: Instant, _dst: Ipv6Addr, _from: Address) -> bool {
        false
    }

    /// Processes a packet to `dst` that has come back to this node.
    fn handle_loop(&mut self, _now: Instant, _dst: Ipv6Addr) {}

    /// Returns what is added to a packet with this header before it goes to the radio. The
    /// extension headers are written to `out`; the last one's Next Header names what follows.
    fn add(&self, _packet: &Header, _origin: Origin, _out: &mut [u8; MAX_ADDED]) -> Option<Added> {
        None
    }

    /// Sets the neighbour that sent the frame that is being processed; [`Address::None`] for input
    /// from the host interface.
    fn handle_arrival(&mut self, _from: Address) {}

    /// Processes the RPL option data of a packet with this header for this node or the host behind
    /// it.
    fn take(&mut self, _now: Instant, _packet: &Header, _option: &[u8]) {}

    /// Processes a packet with this header that is to be forwarded, and updates its RPL option
    /// data. Returns the next hop; `None` if the other routes decide.
    ///
    /// # Errors
    /// The reason of the discard.
    fn relay(
        &mut self,
        _now: Instant,
        _packet: &Header,
        _option: &mut [u8],
    ) -> Result<Option<NextHop>, Discard> {
        Ok(None)
    }

    /// Does the same for a packet that follows a source route to the neighbour `next`; `option` is
    /// empty if it has none.
    ///
    /// # Errors
    /// The reason of the discard: [`Discard::NoRoute`] if the neighbour cannot be reached.
    fn follow(
        &mut self,
        _now: Instant,
        _next: Ipv6Addr,
        _option: &mut [u8],
    ) -> Result<(), Discard> {
        Ok(())
    }

    /// Reroutes a packet to `destination` that still waits after a change of the parent since its
    /// RPL option got this data. If it goes upward, updates the option and returns the next hop.
    fn reroute(&self, _destination: Ipv6Addr, _option: &mut [u8]) -> Option<NextHop> {
        None
    }

    /// Returns whether this node, the destination, removes an outer header from `src`: its role
    /// requires that, and `src` is inside the routing domain (RFC 9008, 4.1 and 12).
    fn ends_tunnel(&self, _src: Ipv6Addr) -> bool {
        false
    }

    /// Returns whether `dst` is a neighbour that does not understand the option of a packet.
    fn is_unaware(&self, _dst: Ipv6Addr) -> bool {
        false
    }

    /// Processes an error of the node at `reporter`: it could not forward a packet of this node to
    /// `next` as its source route says (RFC 6550, 20.18: Destination Unreachable, code 7).
    fn handle_broken_route(&mut self, _now: Instant, _reporter: Ipv6Addr, _next: Ipv6Addr) {}

    /// Returns the DODAG that packets are routed in, if its nodes may write the added headers as
    /// 6LoWPAN Routing Headers (RFC 8138).
    fn dodag(&self) -> Option<Dodag> {
        None
    }

    /// Returns the octets of a frame that the added headers take when compressed, in packets to or
    /// from `remote`: the room in a segment shrinks by so many.
    fn added_len(&self, _remote: Ipv6Addr) -> usize {
        0
    }
}

/// Static routes only.
impl Routing for () {
    const NONE: Self = ();
    const PORT: Option<u16> = None;
    type Head = PlainHead;
    type Waiting = [Option<PacketHandle>; 0];

    fn route(&self, _: Ipv6Addr) -> Option<Learnt> {
        None
    }
}
