//! Memory plans: how many of everything a node has.
//!
//! A plan implements the `Sizes` traits of the layers, and that makes it a [`Profile`]. Copy
//! one of these and change its lengths to make your own.
//!
//! What a place costs on a 32-bit core (a build for one checks it), and how many there are:
//!
//! | table | octets | [`Mote`] | [`Router`] | [`BorderRouter`] |
//! |---|---|---|---|---|
//! | MAC: frames | 152 | 3 | 4 | 4 |
//! | MAC: neighbours | 72 | 4 | 16 | 32 |
//! | MAC: devices with the key that are ever heard | 12 | 16 | 32 | 64 |
//! | MAC, network layer: children that sleep | 40 + 4 | 0 | 6 | 16 |
//! | network layer: packets for them | 40 | 0 | 6 | 16 |
//! | mesh: routers in range | 16 | 0 | 12 | 16 |
//! | mesh: other routers | 24 | 0 | 20 | 32 |
//! | mesh: leaves | 16 | 0 | 16 | 32 |

use crate::meshed::Meshed;
use crate::routing::Routing;
use kinglet_mac as mac;
use kinglet_mesh as mesh;
use kinglet_net as net;
use kinglet_tcp as tcp;
use kinglet_tcp::Peer;
use kinglet_tcp::congestion::NewReno;

/// A memory plan for a whole node.
pub trait Profile: mac::Sizes + net::Sizes<Routing: Routing> + tcp::Sizes + Sized {}

impl<T> Profile for T where T: mac::Sizes + net::Sizes<Routing: Routing> + tcp::Sizes {}

/// A leaf with 32 KiB of RAM: two connections with the four-segment buffers of TCPlp §6.2 (1848
/// octets, rounded up to 2 KiB).
#[derive(Clone, Copy, Debug)]
pub struct Mote;

/// A node that relays for others: more packets, more neighbours, the same two connections.
#[derive(Clone, Copy, Debug)]
pub struct Router;

/// A relay with an interface to a host beside its radio.
#[derive(Clone, Copy, Debug)]
pub struct BorderRouter;

/// Implements the `Sizes` traits for a plan from its lengths.
macro_rules! plan {
    ($name:ident {
        frames: $frames:literal, neighbours: $neighbours:literal, peers: $peers:literal,
        packets: $packets:literal,
        reassemblies: $reassemblies:literal, output: $output:literal, host: $host:literal,
        cipher: $cipher:ident, children: $children:literal, indirect: $indirect:literal,
        routers: $routers:literal, ways: $ways:literal, leaves: $leaves:literal,
        routes: $routes:literal, udp: $udp:literal, connections: $connections:literal,
        buffer: $buffer:literal, segments: $segments:literal, half_open: $half_open:literal,
        listeners: $listeners:literal,
    }) => {
        impl mac::Sizes for $name {
            type Queue = [mac::Slot; $frames];
            type Neighbours = [mac::Neighbour; $neighbours];
            type Listening = mac::Sampled;
            type Reach = mac::Sleepers<[mac::Sleeper<mac::Samples>; $children]>;
            type Security = mac::CcmStar<mac::$cipher, [mac::Peer; $peers]>;
        }

        impl net::Sizes for $name {
            type Storage = [u8; 1280];
            type Packets = [net::Slot<Self::Storage>; $packets];
            type Reassembly = [Option<net::Partial>; $reassemblies];
            type Output = [Option<net::Queued>; $output];
            type Host = [Option<net::Queued>; $host];
            type Children = [Option<net::Child>; $children];
            type Indirect = [Option<net::Parked>; $indirect];
            type Addresses = [Option<net::InterfaceAddress>; 2];
            type Routes = [Option<net::Route>; $routes];
            type Neighbours = [Option<net::Neighbour>; 2];
            type Contexts = [Option<kinglet_wire::sixlowpan::Context>; 4];
            type Routing = Meshed<Self>;
            type UdpSockets = [net::UdpSocket; $udp];
        }

        impl mesh::Sizes for $name {
            type Neighbours = [Option<mesh::Neighbour>; $routers];
            type Routes = [Option<mesh::Route>; $ways];
            type Leaves = [Option<mesh::Leaf>; $leaves];
        }

        impl tcp::Sizes for $name {
            type Congestion = NewReno;
            type SendBuffer = [u8; $buffer];
            type Pieces = [tcp::Piece; 2];
            type ReceiveBuffer = [u8; $buffer];
            type ReceiveMap = [u8; $buffer / 8];
            type Segments = [tcp::SegmentRecord; $segments];
            type Connections<K: Peer> = [tcp::Slot<K, Self>; $connections];
            type Listeners = [Option<tcp::Listener>; $listeners];
            type HalfOpen<K: Peer> = [Option<tcp::HalfOpen<K>>; $half_open];
            type TimeWait<K: Peer> = [Option<tcp::TimeWait<K>>; $half_open];
            type Servers<K: Peer> = [Option<tcp::KnownServer<K>>; 1];
        }
    };
}

