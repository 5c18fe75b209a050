//! Random early detection with marking for forwarded packets (RFC 2309 §3, RFC 7567, RFC 3168 §5,
//! §7; Floyd and Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM ToN
//! 1(4), 1993).
//!
//! The measured queue is that for the radio, including the packet in progress: its packets wait for
//! the channel. Packets for sleeping children wait elsewhere and for another reason, and packets
//! for the host hardly wait at all; both are limited only by a full queue, as are packets of this
//! node.

use kinglet_time::{Duration, Instant};

/// Queue discipline for forwarded packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueDiscipline {
    /// Packets wait unless the queue is full.
    TailDrop,
    /// Random early detection.
    Red(Red),
}

/// Parameters of random early detection. Queue lengths are in packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Red {
    /// min_th: below this average queue nothing is marked. Default 2: one packet is being sent, one
    /// waits, and the channel is never idle.
    pub min: u8,
    /// max_th, above `min`: above this average queue every packet is dropped (RFC 3168 §7). Default
    /// 7: less than the 10 entries of [`Sizes::Output`](crate::Sizes::Output) in a relay, and about
    /// three times `min`, as Floyd advises ("RED: Discussions of Setting Parameters", 1997).
    pub max: u8,
    /// max_p: the share of packets that is marked as the average reaches `max`, in 1/256. Default
    /// 26: Floyd's 0.1.
    pub max_p: u8,
    /// w_q: the weight of a new sample in the average, as a power of 1/2, at most 8. Default 3: an
    /// average over about eight packets, which is the contribution of a few flows with windows of
    /// four segments; the usual 1/512 is for queues of hundreds.
    pub weight: u8,
    /// s: time of a packet, with which the average falls while the queue is idle. Default 50 ms:
    /// five frames over one hop with their acknowledgements and some retries.
    pub packet_time: Duration,
}

impl Red {
    /// The defaults.
    pub const DEFAULT: Red =
        Red { min: 2, max: 7, max_p: 26, weight: 3, packet_time: Duration::from_millis(50) };
}

/// Fractional bits of the average.
const FRACTION: u32 = 8;

/// State of RED.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    /// The average queue length.
    average: u16,
    /// Packets since the last mark.
    count: u16,
    /// Start of the idle time of the queue.
    pub(crate) idle_since: Option<Instant>,
    random: u32,
}

/// Decision about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RedAction {
    Pass,
    Mark,
    Drop,
}

impl State {
    pub(crate) const fn new(seed: u16) -> Self {
        // xorshift needs a state that is not zero.
        let random = (seed as u32).wrapping_mul(0x9e37_79b9) | 1;
        State { average: 0, count: 0, idle_since: None, random }
    }

    /// Decides about a packet that arrives while `waiting` others wait.
    pub(crate) fn judge(&mut self, now: Instant, waiting: usize, red: &Red) -> RedAction {
        let weight = u32::from(red.weight.min(8));
        let sample = u16::try_from(waiting << FRACTION).unwrap_or(u16::MAX);
        if let Some(since) = self.idle_since.take_if(|_| waiting == 0) {
            // Counts as many samples of an empty queue as packets could have been sent meanwhile.
            let idle = now.checked_since(since).unwrap_or_default().as_micros();
            let packets = idle.checked_div(red.packet_time.as_micros()).unwrap_or(u64::MAX);
            // After 16 bits times the weight the average is zero.
            for _ in 0..packets.min(16 << weight) {
                self.average = self.average.saturating_sub(rounded(self.average, weight));
            }
        }
        self.idle_since = None;
        self.average = if sample >= self.average {
            self.average.saturating_add(rounded(sample.saturating_sub(self.average), weight))
        } else {
            self.average.saturating_sub(rounded(self.average.saturating_sub(sample), weight))
        };
        let (min, max) = (u16::from(red.min) << FRACTION, u16::from(red.max) << FRACTION);
        if self.average < min {
            self.count = 0;
            return RedAction::Pass;
        }
        let Some(above) = max.checked_sub(self.average).and_then(|_| self.average.checked_sub(min))
        else {
            self.count = 0;
            return RedAction::Drop;
        };
        // p_b = max_p (avg - min_th) / (max_th - min_th), in 1/65,536.
        let share = u32::from(red.max_p).saturating_mul(u32::from(above)) << 8;
        let share = share.checked_div(u32::from(max.saturating_sub(min))).unwrap_or(u32::MAX);
        // p_a = p_b / (1 - count p_b): marks keep their distance.
        let rest = 65_536_u32.saturating_sub(share.saturating_mul(u32::from(self.count)));
        let drawn = self.draw().saturating_mul(u64::from(rest)) >> 16;
        self.count = self.count.saturating_add(1);
        if drawn >= u64::from(share) {
            return RedAction::Pass;
        }
        self.count = 0;
        RedAction::Mark
    }

