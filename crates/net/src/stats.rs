//! Reasons for discards, and counters of packets.

kinglet_mem::reasons! {
    /// Why input was discarded: one variant per rule.
    pub enum Discard {
        /// The frame's link destination is neither ours nor broadcast.
        NotOurFrame,
        /// Empty, or a dispatch that is not implemented (mesh, BC0, HC1, not-a-LoWPAN).
        Dispatch,
        /// A compressed header that cannot be expanded: truncated, reserved form, unknown context.
        Compression,
        /// A fragment with an impossible size, offset or length.
        Fragment,
        /// A fragment of an unknown datagram while every reassembly is busy and may not be given
        /// up.
        NoReassembly,
        /// No packet slot free for this use.
        NoBuffer,
        /// Not a whole IPv6 packet.
        Malformed,
        /// A source or destination address that may not occur.
        Address,
        /// For somebody else, and this node does not forward (or may not: multicast, broadcast).
        NotForUs,
        /// To be forwarded, but of link-local scope.
        Scope,
        /// To be forwarded, but its hop limit is used up; reported.
        HopLimit,
        /// To be forwarded, but no route; reported.
        NoRoute,
        /// To be forwarded, but its route leads back to the neighbour that sent it; reported.
        Loop,
        /// Larger than the MTU of the link; reported.
        TooBig,
        /// The output queue is full.
        QueueFull,
        /// Random early detection has chosen it, and its sender understands no marks.
        Congestion,
        /// An option that says so if not recognised; reported if it says so.
        Options,
        /// A Routing header with segments left; reported.
        RoutingHeader,
        /// A fragment by IPv6's own Fragment header, where the plan does not put them together; or
        /// one that is malformed, too long, overlaps another one, or is of a packet given up.
        /// Reported as RFC 8200, 4.5 says.
        Ipv6Fragment,
        /// A chain of extension headers that is broken, out of order or too long.
        Extensions,
        /// An upper layer that does not exist here; reported.
        Protocol,
        /// A wrong checksum or length in ICMPv6 or UDP.
        Checksum,
        /// No socket at that port; reported.
        Port,
        /// The socket's receive queue is full, or does not take so long a datagram.
        SocketFull,
        /// An ICMPv6 message that is not implemented.
        IcmpType,
        /// An ICMPv6 error that does not quote a packet of ours.
        ForgedError,
        /// A message of discovery or routing, or a packet of link-local scope, that no radio
        /// neighbour sent: it came through the host interface or out of a tunnel.
        Ingress,
        /// An outer header that this node does not remove: its source is outside of the routing
        /// domain, or it came out of another one.
        Tunnel,
        /// From outside, unasked, for a neighbour that sleeps and whose allowance is used up.
        Unsolicited,
        /// From the host, IPv6-in-IPv6 (this and the next ones: [`FROM_HOST`](crate::FROM_HOST)).
        BorderTunnel,
        /// From the host, with a Routing header.
        BorderRoutingHeader,
        /// From the host, with the RPL option.
        BorderRplOption,
        /// From the host, with a source inside the mesh.
        BorderSourceInside,
        /// From the host, with a link-local source or destination.
        BorderLinkLocal,
        /// From the host, with a multicast source.
        BorderMulticastSource,
        /// From the host, with the unspecified or the loopback address as its source.
        BorderUnspecified,
        /// From the host, for a group whose scope ends at the border.
        BorderScope,
        /// To the host, with a source outside of the mesh ([`TO_HOST`](crate::TO_HOST)).
        BorderSourceOutside,
        /// To the host, with a Routing header that is not used up.
        BorderRouteLeft,
    }
}

kinglet_mem::counters! {
    /// Counters since the start.
    pub struct Stats {
        /// Frames taken in.
        frames_in,
        /// Frames written.
        frames_out,
        /// Whole packets taken in, from radio or host.
        packets_in,
        /// UDP datagrams for this node, whether or not somebody reads them.
        datagrams_in,
        /// UDP datagrams of this node, those of routing included.
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
        /// Reassemblies given up because fragments contradicted each other.
        conflicting_fragments,
        /// Reassemblies given up for a newer one.
        evicted_reassemblies,
        /// Reassemblies given up because their time was over.
        expired_reassemblies,
        /// Packets given up because one of their frames was not delivered.
        cancelled,
        /// Packets for children given up because a frame was tried at too many data requests.
        failed_indirect,
        /// Packets for children given up because nobody asked in time.
        expired_indirect,
        /// Packets given up because their payload was gone ([`Stale`](crate::Stale)).
        stale,
        /// ICMPv6 errors not sent: rate limit, or no room.
        errors_suppressed,
    }
    discards Discard
}

/// Counts one more.
pub(crate) fn bump(counter: &mut u32) {
    *counter = counter.wrapping_add(1);
}
