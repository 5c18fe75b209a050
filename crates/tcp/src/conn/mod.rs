//! One connection: the variables of RFC 9293 §3.3.1 and what the extensions add to them.
//!
//! A [`Connection`] knows neither addresses nor ports nor checksums, and it does not own its
//! buffers: every call that touches octets brings them along as [`Buffers`].
//!
//! Invariants, which `check.rs` has as code: SND.UNA ≤ SND.NXT, and SND.NXT never goes back
//! (retransmission keeps its own place); the send ring holds the octets from SND.UNA on; the
//! advertised right edge never retracts; whenever something is in flight, the retransmission timer
//! runs or a retransmission is pending.

mod acked;
mod agreed;
mod check;
mod control;
mod ecn;
mod facts;
mod input;
mod output;
mod pacing;
mod plan;
mod report;
mod setup;
mod timers;

pub(crate) use agreed::Agreed;
use control::Reader;
pub use control::SegmentLoss;
pub(crate) use ecn::{syn_ack_flags, syn_flags};
pub(crate) use output::Emission;
use plan::Board;
pub use plan::LossRecovery;
pub(crate) use plan::Planned;
pub(crate) use setup::{Params, Setup};

use crate::congestion::{Acked, Controller};
use crate::error::{ConnectionError, SoftError};
use crate::features::Features;
use crate::info::Counters;
use crate::paws::Paws;
use crate::recv::ack::AckState;
use crate::recv::buffer::ReceiveBuffer;
use crate::rtt::RttEstimator;
use crate::send::buffer::{Piece, SendBuffer, Span, Stored};
use crate::send::prr::Rate;
use crate::send::recovery::{Aids, Phase, Recovery};
use crate::send::scoreboard::Scoreboard;
use crate::seq::SeqNum;
use crate::state::State;
use crate::timer::{Tick, Timer};
use core::marker::PhantomData;
use ecn::EcnState;
use facts::Facts;
use kinglet_time::{Duration, Instant};

/// Octets of a timestamps option in every segment (RFC 7323 appendix A).
pub(crate) const TIMESTAMPS_LEN: u16 = 12;
/// MSS of a peer that does not say (RFC 9293 §3.7.1, IPv6).
pub(crate) const DEFAULT_PEER_MSS: u16 = 1220;
/// IPv6's (RFC 8200 §5): that MSS with 60 octets of headers.
const MIN_MTU: u16 = 1280;
/// Less would leave no room for data beside full options.
const MIN_MSS: u16 = 64;

/// What a connection keeps in its slot and a segment may change.
pub(crate) struct Buffers<'a> {
    pub(crate) receive: &'a mut [u8],
    pub(crate) map: &'a mut [u8],
    pub(crate) pieces: &'a mut [Piece],
}

/// Send sequence variables.
#[derive(Clone, Copy, Debug)]
struct Send {
    una: SeqNum,
    /// After everything ever sent: SND.MAX of other stacks.
    nxt: SeqNum,
    wnd: u32,
    /// Sequence number of the last window update. SND.WL2 is left out: it never exceeds SND.UNA,
    /// and what acknowledges less than that updates nothing.
    wl1: SeqNum,
    iss: SeqNum,
    /// After the last octet in the send queue, where a FIN stands.
    end: SeqNum,
}

/// Receive sequence variables.
#[derive(Clone, Copy, Debug)]
struct Receive {
    nxt: SeqNum,
    /// The right edge that has been advertised; RCV.WND is its distance from `nxt`.
    adv: SeqNum,
    irs: SeqNum,
    /// Where the peer's FIN stands, which may have come out of order, if it is known.
    fin_at: SeqNum,
}

/// Retransmissions in a row that wait as long as the first, where losses say nothing of congestion.
/// Linux has six for thin streams (`tcp_thin_linear_timeouts`).
const SAME_RTO: u8 = 3;

/// How far Fast Open has come (RFC 7413).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FastOpen {
    /// Not used, or not with success.
    Off,
    /// To be tried with the first SYN.
    Wanted,
    /// The SYN has asked for a cookie.
    Asked,
    /// The SYN has carried a cookie, and data if there was any.
    Sent,
    /// The own link has lost that SYN: it goes again with all that it carried.
    Again,
    /// The SYN was not answered in time and went again without.
    Lost,
    /// The data of the SYN was taken: by the peer, or from it.
    Accepted,
}

