//! Profiles: the length of every table of a node, and the choice of the layers' alternatives.
//!
//! Size of a place on a 32-bit core (a build for one checks it), and number of places:
//!
//! | table | octets | [`Mote`] | [`Router`] | [`BorderRouter`] |
//! |---|---|---|---|---|
//! | MAC: frames | 152 | 3 | 4 | 4 |
//! | MAC: neighbours | 72 | 4 | 16 | 32 |
//! | MAC: devices received from with the key | 12 | 16 | 32 | 64 |
//! | MAC, network layer: children that sleep | 40 + 48 | 0 | 6 | 16 |
//! | network layer: packets for them | 40 | 0 | 6 | 16 |
//! | mesh: routers in range | 16 | 0 | 12 | 16 |
//! | mesh: other routers | 24 | 0 | 20 | 32 |
//! | mesh: leaves | 16 | 0 | 16 | 32 |

use crate::discovery::Discovery;
use crate::polling;
use kinglet_mac as mac;
use kinglet_mesh::Meshed;
use kinglet_net as net;
use kinglet_tcp as tcp;

/// The type of a whole node: the length of each table, and the choice of the layers' alternatives.
/// [`profile!`](crate::profile!) makes one from the differences from the smallest node.
pub trait Profile:
    mac::Sizes + net::Sizes<Discovery: Discovery> + tcp::Sizes + polling::Sizes + Sized
{
}

impl<T> Profile for T where
    T: mac::Sizes + net::Sizes<Discovery: Discovery> + tcp::Sizes + polling::Sizes
{
}

/// Makes a [`Profile`](crate::Profile): a struct with named differences from a small node that is
/// always on and has static routes.
///
/// Lengths are the fields of [`Lengths`](crate::Lengths); a length that is not named is that of
/// [`Lengths::SMALL`](crate::Lengths::SMALL). Types are
///
/// | name | choice | default |
/// |---|---|---|
/// | `routing` | routing protocol: `()` (static), [`Meshed<Self>`], [`Rpled`], [`Aoded`] | `()` |
/// | `discovery` | discovery of link addresses: `()` or [`Discovered<Self>`] | `()` |
/// | `serving` | role of discovery as a router: `()` or [`Serving<Self>`] | `()` |
/// | `listener` | reports of multicast groups to routers: `()` or [`Reporting`] | `()` |
/// | `listening` | radio on: [`AlwaysOn`], [`Polled`], [`Sampled`], [`Waking`] | `AlwaysOn` |
/// | `delivery_method` | to sleepy nodes: [`Sleepers`] for `children`, [`Strobing`] | `()` |
/// | `security` | link security: [`CcmStar`], by a cipher or by the radio | `()` |
/// | `backoff` | CSMA-CA backoff: [`Exponential`], [`TinyOs`] | `Exponential` |
/// | `border` | queue of a border router: `()` or [`BorderQueue`] | `()` |
/// | `fragmentation` | fragments and their forwarding: [`Rfc4944`], [`Rfc8930`] | `Rfc4944` |
/// | `ipv6_fragments` | packets of more than 1280 octets: refused, or [`Ipv6Reassembly`] | `()` |
/// | `headers` | header compression: [`Iphc`] | the same |
/// | `congestion` | [`NewReno`](crate::tcp::congestion), or another controller | `NewReno` |
/// | `features` | TCP's extensions: [`Full`], [`Usual`], [`Small`], [`WithPolicies`] | `Usual` |
/// | `recovery` | `()`: New Reno; [`ByTimeout`]: timeouts only | RACK-TLP by `segments` records |
///
/// [`Meshed<Self>`]: crate::Meshed
/// [`Rpled`]: crate::Rpled
/// [`Aoded`]: crate::Aoded
/// [`Discovered<Self>`]: crate::Discovered
/// [`Serving<Self>`]: crate::nd::Serving
/// [`Reporting`]: crate::nd::Reporting
/// [`AlwaysOn`]: crate::mac::AlwaysOn
/// [`Polled`]: crate::mac::Polled
/// [`Sampled`]: crate::mac::Sampled
/// [`Waking`]: crate::mac::Waking
/// [`Sleepers`]: crate::mac::Sleepers
/// [`Strobing`]: crate::mac::Strobing
/// [`CcmStar`]: crate::mac::CcmStar
/// [`Exponential`]: crate::mac::Exponential
/// [`TinyOs`]: crate::mac::TinyOs
/// [`BorderQueue`]: crate::net::BorderQueue
/// [`Rfc4944`]: crate::net::Rfc4944
/// [`Rfc8930`]: crate::net::Rfc8930
/// [`Ipv6Reassembly`]: crate::net::Ipv6Reassembly
/// [`Iphc`]: crate::net::Iphc
/// [`ByTimeout`]: crate::tcp::ByTimeout
/// [`Full`]: crate::tcp::Full
/// [`Usual`]: crate::tcp::Usual
/// [`WithPolicies`]: crate::tcp::WithPolicies
/// [`Small`]: crate::tcp::Small
///
/// ```
/// use kinglet::{Config, Node, radio::Capabilities, tcp::congestion::Cubic};
///
/// kinglet::profile! {
///     /// One connection that sends readings, by large windows, to a host.
///     pub struct Sensor {
///         congestion: Cubic,
///         send_buffer: 4096,
///         receive_buffer: 256,
///         segments: 11,
///         storage: 640,
///         listeners: 0,
///         udp_sockets: 0,
///     }
/// }
///
/// let config = Config::repeatable(1, [0; 8], 1, [1; 16]).unsecured();
/// let node: Node<Sensor> = Node::new(config, Capabilities::NONE);
/// assert!(size_of_val(&node) < 12 * 1024); // on a host; less where a pointer has 32 bits
/// ```
///
/// An unknown name does not compile, and the compiler lists the valid names. A plan that cannot
/// work does not compile either ([`Lengths::check`](crate::Lengths::check)):
///
/// ```compile_fail,E0560
/// kinglet::profile! { struct Sensor { conections: 1 } }
/// ```
/// ```compile_fail,E0080
/// kinglet::profile! { struct Sensor { packets: 2 } }
/// ```
#[macro_export]
macro_rules! profile {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident { $($entries:tt)* }) => {
        $(#[$attribute])*
        $visibility struct $name;
        $crate::__profile!(@sort $name [] [] $($entries)*);
    };
}

