//! Processing of acknowledgments: RTT samples, loss detection (RFC 8985 §6.2, RFC 6582), congestion
//! window (RFC 5681, RFC 9937).

use super::flags::ConnFlags;
use super::input::WindowChange;
use super::{Acked, Buffers, Connection, FastOpen, Params, Phase, Rtx};
use crate::congestion::Controller;
use crate::error::SoftError;
use crate::features::Features;
use crate::paws::echo_age;
use crate::send::arrival::{Arrival, Stamp};
use crate::send::prr::Progress;
use crate::send::rack::Probe;
use crate::send::recovery::{DUP_THRESH, LossDetection};
use crate::send::scoreboard::Scoreboard;
use crate::send::undo::FrtoState;
use crate::seq::SeqNum;
use crate::state::State;
use crate::timer::Tick;
use kinglet_time::{Duration, Instant};
use kinglet_wire::tcp::{Flags, Segment};

/// Largest number of losses reported by the link that are repaired at once, without progress in
/// between.
const MAX_LOSS_REPORTS: u8 = 8;
/// Number of such losses after which the link is considered dead.
const DEAD_LINK: u8 = 3;

impl<C: Controller, A: LossDetection, F: Features, B: Scoreboard + ?Sized> Connection<C, A, F, B> {
    /// Takes the acknowledgment number and the SACK blocks of an acceptable segment.
    //= rfc6675#5-4 rfc6675#5-7 rfc8985#9.2-1
    pub(super) fn take_ack(
        &mut self,
        now: Instant,
        ack: SeqNum,
        segment: &Segment<'_>,
        window: WindowChange,
        buffers: &mut Buffers<'_>,
    ) {
        let header = &segment.header;
        let before = self.snd.flight();
        if before == 0 && self.has_no_information(segment) {
            return self.take_echo(header, 0);
        }
        let mut arrival = self.arrival(now, segment);
        let acked = ack.since(self.snd.una);
        self.take_advance(ack, &mut arrival);
        let dsacked = self.take_sack(segment, ack, &mut arrival);
        let duplicated = dsacked > 0;
        if let Some(rack) = self.snd.recovery.rack_mut() {
            rack.update(&arrival);
        }
        let silent = segment.payload.is_empty()
            && !header.flags.intersects(Flags::FIN | Flags::SYN)
            && window == WindowChange::None;
        let duplicate = acked == 0 && before > 0 && ack == self.snd.una && {
            if self.uses_sack() { arrival.octets > 0 } else { silent }
        };
        self.take_back(now, &arrival, dsacked, acked > 0, duplicate, self.is_echo(header));
        let (una, nxt) = (self.snd.una, self.snd.nxt);
        if duplicated && let Some(rack) = self.snd.recovery.rack_mut() {
            rack.on_dsack(una, nxt);
        }
        if duplicate {
            self.counters.dup_acks = self.counters.dup_acks.wrapping_add(1);
        }
        if acked > 0 {
            self.snd.tx.acknowledge(buffers.pieces, self.queue(), ack);
            let limited = before.saturating_add(u32::from(self.snd.mss)) > self.snd.cc.window();
            if self.snd.backoff > 0 {
                let slow = self.is_slow();
                self.snd.doubt(&arrival, &self.params, slow);
            }
            self.new_ack(now, ack, acked, limited && self.may_grow(header));
        }
        let mut delivered = arrival.octets;
        let mut safe = acked > 0;
        if self.snd.wnd == 0 {
            // This is the response to a window probe.
        } else if self.uses_sack() {
            // RFC 8985 §7.4.2, case 2: a peer without D-SACK repeats its acknowledgment.
            let repeated = silent && acked == 0 && header.options.sack.as_slice().is_empty();
            self.end_probe(ack, duplicated || repeated);
            safe &= !self.detect_losses(now, arrival.octets);
        } else if duplicate && !self.is_slow() {
            delivered = u32::from(self.snd.mss);
            self.duplicate_ack();
        }
        self.take_echo(header, before);
        self.reduce(delivered, safe);
        if acked > 0 && self.flags.has(ConnFlags::FIN_QUEUED) && ack == self.snd.end.plus(1) {
            self.fin_acknowledged(now);
        }
    }

