//! The endpoint: all connections of a node, demultiplexed by an opaque peer and two ports.
//!
//! Functions that its owner calls are not inlined (`inline(never)`): in the loop of an application
//! the fields are so far from the pointer at hand that an ARMv6-M takes three instructions to reach
//! one.

mod api;
mod check;
mod control;
mod fast_open;
mod isn;
mod listener;
mod poll;
mod ready;
mod reply;
mod syn_cookie;
mod time_wait;

pub use fast_open::KnownServer;
pub use listener::{HalfOpen, Listener};
pub use ready::{Readiness, Ready};
pub use time_wait::TimeWait;

use crate::config::TcpConfig;
use crate::congestion::Controller;
use crate::conn::{Buffers, FastOpen, LossRecovery, Planned};
use crate::error::Discard;
use crate::features::{Features, Place};
use crate::send::buffer::{Piece, Stored};
use crate::seq::SeqNum;
use crate::state::State;
use crate::stats::Stats;
use crate::timer::{HORIZON, Tick, Timer};
use core::cell::Cell;
use core::hash::Hasher;
use core::ops::Deref;
use fast_open::Resets;
use kinglet_mem::{Array, Empty};
use kinglet_time::{Duration, Instant};
use kinglet_wire::Ecn;
use kinglet_wire::tcp::{Flags, MAX_HEADER_LEN, Segment, verify_checksum};
use ready::EntryFlags;
use reply::{Challenges, Replies};

/// Both ends' addresses, which TCP only compares, sums and hashes.
pub trait Peer: Copy + Eq {
    /// Returns the ones' complement sum, not inverted, of the pseudo-header for a segment of
    /// `tcp_len` octets (RFC 8200 §8.1), protocol number included.
    fn pseudo_header_sum(&self, tcp_len: usize) -> u16;

    /// Feeds both addresses to a keyed hash (RFC 6528 §3).
    fn hash_into<H: Hasher>(&self, state: &mut H);

    /// Returns whether both addresses are unicast; others are refused (RFC 9293 §3.9.2.3).
    fn is_unicast(&self) -> bool {
        true
    }
}

/// Number and size of everything: a memory plan (see `kinglet_mem`).
///
/// ```
/// use kinglet_tcp::{
///     Full, HalfOpen, KnownServer, Listener, Peer, Piece, SegmentRecord, Sizes, Slot, TimeWait,
///     congestion::NewReno,
/// };
/// struct Small;
/// impl Sizes for Small {
///     type Congestion = NewReno;
///     type Features = Full;
///     type SendBuffer = [u8; 1848];
///     type Pieces = [Piece; 1];
///     type ReceiveBuffer = [u8; 1848];
///     type ReceiveMap = [u8; 231]; // one bit for each octet of ReceiveBuffer
///     type Segments = [SegmentRecord; 6]; // four full ones, and two that are cut
///     type Connections<K: Peer> = [Slot<K, Self>; 2];
///     type Listeners = [Option<Listener>; 1];
///     type HalfOpen<K: Peer> = [Option<HalfOpen<K>>; 2];
///     type TimeWait<K: Peer> = [Option<TimeWait<K>>; 2];
///     type Servers<K: Peer> = [Option<KnownServer<K>>; 0];
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no memory plan of TCP",
    note = "`kinglet::profile!` makes the plan of a whole node"
)]
pub trait Sizes: Sized {
    /// Congestion control of every connection.
    type Congestion: Controller;
    /// Send ring of a connection; may be empty if it sends nothing but constant data.
    type SendBuffer: Array<u8>;
    /// Stretches of constant data that a connection can have in its send queue at once
    /// ([`Endpoint::send_static`]); may be empty.
    type Pieces: Array<Piece>;
    /// Receive ring of a connection.
    type ReceiveBuffer: Array<u8>;
    /// Marks of a receive ring: one bit an octet. If it is shorter, less of the ring is used.
    type ReceiveMap: Array<u8>;
    /// Extensions that are present at all: [`Full`](crate::Full), [`Small`](crate::Small), or
    /// another choice.
    type Features: Features;
    /// Records of the segments in flight, by which losses are detected; at most 255 are used. Two
    /// more than full segments fit the send ring are enough. With fewer, adjacent segments share
    /// one, and losses are detected later. `()`: none, and New Reno;
    /// [`ByTimeout`](crate::ByTimeout): the timer alone; see [`LossRecovery`].
    type Segments: LossRecovery;
    /// Connections, open or being opened actively; at most 65,535.
    type Connections<K: Peer>: Array<Slot<K, Self>>;
    /// Listening ports.
    type Listeners: Array<Option<Listener>>;
    /// Passive handshakes in progress.
    type HalfOpen<K: Peer>: Array<Option<HalfOpen<K>>>;
    /// Connections in TIME-WAIT; at least one, or the last FIN of a peer is never acknowledged.
    type TimeWait<K: Peer>: Array<Option<TimeWait<K>>>;
    /// Servers whose Fast Open cookie a client remembers; without them it does no Fast Open.
    type Servers<K: Peer>: Array<Option<KnownServer<K>>>;
}