/// The numbers a passive open ends with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Established {
    pub(crate) iss: SeqNum,
    pub(crate) irs: SeqNum,
    /// Right edge that the SYN-ACK has advertised.
    pub(crate) adv: SeqNum,
    /// Window of the peer's SYN, unscaled.
    pub(crate) wnd: u32,
    pub(crate) agreed: Agreed,
    pub(crate) ts_offset: u32,
    pub(crate) syn_lost: bool,
    /// The handshake is not over, but the peer has shown a Fast Open cookie.
    pub(crate) early: bool,
    /// Round trip of the handshake, if it could be measured.
    pub(crate) rtt: Option<Duration>,
}

/// What the retransmission timer waits for: one timer for all, as RFC 8985 §8 has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rtx {
    /// RTO, or the persist timer.
    Timeout,
    /// PTO: a tail loss probe.
    Probe,
    /// The reordering window.
    Reordering,
}

/// A connection; `C` controls congestion, `R` finds and repairs losses, and `F` says what else
/// there is.
///
/// Small things come first, and then what is used most: on ARMv6-M one instruction loads an octet
/// within 32 of the pointer, half a word within 64 and a word within 128, but two or three what is
/// further on. The compiler's own order has the octets last. What the endpoint calls with a
/// segment, for one, or when time is up, is not inlined, so that it has the pointer at hand.
#[repr(C)]
pub struct Connection<C, A: Aids, F: Features, B: ?Sized> {
    state: State,
    error: Option<ConnectionError>,
    facts: Facts,
    /// Since SND.UNA last moved.
    soft_error: Option<SoftError>,
    reader: Reader,
    ecn: EcnState,
    fast_open: FastOpen,
    keep_sent: u8,
    /// Doublings of the RTO.
    backoff: u8,
    /// How many of them stay until a round trip has been measured.
    needless: u8,
    /// Retransmissions in a row without a sign of life from the peer.
    tries: u8,
    /// Losses that the link has told of since there was progress.
    told: u8,
    rtx_kind: Rtx,
    /// What is lost first, or the SYN, is to be sent again now, whatever cwnd says.
    resend: bool,
    /// A round trip was measured since the last loss probe.
    sampled: bool,
    /// Snd.Wind.Shift (RFC 7323 §2)
    snd_shift: u8,
    /// Octets of payload in a full segment without SACK option.
    mss: u16,
    /// Recent share of data segments that were sent again, in 1/65,536.
    resent: u16,
    /// Largest payload received: the peer's notion of a full segment.
    rcv_mss: u16,
    /// The largest window the peer has offered, before the shift.
    max_wnd: u16,
    tx: SendBuffer<F::Place>,
    paws: Option<Paws>,
    ack: AckState,
    snd: Send,
    rcv: Receive,
    /// Retransmission timer, or persist timer if nothing is in flight.
    rtx: Timer,
    cc: C,
    /// Keep-alive timer; in FIN-WAIT-2 the time this state may still last.
    keep: Timer,
    /// Until then nothing follows what is in flight: with pacing, or by `hold_back`.
    pace: Timer,
    last_sent: Tick,
    /// When SND.UNA last moved, or when the flight began.
    progress_at: Tick,
    recovery: Recovery<A>,
    rx: ReceiveBuffer<F::Place>,
    rtt: RttEstimator,
    /// SND.NXT when the window was last reduced, with ECN; what lies before it was answered.
    cwr_point: SeqNum,
    ts_offset: u32,
    params: Params,
    counters: Counters,
    features: PhantomData<F>,
    /// Last, so that a connection can be used without the length of its table being known: then
    /// there is one program for the connections of all plans ([`Board`]).
    board: B,
}

