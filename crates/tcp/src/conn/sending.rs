//! The sending half of a connection: SND.UNA and its like, the send queue, the round trips, the
//! congestion window and how far a recovery has come.
//!
//! Acknowledgments (`acked.rs`), what leaves (`output.rs`, `pacing.rs`), timers (`timers.rs`) and
//! marks of congestion (`ecn.rs`) change it.

use super::{Params, Setup, initial_window};
use crate::config::Rto;
use crate::congestion::Controller;
use crate::features::Features;
use crate::rtt::RttEstimator;
use crate::send::arrival::Arrival;
use crate::send::buffer::SendBuffer;
use crate::send::prr::Rate;
use crate::send::recovery::{Aids, Phase, Recovery};
use crate::send::undo::Undo;
use crate::seq::SeqNum;
use crate::timer::{Tick, Timer};
use kinglet_time::{Duration, Instant};

/// Retransmissions in a row that wait as long as the first, where losses say nothing of congestion.
/// Linux has six for thin streams (`tcp_thin_linear_timeouts`).
const SAME_RTO: u8 = 3;

/// Doublings that stay at most where timeouts are not taken for losses.
const MOST_UNDECIDED: u8 = 3;

/// How often in a row timeouts are taken for losses while no round trip is measured.
const MOST_DOUBTS: u8 = 6;

/// What the retransmission timer waits for: one timer for all, as RFC 8985 §8 has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rtx {
    /// RTO, or the persist timer.
    Timeout,
    /// PTO: a tail loss probe.
    Probe,
    /// The reordering window.
    Reordering,
}

/// Send sequence variables, and all that is only about sending.
#[repr(C)] // See `Connection`.
pub(super) struct Sending<C, A: Aids, F: Features> {
    /// Doublings of the RTO since a round trip was measured, or since the window has closed.
    pub(super) backoff: u8,
    /// How often in a row as many timeouts were taken for losses ([`Self::doubt`]), and in the
    /// upper half how many.
    doubts: u8,
    /// Retransmissions in a row without a sign of life from the peer.
    pub(super) tries: u8,
    /// Losses that the link has told of since there was progress.
    pub(super) told: u8,
    pub(super) rtx_kind: Rtx,
    /// What is lost first, or the SYN, is to be sent again now, whatever cwnd says.
    pub(super) retransmit_now: bool,
    /// A round trip was measured since the last loss probe.
    pub(super) sampled: bool,
    /// Snd.Wind.Shift (RFC 7323 §2)
    pub(super) shift: u8,
    /// Octets of payload in a full segment without SACK option.
    pub(super) mss: u16,
    /// Recent share of data segments that were sent again, in 1/65,536.
    pub(super) retransmitted_share: u16,
    /// The largest window the peer has offered, before the shift.
    pub(super) max_wnd: u16,
    pub(super) tx: SendBuffer<F::Place>,
    pub(super) una: SeqNum,
    /// After everything ever sent: SND.MAX of other stacks.
    pub(super) nxt: SeqNum,
    pub(super) wnd: u32,
    /// Sequence number of the last window update. SND.WL2 is left out: it never exceeds SND.UNA,
    /// and what acknowledges less than that updates nothing.
    pub(super) wl1: SeqNum,
    pub(super) iss: SeqNum,
    /// After the last octet in the send queue, where a FIN stands.
    pub(super) end: SeqNum,
    /// Retransmission timer, or persist timer if nothing is in flight.
    pub(super) rtx: Timer,
    pub(super) cc: C,
    /// Until then nothing follows what is in flight: with pacing, or by `hold_back`.
    pub(super) pace: Timer,
    /// When SND.UNA last moved, or when the flight began.
    pub(super) progress_at: Tick,
    pub(super) recovery: Recovery<A>,
    pub(super) rtt: RttEstimator,
    /// SND.NXT when the window was last reduced, with ECN; what lies before it was answered.
    pub(super) cwr_point: SeqNum,
}