/// Names a connection of an endpoint until its slot is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    index: u16,
    /// [`Entry::order`]
    order: u16,
}

/// Names octets in the send ring of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayloadRef {
    /// The connection; the handle of none if the segment belongs to no connection.
    pub handle: Handle,
    /// Sequence number of the first octet.
    pub seq: SeqNum,
    /// Number of octets; 0 for a segment without payload.
    pub len: u16,
}

impl PayloadRef {
    const NONE: PayloadRef =
        PayloadRef { handle: Handle { index: u16::MAX, order: 0 }, seq: SeqNum::new(0), len: 0 };
}

/// A TCP header as octets, 20 to 60 of them, checksum included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderBytes {
    octets: [u8; MAX_HEADER_LEN],
    len: u8,
}

impl Deref for HeaderBytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.octets.get(..usize::from(self.len)).unwrap_or(&[])
    }
}

/// An outgoing segment: the header as octets, the payload by reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<K> {
    /// Destination of the segment.
    pub peer: K,
    /// ECN codepoint for the IP header: ECT(0) or Not-ECT.
    pub ecn: Ecn,
    /// Differentiated services field for the IP header; see
    /// [`ConnectionConfig::diffserv`](crate::ConnectionConfig::diffserv).
    pub diffserv: u8,
    /// The header; its checksum covers pseudo-header, header and payload.
    pub header: HeaderBytes,
    /// The payload, to be copied with [`Endpoint::read_payload`] when it can leave.
    pub payload: PayloadRef,
}

/// The mark of an entry that is present. No field has more invalid values, so that the compiler
/// uses 0 in its place as the mark of an absent entry, and a table of those is all zero.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Taken {
    Yes = 1,
}

/// A connection with its names and its state towards the application.
#[repr(C)] // See `Connection`.
struct Entry<K, C, R: LossRecovery, F: Features> {
    taken: Taken,
    flags: EntryFlags,
    local_port: u16,
    remote_port: u16,
    /// Order of completion, for `accept`; it also distinguishes the connection from those before in
    /// its slot.
    order: u16,
    conn: Planned<C, R, F>,
    peer: K,
    challenges: Challenges,
}

/// The entry that a memory plan makes.
type EntryOf<K, S> =
    Entry<K, <S as Sizes>::Congestion, <S as Sizes>::Segments, <S as Sizes>::Features>;

/// Room for a connection and its buffers.
pub struct Slot<K: Peer, S: Sizes> {
    entry: Option<EntryOf<K, S>>,
    send: S::SendBuffer,
    pieces: S::Pieces,
    receive: S::ReceiveBuffer,
    map: S::ReceiveMap,
}

impl<K: Peer, S: Sizes> Empty for Slot<K, S> {
    const EMPTY: Self = Slot {
        entry: None,
        send: S::SendBuffer::EMPTY,
        pieces: S::Pieces::EMPTY,
        receive: S::ReceiveBuffer::EMPTY,
        map: S::ReceiveMap::EMPTY,
    };
}

