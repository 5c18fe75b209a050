//! The sending half of a connection: the send sequence variables, the send queue, the RTT estimate,
//! the congestion window and the state of loss recovery.
//!
//! Acknowledgments (`acked.rs`), output (`output.rs`, `pacing.rs`), timers (`timers.rs`) and
//! congestion marks (`ecn.rs`) change it.

use super::{Params, Setup, initial_window};
use crate::config::Rto;
use crate::congestion::Controller;
use crate::features::Features;
use crate::rtt::RttEstimator;
use crate::send::arrival::Arrival;
use crate::send::buffer::SendBuffer;
use crate::send::prr::Rate;
use crate::send::recovery::{LossDetection, Phase, Recovery};
use crate::send::undo::Undo;
use crate::seq::SeqNum;
use crate::timer::{Tick, Timer};
use kinglet_time::{Duration, Instant};

/// Retransmissions in a row that wait as long as the first, where losses are no sign of congestion.
/// Linux has six for thin streams (`tcp_thin_linear_timeouts`).
const SAME_RTO: u8 = 3;

/// Largest number of doublings that stay where timeouts are not considered losses.
const MOST_UNDECIDED: u8 = 3;

/// Largest number of times in a row that timeouts are considered losses while no RTT is measured.
const MOST_DOUBTS: u8 = 6;

/// Purpose of the retransmission timer: one timer for all, as in RFC 8985 §8.
//= rfc8985#8-1
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rtx {
    /// RTO, or the persist timer.
    Timeout,
    /// PTO: a tail loss probe.
    Probe,
    /// The reordering window.
    Reordering,
}

/// Send sequence variables, and all state that only sending uses.
#[repr(C)] // See `Connection`.
pub(super) struct Sending<C, A: LossDetection, F: Features> {
    /// Doublings of the RTO since an RTT was measured, or since the window closed.
    pub(super) backoff: u8,
    /// Number of times in a row that equally many timeouts were considered losses
    /// ([`Self::doubt`]); the upper half holds the number of those timeouts.
    doubts: u8,
    /// Retransmissions in a row without a sign of life from the peer.
    pub(super) tries: u8,
    /// Losses that the link has reported since the last progress.
    pub(super) loss_reports: u8,
    pub(super) rtx_kind: Rtx,
    /// The first lost segment, or the SYN, is to be retransmitted now, whatever cwnd is.
    pub(super) retransmit_now: bool,
    /// An RTT was measured since the last loss probe.
    pub(super) sampled: bool,
    /// Snd.Wind.Shift (RFC 7323 §2)
    pub(super) shift: u8,
    /// Octets of payload in a full segment without SACK option.
    pub(super) mss: u16,
    /// Recent share of retransmissions among data segments, in 1/65,536.
    pub(super) retransmitted_share: u16,
    /// The largest window the peer has offered, before the shift.
    pub(super) max_wnd: u16,
    pub(super) tx: SendBuffer<F::Place>,
    pub(super) una: SeqNum,
    /// End of everything ever sent: SND.MAX of other stacks.
    pub(super) nxt: SeqNum,
    pub(super) wnd: u32,
    /// Sequence number of the last window update. SND.WL2 is left out: it never exceeds SND.UNA,
    /// and a segment that acknowledges less than that updates nothing.
    pub(super) wl1: SeqNum,
    pub(super) iss: SeqNum,
    /// End of the send queue, which is the sequence number of a FIN.
    pub(super) end: SeqNum,
    /// Retransmission timer, or persist timer if nothing is in flight.
    pub(super) rtx: Timer,
    pub(super) cc: C,
    /// Time until which nothing follows the data in flight: with pacing, or by `hold_back`.
    pub(super) pace: Timer,
    /// Time at which SND.UNA last moved, or the flight began.
    pub(super) progress_at: Tick,
    pub(super) recovery: Recovery<A>,
    pub(super) rtt: RttEstimator,
    /// SND.NXT at the last reduction of the window by ECN; marks before it have had their response.
    pub(super) cwr_point: SeqNum,
}

