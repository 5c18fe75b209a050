//! Table sizes of a node as a process.

use kinglet::mac::{CcmStar, PeerCounter, Sliced};
use kinglet::nd::Serving;
use kinglet::net::ExtendedIphc;
use kinglet::{Discovered, Rpled, rpl};

kinglet::profile! {
    /// A node on a machine with enough memory: RPL and discovery in every role, or neither, and
    /// larger tables than those of a mote.
    pub struct Process {
        routing: Rpled<Self>,
        headers: ExtendedIphc,
        discovery: Discovered<Self, 8>,
        serving: Option<Serving<Self>>,
        security: CcmStar<Sliced, [PeerCounter; 64]>,
        discovered: 32,
        default_routers: 4,
        autoconfigured: 4,
        registrations: 64,
        prefixes: 2,
        frames: 4,
        neighbours: 32,
        packets: 32,
        storage: 1500,
        reassemblies: 8,
        output: 16,
        addresses: 4,
        groups: 2,
        routes: 32,
        static_neighbours: 32,
        contexts: 16,
        udp_sockets: 4,
        forwards: true,
        connections: 15,
        send_buffer: 8192,
        receive_buffer: 8192,
        segments: 22,
        listeners: 4,
        half_open: 4,
        time_wait: 8,
        ipv6_fragments: kinglet::net::Ipv6Reassembly<4>,
        features: kinglet::tcp::Full,
    }
}

impl rpl::Sizes for Process {
    type Objective = rpl::Standard;
    type Candidates = [Option<rpl::Candidate>; 16];
    type Routes = [Option<rpl::Route>; 128];
}