    /// Returns whether an acknowledgment changes nothing. This is header prediction (RFC 1323
    /// appendix A): with nothing in flight, the acknowledgment in a segment with text repeats what
    /// is known. A D-SACK may come late, and a loss probe may wait for one.
    fn has_no_information(&self, segment: &Segment<'_>) -> bool {
        segment.header.options.sack.as_slice().is_empty()
            && self.snd.recovery.is_open()
            && !self.snd.recovery.probe().is_sent()
    }

    /// Takes the acknowledgment of a SYN.
    pub(super) fn take_ack_of_syn(&mut self, now: Instant, ack: SeqNum, segment: &Segment<'_>) {
        let mut arrival = self.arrival(now, segment);
        self.take_advance(ack, &mut arrival);
        if let Some(rack) = self.snd.recovery.rack_mut() {
            rack.update(&arrival);
        }
    }

    fn arrival(&self, now: Instant, segment: &Segment<'_>) -> Arrival {
        let paws = self.rcv.paws.as_ref().filter(|_| A::SELECTIVE);
        let echo = paws.zip(segment.header.options.timestamps);
        Arrival {
            now: Stamp::of(now),
            echo_age: echo.and_then(|(_, ts)| echo_age(self.ts_offset, now, ts.ecr)),
            min_rtt_us: self.snd.recovery.rack().map_or(0, |rack| rack.min_rtt_us),
            fack: self.board.fack(),
            octets: 0,
            newest: None,
            rtt_us: None,
            last_us: u32::MAX,
            reordered: false,
            retransmitted: false,
            echo_is_old: false,
        }
    }

    /// Reports a possible advance of SND.UNA to the scoreboard, and takes the RTT sample of the
    /// first segment acknowledged.
    //= rfc6298#3-3
    fn take_advance(&mut self, ack: SeqNum, arrival: &mut Arrival) {
        self.board.advance(ack.later(self.snd.una), arrival);
        if let Some(us) = arrival.rtt_us {
            self.snd.take_sample(Duration::from_micros(u64::from(us)), &self.params);
        }
    }

    /// Takes the SACK blocks (RFC 2018 §5) and returns the number of octets in a D-SACK (RFC 2883
    /// §4): a first block below the acknowledgment number or within the second.
    //= rfc6675#5-1 rfc6675#5.1-2 rfc6675#5.1-6 rfc2883#5-1
    fn take_sack(&mut self, segment: &Segment<'_>, ack: SeqNum, arrival: &mut Arrival) -> u32 {
        if !self.uses_sack() {
            return 0;
        }
        let floor = ack.later(self.snd.una);
        let blocks = segment.header.options.sack.as_slice();
        for block in blocks {
            let (left, right) = (SeqNum::new(block.left), SeqNum::new(block.right));
            // A block beyond SND.NXT is invalid.
            if left.after(floor) && left.before(right) && right.at_or_before(self.snd.nxt) {
                self.board.sack(left, right, arrival);
            }
        }
        let Some(first) = blocks.first() else { return 0 };
        let (left, right) = (SeqNum::new(first.left), SeqNum::new(first.right));
        let inside = blocks.get(1).is_some_and(|second| {
            SeqNum::new(second.left).at_or_before(left)
                && right.at_or_before(SeqNum::new(second.right))
        });
        if right.at_or_before(ack) || inside { right.since(left) } else { 0 }
    }

    /// Advances SND.UNA by `acked` octets; cwnd may grow if `limited`.
    //= rfc6298#5-3 rfc6298#5-4 rfc6582#3.2-9 rfc6928#9-1
    fn new_ack(&mut self, now: Instant, ack: SeqNum, acked: u32, limited: bool) {
        self.snd.una = ack;
        self.soft_error = None;
        self.snd.tries = 0;
        self.snd.loss_reports = 0;
        self.snd.retransmit_now = false;
        self.snd.progress_at = Tick::at(now);
        self.recover(now, ack, acked, limited);
        if self.snd.flight() == 0 {
            // The probe was accepted: the next one is sent when it would have been retransmitted.
            if !self.flags.has(ConnFlags::PROBING) || self.snd.unsent() == 0 {
                self.snd.rtx.clear();
                self.snd.rtx_kind = Rtx::Timeout;
            }
            self.pause(now);
        } else {
            self.arm(now);
        }
    }

