//! The memory of simulated nodes.

use kinglet::tcp::{self, Peer, congestion::NewReno};
use kinglet::wire::sixlowpan::Context;
use kinglet::{mesh, net};
use kinglet_mac as mac;

/// Octets of a TCP buffer: room for eight segments of five frames (TCPlp Fig. 3b) or four of eight
/// (Fig. 3a). Scenarios use as much of it as they say.
pub const BUFFER: usize = 4096;

/// Sockets of a node: to send from and to receive at, one for each flow of datagrams.
pub const UDP_SOCKETS: usize = 24;
/// Static routes of a node, the default route included.
pub const ROUTES: usize = 64;
/// TCP connections of a node. Ten at once for a web server, and two to spare.
pub const CONNECTIONS: usize = 12;
/// Ports of a node that accept connections.
pub const LISTENERS: usize = CONNECTIONS;

/// The memory of every simulated node: a border router's tables with larger buffers, so that one
/// type of node can play every role and experiments can vary windows at run time.
#[derive(Clone, Copy, Debug)]
pub struct LabProfile;

/// Leaves of one parent.
pub(crate) const CHILDREN: usize = 16;

impl mac::Sizes for LabProfile {
    type Queue = [mac::Slot; 3];
    type Neighbours = [mac::Neighbour; 16];
    type Peers = [mac::Peer; 64];
    type Sleepers = [mac::Sleeper; CHILDREN];
    type Cipher = mac::Sliced;
}

impl net::Sizes for LabProfile {
    type Storage = [u8; 1280];
    type Packets = [net::Slot<Self::Storage>; 24];
    type Reassembly = [Option<net::Partial>; 6];
    type Output = [Option<net::Queued>; 20];
    type Host = [Option<net::Queued>; 16];
    type Children = [Option<net::Child>; CHILDREN];
    type Indirect = [Option<net::Parked>; CHILDREN];
    type Addresses = [Option<net::InterfaceAddress>; 2];
    type Routes = [Option<net::Route>; ROUTES];
    type Neighbours = [Option<net::Neighbour>; 2];
    type Contexts = [Option<Context>; 4];
    type Routing = kinglet::Meshed<Self>;
    type UdpSockets = [net::UdpSocket; UDP_SOCKETS];
}

impl mesh::Sizes for LabProfile {
    type Neighbours = [Option<mesh::Neighbour>; 24];
    type Routes = [Option<mesh::Route>; 48];
    type Leaves = [Option<mesh::Leaf>; 32];
}

impl tcp::Sizes for LabProfile {
    type Congestion = NewReno;
    type SendBuffer = [u8; BUFFER];
    type Pieces = [tcp::Piece; 1];
    type ReceiveBuffer = [u8; BUFFER];
    type ReceiveMap = [u8; BUFFER / 8];
    type Segments = [tcp::SegmentRecord; 16];
    type Connections<K: Peer> = [tcp::Slot<K, Self>; CONNECTIONS];
    type Listeners = [Option<tcp::Listener>; LISTENERS];
    type HalfOpen<K: Peer> = [Option<tcp::HalfOpen<K>>; 12];
    type TimeWait<K: Peer> = [Option<tcp::TimeWait<K>>; 12];
    type Servers<K: Peer> = [Option<tcp::KnownServer<K>>; 1];
}
