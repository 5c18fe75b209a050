//! ICMPv6 results that the application may poll: echo replies and errors.

use core::net::Ipv6Addr;
use kinglet_time::Instant;
use kinglet_wire::icmpv6::Kind;

/// A received echo reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoReply {
    /// Source address of the reply.
    pub src: Ipv6Addr,
    /// Identifier.
    pub ident: u16,
    /// Sequence number.
    pub seq: u16,
    /// Octets of data.
    pub len: u16,
    /// Hop limit on arrival.
    pub hop_limit: u8,
    /// Time of arrival.
    pub at: Instant,
}

/// An ICMPv6 error about a packet that this node sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorReport {
    /// The error.
    pub kind: Kind,
    /// Source address of the error message.
    pub reporter: Ipv6Addr,
    /// Source of the quoted packet: an address of this node.
    pub src: Ipv6Addr,
    /// Destination of the quoted packet.
    pub dst: Ipv6Addr,
    /// Upper protocol of the quoted packet: TCP, UDP or ICMPv6.
    pub protocol: u8,
    /// The first eight octets of the upper layer: for TCP ports and sequence number (RFC 5927, 4.1:
    /// accept only errors about data in flight), for UDP ports, length and checksum.
    pub upper: [u8; 8],
}

impl ErrorReport {
    /// Returns source and destination port of a TCP segment or UDP datagram.
    pub const fn ports(&self) -> (u16, u16) {
        let [a, b, c, d, ..] = self.upper;
        (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
    }
}
