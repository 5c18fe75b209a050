//! What ICMPv6 has brought and the application may ask for: echo replies and errors.

use core::net::Ipv6Addr;
use kinglet_time::Instant;
use kinglet_wire::icmpv6::Kind;

/// An echo reply that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoReply {
    /// Who answered.
    pub src: Ipv6Addr,
    /// Identifier.
    pub ident: u16,
    /// Sequence number.
    pub seq: u16,
    /// Octets of data.
    pub len: u16,
    /// Hop limit it arrived with.
    pub hop_limit: u8,
    /// When it arrived.
    pub at: Instant,
}

/// An ICMPv6 error about a packet that this node sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorReport {
    /// What went wrong.
    pub kind: Kind,
    /// Who says so.
    pub reporter: Ipv6Addr,
    /// The packet's source: an address of ours.
    pub src: Ipv6Addr,
    /// The packet's destination.
    pub dst: Ipv6Addr,
    /// The packet's upper protocol: TCP, UDP or ICMPv6.
    pub protocol: u8,
    /// The first eight octets of the upper layer: for TCP ports and sequence number (RFC 5927,
    /// 4.1: believe only what is in flight), for UDP ports, length and checksum.
    pub upper: [u8; 8],
}

impl ErrorReport {
    /// Source and destination port of a TCP segment or UDP datagram.
    pub const fn ports(&self) -> (u16, u16) {
        let [a, b, c, d, ..] = self.upper;
        (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
    }
}
