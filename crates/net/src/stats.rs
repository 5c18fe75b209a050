//! Discard reasons and packet counters.

use kinglet_routing::Refusal;

kinglet_mem::reasons! {
    /// Reason why input was discarded: one variant per rule.
    pub enum Discard {
        /// The frame's link destination is neither this node nor broadcast.
        NotOurFrame,
        /// Empty, or a dispatch that is not implemented (mesh, BC0, HC1, not-a-LoWPAN).
        Dispatch,
        /// A compressed header that cannot be expanded: truncated, reserved form, unknown context.
        Compression,
        /// A fragment with an impossible size, offset or length.
        Fragment,
        /// A fragment of an unknown datagram while every reassembly entry is in use and none may be
        /// evicted.
        NoReassembly,
        /// No packet slot free for this use.
        NoBuffer,
        /// Not a whole IPv6 packet.
        Malformed,
        /// A source or destination address that may not occur.
        Address,
        /// For another node, and this node does not forward (or may not: multicast, broadcast).
        NotForUs,
        /// Not forwarded: link-local scope.
        Scope,
        /// Not forwarded: hop limit exceeded; reported.
        HopLimit,
        /// Not forwarded: no route; reported.
        NoRoute,
        /// Not forwarded: the route leads back to the neighbour that sent it; reported.
        Loop,
        /// Larger than the MTU of the link; reported.
        TooBig,
        /// The output queue is full.
        QueueFull,
        /// Dropped by random early detection; its sender does not support ECN.
        Congestion,
        /// An unrecognised option that demands the discard; reported if it demands that.
        Options,
        /// A Routing header with segments left; reported.
        RoutingHeader,
        /// An IPv6 fragment, if the plan does not reassemble them; or one that is malformed, too
        /// long, overlaps another one, or belongs to an abandoned packet. Reported as RFC 8200, 4.5
        /// says.
        Ipv6Fragment,
        /// A chain of extension headers that is broken, out of order or too long.
        Extensions,
        /// An upper layer that is not implemented; reported.
        Protocol,
        /// A wrong checksum or length in ICMPv6 or UDP.
        Checksum,
        /// No socket at that port; reported.
        Port,
        /// The socket's receive queue is full, or the datagram is too long for the socket.
        SocketFull,
        /// An ICMPv6 message that is not implemented.
        IcmpType,
        /// An ICMPv6 error that does not quote a packet of this node.
        ForgedError,
        /// A discovery or routing message, or a packet of link-local scope, that no radio neighbour
        /// sent: it came through the host interface or out of a tunnel.
        Ingress,
        /// An outer header that this node does not remove: its source is outside the routing
        /// domain, or the packet came out of another outer header.
        Tunnel,
        /// Unsolicited, from outside, for a sleeping neighbour with an exhausted allowance.
        Unsolicited,
        /// From the host: IPv6-in-IPv6 (this and the next ones: [`FROM_HOST`](crate::FROM_HOST)).
        BorderTunnel,
        /// From the host: a Routing header.
        BorderRoutingHeader,
        /// From the host: the RPL option.
        BorderRplOption,
        /// From the host: a source inside the mesh.
        BorderSourceInside,
        /// From the host: a link-local source or destination.
        BorderLinkLocal,
        /// From the host: a multicast source.
        BorderMulticastSource,
        /// From the host: the unspecified or the loopback address as source.
        BorderUnspecified,
        /// From the host: a group whose scope ends at the border.
        BorderScope,
        /// To the host: a source outside the mesh ([`TO_HOST`](crate::TO_HOST)).
        BorderSourceOutside,
        /// To the host: a Routing header with segments left.
        BorderRouteLeft,
    }
}

kinglet_mem::counters! {
    /// Counters since the start.
    pub struct Stats {
        /// Frames received.
        frames_in,
        /// Frames written.
        frames_out,
        /// Whole packets received, from radio or host.
        packets_in,
        /// UDP datagrams for this node, read or not.
        datagrams_in,
        /// UDP datagrams of this node, including routing messages.
        datagrams_out,
        /// Packets delivered to TCP, or to routing.
        delivered,
        /// Packets forwarded.
        forwarded,
        /// Packets marked by random early detection.
        marked,
        /// Packets whose last frame was written, or handed to the host.
        packets_out,
        /// Exact repetitions of fragments, ignored.
        duplicate_fragments,
        /// ICMPv6 errors sent.
        errors_out,
    }
    reasons {
        /// Reassemblies abandoned because fragments contradicted each other.
        conflicting_fragments,
        /// Reassemblies evicted by a newer one.
        evicted_reassemblies,
        /// Reassemblies abandoned by timeout.
        expired_reassemblies,
        /// Packets abandoned because one of their frames was not delivered.
        cancelled,
        /// Packets for children abandoned because a frame failed at too many data requests.
        failed_indirect,
        /// Packets for children that expired without a data request.
        expired_indirect,
        /// Packets for children abandoned because the neighbour is a child no longer.
        abandoned_indirect,
        /// Packets abandoned because their payload was gone ([`Stale`](crate::Stale)).
        stale,
        /// ICMPv6 errors not sent: rate limit, or no room.
        errors_suppressed,
    }
    discards Discard
}

impl From<Refusal> for Discard {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoRoute => Discard::NoRoute,
            Refusal::Data => Discard::Options,
        }
    }
}

/// Increments a counter.
pub(crate) fn bump(counter: &mut u32) {
    *counter = counter.wrapping_add(1);
}
