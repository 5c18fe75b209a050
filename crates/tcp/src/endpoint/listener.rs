//! Listeners and half-open connections: small records, and no buffers until the handshake is done
//! (RFC 9293 §3.10.7.2 and the SYN-RECEIVED part of §3.10.7.4 after a passive open).

use super::ready::EntryFlags;
use super::reply::Reply;
use super::{Challenges, Endpoint, Peer, Sizes};
use crate::config::{ConnectionConfig, ListenConfig};
use crate::conn::{Agreed, Established, Planned, Setup, syn_ack_flags};
use crate::error::Discard;
use crate::features::Features;
use crate::paws::{CLOCK, Paws, echo_age, ticks, timestamp};
use crate::recv::buffer::window_scale;
use crate::rtt::RttEstimator;
use crate::seq::SeqNum;
use crate::steps::{Arrived, Receiver};
use crate::timer::{Tick, Timer};
use core::num::NonZeroU16;
use kinglet_mem::Array;
use kinglet_time::{Duration, Expected, Instant};
use kinglet_wire::Ecn;
use kinglet_wire::tcp::{AckRate, Cookie, Flags, Header, Segment, Timestamps};

/// A port that is listened on.
#[derive(Clone, Copy, Debug)]
pub struct Listener {
    pub(super) port: NonZeroU16,
    backlog: u8,
    pub(super) fast_open: u8,
    pub(super) setup: Setup,
}

impl Listener {
    /// Returns the listener at `port`.
    pub(super) fn find(listeners: &[Option<Listener>], port: u16) -> Option<&Listener> {
        listeners.iter().flatten().find(|l| l.port.get() == port)
    }
}

/// A SYN that was answered and whose SYN-ACK is not acknowledged yet.
#[derive(Clone, Copy, Debug)]
pub struct HalfOpen<K> {
    peer: K,
    local_port: u16,
    remote_port: u16,
    pub(super) iss: SeqNum,
    pub(super) irs: SeqNum,
    /// Window of the peer's SYN.
    wnd: u16,
    /// Window that the SYN-ACK offers.
    offer: u16,
    pub(super) agreed: Agreed,
    ts_offset: u32,
    own_mss: u16,
    own_scale: u8,
    tries: u8,
    /// A SYN-ACK is to be sent.
    pub(super) pending: bool,
    /// The peer has acknowledged it, and there is no slot yet for the connection.
    waits: bool,
    /// The peer is to get a Fast Open cookie with the first SYN-ACK.
    pub(super) wants_cookie: bool,
    rtx: Timer,
    sent_at: Tick,
    challenges: Challenges,
}

impl<K: Peer> HalfOpen<K> {
    fn matches(&self, peer: &K, local: u16, remote: u16) -> bool {
        self.local_port == local && self.remote_port == remote && self.peer == *peer
    }

    pub(super) fn local_port(&self) -> u16 {
        self.local_port
    }

    pub(super) fn next_timer(&self) -> Timer {
        self.rtx
    }

    pub(super) fn age(&mut self, epoch: Instant, now: Instant) {
        self.rtx.age(epoch, now);
        self.sent_at.age(epoch, now);
    }

