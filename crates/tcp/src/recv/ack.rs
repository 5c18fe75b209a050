//! When to acknowledge (RFC 9293 §3.8.6.3, RFC 5681 §4.2), and what that may bring.

use crate::timer::Timer;
use kinglet_time::{Duration, Instant};

/// What is owed to the peer.
//= rfc9293#MUST-58 rfc9293#MUST-59 rfc9293#SHLD-18
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckState {
    /// An acknowledgment is to be sent now.
    pub(crate) now: bool,
    /// Sequence numbers received since the last acknowledgment, or as many as this can count:
    /// before there are more an acknowledgment is due.
    unacked: u16,
    /// Segments whose acknowledgment does not wait, as the peer may wait for each; where each has
    /// one of its own, how many are owed. And [`MORE`] and [`IN_VAIN`].
    prompt: u8,
    /// While an acknowledgment is owed, when to send it at the latest; else until when the text
    /// that it lets the peer send is expected.
    pub(crate) timer: Timer,
}

/// Segments after a gap, in or out of order, that are acknowledged at once. The peer's window has
/// been halved, to two segments if it was four: the second may be lost, or not allowed yet.
pub(crate) const AFTER_GAP: u8 = 2;
/// After signs of a timeout, which leaves one segment for a window: what has come twice, or less
/// than a full segment though the peer has more.
pub(crate) const AFTER_TIMEOUT: u8 = 8;

/// Acknowledgments owed at most, where each segment has its own: twice a window of eight, the
/// largest of "design criteria" (II-C).
pub(crate) const MOST_OWED: u8 = 16;

/// After four delays in a row that were in vain. A peer that waits for the acknowledgment of each
/// segment (uIP, RIOT's GNRC) loses the delay with each. The next delay finds out whether it still
/// does. Two in a row are the end of a batch: an odd segment, and what Nagle's algorithm kept.
const AFTER_VAIN_DELAYS: u8 = 31;

/// The last text was a full segment, or one that the peer has not pushed: it has more to send. In
/// the octet that counts segments, of which there are never so many.
const MORE: u8 = 0x80;
/// Where the same octet counts, up to three, the last acknowledgments in a row that waited for
/// their whole delay while neither another segment nor text of our own came.
const IN_VAIN: u8 = 0x60;
const ONE_IN_VAIN: u8 = 0x20;
/// Where it counts segments.
const COUNT: u8 = 0x1f;

/// RFC 9293 §3.8.6.3: less than half a second.
//= rfc9293#MUST-40
pub(crate) const MAX_DELAYED_ACK_MS: u16 = 499;

/// How many milliseconds the acknowledgment of text waits where it usually waits for `delay`: twice
/// as long after a segment without PSH, behind which more waits at the sender. Over several hops
/// the segments of a stream come further apart than `delay`, and each would get an acknowledgment
/// of its own, over all hops. A segment that comes alone has PSH, and its sender perhaps a timer
/// for which that is too long. What waits already is not hastened by the next segment.
pub(crate) fn patience(delay: u16, push: bool) -> u16 {
    delay.saturating_mul(if push { 1 } else { 2 }).min(MAX_DELAYED_ACK_MS)
}

/// Octets that make an immediate acknowledgment: `every` full segments, but no more than leave the
/// peer two acknowledgments for each `window`, so that the loss of one does not stop it. On that
/// account they are not less than two segments (RFC 5681 §4.2). Nor more than can be counted.
pub(crate) fn threshold(full: u32, every: u8, window: u32) -> u32 {
    // Another full segment would be more than half.
    let half = (window / 2).saturating_sub(full).saturating_add(1);
    let octets = full.saturating_mul(u32::from(every)).min(half.max(full.saturating_mul(2)));
    octets.min(u32::from(u16::MAX))
}

impl AckState {
    pub(crate) const NONE: AckState =
        AckState { now: false, unacked: 0, prompt: 0, timer: Timer::OFF };

    /// Whether the peer has [`MORE`].
    fn more(&self) -> bool {
        self.prompt & MORE != 0
    }

    pub(crate) fn set_more(&mut self, more: bool) {
        self.prompt = self.prompt & !MORE | if more { MORE } else { 0 };
    }

