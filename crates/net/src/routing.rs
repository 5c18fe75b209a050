//! Routes that are learnt: who learns them is not known here, only how to ask. How the messages by
//! which they are learnt come and go is in `net/messages.rs`.

use crate::tables::NextHop;
use core::net::Ipv6Addr;

/// What is learnt of a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learnt {
    /// The length of the prefix that this is about: static routes of this length or more come
    /// first.
    pub prefix_len: u8,
    /// Where to; `None` if the destination cannot be reached.
    pub via: Option<NextHop>,
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

    /// What is known of the way to `dst`; `None` if nothing ever will be.
    fn route(&self, dst: Ipv6Addr) -> Option<Learnt>;
}

/// Static routes only.
impl Routing for () {
    const NONE: Self = ();
    const PORT: Option<u16> = None;

    fn route(&self, _: Ipv6Addr) -> Option<Learnt> {
        None
    }
}
