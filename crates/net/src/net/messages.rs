//! The messages by which routes are learnt, and who learns them.
//!
//! Messages are UDP datagrams between link-local addresses with hop limit 255, which no router
//! lets through: they come from a neighbour or not at all (RFC 5082). They have no socket, go
//! before data and are never parked for a child, for one that awaits an answer listens.

use super::compose::{Headers, Upper};
use super::{Net, Sizes};
use crate::incoming::Fate;
use crate::outgoing::{Queued, SendError};
use crate::routing::Routing;
use crate::stats::{Discard, bump};
use crate::tables::link_local;
use core::net::Ipv6Addr;
use core::ops::Range;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{Header, is_link_local, protocol};
use kinglet_wire::udp;

/// Only a neighbour can have sent it.
const HOP_LIMIT: u8 = 255;
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);

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