    /// Returns the setup for the connection: that of its listener, which it does not outlive.
    fn setup<'a>(&self, listeners: &'a [Option<Listener>]) -> Option<&'a Setup> {
        Listener::find(listeners, self.local_port).map(|l| &l.setup)
    }

    /// Returns the expected time of the acknowledgment of the SYN-ACK.
    pub(super) fn expected(
        &self,
        listeners: &[Option<Listener>],
        epoch: Instant,
    ) -> Option<Expected> {
        // Nothing is measured yet, so nothing is stored.
        let rtt = RttEstimator::new(self.setup(listeners)?.rto);
        Some(rtt.expected(self.sent_at.near(epoch)))
    }

    /// Handles the retransmission timer. Returns `false` when the peer has failed to answer often
    /// enough.
    pub(super) fn handle_deadline(&mut self, now: Instant, listeners: &[Option<Listener>]) -> bool {
        if self.rtx.is_due(now) {
            self.rtx.clear();
            let Some(Setup { params, rto, .. }) = self.setup(listeners) else { return false };
            if self.tries >= ConnectionConfig::DEFAULT.syn_retries.max(params.syn_retries) {
                return false;
            }
            self.tries = self.tries.saturating_add(1);
            // A peer that waits for a slot has proven that it exists. The ACK of another one may be
            // lost, and that peer may sleep until it has text: the record is kept for as long, but
            // sends nothing to an address that may be forged.
            self.pending = self.waits || self.tries <= params.syn_retries;
            if !self.pending {
                self.rtx.set(now, RttEstimator::new(*rto).rto(self.tries));
            }
        }
        true
    }

    pub(super) fn name(&self) -> (K, u16, u16) {
        (self.peer, self.local_port, self.remote_port)
    }

    //= rfc7323#2.2-4 rfc7323#2.3-1 rfc7413#4.2.1-2 rfc3168#6.1.1-10
    pub(super) fn poll(
        &mut self,
        now: Instant,
        listeners: &[Option<Listener>],
        header: &mut Header,
    ) -> Option<K> {
        if !core::mem::take(&mut self.pending) {
            return None;
        }
        let rto = self.setup(listeners)?.rto;
        self.rtx.set(now, RttEstimator::new(rto).rto(self.tries));
        self.sent_at = Tick::at(now);
        let timestamps = self
            .agreed
            .timestamp
            .map(|ecr| Timestamps { val: timestamp(self.ts_offset, now), ecr });
        header.src_port = self.local_port;
        header.dst_port = self.remote_port;
        header.seq = self.iss.value();
        header.ack = self.irs.plus(1).value();
        header.flags = syn_ack_flags(self.agreed.ecn);
        header.window = self.offer;
        header.options.mss = Some(self.own_mss);
        header.options.window_scale = self.agreed.scale.map(|_| self.own_scale);
        header.options.sack_permitted = self.agreed.sack;
        header.options.ack_rate = self.agreed.ack_rate.then_some(AckRate::Supported);
        header.options.timestamps = timestamps;
        // The endpoint makes the cookie itself. A SYN-ACK that is sent again has none, as the first
        // may have been lost because of it (RFC 7413 §4.2.1).
        if self.wants_cookie && self.tries == 0 {
            header.options.fast_open = Some(Cookie::REQUEST);
        }
        Some(self.peer)
    }

    fn receiver(&self, now: Instant) -> Receiver {
        Receiver {
            nxt: self.irs.plus(1),
            wnd: u32::from(self.offer),
            paws: self.agreed.timestamp.map(|recent| Paws::new(recent, now)),
            syn: Some(self.irs),
        }
    }

    /// Returns the acknowledgment that shows the peer the state of this side.
    //= rfc7323#3.2-4
    fn acknowledgment(&self, now: Instant) -> Reply<K> {
        let ecr = self.agreed.timestamp;
        let timestamps = ecr.map(|ecr| Timestamps { val: timestamp(self.ts_offset, now), ecr });
        let shift = self.agreed.scale.map_or(0, |_| self.own_scale.min(14));
        Reply {
            peer: self.peer,
            local_port: self.local_port,
            remote_port: self.remote_port,
            seq: self.iss.plus(1).value(),
            ack: self.irs.plus(1).value(),
            flags: Flags::ACK,
            window: self.offer >> shift,
            timestamps,
        }
    }

    /// Returns the RTT of the handshake: by timestamp, otherwise if nothing was sent twice (Karn).
    /// Zero means the acknowledgment of a SYN cookie, which is not timed.
    fn rtt(&self, now: Instant, segment: &Segment<'_>) -> Option<Duration> {
        let longest = self.sent_at.elapsed(now);
        let known = match (self.agreed.timestamp, segment.header.options.timestamps) {
            // An echo of an earlier SYN-ACK would measure the back-off.
            (Some(_), Some(ts)) => echo_age(self.ts_offset, now, ts.ecr)
                .is_some_and(|age| ticks(age) <= longest + CLOCK),
            _ => self.tries == 0,
        };
        (known && longest > Duration::ZERO).then_some(longest)
    }

    pub(super) fn established(&self, now: Instant, segment: &Segment<'_>) -> Established {
        Established {
            iss: self.iss,
            irs: self.irs,
            adv: self.irs.plus(1).plus(u32::from(self.offer)),
            wnd: u32::from(self.wnd),
            agreed: self.agreed,
            ts_offset: self.ts_offset,
            syn_lost: self.tries > 0,
            early: false,
            rtt: self.rtt(now, segment),
        }
    }
}

