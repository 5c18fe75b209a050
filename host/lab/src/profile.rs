//! The memory of simulated nodes.

use kinglet::mac;

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

/// Leaves of one parent.
pub(crate) const CHILDREN: usize = 16;
/// Routers of a mesh, the border router among them: each knows all others, and the way out.
pub const MESH_ROUTERS: usize = 48;
/// Leaves of a mesh: each router knows all of them.
pub const MESH_LEAVES: usize = 32;

kinglet::profile! {
    /// The memory of every simulated node: a border router's tables with larger buffers, so that
    /// one type of node can play every role and experiments can vary windows at run time.
    #[derive(Clone, Copy, Debug)]
    pub struct LabProfile {
        routing: kinglet::Meshed<Self>,
        listening: mac::Sampled,
        reach: mac::Sleepers<[mac::Sleeper<mac::Samples>; CHILDREN]>,
        security: mac::CcmStar<mac::Sliced, [mac::Peer; 64]>,
        features: kinglet::tcp::Full,
        neighbours: 16,
        children: CHILDREN,
        indirect: CHILDREN,
        packets: 24,
        reassemblies: 6,
        output: 20,
        host: 16,
        addresses: 2,
        groups: 2,
        routes: ROUTES,
        static_neighbours: 2,
        contexts: 4,
        udp_sockets: UDP_SOCKETS,
        forwards: true,
        detects_congestion: true,
        mesh_neighbours: 24,
        mesh_routes: MESH_ROUTERS,
        mesh_leaves: MESH_LEAVES,
        connections: CONNECTIONS,
        send_buffer: BUFFER,
        receive_buffer: BUFFER,
        pieces: 1,
        segments: 16,
        listeners: LISTENERS,
        half_open: 12,
        time_wait: 12,
        servers: 1,
        sources: 2,
        applications: 3,
    }
}