impl<C: Controller, A: Aids, F: Features> Sending<C, A, F> {
    /// A SYN is to be sent.
    pub(super) fn new(now: Instant, setup: &Setup, iss: SeqNum) -> Self {
        let mss = setup.params.own_mss;
        let window = initial_window(u32::from(mss), setup.params.initial_window());
        Sending {
            backoff: 0,
            doubts: 0,
            tries: 0,
            told: 0,
            rtx_kind: Rtx::Timeout,
            retransmit_now: true,
            sampled: false,
            shift: 0,
            mss,
            retransmitted_share: 0,
            max_wnd: 0,
            tx: SendBuffer::new(setup.send),
            una: iss,
            nxt: iss,
            wnd: 0,
            wl1: SeqNum::new(0),
            iss,
            end: iss.plus(1),
            rtx: Timer::OFF,
            cc: C::new(u32::from(mss), window),
            pace: Timer::OFF,
            progress_at: Tick::at(now),
            recovery: Recovery::new(iss),
            rtt: RttEstimator::new(setup.rto),
            cwr_point: iss,
        }
    }

    /// SND.WND is `wnd` from now on.
    pub(super) fn set_window(&mut self, wnd: u32) {
        self.wnd = wnd;
        // That of a SYN may be no multiple of the unit (RFC 7323 §2.2).
        let units = wnd.div_ceil(1 << self.shift.min(14));
        let units = u16::try_from(units).unwrap_or(u16::MAX);
        self.max_wnd = self.max_wnd.max(units);
    }

    /// MAX.SND.WND of RFC 5961 §5.2
    pub(super) fn max_wnd(&self) -> u32 {
        u32::from(self.max_wnd) << self.shift.min(14)
    }

    pub(super) fn flight(&self) -> u32 {
        self.nxt.since(self.una)
    }

    /// Octets not sent yet, the FIN not counted.
    pub(super) fn unsent(&self) -> u32 {
        self.end.since(self.nxt)
    }

    /// What an ICMP message quotes is believed only if it was sent and is not yet acknowledged
    /// (RFC 5927 §4.1).
    pub(super) fn is_in_flight(&self, quoted: SeqNum) -> bool {
        quoted.in_window(self.una, self.flight())
    }

    /// cwnd, which RFC 9937 sets in fast recovery. Of a window of four, of which much was lost, it
    /// can leave one segment, and nothing would follow to show the loss of that. RFC 5681's least
    /// ssthresh is two, and RFC 6675 sends as many whatever was lost. After a timeout RFC 5681 §3.1
    /// wants one; two, on a path where timeouts are no congestion, is the least of RFC 9002 §7.2.
    pub(super) fn window(&self, params: &Params) -> u32 {
        let two = u32::from(self.mss).saturating_mul(2);
        let window = match self.recovery.phase() {
            Phase::Fast { rate, .. } => match rate.window() {
                Some(window) => window.max(two.min(self.cc.slow_start_threshold())),
                // RFC 6582: what duplicates add is taken from what is in flight.
                None => self.cc.window(),
            },
            Phase::Timeout { .. } if params.has(Params::LOSSY_PATH) => self.cc.window().max(two),
            Phase::Timeout { .. } | Phase::Open { .. } => self.cc.window(),
        };
        match params.window_limit::<F>() {
            Some(limit) => window.min(u32::from(self.mss).saturating_mul(u32::from(limit))),
            None => window,
        }
    }

    pub(super) fn take_sample(&mut self, rtt: Duration, params: &Params) {
        match params.rto::<F>() {
            Rto::FirstRoundTrip => self.rtt.sample_beside_first(rtt),
            Rto::RoundTrips | Rto::AtLeast | Rto::Static => self.rtt.sample(rtt),
        }
        self.end_backoff();
        self.doubts = 0;
        self.sampled = true;
    }

