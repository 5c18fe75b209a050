//! The memory plan of simulated nodes.

use kinglet::net;
use kinglet::tcp::{self, Peer, congestion::NewReno};
use kinglet::wire::sixlowpan::Context;
use kinglet_mac as mac;

/// Octets of a TCP buffer: room for eight segments of five frames (TCPlp Fig. 3b) or four of eight
/// (Fig. 3a). Scenarios use as much of it as they say.
pub const BUFFER: usize = 4096;

/// The plan of every simulated node: a border router's tables with larger buffers, so that one type
/// of node can play every role and experiments can vary windows at run time.
#[derive(Clone, Copy, Debug)]
pub struct LabPlan;

impl mac::Sizes for LabPlan {
    type Queue = [mac::Slot; 3];
    type Neighbours = [mac::Neighbour; 16];
}

impl net::Sizes for LabPlan {
    type Storage = [u8; 1280];
    type Packets = [net::Slot<Self::Storage>; 24];
    type Reassembly = [Option<net::Partial>; 6];
    type Output = [Option<net::Queued>; 20];
    type Host = [Option<net::Queued>; 16];
    type Addresses = [Option<net::InterfaceAddress>; 2];
    type Routes = [Option<net::Route>; 64];
    type Neighbours = [Option<net::Neighbour>; 2];
    type Contexts = [Option<Context>; 4];
    type UdpSockets = [net::UdpSocket; 2];
}

impl tcp::Sizes for LabPlan {
    type Congestion = NewReno;
    type SendBuffer = [u8; BUFFER];
    type ReceiveBuffer = [u8; BUFFER];
    type ReceiveMap = [u8; BUFFER / 8];
    // Ten at once for a web server, and two to spare.
    type Connections<K: Peer> = [tcp::Slot<K, Self>; 12];
    type Listeners = [Option<tcp::Listener>; 4];
    type HalfOpen<K: Peer> = [Option<tcp::HalfOpen<K>>; 12];
    type TimeWait<K: Peer> = [Option<tcp::TimeWait<K>>; 12];
}
