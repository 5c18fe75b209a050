//! One connection: the variables of RFC 9293 §3.3.1 and what the extensions add to them.
//!
//! What is about sending is in `sending.rs`, what is about receiving in `receiving.rs`, and here
//! what joins them: how a connection begins and ends, and what is asked of it from outside.
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
use crate::send::recovery::{Aids, Phase};
use crate::send::scoreboard::Scoreboard;
use crate::seq::SeqNum;
use crate::state::State;
use crate::timer::{Tick, Timer};
use ecn::EcnState;
use facts::Facts;
use kinglet_time::{Duration, Instant};
use receiving::Receiving;
use sending::{Rtx, Sending};

/// Octets of a timestamps option in every segment (RFC 7323 appendix A).
pub(crate) const TIMESTAMPS_LEN: u16 = 12;
/// MSS of a peer that does not say (RFC 9293 §3.7.1, IPv6).
pub(crate) const DEFAULT_PEER_MSS: u16 = 1220;
/// IPv6's (RFC 8200 §5): that MSS with 60 octets of headers.
const MIN_MTU: u16 = 1280;
/// Less is not chosen without need: it would leave no room for data beside full options.
const MIN_MSS: u16 = 64;

/// What a connection keeps in its slot and a segment may change.
pub(crate) struct Buffers<'a> {
    pub(crate) receive: &'a mut [u8],
    pub(crate) map: &'a mut [u8],
    pub(crate) pieces: &'a mut [Piece],
}

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
    LostOnLink,
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

/// A connection; `C` controls congestion, `A` and `B` find and repair losses, and `F` says what
/// else there is.
///
/// It has a half that sends and one that receives, which know nothing of each other; what is here
/// belongs to both. What a segment, a timer or the application does to both halves is done by the
/// connection, step by step as the RFCs have it; what concerns one alone is a method of that.
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
    snd: Sending<C, A, F>,
    rcv: Receiving<F>,
    /// Keep-alive timer; in FIN-WAIT-2 the time this state may still last.
    keep: Timer,
    last_sent: Tick,
    ts_offset: u32,
    params: Params,
    counters: Counters,
    /// What the sending half has in flight. Last, so that a connection can be used without the
    /// length of its table being known: then there is one program for the connections of all plans
    /// ([`Board`]).
    board: B,
}

