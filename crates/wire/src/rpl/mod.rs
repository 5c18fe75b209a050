//! RPL (RFC 6550): control messages and their options, metrics (RFC 6551), and headers of packets:
//! the RPL option (RFC 6553) and the source routing header (RFC 6554).
//!
//! A control message is an ICMPv6 message of type [`ICMPV6_TYPE`]. This module reads and writes the
//! octets after the checksum; the ICMPv6 code selects their format. Secure messages (RFC 6550, 10)
//! are refused: on these links security is the link layer's.

mod message;
mod metric;
mod option;
mod packet_information;
mod source_route;
#[cfg(test)]
mod tests;
mod writer;

pub use message::{Dao, DaoAck, Dio, Dis, Message};
pub use metric::{Metric, MetricContainer, MetricKind};
pub use option::{
    Configuration, ControlOption, Options, PrefixInformation, RouteInformation, Solicited, Target,
    Transit,
};
pub use packet_information::PacketInformation;
pub use source_route::{SourceRoute, SourceRouteFault};
pub use writer::Writer;

use core::net::Ipv6Addr;

/// Type of the ICMPv6 messages of RPL (RFC 6550, 6).
pub const ICMPV6_TYPE: u8 = 155;

/// Destination of messages to all RPL nodes of a link: ff02::1a (RFC 6550, 6).
pub const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 0x1A);

/// Code of an ICMPv6 Destination Unreachable: error in source routing header (RFC 6554, 7).
pub const ERROR_IN_SOURCE_ROUTE: u8 = 7;

/// Returns the address whose first bits are those of `octets` and whose others are zero; `None` if
/// there are fewer octets.
fn prefix_of(octets: &[u8], bits: u8) -> Option<Ipv6Addr> {
    let len = octets_of(bits);
    let mut whole = [0; 16];
    whole.get_mut(..len)?.copy_from_slice(octets.get(..len)?);
    Some(masked(Ipv6Addr::from(whole), bits))
}

/// Returns the number of octets that hold this many bits of a prefix.
const fn octets_of(bits: u8) -> usize {
    bits.div_ceil(8) as usize
}

/// Returns the address with all but its first bits zero.
fn masked(address: Ipv6Addr, bits: u8) -> Ipv6Addr {
    let kept = u128::MAX.checked_shl(128u32.saturating_sub(bits.into())).unwrap_or(0);
    Ipv6Addr::from_bits(address.to_bits() & kept)
}
