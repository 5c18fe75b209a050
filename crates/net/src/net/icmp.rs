//! ICMPv6 (RFC 4443): echo, errors sent under its rules, and received errors, accepted only if they
//! quote a packet of this node. Messages for a protocol above are passed on (`messages.rs`).

use super::header_build::{HEAD, Upper};
use super::{Net, Sizes};
use crate::discovery::Discovery;
use crate::frame::Class;
use crate::incoming::{Arrival, Fate, Ingress};
use crate::ipv6_partial::{Ipv6Fragments, is_later};
use crate::outgoing::SendError;
use crate::pool::PacketHandle;
use crate::report::{EchoReply, ErrorReport};
use crate::stats::{Discard, bump};
use core::net::Ipv6Addr;
use core::ops::Range;
use kinglet_mem::{Array, move_within};
use kinglet_routing::{MAX_ADDED, Routing};
use kinglet_time::{Duration, Instant};
use kinglet_wire::icmpv6::{self, Kind, Message, parameter, unreachable};
use kinglet_wire::ipv6::{self, Chain, Fragment, Header, MIN_MTU, Packet, protocol};

impl<S: Sizes, X: Copy> Net<S, X> {
    /// Sends an echo request with `payload` as its data.
    ///
    /// # Errors
    /// [`SendError`]; nothing was sent.
    pub fn ping(
        &mut self,
        now: Instant,
        dst: Ipv6Addr,
        ident: u16,
        seq: u16,
        payload: &[u8],
    ) -> Result<(), SendError> {
        let src = self.source_for(dst).ok_or(SendError::NoRoute)?;
        let headers = self.headers(src, dst, Upper::Icmpv6(Kind::EchoRequest { ident, seq }));
        self.send_packet(now, &headers, payload)
    }

    /// Returns the oldest echo reply that was not polled yet; four are kept.
    pub fn poll_echo_reply(&mut self) -> Option<EchoReply> {
        self.echo_replies.pop()
    }

    /// Returns whether an error waits to be polled.
    pub fn has_errors(&self) -> bool {
        self.errors.len() > 0
    }

    /// Returns the oldest error report that was not polled yet; four are kept.
    pub fn poll_error(&mut self) -> Option<ErrorReport> {
        self.errors.pop()
    }

    /// Returns the newest error report, if it is about a packet of this protocol: for upper layers
    /// outside this crate, which check after every packet and leave the rest for
    /// [`Net::poll_error`].
    pub fn poll_error_about(&mut self, protocol: u8) -> Option<ErrorReport> {
        self.errors.pop_newest_if(|report| report.protocol == protocol)
    }

    pub(crate) fn icmp_input(
        &mut self,
        now: Instant,
        handle: PacketHandle,
        header: &Header,
        upper: Range<usize>,
        arrival: Arrival,
    ) -> Fate {
        let octets = self.pool.get(handle).get(upper.clone()).unwrap_or_default();
        let pseudo = header.pseudo_header_sum(octets.len(), protocol::ICMPV6);
        if octets.first().is_some_and(Self::carries) {
            if Self::is_foreign(arrival) {
                return Fate::Drop(Discard::Ingress);
            }
            return match icmpv6::verify(octets, pseudo) {
                Ok(()) => Fate::Deliver(upper, protocol::ICMPV6),
                Err(_) => Fate::Drop(Discard::Checksum),
            };
        }
        let Ok(message) = Message::parse(octets, pseudo) else {
            return Fate::Drop(Discard::Checksum);
        };
        let kind = message.kind();
        if S::Routing::EXTENDS
            && arrival.ingress == Ingress::Radio
            && let Kind::DestinationUnreachable { code: unreachable::SOURCE_ROUTE } = kind
            && let Some((dst, next)) = super::extension_headers::next_of(message.body())
            && dst == header.src
        {
            self.routing.handle_broken_route(now, dst, next);
            return Fate::Done;
        }
        match kind {
            Kind::EchoRequest { ident, seq } => {
                self.answer_echo(now, handle, header, upper, ident, seq)
            }
            Kind::EchoReply { ident, seq } => {
                let len = u16::try_from(message.body().len()).unwrap_or(u16::MAX);
                let (src, hop_limit) = (header.src, header.hop_limit);
                self.echo_replies.push_over(EchoReply { src, ident, seq, len, hop_limit, at: now });
                Fate::Done
            }
            Kind::DestinationUnreachable { .. }
            | Kind::PacketTooBig { .. }
            | Kind::TimeExceeded { .. }
            | Kind::ParameterProblem { .. } => {
                match self.believe(kind, header.src, message.body()) {
                    Some(report) => {
                        self.errors.push_over(report);
                        Fate::Done
                    }
                    None => Fate::Drop(Discard::ForgedError),
                }
            }
            Kind::Other { .. } => Fate::Drop(Discard::IcmpType),
        }
    }

