//! The trait of a routing protocol.

use crate::additions::{Additions, MAX_ADDED, NoHeaders};
use crate::types::{
    Added, Change, Each, EachRelation, Icmpv6In, Icmpv6Out, Learnt, MAX_ICMPV6, MAX_MESSAGE,
    Message, NextHop, Origin, Refusal, RegisteredHost,
};
use core::fmt::Debug;
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::Header;
use kinglet_wire::sixlowpan::routed::Dodag;

/// A routing protocol among the layers of a node, chosen by the memory plan. It provides routes to
/// the network layer, receives the reports of the MAC, and selects parent and children. Its
/// messages travel between neighbours.
///
/// `()` knows static routes only, and costs nothing.
///
/// A method has a default if a protocol can do without it. The constants and types leave the code
/// for what a protocol does not do out of the program.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no routing protocol",
    note = "`routing` is `()`, `kinglet::Meshed`, `kinglet::Rpled`, `kinglet::Aoded` or a type \
            that implements `kinglet::Routing`"
)]
pub trait Routing {
    /// The initial state: a protocol that is off.
    const NONE: Self;
    /// The UDP port of the messages, as a rule [`PORT`](crate::PORT); `None` if there are none. No
    /// socket receives datagrams to it.
    const PORT: Option<u16> = None;
    /// The types of ICMPv6 messages that it processes: none that the network layer or discovery
    /// uses. RPL's is 155 (RFC 6550, 6).
    const ICMPV6: &'static [u8] = &[];
    /// The multicast group of those messages; every node with this routing protocol is a member.
    const GROUP: Option<Ipv6Addr> = None;
    /// True if [`Routing::handle_queue`] is to be called.
    const WATCHES_QUEUE: bool = false;
    /// True if it assigns addresses and contexts.
    const GIVES_ADDRESSES: bool = false;

    /// The headers that it adds to packets: [`NoHeaders`] or
    /// [`AddedHeaders`](crate::AddedHeaders).
    type Additions: Additions;
    /// True if packets carry routing data: as [`Routing::Additions`] says, never set otherwise.
    const EXTENDS: bool = Self::Additions::EXTENDS;
    /// Packets, by handle, that wait for route discovery; of length 0 if the protocol has none, and
    /// the program then contains none of that.
    type Waiting<H: Copy + Debug>: Array<Option<H>> + Debug;

    /// Returns whether it takes part in routing. If not, it has no messages and decides nothing.
    fn is_on(&self) -> bool {
        true
    }

    /// Returns the route to `dst`; `None` if the protocol will never have one.
    fn route(&self, dst: Ipv6Addr) -> Option<Learnt>;

    // Messages and timers.

    /// Handles a message of the neighbour `from`. One longer than [`MAX_MESSAGE`] is passed with
    /// one octet more than that.
    fn handle_message(&mut self, _now: Instant, _from: u16, _rssi_dbm: i8, _message: &[u8]) {}

    /// Writes the next message to `buf`.
    fn poll_message(&mut self, _now: Instant, _buf: &mut [u8; MAX_MESSAGE]) -> Option<Message> {
        None
    }

    /// Handles an ICMPv6 message of one of the types in [`Routing::ICMPV6`] that arrived by radio.
    /// The strength is that of the frame that completed it.
    fn handle_icmpv6(&mut self, _now: Instant, _rssi_dbm: i8, _message: Icmpv6In<'_>) {}

    /// Writes the next ICMPv6 message to `buf`, from the type on; its checksum is filled in.
    fn poll_icmpv6(&mut self, _now: Instant, _buf: &mut [u8; MAX_ICMPV6]) -> Option<Icmpv6Out> {
        None
    }

    /// Returns the time at which [`Routing::handle_deadline`] is due.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Handles all timers that have expired.
    fn handle_deadline(&mut self, _now: Instant) {}

    // Reports of the MAC.

    /// Handles the reception of a frame from the neighbour `from`, with this signal strength and
    /// link quality indication.
    fn handle_heard(&mut self, _now: Instant, _from: u16, _rssi_dbm: i8, _lqi: u8) {}

    /// Handles a data request from the neighbour `from`: that neighbour sleeps.
    fn handle_asked(&mut self, _now: Instant, _from: u16) {}

    /// Handles the result of a frame to the neighbour `to`: the number of transmissions, as far as
    /// the radio has reported them, and whether it was acknowledged.
    fn handle_sent(&mut self, _now: Instant, _to: Address, _transmissions: u8, _acked: bool) {}

    /// Handles the state of the queue: `waiting` packets of `room` wait for the radio.
    fn handle_queue(&mut self, _now: Instant, _waiting: usize, _room: usize) {}

    /// Sets the time for which a broadcast is repeated on each of so many channels, until all
    /// neighbours have been awake: their wake-up period, or zero if they are always on.
    fn set_broadcast_time(&mut self, _period: Duration, _channels: u32) {}

    // The node's position in the network.

    /// Returns the next change, one at a time.
    fn poll_change(&mut self) -> Option<Change> {
        None
    }

    /// Returns whether a sleeping device must keep its receiver on, because a response may arrive
    /// at any time.
    fn listens(&self) -> bool {
        false
    }

    /// Returns whether its messages indicate to parents that a leaf sleeps. If not, a leaf polls a
    /// new parent at once, and the parent learns it from the poll.
    fn announces_sleep(&self) -> bool {
        true
    }

    /// Returns whether [`Routing::handle_leaf`] can be processed now; if not, that call waits.
    fn serves_leaves(&self) -> bool {
        false
    }

    /// Handles a host without routing that is registered here, again, or no longer.
    fn handle_leaf(&mut self, _now: Instant, _leaf: &RegisteredHost) {}

    /// Handles an address that the node has got by [`Change::Address`], and did not have before.
    fn handle_address(&mut self, _address: Ipv6Addr) {}

    // Observation.

    /// Calls `each` with its name, and every reason for which it discarded, refused or lost
    /// something.
    fn reasons(&self, _each: &mut Each<'_>) {}

    /// Calls `each` with every relation of this node that it keeps.
    fn relations(&self, _each: &mut EachRelation<'_>) {}

    // Discovery of routes on demand.

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

    // Routing data in packets; called only if `Additions` extends headers.

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
    ) -> Result<Option<NextHop>, Refusal> {
        Ok(None)
    }

    /// Does the same for a packet that follows a source route to the neighbour `next`; `option` is
    /// empty if it has none.
    ///
    /// # Errors
    /// The reason of the discard: [`Refusal::NoRoute`] if the neighbour cannot be reached.
    fn follow(
        &mut self,
        _now: Instant,
        _next: Ipv6Addr,
        _option: &mut [u8],
    ) -> Result<(), Refusal> {
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
    type Additions = NoHeaders;
    type Waiting<H: Copy + Debug> = [Option<H>; 0];

    fn is_on(&self) -> bool {
        false
    }

    fn route(&self, _: Ipv6Addr) -> Option<Learnt> {
        None
    }
}
