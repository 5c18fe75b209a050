//! Lengths of the tables of a plan, and the check that a node with them can work.

use crate::profile::Profile;
use kinglet_mac as mac;
use kinglet_net as net;

/// Lengths of the tables of a [`Profile`], in places unless octets are stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Frames for the radio, one of them for control frames; 3 keep it busy.
    pub frames: usize,
    /// Neighbours with link statistics and duplicate rejection.
    pub neighbours: usize,
    /// Children that sleep.
    pub children: usize,
    /// Packets that wait for them: at least one for each.
    pub indirect: usize,
    /// Octets of a packet: 1280, IPv6's minimum MTU, unless smaller ones suffice; 1500 with
    /// `ipv6_fragments`. With RPL 1392, for packets of 1280 and the headers added to them.
    pub storage: usize,
    /// Packets received, forwarded and sent, 4 to 255; TCP's own segments are not among them.
    pub packets: usize,
    /// Datagrams arriving in fragments at a time, at least 1.
    pub reassemblies: usize,
    /// Packets that wait for the radio.
    pub output: usize,
    /// Packets that wait for the host interface; 0 where there is none.
    pub host: usize,
    /// Own addresses in addition to the link-local ones.
    pub addresses: usize,
    /// Multicast groups joined, in addition to the all-nodes group.
    pub groups: usize,
    /// Static routes.
    pub routes: usize,
    /// Static neighbours, for those whose IID does not contain the link address.
    pub static_neighbours: usize,
    /// Neighbours whose link address a [`Discovered`](crate::Discovered) learns.
    pub discovered: usize,
    /// Default routers that it learns.
    pub default_routers: usize,
    /// Own addresses that follow from their advertisements, among `addresses`.
    pub autoconfigured: usize,
    /// Name servers that it learns.
    pub name_servers: usize,
    /// Addresses that are registered with a router, if `serving` makes the node one; in a border
    /// router those of the whole network.
    pub registrations: usize,
    /// Prefixes that such a router advertises. `contexts` and `name_servers` also apply to those
    /// that it advertises.
    pub prefixes: usize,
    /// 6LoWPAN contexts, at most 16.
    pub contexts: usize,
    /// Bound UDP ports, with four datagrams each; at most 255.
    pub udp_sockets: usize,
    /// Enables forwarding: not a length.
    pub forwards: bool,
    /// Enables random early detection in the queue of a relay: not a length.
    pub detects_congestion: bool,
    /// Enables ICMPv6 errors to the senders of discarded packets (RFC 4443 §2.4): not a length.
    pub reports_errors: bool,
    /// Routers in range that a router of a [`Meshed`](crate::Meshed) keeps; 0 for a leaf.
    pub mesh_neighbours: usize,
    /// Other routers of the mesh; 0 for a leaf.
    pub mesh_routes: usize,
    /// Leaves that a router of the mesh keeps; 0 for a leaf.
    pub mesh_leaves: usize,
    /// TCP connections.
    pub connections: usize,
    /// Octets of a connection's send ring; 0 if it sends nothing but constant data.
    pub send_buffer: usize,
    /// Octets of a connection's receive ring, a multiple of 8.
    pub receive_buffer: usize,
    /// Pieces of constant data that a connection can have in its send queue at once.
    pub pieces: usize,
    /// Segments in flight, at most 255: two more than full ones fit into the send ring.
    pub segments: usize,
    /// Ports that accept connections.
    pub listeners: usize,
    /// Passive handshakes in progress.
    pub half_open: usize,
    /// Connections in TIME-WAIT, at least 1.
    pub time_wait: usize,
    /// Servers whose Fast Open cookie a client remembers; with 0 it does no Fast Open.
    pub servers: usize,
    /// Connections with a due time of their own in a node that sleeps.
    pub pending_requests: usize,
    /// Applications with a due time of their own
    /// ([`Node::expect_response`](crate::Node::expect_response)).
    pub applications: usize,
}

