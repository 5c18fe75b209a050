//! One connection: the variables of RFC 9293 §3.3.1 and those that the extensions add.
//!
//! Sending is in `sending.rs`, receiving in `receiving.rs`. This file joins them: it has the begin
//! and end of a connection, and the calls from outside.
//!
//! A [`Connection`] knows neither addresses nor ports nor checksums, and it does not own its
//! buffers: every call that touches octets brings them along as [`Buffers`].
//!
//! Invariants, which `check.rs` tests: SND.UNA ≤ SND.NXT, and SND.NXT never goes back
//! (retransmission keeps its own place); the send ring holds the octets from SND.UNA on; the
//! advertised right edge never retracts; whenever something is in flight, the retransmission timer
//! runs or a retransmission is pending.

mod ack_rate;
mod acked;
mod agreed;
mod check;
mod control;
mod ecn;
mod flags;
mod input;
mod output;
mod pacing;
mod plan;
mod receiving;
mod report;
mod sending;
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
use crate::send::buffer::{Piece, SendBuffer, Span, Stored};
use crate::send::recovery::{LossDetection, Phase};
use crate::send::scoreboard::Scoreboard;
use crate::seq::SeqNum;
use crate::state::State;
use crate::timer::{Tick, Timer};
use ecn::EcnState;
use flags::ConnFlags;
use kinglet_time::{Duration, Instant};
use receiving::Receiving;
use sending::{Rtx, Sending};

/// Octets of a timestamps option in every segment (RFC 7323 appendix A).
pub(crate) const TIMESTAMPS_LEN: u16 = 12;
/// MSS of a peer that sends no MSS option (RFC 9293 §3.7.1, IPv6).
pub(crate) const DEFAULT_PEER_MSS: u16 = 1220;
/// Minimum MTU of IPv6 (RFC 8200 §5): that MSS with 60 octets of headers.
const MIN_MTU: u16 = 1280;
/// Least MSS that is chosen without need: a smaller one leaves no room for data with full options.
const MIN_MSS: u16 = 64;

/// Buffers in a connection's slot that a segment may change.
pub(crate) struct Buffers<'a> {
    pub(crate) receive: &'a mut [u8],
    pub(crate) map: &'a mut [u8],
    pub(crate) pieces: &'a mut [Piece],
}

/// State of Fast Open (RFC 7413).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FastOpen {
    /// Not used, or without success.
    Off,
    /// To be tried with the first SYN.
    Wanted,
    /// The SYN has requested a cookie.
    Asked,
    /// The SYN has carried a cookie, and data if there was any.
    Sent,
    /// The own link has lost that SYN: it is sent again with all that it carried.
    LostOnLink,
    /// The SYN was not answered in time and was sent again without Fast Open.
    Lost,
    /// The data of the SYN was accepted: by the peer, or from it.
    Accepted,
}

/// Variables at the end of a passive open.
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

/// A connection; `C` controls congestion, `A` and `B` detect and repair losses, and `F` selects the
/// other extensions.
///
/// It has a sending and a receiving half, which are independent of each other; the other fields
/// belong to both. The connection does everything that a segment, a timer or the application causes
/// in both halves, step by step as in the RFCs. Everything that concerns one half alone is a method
/// of that half.
///
/// Small fields come first, and then those that are used most: on ARMv6-M one instruction loads an
/// octet within 32 of the pointer, half a word within 64 and a word within 128; fields further on
/// take two or three. The compiler's own order has the octets last. Functions that the endpoint
/// calls, for example with a segment or at a deadline, are not inlined, so that they have the
/// pointer at hand.
#[repr(C)]
pub struct Connection<C, A: LossDetection, F: Features, B: ?Sized> {
    state: State,
    error: Option<ConnectionError>,
    flags: ConnFlags,
    /// Soft error since SND.UNA last moved.
    soft_error: Option<SoftError>,
    reader: Reader,
    ecn: EcnState,
    fast_open: FastOpen,
    keep_sent: u8,
    snd: Sending<C, A, F>,
    rcv: Receiving<F>,
    /// Keep-alive timer; in FIN-WAIT-2 the time this state may still last.
    keep: Timer,
    last_sent: Tick,
    ts_offset: u32,
    params: Params,
    counters: Counters,
    /// Data that the sending half has in flight. It is the last field, so that code can use a
    /// connection without the length of its table: then there is one program for the connections of
    /// all plans ([`Board`]).
    board: B,
}