/// The parts of [`profile!`]. `@sort` takes the entries one by one: types go into the first list,
/// lengths into the second. `@implement` has them all; `@type` looks for one type in the list.
///
/// A new type takes a line in each of the three, and one in the table above.
#[doc(hidden)]
#[macro_export]
macro_rules! __profile {
    (@sort $name:ident $types:tt [$($lengths:tt)*]) => {
        const _: () = {
            // A name that is not a field is an error here, and the message says so.
            const LENGTHS: $crate::Lengths =
                $crate::Lengths { $($lengths)* ..$crate::Lengths::SMALL };
            $crate::__profile!(@implement $name LENGTHS $types);
            // A plan that cannot work is an error here, and the message says why.
            const _: () = LENGTHS.check::<$name>();
        };
    };
    (@sort $name:ident [$($types:tt)*] $lengths:tt routing: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__profile!(@sort $name [$($types)* {routing $type}] $lengths $($($rest)*)?);
    };
    (@sort $name:ident [$($types:tt)*] $lengths:tt discovery: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__profile!(@sort $name [$($types)* {discovery $type}] $lengths $($($rest)*)?);
    };
    (@sort $name:ident [$($types:tt)*] $lengths:tt serving: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__profile!(@sort $name [$($types)* {serving $type}] $lengths $($($rest)*)?);
    };
    (@sort $name:ident [$($types:tt)*] $lengths:tt listener: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__profile!(@sort $name [$($types)* {listener $type}] $lengths $($($rest)*)?);
    };
    (@sort $name:ident [$($types:tt)*] $lengths:tt listening: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__profile!(@sort $name [$($types)* {listening $type}] $lengths $($($rest)*)?);
    };
    (@sort $name:ident [$($types:tt)*] $lengths:tt
        delivery_method: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__profile!(@sort $name [$($types)* {delivery_method $type}] $lengths $($($rest)*)?);
    };
    (@sort $name:ident [$($types:tt)*] $lengths:tt security: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__profile!(@sort $name [$($types)* {security $type}] $lengths $($($rest)*)?);
    };
    (@sort $name:ident [$($types:tt)*] $lengths:tt backoff: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__profile!(@sort $name [$($types)* {backoff $type}] $lengths $($($rest)*)?);
    };
    (@sort $name:ident [$($types:tt)*] $lengths:tt congestion: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__profile!(@sort $name [$($types)* {congestion $type}] $lengths $($($rest)*)?);
    };
    (@sort $name:ident [$($types:tt)*] $lengths:tt fragmentation: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__profile!(@sort $name [$($types)* {fragmentation $type}] $lengths $($($rest)*)?);
    };
    (@sort $name:ident [$($types:tt)*] $lengths:tt ipv6_fragments: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__profile!(@sort $name [$($types)* {ipv6_fragments $type}] $lengths $($($rest)*)?);
    };
    (@sort $name:ident [$($types:tt)*] $lengths:tt border: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__profile!(@sort $name [$($types)* {border $type}] $lengths $($($rest)*)?);
    };
    (@sort $name:ident [$($types:tt)*] $lengths:tt headers: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__profile!(@sort $name [$($types)* {headers $type}] $lengths $($($rest)*)?);
    };
    (@sort $name:ident [$($types:tt)*] $lengths:tt features: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__profile!(@sort $name [$($types)* {features $type}] $lengths $($($rest)*)?);
    };
    (@sort $name:ident [$($types:tt)*] $lengths:tt recovery: $type:ty $(, $($rest:tt)*)?) => {
        $crate::__profile!(@sort $name [$($types)* {recovery $type}] $lengths $($($rest)*)?);
    };
    (@sort $name:ident $types:tt [$($lengths:tt)*] $key:ident: $length:expr $(, $($rest:tt)*)?) => {
        $crate::__profile!(@sort $name $types [$($lengths)* $key: $length,] $($($rest)*)?);
    };

    (@type routing $default:ty; {routing $type:ty} $($rest:tt)*) => { $type };
    (@type discovery $default:ty; {discovery $type:ty} $($rest:tt)*) => { $type };
    (@type serving $default:ty; {serving $type:ty} $($rest:tt)*) => { $type };
    (@type listener $default:ty; {listener $type:ty} $($rest:tt)*) => { $type };
    (@type listening $default:ty; {listening $type:ty} $($rest:tt)*) => { $type };
    (@type delivery_method $default:ty; {delivery_method $type:ty} $($rest:tt)*) => { $type };
    (@type security $default:ty; {security $type:ty} $($rest:tt)*) => { $type };
    (@type backoff $default:ty; {backoff $type:ty} $($rest:tt)*) => { $type };
    (@type congestion $default:ty; {congestion $type:ty} $($rest:tt)*) => { $type };
    (@type fragmentation $default:ty; {fragmentation $type:ty} $($rest:tt)*) => { $type };
    (@type ipv6_fragments $default:ty; {ipv6_fragments $type:ty} $($rest:tt)*) => { $type };
    (@type border $default:ty; {border $type:ty} $($rest:tt)*) => { $type };
    (@type headers $default:ty; {headers $type:ty} $($rest:tt)*) => { $type };
    (@type features $default:ty; {features $type:ty} $($rest:tt)*) => { $type };
    (@type recovery $default:ty; {recovery $type:ty} $($rest:tt)*) => { $type };
    (@type $key:ident $default:ty; $other:tt $($rest:tt)*) => {
        $crate::__profile!(@type $key $default; $($rest)*)
    };
    (@type $key:ident $default:ty;) => { $default };

    (@implement $name:ident $lengths:ident [$($types:tt)*]) => {
        impl $crate::mac::Sizes for $name {
            type Queue = [$crate::mac::Slot; $lengths.frames];
            type Neighbours = [$crate::mac::Neighbour; $lengths.neighbours];
            type Listening =
                $crate::__profile!(@type listening $crate::mac::AlwaysOn; $($types)*);
            type DeliveryMethod = $crate::__profile!(@type delivery_method (); $($types)*);
            type Security = $crate::__profile!(@type security (); $($types)*);
            type Backoff =
                $crate::__profile!(@type backoff $crate::mac::Exponential; $($types)*);
        }

        impl $crate::net::Sizes for $name {
            const FORWARDS: bool = $lengths.forwards;
            const DETECTS_CONGESTION: bool = $lengths.detects_congestion;
            const REPORTS_ERRORS: bool = $lengths.reports_errors;
            type Storage = [u8; $lengths.storage];
            type Packets = [$crate::net::Slot<Self::Storage>; $lengths.packets];
            type Reassembly = [Option<$crate::net::Partial>; $lengths.reassemblies];
            type Output = [Option<$crate::net::Queued>; $lengths.output];
            type Host = [Option<$crate::net::Queued>; $lengths.host];
            type Children = [Option<$crate::net::Child>; $lengths.children];
            type Indirect = [Option<$crate::net::Parked>; $lengths.indirect];
            type Addresses = [Option<$crate::net::InterfaceAddress>; $lengths.addresses];
            type Groups = [Option<core::net::Ipv6Addr>; $lengths.groups];
            type Routes = [Option<$crate::net::Route>; $lengths.routes];
            type Neighbours = [Option<$crate::net::Neighbour>; $lengths.static_neighbours];
            type Contexts = [Option<$crate::wire::sixlowpan::Context>; $lengths.contexts];
            type Routing = $crate::__profile!(@type routing (); $($types)*);
            type Discovery = $crate::__profile!(@type discovery (); $($types)*);
            type Fragmentation =
                $crate::__profile!(@type fragmentation $crate::net::Rfc4944; $($types)*);
            type Border = $crate::__profile!(@type border (); $($types)*);
            type Ipv6Fragments = $crate::__profile!(@type ipv6_fragments (); $($types)*);
            type Headers = $crate::__profile!(@type headers $crate::net::Iphc; $($types)*);
            type UdpSockets = [$crate::net::UdpSocket; $lengths.udp_sockets];
        }

        impl $crate::mesh::Sizes for $name {
            type Neighbours = [Option<$crate::mesh::Neighbour>; $lengths.mesh_neighbours];
            type Routes = [Option<$crate::mesh::Route>; $lengths.mesh_routes];
            type Leaves = [Option<$crate::mesh::Leaf>; $lengths.mesh_leaves];
            type Data = [u8; $lengths.network_data];
        }

        impl $crate::nd::Sizes for $name {
            type Neighbours = [Option<$crate::nd::Neighbour>; $lengths.discovered];
            type Routers = [Option<$crate::nd::DefaultRouter>; $lengths.default_routers];
            type Addresses = [Option<$crate::nd::Autoconfigured>; $lengths.autoconfigured];
            type Contexts = [Option<$crate::nd::Advertised>; $lengths.contexts];
            type Servers = [Option<$crate::nd::Server>; $lengths.name_servers];
            type Role = $crate::__profile!(@type serving (); $($types)*);
            type Listener = $crate::__profile!(@type listener (); $($types)*);
        }

        impl $crate::nd::RouterSizes for $name {
            type Registrations = [Option<$crate::nd::Registered>; $lengths.registrations];
            type Prefixes =
                [Option<$crate::nd::Offered<$crate::wire::nd::PrefixInformation>>;
                    $lengths.prefixes];
            type Contexts =
                [Option<$crate::nd::Offered<$crate::wire::nd::ContextInformation>>;
                    $lengths.contexts];
            type Servers =
                [Option<$crate::nd::Offered<$crate::nd::NameServer>>; $lengths.name_servers];
        }

        impl $crate::tcp::Sizes for $name {
            type Congestion = $crate::__profile!(
                @type congestion $crate::tcp::congestion::NewReno; $($types)*
            );
            type SendBuffer = [u8; $lengths.send_buffer];
            type Pieces = [$crate::tcp::Piece; $lengths.pieces];
            type ReceiveBuffer = [u8; $lengths.receive_buffer];
            type ReceiveMap = [u8; $lengths.receive_buffer.div_ceil(8)];
            type Features = $crate::__profile!(@type features $crate::tcp::Usual; $($types)*);
            type Segments = $crate::__profile!(
                @type recovery [$crate::tcp::SegmentRecord; $lengths.segments]; $($types)*
            );
            type Connections<K: $crate::tcp::Peer> =
                [$crate::tcp::Slot<K, Self>; $lengths.connections];
            type Listeners = [Option<$crate::tcp::Listener>; $lengths.listeners];
            type HalfOpen<K: $crate::tcp::Peer> =
                [Option<$crate::tcp::HalfOpen<K>>; $lengths.half_open];
            type TimeWait<K: $crate::tcp::Peer> =
                [Option<$crate::tcp::TimeWait<K>>; $lengths.time_wait];
            type Servers<K: $crate::tcp::Peer> =
                [Option<$crate::tcp::KnownServer<K>>; $lengths.servers];
        }

        impl $crate::polling::Sizes for $name {
            type PendingRequests = [$crate::polling::PendingRequest; $lengths.pending_requests];
            type Applications = [$crate::polling::Application; $lengths.applications];
        }
    };
}

