//! Sender with a window of segments in flight: New Reno and selective acknowledgments as in FreeBSD
//! 10.3 (`tcp_input.c`, `tcp_output.c`, `tcp_sack.c`, `cc_newreno.c`), which TCPlp runs, and the
//! differences of Linux.
//!
//! FreeBSD differs from Kinglet as follows. During recovery with selective acknowledgments its
//! window is one segment, and it has no RACK, PRR or tail loss probes. A retransmission that is
//! acknowledged within half a round-trip time was spurious, and its reduction is undone (TCPlp,
//! Appendix B).
//!
//! Linux is modelled as far as it is visible behind a border router: an initial window of ten
//! segments, CUBIC, an RTO of at least 200 ms above SRTT, and segments of up to half of the largest
//! window. A timeout is undone if the acknowledgement's timestamp is that of the original
//! transmission (`tcp_try_undo_loss`; RFC 3522). Recovery is that of RFC 6675, with the reduced
//! window from the start. RACK, PRR, F-RTO without timestamps, and auto-tuning are missing.

use super::cubic::Cubic;
use super::holes::Holes;
use crate::block::{Ack, Block, ticks};
use crate::info::{Failure, Info, Repair};
use crate::rtt::{Rtt, Rules};
use crate::sender::Sender;
use crate::seq::Seq;
use kinglet_time::{Duration, Instant, earliest};

/// Parameters of stacks of this kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Law {
    /// Segments of the initial window, and largest window after a pause.
    initial_window: u32,
    window_after_pause: u32,
    times: Rules,
    /// True if the window in recovery is one segment, not half of its former size.
    one_segment_in_recovery: bool,
    undo: Undo,
    cubic: bool,
    /// Number of timeouts before it gives up.
    most_timeouts: u8,
    /// Pauses between SYNs, in multiples of the initial timeout; it gives up after the last one.
    syn_pauses: &'static [u64],
    /// Largest back-off factor.
    most_backed_off: u64,
    /// True if a segment is at most half of the largest window so far, or all of it if that is at
    /// most `TCP_MSS_DEFAULT` (Linux's `tcp_bound_to_half_wnd`).
    bound_by_window: bool,
}

/// Detection of spurious timeouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Undo {
    /// The acknowledgement arrives within half a round-trip time.
    Early,
    /// Its timestamp shows that it is for the original transmission.
    Stamped,
}

/// FreeBSD 10.3 in TCPlp's port: `tcp_timer.h` (RTO base 3 s, minimum 30 ms, slop 200 ms, maximum
/// 64 s, 12 retransmissions), RFC 3390 off.
pub(crate) const FREEBSD: Law = Law {
    initial_window: 4,
    window_after_pause: 2,
    times: Rules {
        initial: Duration::from_secs(3),
        least: Duration::from_millis(30),
        least_variation: Duration::ZERO,
        slop: Duration::from_millis(200),
        most: Duration::from_secs(64),
    },
    one_segment_in_recovery: true,
    undo: Undo::Early,
    cubic: false,
    most_timeouts: 12,
    syn_pauses: &[1, 1, 1, 1, 1, 2, 4, 8, 16],
    most_backed_off: 64,
    bound_by_window: false,
};

/// Linux: `TCP_INIT_CWND`, `TCP_TIMEOUT_INIT`, `TCP_RTO_MIN`, `TCP_RTO_MAX`, `tcp_retries2`,
/// `tcp_syn_retries` (6).
pub(crate) const LINUX: Law = Law {
    initial_window: 10,
    window_after_pause: 10,
    times: Rules {
        initial: Duration::from_secs(1),
        least: Duration::from_millis(200),
        least_variation: Duration::from_millis(200),
        slop: Duration::ZERO,
        most: Duration::from_secs(120),
    },
    one_segment_in_recovery: false,
    undo: Undo::Stamped,
    cubic: true,
    most_timeouts: 15,
    syn_pauses: &[1, 2, 4, 8, 16, 32, 64],
    most_backed_off: 1 << 15,
    bound_by_window: true,
};

/// `TCP_MSS_DEFAULT` of Linux.
const MSS_DEFAULT: u32 = 536;
/// `TCP_MIN_SND_MSS` is 48 octets, with up to 40 octets of options.
const TINY: u32 = 8;
/// "When it detects large RTT" (Kim et al., V-A); they give no figure. This is Linux's timeout
/// before the first sample.
const LARGE_RTT: Duration = Duration::from_secs(1);
/// `tcprexmtthresh`.
const DUPLICATES: u32 = 3;
/// `V_tcp_abc_l_var` (RFC 3465).
const ABC_L: u32 = 2;
/// `TCPTV_PERSMIN` and `TCPTV_PERSMAX`.
const PERSIST: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));

