//! One segment in flight: the next goes when all of the last is acknowledged. What is sent again is
//! what was sent, made again by the application.

use crate::block::{Ack, Block};
use crate::info::{Failure, Info};
use crate::sender::Sender;
use crate::seq::Seq;
use kinglet_time::{Duration, Instant};

/// When the segment is sent again.
pub(crate) trait Patience: core::fmt::Debug + Send {
    /// As [`Sender::syn_timeout`].
    fn syn_timeout(&mut self, now: Instant, syns: u8) -> Option<Instant>;
    /// A segment was sent for the first time; when it is sent again.
    fn sent(&mut self, now: Instant) -> Instant;
    /// It was acknowledged, `took` after it was sent, unless it was sent more than once.
    fn answered(&mut self, now: Instant, took: Option<Duration>);
    /// It is sent for the `times`-th time again; when the next time is, or `None` if it is not
    /// even sent now.
    fn expired(&mut self, now: Instant, times: u8) -> Option<Instant>;
    /// SRTT, last sample and RTO.
    fn times(&self) -> (Duration, Duration, Duration);
    /// Whether a segment is sent into a closed window (uIP), or probes (GNRC) ask for the window.
    const IGNORES_CLOSED_WINDOW: bool;
}

/// What is in flight.
#[derive(Clone, Copy, Debug)]
struct Flying {
    seq: Seq,
    end: Seq,
    since: Instant,
    again_at: Instant,
    times: u8,
    is_probe: bool,
}

/// The sender.
#[derive(Debug)]
pub(crate) struct Single<T> {
    patience: T,
    flying: Option<Flying>,
    mss: u32,
}

impl<T: Patience> Single<T> {
    pub(crate) const fn new(patience: T) -> Self {
        Single { patience, flying: None, mss: 0 }
    }
}

impl<T: Patience> Sender for Single<T> {
    fn syn_timeout(&mut self, now: Instant, syns: u8) -> Option<Instant> {
        self.patience.syn_timeout(now, syns)
    }

    fn opened(&mut self, now: Instant, block: &mut Block, took: Option<Duration>) {
        self.mss = block.mss;
        self.patience.answered(now, took);
    }

    fn acked(&mut self, now: Instant, block: &mut Block, ack: &Ack) {
        let Some(flying) = self.flying else { return };
        // A part of it is as good as nothing (`uip_process`: the number must be the expected one).
        if ack.number != flying.end {
            return;
        }
        block.advance(ack.number);
        self.flying = None;
        let took = now.checked_since(flying.since).filter(|_| flying.times == 0);
        self.patience.answered(now, took.filter(|_| !flying.is_probe));
    }

    fn output(&mut self, now: Instant, block: &mut Block) {
        if self.flying.is_some() || !block.may_send() || block.queued() == 0 && !block.owes_fin() {
            return;
        }
        let is_probe = block.wnd == 0 && !T::IGNORES_CLOSED_WINDOW && block.queued() > 0;
        let most = match (is_probe, block.wnd) {
            (true, _) => 1,
            (false, 0) => block.mss,
            (false, wnd) => wnd.min(block.mss),
        };
        let seq = block.una;
        let taken = block.put(seq, most);
        block.nxt = seq.plus(taken);
        block.counters.probes += u32::from(is_probe);
        let again_at = self.patience.sent(now);
        let end = seq.plus(taken);
        self.flying = Some(Flying { seq, end, since: now, again_at, times: 0, is_probe });
    }

    fn deadline(&self) -> Option<Instant> {
        self.flying.map(|flying| flying.again_at)
    }

    fn handle_deadline(&mut self, now: Instant, block: &mut Block) {
        let Some(flying) = self.flying.as_mut().filter(|flying| flying.again_at <= now) else {
            return;
        };
        flying.times = flying.times.saturating_add(1);
        let Some(again_at) = self.patience.expired(now, flying.times) else {
            return block.abort(Failure::TimedOut);
        };
        flying.again_at = again_at;
        block.counters.timeouts += 1;
        block.counters.timeout_retransmits += 1;
        block.put(flying.seq, flying.end.since(flying.seq));
    }

    fn rto(&self) -> Duration {
        self.patience.times().2
    }

    fn describe(&self, _: &Block, info: &mut Info) {
        info.cwnd = self.mss;
        (info.srtt, info.last_rtt, info.rto) = self.patience.times();
    }
}
