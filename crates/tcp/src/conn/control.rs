//! Changes to an existing connection by its application, and its release.

use super::flags::ConnFlags;
use super::{Connection, MIN_MSS, Params, Rtx, Setup};
use crate::config::ConnectionConfig;
use crate::congestion::Controller;
use crate::error::ConnectionError;
use crate::features::Features;
use crate::send::recovery::LossDetection;
use crate::send::scoreboard::Scoreboard;
use crate::state::State;
use kinglet_time::{Duration, Expected, Instant};

/// Input for the choice of a segment size. Sizes are in octets of payload and options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentLoss {
    /// Recent share of retransmissions among data segments, in 1/65,536: an estimate of the loss
    /// rate of the whole path. A loss that the link has reported counts a quarter.
    pub retransmitted_share: u16,
    /// The segment size in use.
    pub mss: u16,
    /// The largest segment size that both sides have announced.
    pub limit: u16,
    /// Octets of options in every segment.
    pub options: u16,
}

/// State of the application as a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    Present,
    /// The application has released the connection.
    Gone,
    /// The application has released the connection, and the keep-alive timer limits its duration.
    Lingering,
}

impl<C: Controller, A: LossDetection, F: Features, B: Scoreboard + ?Sized> Connection<C, A, F, B> {
    /// Takes over the settings that have an effect after the handshake.
    pub(crate) fn configure(&mut self, now: Instant, config: &ConnectionConfig) {
        let old = self.params;
        self.params = Params::new::<F>(config, old.own_mss);
        if self.state != State::SynSent {
            // The handshake has agreed upon these.
            for switch in [Params::SACK, Params::ACK_RATE] {
                self.params.put(switch, old.has(switch));
            }
            // The peer may have requested the old rate.
            if self.uses_ack_rate() {
                self.params.ack_every = self.params.ack_every.min(old.ack_every);
            }
        }
        self.snd.rtt.set_bounds(Setup::rto_bounds(config));
        // An acknowledgment that waits does not wait longer than the new settings allow.
        self.rcv.ack.now |= self.rcv.ack.is_delayed() && config.delayed_ack == Duration::ZERO;
        self.touch_keepalive(now);
        self.limit_fin_wait_2(now);
    }

    /// Returns whether acknowledgments do not wait for further segments.
    pub(crate) fn acknowledges_every_segment(&self) -> bool {
        self.params.ack_every <= 1
    }

    /// Notes that the peer's segments take `hops` hops.
    pub(crate) fn note_distance(&mut self, hops: u8) {
        self.params.note_distance(hops);
    }

    /// Changes the segment size to `mss` octets, options included, within what both sides have
    /// announced. Before the handshake has ended it changes nothing.
    pub(crate) fn set_mss(&mut self, mss: u16) {
        if matches!(self.state, State::SynSent | State::SynReceived) {
            return;
        }
        let options = self.rcv.timestamps_len();
        let mss = mss.max(MIN_MSS).min(self.params.own_mss).saturating_sub(options);
        self.snd.mss = mss;
        // SMSS of RFC 5681 is the largest segment that may be sent. Windows do not shrink with
        // smaller sizes that are chosen, or a loss would leave a window of two small segments.
        self.snd.cc.set_mss(u32::from(self.params.own_mss.saturating_sub(options)));
    }

    pub(crate) fn congestion(&mut self) -> &mut C {
        &mut self.snd.cc
    }

    /// See [`SegmentLoss`].
    pub(crate) fn segment_loss(&self) -> Option<SegmentLoss> {
        if !F::ADAPTIVE_MSS {
            return None;
        }
        let synchronised = !matches!(self.state, State::SynSent | State::SynReceived);
        let options = self.rcv.timestamps_len();
        let due = self.counters.segments_sent.is_multiple_of(16);
        (self.params.has(Params::ADAPTIVE_MSS) && synchronised && due).then_some(SegmentLoss {
            retransmitted_share: self.snd.retransmitted_share,
            mss: self.snd.mss.saturating_add(options),
            limit: self.params.own_mss,
            options,
        })
    }

    /// Returns the time in which a response can arrive, if one is awaited.
    pub(crate) fn expected(&self, epoch: Instant) -> Option<Expected> {
        let probed = self.keep_sent > 0 && self.keep.is_set();
        let missing = self.rcv.rx.has_holes() && self.can_receive_fin();
        let over = matches!(self.state, State::Closed | State::TimeWait);
        let awaited = self.snd.flight() > 0 || probed || missing || self.rcv.ack.awaits_more();
        // A paced segment that is still to follow gets a response of its own.
        let since = self.next_paced().deadline(epoch).unwrap_or(self.last_sent.near(epoch));
        let mut expected = (awaited && !over).then(|| self.snd.rtt.expected(since))?;
        // The end of the reordering window does not shorten the wait: it follows from what has
        // arrived.
        let timer = self.snd.rtx.deadline(epoch).filter(|_| self.snd.rtx_kind != Rtx::Reordering);
        expected.until = timer.map_or(expected.until, |timer| expected.until.min(timer));
        Some(expected)
    }

    /// Sends a delayed acknowledgment now.
    pub(crate) fn hurry_ack(&mut self) {
        self.rcv.ack.now |= self.rcv.ack.is_delayed();
    }

    /// Handles CLOSE (RFC 9293 §3.10.4) of an application that will not read any more (RFC 1122
    /// §4.2.2.13).
    pub(crate) fn release(&mut self, now: Instant, linger: Option<Duration>) {
        if self.readable() > 0 || linger == Some(Duration::ZERO) {
            return self.abort(ConnectionError::Aborted);
        }
        if !self.flags.has(ConnFlags::FIN_QUEUED) {
            self.close();
        }
        self.reader = Reader::Gone;
        if let Some(linger) = linger
            && !matches!(self.state, State::Closed | State::TimeWait)
        {
            self.reader = Reader::Lingering;
            self.keep.set(now, linger);
        }
        self.limit_fin_wait_2(now);
    }

    /// Returns whether the peer has not acknowledged all queued octets.
    pub(crate) fn has_queued(&self) -> bool {
        self.queue().len() > 0
    }

    /// Returns whether the peer's window has no room for a segment.
    pub(crate) fn is_held_back(&self) -> bool {
        self.snd.wnd < u32::from(self.snd.mss)
    }

    /// Returns whether the connection has no use for its buffers any more: the peer has
    /// acknowledged everything, and no application reads what it still sends.
    pub(crate) fn is_orphan(&self) -> bool {
        self.reader != Reader::Present && self.state == State::FinWait2
    }
}
