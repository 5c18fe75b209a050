//! Routes that are learnt: who learns them is not known here, only how to ask, and how the messages
//! by which they are learnt come and go.
//!
//! Messages are UDP datagrams between link-local addresses with hop limit 255, which no router
//! lets through: they come from a neighbour or not at all (RFC 5082). They have no socket, go
//! before data and are never parked for a child, for one that awaits an answer listens.

use crate::config::Sizes;
use crate::input::Fate;
use crate::net::Net;
use crate::stats::{Discard, bump};
use crate::submit::{Headers, Queued, SendError, Upper};
use crate::tables::{NextHop, link_local};
use core::net::Ipv6Addr;
use core::ops::Range;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{Header, is_link_local, protocol};
use kinglet_wire::udp;

/// Only a neighbour can have sent it.
const HOP_LIMIT: u8 = 255;
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);

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

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Who learns routes.
    pub const fn routing(&self) -> &S::Routing {
        &self.routing
    }

    /// Who learns routes.
    pub const fn routing_mut(&mut self) -> &mut S::Routing {
        &mut self.routing
    }

    /// Whether there is room for a routing message.
    pub fn can_send_routing_message(&self) -> bool {
        !self.control.is_full() && self.pool.free() > 1
    }

    /// Sends a routing message to the neighbour with this link address, or to all
    /// ([`Address::BROADCAST`]).
    ///
    /// # Errors
    /// [`SendError`]; nothing was sent.
    pub fn send_routing_message(
        &mut self,
        _now: Instant,
        to: Address,
        data: &[u8],
    ) -> Result<(), SendError> {
        let port = S::Routing::PORT.ok_or(SendError::NotBound)?;
        let src = link_local(self.config.link).ok_or(SendError::NoRoute)?;
        let dst = match to {
            to if to.is_broadcast() => ALL_NODES,
            to => link_local(to).ok_or(SendError::NoRoute)?,
        };
        if !self.can_send_routing_message() {
            return Err(SendError::NoBuffer);
        }
        let usual = self.headers(src, dst, Upper::Udp { src_port: port, dst_port: port });
        let packet = self.compose_with(1, &Headers { hop_limit: HOP_LIMIT, ..usual }, data)?;
        // There is room, as was asked above.
        let _ = self.control.push(Queued::new(packet, to));
        bump(&mut self.stats.datagrams_out);
        Ok(())
    }
}

/// A datagram for the port of the routing messages.
pub(crate) fn routing_input(header: &Header, upper: Range<usize>) -> Fate {
    if header.hop_limit != HOP_LIMIT || !is_link_local(header.src) {
        return Fate::Drop(Discard::HopLimit);
    }
    Fate::Deliver(upper.start.saturating_add(udp::HEADER_LEN)..upper.end, protocol::UDP)
}