/// State that is restored if a reduction was spurious.
#[derive(Clone, Copy, Debug)]
struct Before {
    cwnd: u32,
    ssthresh: u32,
    recover: Seq,
    recovering: bool,
    expired: Instant,
}

/// The sender.
#[derive(Debug)]
pub(crate) struct Window {
    law: Law,
    cwnd: u32,
    ssthresh: u32,
    /// `snd_recover`: end of recovery.
    recover: Seq,
    recovering: bool,
    /// True if the timer has expired, and the data in flight at that time are not yet acknowledged.
    repeating: bool,
    /// True if a reduction because of marks is in effect, also until `recover`.
    reduced: bool,
    duplicates: u32,
    /// Octets of new data sent because of duplicates, before recovery (RFC 3042).
    limited: u32,
    holes: Holes,
    /// `sack_newdata`: SND.NXT when recovery began.
    newdata: Seq,
    rtt: Rtt,
    /// Segment that is timed without timestamps.
    timed: Option<(Seq, Instant)>,
    again_at: Option<Instant>,
    persist_at: Option<Instant>,
    /// `t_rxtshift`.
    shift: u8,
    before: Option<Before>,
    acked_in_window: u32,
    cubic: Cubic,
    last_received: Instant,
}

impl Window {
    pub(crate) fn new(law: Law) -> Self {
        Window {
            law,
            cwnd: 0,
            ssthresh: u32::MAX,
            recover: Seq(0),
            recovering: false,
            repeating: false,
            reduced: false,
            duplicates: 0,
            limited: 0,
            holes: Holes::default(),
            newdata: Seq(0),
            rtt: Rtt::new(law.times),
            timed: None,
            again_at: None,
            persist_at: None,
            shift: 0,
            before: None,
            acked_in_window: 0,
            cubic: Cubic::default(),
            last_received: Instant::ZERO,
        }
    }

    fn timeout(&self) -> Duration {
        self.rtt.timeout((1 << self.shift.min(62)).min(self.law.most_backed_off))
    }

    /// Restarts the timer, if data are in flight.
    fn rearm(&mut self, now: Instant, block: &Block) {
        self.again_at = (block.flight() > 0).then(|| now + self.timeout());
    }

    /// Largest segment at present.
    fn piece(&self, block: &Block) -> u32 {
        if !self.law.bound_by_window {
            return block.mss;
        }
        let window = block.max_wnd;
        if block.settings.quirks.tiny_segments && window <= block.mss && self.rtt.srtt() > LARGE_RTT
        {
            return TINY.min(block.mss);
        }
        let bound = if window > MSS_DEFAULT { window / 2 } else { window };
        block.mss.min(bound.max(TINY))
    }

    /// SSTHRESH after a loss.
    fn halved(&mut self, block: &Block, window: u32) -> u32 {
        if self.law.cubic {
            return self.cubic.reduce(window, block.mss);
        }
        (window / 2 / block.mss).max(2) * block.mss
    }

    /// Starts recovery at the third duplicate (New Reno's `CC_NDUPACK`).
    fn begin_recovery(&mut self, now: Instant, block: &mut Block) {
        self.ssthresh = self.halved(block, self.cwnd);
        self.recover = block.max;
        self.recovering = true;
        self.timed = None;
        block.counters.fast_recoveries += 1;
        if block.agreed.sack {
            self.newdata = block.nxt;
            self.cwnd = if self.law.one_segment_in_recovery { block.mss } else { self.ssthresh };
            self.rearm(now, block);
            self.output(now, block);
        } else {
            self.resend_first(now, block);
            let more = DUPLICATES * block.mss;
            self.cwnd = self.ssthresh + more - self.limited.min(more);
        }
    }

    /// Retransmits the oldest segment.
    fn resend_first(&mut self, now: Instant, block: &mut Block) {
        let len = self.piece(block);
        block.put(block.una, len);
        block.counters.fast_retransmits += 1;
        self.rearm(now, block);
    }

    /// Octets estimated to be in flight: data that the peer lacks below selectively acknowledged
    /// data count as lost (RFC 6675's Pipe, and FreeBSD's `awnd`).
    fn pipe(&self, block: &Block) -> u32 {
        let sacked = self.holes.fack(block.una);
        block.nxt.later(sacked).since(sacked) + self.holes.sent_again()
    }