impl<C: Controller, A: LossDetection, F: Features> Sending<C, A, F> {
    /// Creates the sending half, with a SYN to be sent.
    pub(super) fn new(now: Instant, setup: &Setup, iss: SeqNum) -> Self {
        let mss = setup.params.own_mss;
        let window = initial_window(u32::from(mss), setup.params.initial_window());
        Sending {
            backoff: 0,
            doubts: 0,
            tries: 0,
            loss_reports: 0,
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

    /// Sets SND.WND.
    pub(super) fn set_window(&mut self, wnd: u32) {
        self.wnd = wnd;
        // The window of a SYN may be no multiple of the unit (RFC 7323 §2.2).
        let units = wnd.div_ceil(1 << self.shift.min(14));
        let units = u16::try_from(units).unwrap_or(u16::MAX);
        self.max_wnd = self.max_wnd.max(units);
    }

    /// Returns MAX.SND.WND of RFC 5961 §5.2.
    pub(super) fn max_wnd(&self) -> u32 {
        u32::from(self.max_wnd) << self.shift.min(14)
    }

    pub(super) fn flight(&self) -> u32 {
        self.nxt.since(self.una)
    }

    /// Returns the octets not sent yet, without the FIN.
    pub(super) fn unsent(&self) -> u32 {
        self.end.since(self.nxt)
    }

    /// Returns whether the sequence number that an ICMP message quotes was sent and is not yet
    /// acknowledged: other messages are not accepted (RFC 5927 §4.1).
    pub(super) fn is_in_flight(&self, quoted: SeqNum) -> bool {
        quoted.in_window(self.una, self.flight())
    }

    /// Returns cwnd, which RFC 9937 sets in fast recovery. If much of a window of four segments is
    /// lost, RFC 9937 can leave one segment, and no later segment would reveal the loss of that
    /// one. The least ssthresh of RFC 5681 is two segments, and RFC 6675 sends as many whatever was
    /// lost. After a timeout RFC 5681 §3.1 requires one segment. On a path where timeouts are no
    /// sign of congestion it is two, the least of RFC 9002 §7.2.
    pub(super) fn window(&self, params: &Params) -> u32 {
        let two = u32::from(self.mss).saturating_mul(2);
        let window = match self.recovery.phase() {
            Phase::Fast { rate, .. } => match rate.window() {
                Some(window) => window.max(two.min(self.cc.slow_start_threshold())),
                // RFC 6582: the inflation by duplicates is subtracted from the data in flight.
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
            Rto::FirstRoundTrip => self.rtt.sample_after_first(rtt),
            Rto::RoundTrips | Rto::AtLeast | Rto::Static => self.rtt.sample(rtt),
        }
        self.end_backoff();
        self.doubts = 0;
        self.sampled = true;
    }

    /// Decides on the back-off when a retransmission is acknowledged, which measures no RTT. By RFC
    /// 6298 §5 and Karn's algorithm the back-off stays until an RTT is measured; otherwise an RTO
    /// that is too short would stay so for ever. On a path with many losses, few segments are sent
    /// only once, and the RTO would grow without end. So the back-off ends here while the timeouts
    /// may have been losses:
    ///
    /// * it stays if a timestamp shows that the first transmission has arrived;
    /// * it stays if the last transmission is no younger than the RTO, which is too short then;
    /// * it stays if the same number of timeouts was considered losses [`MOST_DOUBTS`] times in a
    ///   row. An RTT that has grown causes the same number each time, and losses hardly do.
    ///
    /// The RTT is then less than the doubled RTO, and the next segment measures it. If that segment
    /// has a timeout as well, it was lost, and the decision is repeated; but after the first two
    /// cases one more doubling may be needed, and stays too.
    ///
    /// A `slow` sender, or one without SACK to detect losses sooner, considers no timeout a loss.
    pub(super) fn doubt(&mut self, arrival: &Arrival, params: &Params, slow: bool) {
        if self.loss_reports > 0 || params.has(Params::LOSSY_PATH) {
            // Losses on the own link are no sign of a short RTO, nor are losses on a path that is
            // known for them.
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
            // The number of timeouts modulo 16 is enough to compare.
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

    /// Ends the back-off after a new measurement (RFC 6298 §5). A window that stays closed is an
    /// exception: its probes are sent at growing intervals (RFC 9293 §3.8.6.1) even if each is
    /// accepted.
    pub(super) fn end_backoff(&mut self) {
        if self.wnd > 0 {
            self.backoff = 0;
        }
    }

    pub(super) fn rto(&self, params: &Params) -> Duration {
        // The link itself reported these losses, and no timeout detected them: the wait for the
        // link to recover need not begin with a doubling.
        let loss_reports = self.loss_reports > 0 || params.has(Params::LOSSY_PATH);
        let data = self.flight() > 0 && self.una != self.iss;
        let same = if loss_reports && data { SAME_RTO } else { 0 };
        let backoff = self.backoff.saturating_sub(same);
        if !F::RTO_RULES {
            return self.rtt.rto(backoff);
        }
        // The initial sequence number comes from a keyed hash, and a SYN has its own timeout.
        let [.., a, b] = self.iss.value().wrapping_mul(0x9e37_79b1).to_le_bytes();
        let drawn = (self.una != self.iss).then_some(u16::from_le_bytes([a, b]));
        self.rtt.rto_by(params.rto::<F>(), drawn, backoff)
    }

    /// Extends the send queue by `count` octets that the application has written.
    pub(super) fn extend(&mut self, count: usize) {
        self.end = self.end.plus(u32::try_from(count).unwrap_or(0));
    }

    /// Updates the share of retransmissions with a data segment that leaves: an average that gives
    /// the newest sample a weight of 1/32, about eight windows of four segments. A retransmission
    /// after a loss report of the link counts a quarter: it cost the frames up to the lost one, but
    /// no wait for a timer or for acknowledgments.
    pub(super) fn note_share(&mut self, retransmission: bool) {
        let sample = match (retransmission, self.loss_reports) {
            (false, _) => 0,
            (true, 0) => u16::MAX >> 5,
            (true, _) => u16::MAX >> 7,
        };
        let share = self.retransmitted_share;
        self.retransmitted_share = share.saturating_sub(share >> 5).saturating_add(sample);
    }

    /// Ends the pacing gap if it is due.
    pub(super) fn end_gap(&mut self, now: Instant) {
        if self.pace.is_due(now) {
            self.pace.clear();
        }
    }

    /// Returns whether the gap lasts. With nothing in flight there is no segment to keep a distance
    /// from.
    pub(super) fn is_paced(&mut self, now: Instant) -> bool {
        self.end_gap(now);
        self.pace.is_set() && self.flight() > 0
    }

    /// Returns up to half of `wait`, a pure function of this connection's numbers: the initial
    /// sequence number comes from a keyed hash, so no two nodes draw the same.
    pub(super) fn spread(&self, wait: Duration) -> Duration {
        let drawn = self.iss.value() ^ self.una.value().rotate_left(u32::from(self.tries));
        // The upper half of a product with the golden ratio depends on all bits.
        let share = u64::from(drawn.wrapping_mul(0x9e37_79b1) >> 16);
        Duration::from_micros(wait.as_micros().saturating_mul(share) >> 17)
    }

    /// Stores the window before a loss is reported to the congestion control.
    //= rfc4015#3.1-2 rfc4015#3.1-3
    pub(super) fn remember_window(&mut self) {
        if self.recovery.is_open() {
            let undo = Undo::new(self.cc.window(), self.cc.slow_start_threshold());
            self.recovery.remember(undo);
        }
    }
}
