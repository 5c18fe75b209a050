//! What was discarded and why, and what passed.

/// Why input was discarded: one variant per rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Discard {
    /// The frame's link destination is neither ours nor broadcast.
    NotOurFrame,
    /// Empty, or a dispatch that is not implemented (mesh, BC0, HC1, not-a-LoWPAN).
    Dispatch,
    /// A compressed header that cannot be expanded: truncated, reserved form, unknown context.
    Compression,
    /// A fragment with an impossible size, offset or length.
    Fragment,
    /// A fragment of an unknown datagram while every reassembly is busy and may not be given up.
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
    /// A fragment by IPv6's own Fragment header, where the plan does not put them together; or one
    /// that is malformed, too long, overlaps another one, or is of a packet given up. Reported as
    /// RFC 8200, 4.5 says.
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
    /// A message of discovery or routing, or a packet of link-local scope, that no radio neighbour
    /// sent: it came through the host interface or out of a tunnel.
    Ingress,
    /// An outer header that this node does not remove: its source is outside of the routing domain,
    /// or it came out of another one.
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

impl Discard {
    pub(crate) const COUNT: usize = Discard::BorderRouteLeft as usize + 1;
}

/// Counters since the start; they wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Frames taken in.
    pub frames_in: u32,
    /// Frames written.
    pub frames_out: u32,
    /// Whole packets taken in, from radio or host.
    pub packets_in: u32,
    /// UDP datagrams for this node, whether or not somebody reads them.
    pub datagrams_in: u32,
    /// UDP datagrams of this node, those of routing included.
    pub datagrams_out: u32,
    /// Packets delivered to TCP, or to routing.
    pub delivered: u32,
    /// Packets forwarded.
    pub forwarded: u32,
    /// Packets marked by random early detection.
    pub marked: u32,
    /// Packets whose last frame was written, or handed to the host.
    pub packets_out: u32,
    /// Exact repetitions of fragments, ignored.
    pub duplicate_fragments: u32,
    /// Reassemblies given up because fragments contradicted each other.
    pub conflicting_fragments: u32,
    /// Reassemblies given up for a newer one.
    pub evicted_reassemblies: u32,
    /// Reassemblies given up because their time was over.
    pub expired_reassemblies: u32,
    /// Packets given up because one of their frames was not delivered.
    pub cancelled: u32,
    /// Packets for children given up because a frame was tried at too many data requests.
    pub failed_indirect: u32,
    /// Packets for children given up because nobody asked in time.
    pub expired_indirect: u32,
    /// Packets given up because their payload was gone ([`Stale`](crate::Stale)).
    pub stale: u32,
    /// ICMPv6 errors sent.
    pub errors_out: u32,
    /// ICMPv6 errors not sent: rate limit, or no room.
    pub errors_suppressed: u32,
    discards: [u32; Discard::COUNT],
}

impl Stats {
    pub(crate) const fn new() -> Self {
        Stats {
            frames_in: 0,
            frames_out: 0,
            packets_in: 0,
            datagrams_in: 0,
            datagrams_out: 0,
            delivered: 0,
            forwarded: 0,
            marked: 0,
            packets_out: 0,
            duplicate_fragments: 0,
            conflicting_fragments: 0,
            evicted_reassemblies: 0,
            expired_reassemblies: 0,
            cancelled: 0,
            failed_indirect: 0,
            expired_indirect: 0,
            stale: 0,
            errors_out: 0,
            errors_suppressed: 0,
            discards: [0; Discard::COUNT],
        }
    }

    /// How often input was discarded for this reason.
    pub fn discarded(&self, reason: Discard) -> u32 {
        self.discards.get(reason as usize).copied().unwrap_or(0)
    }

    pub(crate) fn discard(&mut self, reason: Discard) {
        if let Some(count) = self.discards.get_mut(reason as usize) {
            *count = count.wrapping_add(1);
        }
    }
}

/// Counts one more.
pub(crate) fn bump(counter: &mut u32) {
    *counter = counter.wrapping_add(1);
}