    fn duplicate(&mut self, now: Instant, block: &mut Block) {
        block.counters.dup_acks += 1;
        self.duplicates += 1;
        if self.duplicates > DUPLICATES || self.recovering {
            if block.agreed.sack && self.recovering {
                if self.pipe(block) < self.ssthresh {
                    self.cwnd = (self.cwnd + block.mss).min(self.ssthresh);
                }
            } else {
                self.cwnd += block.mss;
            }
            self.output(now, block);
        } else if self.duplicates == DUPLICATES {
            // RFC 6582, 3.2: not for data that were in flight in the previous recovery.
            if block.agreed.sack || self.recover.before(block.una) {
                self.begin_recovery(now, block);
            } else {
                self.duplicates = 0;
            }
        } else {
            self.limited_transmit(now, block);
        }
    }

    /// New data for each of the first two duplicates (RFC 3042).
    fn limited_transmit(&mut self, now: Instant, block: &mut Block) {
        if self.duplicates == 1 {
            self.limited = 0;
        }
        let (cwnd, before) = (self.cwnd, block.max);
        self.cwnd = block.flight() + self.duplicates * block.mss - self.limited;
        self.output(now, block);
        self.limited += block.max.since(before);
        self.cwnd = cwnd;
    }

    /// Handles an acknowledgement of new data during recovery.
    fn in_recovery(&mut self, block: &mut Block, ack: &Ack, acked: u32) {
        if !ack.number.before(self.recover) {
            // `newreno_post_recovery`: no burst.
            let flying = block.max.since(ack.number);
            let bursts = self.law.one_segment_in_recovery && flying < self.ssthresh;
            self.cwnd = if bursts { flying + block.mss } else { self.ssthresh };
            self.recovering = false;
            return;
        }
        block.ack_now();
        self.timed = None;
        if block.agreed.sack {
            // `tcp_sack_partialack`.
            let segments = if acked / block.mss > 2 { 2 } else { 1 };
            let new = block.nxt.later(self.newdata).since(self.newdata);
            let cwnd = self.holes.sent_again() + new + segments * block.mss;
            self.cwnd = if self.law.one_segment_in_recovery {
                cwnd.min(self.ssthresh)
            } else {
                self.ssthresh
            };
        } else {
            // `newreno_partial_ack`.
            self.cwnd = self.cwnd.saturating_sub(acked) + block.mss;
        }
    }

    /// Grows the window (RFC 5681 §3.1 with RFC 3465).
    fn grow(&mut self, now: Instant, block: &Block, acked: u32) {
        // Only if the congestion window is the limit.
        if self.cwnd > block.wnd {
            return;
        }
        let mss = block.mss;
        if self.cwnd <= self.ssthresh {
            // After a timeout one acknowledgement may cover data that had arrived before.
            let most = if block.nxt == block.max { ABC_L * mss } else { mss };
            self.cwnd += acked.min(most);
        } else if self.law.cubic {
            let rtt = self.rtt.srtt().as_micros() as f64 / 1e6;
            self.cwnd = self.cubic.grow(now, (self.cwnd, mss), acked, rtt);
        } else {
            self.acked_in_window += acked;
            if self.acked_in_window >= self.cwnd {
                self.acked_in_window -= self.cwnd;
                self.cwnd += mss;
            }
        }
    }

    /// Undoes a timeout that turns out to be spurious.
    fn undo(&mut self, now: Instant, block: &mut Block, ack: &Ack) {
        let Some(before) = self.before.take() else { return };
        let needless = match self.law.undo {
            Undo::Early => {
                let half = Duration::from_micros(self.rtt.srtt().as_micros() / 2);
                self.shift == 1 && now < before.expired + half
            }
            Undo::Stamped => ack.echo.filter(|_| block.agreed.timestamps).is_some_and(|echo| {
                let since = echo.wrapping_sub(ticks(before.expired));
                since >> 31 == 1
            }),
        };
        if needless {
            (self.cwnd, self.ssthresh) = (before.cwnd, before.ssthresh);
            (self.recover, self.recovering) = (before.recover, before.recovering);
            block.nxt = block.max;
            self.repeating = false;
            block.counters.undone += 1;
        }
    }

    fn measure(&mut self, now: Instant, block: &Block, ack: &Ack) {
        let echo = ack.echo.filter(|_| block.agreed.timestamps);
        if let Some(echo) = echo {
            let ms = ticks(now).wrapping_sub(echo);
            // An echo from the future is invalid.
            if ms < 1 << 30 {
                self.rtt.sample(Duration::from_millis(u64::from(ms)).max(Duration::from_millis(1)));
                self.shift = 0;
            }
        } else if let Some((seq, at)) = self.timed
            && seq.before(ack.number)
        {
            self.rtt.sample(now.checked_since(at).unwrap_or(Duration::ZERO));
            (self.timed, self.shift) = (None, 0);
        }
    }

