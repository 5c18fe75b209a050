//! Memory of simulated nodes.

use crate::control::AnyControl;
use crate::discovery::Optional;
use crate::memory::{Devices, Growing, Later, Octets};
use crate::protocols::Learning;
use crate::store::Kept;
use core::net::Ipv6Addr;
use kinglet::wire::sixlowpan::Context;
use kinglet::{mac, net, polling, tcp};
use kinglet_scenario::EitherBackoff;

/// Octets of a TCP buffer: eight segments of five frames (TCPlp Fig. 3b) or four of eight (Fig.
/// 3a). Scenarios may use less of it.
pub const BUFFER: usize = 4096;

/// UDP sockets of a node: one to send and one to receive for each datagram flow.
pub const UDP_SOCKETS: usize = 64;
/// Static routes of a node, the default route included.
pub const ROUTES: usize = 64;
/// TCP connections of a node: ten at once for a web server, and two more.
pub const CONNECTIONS: usize = 12;
/// Ports of a node that accept connections.
pub const LISTENERS: usize = CONNECTIONS;

/// Devices from which a node accepts secured frames: in a street of meters it receives frames from
/// two hundred.
pub(crate) const PEERS: usize = 512;

/// Leaves of one parent.
pub(crate) const CHILDREN: usize = 16;
/// Octets of a packet: the size that every node should accept in fragments (RFC 8200 §5).
pub(crate) const STORAGE: usize = 1560;
/// Packets received, forwarded and sent.
pub const PACKETS: usize = 96;

/// Memory of every simulated node. One node type plays every role, and experiments vary windows at
/// run time. Tables that only some roles fill take memory on use ([`crate::memory`]).
#[derive(Clone, Copy, Debug)]
pub struct LabProfile;

/// MAC slots in addition to the usual ones, for networks in which all nodes are duty-cycled.
const STROBED_SLOTS: usize = 3;

impl mac::Sizes for LabProfile {
    type Queue = [mac::Slot; 3 + STROBED_SLOTS];
    type Neighbours = [mac::Neighbour; 16];
    type Listening = mac::Waking<mac::Sampled>;
    type DeliveryMethod = mac::Strobing<
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
    type Routing = Learning;
    type Discovery = Optional;
    type Fragmentation = net::Rfc8930<Later<Option<net::Virtual>, 16>, Kept>;
    type Ipv6Fragments = net::Ipv6Reassembly<4>;
    type Headers = net::ExtendedIphc;
    type UdpSockets = Later<net::UdpSocket, UDP_SOCKETS>;
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
    type PendingRequests = [polling::PendingRequest; 2];
    type Applications = [polling::Application; 3];
}