    /// In-order data has arrived. `threshold` octets make an immediate acknowledgment.
    //= rfc9293#SHLD-18
    pub(crate) fn received(&mut self, now: Instant, octets: u32, threshold: u32, delay: Duration) {
        if self.unacked == 0 {
            self.timer.clear();
        } else {
            self.prompt &= !IN_VAIN;
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
    /// loss with a small window, where a delay can cost it a timeout. RFC 5681 §4.2 demands this
    /// only for as long as there is a gap.
    #[inline(never)]
    pub(crate) fn hurry(&mut self, segments: u8) {
        self.now = true;
        self.set_count(self.owed().max(segments));
    }

    /// The peer's FIN has been reached.
    pub(crate) fn finished(&mut self) {
        self.now = true;
        self.unacked = self.unacked.saturating_add(1);
    }

    /// Each segment has an acknowledgment of its own: one has come, with `octets` that are new and
    /// in order. Of more than [`MOST_OWED`] one tells for the rest.
    #[inline(never)]
    pub(crate) fn owe(&mut self, octets: u32) {
        self.timer.clear();
        let unacked = u32::from(self.unacked).saturating_add(octets);
        self.unacked = u16::try_from(unacked).unwrap_or(u16::MAX);
        self.now = true;
        self.set_count(self.owed().saturating_add(1).min(MOST_OWED));
    }

    /// One of them has been formed. Answers how many octets it leaves to those after it: what has
    /// come in order has come in segments of `full` octets, but perhaps for the last.
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

    /// The one that is being formed stands for all that are owed.
    pub(crate) fn forgive(&mut self) {
        self.set_count(0);
    }

    /// Acknowledgments owed, where each segment has its own; else how many do not wait.
    pub(crate) fn owed(&self) -> u8 {
        self.prompt & COUNT
    }

    fn set_count(&mut self, count: u8) {
        self.prompt = self.prompt & !COUNT | count;
    }

    /// Nothing is sent any more.
    pub(crate) fn stop(&mut self) {
        *self = AckState { unacked: self.unacked, ..AckState::NONE };
    }

    /// From Last.ACK.sent (RFC 7323 §4.3) to RCV.NXT.
    pub(crate) fn unacked(&self) -> u32 {
        u32::from(self.unacked)
    }

    pub(crate) fn handle_deadline(&mut self, now: Instant) {
        if self.timer.is_due(now) {
            self.timer.clear();
            match self.unacked {
                0 => self.set_more(false),
                _ if self.prompt & IN_VAIN == IN_VAIN => self.hurry(AFTER_VAIN_DELAYS),
                _ => {
                    self.now = true;
                    self.prompt = self.prompt.saturating_add(ONE_IN_VAIN);
                }
            }
        }
    }

    /// An acknowledgment waits for its time.
    pub(crate) fn is_delayed(&self) -> bool {
        self.timer.is_set() && self.unacked > 0
    }

    /// The last acknowledgment lets the peer send what it has; it may take this long to come.
    pub(crate) fn await_more(&mut self, now: Instant, time: Duration) {
        if self.more() {
            self.timer.set(now, time);
        }
    }

    /// While an acknowledgment waits for more, more may be on its way; else what the last one lets
    /// the peer send is.
    pub(crate) fn awaits_more(&self) -> bool {
        self.timer.is_set() && (self.unacked == 0 || self.more())
    }

    /// A segment that carries the acknowledgment has been formed.
    pub(crate) fn sent(&mut self) {
        if self.is_delayed() {
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
    fn segments_that_come_alone_wait_four_times_and_then_once_of_many() {
        let (mut ack, mut now) = (AckState::NONE, Instant::from_micros(1_000_000));
        ack.set_more(true);
        let delays: [u64; 100] = core::array::from_fn(|_| delay_of_one(&mut ack, &mut now));
        let waited = delays.iter().enumerate().filter(|(_, delay)| **delay > 0);
        assert!(waited.map(|(at, _)| at).eq([0, 1, 2, 3, 35, 67, 99]), "{delays:?}");
        assert!(ack.more(), "what the same octet says of the peer stays");
    }

    #[test]
    fn a_delay_that_serves_two_segments_or_ends_with_text_of_our_own_is_not_in_vain() {
        let (mut ack, mut now) = (AckState::NONE, Instant::from_micros(1_000_000));
        for _ in 0..10 {
            assert_eq!(delay_of_one(&mut ack, &mut now), 100);
            // The acknowledgment goes with text.
            ack.received(now, 100, 1_000, DELAY);
            ack.sent();
        }
        for _ in 0..10 {
            ack.received(now, 100, 1_000, DELAY);
            assert_eq!(delay_of_one(&mut ack, &mut now), 100, "one for both");
        }
    }
}
