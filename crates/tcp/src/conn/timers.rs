//! Expiry of timers (RFC 6298 §5, RFC 9293 §3.8.4, §3.8.6.1).

use super::flags::ConnFlags;
use super::{Connection, Params, Phase, Reader, Rtx};
use crate::config::ConnectionConfig;
use crate::congestion::Controller;
use crate::error::ConnectionError;
use crate::features::Features;
use crate::rtt::{GRANULARITY, millis};
use crate::send::arrival::Stamp;
use crate::send::rack::{Probe, Rack};
use crate::send::recovery::{DUP_THRESH, LossDetection};
use crate::send::scoreboard::Scoreboard;
use crate::state::State;
use crate::timer::{Tick, Timer};
use kinglet_time::{Duration, Instant};

impl<C: Controller, A: LossDetection, F: Features, B: Scoreboard + ?Sized> Connection<C, A, F, B> {
    /// Lets nothing follow the data in flight for the time `gap`.
    pub(crate) fn hold_back(&mut self, now: Instant, gap: Duration) {
        self.snd.pace = self.snd.pace.latest(Tick::after(now, gap).into());
    }

    /// Ends the gap after the segment that was sent last.
    pub(crate) fn follow_at_once(&mut self) {
        self.snd.pace.clear();
    }

    /// Returns the timer that is due first. A gap has an end even if nothing waits for it: text
    /// that an application writes later must not find a deadline in the past.
    pub(crate) fn next_timer(&self) -> Timer {
        self.rcv.ack.timer.earliest(self.snd.rtx).earliest(self.keep).earliest(self.snd.pace)
    }

    /// Ages all stored instants; see [`Tick::age`](crate::timer::Tick::age).
    pub(crate) fn age(&mut self, epoch: Instant, now: Instant) {
        for timer in
            [&mut self.rcv.ack.timer, &mut self.snd.rtx, &mut self.keep, &mut self.snd.pace]
        {
            timer.age(epoch, now);
        }
        for stamp in [&mut self.last_sent, &mut self.snd.progress_at] {
            stamp.age(epoch, now);
        }
        self.board.age(Stamp::of(now));
        if let Some(rack) = self.snd.recovery.rack_mut() {
            rack.age(Stamp::of(now));
        }
        if let Some(undo) = self.snd.recovery.undo_mut() {
            undo.age(Stamp::of(now));
        }
    }

    //= rfc8985#7.3-6
    #[inline(never)] // See `Connection`.
    pub(crate) fn handle_deadline(&mut self, now: Instant) {
        self.rcv.ack.handle_deadline(now);
        self.snd.end_gap(now);
        if self.keep.is_due(now) {
            self.keep.clear();
            self.on_keep_timer(now);
        }
        if self.snd.rtx.is_due(now) {
            self.snd.rtx.clear();
            match core::mem::replace(&mut self.snd.rtx_kind, Rtx::Timeout) {
                Rtx::Timeout => self.on_retransmission_timer(now),
                Rtx::Probe => {
                    // RTO comes next even if there is nothing to send (RFC 8985 §7.3).
                    self.snd.recovery.set_probe(Probe::Due);
                    self.snd.rtx.set(now, self.snd.rto(&self.params));
                }
                Rtx::Reordering => {
                    self.arm(now);
                    self.detect_losses(now, self.board.sacked());
                }
            }
        }
    }

