//! Delayed acknowledgments (RFC 9293 §3.8.6.3, RFC 5681 §4.2), and the text they may bring.

use crate::timer::Timer;
use kinglet_time::{Duration, Instant};

/// State of the acknowledgments owed to the peer.
//= rfc9293#MUST-58 rfc9293#MUST-59 rfc9293#SHLD-18
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckState {
    /// An acknowledgment is to be sent now.
    pub(crate) now: bool,
    /// Sequence numbers received since the last acknowledgment, up to the largest count: an
    /// acknowledgment is due before there are more.
    unacked: u16,
    /// Number of the next segments that are acknowledged without delay, as the peer may wait for
    /// each. Where each segment has its own acknowledgment, it is the number of those owed. The
    /// octet also holds [`MORE`], [`IN_VAIN`] and [`PIPELINES`].
    prompt: u8,
    /// Latest time of the acknowledgment while one is owed; otherwise the time until which text is
    /// expected that the last one lets the peer send.
    pub(crate) timer: Timer,
}

/// Segments after a gap, in or out of order, that are acknowledged at once. The peer's window has
/// been halved, to two segments if it was four: the second may be lost, or not allowed yet.
pub(crate) const AFTER_GAP: u8 = 2;
/// Segments acknowledged at once after signs of a timeout of the peer, whose window is then one
/// segment. The signs are duplicate text, or less than a full segment although the peer has more.
pub(crate) const AFTER_TIMEOUT: u8 = 8;

/// Acknowledgments owed at most, where each segment has its own: twice a window of eight, the
/// largest of "design criteria" (II-C).
pub(crate) const MOST_OWED: u8 = 16;

/// Segments acknowledged at once after three delays in a row that nothing shared, while the peer
/// has never sent a segment before the acknowledgment of the last one. A peer that waits for the
/// acknowledgment of each segment (uIP, RIOT's GNRC) loses the delay with each. The next delay
/// tests whether it still does.
const AFTER_VAIN_DELAYS: u8 = 31;

/// Flag: the last text was a full segment, or one without PSH, so the peer has more to send. It
/// shares the octet with the count of segments, which never gets as large.
const MORE: u8 = 0x80;
/// Bits of the same octet that count, up to two, the last acknowledgments in a row that waited for
/// their whole delay, which nothing shared: neither another segment nor text of our own.
const IN_VAIN: u8 = PIPELINES;
const ONE_IN_VAIN: u8 = 0x20;
/// Value of these bits from when on two segments have shared an acknowledgment: the peer does not
/// wait for each. Over many hops, or with other transfers on the channel, its segments come further
/// apart than any delay.
const PIPELINES: u8 = 0x60;
/// Bits of it that count segments.
const COUNT: u8 = 0x1f;

/// Longest delay by RFC 9293 §3.8.6.3: less than half a second.
//= rfc9293#MUST-40
//= rfc5681#4.2-4 rfc5681#4.2-5
pub(crate) const MAX_DELAYED_ACK_MS: u16 = 499;

/// Returns the milliseconds by which the acknowledgment of text is delayed, where they usually are
/// `delay`: three times as many after a segment without PSH, as more text then waits at the sender.
/// Over six hops the segments of a stream come twice as far apart as the default `delay`, and each
/// would get an acknowledgment of its own, over all hops. A segment that comes alone has PSH, and
/// its sender may have a timer for which that is too long. The next segment does not shorten a
/// delay that already runs.
//= rfc5681#4.2-2
pub(crate) fn patience(delay: u16, push: bool) -> u16 {
    delay.saturating_mul(if push { 1 } else { 3 }).min(MAX_DELAYED_ACK_MS)
}

/// Returns the octets that cause an immediate acknowledgment: `every` full segments, but few enough
/// that the peer gets two acknowledgments for each `window`, so that the loss of one does not stop
/// it. That bound is at least two segments (RFC 5681 §4.2). The result is at most the largest
/// count.
//= rfc5681#4.2-3
pub(crate) fn threshold(full: u32, every: u8, window: u32) -> u32 {
    // Another full segment would be more than half.
    let half = (window / 2).saturating_sub(full).saturating_add(1);
    let octets = full.saturating_mul(u32::from(every)).min(half.max(full.saturating_mul(2)));
    octets.min(u32::from(u16::MAX))
}