impl<C: Controller, A: LossDetection, F: Features, B: Board> Connection<C, A, F, B> {
    /// Begins an active open: SYN-SENT, with the SYN to be polled.
    pub(crate) fn connect(now: Instant, setup: &Setup, iss: SeqNum, ts_offset: u32) -> Self {
        let params = setup.params;
        Connection {
            state: State::SynSent,
            error: None,
            flags: ConnFlags::NONE,
            soft_error: None,
            reader: Reader::Present,
            ecn: EcnState::default(),
            fast_open: match F::FAST_OPEN && params.has(Params::FAST_OPEN) {
                true => FastOpen::Wanted,
                false => FastOpen::Off,
            },
            keep_sent: 0,
            keep: Timer::OFF,
            last_sent: Tick::at(now),
            ts_offset,
            params,
            counters: Counters::default(),
            rcv: Receiving::new(setup),
            snd: Sending::new(now, setup, iss),
            board: B::new(iss),
        }
    }
}

impl<C: Controller, A: LossDetection, F: Features, B: Scoreboard + ?Sized> Connection<C, A, F, B> {
    /// Takes over a passive open whose handshake is complete: ESTABLISHED; or an early one:
    /// SYN-RECEIVED.
    pub(crate) fn accept_from(&mut self, now: Instant, from: &Established) {
        self.agree(now, from.irs, &from.agreed);
        self.rcv.adv = from.adv;
        self.snd.nxt = from.iss.plus(1);
        self.snd.una = self.snd.nxt;
        self.snd.wl1 = from.irs;
        self.snd.set_window(from.wnd);
        if let Some(rtt) = from.rtt {
            self.snd.take_sample(rtt, &self.params);
        }
        if from.early {
            self.fast_open = FastOpen::Accepted;
            self.transition(State::SynReceived);
            self.snd.una = from.iss;
            self.snd.nxt = from.iss;
            self.begin_sending(false);
            self.snd.retransmit_now = true;
        } else {
            self.fast_open = FastOpen::Off;
            self.begin_sending(from.syn_lost);
            self.establish(now, from.syn_lost);
        }
    }

    /// Takes over the options of the peer's SYN.
    //= rfc9293#MUST-16
    //= rfc7323#2.2-2 rfc7323#2.3-3 rfc7323#2.3-4 rfc7323#3.2-6
    fn agree(&mut self, now: Instant, irs: SeqNum, agreed: &Agreed) {
        self.rcv.irs = irs;
        self.rcv.nxt = irs.plus(1);
        self.rcv.adv = self.rcv.nxt;
        self.rcv.fin_at = self.rcv.nxt;
        self.flags.put(ConnFlags::SCALES, agreed.scale.is_some());
        match agreed.scale {
            Some(shift) => self.snd.shift = shift,
            None => self.rcv.rx.leave_unscaled(),
        }
        self.params.put(Params::SACK, agreed.sack);
        self.begin_ecn(agreed.ecn);
        self.params.put(Params::ACK_RATE, agreed.ack_rate);
        self.rcv.paws = agreed.timestamp.map(|recent| Paws::new(recent, now));
        let options = self.rcv.timestamps_len();
        // At least an octet, or nothing would ever be sent.
        self.snd.mss = self.params.own_mss.min(agreed.peer_mss).saturating_sub(options).max(1);
    }