    /// Updates the congestion window and the phase after `acked` new octets up to `ack`.
    //= rfc6582#3.2-5 rfc6582#3.2-6 rfc6582#3.2-8 rfc6675#5-5 rfc5682#3.1-4
    fn recover(&mut self, now: Instant, ack: SeqNum, acked: u32, limited: bool) {
        self.snd.recovery.advance(ack);
        let full = !ack.before(self.snd.recovery.point());
        let (open, after_timeout) = (self.snd.recovery.is_open(), self.snd.recovery.is_timeout());
        if open || after_timeout {
            let (srtt, rtt, flight) = (self.snd.rtt.srtt(), self.snd.rtt.last(), self.snd.flight());
            let octets = acked;
            let acked = Acked { now, srtt, rtt, flight, octets, limited, after_timeout };
            self.snd.cc.on_ack(acked);
        } else if self.uses_sack() {
            // RACK detects further losses, and PRR limits what may leave.
        } else if full {
            self.snd.cc.on_recovered(self.snd.flight());
        } else {
            // RFC 6582 §3.2 step 3, partial acknowledgment: the next segment is lost as well.
            self.lose_first();
            self.snd.retransmit_now = true;
            self.snd.recovery.deflate(acked.checked_div(u32::from(self.snd.mss)).unwrap_or(0));
        }
        if full && !open {
            self.snd.recovery.leave();
        }
    }

    /// Counts a duplicate acknowledgment (RFC 5681 §3.2 and RFC 6582) of a peer without SACK.
    //= rfc5681#3.2-3 rfc6582#3.2-2 rfc6582#3.2-3
    fn duplicate_ack(&mut self) {
        let count = self.snd.recovery.count_duplicate();
        // RFC 6582 §3.2 step 1: duplicates of retransmissions in a recovery must not begin another
        // one.
        if self.snd.una.after(self.snd.recovery.point())
            && count.is_some_and(|count| count >= DUP_THRESH || self.early(count))
        {
            self.lose_first();
            self.enter_recovery(0);
        }
    }

    /// Marks the first segment as lost: a full one, if it is not recorded.
    //= rfc5681#3.2-9
    pub(super) fn lose_first(&mut self) {
        let full = self.snd.una.plus(u32::from(self.snd.mss));
        self.board.lose_first(full);
    }

    /// Returns whether Early Retransmit applies (RFC 5827 §3): with fewer than four segments
    /// outstanding and nothing new to send, three duplicates cannot come, so one fewer than the
    /// outstanding segments is enough.
    fn early(&self, dup_acks: u8) -> bool {
        let flight = self.snd.flight();
        let segments = flight.div_ceil(u32::from(self.snd.mss).max(1));
        self.snd.unsent().min(self.snd.wnd.saturating_sub(flight)) == 0
            && (2..=u32::from(DUP_THRESH)).contains(&segments)
            && u32::from(dup_acks) >= segments.saturating_sub(1)
    }

    /// Enters fast recovery on an acknowledgment of `fresh` octets, SACKed or not.
    //= rfc5681#3.2-7 rfc5681#3.2-8 rfc5681#4.3-1
    pub(super) fn enter_recovery(&mut self, fresh: u32) {
        self.counters.fast_recoveries = self.counters.fast_recoveries.wrapping_add(1);
        self.snd.remember_window();
        // RFC 5681 §3.2 step 2: data sent by limited transmit does not count.
        if self.begin_reduction() {
            self.snd.cc.on_loss(self.snd.flight().saturating_sub(self.snd.recovery.limited()));
        }
        let held = self.board.sacked();
        let recover_fs = self.snd.flight().saturating_add(fresh).saturating_sub(held);
        self.snd.recovery.enter_fast(self.snd.nxt, recover_fs);
        self.snd.retransmit_now = true;
    }

