//! Packets between the script's peer and the stack.

use super::request::SERVER_PORT;
use super::segment::SegmentText;
use crate::socket::in_ipv6;
use kinglet_wire::checksum::pseudo_header;
use kinglet_wire::icmpv6::{self, Kind, fill_checksum};
use kinglet_wire::ipv6::{self, protocol};
use kinglet_wire::tcp::{Flags, verify_checksum};
use std::net::Ipv6Addr;

/// The addresses of the stack and of the script's peer.
pub(super) const LOCAL: Ipv6Addr = Ipv6Addr::new(0xfd3d, 0x0a0b, 0x17d6, 0, 0, 0, 0, 1);
pub(super) const REMOTE: Ipv6Addr = Ipv6Addr::new(0xfd3d, 0xfa7b, 0xd17d, 0, 0, 0, 0, 1);
/// The port from which a script's peer connects.
const CLIENT_PORT: u16 = 40_000;

/// The ports of the connection of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    local: u16,
    remote: u16,
    /// True if the stack has called `connect`; its port is then taken from its SYN.
    pub(super) active: bool,
}

impl Default for Ends {
    fn default() -> Ends {
        Ends { local: SERVER_PORT, remote: CLIENT_PORT, active: false }
    }
}

impl Ends {
    /// Returns the same with another port of the peer.
    pub(super) fn elsewhere(self) -> Ends {
        Ends { remote: self.remote ^ 1, ..self }
    }

    /// State after a call of `connect`.
    pub(super) const ACTIVE: Ends = Ends { local: 0, remote: SERVER_PORT, active: true };
}

fn sum(src: Ipv6Addr, dst: Ipv6Addr, len: usize, protocol: u8) -> u16 {
    pseudo_header(src, dst, u32::try_from(len).unwrap_or(u32::MAX), protocol)
}

/// Returns a segment of the peer as a packet.
pub(super) fn inbound(ends: &Ends, live: &SegmentText, payload: &[u8]) -> Vec<u8> {
    let ports = (ends.remote, ends.local);
    let len = live.encode(ports, payload, 0).len();
    let octets = live.encode(ports, payload, sum(REMOTE, LOCAL, len, protocol::TCP));
    let mark = live.ecn.and_then(|values| values.first()).copied().unwrap_or(0);
    in_ipv6(REMOTE, LOCAL, protocol::TCP, mark, &octets)
}

/// Returns an ICMPv6 error about the stack's segment with the sequence number `seq`.
pub(super) fn icmp(ends: &Ends, kind: Kind, seq: u32) -> Vec<u8> {
    let quoted = SegmentText { flags: Flags::ACK, seq, ack: Some(0), ..SegmentText::EMPTY };
    let quoted = quoted.encode((ends.local, ends.remote), &[], 0);
    let quoted = in_ipv6(LOCAL, REMOTE, protocol::TCP, 0, &quoted);
    let mut octets = vec![0; icmpv6::HEADER_LEN];
    octets.extend_from_slice(&quoted);
    let sum = sum(REMOTE, LOCAL, octets.len(), protocol::ICMPV6);
    kind.emit(&mut octets).expect("the header has its length");
    fill_checksum(&mut octets, sum).expect("the header has its length");
    in_ipv6(REMOTE, LOCAL, protocol::ICMPV6, 0, &octets)
}

/// Returns a packet of the stack as a segment and its payload.
pub(super) fn outbound(
    octets: &[u8],
    ends: &mut Ends,
) -> Result<(SegmentText, Vec<u8>), &'static str> {
    let packet = ipv6::Packet::parse(octets).map_err(|_| "the stack sends a malformed packet")?;
    let header = *packet.header();
    let (upper, range) = packet.upper().map_err(|_| "the stack sends odd extension headers")?;
    let segment = packet.octets().get(range).unwrap_or(&[]);
    if upper != protocol::TCP || (header.src, header.dst) != (LOCAL, REMOTE) {
        return Err("the stack sends something else than TCP to its peer");
    }
    if !verify_checksum(segment, sum(LOCAL, REMOTE, segment.len(), protocol::TCP)) {
        return Err("the stack sends a wrong checksum");
    }
    let &[a, b, c, d] = segment.first_chunk().ok_or("the stack sends a malformed segment")?;
    if ends.active && ends.local == 0 {
        ends.local = u16::from_be_bytes([a, b]);
    }
    if (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])) != (ends.local, ends.remote) {
        return Err("the stack sends to other ports than those of the connection");
    }
    let decoded = SegmentText::decode(segment).ok_or("the stack sends a malformed segment")?;
    let (mut live, payload) = decoded;
    let mark = usize::from(header.traffic_class & 3);
    live.ecn = [&[0], &[1], &[2], &[3_u8]].get(mark).map(|value| value.as_slice());
    Ok((live, payload.to_vec()))
}
