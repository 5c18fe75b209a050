//! The memory of simulated nodes.

use crate::backoff::EitherBackoff;
use crate::control::AnyControl;
use crate::discovery::Optional;
use crate::learning::Learning;
use crate::memory::{Devices, Growing, Later, Octets};
use crate::store::Kept;
use core::net::Ipv6Addr;
use kinglet::wire::sixlowpan::Context;
use kinglet::{aodv, mac, mesh, net, polling, rpl, tcp};

/// Octets of a TCP buffer: room for eight segments of five frames (TCPlp Fig. 3b) or four of eight
/// (Fig. 3a). Scenarios use as much of it as they say.
pub const BUFFER: usize = 4096;

/// Sockets of a node: to send from and to receive at, one for each flow of datagrams.
pub const UDP_SOCKETS: usize = 64;
/// Static routes of a node, the default route included.
pub const ROUTES: usize = 64;
/// TCP connections of a node. Ten at once for a web server, and two to spare.
pub const CONNECTIONS: usize = 12;
/// Ports of a node that accept connections.
pub const LISTENERS: usize = CONNECTIONS;

/// Devices of which a node accepts secured frames: in a street of meters it hears two hundred.
pub(crate) const PEERS: usize = 512;

/// Leaves of one parent.
pub(crate) const CHILDREN: usize = 16;
/// Routers of a mesh, the border router among them: each knows all others, and the way out.
pub const MESH_ROUTERS: usize = 1024;
/// Leaves of a mesh: each router knows all of them.
pub const MESH_LEAVES: usize = 1024;

/// Nodes of a network with RPL beside its root: in storing mode a router knows all those below it,
/// else the root all.
pub const RPL_TARGETS: usize = 8192;

/// Destinations that a node with AODV knows: ends of flows, and those who have sought somebody.
pub const AODV_ROUTES: usize = 256;

/// Octets of a packet: what every node should accept in fragments (RFC 8200 §5).
pub(crate) const STORAGE: usize = 1560;
/// Packets received, forwarded and sent.
pub const PACKETS: usize = 96;

/// The memory of every simulated node: one type of node plays every role, and experiments vary
/// windows at run time. What only some roles fill takes memory when they do ([`crate::memory`]).
#[derive(Clone, Copy, Debug)]
pub struct LabProfile;

/// Slots of the MAC beside the usual ones, where everybody sleeps.
const STROBED_SLOTS: usize = 3;

impl mac::Sizes for LabProfile {
    type Queue = [mac::Slot; 3 + STROBED_SLOTS];
    type Neighbours = [mac::Neighbour; 16];
    type Listening = mac::Waking<mac::Sampled>;
    type Reach = mac::Strobing<
        mac::Sleepers<[mac::Sleeper<mac::Samples>; CHILDREN]>,
        Later<mac::Strobed, 16>,
        STROBED_SLOTS,
    >;
    type Security = mac::CcmStar<mac::Sliced, Devices<PEERS>>;
    type Backoff = EitherBackoff;
}

impl net::Sizes for LabProfile {
    const FORWARDS: bool = true;
    const DETECTS_CONGESTION: bool = true;
    const REPORTS_ERRORS: bool = true;
    type Storage = Octets<STORAGE>;
    type Packets = [net::Slot<Self::Storage>; PACKETS];
    type Reassembly = [Option<net::Partial>; 6];
    type Output = [Option<net::Queued>; 20];
    type Host = [Option<net::Queued>; 16];
    type Border = net::BorderQueue<64>;
    type Children = [Option<net::Child>; CHILDREN];
    type Indirect = [Option<net::Parked>; CHILDREN];
    type Addresses = [Option<net::InterfaceAddress>; 2];
    type Groups = Later<Option<Ipv6Addr>, 2>;
    type Routes = Growing<net::Route, ROUTES>;
    type Neighbours = [Option<net::Neighbour>; 2];
    type Contexts = [Option<Context>; 4];
    type Routing = Learning<Self>;
    type Discovery = Optional;
    type Fragmentation = net::Rfc8930<Later<Option<net::Virtual>, 16>, Kept>;
    type Ipv6Fragments = net::Originals<4>;
    type Headers = net::ExtendedIphc;
    type UdpSockets = Later<net::UdpSocket, UDP_SOCKETS>;
}

impl mesh::Sizes for LabProfile {
    type Neighbours = Growing<mesh::Neighbour, 24>;
    type Routes = Growing<mesh::Route, MESH_ROUTERS>;
    type Leaves = Growing<mesh::Leaf, MESH_LEAVES>;
}

impl rpl::Sizes for LabProfile {
    type Objective = rpl::Standard;
    type Candidates = Growing<rpl::Candidate, 24>;
    type Routes = Growing<rpl::Route, RPL_TARGETS>;
}

impl aodv::Sizes for LabProfile {
    type Routes = Growing<aodv::Route, AODV_ROUTES>;
    type Requests = Growing<aodv::Request, 32>;
    type Searches = Growing<aodv::Search, 8>;
    type Links = Growing<aodv::Link, 24>;
}

impl tcp::Sizes for LabProfile {
    type Congestion = AnyControl;
    type SendBuffer = Octets<BUFFER>;
    type Pieces = [tcp::Piece; 1];
    type ReceiveBuffer = Octets<BUFFER>;
    type ReceiveMap = Octets<{ BUFFER / 8 }>;
    type Features = tcp::WithPolicies;
    type Segments = [tcp::SegmentRecord; 16];
    type Connections<K: tcp::Peer> = [tcp::Slot<K, Self>; CONNECTIONS];
    type Listeners = [Option<tcp::Listener>; LISTENERS];
    type HalfOpen<K: tcp::Peer> = [Option<tcp::HalfOpen<K>>; 12];
    type TimeWait<K: tcp::Peer> = [Option<tcp::TimeWait<K>>; 12];
    type Servers<K: tcp::Peer> = [Option<tcp::KnownServer<K>>; 1];
}

impl polling::Sizes for LabProfile {
    type Sources = [polling::Source; 2];
    type Applications = [polling::Application; 3];
}