profile! {
    /// A leaf with 32 KiB of RAM: two connections with the four-segment buffers of TCPlp §6.2 (1848
    /// octets, rounded up to 2 KiB).
    #[derive(Clone, Copy, Debug)]
    pub struct Mote {
        routing: Meshed<Self>,
        listening: mac::Sampled,
        security: mac::CcmStar<mac::Tabled, [mac::PeerCounter; 16]>,
        features: tcp::Full,
        neighbours: 4,
        packets: 5,
        reassemblies: 2,
        output: 3,
        addresses: 2,
        groups: 2,
        routes: 4,
        static_neighbours: 2,
        contexts: 4,
        udp_sockets: 2,
        forwards: true,
        detects_congestion: true,
        connections: 2,
        send_buffer: 2048,
        receive_buffer: 2048,
        pieces: 2,
        segments: 6,
        listeners: 2,
        half_open: 2,
        time_wait: 2,
        servers: 1,
        pending_requests: 2,
        applications: 3,
    }
}

profile! {
    /// A relay: more packets, more neighbours, the same two connections.
    #[derive(Clone, Copy, Debug)]
    pub struct Router {
        routing: Meshed<Self>,
        listening: mac::Sampled,
        delivery_method: mac::Sleepers<[mac::Sleeper<mac::Samples>; 6]>,
        security: mac::CcmStar<mac::Tabled, [mac::PeerCounter; 32]>,
        features: tcp::Full,
        frames: 4,
        neighbours: 16,
        children: 6,
        indirect: 6,
        packets: 12,
        reassemblies: 4,
        output: 10,
        addresses: 2,
        groups: 2,
        routes: 16,
        static_neighbours: 2,
        contexts: 4,
        udp_sockets: 2,
        forwards: true,
        detects_congestion: true,
        mesh_neighbours: 12,
        mesh_routes: 20,
        mesh_leaves: 16,
        connections: 2,
        send_buffer: 2048,
        receive_buffer: 2048,
        pieces: 2,
        segments: 6,
        listeners: 2,
        half_open: 2,
        time_wait: 2,
        servers: 1,
        pending_requests: 2,
        applications: 3,
    }
}