    /// Returns whether messages of this type are for a protocol above.
    fn carries(kind: &u8) -> bool {
        S::Routing::ICMPV6.contains(kind) || S::Discovery::ICMPV6.contains(kind)
    }

    /// Turns a request into its reply, in its slot.
    fn answer_echo(
        &mut self,
        now: Instant,
        handle: PacketHandle,
        header: &Header,
        upper: Range<usize>,
        ident: u16,
        seq: u16,
    ) -> Fate {
        // RFC 4443, 4.2: from the destination of the request, unless that was a multicast one.
        let src =
            if header.dst.is_multicast() { self.source_for(header.src) } else { Some(header.dst) };
        let egress = src.and_then(|src| self.own_egress(now, src, header.src));
        let (Some(src), Some(egress)) = (src, egress) else {
            return Fate::Drop(Discard::NoRoute);
        };
        let headers = self.headers(src, header.src, Upper::Icmpv6(Kind::EchoReply { ident, seq }));
        let data = upper.start.saturating_add(icmpv6::HEADER_LEN)..upper.end;
        let len = data.len();
        let moved = move_within(self.pool.storage_mut(handle), data, HEAD);
        if moved.and_then(|()| self.build_packet(handle, &headers, len)).is_none() {
            return Fate::Drop(Discard::Malformed);
        }
        match self.enqueue_own(now, handle, egress) {
            Ok(()) => Fate::Moved,
            Err(reason) => Fate::Drop(reason),
        }
    }

    /// Accepts an error if it quotes a packet of this node, of a kind that it sends. Checks only
    /// the quotation's first upper header, or that of the first fragment, regardless of nesting.
    pub(crate) fn believe(
        &self,
        kind: Kind,
        reporter: Ipv6Addr,
        quoted: &[u8],
    ) -> Option<ErrorReport> {
        let Ok(header) = Header::read(quoted) else { return None };
        let Header { src, dst, next_header: mut protocol, .. } = header;
        let mut behind = ipv6::HEADER_LEN;
        if S::Routing::EXTENDS {
            // Packets of this node's own have headers that routing has added.
            let mut chain = Chain::new(quoted, protocol);
            // Only as far as they are quoted; missing headers behind them reject the error.
            while let protocol::HOP_BY_HOP | protocol::ROUTING = chain.next_header() {
                let _ = chain.next()?.ok()?;
            }
            (protocol, behind) = (chain.next_header(), chain.offset());
        }
        let mut upper = *quoted.get(behind..)?.first_chunk::<8>()?;
        if S::Ipv6Fragments::PLACES > 0 && protocol == protocol::FRAGMENT {
            // The upper layer of a later fragment is unknown.
            let first = Fragment::read(&upper).ok().filter(|fragment| fragment.offset == 0)?;
            behind = behind.saturating_add(Fragment::LEN);
            protocol = first.next_header;
            upper = *quoted.get(behind..)?.first_chunk()?;
        }
        let report = ErrorReport { kind, reporter, src, dst, protocol, upper };
        let sent = match protocol {
            protocol::TCP => true,
            protocol::UDP => {
                let bound = |port| self.sockets.as_slice().iter().any(|s| s.is_bound_to(port));
                bound(report.ports().0)
            }
            // Echo requests are the only unsolicited messages of this node.
            protocol::ICMPV6 => upper.first() == Some(&128),
            _ => false,
        };
        (sent && self.is_own(src)).then_some(report)
    }