    /// What was sent again is acknowledged, and measures nothing. By RFC 6298 §5 and Karn's
    /// algorithm the back-off stays until something does, or an RTO that is too short would be so
    /// for ever. On a path that loses much, few segments are sent once, and the RTO would grow
    /// without end. So the back-off ends here while the timeouts may have been losses:
    ///
    /// * not if a timestamp shows that the first transmission has arrived;
    /// * not if the last transmission is no younger than the RTO, which is too short then;
    /// * not if the same number of timeouts was taken for losses [`MOST_DOUBTS`] times in a row. A
    ///   round trip that has grown takes the same number each time, and losses hardly do.
    ///
    /// The round trip is then less than the doubled RTO, and what is sent next measures it. If that
    /// has a timeout as well, it was lost, and all begins again; but after the first two cases one
    /// more doubling may be wanted, and stays too.
    ///
    /// Who is `slow`, or has no SACK to find out sooner, takes no timeout for a loss.
    pub(super) fn doubt(&mut self, arrival: &Arrival, params: &Params, slow: bool) {
        if self.told > 0 || params.has(Params::LOSSY_PATH) {
            // What the link itself has lost is no sign of a short RTO, nor are losses on a path
            // that is known for them.
            return self.end_backoff();
        }
        if self.tries == 0 {
            return;
        }
        if arrival.echo_is_old
            || Duration::from_micros(u64::from(arrival.last_us)) >= self.rtt.rto(0)
        {
            self.doubts = MOST_DOUBTS;
        } else if !A::SELECTIVE || slow {
            self.backoff = self.backoff.min(MOST_UNDECIDED);
        } else {
            // So many timeouts modulo 16 are enough to tell.
            let alike = self.tries << 4;
            if self.doubts & 15 == MOST_DOUBTS {
                self.doubts = 0;
                return;
            }
            if self.doubts & !15 != alike {
                self.doubts = alike;
            }
            self.doubts = self.doubts.saturating_add(1);
            self.end_backoff();
        }
    }

    /// RFC 6298 §5: a new measurement lets the RTO come down. It says nothing of a window that
    /// stays closed, for which probes go at growing intervals (RFC 9293 §3.8.6.1) even if each is
    /// taken.
    pub(super) fn end_backoff(&mut self) {
        if self.wnd > 0 {
            self.backoff = 0;
        }
    }

    pub(super) fn rto(&self, params: &Params) -> Duration {
        // What the link has told of was lost there, and no timeout has found it out: waiting for
        // the link to recover need not begin with a doubling.
        let told = self.told > 0 || params.has(Params::LOSSY_PATH);
        let data = self.flight() > 0 && self.una != self.iss;
        let same = if told && data { SAME_RTO } else { 0 };
        let backoff = self.backoff.saturating_sub(same);
        if !F::RTO_RULES {
            return self.rtt.rto(backoff);
        }
        // The initial sequence number comes from a keyed hash, and a SYN has its own timeout.
        let [.., a, b] = self.iss.value().wrapping_mul(0x9e37_79b1).to_le_bytes();
        let drawn = (self.una != self.iss).then_some(u16::from_le_bytes([a, b]));
        self.rtt.rto_by(params.rto::<F>(), drawn, backoff)
    }

    /// The application has written so many octets.
    pub(super) fn extend(&mut self, count: usize) {
        self.end = self.end.plus(u32::try_from(count).unwrap_or(0));
    }

    /// A data segment leaves, for the first time or not: an average that gives the newest sample
    /// a weight of 1/32, about eight windows of four segments. What is sent again because the
    /// link has told of its loss counts a quarter: it cost the frames up to the lost one, and
    /// nobody had to wait for a timer or for acknowledgments to find out.
    pub(super) fn note_share(&mut self, retransmission: bool) {
        let sample = match (retransmission, self.told) {
            (false, _) => 0,
            (true, 0) => u16::MAX >> 5,
            (true, _) => u16::MAX >> 7,
        };
        let share = self.retransmitted_share;
        self.retransmitted_share = share.saturating_sub(share >> 5).saturating_add(sample);
    }

    /// The gap ends when its time has come.
    pub(super) fn end_gap(&mut self, now: Instant) {
        if self.pace.is_due(now) {
            self.pace.clear();
        }
    }

    /// Whether the gap lasts. With nothing in flight there is nothing to keep a distance from.
    pub(super) fn is_paced(&mut self, now: Instant) -> bool {
        self.end_gap(now);
        self.pace.is_set() && self.flight() > 0
    }

    /// Up to half of `wait`, a pure function of this connection's numbers: the initial sequence
    /// number comes from a keyed hash, so no two nodes draw the same.
    pub(super) fn spread(&self, wait: Duration) -> Duration {
        let drawn = self.iss.value() ^ self.una.value().rotate_left(u32::from(self.tries));
        // The upper half of a product with the golden ratio depends on all bits.
        let share = u64::from(drawn.wrapping_mul(0x9e37_79b1) >> 16);
        Duration::from_micros(wait.as_micros().saturating_mul(share) >> 17)
    }

    /// A loss is about to be reported to the congestion control.
    pub(super) fn remember_window(&mut self) {
        if self.recovery.is_open() {
            let undo = Undo::new(self.cc.window(), self.cc.slow_start_threshold());
            self.recovery.remember(undo);
        }
    }
}
