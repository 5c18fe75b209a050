//! Routes that are learnt: who learns them is not known here, only how to ask. How the messages by
//! which they are learnt come and go is in `net/messages.rs`.

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

/// What is learnt of a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learnt {
    /// The length of the prefix that this is about: static routes of this length or more come
    /// first.
    pub prefix_len: u8,
    /// Where to; `None` if the destination cannot be reached.
    pub via: Option<NextHop>,
}

/// The most octets of extension headers that routing adds to a packet: an option of RPL, and a
/// source route of 64 octets.
pub const MAX_ADDED: usize = 72;

/// The headers of packets that nothing is added to ([`Routing::Head`]).
pub type PlainHead = [u8; MAX_HEAD];

/// The same with what routing adds, and an outer header.
pub type ExtendedHead = [u8; MAX_HEAD + MAX_ADDED + ipv6::HEADER_LEN];

/// Where a packet that is about to be sent comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It begins here.
    Here,
    /// It was forwarded, and has an option of routing.
    Marked,
    /// It was forwarded, and has none: from outside, or from a neighbour who knows nothing of
    /// routing.
    Bare,
}

/// What is added to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Added {
    /// Of which kind the first extension header is (RFC 8200, 4, Next Header).
    pub kind: u8,
    /// Octets of all of them, at most [`MAX_ADDED`].
    pub len: usize,
    /// Where the packet goes first: to its destination, unless a source route says otherwise.
    pub dst: Ipv6Addr,
    /// The source of an outer header, which these extension headers are behind; `None` if they
    /// become part of the packet itself. Its destination is `dst` then.
    pub outer: Option<Ipv6Addr>,
}

/// Who learns routes.
pub trait Routing {
    /// Who has not learnt any.
    const NONE: Self;
    /// The UDP port of the messages, `None` if there are none. No socket gets what comes to it.
    const PORT: Option<u16>;
    /// The types of ICMPv6 whose messages it takes: none that [`Net`](crate::Net) or discovery has
    /// a use for. RPL's is 155 (RFC 6550, 6).
    const ICMPV6: &'static [u8] = &[];
    /// The multicast group that those messages go to, of which every node with this routing is a
    /// member.
    const GROUP: Option<Ipv6Addr> = None;

    /// Whether packets carry something of it: the RPL option (RFC 6553), source routes (RFC 6554),
    /// outer headers (RFC 9008). If not, nothing of all that is in the program.
    const EXTENDS: bool = false;
    /// Room for the headers of a packet whose payload stays where it is: [`PlainHead`], or
    /// [`ExtendedHead`] of one that extends them.
    type Head: Array<u8> + Debug;
    /// Packets that wait until a way was found; of no length if none is ever sought, and then
    /// nothing of that is in the program.
    type Waiting: Array<Option<PacketHandle>> + Debug;

    /// What is known of the way to `dst`; `None` if nothing ever will be.
    fn route(&self, dst: Ipv6Addr) -> Option<Learnt>;

    /// Whether ways to `dst` are sought when packets need them.
    fn seeks(&self, _dst: Ipv6Addr) -> bool {
        false
    }

    /// Whether one is being sought.
    fn is_seeking(&self, _dst: Ipv6Addr) -> bool {
        false
    }

    /// A packet that begins here needs a way to `dst`, and [`Routing::route`] knows none; whether
    /// one is being sought now.
    fn seek(&mut self, _now: Instant, _dst: Ipv6Addr) -> bool {
        false
    }

    /// A packet from `src` to `dst` goes the way that [`Routing::route`] has told; it has come from
    /// this neighbour, or [`Address::None`] if it begins here.
    fn handle_use(&mut self, _now: Instant, _src: Ipv6Addr, _dst: Ipv6Addr, _from: Address) {}

    /// A packet to `dst` that has come from this neighbour has no way to go on. Whether that is
    /// told by routing, so that no error is sent to its source, who may know of another way.
    fn handle_stray(&mut self, _now: Instant, _dst: Ipv6Addr, _from: Address) -> bool {
        false
    }

    /// A packet to `dst` has come back to this node.
    fn handle_loop(&mut self, _now: Instant, _dst: Ipv6Addr) {}

    /// What is added to a packet with this header before it goes to the radio; the extension
    /// headers are written to `out`, the Next Header of the last one says what follows them.
    fn add(&self, _packet: &Header, _origin: Origin, _out: &mut [u8; MAX_ADDED]) -> Option<Added> {
        None
    }

    /// The frame that is being taken came from this neighbour; [`Address::None`] if it is the host
    /// interface that something came from.
    fn handle_arrival(&mut self, _from: Address) {}

    /// A packet with this header is for this node or the host behind it, and its RPL option has
    /// this data.
    fn take(&mut self, _now: Instant, _packet: &Header, _option: &[u8]) {}

    /// A packet with this header is to be forwarded. Its RPL option has this data, which is brought
    /// up to date. Where to; `None` if routes that others know tell.
    ///
    /// # Errors
    /// Why it goes no further.
    fn relay(
        &mut self,
        _now: Instant,
        _packet: &Header,
        _option: &mut [u8],
    ) -> Result<Option<NextHop>, Discard> {
        Ok(None)
    }

    /// The same for a packet that follows a source route to the neighbour `next`; `option` is empty
    /// if it has none.
    ///
    /// # Errors
    /// Why it goes no further: [`Discard::NoRoute`] if the neighbour cannot be reached.
    fn follow(
        &mut self,
        _now: Instant,
        _next: Ipv6Addr,
        _option: &mut [u8],
    ) -> Result<(), Discard> {
        Ok(())
    }

    /// A packet to `destination` waits, and the parent is another one than when its RPL option got
    /// this data. Where to if it goes up, and the option is brought up to date; else `None`.
    fn divert(&self, _destination: Ipv6Addr, _option: &mut [u8]) -> Option<NextHop> {
        None
    }

    /// Whether an outer header from `src` is removed at this node, whom the packet is for: the
    /// node's role needs it, and `src` is inside the routing domain (RFC 9008, 4.1 and 12).
    fn ends_tunnel(&self, _src: Ipv6Addr) -> bool {
        false
    }

    /// Whether `dst` is a neighbour that the option of a packet means nothing to.
    fn is_unaware(&self, _dst: Ipv6Addr) -> bool {
        false
    }

    /// The node at `reporter` could not pass a packet of this node's on to `next` as its source
    /// route says (RFC 6550, 20.18: Destination Unreachable, code 7).
    fn handle_broken_route(&mut self, _now: Instant, _reporter: Ipv6Addr, _next: Ipv6Addr) {}

    /// The DODAG that packets are routed in, if nodes of it may write what is added as 6LoWPAN
    /// Routing Headers (RFC 8138).
    fn dodag(&self) -> Option<Dodag> {
        None
    }

    /// Octets of a frame that what is added takes when it is compressed, in packets to or from
    /// `remote`: so much less has room in a segment.
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
