//! Gaps between the segments of a window (RFC 9002 §7.7): a burst is one segment. Also the pieces
//! of a window after a timeout.

use super::{Connection, Params};
use crate::congestion::Controller;
use crate::features::Features;
use crate::send::recovery::LossDetection;
use crate::send::scoreboard::Scoreboard;
use crate::timer::Timer;
use kinglet_time::{Duration, Instant};

/// Round-trip times from which the gaps follow.
#[derive(Clone, Copy, Debug)]
struct Rtt {
    smoothed_us: u32,
    least_us: u32,
}

impl Rtt {
    /// Returns the gap after `len` octets: the shorter of two.
    ///
    /// * SRTT / window / 1.25 (RFC 9002 §7.7), 1.25 so that the window is used up although the gaps
    ///   vary. No gap is longer, so pacing never limits the rate.
    /// * Nodes three hops apart can send at once (TCPlp §7.2), so a path of five hops carries 5/3
    ///   segments. More segments in a round trip are no faster: they wait in relays or collide on
    ///   the path.
    ///
    /// Both gaps feed back on themselves where a sleepy node fetches acknowledgments after the last
    /// segment of a window of `n`: a round trip then contains up to `n` - 1 gaps. The first one
    /// takes 0.8 / `n` of the round trip, so a gap becomes 0.8 (`n` - 1) / `n` of its former
    /// length, plus the share of the path. That factor is less than one for every `n`. The shorter
    /// of the two inherits that.
    fn gap(self, len: u32, mss: u32, window: u32) -> Duration {
        let window = window.max(len);
        let least = if let Some(shorter) = self.is_share_shorter(mss, window) {
            let (time_us, count, whole) =
                if shorter { (self.smoothed_us, 4, window) } else { (self.least_us, 3, mss) };
            fifths(time_us, count, len, whole)
        } else {
            let path = fifths(self.least_us, 3, len, mss);
            fifths(self.smoothed_us, 4, len, window).min(path)
        };
        Duration::from_micros(least)
    }

    /// Returns whether the first of the two is shorter, if multiplications in 32 bits can decide
    /// it: then one division is enough.
    fn is_share_shorter(self, mss: u32, window: u32) -> Option<bool> {
        let Rtt { smoothed_us, least_us } = self;
        let small = smoothed_us < 1 << 19 && least_us < 1 << 19 && window < 1 << 11;
        // Factors of less than 2^19, 2^11 and at most 4.
        let share = smoothed_us.wrapping_mul(4).wrapping_mul(mss);
        let path = least_us.wrapping_mul(3).wrapping_mul(window);
        (small && (1..1 << 11).contains(&mss)).then_some(share < path)
    }
}

/// Returns `count` fifths of `time_us`, times `len` / `whole`; zero if `whole` is zero. It computes
/// in 32 bits if they are enough, as they are for round trips up to a second: without a divider
/// that takes a quarter of the time.
fn fifths(time_us: u32, count: u8, len: u32, whole: u32) -> u64 {
    let count = u32::from(count);
    if time_us < 1 << 20 && len < 1 << 10 && whole < 1 << 29 {
        // Less than 2^30, and `count` is four at most.
        let product = time_us.wrapping_mul(len).wrapping_mul(count);
        return product.checked_div(whole.wrapping_mul(5)).map_or(0, u64::from);
    }
    let product =
        u64::from(time_us).saturating_mul(u64::from(len)).saturating_mul(u64::from(count));
    product.checked_div(u64::from(whole).saturating_mul(5)).unwrap_or(0)
}

/// Octets that fit into one frame of IEEE 802.15.4 with every header.
pub(super) const PIECE: u16 = 64;

/// Round trips for which a short segment waits where packets wait: docs/decisions/0037-over-rpl.md
/// has the effects of fewer and more.
const IDLE_RTTS: u32 = 6;

impl<C: Controller, A: LossDetection, F: Features, B: Scoreboard + ?Sized> Connection<C, A, F, B> {
    /// Starts the gap after `len` octets, sent for the first time or not. Before the first sample
    /// nothing is known of the path, and the initial window is sent without gaps.
    //= rfc9937#6.4-1
    pub(super) fn pace(&mut self, now: Instant, len: u32) {
        if F::PACING && self.params.has(Params::PACING) && self.snd.rtt.srtt_us() > 0 && len > 0 {
            // The peer's window and the queued data bound the rate as much as cwnd does.
            let queued = self.queue().len();
            let window = self.snd.window(&self.params).min(self.snd.max_wnd()).min(queued);
            let smoothed_us = self.snd.rtt.srtt_us();
            let least_us = match self.snd.recovery.rack().map_or(0, |rack| rack.min_rtt_us) {
                // Only the handshake has been answered, or no minimum is kept.
                0 => smoothed_us,
                least_us => least_us,
            };
            let rtt = Rtt { smoothed_us, least_us };
            self.snd.pace.set(now, rtt.gap(len, u32::from(self.snd.mss), window));
        }
    }

    /// Ends the gap, as all data in flight is acknowledged and there is no segment to keep a
    /// distance from. Where packets wait on the path for longer than they travel, however, a short
    /// segment waits for [`IDLE_RTTS`] round trips, unless it becomes a full one or the peer sends
    /// something. Nagle's algorithm lets one short segment out in each round trip, and one reading
    /// takes half as many frames as four. Where thirty nodes write a reading a second, such
    /// segments fill the queues of relays. RTO ends the wait, as the override timeout of SWS
    /// avoidance does (RFC 9293, 3.8.6.2.1).
    pub(super) fn pause(&mut self, now: Instant) {
        self.snd.pace.clear();
        let least_us = self.snd.recovery.rack().map_or(0, |rack| rack.min_rtt_us);
        let waits = least_us > 0 && self.snd.rtt.srtt_us() / 2 > least_us;
        if F::PACING && waits && self.params.has(Params::PACING) {
            self.snd.pace.set(now, self.snd.rtt.srtt() * IDLE_RTTS);
        }
    }