impl<K: Peer, S: Sizes> Slot<K, S> {
    fn stored(&self) -> Stored<'_> {
        Stored { ring: self.send.as_slice(), pieces: self.pieces.as_slice() }
    }

    /// Gives octets of the send queue to `take`, as `SendBuffer::read` does.
    fn payload(&self, seq: SeqNum, len: usize, take: impl FnMut(&[u8])) -> Option<()> {
        self.entry.as_ref()?.conn.payload(self.stored(), seq, len, take)
    }

    /// Copies octets of the send queue, as `SendBuffer::copy_to` does.
    fn copy_payload(&self, seq: SeqNum, out: &mut [u8]) -> Option<()> {
        self.entry.as_ref()?.conn.copy_payload(self.stored(), seq, out)
    }

    /// Returns the price of a new connection here, if there may be one. A free slot costs nothing.
    /// A connection that is over and that its application has closed costs the report of its end
    /// and the unread octets. A connection that its application has released, and whose peer has
    /// acknowledged all and may still close, costs the acknowledgment of that close. A connection
    /// that has ended without octets to be read, and that its application still holds, costs the
    /// most: its handle becomes invalid.
    fn price(&self) -> Option<(u8, usize)> {
        let Some(entry) = &self.entry else { return Some((0, 0)) };
        if entry.conn.is_orphan() {
            return Some((2, 0));
        }
        let is_over = entry.flags.is_closed() && entry.conn.is_finished();
        let unread = entry.conn.readable();
        if is_over {
            return Some((if unread == 0 { 1 } else { 3 }, unread));
        }
        let is_dead = entry.conn.state() == State::Closed && entry.conn.is_finished();
        (is_dead && unread == 0).then_some((4, 0))
    }

    /// Returns whether it is free once a reset has left.
    fn is_ending(&self) -> bool {
        let entry = self.entry.as_ref();
        entry.is_some_and(|it| it.flags.is_closed() && it.conn.state() == State::Closed)
    }

    /// Returns the connection, and the buffers that it needs to take a segment.
    fn parts(&mut self) -> Option<(&mut EntryOf<K, S>, Buffers<'_>)> {
        let buffers = Buffers {
            receive: self.receive.as_mut_slice(),
            map: self.map.as_mut_slice(),
            pieces: self.pieces.as_mut_slice(),
        };
        Some((self.entry.as_mut()?, buffers))
    }

    fn is_named(&self, handle: Handle) -> bool {
        self.entry.as_ref().is_some_and(|e| e.order == handle.order)
    }

    fn matches(&self, peer: &K, local_port: u16, remote_port: u16) -> bool {
        self.entry.as_ref().is_some_and(|e| {
            e.local_port == local_port
                && e.remote_port == remote_port
                && e.peer == *peer
                && !matches!(e.conn.state(), State::Closed | State::TimeWait)
        })
    }
}

/// TCP for one node.
#[repr(C)] // See `Connection`.
pub struct Endpoint<K: Peer, S: Sizes> {
    resets: Resets,
    /// A record that is no connection may have something to send.
    answers: bool,
    /// Index of the server record that is replaced next.
    next_server: u8,
    /// Index at which `poll_packet` continues: a round robin over the connections.
    next_connection: u16,
    /// Counter of connections in the order in which they were established, and of names that are
    /// given up.
    order: u16,
    /// Counter of ephemeral ports (RFC 6056 §3.3.3).
    port_counter: u16,
    /// Result of [`Endpoint::deadline`], until something changes that may change it.
    due: Cell<Option<Option<Instant>>>,
    /// Reference for all instants kept in four octets, which mean those nearest to it.
    epoch: Instant,
    last_cookie: Option<Instant>,
    stats: Stats,
    config: TcpConfig,
    replies: Replies<K>,
    /// A half-open connection that is answered with a SYN cookie, and not stored.
    forgotten: <S::Features as Features>::SynCookies<HalfOpen<K>>,
    listeners: S::Listeners,
    half_open: S::HalfOpen<K>,
    time_wait: S::TimeWait<K>,
    slots: S::Connections<K>,
    /// Last field, although small: an empty record begins with octets without a value, and right
    /// before `slots` they would keep the compiler from clearing the slots in their place.
    servers: S::Servers<K>,
}

