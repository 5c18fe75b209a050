//! What happens when a timer expires (RFC 6298 §5, RFC 9293 §3.8.4, §3.8.6.1).

use super::{Connection, Phase, Reader, State};
use crate::congestion::Controller;
use crate::error::ConnectionError;
use crate::timer::Timer;
use kinglet_time::{Duration, Instant};

impl<C: Controller> Connection<C> {
    /// What is due first.
    pub(crate) fn next_timer(&self) -> Timer {
        self.ack.timer.earliest(self.rtx).earliest(self.keep)
    }

    /// See [`Tick::age`](crate::timer::Tick::age).
    pub(crate) fn age(&mut self, epoch: Instant, now: Instant) {
        for timer in [&mut self.ack.timer, &mut self.rtx, &mut self.keep] {
            timer.age(epoch, now);
        }
        for stamp in [&mut self.last_sent, &mut self.progress_at] {
            stamp.age(epoch, now);
        }
        if let Some(at) = &mut self.retransmitted_at {
            at.age(epoch, now);
        }
        if let Some((_, sent_at)) = &mut self.timed {
            sent_at.age(epoch, now);
        }
    }

    pub(crate) fn handle_deadline(&mut self, now: Instant) {
        self.ack.handle_deadline(now);
        if self.keep.is_due(now) {
            self.keep.clear();
            self.on_keep_timer(now);
        }
        if self.rtx.is_due(now) {
            self.rtx.clear();
            self.on_retransmission_timer(now);
        }
    }

    fn on_retransmission_timer(&mut self, now: Instant) {
        if matches!(self.state, State::SynSent | State::SynReceived) {
            return self.on_syn_timer();
        }
        if self.flight() == 0 {
            // Persist timer: RFC 9293 §3.8.6.1.
            self.probe = true;
            self.backoff = self.backoff.saturating_add(1);
            return;
        }
        let waited = self.progress_at.elapsed(now);
        let limit = Duration::from_millis(u64::from(self.params.user_timeout_ms));
        if self.tries >= self.params.max_retransmits || (limit > Duration::ZERO && waited >= limit)
        {
            return self.abort(ConnectionError::TimedOut);
        }
        self.tries = self.tries.saturating_add(1);
        if self.snd.wnd == 0 {
            // The window was closed over data in flight: this is a probe, not a sign of congestion.
            self.probing = true;
            self.recovery.pending = true;
        } else {
            self.counters.timeouts = self.counters.timeouts.wrapping_add(1);
            let first = self.recovery.phase != Phase::Timeout || self.backoff == 0;
            self.cc.on_timeout(self.flight(), first);
            self.recovery.enter_timeout(self.snd.una, self.snd.nxt, self.backoff > 0);
        }
        self.timed = None;
        self.backoff = self.backoff.saturating_add(1);
    }

    fn on_syn_timer(&mut self) {
        if self.tries >= self.params.syn_retries {
            return self.finish(Some(ConnectionError::TimedOut));
        }
        self.tries = self.tries.saturating_add(1);
        self.backoff = self.backoff.saturating_add(1);
        self.recovery.pending = true;
        self.timed = None;
    }

    fn on_keep_timer(&mut self, now: Instant) {
        if self.reader == Reader::Lingering {
            return self.abort(ConnectionError::TimedOut);
        }
        if self.state == State::FinWait2 && self.params.fin_wait_2_ms > 0 {
            return self.finish(Some(ConnectionError::TimedOut));
        }
        if self.flight() > 0 {
            // RFC 9293 MUST-26: not while data is outstanding, whose retransmission asks the same.
            return self.touch_keepalive(now);
        }
        if self.keep_sent >= self.params.keep_probes {
            return self.abort(ConnectionError::TimedOut);
        }
        self.keep_sent = self.keep_sent.saturating_add(1);
        self.keep_probe = true;
        let interval = Duration::from_millis(u64::from(self.params.keep_interval_ms));
        self.keep.set(now, interval);
    }

    /// The peer has given a sign of life: keep-alive starts over.
    pub(super) fn touch_keepalive(&mut self, now: Instant) {
        let taken = self.state == State::FinWait2 && self.params.fin_wait_2_ms > 0;
        if taken || self.reader == Reader::Lingering {
            return;
        }
        self.keep_sent = 0;
        self.keep_probe = false;
        let over = matches!(self.state, State::Closed | State::TimeWait);
        if self.params.keep_idle_ms > 0 && !over {
            self.keep.set(now, Duration::from_millis(u64::from(self.params.keep_idle_ms)));
        } else {
            self.keep.clear();
        }
    }

    /// In FIN-WAIT-2 the peer has made progress, or the state was just entered.
    pub(super) fn touch_fin_wait_2(&mut self, now: Instant) {
        let used = self.params.fin_wait_2_ms > 0 && self.reader != Reader::Lingering;
        if self.state == State::FinWait2 && used {
            self.keep.set(now, Duration::from_millis(u64::from(self.params.fin_wait_2_ms)));
        }
    }
}