    /// Turns the packet in `handle` into an error about it, and queues that. Returns `false` if the
    /// rules of RFC 4443, 2.4 (e) and (f) forbid it or there is no room; the slot then still
    /// belongs to the caller.
    pub(crate) fn send_error(
        &mut self,
        now: Instant,
        handle: PacketHandle,
        arrival: Arrival,
        kind: Kind,
    ) -> bool {
        let Some((src, dst)) = self.may_report(handle, arrival, kind) else { return false };
        let egress = self.egress(&dst);
        let (Some(egress), true) = (egress, self.earn_error(now)) else {
            bump(&mut self.stats.errors_suppressed);
            return false;
        };
        // 2.4 (c): as much of the packet as fits into the minimum MTU.
        let room = MIN_MTU.min(S::Storage::LEN).saturating_sub(HEAD);
        let room = if S::Routing::EXTENDS { room.saturating_sub(MAX_ADDED) } else { room };
        let quoted = self.pool.get(handle).len().min(room);
        if move_within(self.pool.storage_mut(handle), 0..quoted, HEAD).is_none() {
            return false;
        }
        let headers = self.headers(src, dst, Upper::Icmpv6(kind));
        let written = self.build_packet(handle, &headers, quoted);
        if written.is_none() || self.enqueue_added(now, handle, egress, Class::Control).is_err() {
            bump(&mut self.stats.errors_suppressed);
            return false;
        }
        self.errors_spent = self.errors_spent.saturating_add(1);
        bump(&mut self.stats.errors_out);
        true
    }

    /// Returns the source and destination of an error about this packet, if it may be sent (RFC
    /// 4443, 2.4 (e)).
    fn may_report(
        &self,
        handle: PacketHandle,
        arrival: Arrival,
        kind: Kind,
    ) -> Option<(Ipv6Addr, Ipv6Addr)> {
        let octets = self.pool.get(handle);
        let Ok(header) = Header::read(octets) else { return None };
        let exception = matches!(
            kind,
            Kind::PacketTooBig { .. } | Kind::ParameterProblem { code: parameter::OPTION, .. }
        );
        if (header.dst.is_multicast() || arrival.broadcast) && !exception {
            return None;
        }
        if header.src.is_unspecified() || header.src.is_multicast() {
            return None;
        }
        // A truncated packet (too big) is walked as far as it goes; if its upper layer is missing,
        // it may be an error itself.
        let upper = match Packet::parse(octets) {
            Ok(packet) => packet.upper().map(|(protocol, range)| (protocol, range.start)),
            Err(_) => Ok((header.next_header, ipv6::HEADER_LEN)),
        };
        // A later fragment does not show its type: it counts as its first fragment did.
        let unseen = S::Ipv6Fragments::PLACES > 0 && is_later(octets);
        if let (Ok((protocol::ICMPV6, at)), false) = (upper, unseen) {
            let kind = *octets.get(at)?;
            // Redirect (RFC 4861, 4.5) is 137.
            if kind < icmpv6::FIRST_INFORMATIONAL || kind == 137 {
                return None;
            }
        }
        let src = if self.is_own(header.dst) { Some(header.dst) } else { None };
        Some((src.or_else(|| self.source_for(header.src))?, header.src))
    }

    /// Returns whether the token bucket allows one more error now.
    fn earn_error(&mut self, now: Instant) -> bool {
        let interval = self.config.icmp_error_interval.max(Duration::from_micros(1));
        // At most 255 rounds, and no division. Parts of an interval are kept.
        while self.errors_spent > 0 && self.errors_since + interval <= now {
            self.errors_since += interval;
            self.errors_spent = self.errors_spent.saturating_sub(1);
        }
        // A full bucket does not accumulate more.
        if self.errors_spent == 0 {
            self.errors_since = now;
        }
        self.errors_spent < self.config.icmp_error_burst
    }
}