impl AckState {
    pub(crate) const NONE: AckState =
        AckState { now: false, unacked: 0, prompt: 0, timer: Timer::OFF };

    /// Returns whether the peer has [`MORE`].
    fn more(&self) -> bool {
        self.prompt & MORE != 0
    }

    /// Returns whether the peer [`PIPELINES`].
    fn pipelines(&self) -> bool {
        self.prompt & PIPELINES == PIPELINES
    }

    pub(crate) fn set_more(&mut self, more: bool) {
        self.prompt = self.prompt & !MORE | if more { MORE } else { 0 };
    }

    /// Notes in-order data. `threshold` octets cause an immediate acknowledgment.
    //= rfc9293#SHLD-18
    //= rfc5681#4.2-1
    pub(crate) fn received(&mut self, now: Instant, octets: u32, threshold: u32, delay: Duration) {
        if self.unacked == 0 {
            self.timer.clear();
        } else {
            self.prompt |= PIPELINES;
        }
        let unacked = u32::from(self.unacked).saturating_add(octets);
        self.unacked = u16::try_from(unacked).unwrap_or(u16::MAX);
        if unacked >= threshold || delay == Duration::ZERO || self.owed() > 0 {
            self.now = true;
            self.set_count(self.owed().saturating_sub(1));
        } else if !self.timer.is_set() {
            self.timer.set(now, delay);
        }
    }

    /// Acknowledges what has arrived, and the next `segments`, at once: the peer is repairing a
    /// loss with a small window, where a delay can cost it a timeout. RFC 5681 §4.2 requires this
    /// only while there is a gap.
    #[inline(never)]
    pub(crate) fn hurry(&mut self, segments: u8) {
        self.now = true;
        self.set_count(self.owed().max(segments));
    }

    /// Notes that the peer's FIN has been reached.
    pub(crate) fn finished(&mut self) {
        self.now = true;
        self.unacked = self.unacked.saturating_add(1);
    }

    /// Notes a segment with `octets` that are new and in order, where each segment has an
    /// acknowledgment of its own. Beyond [`MOST_OWED`] one acknowledgment covers the rest.
    #[inline(never)]
    pub(crate) fn owe(&mut self, octets: u32) {
        self.timer.clear();
        let unacked = u32::from(self.unacked).saturating_add(octets);
        self.unacked = u16::try_from(unacked).unwrap_or(u16::MAX);
        self.now = true;
        self.set_count(self.owed().saturating_add(1).min(MOST_OWED));
    }

    /// Notes that one of them has been formed. Returns the octets that it leaves to those after it:
    /// in-order text has come in segments of `full` octets, except possibly the last.
    #[inline(never)]
    pub(crate) fn sent_one(&mut self, full: u32) -> u32 {
        let owed = self.owed().saturating_sub(1);
        let left = if owed > 0 { u32::from(self.unacked).saturating_sub(full) } else { 0 };
        let unacked = u16::try_from(left).unwrap_or(u16::MAX);
        *self = AckState {
            now: owed > 0,
            unacked,
            prompt: self.prompt & !COUNT | owed,
            ..AckState::NONE
        };
        left
    }

    /// Lets the acknowledgment that is being formed cover all that are owed.
    pub(crate) fn forgive(&mut self) {
        self.set_count(0);
    }

    /// Returns the acknowledgments owed, where each segment has its own; otherwise the number of
    /// segments that are acknowledged without delay.
    pub(crate) fn owed(&self) -> u8 {
        self.prompt & COUNT
    }

    fn set_count(&mut self, count: u8) {
        self.prompt = self.prompt & !COUNT | count;
    }

    /// Stops acknowledging: nothing more is sent.
    pub(crate) fn stop(&mut self) {
        *self = AckState { unacked: self.unacked, ..AckState::NONE };
    }

