//! Links to routers in range: quality of both directions, cost and age.

use kinglet_time::{Duration, Instant};

/// Cost that stands for no route (OpenThread's `kMaxRouteCost`).
pub const UNREACHABLE: u8 = 16;

/// A neighbour from which nothing is received for this time (OpenThread's `kMaxNeighborAge`) is
/// probed several times, and then removed (its Link Requests).
const MAX_AGE: Duration = Duration::from_secs(100);
const MAX_PROBES: u8 = 3;
const PROBE_INTERVAL: Duration = Duration::from_secs(2);

/// Consecutive frames that the MAC gives up until a link counts as dead (OpenThread's
/// `FAILED_ROUTER_TRANSMISSIONS`).
pub(crate) const MAX_FAILURES: u8 = 4;

/// Margin that a link must exceed, in dB, for quality 1, 2 and 3 (OpenThread's
/// `link_quality.hpp`).
const THRESHOLDS_DB: [i16; 3] = [2, 10, 20];
/// Additional margin for an upgrade of the quality.
const HYSTERESIS_DB: i16 = 2;

/// Returns the link quality of a margin: 0 (none) to 3 (more than 20 dB above noise).
pub(crate) fn quality(margin_db: i16) -> u8 {
    THRESHOLDS_DB.iter().fold(0u8, |n, &limit| n.saturating_add(u8::from(margin_db > limit)))
}

/// Returns the link quality of a margin for a link that had quality `old`.
fn next_quality(margin_db: i16, old: u8) -> u8 {
    let up = quality(margin_db.saturating_sub(HYSTERESIS_DB));
    if up > old { up } else { old.min(quality(margin_db)) }
}

/// Returns the cost of a link with this quality in the worse direction.
pub(crate) const fn cost_of(quality: u8) -> u8 {
    match quality {
        0 => UNREACHABLE,
        1 => 4,
        2 => 2,
        _ => 1,
    }
}

/// A router in radio range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    pub(crate) short: u16,
    /// Average received power in 1/16 dBm, the newest sample with a weight of 1/8.
    rssi_x16: i16,
    /// Quality at which this node receives it, 0 to 3.
    pub(crate) quality_in: u8,
    /// Quality at which it receives this node, as it advertises, 0 to 3.
    pub(crate) quality_out: u8,
    failures: u8,
    /// Probes since it last sent or acknowledged a frame.
    probes: u8,
    /// Time of the next probe or of removal.
    pub(crate) due: Instant,
}

/// Result of a check of a neighbour's age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Age {
    Fresh,
    /// To be probed now.
    Doubtful,
    Gone,
}

impl Neighbour {
    pub(crate) fn new(now: Instant, short: u16, rssi_dbm: i8, noise_floor_dbm: i8) -> Self {
        let rssi_x16 = i16::from(rssi_dbm).saturating_mul(16);
        let quality_in = quality(i16::from(rssi_dbm).saturating_sub(noise_floor_dbm.into()));
        let due = now + MAX_AGE;
        Neighbour { short, rssi_x16, quality_in, quality_out: 0, failures: 0, probes: 0, due }
    }

    /// Average received power in dBm.
    pub(crate) const fn rssi_dbm(&self) -> i16 {
        self.rssi_x16.div_euclid(16)
    }

    pub(crate) fn hear(&mut self, now: Instant, rssi_dbm: i8, noise_floor_dbm: i8) {
        self.refresh(now);
        let sample = i16::from(rssi_dbm).saturating_mul(16);
        let step = sample.saturating_sub(self.rssi_x16) / 8;
        self.rssi_x16 = self.rssi_x16.saturating_add(step);
        let margin = self.rssi_dbm().saturating_sub(noise_floor_dbm.into());
        self.quality_in = next_quality(margin, self.quality_in);
    }

    fn refresh(&mut self, now: Instant) {
        (self.due, self.probes) = (now + MAX_AGE, 0);
    }

    /// Processes the result of a frame to it. An acknowledgement is as good as a frame from it.
    pub(crate) fn sent(&mut self, now: Instant, acked: bool) {
        self.failures = if acked { 0 } else { self.failures.saturating_add(1) };
        if acked {
            self.refresh(now);
        }
    }

    /// Checks its age, and counts the probe that is then due.
    pub(crate) fn age(&mut self, now: Instant) -> Age {
        if self.due > now {
            return Age::Fresh;
        }
        if self.probes == MAX_PROBES {
            return Age::Gone;
        }
        self.probes = self.probes.saturating_add(1);
        self.due = now + PROBE_INTERVAL;
        Age::Doubtful
    }

    /// Returns whether the MAC cannot reach it, regardless of the qualities.
    pub(crate) const fn is_dead(&self) -> bool {
        self.failures >= MAX_FAILURES
    }

    /// Returns the cost of the link: that of its worse direction.
    pub(crate) fn cost(&self) -> u8 {
        if self.is_dead() { UNREACHABLE } else { cost_of(self.quality_in.min(self.quality_out)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_rises_later_than_it_falls() {
        for (margin, expected) in [(-5, 0), (2, 0), (3, 1), (10, 1), (11, 2), (20, 2), (21, 3)] {
            assert_eq!(quality(margin), expected, "{margin}");
        }
        assert_eq!((next_quality(12, 1), next_quality(13, 1)), (1, 2));
        assert_eq!((next_quality(11, 2), next_quality(10, 2)), (2, 1));
        assert_eq!((next_quality(40, 0), next_quality(0, 3)), (3, 0));
    }

    #[test]
    fn power_is_averaged_with_a_weight_of_an_eighth() {
        let mut link = Neighbour::new(Instant::ZERO, 1, -80, -100);
        assert_eq!(link.quality_in, 2);
        link.hear(Instant::from_secs(1), -64, -100);
        assert_eq!((link.rssi_dbm(), link.quality_in), (-78, 2));
        for n in 2..40 {
            link.hear(Instant::from_secs(n), -64, -100);
        }
        assert_eq!((link.rssi_dbm(), link.quality_in), (-65, 3));
    }

    #[test]
    fn the_worse_direction_and_four_lost_frames_decide_the_cost() {
        let mut link = Neighbour::new(Instant::ZERO, 1, -60, -100);
        let costs = [0, 1, 2, 3].map(|out| {
            link.quality_out = out;
            link.cost()
        });
        assert_eq!(costs, [16, 4, 2, 1]);
        for acked in [false, false, false, true, false, false, false] {
            link.sent(Instant::ZERO, acked);
            assert_eq!(link.cost(), 1);
        }
        link.sent(Instant::ZERO, false);
        assert_eq!(link.cost(), UNREACHABLE);
        link.sent(Instant::ZERO, true);
        assert_eq!(link.cost(), 1);
    }

    #[test]
    fn a_silent_neighbour_is_probed_before_it_is_gone() {
        let mut link = Neighbour::new(Instant::ZERO, 1, -60, -100);
        let mut now = Instant::ZERO + MAX_AGE;
        assert_eq!(link.age(now - PROBE_INTERVAL), Age::Fresh);
        assert_eq!((link.age(now), link.age(now)), (Age::Doubtful, Age::Fresh));
        link.sent(now, true);
        assert_eq!(link.due, now + MAX_AGE);
        for _ in 0..MAX_PROBES {
            now = link.due;
            assert_eq!(link.age(now), Age::Doubtful);
        }
        assert_eq!(link.age(link.due), Age::Gone);
    }
}