    /// Reduces the window because of marks, once a round-trip time (RFC 3168 §6.1.2).
    fn marked(&mut self, block: &mut Block, number: Seq) {
        if self.reduced && !number.before(self.recover) {
            self.reduced = false;
        }
        if !self.reduced && !self.recovering {
            self.ssthresh = self.halved(block, self.cwnd);
            self.cwnd = self.ssthresh;
            self.recover = block.max;
            self.reduced = true;
            block.cwr_due = true;
            block.counters.marks += 1;
        }
    }

    fn new_ack(&mut self, now: Instant, block: &mut Block, ack: &Ack) {
        self.undo(now, block, ack);
        self.measure(now, block, ack);
        let was_recovering = self.recovering;
        let acked = block.advance(ack.number);
        self.repeating &= ack.number.before(self.recover);
        if was_recovering {
            self.in_recovery(block, ack, acked);
        }
        self.duplicates = 0;
        if was_recovering && self.recovering && !block.agreed.sack {
            self.resend_first(now, block);
        }
        self.rearm(now, block);
        let held_back = was_recovering || ack.ece && block.agreed.ecn;
        if !held_back {
            self.grow(now, block, acked);
        }
        // Without SACK a third duplicate counts from the next octet on.
        let least = if block.agreed.sack { block.una } else { block.una.plus(u32::MAX) };
        self.recover = self.recover.later(least);
        self.persist_at = None;
    }

    /// Sends one segment, if there is one to send.
    fn send_one(&mut self, now: Instant, block: &mut Block) -> bool {
        let filling = self.recovering && block.agreed.sack;
        if filling && self.fill_hole(now, block) {
            return true;
        }
        let (off, queued) = (block.nxt.since(block.una), block.queued());
        let again = if filling { self.holes.sent_again() } else { 0 };
        let usable = if filling && !self.law.one_segment_in_recovery {
            let window = self.cwnd.saturating_sub(self.pipe(block));
            queued.min(block.wnd).saturating_sub(off).min(window)
        } else if again == 0 {
            queued.min(block.wnd).min(self.cwnd).saturating_sub(off)
        } else {
            let new = block.nxt.later(self.newdata).since(self.newdata);
            let window = self.cwnd.saturating_sub(new).saturating_sub(again);
            queued.min(block.wnd).saturating_sub(off).min(window)
        };
        let piece = self.piece(block);
        let len = usable.min(piece);
        let all = off + len >= queued;
        let owes_fin = block.closing && all && (block.owes_fin() || block.nxt == block.una);
        let is_old = block.nxt.before(block.max);
        let idle = block.flight() == 0;
        // Nagle, and silly window avoidance of the sender (RFC 9293, 3.8.6.2.1).
        let worthwhile = len == piece
            || all && (idle || owes_fin)
            || block.max_wnd > 0 && len >= block.max_wnd / 2
            || is_old;
        if len == 0 && !owes_fin || len > 0 && !worthwhile {
            return false;
        }
        let taken = block.put(block.nxt, len);
        if taken == 0 {
            return false;
        }
        if is_old {
            block.counters.timeout_retransmits += 1;
        } else if self.timed.is_none() {
            self.timed = Some((block.nxt, now));
        }
        block.nxt = block.nxt.plus(taken);
        self.persist_at = None;
        if self.again_at.is_none() {
            self.rearm(now, block);
        }
        true
    }

    /// Retransmits a part of the first hole.
    fn fill_hole(&mut self, now: Instant, block: &mut Block) -> bool {
        let again = self.holes.sent_again();
        let window = if self.law.one_segment_in_recovery {
            self.cwnd.min(block.wnd).saturating_sub(again)
        } else if again == 0 {
            // Data in flight do not limit the first retransmission (RFC 6675, 5, step 4.3).
            block.mss
        } else {
            self.cwnd.saturating_sub(self.pipe(block))
        };
        let (recover, most) = (self.recover, window.min(self.piece(block)));
        let Some(hole) = self.holes.next() else { return false };
        let end = hole.end.earlier(recover);
        if !hole.sent_again.before(end) || most == 0 {
            return false;
        }
        let (from, len) = (hole.sent_again, end.since(hole.sent_again).min(most));
        hole.sent_again = from.plus(len);
        block.put(from, len);
        block.counters.fast_retransmits += 1;
        if self.again_at.is_none() {
            self.rearm(now, block);
        }
        true
    }