    /// Starts the retransmission timer over: PTO where a tail loss probe is possible (RFC 8985
    /// §7.2), else RTO.
    //= rfc6298#5-1 rfc8985#7.2-1 rfc8985#7.2-4 rfc8985#7.3-1 rfc8985#7.3-2
    pub(super) fn arm(&mut self, now: Instant) {
        let mut wait = self.snd.rto(&self.params);
        if self.params.has(Params::RANDOM_BACKOFF) && self.snd.backoff > 0 {
            wait += self.snd.spread(wait);
        }
        self.snd.rtx_kind = Rtx::Timeout;
        if let Some(rack) = self.snd.recovery.rack()
            && self.uses_sack()
            && rack.probe == Probe::None
            && match self.snd.recovery.phase() {
                // A probe makes its segment ambiguous, and must not keep SRTT from growing with the
                // path (RFC 8985 §7.3).
                Phase::Open { .. } => self.snd.sampled && self.board.gone() == 0,
                // In a small window no later segment reveals the loss of a retransmission, so a
                // retransmission is probed for too, once the path is known to be alive. RFC 8985
                // §7.2 leaves this to RTO.
                Phase::Fast { .. } | Phase::Timeout { .. } => self.snd.tries == 0,
            }
            && self.snd.wnd > 0
        {
            self.snd.rtx_kind = Rtx::Probe;
            // A path without delay is not probed in the same instant.
            let srtt = self.snd.rtt.srtt();
            let mut probe = (srtt + srtt).max(GRANULARITY);
            if self.snd.flight() <= u32::from(self.snd.mss) {
                // TLP.max_ack_delay: the delay of the peer is not known, so it is assumed to be
                // that of this side. If this side never delays, the peer may delay all the same.
                let own = millis(self.params.delayed_ack_ms);
                probe += own.max(ConnectionConfig::DEFAULT.delayed_ack);
            }
            wait = wait.min(probe);
        }
        self.snd.rtx.set(now, wait);
    }

    /// Detects losses (RFC 8985 §6.2 step 5) after an acknowledgment or the end of the reordering
    /// window, and returns whether there are any. `fresh` octets have just been SACKed or
    /// acknowledged.
    //= rfc6675#5.1-5 rfc8985#1-1 rfc8985#6.2-2
    pub(super) fn detect_losses(&mut self, now: Instant, fresh: u32) -> bool {
        let Some(newest) = self.snd.recovery.rack().and_then(Rack::newest) else { return false };
        let wait_us = self.loss_wait_us();
        let (found, wait) = self.board.detect(Stamp::of(now), newest, wait_us);
        if found && self.snd.recovery.is_open() {
            self.enter_recovery(fresh);
        }
        if wait > 0 {
            self.snd.rtx_kind = Rtx::Reordering;
            self.snd.rtx.set(now, Duration::from_micros(u64::from(wait)));
        }
        found
    }

    /// Returns the time after which a segment without acknowledgment is lost, once a later one has
    /// arrived. Without a sign of reordering, recovery and DupThresh SACKed segments leave no doubt
    /// (RFC 8985 §6.2 step 4).
    //= rfc8985#3.3.2-1 rfc8985#3.3.2-2
    fn loss_wait_us(&self) -> u32 {
        let many = u32::from(self.snd.mss).saturating_mul(u32::from(DUP_THRESH.saturating_sub(1)));
        let sure = !self.snd.recovery.is_open() || self.board.sacked() > many;
        let srtt_us = self.snd.rtt.srtt_us();
        self.snd.recovery.rack().map_or(0, |rack| rack.wait_us(srtt_us, sure))
    }

    //= rfc9293#MUST-20 rfc9293#SHLD-29 rfc9293#SHLD-30
    //= rfc5681#3.1-16 rfc6298#5-6
    fn on_retransmission_timer(&mut self, now: Instant) {
        if matches!(self.state, State::SynSent | State::SynReceived) {
            return self.on_syn_timer();
        }
        if self.snd.flight() == 0 {
            // Persist timer: RFC 9293 §3.8.6.1.
            self.flags.put(ConnFlags::PROBE_DUE, true);
            self.snd.backoff = self.snd.backoff.saturating_add(1);
            return;
        }
        if self.snd.wnd == 0 && self.snd.tries == 0 {
            // RFC 9293 MUST-37: the last probe was answered, so that the time counts from this one.
            self.snd.progress_at = Tick::at(now);
        }
        let waited = self.snd.progress_at.elapsed(now);
        let limit = Duration::from_secs(u64::from(self.params.user_timeout_s));
        if self.snd.tries >= self.params.max_retransmits
            || (limit > Duration::ZERO && waited >= limit)
        {
            return self.abort(ConnectionError::TimedOut);
        }
        let again = self.snd.tries > 0;
        self.snd.tries = self.snd.tries.saturating_add(1);
        if self.snd.wnd == 0 {
            // The window was closed over data in flight: this is a probe, not a sign of congestion.
            self.flags.put(ConnFlags::PROBING, true);
            self.snd.retransmit_now = true;
            self.lose_first();
        } else {
            self.counters.timeouts = self.counters.timeouts.wrapping_add(1);
            if !self.is_slow() {
                self.snd.remember_window();
            }
            // RFC 5681 §3.1, equation 4: not for data that the timer has retransmitted already.
            let first = !again && self.begin_reduction();
            self.snd.cc.on_timeout(self.snd.flight(), first);
            self.time_out(now, again);
        }
        self.snd.backoff = self.snd.backoff.saturating_add(1);
    }