impl<K: Peer, S: Sizes> Endpoint<K, S> {
    /// Creates an endpoint without connections or listeners.
    pub const fn new(config: TcpConfig) -> Self {
        const {
            let largest = <S::Features as Features>::Place::MAX;
            assert!(S::SendBuffer::LEN <= largest && S::ReceiveBuffer::LEN <= largest);
        }
        Endpoint {
            config,
            slots: <S::Connections<K> as Array<Slot<K, S>>>::EMPTY,
            listeners: <S::Listeners as Array<Option<Listener>>>::EMPTY,
            half_open: <S::HalfOpen<K> as Array<Option<HalfOpen<K>>>>::EMPTY,
            time_wait: <S::TimeWait<K> as Array<Option<TimeWait<K>>>>::EMPTY,
            forgotten: <<S::Features as Features>::SynCookies<HalfOpen<K>> as Array<_>>::EMPTY,
            last_cookie: None,
            servers: <S::Servers<K> as Array<Option<KnownServer<K>>>>::EMPTY,
            next_server: 0,
            resets: Resets::NONE,
            answers: false,
            due: Cell::new(None),
            replies: Replies::EMPTY,
            stats: Stats::ZERO,
            epoch: Instant::ZERO,
            next_connection: 0,
            order: 0,
            port_counter: 0,
        }
    }

    /// Takes a segment: header and payload as they came, without the IP header. Only the ECN
    /// codepoint of that header matters.
    ///
    /// # Errors
    /// Reason for which it was dropped; also counted in [`Stats`]. Responses, if any, are polled.
    #[inline(never)]
    pub fn handle_packet(
        &mut self,
        now: Instant,
        peer: K,
        ecn: Ecn,
        segment: &[u8],
    ) -> Result<(), Discard> {
        self.keep_time(now);
        self.due.set(None);
        self.stats.received = self.stats.received.wrapping_add(1);
        let result = self.take_packet(now, peer, ecn, segment);
        if let Err(reason) = result {
            self.stats.discard(reason);
        }
        result
    }

    //= rfc9293#MUST-3 rfc9293#MUST-57 rfc9293#MUST-63
    fn take_packet(
        &mut self,
        now: Instant,
        peer: K,
        ecn: Ecn,
        octets: &[u8],
    ) -> Result<(), Discard> {
        if !peer.is_unicast() {
            return Err(Discard::NotUnicast);
        }
        if !verify_checksum(octets, peer.pseudo_header_sum(octets.len())) {
            return Err(Discard::Checksum);
        }
        let segment = Segment::parse(octets).map_err(|_| Discard::Malformed)?;
        let (local, remote) = (segment.header.dst_port, segment.header.src_port);
        let slots = self.slots.as_slice();
        if let Some(index) = slots.iter().position(|s| s.matches(&peer, local, remote)) {
            return self.for_connection(now, index, ecn, &segment);
        }
        self.answers = true;
        if let Some(index) = self.find_half_open(&peer, local, remote) {
            return self.for_half_open(now, index, ecn, &segment);
        }
        let mut least = None;
        if let Some(index) = self.find_time_wait(&peer, local, remote) {
            least = self.for_time_wait(now, index, &segment)?;
            if least.is_none() {
                return Ok(());
            }
        }
        self.for_listener(now, peer, ecn, &segment, least)
    }

    //= rfc5961#3.2-3 rfc5961#4.2-1 rfc5961#5.2-2
    fn for_connection(
        &mut self,
        now: Instant,
        index: usize,
        ecn: Ecn,
        segment: &Segment<'_>,
    ) -> Result<(), Discard> {
        let slot = self.slots.as_mut_slice().get_mut(index).ok_or(Discard::NoConnection)?;
        let (entry, mut buffers) = slot.parts().ok_or(Discard::NoConnection)?;
        entry.flags.wake();
        let before = entry.conn.state();
        let fast_open = entry.conn.fast_open();
        let result = entry.conn.handle_segment(now, ecn, segment, &mut buffers);
        let peer = entry.peer;
        let opening = matches!(before, State::SynSent | State::SynReceived);
        let reset = segment.header.flags.contains(Flags::RST);
        let challenged = result.is_err_and(|reason| reason.is_challenged(reset));
        if opening && result == Err(Discard::AckUnsent) {
            self.reset_unknown(peer, segment);
        } else if challenged && entry.challenges.allow(now, &mut self.stats) {
            entry.conn.acknowledge_now();
        }
        if fast_open != FastOpen::Off && matches!(before, State::SynSent | State::SynReceived) {
            self.after_fast_open(now, index, fast_open, segment);
        }
        self.after_input(now, index, before);
        result
    }