    /// Undoes the last congestion response if nothing had been lost. One of three signs shows that:
    /// a retransmission is acknowledged with a timestamp from before it (RFC 3522 §3.2); all
    /// retransmitted octets have arrived twice, `dsacked` of them by this acknowledgment; or data
    /// that was not retransmitted arrives after a timeout (RFC 5682). If the acknowledgment reports
    /// `marked` data, the window stays reduced (RFC 4015 §3.4).
    //= rfc5682#2.1-4 rfc5682#3.1-6 rfc4015#2-1 rfc4015#3.1-4 rfc4015#3.1-5 rfc4015#3.4-1
    fn take_back(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        dsacked: u32,
        advanced: bool,
        duplicate: bool,
        marked: bool,
    ) {
        let Some(undo) = self.snd.recovery.undo_mut() else { return };
        let older = |age| undo.is_before(age, arrival.now);
        let echoed = arrival.echo_is_old && arrival.echo_age.is_some_and(older);
        let shown = echoed || undo.note_duplicate(dsacked);
        let forward = self.snd.recovery.tries_forward();
        let within = self.board.fack().at_or_before(self.snd.recovery.point());
        let whole = self.board.retransmitted() == 0;
        let tried =
            |frto: &mut FrtoState| frto.is_needless(arrival, advanced, duplicate, whole, within);
        if !shown && !self.snd.recovery.frto_mut().is_some_and(tried) {
            // RFC 5682 §2.1 step 3a: the new data has left the network, where nothing else shows
            // that.
            if !self.uses_sack() && forward && !self.snd.recovery.tries_forward() {
                self.board.lose(self.snd.recovery.point(), self.snd.nxt);
            }
            return;
        }
        if let Some(undo) = self.snd.recovery.take_undo()
            && !marked
        {
            self.snd.cc.on_spurious(undo.window, undo.threshold);
        }
        self.board.find_all();
        if !self.snd.recovery.is_open() {
            self.snd.recovery.withdraw(self.snd.una);
        }
        // Nothing remains to be retransmitted, and a retransmission would have started the timer.
        self.snd.retransmit_now = false;
        if !self.snd.rtx.is_set() && self.snd.flight() > 0 {
            self.arm(now);
        }
        self.counters.undone = self.counters.undone.wrapping_add(1);
    }

    /// Updates PRR after `delivered` octets have arrived (RFC 9937 §6.2).
    fn reduce(&mut self, delivered: u32, safe: bool) {
        if let Phase::Fast { .. } = self.snd.recovery.phase() {
            let inflight = self.inflight();
            let (ssthresh, mss) = (self.snd.cc.slow_start_threshold(), u32::from(self.snd.mss));
            self.snd.recovery.reduce(Progress { delivered, safe, inflight, ssthresh, mss });
        }
    }

    /// Handles the loss of the segment of `len` octets from `seq` on, reported by the link. It is
    /// no sign of congestion and does not reduce the window.
    pub(crate) fn lost_on_link(&mut self, seq: SeqNum, len: u32) {
        if !self.params.has(Params::LINK_LOSSES) {
            return;
        }
        let loss_reports = self.snd.loss_reports;
        self.snd.loss_reports = loss_reports.saturating_add(1);
        if self.snd.loss_reports >= DEAD_LINK {
            self.soft_error = Some(SoftError::LinkDown);
        }
        if loss_reports >= MAX_LOSS_REPORTS >> self.snd.tries.min(7) {
            return;
        }
        if matches!(self.state, State::SynSent | State::SynReceived) && !self.is_opening_early() {
            self.snd.retransmit_now = true;
            // Fast Open remains possible: the SYN has not been on the path.
            self.fast_open = match self.fast_open() {
                FastOpen::Asked => FastOpen::Wanted,
                FastOpen::Sent => FastOpen::LostOnLink,
                other => other,
            };
            return;
        }
        let end = seq.plus(len);
        let fin = end == self.snd.end && self.snd.nxt.after(end);
        if len > 0 || fin {
            self.board.lose(seq, end.plus(u32::from(fin)));
            // The link has tried for long; the segments before are far ahead.
            self.snd.pace.clear();
        } else {
            self.rcv.ack.now = true;
        }
    }

    /// Ends a loss probe, as TLP_process_ack does (RFC 8985 §7.4.2): a probe that has repaired a
    /// loss counts as a loss.
    //= rfc8985#7.4.2-1 rfc8985#7.4.2-2
    fn end_probe(&mut self, ack: SeqNum, duplicated: bool) {
        let Some(rack) = self.snd.recovery.rack_mut() else { return };
        let retransmission = rack.probe == Probe::Retransmission;
        if !rack.probe.is_sent()
            || ack.before(rack.probe_end)
            || (retransmission && !duplicated && ack == rack.probe_end)
        {
            return;
        }
        rack.probe = Probe::None;
        if retransmission && !duplicated && self.snd.recovery.is_open() && self.begin_reduction() {
            self.snd.recovery.take_undo();
            self.snd.cc.on_loss(self.snd.flight());
        }
    }
}