    //= rfc9293#MUST-22 rfc9293#MUST-23
    fn on_syn_timer(&mut self) {
        if self.snd.tries >= self.params.syn_retries {
            return self.finish(Some(ConnectionError::TimedOut));
        }
        self.snd.tries = self.snd.tries.saturating_add(1);
        self.snd.backoff = self.snd.backoff.saturating_add(1);
        self.snd.retransmit_now = true;
        self.counters.timeouts = self.counters.timeouts.wrapping_add(1);
        self.counters.timeout_retransmits = self.counters.timeout_retransmits.wrapping_add(1);
    }

    /// Marks losses after a timeout (RFC 8985 §6.3). Without SACK there is no RACK.rtt, and
    /// everything is marked as lost.
    //= rfc6298#5-5
    fn time_out(&mut self, now: Instant, again: bool) {
        let flight = &mut self.board;
        // On the second timeout in a row the SACK information is discarded, in case the peer has
        // reneged (RFC 2018 §8).
        if again || flight.is_reneged() {
            flight.forget();
        }
        let wait_us = if self.uses_sack() { self.loss_wait_us() } else { 0 };
        self.board.time_out(Stamp::of(now), wait_us);
        // With timestamps Eifel detection decides a round trip earlier, and from less.
        self.snd.recovery.enter_timeout(self.snd.nxt, self.rcv.paws.is_none());
        self.snd.retransmit_now = true;
        self.snd.loss_reports = 0;
    }

    //= rfc9293#MUST-26 rfc9293#MUST-29
    fn on_keep_timer(&mut self, now: Instant) {
        if self.reader == Reader::Lingering {
            return self.abort(ConnectionError::TimedOut);
        }
        if self.is_orphan() && self.params.fin_wait_2_s > 0 {
            return self.finish(Some(ConnectionError::TimedOut));
        }
        if self.snd.flight() > 0 {
            // RFC 9293 MUST-26: not while data is outstanding, whose retransmission is a probe as
            // well.
            return self.touch_keepalive(now);
        }
        if self.keep_sent >= self.params.keep_probes {
            return self.abort(ConnectionError::TimedOut);
        }
        self.keep_sent = self.keep_sent.saturating_add(1);
        self.flags.put(ConnFlags::KEEP_PROBE, true);
        let interval = Duration::from_secs(u64::from(self.params.keep_interval_s));
        self.keep.set(now, interval);
    }

    /// Restarts keep-alive after a sign of life from the peer.
    pub(super) fn touch_keepalive(&mut self, now: Instant) {
        let taken = self.is_orphan() && self.params.fin_wait_2_s > 0;
        if taken || self.reader == Reader::Lingering {
            return;
        }
        self.keep_sent = 0;
        self.flags.put(ConnFlags::KEEP_PROBE, false);
        let over = matches!(self.state, State::Closed | State::TimeWait);
        if self.params.keep_idle_s > 0 && !over {
            self.keep.set(now, Duration::from_secs(u64::from(self.params.keep_idle_s)));
        } else {
            self.keep.clear();
        }
    }

    /// Limits FIN-WAIT-2 to the configured time if no application reads any more. It is called when
    /// the state begins and when the application stops reading.
    pub(super) fn limit_fin_wait_2(&mut self, now: Instant) {
        if self.is_orphan() && self.params.fin_wait_2_s > 0 {
            let mut limit = Timer::OFF;
            limit.set(now, Duration::from_secs(u64::from(self.params.fin_wait_2_s)));
            let lingers = self.reader == Reader::Lingering;
            self.keep = if lingers { limit.earliest(self.keep) } else { limit };
        }
    }
}