    /// Starts to probe a closed window.
    fn maybe_persist(&mut self, now: Instant, block: &Block) {
        let waits = block.queued() > 0 && block.flight() == 0;
        if waits && self.again_at.is_none() && self.persist_at.is_none() && block.may_send() {
            self.shift = 0;
            self.persist_at = Some(now + self.probe_pause());
        }
    }

    fn probe_pause(&self) -> Duration {
        self.timeout().max(PERSIST.0).min(PERSIST.1)
    }

    fn expired(&mut self, now: Instant, block: &mut Block) {
        self.holes.clear();
        self.shift = self.shift.saturating_add(1);
        if self.shift > self.law.most_timeouts {
            return block.abort(Failure::TimedOut);
        }
        block.counters.timeouts += 1;
        if self.shift == 1 {
            self.before = Some(Before {
                cwnd: self.cwnd,
                ssthresh: self.ssthresh,
                recover: self.recover,
                recovering: self.recovering,
                expired: now,
            });
        }
        if self.shift > self.law.most_timeouts / 4 && self.law.undo == Undo::Early {
            self.rtt.distrust();
        }
        let window = self.cwnd.min(block.wnd);
        self.ssthresh = self.halved(block, window);
        self.cwnd = block.mss;
        block.nxt = block.una;
        self.recover = block.max;
        (self.recovering, self.duplicates, self.timed) = (false, 0, None);
        self.repeating = true;
        self.rearm(now, block);
        self.output(now, block);
    }
}

impl Sender for Window {
    fn syn_timeout(&mut self, now: Instant, syns: u8) -> Option<Instant> {
        let pause = self.law.syn_pauses.get(usize::from(syns).saturating_sub(1))?;
        Some(now + Duration::from_micros(self.law.times.initial.as_micros() * pause))
    }

    fn opened(&mut self, now: Instant, block: &mut Block, took: Option<Duration>) {
        self.cwnd = self.law.initial_window * block.mss;
        self.recover = block.iss;
        self.last_received = now;
        if let Some(took) = took {
            self.rtt.sample(took);
        }
    }

    fn acked(&mut self, now: Instant, block: &mut Block, ack: &Ack) {
        if block.agreed.ecn && ack.ece {
            self.marked(block, ack.number);
        } else if self.reduced && !ack.number.before(self.recover) {
            self.reduced = false;
        }
        let is_new = block.una.before(ack.number);
        if block.agreed.sack {
            let una = block.una.later(ack.number);
            self.holes.update(una, block.max, ack.sack.as_slice());
        }
        if is_new {
            self.new_ack(now, block, ack);
        } else if !ack.has_text && ack.window == block.wnd && block.flight() > 0 {
            self.duplicate(now, block);
        } else {
            self.duplicates = 0;
        }
        self.last_received = now;
    }

    fn output(&mut self, now: Instant, block: &mut Block) {
        if !block.may_send() {
            return;
        }
        let pause = now.checked_since(self.last_received).unwrap_or(Duration::ZERO);
        if block.flight() == 0 && pause >= self.timeout() {
            self.cwnd = self.cwnd.min(self.law.window_after_pause * block.mss);
        }
        // Each segment takes octets from the queue, which is bounded.
        while self.send_one(now, block) {}
        self.maybe_persist(now, block);
    }

    fn deadline(&self) -> Option<Instant> {
        earliest(self.again_at, self.persist_at)
    }

    fn handle_deadline(&mut self, now: Instant, block: &mut Block) {
        if self.again_at.is_some_and(|at| at <= now) {
            self.again_at = None;
            if block.flight() > 0 {
                self.expired(now, block);
            }
        }
        if self.persist_at.is_some_and(|at| at <= now) {
            self.shift = self.shift.saturating_add(1);
            self.persist_at = Some(now + self.probe_pause());
            let taken = block.put(block.una, 1);
            block.nxt = block.nxt.later(block.una.plus(taken));
            block.counters.probes += 1;
        }
    }

    fn rto(&self) -> Duration {
        self.timeout()
    }

    fn describe(&self, block: &Block, info: &mut Info) {
        (info.cwnd, info.ssthresh) = (self.cwnd, self.ssthresh);
        (info.srtt, info.last_rtt) = (self.rtt.srtt(), self.rtt.last());
        info.rto = self.timeout();
        info.sacked = self.holes.sacked(block.una);
        info.repair = match (self.recovering, self.repeating) {
            (true, _) => Repair::Fast,
            (_, true) => Repair::Timeout,
            _ => Repair::None,
        };
    }
}
