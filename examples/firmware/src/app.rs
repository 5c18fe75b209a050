//! Shared parts of `pair` and `leaf`: the settings of two nodes that know each other, and the size
//! of their segments.

use core::net::Ipv6Addr;
use kinglet::Config;
use kinglet::mac::{Key, Security};
use kinglet::tcp::{ConnectionConfig, ListenConfig};

/// Port of streams.
pub const PORT: u16 = 7;
/// Short addresses of the receiver and of the sender.
pub const RECEIVER: u16 = 0;
pub const SENDER: u16 = 1;
/// fe80::ff:fe00:0, which follows from the receiver's short address (RFC 6282, 3.2.2).
pub const RECEIVER_ADDRESS: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, RECEIVER);
/// MSS for this number of frames, TCP options included. Each frame has 125 octets minus a MAC
/// header of 9 and link security, and link-local addresses with elided IIDs compress the IPv6
/// header to 3.
pub const fn mss(frames: u8, security_octets: usize) -> u16 {
    match kinglet::net::mss_for_frames(frames, 116 - security_octets, 3, 20) {
        Some(mss) => mss,
        None => ConnectionConfig::DEFAULT.mss,
    }
}
/// Octets of link security in a frame: level, counter and key index, integrity code.
pub const SECURITY_OCTETS: usize = 1 + 4 + 1 + 4;
/// A public key, for tests.
pub const SECURITY: Security =
    Security { key: Key(*b"kinglet firmware"), eui64_prefix: [0; 6], first_counter: 0 };
/// A connection whose segments fill five frames.
pub const CONNECTION: ConnectionConfig =
    ConnectionConfig { mss: mss(5, 0), ..ConnectionConfig::DEFAULT };

/// The settings of the node with this short address.
pub fn config(short: u16) -> Config {
    // A product uses a source of entropy for seed and secret; a test must not.
    let seed = u64::from(short) + 1;
    Config::repeatable(short, [0; 8], seed, [seed as u8; 16])
}

/// A listener for one connection with these settings.
pub fn listen(connection: ConnectionConfig) -> ListenConfig {
    ListenConfig { backlog: 1, connection, ..ListenConfig::default() }
}
