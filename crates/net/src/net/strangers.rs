//! Classifies packets of strangers for sleeping neighbours: solicited or charged (`allowance.rs`).
//!
//! A stranger has an address that no own prefix and no 6LoWPAN context covers. Nodes of the mesh
//! are no strangers, because their link is secured. A host that the configuration names by a
//! context is no stranger either. In a tunnel the inner headers decide.

use super::{Net, Sizes};
use crate::allowance::Sent;
use crate::pool::PacketHandle;
use core::net::Ipv6Addr;
use core::num::NonZeroU32;
use kinglet_mem::{Array, fingerprint};
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{Chain, HEADER_LEN, Header, is_link_local, protocol, same_prefix};

/// Offset of TCP's flags, and the flags that open or refuse a connection.
const FLAGS_AT: usize = 13;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;
/// ICMPv6 types.
const ECHO_REQUEST: u8 = 128;
const ECHO_REPLY: u8 = 129;

/// The flow of a packet.
struct Flow {
    src: Ipv6Addr,
    dst: Ipv6Addr,
    protocol: u8,
    /// Source and destination port, or the identifier of an echo.
    ports: (u16, u16),
    /// TCP's flags, or ICMPv6's type.
    kind: u8,
}

impl Flow {
    /// Returns the flow of the packet in these octets, or of the packet in a tunnel.
    fn read(octets: &[u8]) -> Option<Flow> {
        let outer = Header::read(octets).ok()?;
        let mut chain = Chain::new(octets, outer.next_header);
        chain.by_ref().for_each(drop);
        if chain.next_header() != protocol::IPV6 {
            return Some(Self::of(octets, &outer, &chain));
        }
        let octets = octets.get(chain.offset()..)?;
        let inner = Header::read(octets).ok()?;
        let mut chain = Chain::new(octets, inner.next_header);
        chain.by_ref().for_each(drop);
        Some(Self::of(octets, &inner, &chain))
    }

    /// Returns the flow from a packet's headers; missing octets of the upper layer count as 0.
    fn of(octets: &[u8], header: &Header, chain: &Chain<'_>) -> Flow {
        let upper = octets.get(chain.offset()..).unwrap_or_default();
        let at = |offset: usize| upper.get(offset).copied().unwrap_or(0);
        let word = |offset: usize| u16::from_be_bytes([at(offset), at(offset.saturating_add(1))]);
        let protocol = chain.next_header();
        let (ports, kind) = match protocol {
            protocol::TCP => ((word(0), word(2)), at(FLAGS_AT)),
            protocol::UDP => ((word(0), word(2)), 0),
            protocol::ICMPV6 => ((word(4), word(4)), at(0)),
            _ => ((0, 0), 0),
        };
        Flow { src: header.src, dst: header.dst, protocol, ports, kind }
    }

    /// Returns the same number for both directions: of the stranger's address and port, and the
    /// port of the neighbour. `None` in a table means that there is no flow.
    fn key(stranger: &Ipv6Addr, protocol: u8, far: u16, near: u16) -> NonZeroU32 {
        let ports = [far.to_be_bytes(), near.to_be_bytes()];
        let octets = stranger.octets();
        fingerprint(octets.iter().chain(ports.as_flattened()).chain([&protocol]))
    }

    /// For a packet to the neighbour: returns its key, and whether it may be solicited.
    fn inward(&self) -> (NonZeroU32, bool) {
        let asked = match self.protocol {
            protocol::TCP => self.kind & (SYN | ACK) != SYN,
            protocol::ICMPV6 => self.kind == ECHO_REPLY,
            protocol => protocol == protocol::UDP,
        };
        (Self::key(&self.src, self.protocol, self.ports.0, self.ports.1), asked)
    }

    /// For a packet of the neighbour: returns its key, and the side that began.
    fn outward(&self) -> (NonZeroU32, Sent) {
        let sent = match (self.protocol, self.kind) {
            (protocol::TCP, flags) if flags & RST != 0 || flags & (SYN | ACK) == SYN | ACK => {
                Sent::Answer
            }
            (protocol::TCP, _) | (protocol::ICMPV6, ECHO_REQUEST) => Sent::Own,
            (protocol::UDP, _) => Sent::Either,
            _ => Sent::Answer,
        };
        (Self::key(&self.dst, self.protocol, self.ports.1, self.ports.0), sent)
    }

    /// Returns the charged octets: a SYN-ACK causes data requests until the handshake is over.
    fn weight(&self, len: usize) -> usize {
        let opens = self.protocol == protocol::TCP && self.kind & (SYN | ACK) == SYN | ACK;
        if opens { len.saturating_add(2 * HEADER_LEN) } else { len }
    }
}

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Returns whether neither an own prefix nor a context covers an address.
    pub(super) fn is_stranger(&self, address: &Ipv6Addr) -> bool {
        let contexts = self.contexts.as_slice().iter().flatten();
        let own = self.addresses.as_slice().iter().flatten();
        let named = contexts.map(|it| (it.prefix, it.len));
        let mut known = named.chain(own.map(|own| (own.address, own.prefix_len)));
        !is_link_local(*address) && !known.any(|(prefix, len)| same_prefix(prefix, *address, len))
    }

    /// Returns whether a packet may wait for a child: unsolicited packets of strangers are charged.
    pub(crate) fn may_wait(&mut self, now: Instant, packet: PacketHandle, child: u16) -> bool {
        let octets = self.pool.get(packet);
        let len = octets.len();
        let Some(flow) = Flow::read(octets).filter(|flow| self.is_stranger(&flow.src)) else {
            return true;
        };
        let (key, asked) = flow.inward();
        let mut children = self.children.as_mut_slice().iter_mut().flatten();
        let child = children.find(|it| it.short == child);
        child.is_none_or(|child| child.allowance.takes(now, key, asked, len))
    }

    /// Notes a forwarded packet that came from this neighbour, if the neighbour is a child.
    pub(crate) fn note_sent_by(&mut self, now: Instant, from: Address, packet: PacketHandle) {
        let Address::Short(child) = from else { return };
        if !self.is_child(child) {
            return;
        }
        let octets = self.pool.get(packet);
        let len = octets.len();
        let Some(flow) = Flow::read(octets) else { return };
        if flow.dst.is_multicast() || !self.is_stranger(&flow.dst) {
            return;
        }
        let (key, sent) = flow.outward();
        let mut children = self.children.as_mut_slice().iter_mut().flatten();
        if let Some(child) = children.find(|it| it.short == child) {
            child.allowance.note(now, key, sent, flow.weight(len));
        }
    }
}
