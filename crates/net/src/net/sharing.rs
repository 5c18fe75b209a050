//! Evidence that packets of other nodes of the mesh need the channel of this node.

use super::{Net, Sizes};
use crate::incoming::Arrival;
use crate::relay::Relaying;
use core::net::Ipv6Addr;
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::is_link_local;
use kinglet_wire::sixlowpan::link_address_of;

/// Time for which one packet is evidence. A flow without a share sends seldom, when its
/// retransmission timer expires, and its share has to last until its next attempt.
const MEMORY: Duration = Duration::from_secs(30);

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Returns the time until which other nodes of the mesh are taken to need the channel of this
    /// node. It follows the last packet that this node has forwarded by radio, or that has come
    /// from another node than the neighbour that sent it and than the destination of this node's
    /// last packet. Packets that a border router passes between its host and a neighbour are no
    /// such evidence. Only plans that forward fragments ([`Rfc8930`](crate::Rfc8930)) keep this
    /// time; others return [`Instant::ZERO`].
    pub fn shared_until(&self) -> Instant {
        self.relay.get().map_or(Instant::ZERO, |relay| relay.shared_until)
    }

    /// Notes that a packet of another node was forwarded by radio.
    pub(super) fn note_shared(&mut self, now: Instant) {
        if let Some(relay) = self.relay.get_mut() {
            relay.shared_until = now + MEMORY;
        }
    }

    /// Notes the destination of an own packet.
    pub(super) fn note_own(&mut self, dst: Ipv6Addr) {
        if let Some(relay) = self.relay.get_mut() {
            relay.own_went_to = dst;
        }
    }

    /// Notes the source of a packet that a neighbour has sent: if it is another node of the mesh,
    /// the neighbour relays. Its answers to own packets are no evidence: these take the same path.
    pub(super) fn note_source(&mut self, now: Instant, src: &Ipv6Addr, arrival: Arrival) {
        let Some(relay) = self.relay.get() else { return };
        if arrival.from != Address::None
            && !arrival.broadcast
            && arrival.from != link_address_of(*src)
            && *src != relay.own_went_to
            && !is_link_local(*src)
            && !self.is_stranger(src)
        {
            self.note_shared(now);
        }
    }
}