/// Returns the octets of a buffer to use: as many as are configured and available.
pub(super) fn capacity(configured: usize, available: usize) -> usize {
    if configured == 0 { available } else { configured.min(available) }
}

impl<K: Peer, S: Sizes> Endpoint<K, S> {
    /// Returns the setup of a connection with this configuration.
    pub(super) fn setup(&self, config: &ConnectionConfig) -> Setup {
        let marks = S::ReceiveMap::LEN.saturating_mul(8);
        Setup::new::<S::Features>(
            config,
            config.own_mss(self.config.max_mss),
            capacity(config.send_buffer, S::SendBuffer::LEN),
            capacity(config.receive_buffer, S::ReceiveBuffer::LEN.min(marks)),
        )
    }

    /// Returns the record of a listener with these settings.
    pub(super) fn listener(&self, port: NonZeroU16, config: &ListenConfig) -> Listener {
        let ListenConfig { backlog, fast_open, connection } = config;
        let mut setup = self.setup(connection);
        // Its connections send a SYN only with an ACK.
        setup.params.syn_retries = connection.syn_ack_retries;
        Listener { port, backlog: (*backlog).max(1), fast_open: *fast_open, setup }
    }

    pub(super) fn find_listener(&self, port: u16) -> Option<&Listener> {
        Listener::find(self.listeners.as_slice(), port)
    }

    pub(super) fn find_half_open(&self, peer: &K, local: u16, remote: u16) -> Option<usize> {
        let table = self.half_open.as_slice();
        table.iter().position(|r| r.as_ref().is_some_and(|r| r.matches(peer, local, remote)))
    }

    #[inline(never)]
    pub(super) fn poll_half_open(&mut self, now: Instant, header: &mut Header) -> Option<K> {
        let listeners = self.listeners.as_slice();
        self.due.set(None);
        let mut records = self.half_open.as_mut_slice().iter_mut().flatten();
        let Some(peer) = records.find_map(|r| r.poll(now, listeners, header)) else {
            return self.poll_forgotten(now, header);
        };
        if S::Features::FAST_OPEN && header.options.fast_open.is_some() {
            header.options.fast_open = Some(self.fast_open_cookie(now, &peer));
        }
        Some(peer)
    }

    /// Returns whether the backlog of this listener is full of connections that wait to be
    /// accepted.
    fn is_full(&self, listener: &Listener) -> bool {
        let entries = self.slots.as_slice().iter().filter_map(|s| s.entry.as_ref());
        let waiting = entries
            .filter(|e| !e.flags.is_accepted() && e.local_port == listener.port.get())
            .count();
        waiting >= usize::from(listener.backlog)
    }