    /// Returns the distance from Last.ACK.sent (RFC 7323 §4.3) to RCV.NXT.
    pub(crate) fn unacked(&self) -> u32 {
        u32::from(self.unacked)
    }

    pub(crate) fn handle_deadline(&mut self, now: Instant) {
        if self.timer.is_due(now) {
            self.timer.clear();
            match self.unacked {
                0 => self.set_more(false),
                _ if self.pipelines() => self.now = true,
                _ if self.prompt & IN_VAIN == 2 * ONE_IN_VAIN => self.hurry(AFTER_VAIN_DELAYS),
                _ => {
                    self.now = true;
                    self.prompt = self.prompt.saturating_add(ONE_IN_VAIN);
                }
            }
        }
    }

    /// Returns whether an acknowledgment is being delayed.
    pub(crate) fn is_delayed(&self) -> bool {
        self.timer.is_set() && self.unacked > 0
    }

    /// Expects text within `time` if the peer has more, which the last acknowledgment lets it send.
    pub(crate) fn await_more(&mut self, now: Instant, time: Duration) {
        if self.more() {
            self.timer.set(now, time);
        }
    }

    /// Returns whether text may be in flight: more text while an acknowledgment waits for it,
    /// otherwise the text that the last one lets the peer send.
    pub(crate) fn awaits_more(&self) -> bool {
        self.timer.is_set() && (self.unacked == 0 || self.more())
    }

    /// Notes that a segment with the acknowledgment has been formed.
    //= rfc5681#4.2-9
    pub(crate) fn sent(&mut self) {
        if self.is_delayed() && !self.pipelines() {
            self.prompt &= !IN_VAIN;
        }
        *self = AckState { prompt: self.prompt, ..AckState::NONE };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_millis(100);

    /// Receives one segment, and returns the milliseconds until its acknowledgment is due.
    fn delay_of_one(ack: &mut AckState, now: &mut Instant) -> u64 {
        ack.received(*now, 100, 1_000, DELAY);
        let wait = if ack.now { Duration::ZERO } else { DELAY };
        *now += wait;
        ack.handle_deadline(*now);
        assert!(ack.now, "an acknowledgment after {wait:?}");
        ack.sent();
        wait.as_millis()
    }

    #[test]
    fn segments_that_come_alone_wait_three_times_and_then_once_of_many() {
        let (mut ack, mut now) = (AckState::NONE, Instant::from_micros(1_000_000));
        ack.set_more(true);
        let delays: [u64; 100] = core::array::from_fn(|_| delay_of_one(&mut ack, &mut now));
        let waited = delays.iter().enumerate().filter(|(_, delay)| **delay > 0);
        assert!(waited.map(|(at, _)| at).eq([0, 1, 2, 34, 66, 98]), "{delays:?}");
        assert!(ack.more(), "what the same octet says of the peer stays");
    }

    #[test]
    fn a_delay_that_ends_with_text_of_our_own_is_not_in_vain() {
        let (mut ack, mut now) = (AckState::NONE, Instant::from_micros(1_000_000));
        for _ in 0..10 {
            for _ in 0..2 {
                assert_eq!(delay_of_one(&mut ack, &mut now), 100);
            }
            // The acknowledgment leaves with text.
            ack.received(now, 100, 1_000, DELAY);
            ack.sent();
        }
    }

    #[test]
    fn each_segment_of_a_peer_that_does_not_wait_is_delayed() {
        let (mut ack, mut now) = (AckState::NONE, Instant::from_micros(1_000_000));
        for _ in 0..2 {
            assert_eq!(delay_of_one(&mut ack, &mut now), 100);
        }
        // The second segment comes before the acknowledgment of the first.
        ack.received(now, 100, 1_000, DELAY);
        assert_eq!(delay_of_one(&mut ack, &mut now), 100, "one for both");
        for _ in 0..50 {
            assert_eq!(delay_of_one(&mut ack, &mut now), 100);
        }
        // Text of our own does not change that.
        ack.received(now, 100, 1_000, DELAY);
        ack.sent();
        for _ in 0..5 {
            assert_eq!(delay_of_one(&mut ack, &mut now), 100);
        }
    }
}