    /// Returns a random number from 0 to 65,535 (Marsaglia's xorshift, "Xorshift RNGs", 2003).
    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        u64::from(self.random >> 16)
    }
}

/// Returns `value` / 2^`shift`, but not 0 unless `value` is, so that averages converge.
const fn rounded(value: u16, shift: u32) -> u16 {
    let part = value >> shift;
    if part == 0 && value > 0 { 1 } else { part }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_secs(10);
    const RED: Red = Red::DEFAULT;

    /// Returns marks and drops among `packets` that find `waiting` others each, after the average
    /// has settled there.
    fn count(seed: u16, waiting: usize, packets: u32) -> (u32, u32, State) {
        let mut state = State::new(seed);
        state.average = (waiting << FRACTION) as u16;
        let (mut marked, mut dropped) = (0, 0);
        for _ in 0..packets {
            match state.judge(NOW, waiting, &RED) {
                RedAction::Pass => {}
                RedAction::Mark => marked += 1,
                RedAction::Drop => dropped += 1,
            }
        }
        (marked, dropped, state)
    }

    #[test]
    fn the_average_comes_to_what_waits_and_no_further() {
        for waiting in [0, 1, 6, 30, 255] {
            let mut state = State::new(1);
            for _ in 0..200 {
                let _ = state.judge(NOW, waiting, &RED);
            }
            assert_eq!(usize::from(state.average >> FRACTION), waiting);
            // One sample moves it by an eighth.
            let before = state.average;
            let _ = state.judge(NOW, waiting + 8, &RED);
            let moved = state.average.abs_diff(before);
            assert!(moved == 256 || waiting == 255, "{moved}");
        }
    }

    #[test]
    fn below_the_lower_threshold_nothing_happens_and_above_the_upper_one_everything() {
        assert_eq!(count(1, 1, 1000).0 + count(1, 1, 1000).1, 0);
        let (marked, dropped, _) = count(1, 8, 1000);
        assert_eq!((marked, dropped), (0, 1000));
    }

    /// With the average at x the gaps between marks are uniform from 1 to 1/p_b (Floyd and
    /// Jacobson §7), so their mean is (1/p_b + 1) / 2.
    #[test]
    fn in_between_marks_are_as_frequent_as_the_formula_says() {
        for waiting in 3..=6 {
            // Where rounding keeps the average, 1/p_b = (max - min) / (max_p (avg - min)).
            let longest = 5 * 256 / (26 * (waiting - 2));
            let expected = 2 * 100_000 / (longest as u32 + 1);
            for seed in 1..=5 {
                let (marked, dropped, _) = count(seed, waiting, 100_000);
                let error = marked.abs_diff(expected);
                assert!(error * 20 < expected, "{waiting}: {marked}, not {expected}");
                assert_eq!(dropped, 0);
            }
        }
    }

    #[test]
    fn marks_keep_their_distance() {
        let mut state = State::new(7);
        state.average = 5 << FRACTION;
        let mut gap = 0;
        let mut longest = 0;
        for _ in 0..10_000 {
            gap += 1;
            if state.judge(NOW, 5, &RED) == RedAction::Mark {
                longest = longest.max(gap);
                gap = 0;
            }
        }
        // 1/p_b = 5 * 256 / (26 * 3) = 16.4.
        assert_eq!(longest, 17);
    }

    #[test]
    fn while_nothing_waits_the_average_is_forgotten() {
        let average = |idle: Duration| {
            let (.., mut state) = count(1, 6, 1);
            state.idle_since = Some(NOW);
            let _ = state.judge(NOW + idle, 0, &RED);
            state.average
        };
        let packet = RED.packet_time;
        // 7/8 for the sample itself, and once more for each packet time.
        assert_eq!(average(Duration::ZERO), 6 * 256 * 7 / 8);
        assert_eq!(average(packet * 2), 6 * 4 * 7 * 7 * 7 / 8);
        assert_eq!(average(Duration::MAX), 0);
        // While packets wait the queue is not idle.
        let (.., mut state) = count(1, 6, 1);
        state.idle_since = Some(NOW);
        let _ = state.judge(NOW + packet * 100, 6, &RED);
        assert_eq!(state.average, 6 << FRACTION);
    }
}