    /// Handles a segment in LISTEN (§3.10.7.2) or CLOSED (§3.10.7.1). `least` bounds the ISS of a
    /// name that is in TIME-WAIT.
    //= rfc7413#4.2-2
    #[inline(never)]
    pub(super) fn for_listener(
        &mut self,
        now: Instant,
        peer: K,
        ecn: Ecn,
        segment: &Segment<'_>,
        least: Option<SeqNum>,
    ) -> Result<(), Discard> {
        let header = &segment.header;
        let listener = self.find_listener(header.dst_port).copied();
        // First RST, second ACK, third SYN.
        if header.flags.contains(Flags::RST) {
            return Err(Discard::NoConnection);
        }
        let Some(listener) = listener else {
            self.reset_unknown(peer, segment);
            return Err(Discard::NoConnection);
        };
        if header.flags.contains(Flags::ACK) {
            if let Some(done) = self.take_cookie(now, peer, &listener, ecn, segment) {
                return done;
            }
            self.reset_unless_cookie(now, peer, segment);
            return Err(Discard::NoConnection);
        }
        if !header.flags.contains(Flags::SYN) {
            return Err(Discard::NoConnection);
        }
        if self.is_full(&listener) {
            return Err(Discard::BacklogFull);
        }
        let mut record = self.half_open_for(now, peer, &listener, segment);
        record.iss = least.map_or(record.iss, |least| record.iss.later(least));
        if S::Features::FAST_OPEN && listener.fast_open > 0 {
            if self.open_early(now, &listener, &record, segment) {
                return Ok(());
            }
            record.wants_cookie = header.options.fast_open.is_some();
        }
        let Some(free) = self.half_open.as_mut_slice().iter_mut().find(|r| r.is_none()) else {
            return self.forget_half_open(now, record);
        };
        *free = Some(record);
        Ok(())
    }

    pub(super) fn half_open_for(
        &self,
        now: Instant,
        peer: K,
        listener: &Listener,
        segment: &Segment<'_>,
    ) -> HalfOpen<K> {
        let header = &segment.header;
        let (local_port, remote_port) = (header.dst_port, header.src_port);
        let Setup { params, receive, .. } = listener.setup;
        let offer = u16::try_from(receive).unwrap_or(u16::MAX);
        HalfOpen {
            peer,
            local_port,
            remote_port,
            iss: self.initial_sequence(now, &peer, local_port, remote_port),
            irs: SeqNum::new(header.seq),
            wnd: header.window,
            offer,
            agreed: Agreed::of::<S::Features>(header, &params, false),
            ts_offset: self.timestamp_offset(&peer, local_port, remote_port),
            own_mss: params.own_mss,
            own_scale: window_scale(receive),
            tries: 0,
            pending: true,
            waits: false,
            wants_cookie: false,
            rtx: Timer::OFF,
            sent_at: Tick::at(now),
            challenges: Challenges::NONE,
        }
    }

    /// Handles a segment in SYN-RECEIVED after a passive open (§3.10.7.4).
    //= rfc9293#MUST-11
    #[inline(never)]
    pub(super) fn for_half_open(
        &mut self,
        now: Instant,
        index: usize,
        ecn: Ecn,
        segment: &Segment<'_>,
    ) -> Result<(), Discard> {
        let Some(slot) = self.half_open.as_mut_slice().get_mut(index) else {
            return Err(Discard::NoConnection);
        };
        let record = slot.as_mut().ok_or(Discard::NoConnection)?;
        let header = &segment.header;
        match record.receiver(now).take(now, segment) {
            Ok(Arrived::Ack(_)) => {}
            Ok(Arrived::Syn) => {
                // The SYN-ACK may be lost.
                record.agreed.repeat(header);
                record.pending = true;
                return Ok(());
            }
            Ok(Arrived::Reset) => {
                // "If this connection was initiated with a passive OPEN, return to LISTEN", or to
                // TIME-WAIT, whose record is still there (MAY-2).
                *slot = None;
                return Ok(());
            }
            Err(reason) => {
                let challenged = reason.is_challenged(header.flags.contains(Flags::RST));
                if challenged && record.challenges.allow(now, &mut self.stats) {
                    // Another SYN gets the SYN-ACK again, which carries the same information.
                    match reason {
                        Discard::SynInWindow => record.pending = true,
                        _ => self.replies.push(record.acknowledgment(now)),
                    }
                }
                return Err(reason);
            }
        }
        let record = *record;
        if SeqNum::new(header.ack) == record.iss.plus(1) {
            return self.promote(now, &record, ecn, segment);
        }
        // A SYN that was delayed is sent again: the first one may have been answered with a cookie,
        // and only the second have found room.
        if let Some(listener) = self.find_listener(record.local_port).copied()
            && let Some(done) = self.take_cookie(now, record.peer, &listener, ecn, segment)
        {
            return done;
        }
        self.reset_unless_cookie(now, record.peer, segment);
        Err(Discard::AckUnsent)
    }

