//! ICMPv6 (RFC 4443): echo, errors sent under its rules, errors received and believed only if they
//! quote a packet of ours.

use crate::config::Sizes;
use crate::input::{Arrival, Fate};
use crate::net::Net;
use crate::pool::{PacketHandle, RESERVED};
use crate::stats::{Discard, bump};
use crate::submit::{Class, SendError};
use core::net::Ipv6Addr;
use core::ops::Range;
use kinglet_mem::{Array, copy, move_within};
use kinglet_time::Instant;
use kinglet_wire::icmpv6::{self, Kind, Message, parameter};
use kinglet_wire::ipv6::{self, Header, MIN_MTU, Packet, protocol};

/// An echo reply that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoReply {
    /// Who answered.
    pub src: Ipv6Addr,
    /// Identifier.
    pub ident: u16,
    /// Sequence number.
    pub seq: u16,
    /// Octets of data.
    pub len: u16,
    /// Hop limit it arrived with.
    pub hop_limit: u8,
    /// When it arrived.
    pub at: Instant,
}

/// An ICMPv6 error about a packet that this node sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorReport {
    /// What went wrong.
    pub kind: Kind,
    /// Who says so.
    pub reporter: Ipv6Addr,
    /// The packet's source: an address of ours.
    pub src: Ipv6Addr,
    /// The packet's destination.
    pub dst: Ipv6Addr,
    /// The packet's upper protocol: TCP, UDP or ICMPv6.
    pub protocol: u8,
    /// The first eight octets of the upper layer: for TCP ports and sequence number (RFC 5927,
    /// 4.1: believe only what is in flight), for UDP ports, length and checksum.
    pub upper: [u8; 8],
}