plan!(Mote {
    frames: 3,
    neighbours: 4,
    peers: 16,
    packets: 5,
    reassemblies: 2,
    output: 3,
    host: 0,
    cipher: Tabled,
    children: 0,
    indirect: 0,
    routers: 0,
    ways: 0,
    leaves: 0,
    routes: 4,
    udp: 2,
    connections: 2,
    buffer: 2048,
    segments: 6,
    half_open: 2,
    listeners: 2,
});

plan!(Router {
    frames: 4,
    neighbours: 16,
    peers: 32,
    packets: 12,
    reassemblies: 4,
    output: 10,
    host: 0,
    cipher: Tabled,
    children: 6,
    indirect: 6,
    routers: 12,
    ways: 20,
    leaves: 16,
    routes: 16,
    udp: 2,
    connections: 2,
    buffer: 2048,
    segments: 6,
    half_open: 2,
    listeners: 2,
});

plan!(BorderRouter {
    frames: 4,
    neighbours: 32,
    peers: 64,
    packets: 32,
    reassemblies: 8,
    output: 28,
    host: 16,
    cipher: Sliced,
    children: 16,
    indirect: 16,
    routers: 16,
    ways: 32,
    leaves: 32,
    routes: 64,
    udp: 4,
    connections: 4,
    buffer: 4096,
    segments: 11,
    half_open: 4,
    listeners: 2,
});

// What places in the tables of MAC and mesh cost, as the table above says.
#[cfg(target_pointer_width = "32")]
const _: () = {
    assert!(size_of::<mac::Slot>() == 152);
    assert!(size_of::<mac::Neighbour>() == 72);
    assert!(size_of::<mac::Peer>() == 12);
    assert!(size_of::<mac::Sleeper<mac::Samples>>() == 40);
    assert!(size_of::<Option<net::Child>>() == 4);
    assert!(size_of::<Option<net::Parked>>() == 40);
    assert!(size_of::<Option<mesh::Neighbour>>() == 16);
    assert!(size_of::<Option<mesh::Route>>() == 24);
    assert!(size_of::<Option<mesh::Leaf>>() == 16);
};

// What a mote pays for TCP, in octets, checked by every build for a 32-bit machine.
#[cfg(target_pointer_width = "32")]
const _: () = {
    use crate::peer::AddressPair;
    // Two rings of 2048 octets with a bit for each octet received.
    const BUFFERS: usize = 2048 + 2048 + 256;
    // Six records of segments in flight and two of constant data.
    const TABLES: usize = 6 * size_of::<tcp::SegmentRecord>() + 2 * size_of::<tcp::Piece>();
    assert!(size_of::<tcp::Slot<AddressPair, Mote>>() - BUFFERS - TABLES <= 400);
    assert!(size_of::<Option<tcp::HalfOpen<AddressPair>>>() <= 72);
    assert!(size_of::<Option<tcp::TimeWait<AddressPair>>>() <= 44);
    assert!(size_of::<Option<tcp::Listener>>() <= 40);
};