    /// Resets the connection of an acknowledgment that is not acceptable before the handshake is
    /// over. While cookies are awaited it may follow a segment that was lost, and which will come
    /// again with the cookie.
    fn reset_unless_cookie(&mut self, now: Instant, peer: K, segment: &Segment<'_>) {
        if !self.awaits_cookies(now) {
            self.reset_unknown(peer, segment);
        }
    }

    /// Opens the connection whose cookie this acknowledgment brings back, if any.
    fn take_cookie(
        &mut self,
        now: Instant,
        peer: K,
        listener: &Listener,
        ecn: Ecn,
        segment: &Segment<'_>,
    ) -> Option<Result<(), Discard>> {
        let record = self.remember_half_open(now, peer, listener, segment)?;
        let cookies = &mut self.stats.syn_cookies_received;
        *cookies = cookies.wrapping_add(1);
        Some(self.promote(now, &record, ecn, segment))
    }

    /// Commits a slot with its buffers, as the handshake is complete. Without a free slot nothing
    /// happens, and the peer's next segment is the next chance.
    fn promote(
        &mut self,
        now: Instant,
        record: &HalfOpen<K>,
        ecn: Ecn,
        segment: &Segment<'_>,
    ) -> Result<(), Discard> {
        let name = record.name();
        let Some(listener) = self.find_listener(record.local_port).copied() else {
            self.drop_half_open(name);
            self.reset_unknown(record.peer, segment);
            return Err(Discard::NoConnection);
        };
        if self.is_full(&listener) {
            return Err(Discard::BacklogFull);
        }
        let conn = Planned::accept(now, &listener.setup, &record.established(now, segment));
        let Some(handle) = self.install(name, conn, EntryFlags::NONE) else {
            let records = self.half_open.as_mut_slice().iter_mut().flatten();
            let waiting = records.filter(|it| it.matches(&name.0, name.1, name.2));
            waiting.for_each(|it| it.waits = true);
            return Err(Discard::BacklogFull);
        };
        self.drop_half_open(name);
        self.note_established(name);
        self.for_connection(now, handle.index(), ecn, segment)
    }

    /// Returns whether a peer waits for this port: for [`Endpoint::accept`], or for a slot while
    /// none is free or about to be. A server that serves other peers at the port then ends one of
    /// their connections.
    #[inline(never)]
    pub fn is_wanted(&self, port: u16) -> bool {
        let slots = self.slots.as_slice();
        let mut entries = slots.iter().filter_map(|slot| slot.entry.as_ref());
        let mut half_open = self.half_open.as_slice().iter().flatten();
        entries.any(|it| !it.flags.is_accepted() && it.local_port == port)
            || half_open.any(|it| it.waits && it.local_port == port)
                && !slots.iter().any(|slot| slot.price().is_some() || slot.is_ending())
    }

    fn drop_half_open(&mut self, (peer, local, remote): (K, u16, u16)) {
        for record in self.half_open.as_mut_slice() {
            record.take_if(|r| r.matches(&peer, local, remote));
        }
    }
}