    /// Sets up the congestion window and recovery for what follows the SYN.
    //= rfc5681#3.1-5 rfc5681#3.1-6 rfc6928#2-2
    //= rfc7413#4.2.2-3
    fn begin_sending(&mut self, syn_lost: bool) {
        let mss = u32::from(self.snd.mss);
        // RFC 5681 §3.1: after the loss of a SYN the initial window is one segment.
        let initial =
            if syn_lost { mss } else { initial_window(mss, self.params.initial_window()) };
        self.snd.cc = C::new(mss, initial);
        self.snd.recovery.restart(self.snd.una, self.snd.iss);
        self.board.reset(self.snd.una);
        self.snd.loss_reports = 0;
        self.snd.retransmit_now = false;
    }

    /// Enters ESTABLISHED or FIN-WAIT-1, as both SYNs are acknowledged.
    fn establish(&mut self, now: Instant, syn_lost: bool) {
        if syn_lost {
            self.snd.rtt.syn_was_lost();
        }
        // From now on the bound for `set_mss`: the MSS that both sides have announced.
        self.params.own_mss = self.snd.mss.saturating_add(self.rcv.timestamps_len());
        self.snd.backoff = 0;
        self.snd.tries = 0;
        self.snd.rtx.clear();
        if self.snd.flight() > 0 {
            // An early connection has sent data since its SYN.
            self.arm(now);
        }
        self.snd.progress_at = Tick::at(now);
        self.transition(if self.flags.has(ConnFlags::FIN_QUEUED) {
            State::FinWait1
        } else {
            State::Established
        });
        self.touch_keepalive(now);
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    pub(crate) fn fast_open(&self) -> FastOpen {
        if F::FAST_OPEN { self.fast_open } else { FastOpen::Off }
    }

    /// Returns whether data was taken from a peer whose handshake is not over.
    pub(crate) fn is_opening_early(&self) -> bool {
        self.state == State::SynReceived && self.fast_open() == FastOpen::Accepted
    }

    /// Returns whether the SYN for Fast Open had to be sent again; it is reported once.
    pub(crate) fn take_fast_open_loss(&mut self) -> bool {
        let sent =
            matches!(self.fast_open(), FastOpen::Asked | FastOpen::Sent | FastOpen::LostOnLink);
        let lost = sent && self.state == State::SynSent && self.snd.tries > 0;
        if lost {
            self.fast_open = FastOpen::Lost;
        }
        lost
    }

    /// Returns whether a connection attempt with Fast Open has failed.
    pub(crate) fn has_fast_open_failed(&self) -> bool {
        let over = self.state == State::Closed && self.error.is_some();
        over && !matches!(self.fast_open(), FastOpen::Off | FastOpen::Wanted | FastOpen::Accepted)
    }

    pub(crate) fn error(&self) -> Option<ConnectionError> {
        self.error
    }

    /// Returns whether no more segments will be exchanged in this connection's slot.
    pub(crate) fn is_finished(&self) -> bool {
        matches!(self.state, State::Closed | State::TimeWait)
            && !self.flags.has(ConnFlags::RESET_PENDING)
    }

    /// Returns the sequence number of the peer's FIN, if it is known.
    fn fin(&self) -> Option<SeqNum> {
        self.flags.has(ConnFlags::FIN_KNOWN).then_some(self.rcv.fin_at)
    }

    /// Returns whether a FIN is queued and has never been sent.
    fn fin_unsent(&self) -> bool {
        self.flags.has(ConnFlags::FIN_QUEUED) && self.snd.nxt.at_or_before(self.snd.end)
    }

    /// Returns the octets in the network. The SYN of an early connection is none.
    //= rfc6675#4-3
    fn inflight(&self) -> u32 {
        let flight = self.snd.flight().saturating_sub(u32::from(self.is_opening_early()));
        let mss = u32::from(self.snd.mss);
        self.snd.recovery.inflight(flight, self.board.gone(), mss)
    }

    /// Returns whether the peer's SACK reveals losses; otherwise duplicate acknowledgments do.
    //= rfc5681#3.2-6 rfc3042#2-5 rfc8985#4-1
    fn uses_sack(&self) -> bool {
        A::SELECTIVE && self.params.has(Params::SACK) && !self.is_slow()
    }

    /// Returns whether losses are detected by the timer alone.
    fn is_slow(&self) -> bool {
        !A::DUPLICATES || (F::SLOW_RECOVERY && self.params.has(Params::SLOW_RECOVERY))
    }

    /// Returns whether each segment has an acknowledgment of its own.
    fn acknowledges_each(&self) -> bool {
        F::POSITIVE_ACKS && self.params.has(Params::POSITIVE_ACKS)
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

    /// Changes the state, as nothing else does.
    fn transition(&mut self, to: State) {
        debug_assert!(self.state.leads_to(to), "{:?} does not lead to {to:?}", self.state);
        self.state = to;
    }

    /// Stops all timers: nothing more is sent.
    fn stop(&mut self) {
        self.snd.rtx.clear();
        self.keep.clear();
        self.rcv.ack.stop();
        self.snd.retransmit_now = false;
    }

    pub(crate) fn push(&mut self, ring: &mut [u8], data: &[u8]) -> usize {
        let count = self.snd.tx.push(ring, data);
        self.snd.extend(count);
        count
    }

    pub(crate) fn push_piece(&mut self, pieces: &mut [Piece], data: &'static [u8]) -> usize {
        let count = SendBuffer::<F::Place>::push_piece(pieces, self.queue(), data);
        self.snd.extend(count);
        count
    }

    /// Returns the span of the send queue: from SND.UNA on, but without SYN and FIN.
    #[inline(never)]
    fn queue(&self) -> Span {
        let (una, iss, end) = (self.snd.una, self.snd.iss, self.snd.end);
        if una != iss {
            return Span { start: una.earlier(end), end };
        }
        // SND.UNA of a connection in a later state may be the ISS again after 4 GiB.
        let opening = matches!(self.state, State::SynSent | State::SynReceived | State::Closed);
        Span { start: if opening { una.plus(1) } else { una.earlier(end) }, end }
    }

    pub(crate) fn send_room(&self) -> usize {
        if self.can_write() { self.snd.tx.room() } else { 0 }
    }

    pub(crate) fn can_write(&self) -> bool {
        !self.flags.has(ConnFlags::FIN_QUEUED)
            && matches!(
                self.state,
                State::SynSent | State::SynReceived | State::Established | State::CloseWait
            )
    }

    pub(crate) fn fin_queued(&self) -> bool {
        self.flags.has(ConnFlags::FIN_QUEUED)
    }

    pub(crate) fn readable(&self) -> usize {
        self.rcv.rx.readable() as usize
    }

    pub(crate) fn read(&mut self, ring: &[u8], out: &mut [u8]) -> usize {
        self.rcv.rx.read(ring, out)
    }

    pub(crate) fn peek(&self, ring: &[u8], out: &mut [u8]) -> usize {
        self.rcv.rx.peek(ring, out)
    }

    /// Returns whether the peer's FIN has been reached, so that nothing more can be read later.
    pub(crate) fn at_end(&self) -> bool {
        matches!(
            self.state,
            State::CloseWait | State::Closing | State::LastAck | State::TimeWait | State::Closed
        )
    }

    /// Reads from the send queue; see [`SendBuffer::read`].
    pub(crate) fn payload(
        &self,
        stored: Stored<'_>,
        seq: SeqNum,
        len: usize,
        take: impl FnMut(&[u8]),
    ) -> Option<()> {
        self.snd.tx.read(stored, self.queue(), seq, len, take)
    }

    /// Copies from the send queue; see [`SendBuffer::copy_to`].
    pub(crate) fn copy_payload(
        &self,
        stored: Stored<'_>,
        seq: SeqNum,
        out: &mut [u8],
    ) -> Option<()> {
        self.snd.tx.copy_to(stored, self.queue(), seq, out)
    }

    /// Closes the application's side (RFC 9293 §3.10.4).
    pub(crate) fn close(&mut self) {
        match self.state {
            // RFC 9293 §3.10.4: pending reads and writes are notified.
            State::SynSent => self.finish(Some(ConnectionError::Aborted)),
            State::Established => self.transition(State::FinWait1),
            State::CloseWait => self.transition(State::LastAck),
            _ => {}
        }
        self.flags.put(ConnFlags::FIN_QUEUED, true);
    }

    /// Aborts the connection for the application (RFC 9293 §3.10.5).
    pub(crate) fn abort(&mut self, error: ConnectionError) {
        let synchronised = !matches!(self.state, State::Closed | State::SynSent | State::TimeWait);
        self.finish(Some(error));
        self.flags.put(ConnFlags::RESET_PENDING, synchronised);
    }

    /// Handles an ICMPv6 message about this connection. Destination Unreachable is a hard error,
    /// whatever its code, while the connection is opening, and only then (RFC 5461 §4, RFC 9293
    /// §3.9.2.2).
    //= rfc9293#SHLD-25 rfc9293#SHLD-26
    pub(crate) fn network_error(&mut self, quoted: SeqNum, error: SoftError) {
        if !self.snd.is_in_flight(quoted) {
            return;
        }
        let opening = matches!(self.state, State::SynSent | State::SynReceived);
        if opening && error == SoftError::Unreachable {
            self.finish(Some(ConnectionError::Unreachable));
        } else {
            self.soft_error = Some(error);
        }
    }

    /// Handles Packet Too Big: the path takes packets of `mtu` octets only (RFC 8201 §4). All data
    /// in flight is marked as lost: the routers drop it packet by packet. That is no sign of
    /// congestion.
    ///
    /// No value below the minimum MTU is accepted, so that a forged message costs a seventh of the
    /// segment size at most, and once; the delays of RFC 5927 §7.2 are not needed for that.
    //= rfc7323#5.7-1
    pub(crate) fn packet_too_big(&mut self, quoted: SeqNum, mtu: u32) {
        let headers = u32::from(MIN_MTU.saturating_sub(DEFAULT_PEER_MSS));
        let mss = mtu.max(u32::from(MIN_MTU)).saturating_sub(headers);
        let mss = u16::try_from(mss).unwrap_or(u16::MAX);
        let opening = matches!(self.state, State::SynSent | State::SynReceived);
        let options = self.rcv.timestamps_len();
        if opening || !self.snd.is_in_flight(quoted) || mss >= self.snd.mss.saturating_add(options)
        {
            return;
        }
        self.params.own_mss = mss;
        self.set_mss(mss);
        self.board.lose(self.snd.una, self.snd.nxt);
    }

    pub(crate) fn acknowledge_now(&mut self) {
        self.rcv.ack.now = true;
    }

    /// Returns whether something received is not acknowledged yet.
    pub(crate) fn owes_ack(&self) -> bool {
        self.rcv.ack.unacked() > 0
    }

    /// Returns RCV.WND as in the window field of a header.
    pub(crate) fn window_field(&self) -> u16 {
        self.rcv.window_field(0)
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
        self.rcv.paws
    }

    /// Returns the end of the text that is in order: RCV.NXT, but before the FIN.
    fn received(&self) -> SeqNum {
        self.fin().map_or(self.rcv.nxt, |fin| fin.earlier(self.rcv.nxt))
    }
}

/// Returns the initial window in octets: RFC 5681 §3.1 for 0 segments, otherwise as many, within
/// RFC 6928 §2.
//= rfc5681#3.1-2 rfc5681#3.1-3 rfc5681#3.1-4 rfc6928#2-1
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
