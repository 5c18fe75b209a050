//! An attacker: packets and frames of an adversary without the key, drawn from a seed. Sans-IO; the
//! caller carries them to the victims and checks these.
//!
//! [`outside`] makes IPv6 packets for the host interface of a border router. [`air`] makes frames
//! for a nearby radio: replays, altered replays, forged frames, forged acknowledgements, jamming.

pub mod air;
mod message;
pub mod outside;

use core::net::Ipv6Addr;

/// The attacker's knowledge of the network: everything except the key.
#[derive(Clone, Debug)]
pub struct Known {
    /// Global addresses of the nodes, the border router's first.
    pub nodes: Vec<Ipv6Addr>,
    /// The address of the host whose flows it attacks.
    pub host: Ipv6Addr,
    /// TCP ports on which nodes or the host listen.
    pub ports: Vec<u16>,
    /// The UDP port of mesh and AODV messages.
    pub routing_port: u16,
    /// The PAN identifier.
    pub pan_id: u16,
    /// The short addresses of the nodes, the border router's first.
    pub shorts: Vec<u16>,
}

impl Known {
    /// Returns the link-local address of a node.
    fn near(&self, node: usize) -> Ipv6Addr {
        Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, self.shorts[node])
    }
}