impl ErrorReport {
    /// Source and destination port of a TCP segment or UDP datagram.
    pub const fn ports(&self) -> (u16, u16) {
        let [a, b, c, d, ..] = self.upper;
        (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
    }
}

/// Octets in front of the packet that an error quotes.
const ERROR_HEAD: usize = ipv6::HEADER_LEN + icmpv6::HEADER_LEN;

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
        let kind = Kind::EchoRequest { ident, seq };
        let len = icmpv6::HEADER_LEN.saturating_add(payload.len());
        let header = self.plain_header(src, dst, protocol::ICMPV6, len);
        self.send_packet(now, &header, |upper, pseudo| {
            kind.emit(upper)?;
            if let Some(body) = upper.get_mut(icmpv6::HEADER_LEN..) {
                copy(body, payload);
            }
            icmpv6::fill_checksum(upper, pseudo)
        })
    }

    /// The oldest echo reply not asked for yet; four are kept.
    pub fn poll_echo_reply(&mut self) -> Option<EchoReply> {
        self.echo_replies.pop()
    }

    /// The oldest error report not asked for yet; four are kept.
    pub fn poll_error(&mut self) -> Option<ErrorReport> {
        self.errors.pop()
    }

    /// The newest error report, if it is about a packet of this protocol: for upper layers outside
    /// of this crate, which look after every packet and leave the rest for [`Net::poll_error`].
    pub fn poll_error_about(&mut self, protocol: u8) -> Option<ErrorReport> {
        self.errors.pop_newest_if(|report| report.protocol == protocol)
    }

    pub(crate) fn icmp_input(
        &mut self,
        now: Instant,
        handle: PacketHandle,
        header: &Header,
        upper: Range<usize>,
    ) -> Fate {
        let octets = self.pool.get(handle).get(upper.clone()).unwrap_or_default();
        let pseudo = header.pseudo_header_sum(octets.len(), protocol::ICMPV6);
        let Ok(message) = Message::parse(octets, pseudo) else {
            return Fate::Drop(Discard::Checksum);
        };
        let kind = message.kind();
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
        // RFC 4443, 4.2: from the address that was asked, unless it was a multicast one.
        let src =
            if header.dst.is_multicast() { self.source_for(header.src) } else { Some(header.dst) };
        let (Some(src), Some(egress)) = (src, self.egress(header.src)) else {
            return Fate::Drop(Discard::NoRoute);
        };
        let len = upper.len();
        let reply = self.plain_header(src, header.src, protocol::ICMPV6, len);
        let storage = self.pool.storage_mut(handle);
        if move_within(storage, upper, ipv6::HEADER_LEN).is_none() {
            return Fate::Drop(Discard::Malformed);
        }
        let total = ipv6::HEADER_LEN.saturating_add(len);
        let written = storage.get_mut(..total).and_then(|packet| {
            reply.emit(packet).ok()?;
            let message = packet.get_mut(ipv6::HEADER_LEN..)?;
            Kind::EchoReply { ident, seq }.emit(message).ok()?;
            icmpv6::fill_checksum(message, reply.pseudo_header_sum(len, protocol::ICMPV6)).ok()
        });
        if written.is_none() {
            return Fate::Drop(Discard::Malformed);
        }
        self.pool.set_len(handle, total);
        match self.enqueue(now, handle, egress, Class::Data) {
            Ok(()) => Fate::Moved,
            Err(reason) => Fate::Drop(reason),
        }
    }

    /// An error is believed if it quotes a packet from us, of a kind that we send. Only the
    /// quotation's first header is looked at, whatever is nested in it.
    fn believe(&self, kind: Kind, reporter: Ipv6Addr, quoted: &[u8]) -> Option<ErrorReport> {
        let header = Header::read(quoted).ok()?;
        let Header { src, dst, next_header: protocol, .. } = header;
        let upper = *quoted.get(ipv6::HEADER_LEN..)?.first_chunk::<8>()?;
        let report = ErrorReport { kind, reporter, src, dst, protocol, upper };
        let sent = match protocol {
            protocol::TCP => true,
            protocol::UDP => {
                let bound = |port| self.sockets.as_slice().iter().any(|s| s.is_bound_to(port));
                bound(report.ports().0)
            }
            // Echo requests are the only messages that we send unasked.
            protocol::ICMPV6 => upper.first() == Some(&128),
            _ => false,
        };
        (sent && self.is_own(src)).then_some(report)
    }

    /// Turns the packet in `handle` into an error about it, and queues that; `false` if the rules
    /// of RFC 4443, 2.4 (e) and (f) forbid it or there is no room, and the slot is still the
    /// caller's.
    pub(crate) fn send_error(
        &mut self,
        now: Instant,
        handle: PacketHandle,
        arrival: Arrival,
        kind: Kind,
    ) -> bool {
        let Some((src, dst)) = self.may_report(handle, arrival, kind) else { return false };
        let egress = self.egress(dst);
        let (Some(egress), true) = (egress, self.earn_error(now)) else {
            bump(&mut self.stats.errors_suppressed);
            return false;
        };
        let quoted = self.pool.get(handle).len();
        // 2.4 (c): as much of the packet as fits into the minimum MTU.
        let total = quoted.saturating_add(ERROR_HEAD).min(MIN_MTU).min(S::Storage::LEN);
        let (Some(quoted), Some(len)) =
            (total.checked_sub(ERROR_HEAD), total.checked_sub(ipv6::HEADER_LEN))
        else {
            return false;
        };
        let header = self.plain_header(src, dst, protocol::ICMPV6, len);
        let storage = self.pool.storage_mut(handle);
        if move_within(storage, 0..quoted, ERROR_HEAD).is_none() {
            return false;
        }
        let written = storage.get_mut(..total).and_then(|packet| {
            header.emit(packet).ok()?;
            let message = packet.get_mut(ipv6::HEADER_LEN..)?;
            kind.emit(message).ok()?;
            icmpv6::fill_checksum(message, header.pseudo_header_sum(len, protocol::ICMPV6)).ok()
        });
        self.pool.set_len(handle, total);
        if written.is_none() || self.enqueue(now, handle, egress, Class::Control).is_err() {
            bump(&mut self.stats.errors_suppressed);
            return false;
        }
        self.errors_spent = self.errors_spent.saturating_add(1);
        bump(&mut self.stats.errors_out);
        true
    }

    /// RFC 4443, 2.4 (e): whether an error about this packet may be sent, from and to whom.
    fn may_report(
        &self,
        handle: PacketHandle,
        arrival: Arrival,
        kind: Kind,
    ) -> Option<(Ipv6Addr, Ipv6Addr)> {
        let octets = self.pool.get(handle);
        let header = Header::read(octets).ok()?;
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
        // A packet that is cut off (too big) is walked as far as it goes; if that does not reach
        // its upper layer, nobody knows that it is not an error.
        let upper = match Packet::parse(octets) {
            Ok(packet) => packet.upper().map(|(protocol, range)| (protocol, range.start)),
            Err(_) => Ok((header.next_header, ipv6::HEADER_LEN)),
        };
        if let Ok((protocol::ICMPV6, at)) = upper {
            let kind = *octets.get(at)?;
            // Redirect (RFC 4861, 4.5) is 137.
            if kind < icmpv6::FIRST_INFORMATIONAL || kind == 137 {
                return None;
            }
        }
        let src = if self.is_own(header.dst) { Some(header.dst) } else { None };
        Some((src.or_else(|| self.source_for(header.src))?, header.src))
    }

    /// The token bucket: whether one more error may be sent now.
    fn earn_error(&mut self, now: Instant) -> bool {
        let interval = self.config.icmp_error_interval.as_micros().max(1);
        let since = now.checked_since(self.errors_since).unwrap_or_default().as_micros();
        let earned = since.checked_div(interval).unwrap_or(0);
        let spent = u64::from(self.errors_spent).saturating_sub(earned);
        self.errors_spent = u8::try_from(spent).unwrap_or(u8::MAX);
        // Parts of an interval are kept, unless the bucket is full anyway.
        let part = since.checked_rem(interval).filter(|_| self.errors_spent > 0).unwrap_or(0);
        self.errors_since = Instant::from_micros(now.as_micros().saturating_sub(part));
        self.errors_spent < self.config.icmp_error_burst
    }

    pub(crate) fn plain_header(
        &self,
        src: Ipv6Addr,
        dst: Ipv6Addr,
        next_header: u8,
        len: usize,
    ) -> Header {
        let payload_len = u16::try_from(len).unwrap_or(u16::MAX);
        let hop_limit = self.config.hop_limit;
        Header { traffic_class: 0, flow_label: 0, payload_len, next_header, hop_limit, src, dst }
    }

    /// Builds the packet that a header announces in a slot and queues it.
    pub(crate) fn send_packet(
        &mut self,
        now: Instant,
        header: &Header,
        fill: impl FnOnce(&mut [u8], u16) -> Result<(), kinglet_wire::Error>,
    ) -> Result<(), SendError> {
        let total = header.total_len();
        if total > MIN_MTU.min(S::Storage::LEN) {
            return Err(SendError::TooLong);
        }
        let egress = self.egress(header.dst).ok_or(SendError::NoRoute)?;
        let handle = self.pool.alloc(RESERVED).ok_or(SendError::NoBuffer)?;
        let len = usize::from(header.payload_len);
        let pseudo = header.pseudo_header_sum(len, header.next_header);
        let storage = self.pool.storage_mut(handle);
        let written = storage.get_mut(..total).map(|packet| {
            header.emit(packet)?;
            fill(packet.get_mut(ipv6::HEADER_LEN..).unwrap_or_default(), pseudo)
        });
        self.pool.set_len(handle, total);
        let queued = match written {
            Some(Ok(())) => self.enqueue(now, handle, egress, Class::Data).is_ok(),
            _ => false,
        };
        if queued {
            return Ok(());
        }
        self.release(handle);
        Err(SendError::QueueFull)
    }
}