impl Lengths {
    /// The defaults of [`profile!`](crate::profile!): a node that is always on, in a network of
    /// static routes without link security, with one connection and one UDP port.
    pub const SMALL: Lengths = Lengths {
        frames: 3,
        neighbours: 2,
        children: 0,
        indirect: 0,
        storage: 1280,
        packets: 4,
        reassemblies: 1,
        output: 2,
        host: 0,
        addresses: 1,
        groups: 0,
        routes: 2,
        static_neighbours: 0,
        discovered: 0,
        default_routers: 0,
        autoconfigured: 0,
        name_servers: 0,
        registrations: 0,
        prefixes: 0,
        contexts: 2,
        udp_sockets: 1,
        forwards: false,
        detects_congestion: false,
        reports_errors: true,
        mesh_neighbours: 0,
        mesh_routes: 0,
        mesh_leaves: 0,
        connections: 1,
        send_buffer: 1024,
        receive_buffer: 1024,
        pieces: 0,
        segments: 4,
        listeners: 1,
        half_open: 1,
        time_wait: 1,
        servers: 0,
        pending_requests: 0,
        applications: 0,
    };

    /// Checks that a plan `P` with these lengths can work; [`profile!`](crate::profile!) does that
    /// at compile time.
    ///
    /// # Panics
    /// With the name of the length that is wrong, and what is needed. Each message stands for a
    /// node that would build and be silent.
    pub const fn check<P: Profile>(&self) {
        self.check_frames::<P>();
        self.check_packets::<P>();
        self.check_connections();
    }

    const fn check_frames<P: Profile>(&self) {
        assert!(self.frames >= 2, "`frames`: at least 2, one of them for control frames");
        assert!(
            self.neighbours >= 1,
            "`neighbours`: at least 1, or no duplicate of a frame is recognised"
        );
        if self.children > 0 {
            assert!(
                <P::DeliveryMethod as mac::DeliveryMethod>::ANY,
                "`children` need a `delivery_method` for their frames, such as `mac::Sleepers`"
            );
            assert!(
                self.indirect >= self.children,
                "`indirect`: at least as many as `children`, one packet for each"
            );
        }
        if <P::Listening as mac::Listening>::SLEEPS {
            assert!(
                self.pending_requests >= 1,
                "`pending_requests`: at least 1 where the radio sleeps, or the node never polls"
            );
        }
        if self.mesh_routes > 0 || self.mesh_leaves > 0 {
            assert!(
                self.mesh_neighbours >= 1,
                "`mesh_neighbours`: at least 1 in a router of the mesh; all routes go over them"
            );
        }
    }

    const fn check_packets<P: Profile>(&self) {
        assert!(self.storage >= LEAST_STORAGE, "`storage`: at least 128 octets, those of a frame");
        assert!(
            self.packets >= 4 && self.packets <= 255,
            "`packets`: 4 to 255; with fewer nothing can be received while something is sent"
        );
        assert!(self.reassemblies >= 1, "`reassemblies`: at least 1, or no fragment is accepted");
        assert!(self.output >= 1, "`output`: at least 1, or no packet waits for the radio");
        assert!(self.contexts <= 16, "`contexts`: at most 16 (RFC 6282, section 3.1.2)");
        assert!(self.udp_sockets <= 255, "`udp_sockets`: at most 255");
        assert!(
            self.autoconfigured <= self.addresses,
            "`autoconfigured` addresses are among the `addresses`: at most as many"
        );
        if <P::Discovery as net::Discovery>::PRESENT {
            assert!(
                self.discovered >= 1,
                "`discovered`: at least 1 with `discovery`, or no link address is known"
            );
        }
        if <P::Border as net::Border>::PRESENT {
            assert!(self.host >= 1, "`host`: at least 1 with a `border`, for packets to the host");
        }
    }

    const fn check_connections(&self) {
        if self.connections == 0 {
            return;
        }
        assert!(
            self.receive_buffer.is_multiple_of(8),
            "`receive_buffer`: a multiple of 8, as eight octets share one of the bitmap"
        );
        assert!(self.segments >= 1 && self.segments <= 255, "`segments`: 1 to 255");
        assert!(self.time_wait >= 1, "`time_wait`: at least 1 with `connections`");
        assert!(
            self.listeners == 0 || self.half_open >= 1,
            "`half_open`: at least 1 with `listeners`, or no connection is accepted"
        );
    }
}

/// Octets of the longest frame, and of the smallest packet that is worth a place.
const LEAST_STORAGE: usize = 128;