impl<C: Controller, A: Aids, F: Features, B: Board> Connection<C, A, F, B> {
    /// An active open: SYN-SENT, the SYN to be polled.
    pub(crate) fn connect(now: Instant, setup: &Setup, iss: SeqNum, ts_offset: u32) -> Self {
        let params = setup.params;
        let zero = SeqNum::new(0);
        let mss = params.own_mss;
        Connection {
            state: State::SynSent,
            error: None,
            // The SYN is to be sent.
            facts: Facts::NONE,
            soft_error: None,
            reader: Reader::Present,
            ecn: EcnState::default(),
            cwr_point: iss,
            fast_open: match F::FAST_OPEN && params.has(Params::FAST_OPEN) {
                true => FastOpen::Wanted,
                false => FastOpen::Off,
            },
            keep_sent: 0,
            backoff: 0,
            needless: 0,
            tries: 0,
            told: 0,
            resend: true,
            sampled: false,
            snd_shift: 0,
            mss,
            resent: 0,
            snd: Send { una: iss, nxt: iss, wnd: 0, wl1: zero, iss, end: iss.plus(1) },
            rcv: Receive {
                nxt: zero,
                adv: zero,
                // So that nothing has been received before the peer's SYN tells more.
                irs: zero.minus(1),
                fin_at: zero,
            },
            rcv_mss: 0,
            max_wnd: 0,
            tx: SendBuffer::new(setup.send),
            rx: ReceiveBuffer::new(setup.receive),
            rtt: RttEstimator::new(setup.rto),
            cc: C::new(u32::from(mss), initial_window(u32::from(mss), params.initial_window)),
            recovery: Recovery::new(iss),
            ack: AckState::NONE,
            paws: None,
            ts_offset,
            rtx: Timer::OFF,
            rtx_kind: Rtx::Timeout,
            keep: Timer::OFF,
            pace: Timer::OFF,
            last_sent: Tick::at(now),
            progress_at: Tick::at(now),
            counters: Counters::default(),
            params,
            features: PhantomData,
            board: B::new(iss),
        }
    }
}

impl<C: Controller, A: Aids, F: Features, B: Scoreboard + ?Sized> Connection<C, A, F, B> {
    /// A passive open whose handshake is complete: ESTABLISHED; or SYN-RECEIVED for an early one.
    pub(crate) fn accept_from(&mut self, now: Instant, from: &Established) {
        self.agree(now, from.irs, &from.agreed);
        self.rcv.adv = from.adv;
        self.snd.nxt = from.iss.plus(1);
        self.snd.una = self.snd.nxt;
        self.snd.wl1 = from.irs;
        self.set_window(from.wnd);
        if let Some(rtt) = from.rtt {
            self.take_sample(rtt);
        }
        if from.early {
            self.fast_open = FastOpen::Accepted;
            self.transition(State::SynReceived);
            self.snd.una = from.iss;
            self.snd.nxt = from.iss;
            self.begin_sending(false);
            self.resend = true;
        } else {
            self.fast_open = FastOpen::Off;
            self.begin_sending(from.syn_lost);
            self.establish(now, from.syn_lost);
        }
    }

    /// The peer's SYN is known: takes over its options.
    //= rfc9293#MUST-15 rfc9293#MUST-16
    fn agree(&mut self, now: Instant, irs: SeqNum, agreed: &Agreed) {
        self.rcv.irs = irs;
        self.rcv.nxt = irs.plus(1);
        self.rcv.adv = self.rcv.nxt;
        self.facts.put(Facts::SCALES, agreed.scale.is_some());
        match agreed.scale {
            Some(shift) => self.snd_shift = shift,
            None => self.rx.leave_unscaled(),
        }
        self.facts.put(Facts::SACK, agreed.sack);
        self.begin_ecn(agreed.ecn);
        self.paws = agreed.timestamp.map(|recent| Paws::new(recent, now));
        let peer = agreed.peer_mss.unwrap_or(DEFAULT_PEER_MSS).max(MIN_MSS);
        let options = self.timestamps_len();
        self.mss = self.params.own_mss.min(peer).saturating_sub(options);
    }

    /// Sets up the congestion window and recovery for what follows the SYN.
    fn begin_sending(&mut self, syn_lost: bool) {
        let mss = u32::from(self.mss);
        // RFC 5681 §3.1: after the loss of a SYN the initial window is one segment.
        let initial = if syn_lost { mss } else { initial_window(mss, self.params.initial_window) };
        self.cc = C::new(mss, initial);
        self.recovery.restart(self.snd.una, self.snd.iss);
        self.board.reset(self.snd.una);
        self.told = 0;
        self.resend = false;
    }

    /// Both SYNs are acknowledged.
    fn establish(&mut self, now: Instant, syn_lost: bool) {
        if syn_lost {
            self.rtt.syn_was_lost();
        }
        // From now on the bound for `set_mss`: what both sides have announced.
        self.params.own_mss = self.mss.saturating_add(self.timestamps_len());
        self.backoff = 0;
        self.tries = 0;
        self.rtx.clear();
        if self.flight() > 0 {
            // An early connection has sent data since its SYN.
            self.arm(now);
        }
        self.progress_at = Tick::at(now);
        self.transition(if self.facts.has(Facts::FIN_QUEUED) {
            State::FinWait1
        } else {
            State::Established
        });
        self.touch_keepalive(now);
    }