profile! {
    /// A relay with an interface to a host in addition to its radio.
    #[derive(Clone, Copy, Debug)]
    pub struct BorderRouter {
        routing: Meshed<Self>,
        listening: mac::Sampled,
        delivery_method: mac::Sleepers<[mac::Sleeper<mac::Samples>; 16]>,
        security: mac::CcmStar<mac::Sliced, [mac::PeerCounter; 64]>,
        features: tcp::Full,
        border: net::BorderQueue<16>,
        frames: 4,
        neighbours: 32,
        children: 16,
        indirect: 16,
        packets: 32,
        reassemblies: 8,
        output: 12,
        host: 16,
        addresses: 2,
        groups: 2,
        routes: 64,
        static_neighbours: 2,
        contexts: 4,
        udp_sockets: 4,
        forwards: true,
        detects_congestion: true,
        mesh_neighbours: 16,
        mesh_routes: 32,
        mesh_leaves: 32,
        connections: 4,
        send_buffer: 4096,
        receive_buffer: 4096,
        pieces: 2,
        segments: 11,
        listeners: 2,
        half_open: 4,
        time_wait: 4,
        servers: 1,
        pending_requests: 2,
        applications: 3,
    }
}

// Sizes of the places in the tables of MAC and mesh, as stated in the table above.
#[cfg(target_pointer_width = "32")]
const _: () = {
    use kinglet_mesh as mesh;
    assert!(size_of::<mac::Slot>() == 152);
    assert!(size_of::<mac::Neighbour>() == 72);
    assert!(size_of::<mac::PeerCounter>() == 12);
    assert!(size_of::<mac::Sleeper<mac::Samples>>() == 40);
    assert!(size_of::<Option<net::Child>>() == 48);
    assert!(size_of::<Option<net::Parked>>() == 40);
    assert!(size_of::<Option<mesh::Neighbour>>() == 16);
    assert!(size_of::<Option<mesh::Route>>() == 24);
    assert!(size_of::<Option<mesh::Leaf>>() == 16);
};

// TCP's memory in a mote, in octets, checked by every build for a 32-bit machine.
#[cfg(target_pointer_width = "32")]
const _: () = {
    use crate::peer::AddressPair;
    // Two rings of 2048 octets with a bit for each octet received.
    const BUFFERS: usize = 2048 + 2048 + 256;
    // Six records of segments in flight and two of constant data.
    const TABLES: usize = 6 * size_of::<tcp::SegmentRecord>() + 2 * size_of::<tcp::Piece>();
    assert!(size_of::<tcp::Slot<AddressPair, Mote>>() - BUFFERS - TABLES <= 320);
    assert!(size_of::<Option<tcp::HalfOpen<AddressPair>>>() <= 72);
    assert!(size_of::<Option<tcp::TimeWait<AddressPair>>>() <= 44);
    assert!(size_of::<Option<tcp::Listener>>() <= 40);
};