    /// Handles a connection that has just ended: it leaves its record, and its slot if no
    /// application waits for it.
    //= rfc9293#MUST-13
    fn after_input(&mut self, now: Instant, index: usize, before: State) {
        let Some(slot) = self.slots.as_mut_slice().get_mut(index) else { return };
        let Some(entry) = &slot.entry else { return };
        let state = entry.conn.state();
        let opening = |state| matches!(state, State::SynSent | State::SynReceived);
        if opening(before) && !opening(state) && state != State::Closed {
            let name = (entry.peer, entry.local_port, entry.remote_port);
            self.note_established(name);
        }
        let Some(slot) = self.slots.as_mut_slice().get_mut(index) else { return };
        let Some(entry) = &slot.entry else { return };
        if !entry.flags.is_accepted() && entry.conn.is_finished() && entry.conn.error().is_some() {
            slot.entry = None;
        } else if state == State::TimeWait && before != State::TimeWait {
            let record = TimeWait::new(
                Tick::after(now, self.config.time_wait),
                (entry.peer, entry.local_port, entry.remote_port),
                &entry.conn,
            );
            self.add_time_wait(record);
            self.answers = true;
        }
    }

    /// Returns the time at which [`Endpoint::handle_deadline`] is to be called; `None` if no timer
    /// runs.
    #[inline(never)]
    pub fn deadline(&self) -> Option<Instant> {
        if let Some(known) = self.due.get() {
            return known;
        }
        let first = self.first_timer().deadline(self.epoch);
        self.due.set(Some(first));
        first
    }

    fn first_timer(&self) -> Timer {
        let conns = self.slots.as_slice().iter().filter_map(|s| s.entry.as_ref());
        let first = conns.fold(Timer::OFF, |t, e| t.earliest(e.conn.next_timer()));
        let half_open = self.half_open.as_slice().iter().flatten();
        let first = half_open.fold(first, |t, h| t.earliest(h.next_timer()));
        let time_wait = self.time_wait.as_slice().iter().flatten();
        time_wait.fold(first, |t, w| t.earliest(w.expires().into()))
    }

    /// Ages stored instants, as the first step of every call that is given the time: see
    /// [`Tick::age`].
    fn keep_time(&mut self, now: Instant) {
        let passed = now.as_micros().wrapping_sub(self.epoch.as_micros());
        if Duration::from_micros(passed) >= HORIZON {
            self.begin_epoch(now);
        }
    }

    #[inline(never)]
    fn begin_epoch(&mut self, now: Instant) {
        let epoch = self.epoch;
        if now <= epoch {
            return;
        }
        for entry in self.slots.as_mut_slice().iter_mut().filter_map(|s| s.entry.as_mut()) {
            entry.conn.age(epoch, now);
        }
        for record in self.half_open.as_mut_slice().iter_mut().flatten() {
            record.age(epoch, now);
        }
        for record in self.time_wait.as_mut_slice().iter_mut().flatten() {
            record.age(epoch, now);
        }
        self.epoch = now;
        self.due.set(None);
    }

    /// Runs the timers that are due.
    #[inline(never)]
    pub fn handle_deadline(&mut self, now: Instant) {
        self.keep_time(now);
        if self.deadline().is_none_or(|at| at > now) {
            return;
        }
        self.due.set(None);
        self.answers = true;
        for slot in self.slots.as_mut_slice() {
            let Some(entry) = &mut slot.entry else { continue };
            if entry.conn.next_timer().is_due(now) {
                entry.conn.handle_deadline(now);
                entry.flags.wake();
                if !entry.flags.is_accepted() && entry.conn.is_finished() {
                    slot.entry = None;
                }
            }
        }
        for record in self.half_open.as_mut_slice() {
            if record.as_mut().is_some_and(|r| !r.handle_deadline(now, self.listeners.as_slice())) {
                *record = None;
            }
        }
        for record in self.time_wait.as_mut_slice() {
            if record.as_ref().is_some_and(|r| r.expires().is_past(now)) {
                *record = None;
            }
        }
    }

    /// Returns the counters of the endpoint.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Answers a segment that belongs to no connection (RFC 9293 §3.10.7.1), if that is allowed.
    fn reset_unknown(&mut self, peer: K, segment: &Segment<'_>) {
        if self.config.reset_unknown && !segment.header.flags.contains(Flags::RST) {
            self.replies.reset(peer, segment);
            self.answers = true;
        }
    }
}