    /// Octets of the timestamps option in every segment.
    fn timestamps_len(&self) -> u16 {
        if self.paws.is_some() { TIMESTAMPS_LEN } else { 0 }
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    pub(crate) fn fast_open(&self) -> FastOpen {
        if F::FAST_OPEN { self.fast_open } else { FastOpen::Off }
    }

    /// Whether data was taken from a peer whose handshake is not over.
    pub(crate) fn is_opening_early(&self) -> bool {
        self.state == State::SynReceived && self.fast_open() == FastOpen::Accepted
    }

    /// Whether the SYN for Fast Open had to be sent again; it is told once.
    pub(crate) fn take_fast_open_loss(&mut self) -> bool {
        let sent = matches!(self.fast_open(), FastOpen::Asked | FastOpen::Sent | FastOpen::Again);
        let lost = sent && self.state == State::SynSent && self.tries > 0;
        if lost {
            self.fast_open = FastOpen::Lost;
        }
        lost
    }

    /// Whether a connection that was to open fast has come to nothing.
    pub(crate) fn has_fast_open_failed(&self) -> bool {
        let over = self.state == State::Closed && self.error.is_some();
        over && !matches!(self.fast_open(), FastOpen::Off | FastOpen::Wanted | FastOpen::Accepted)
    }

    pub(crate) fn error(&self) -> Option<ConnectionError> {
        self.error
    }

    /// Whether no more segments will be exchanged in this connection's slot.
    pub(crate) fn is_finished(&self) -> bool {
        matches!(self.state, State::Closed | State::TimeWait)
            && !self.facts.has(Facts::RESET_PENDING)
    }

    /// SND.WND is `wnd` from now on.
    fn set_window(&mut self, wnd: u32) {
        self.snd.wnd = wnd;
        // That of a SYN may be no multiple of the unit (RFC 7323 §2.2).
        let units = wnd.div_ceil(1 << self.snd_shift.min(14));
        let units = u16::try_from(units).unwrap_or(u16::MAX);
        self.max_wnd = self.max_wnd.max(units);
    }

    /// MAX.SND.WND of RFC 5961 §5.2
    fn max_wnd(&self) -> u32 {
        u32::from(self.max_wnd) << self.snd_shift.min(14)
    }

    /// Where the peer's FIN stands, if it is known.
    fn fin(&self) -> Option<SeqNum> {
        self.facts.has(Facts::FIN_KNOWN).then_some(self.rcv.fin_at)
    }

    fn flight(&self) -> u32 {
        self.snd.nxt.since(self.snd.una)
    }

    /// Octets not sent yet, the FIN not counted.
    fn unsent(&self) -> u32 {
        self.snd.end.since(self.snd.nxt)
    }

    /// A FIN is queued and has never been sent.
    fn fin_unsent(&self) -> bool {
        self.facts.has(Facts::FIN_QUEUED) && self.snd.nxt.at_or_before(self.snd.end)
    }

    /// Octets in the network.
    fn inflight(&self) -> u32 {
        self.recovery.inflight(self.flight(), self.board.gone(), u32::from(self.mss))
    }

    /// cwnd, which RFC 9937 sets in fast recovery. Of a window of four, of which much was lost, it
    /// can leave one segment, and nothing would follow to show the loss of that. RFC 5681's least
    /// ssthresh is two, and RFC 6675 sends as many whatever was lost. After a timeout RFC 5681 §3.1
    /// wants one; two, on a path where timeouts are no congestion, is the least of RFC 9002 §7.2.
    fn window(&self) -> u32 {
        let two = u32::from(self.mss).saturating_mul(2);
        match self.recovery.phase() {
            Phase::Fast { rate, .. } => match rate.window() {
                Some(window) => window.max(two.min(self.cc.slow_start_threshold())),
                // RFC 6582: what duplicates add is taken from what is in flight.
                None => self.cc.window(),
            },
            Phase::Timeout { .. } if self.params.has(Params::LOSSY_PATH) => {
                self.cc.window().max(two)
            }
            Phase::Timeout { .. } | Phase::Open { .. } => self.cc.window(),
        }
    }

    /// Whether the peer's SACK says what is lost; else duplicate acknowledgments do.
    fn heeds_sack(&self) -> bool {
        A::SELECTIVE && self.facts.has(Facts::SACK)
    }

    fn take_sample(&mut self, rtt: Duration) {
        self.rtt.sample(rtt);
        self.needless = 0;
        self.sampled = true;
    }

    fn rto(&self) -> Duration {
        // What the link has told of was lost there, and no timeout has found it out: waiting for
        // the link to recover need not begin with a doubling.
        let told = self.told > 0 || self.params.has(Params::LOSSY_PATH);
        let data = self.flight() > 0 && self.snd.una != self.snd.iss;
        let same = if told && data { SAME_RTO } else { 0 };
        self.rtt.rto(self.backoff.saturating_sub(same))
    }

    /// Ends the connection without a segment.
    #[inline(never)]
    fn finish(&mut self, error: Option<ConnectionError>) {
        self.transition(State::Closed);
        if self.error.is_none() {
            self.error = error;
        }
        self.stop();
    }

    /// The only way to change the state.
    fn transition(&mut self, to: State) {
        debug_assert!(self.state.leads_to(to), "{:?} does not lead to {to:?}", self.state);
        self.state = to;
    }

    /// Nothing is sent any more.
    fn stop(&mut self) {
        self.rtx.clear();
        self.keep.clear();
        self.ack.stop();
        self.resend = false;
    }

    pub(crate) fn push(&mut self, ring: &mut [u8], data: &[u8]) -> usize {
        let count = self.tx.push(ring, data);
        self.extend(count);
        count
    }

    pub(crate) fn push_piece(&mut self, pieces: &mut [Piece], data: &'static [u8]) -> usize {
        let count = SendBuffer::<F::Place>::push_piece(pieces, self.queue(), data);
        self.extend(count);
        count
    }

    /// The application has written so many octets.
    fn extend(&mut self, count: usize) {
        self.snd.end = self.snd.end.plus(u32::try_from(count).unwrap_or(0));
    }

    /// What is in the send queue: from SND.UNA on, but without SYN and FIN.
    #[inline(never)]
    fn queue(&self) -> Span {
        let Send { una, iss, end, .. } = self.snd;
        // A connection that has got further may be there again after 4 GiB.
        let opening = matches!(self.state, State::SynSent | State::SynReceived | State::Closed);
        let start = if una == iss && opening { una.plus(1) } else { una.earlier(end) };
        Span { start, end }
    }

    pub(crate) fn send_room(&self) -> usize {
        if self.can_write() { self.tx.room() } else { 0 }
    }

    pub(crate) fn can_write(&self) -> bool {
        !self.facts.has(Facts::FIN_QUEUED)
            && matches!(
                self.state,
                State::SynSent | State::SynReceived | State::Established | State::CloseWait
            )
    }

    pub(crate) fn fin_queued(&self) -> bool {
        self.facts.has(Facts::FIN_QUEUED)
    }

    pub(crate) fn readable(&self) -> usize {
        self.rx.readable() as usize
    }

    pub(crate) fn read(&mut self, ring: &[u8], out: &mut [u8]) -> usize {
        self.rx.read(ring, out)
    }

    pub(crate) fn peek(&self, ring: &[u8], out: &mut [u8]) -> usize {
        self.rx.peek(ring, out)
    }

    /// Whether the peer's FIN has been reached, so that nothing more can be read later.
    pub(crate) fn at_end(&self) -> bool {
        matches!(
            self.state,
            State::CloseWait | State::Closing | State::LastAck | State::TimeWait | State::Closed
        )
    }

    /// See [`SendBuffer::read`].
    pub(crate) fn payload(
        &self,
        stored: Stored<'_>,
        seq: SeqNum,
        len: usize,
        take: impl FnMut(&[u8]),
    ) -> Option<()> {
        self.tx.read(stored, self.queue(), seq, len, take)
    }

    /// See [`SendBuffer::copy_to`].
    pub(crate) fn copy_payload(
        &self,
        stored: Stored<'_>,
        seq: SeqNum,
        out: &mut [u8],
    ) -> Option<()> {
        self.tx.copy_to(stored, self.queue(), seq, out)
    }

    /// The application closes its side (RFC 9293 §3.10.4).
    pub(crate) fn close(&mut self) {
        match self.state {
            State::SynSent => self.finish(None),
            State::Established => self.transition(State::FinWait1),
            State::CloseWait => self.transition(State::LastAck),
            _ => {}
        }
        self.facts.put(Facts::FIN_QUEUED, true);
    }

    /// The application aborts (RFC 9293 §3.10.5).
    pub(crate) fn abort(&mut self, error: ConnectionError) {
        let synchronised = !matches!(self.state, State::Closed | State::SynSent | State::TimeWait);
        self.finish(Some(error));
        self.facts.put(Facts::RESET_PENDING, synchronised);
    }

    /// A destination-unreachable message about this connection: hard, whatever its code, while it
    /// is opening, and only then (RFC 5461 §4, RFC 9293 §3.9.2.2).
    //= rfc9293#SHLD-26
    pub(crate) fn unreachable(&mut self, quoted: SeqNum) {
        if !self.is_in_flight(quoted) {
            return;
        }
        if matches!(self.state, State::SynSent | State::SynReceived) {
            self.finish(Some(ConnectionError::Unreachable));
        } else {
            self.soft_error = Some(SoftError::Unreachable);
        }
    }

    /// What an ICMP message quotes is believed only if it was sent and is not yet acknowledged
    /// (RFC 5927 §4.1).
    fn is_in_flight(&self, quoted: SeqNum) -> bool {
        quoted.in_window(self.snd.una, self.flight())
    }

    /// The path takes packets of `mtu` octets only (RFC 8201 §4). What is in flight is taken for
    /// lost, all of it: the routers drop it one by one. That is no sign of congestion.
    ///
    /// Nothing less than the minimum MTU is believed, so that a forged message costs a seventh of
    /// the segment size at most, and once; the delays of RFC 5927 §7.2 are not needed for that.
    pub(crate) fn packet_too_big(&mut self, quoted: SeqNum, mtu: u32) {
        let headers = u32::from(MIN_MTU.saturating_sub(DEFAULT_PEER_MSS));
        let mss = mtu.max(u32::from(MIN_MTU)).saturating_sub(headers);
        let mss = u16::try_from(mss).unwrap_or(u16::MAX);
        let opening = matches!(self.state, State::SynSent | State::SynReceived);
        let options = self.timestamps_len();
        if opening || !self.is_in_flight(quoted) || mss >= self.mss.saturating_add(options) {
            return;
        }
        self.params.own_mss = mss;
        self.set_mss(mss);
        self.board.lose(self.snd.una, self.snd.nxt);
    }

    pub(crate) fn acknowledge_now(&mut self) {
        self.ack.now = true;
    }

    /// Whether something received is not acknowledged yet.
    pub(crate) fn owes_ack(&self) -> bool {
        self.ack.unacked() > 0
    }

    /// Last.ACK.sent of RFC 7323 §4.3.
    fn last_ack_sent(&self) -> SeqNum {
        self.rcv.nxt.minus(self.ack.unacked())
    }

    //= rfc9293#MUST-48 rfc9293#SHLD-21 rfc9293#SHLD-22
    pub(crate) fn diffserv(&self) -> u8 {
        self.params.diffserv
    }

    pub(crate) fn snd_nxt(&self) -> SeqNum {
        self.snd.nxt
    }

    pub(crate) fn rcv_nxt(&self) -> SeqNum {
        self.rcv.nxt
    }

    pub(crate) fn paws(&self) -> Option<Paws> {
        self.paws
    }

    /// After the last octet of text that is in order: RCV.NXT, but before the FIN.
    fn received(&self) -> SeqNum {
        self.fin().map_or(self.rcv.nxt, |fin| fin.earlier(self.rcv.nxt))
    }

    /// RCV.WND as a header would say it.
    pub(crate) fn window_field(&self) -> u16 {
        let wnd = self.rcv.adv.since(self.rcv.nxt);
        // Rounds up: the ring keeps the slack free (see `receive_limit`), and rounding down would
        // retract the edge.
        let slack = (1_u32 << self.rx.shift()).saturating_sub(1);
        u16::try_from(wnd.saturating_add(slack) >> self.rx.shift()).unwrap_or(u16::MAX)
    }
}

/// The initial window in octets: RFC 5681 §3.1 for 0 segments, else as many, within RFC 6928 §2.
fn initial_window(mss: u32, segments: u8) -> u32 {
    if segments > 0 {
        let bound = mss.saturating_mul(2).max(14_600);
        return mss.saturating_mul(u32::from(segments)).min(bound);
    }
    let segments = match mss {
        0..=1095 => 4,
        1096..=2190 => 3,
        _ => 2,
    };
    mss.saturating_mul(segments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::NewReno;
    use crate::features::Full;
    use crate::send::flight::{Flight, SegmentRecord};
    use crate::send::recovery::Selective;

    #[test]
    fn a_connection_without_buffers_is_no_larger_than_tcplps() {
        let size = size_of::<Connection<NewReno, Selective, Full, Flight<[SegmentRecord; 6]>>>();
        std::println!("{size}");
        assert!(size <= 536, "TCPlp's TCB has 536 octets on a 32-bit machine, this one {size}");
    }
}
