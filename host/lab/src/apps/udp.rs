//! Datagrams of scenarios.

pub use kinglet_apps::udp::Sink as UdpSink;
use kinglet_apps::udp::{MAX_DATAGRAM, Sender};

/// Sends a numbered datagram every period.
pub type UdpSender = Sender<[u8; MAX_DATAGRAM]>;
