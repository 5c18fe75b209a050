//! Headers of a packet.

use core::net::Ipv6Addr;
use kinglet::wire::ipv6::protocol::{HOP_BY_HOP, ICMPV6, IPV6, ROUTING, TCP, UDP};
use kinglet::wire::ipv6::{HEADER_LEN, Header};
use kinglet::wire::tcp::Flags;

/// Octets of a transport header that are constant over all hops: those of TCP without options.
const KEPT: usize = 20;

/// Destination Options header (RFC 8200, 4.6).
const DESTINATION: u8 = 60;

/// Headers of a packet without those of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Source address.
    pub src: Ipv6Addr,
    /// Destination address.
    pub dst: Ipv6Addr,
    /// Protocol number after the extension headers.
    pub protocol: u8,
    /// Source and destination port of TCP and UDP.
    pub ports: Option<(u16, u16)>,
    /// Header of a TCP segment.
    pub segment: Option<Segment>,
    /// ICMPv6 type.
    pub icmp_type: Option<u8>,
    /// Octets of payload after the transport header.
    pub payload: u16,
    /// Start of the transport header, padded with zeros.
    kept: [u8; KEPT],
}

/// The header of a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number, if the ACK bit is set.
    pub ack: Option<u32>,
    /// Its flags.
    pub flags: Flags,
}

/// Fields of a packet that are constant over all hops.
pub(super) type Key = (Ipv6Addr, Ipv6Addr, u8, [u8; KEPT]);

impl Head {
    /// Reads the headers of a packet, which may be truncated.
    pub(super) fn read(packet: &[u8]) -> Option<Head> {
        let (mut packet, mut header) = (packet, Header::read(packet).ok()?);
        let mut rest = packet.get(HEADER_LEN..)?;
        let mut left = usize::from(header.payload_len);
        let mut dst = header.dst;
        let mut next = header.next_header;
        loop {
            match next {
                HOP_BY_HOP | DESTINATION | ROUTING => {
                    let len = 8 + 8 * usize::from(*rest.get(1)?);
                    if next == ROUTING
                        && let Some(last) = last_address(rest.get(..len)?, header.dst)
                    {
                        dst = last;
                    }
                    next = *rest.first()?;
                    rest = rest.get(len..)?;
                    left = left.checked_sub(len)?;
                }
                IPV6 => {
                    packet = rest;
                    header = Header::read(packet).ok()?;
                    dst = header.dst;
                    rest = packet.get(HEADER_LEN..)?;
                    left = usize::from(header.payload_len);
                    next = header.next_header;
                }
                _ => break,
            }
        }
        let mut kept = [0; KEPT];
        let known = if next == TCP { KEPT } else { 8 }.min(rest.len());
        kept[..known].copy_from_slice(&rest[..known]);
        let port = |at: usize| u16::from_be_bytes([kept[at], kept[at + 1]]);
        let word = |at: usize| u32::from(port(at)) << 16 | u32::from(port(at + 2));
        let flags = Flags::from_bits(kept[13].into());
        let (segment, header_len) = match next {
            TCP => {
                let ack = flags.contains(Flags::ACK).then(|| word(8));
                let segment = Segment { seq: word(4), ack, flags };
                (Some(segment), usize::from(kept[12] >> 4) * 4)
            }
            _ => (None, 8),
        };
        Some(Head {
            src: header.src,
            dst,
            protocol: next,
            ports: matches!(next, TCP | UDP).then(|| (port(0), port(2))),
            segment,
            icmp_type: (next == ICMPV6).then(|| kept[0]),
            payload: left.saturating_sub(header_len) as u16,
            kept,
        })
    }

    pub(super) fn key(&self) -> Key {
        (self.src, self.dst, self.protocol, self.kept)
    }

    pub(super) fn is_tcp(&self) -> bool {
        self.protocol == TCP
    }

    pub(super) fn is_udp(&self) -> bool {
        self.protocol == UDP
    }
}

/// Last address of a source route (RFC 6554, 3) that is not used up: the packet's destination.
fn last_address(header: &[u8], dst: Ipv6Addr) -> Option<Ipv6Addr> {
    let (kind, segments_left) = (*header.get(2)?, *header.get(3)?);
    if kind != 3 || segments_left == 0 {
        return None;
    }
    // Octets elided from the last address and from the others, and octets of padding.
    let elided = usize::from(header.get(4)? & 15);
    let pad = usize::from(header.get(5)? >> 4);
    let end = header.len().checked_sub(pad)?;
    let last = header.get(end.checked_sub(16 - elided)?..end)?;
    let mut octets = dst.octets();
    octets[elided..].copy_from_slice(last);
    Some(octets.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(next: u8, dst: u16, upper: &[u8]) -> Vec<u8> {
        let address = |n| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, n);
        let header = Header {
            traffic_class: 0,
            flow_label: 0,
            payload_len: upper.len() as u16,
            next_header: next,
            hop_limit: 64,
            src: address(1),
            dst: address(dst),
        };
        let mut octets = vec![0; HEADER_LEN];
        header.emit(&mut octets).expect("there is room");
        octets.extend(upper);
        octets
    }

    /// Ports 80 and 90, sequence number 5, ACK of 6, window 7, then three octets.
    const SEGMENT: [u8; 23] =
        [0, 80, 0, 90, 0, 0, 0, 5, 0, 0, 0, 6, 0x50, 16, 0, 7, 1, 2, 0, 0, 9, 9, 9];

    #[test]
    fn a_segment_is_read_behind_options_a_route_and_a_tunnel() {
        let plain = Head::read(&packet(6, 9, &SEGMENT)).expect("a segment");
        assert_eq!(plain.ports, Some((80, 90)));
        let segment = Segment { seq: 5, ack: Some(6), flags: Flags::ACK };
        assert_eq!((plain.segment, plain.payload), (Some(segment), 3));
        let mut options = vec![6, 0, 0x63, 4, 0, 0, 1, 0];
        options.extend(SEGMENT);
        assert_eq!(Head::read(&packet(0, 9, &options)), Some(plain));
        // Via node 2 to node 9: one address remains, without its first eight octets.
        let mut routed = vec![6, 1, 3, 1, 0x88, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
        routed.extend(SEGMENT);
        assert_eq!(Head::read(&packet(43, 2, &routed)), Some(plain));
        let inner = packet(6, 9, &SEGMENT);
        assert_eq!(Head::read(&packet(41, 3, &inner)), Some(plain));
    }

    #[test]
    fn octets_that_end_early_are_no_headers() {
        let whole = packet(6, 9, &SEGMENT);
        assert_eq!(Head::read(&whole[..39]), None);
        let options = packet(0, 9, &[6, 4, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Head::read(&options), None);
    }
}