impl<C: Controller, A: Aids, F: Features, B: Board> Connection<C, A, F, B> {
    /// An active open: SYN-SENT, the SYN to be polled.
    pub(crate) fn connect(now: Instant, setup: &Setup, iss: SeqNum, ts_offset: u32) -> Self {
        let params = setup.params;
        Connection {
            state: State::SynSent,
            error: None,
            facts: Facts::NONE,
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

impl<C: Controller, A: Aids, F: Features, B: Scoreboard + ?Sized> Connection<C, A, F, B> {
    /// A passive open whose handshake is complete: ESTABLISHED; or SYN-RECEIVED for an early one.
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

    /// The peer's SYN is known: takes over its options.
    //= rfc9293#MUST-15 rfc9293#MUST-16
    fn agree(&mut self, now: Instant, irs: SeqNum, agreed: &Agreed) {
        self.rcv.irs = irs;
        self.rcv.nxt = irs.plus(1);
        self.rcv.adv = self.rcv.nxt;
        self.rcv.fin_at = self.rcv.nxt;
        self.facts.put(Facts::SCALES, agreed.scale.is_some());
        match agreed.scale {
            Some(shift) => self.snd.shift = shift,
            None => self.rcv.rx.leave_unscaled(),
        }
        self.facts.put(Facts::SACK, agreed.sack);
        self.begin_ecn(agreed.ecn);
        self.rcv.paws = agreed.timestamp.map(|recent| Paws::new(recent, now));
        let peer = agreed.peer_mss.unwrap_or(DEFAULT_PEER_MSS);
        let options = self.rcv.timestamps_len();
        // An octet at least, or nothing would ever be sent.
        self.snd.mss = self.params.own_mss.min(peer).saturating_sub(options).max(1);
    }

    /// Sets up the congestion window and recovery for what follows the SYN.
    fn begin_sending(&mut self, syn_lost: bool) {
        let mss = u32::from(self.snd.mss);
        // RFC 5681 §3.1: after the loss of a SYN the initial window is one segment.
        let initial =
            if syn_lost { mss } else { initial_window(mss, self.params.initial_window()) };
        self.snd.cc = C::new(mss, initial);
        self.snd.recovery.restart(self.snd.una, self.snd.iss);
        self.board.reset(self.snd.una);
        self.snd.told = 0;
        self.snd.retransmit_now = false;
    }

    /// Both SYNs are acknowledged.
    fn establish(&mut self, now: Instant, syn_lost: bool) {
        if syn_lost {
            self.snd.rtt.syn_was_lost();
        }
        // From now on the bound for `set_mss`: what both sides have announced.
        self.params.own_mss = self.snd.mss.saturating_add(self.rcv.timestamps_len());
        self.snd.backoff = 0;
        self.snd.tries = 0;
        self.snd.rtx.clear();
        if self.snd.flight() > 0 {
            // An early connection has sent data since its SYN.
            self.arm(now);
        }
        self.snd.progress_at = Tick::at(now);
        self.transition(if self.facts.has(Facts::FIN_QUEUED) {
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

    /// Whether data was taken from a peer whose handshake is not over.
    pub(crate) fn is_opening_early(&self) -> bool {
        self.state == State::SynReceived && self.fast_open() == FastOpen::Accepted
    }

    /// Whether the SYN for Fast Open had to be sent again; it is told once.
    pub(crate) fn take_fast_open_loss(&mut self) -> bool {
        let sent =
            matches!(self.fast_open(), FastOpen::Asked | FastOpen::Sent | FastOpen::LostOnLink);
        let lost = sent && self.state == State::SynSent && self.snd.tries > 0;
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

    /// Where the peer's FIN stands, if it is known.
    fn fin(&self) -> Option<SeqNum> {
        self.facts.has(Facts::FIN_KNOWN).then_some(self.rcv.fin_at)
    }

    /// A FIN is queued and has never been sent.
    fn fin_unsent(&self) -> bool {
        self.facts.has(Facts::FIN_QUEUED) && self.snd.nxt.at_or_before(self.snd.end)
    }

    /// Octets in the network.
    fn inflight(&self) -> u32 {
        let (flight, mss) = (self.snd.flight(), u32::from(self.snd.mss));
        self.snd.recovery.inflight(flight, self.board.gone(), mss)
    }

    /// Whether the peer's SACK says what is lost; else duplicate acknowledgments do.
    fn heeds_sack(&self) -> bool {
        A::SELECTIVE && self.facts.has(Facts::SACK) && !self.is_slow()
    }

    /// Whether losses are found by the timer alone.
    fn is_slow(&self) -> bool {
        !A::DUPLICATES || (F::SLOW_RECOVERY && self.params.has(Params::SLOW_RECOVERY))
    }

    /// Whether each segment has an acknowledgment of its own.
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

    /// The only way to change the state.
    fn transition(&mut self, to: State) {
        debug_assert!(self.state.leads_to(to), "{:?} does not lead to {to:?}", self.state);
        self.state = to;
    }

    /// Nothing is sent any more.
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

    /// What is in the send queue: from SND.UNA on, but without SYN and FIN.
    #[inline(never)]
    fn queue(&self) -> Span {
        let (una, iss, end) = (self.snd.una, self.snd.iss, self.snd.end);
        if una != iss {
            return Span { start: una.earlier(end), end };
        }
        // A connection that has got further may be there again after 4 GiB.
        let opening = matches!(self.state, State::SynSent | State::SynReceived | State::Closed);
        Span { start: if opening { una.plus(1) } else { una.earlier(end) }, end }
    }

    pub(crate) fn send_room(&self) -> usize {
        if self.can_write() { self.snd.tx.room() } else { 0 }
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
        self.rcv.rx.readable() as usize
    }

    pub(crate) fn read(&mut self, ring: &[u8], out: &mut [u8]) -> usize {
        self.rcv.rx.read(ring, out)
    }

    pub(crate) fn peek(&self, ring: &[u8], out: &mut [u8]) -> usize {
        self.rcv.rx.peek(ring, out)
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
        self.snd.tx.read(stored, self.queue(), seq, len, take)
    }

    /// See [`SendBuffer::copy_to`].
    pub(crate) fn copy_payload(
        &self,
        stored: Stored<'_>,
        seq: SeqNum,
        out: &mut [u8],
    ) -> Option<()> {
        self.snd.tx.copy_to(stored, self.queue(), seq, out)
    }

    /// The application closes its side (RFC 9293 §3.10.4).
    pub(crate) fn close(&mut self) {
        match self.state {
            // RFC 9293 §3.10.4: whoever waits to read or write is told.
            State::SynSent => self.finish(Some(ConnectionError::Aborted)),
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

    /// An ICMPv6 message about this connection. That the destination is unreachable is hard,
    /// whatever its code, while it is opening, and only then (RFC 5461 §4, RFC 9293 §3.9.2.2).
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

    /// Whether something received is not acknowledged yet.
    pub(crate) fn owes_ack(&self) -> bool {
        self.rcv.ack.unacked() > 0
    }

    /// RCV.WND as a header would say it.
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

    /// After the last octet of text that is in order: RCV.NXT, but before the FIN.
    fn received(&self) -> SeqNum {
        self.fin().map_or(self.rcv.nxt, |fin| fin.earlier(self.rcv.nxt))
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
