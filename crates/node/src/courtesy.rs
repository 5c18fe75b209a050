//! Relay deference: a relay holds back its own segments in favour of those that it relays.
//!
//! Its own segments wait in no relay, and no hidden terminal is in their path. Segments of other
//! nodes must first reach it over a channel that it fills. So a source one hop from the border
//! router leaves no capacity to one that is four hops away, however fair CSMA-CA and TCP are. While
//! a node relays, its own segments therefore begin five segment times apart: one for its own, three
//! for a segment from three or more hops away, as only one of three neighbours can send at a time
//! (TCPlp §7.2), and one for the acknowledgments of both. Only data that TCP has still to send
//! waits meanwhile, so nothing ages in a queue. The node exchanges no messages for this.

use kinglet_time::{Duration, Instant};

/// Time from the beginning of one own segment to that of the next, in segment times.
const SHARE: u32 = 5;
/// Time for which a node counts as a relay after a relayed packet. A starved flow sends seldom,
/// when its retransmission timer expires; the deference must last until its next attempt.
const MEMORY: Duration = Duration::from_secs(30);
/// Divisor of the moving average: the newest segment time has this part of the weight.
const WEIGHT: u32 = 8;

/// State of the deference: the duration of a segment, and whether the node relays.
pub(crate) struct Courtesy {
    yields: bool,
    /// Number of packets relayed so far, as the network layer counts them.
    forwarded: u32,
    relays_until: Instant,
    /// Time at which the segment that is being sent was taken from TCP.
    taken: Option<Instant>,
    /// Average time from taking a segment until its last frame is with the MAC.
    segment: Duration,
}

impl Courtesy {
    pub(crate) const fn new(yields: bool) -> Self {
        Courtesy {
            yields,
            forwarded: 0,
            relays_until: Instant::ZERO,
            taken: None,
            segment: Duration::ZERO,
        }
    }

    /// Updates the number of relayed packets.
    pub(crate) fn relayed(&mut self, now: Instant, forwarded: u32) {
        if forwarded != self.forwarded {
            self.forwarded = forwarded;
            self.relays_until = now + MEMORY;
        }
    }

    /// Notes that a segment was taken from TCP. Returns for how long its connection is to be held
    /// back.
    pub(crate) fn taken(&mut self, now: Instant) -> Option<Duration> {
        self.taken = Some(now);
        let gap = self.segment * SHARE;
        (self.yields && now < self.relays_until && gap > Duration::ZERO).then_some(gap)
    }

    /// Notes that the last frame of the segment is with the MAC, or that no frame of it is left to
    /// send.
    pub(crate) fn left(&mut self, now: Instant) {
        let Some(taken) = self.taken.take() else { return };
        let took = now - taken;
        self.segment = match self.segment {
            Duration::ZERO => took,
            old => (old * WEIGHT.saturating_sub(1) + took) / WEIGHT,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_micros(ms * 1_000)
    }

    /// Sends a segment that takes 50 ms.
    fn send(courtesy: &mut Courtesy, ms: u64) -> Option<Duration> {
        let gap = courtesy.taken(at(ms));
        courtesy.left(at(ms + 50));
        gap
    }

    #[test]
    fn own_segments_follow_at_once_unless_others_are_relayed() {
        let mut courtesy = Courtesy::new(true);
        assert_eq!(send(&mut courtesy, 0), None);
        assert_eq!(send(&mut courtesy, 50), None);
        courtesy.relayed(at(100), 1);
        assert_eq!(send(&mut courtesy, 100), Some(Duration::from_millis(250)));
        courtesy.relayed(at(25_000), 1);
        assert!(send(&mut courtesy, 30_099).is_some());
        assert_eq!(send(&mut courtesy, 30_100), None, "30 s after the last packet");
        courtesy.relayed(at(40_000), 2);
        assert!(send(&mut courtesy, 40_000).is_some());
    }

    #[test]
    fn a_node_that_does_not_yield_is_not_held_back() {
        let mut courtesy = Courtesy::new(false);
        assert_eq!(send(&mut courtesy, 0), None);
        courtesy.relayed(at(100), 1);
        assert_eq!(send(&mut courtesy, 100), None);
    }

    #[test]
    fn the_gap_follows_how_long_segments_take() {
        let mut courtesy = Courtesy::new(true);
        courtesy.relayed(at(0), 1);
        assert_eq!(courtesy.taken(at(0)), None, "nothing is known of it yet");
        courtesy.left(at(50));
        for n in 1..100 {
            let _ = courtesy.taken(at(n * 200));
            courtesy.left(at(n * 200 + 100));
        }
        let gap = courtesy.taken(at(20_000)).expect("it relays");
        assert!(gap > Duration::from_millis(498) && gap <= Duration::from_millis(500), "{gap:?}");
    }
}