    /// Returns whether a short segment waits although nothing is in flight.
    pub(super) fn is_paused(&self) -> bool {
        self.snd.pace.is_set() && self.snd.flight() == 0 && self.params.has(Params::NAGLE)
    }

    /// Returns the room for the next piece of `lost` octets, if a segment has room for `room` and
    /// the window for `allowed`. From the second timeout in a row on, the loss window, which RFC
    /// 5681 §3.1 counts in octets, leaves in pieces: then one lost packet, or one lost
    /// acknowledgment, does not cost the next timeout, which is twice as long (RFC 9002 §6.2.4 has
    /// two packets for it as well). The first two are so short that a frame holds them, because a
    /// packet of many frames is lost with any of them. The rest follows at once, for losses that
    /// come in bursts.
    pub(super) fn loss_room(&self, lost: u32, allowed: u32, room: u32) -> u32 {
        if self.snd.tries < 2 {
            return room;
        }
        let inflight = self.inflight();
        let whole = room.min(if inflight == 0 { lost } else { room });
        let piece = u32::from(PIECE);
        if whole < 4 * piece {
            // The pieces of a segment of two frames would be three frames.
            room
        } else if inflight <= piece {
            piece
        } else {
            room.min(allowed.max(piece))
        }
    }

    /// Returns the end of the gap, if anything that the window allows waits for it.
    pub(super) fn next_paced(&self) -> Timer {
        if !self.snd.pace.is_set() || self.snd.flight() == 0 {
            return Timer::OFF;
        }
        let room = self.snd.una.plus(self.snd.wnd).since(self.snd.nxt);
        let room = room.min(self.snd.window(&self.params).saturating_sub(self.inflight()));
        let waiting = self.snd.retransmit_now
            || self.board.first_lost().is_some()
            || (room > 0 && (self.snd.unsent() > 0 || self.fin_unsent()));
        if waiting { self.snd.pace } else { Timer::OFF }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u32 = 445;

    proptest! {
        /// A leaf sends `n` segments a gap apart, polls for the acknowledgments after the last, and
        /// gets them after `wait`: every round trip contains the gaps after its segment. Whatever
        /// the first gap is, gaps do not grow beyond five times what the path explains.
        #[test]
        fn the_gap_of_a_sleeper_does_not_feed_on_itself(
            n in 1u32..=64,
            acknowledged in 1u32..=64,
            path_ms in 1u32..=2_000,
            wait_ms in 0u32..=4_000,
            first_gap_ms in 0u64..=60_000,
        ) {
            let base = u64::from(path_ms + wait_ms) * 1_000;
            let behind = u64::from(n - acknowledged.min(n));
            let mut gap = Duration::from_millis(first_gap_ms).as_micros();
            for _ in 0..300 * n {
                let rtt = base + behind * gap;
                let rtt = Rtt { smoothed_us: rtt as u32, least_us: rtt as u32 };
                gap = rtt.gap(MSS, MSS, n * MSS).as_micros();
            }
            // 0.8 base / n of the path's own, and 1 / (1 - 0.8) of that at most.
            prop_assert!(gap * u64::from(n) <= 4 * base + u64::from(n), "{gap} us with {base}");
            prop_assert!(gap <= base * 3 / 5 + behind * gap, "{gap} us with {base}");
        }
    }

    proptest! {
        #[test]
        fn a_share_is_the_same_in_32_bits(
            time in 0..1_u32 << 21,
            count in 0_u8..=4,
            len in 0..1_u32 << 11,
            whole in 0..1_u32 << 30,
        ) {
            let product = u64::from(time) * u64::from(len) * u64::from(count);
            let exact = product.checked_div(u64::from(whole) * 5).unwrap_or(0);
            prop_assert_eq!(fifths(time, count, len, whole), exact);
        }
    }

    proptest! {
        #[test]
        fn one_division_gives_the_shorter_of_two_gaps(
            smoothed_us in 0..1_u32 << 20,
            least_us in 0..1_u32 << 20,
            len in 0..1_u32 << 11,
            mss in 0..1_u32 << 12,
            window in 0..1_u32 << 12,
        ) {
            let share = fifths(smoothed_us, 4, len, window.max(len));
            let path = fifths(least_us, 3, len, mss);
            let gap = Rtt { smoothed_us, least_us }.gap(len, mss, window);
            prop_assert_eq!(gap.as_micros(), share.min(path));
        }
    }

    #[test]
    fn a_gap_is_what_the_window_or_the_path_asks_for() {
        let ms = Duration::from_millis;
        let rtt = Rtt { smoothed_us: 500_000, least_us: 200_000 };
        // A window of four: 100 ms; of the path 120.
        assert_eq!(rtt.gap(MSS, MSS, 4 * MSS), ms(100));
        assert_eq!(rtt.gap(MSS, MSS, 2 * MSS), ms(120));
        assert_eq!(rtt.gap(MSS / 5, MSS, 4 * MSS), ms(20));
        assert_eq!(rtt.gap(MSS, 0, 0), Duration::ZERO);
    }
}
