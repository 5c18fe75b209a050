//! Lengths of the tables of a plan, and the check that a node with them can work.

use crate::profile::Profile;
use kinglet_mac as mac;
use kinglet_mesh as mesh;
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
    /// Octets of the network data that a [`Meshed`](crate::Meshed) can hold: 8 for the prefix of
    /// the addresses, and for each context 2 and its prefix; at most 76. 0: addresses and contexts
    /// do not come from the mesh.
    pub network_data: usize,
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
        network_data: 48,
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
        assert!(
            self.network_data == 0 || self.network_data >= 8 && self.network_data <= mesh::MAX_DATA,
            "`network_data`: 8 to 76 octets, or 0"
        );
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mote;
    use std::panic::catch_unwind;

    crate::profile! { struct Awake {} }
    crate::profile! { struct Learns { discovery: crate::Discovered<Self>, discovered: 1 } }

    /// The length that is wrong in a plan with the type choices of `P`.
    fn wrong<P: Profile>(lengths: Lengths) -> Option<std::string::String> {
        let payload = catch_unwind(|| lengths.check::<P>()).err()?;
        let message = payload.downcast_ref::<&str>().expect("a plain message");
        Some(message.split('`').nth(1).expect("a name").into())
    }

    #[test]
    fn each_length_with_which_a_node_is_silent_is_named() {
        let small = Lengths::SMALL;
        assert_eq!(wrong::<Awake>(small), None);
        let cases = [
            ("frames", Lengths { frames: 1, ..small }),
            ("neighbours", Lengths { neighbours: 0, ..small }),
            ("children", Lengths { children: 1, indirect: 1, ..small }),
            ("network_data", Lengths { network_data: 7, ..small }),
            ("network_data", Lengths { network_data: 77, ..small }),
            ("mesh_neighbours", Lengths { mesh_routes: 1, ..small }),
            ("mesh_neighbours", Lengths { mesh_leaves: 1, ..small }),
            ("storage", Lengths { storage: 127, ..small }),
            ("packets", Lengths { packets: 3, ..small }),
            ("packets", Lengths { packets: 256, ..small }),
            ("reassemblies", Lengths { reassemblies: 0, ..small }),
            ("output", Lengths { output: 0, ..small }),
            ("contexts", Lengths { contexts: 17, ..small }),
            ("udp_sockets", Lengths { udp_sockets: 256, ..small }),
            ("autoconfigured", Lengths { addresses: 1, autoconfigured: 2, ..small }),
            ("receive_buffer", Lengths { receive_buffer: 250, ..small }),
            ("segments", Lengths { segments: 0, ..small }),
            ("segments", Lengths { segments: 256, ..small }),
            ("time_wait", Lengths { time_wait: 0, ..small }),
            ("half_open", Lengths { half_open: 0, ..small }),
        ];
        for (name, lengths) in cases {
            assert_eq!(wrong::<Awake>(lengths).as_deref(), Some(name), "{lengths:?}");
        }
    }

    #[test]
    fn lengths_at_their_bounds_pass() {
        let small = Lengths::SMALL;
        for lengths in [
            Lengths { frames: 2, neighbours: 1, output: 1, ..small },
            Lengths { storage: 128, contexts: 16, udp_sockets: 255, ..small },
            Lengths { packets: 255, segments: 255, ..small },
            Lengths { listeners: 0, half_open: 0, ..small },
            Lengths { connections: 0, segments: 0, time_wait: 0, receive_buffer: 1, ..small },
            Lengths { mesh_neighbours: 1, mesh_routes: 1, mesh_leaves: 1, ..small },
            Lengths { network_data: 0, ..small },
            Lengths { network_data: 8, ..small },
            Lengths { network_data: 76, ..small },
            Lengths { addresses: 2, autoconfigured: 2, ..small },
        ] {
            assert_eq!(wrong::<Awake>(lengths), None, "{lengths:?}");
        }
    }

    #[test]
    fn types_of_a_plan_need_lengths() {
        let small = Lengths { pending_requests: 1, ..Lengths::SMALL };
        assert_eq!(wrong::<Mote>(small), None);
        assert_eq!(wrong::<Learns>(small).as_deref(), Some("discovered"));
        assert_eq!(wrong::<Mote>(Lengths::SMALL).as_deref(), Some("pending_requests"));
        let parent = Lengths { children: 2, indirect: 1, ..small };
        assert_eq!(wrong::<crate::Router>(parent).as_deref(), Some("indirect"));
        assert_eq!(wrong::<crate::Router>(Lengths { indirect: 2, ..parent }), None);
        assert_eq!(wrong::<crate::BorderRouter>(small).as_deref(), Some("host"));
        assert_eq!(wrong::<crate::BorderRouter>(Lengths { host: 1, ..small }), None);
    }
}
