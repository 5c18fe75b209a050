//! Retransmission timeout of confirmable messages: RFC 7252 §4.2, or CoCoA
//! (draft-ietf-core-cocoa-03).
//!
//! The round-trip times of a peer are recorded in either case: the time at which a response is
//! expected depends on them ([`crate::Expected`]).

use kinglet_random::Random;
use kinglet_time::{Duration, Instant};

/// Choice of the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rto {
    /// RFC 7252 §4.2: ACK_TIMEOUT times 1 to 1.5, doubled with every retransmission.
    Plain,
    /// CoCoA according to the draft.
    Cocoa,
    /// CoCoA as in the code with which TCPlp (§9) was compared: the weights of the weak estimator
    /// are swapped, weak samples are taken after any number of retransmissions, and the back-off
    /// depends on the first RTO and has no limit. `cocoa.c` and `coap-transactions.c` of
    /// anemometer-qualified-fw.
    CocoaAsMeasured,
}

/// Initial RTO of CoCoA (draft, §4.1).
const BLIND: Duration = Duration::from_secs(2);
/// The back-off is truncated here (draft, §4.2.1).
const MAX_BACKOFF: Duration = Duration::from_secs(32);
/// Longest RTO (RFC 6298).
const MAX_RTO: Duration = Duration::from_secs(60);
/// Below this the back-off is faster and an estimate ages up.
const SHORT: Duration = Duration::from_secs(1);
/// Above this the back-off is slower and an estimate ages down.
const LONG: Duration = Duration::from_secs(3);

/// RFC 6298's estimator; not initialised while the smoothed time is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Estimator {
    srtt: Duration,
    rttvar: Duration,
}

impl Estimator {
    const NEW: Estimator = Estimator { srtt: Duration::ZERO, rttvar: Duration::ZERO };

    const fn has_begun(&self) -> bool {
        self.srtt.as_micros() > 0
    }

    fn sample(&mut self, rtt: Duration) {
        // A sample is never zero, because zero means not initialised.
        let rtt = rtt.max(Duration::from_micros(1));
        if !self.has_begun() {
            *self = Estimator { srtt: rtt, rttvar: rtt / 2 };
            return;
        }
        let deviation = (self.srtt - rtt).max(rtt - self.srtt);
        self.rttvar = (self.rttvar * 3 + deviation) / 4;
        self.srtt = ((self.srtt * 7 + rtt) / 8).max(Duration::from_micros(1));
    }

    fn value(&self, k: u32) -> Duration {
        (self.srtt + self.rttvar * k).min(MAX_RTO)
    }
}

/// Estimates of the round trips to one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Estimate {
    strong: Estimator,
    weak: Estimator,
    /// CoCoA's overall estimate; zero before the first sample.
    rto: Duration,
    updated: Instant,
    /// Number of retransmissions since the last strong sample.
    retransmissions: u8,
}

impl Estimate {
    pub(crate) const fn new(now: Instant) -> Self {
        let (strong, weak) = (Estimator::NEW, Estimator::NEW);
        Estimate { strong, weak, rto: Duration::ZERO, updated: now, retransmissions: 0 }
    }

    /// Returns the smoothed round-trip time and its variation, from exchanges without
    /// retransmission; `None` before the first.
    pub(crate) fn round_trip(&self) -> Option<(Duration, Duration)> {
        self.strong.has_begun().then_some((self.strong.srtt, self.strong.rttvar))
    }

    pub(crate) const fn updated(&self) -> Instant {
        self.updated
    }

    /// Returns CoCoA's overall estimate, before dithering.
    pub(crate) fn rto(&self) -> Duration {
        if self.rto == Duration::ZERO { BLIND } else { self.rto }
    }

    /// Records an answer that came `rtt` after the first transmission, with `retransmissions` more
    /// transmissions.
    pub(crate) fn sample(&mut self, now: Instant, rto: Rto, rtt: Duration, retransmissions: u8) {
        let old = self.rto();
        if retransmissions == 0 {
            self.strong.sample(rtt);
            self.retransmissions = 0;
            self.rto = ((self.strong.value(4) + old) / 2).min(MAX_RTO);
        } else {
            self.retransmissions = self.retransmissions.saturating_add(retransmissions);
            if rto != Rto::CocoaAsMeasured && retransmissions > 2 {
                return;
            }
            self.weak.sample(rtt);
            let new = self.weak.value(1);
            self.rto = match rto {
                Rto::CocoaAsMeasured => (new * 3 + old) / 4,
                Rto::Plain | Rto::Cocoa => (new + old * 3) / 4,
            }
            .min(MAX_RTO);
            if rto == Rto::CocoaAsMeasured && self.retransmissions > 3 {
                self.strong = Estimator::NEW;
                self.retransmissions = 0;
            }
        }
        self.updated = now;
    }

    /// Draft, §4.3: an estimate that has not been confirmed for long moves back to the default.
    pub(crate) fn age(&mut self, now: Instant, rto: Rto) {
        let value = self.rto();
        let idle = now - self.updated;
        if value < SHORT && idle > value * 16 {
            self.rto = if rto == Rto::CocoaAsMeasured { SHORT } else { value * 2 };
        } else if value > LONG && idle > value * 4 {
            self.rto = SHORT + value / 2;
        } else {
            return;
        }
        self.updated = now;
    }
}

/// Returns the base from which the first timeout is drawn.
pub(crate) fn base(rto: Rto, ack_timeout: Duration, estimate: Option<&Estimate>) -> Duration {
    match (rto, estimate) {
        (Rto::Plain, _) => ack_timeout,
        (_, estimate) => estimate.map_or(BLIND, Estimate::rto),
    }
}

/// Returns the first timeout of a message, dithered, when `running` others to this peer are
/// outstanding.
pub(crate) fn first(
    rto: Rto,
    ack_timeout: Duration,
    estimate: Option<&mut Estimate>,
    now: Instant,
    running: u8,
    random: &mut Random,
) -> Duration {
    let Some(estimate) = estimate.filter(|_| rto != Rto::Plain) else {
        let base = base(rto, ack_timeout, None);
        return base + random.up_to(base / 2);
    };
    let is_blind = estimate.rto == Duration::ZERO;
    estimate.age(now, rto);
    let value = estimate.rto();
    if !is_blind {
        return value + random.up_to(value / 2);
    }
    if rto == Rto::CocoaAsMeasured {
        // Its first exchanges have a wider spread, and double with each that is outstanding.
        let dithered = value + random.up_to(Duration::from_millis(1_500));
        let doubled = 1u32.checked_shl(u32::from(running)).unwrap_or(u32::MAX);
        return (dithered * doubled).min(MAX_BACKOFF);
    }
    let value = value * u32::from(running).saturating_add(1);
    value + random.up_to(value / 2)
}

/// Returns the timeout after `timeout`, if the first one was `first`.
pub(crate) fn next(rto: Rto, timeout: Duration, first: Duration) -> Duration {
    match rto {
        Rto::Plain => timeout * 2,
        // The factor depends on the current timeout.
        Rto::Cocoa if timeout < SHORT => timeout * 3,
        Rto::Cocoa if timeout > LONG => (timeout * 3 / 2).min(MAX_BACKOFF.max(timeout)),
        Rto::Cocoa => timeout * 2,
        // The factor depends on the first timeout.
        Rto::CocoaAsMeasured if first < SHORT => timeout * 5 / 2,
        Rto::CocoaAsMeasured if first > LONG => timeout * 3 / 2,
        Rto::CocoaAsMeasured => timeout * 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    // draft-ietf-core-cocoa-03, §4.2
    #[test]
    fn strong_samples_count_half_and_weak_ones_a_quarter() {
        let mut estimate = Estimate::new(at(0));
        assert_eq!(estimate.rto(), ms(2_000));
        estimate.sample(at(1), Rto::Cocoa, ms(100), 0);
        // E_strong = 100 + 4 x 50.
        assert_eq!(estimate.rto(), ms((300 + 2_000) / 2));
        assert_eq!(estimate.round_trip(), Some((ms(100), ms(50))));
        estimate.sample(at(2), Rto::Cocoa, ms(2_000), 1);
        // E_weak = 2000 + 1000.
        assert_eq!(estimate.rto() * 4, ms(3_000 + 3 * 1_150));
        for (retransmissions, counts) in [(1, true), (2, true), (3, false), (4, false)] {
            let before = estimate.rto();
            estimate.sample(at(3), Rto::Cocoa, ms(9_000), retransmissions);
            assert_eq!(estimate.rto() != before, counts, "{retransmissions} retransmissions");
        }
    }

    #[test]
    fn as_measured_weak_samples_count_three_quarters_and_all_of_them() {
        let mut estimate = Estimate::new(at(0));
        estimate.sample(at(1), Rto::CocoaAsMeasured, ms(2_000), 1);
        assert_eq!(estimate.rto(), ms((3 * 3_000 + 2_000) / 4));
        estimate.sample(at(1), Rto::CocoaAsMeasured, ms(2_000), 0);
        assert!(estimate.round_trip().is_some());
        estimate.sample(at(2), Rto::CocoaAsMeasured, ms(20_000), 4);
        assert!(estimate.rto() > ms(7_000));
        assert_eq!(estimate.round_trip(), None, "begun again after four retransmissions");
    }

    #[test]
    fn a_first_timeout_is_drawn_from_the_estimate_if_there_is_one() {
        let mut estimate = Estimate::new(at(0));
        assert_eq!(base(Rto::Cocoa, ms(3_000), None), ms(2_000));
        assert_eq!(base(Rto::Cocoa, ms(3_000), Some(&estimate)), ms(2_000));
        estimate.sample(at(1), Rto::Cocoa, ms(100), 0);
        assert_eq!(base(Rto::Cocoa, ms(3_000), Some(&estimate)), ms((300 + 2_000) / 2));
        assert_eq!(base(Rto::Plain, ms(3_000), Some(&estimate)), ms(3_000));
    }

    // draft-ietf-core-cocoa-03, §4.3
    #[test]
    fn an_rto_without_new_samples_ages_toward_the_initial_rto() {
        let mut estimate = Estimate::new(at(0));
        estimate.rto = ms(200);
        estimate.age(at(3_200), Rto::Cocoa);
        assert_eq!(estimate.rto(), ms(200));
        estimate.age(at(3_201), Rto::Cocoa);
        assert_eq!(estimate.rto(), ms(400));
        estimate.age(at(3_201 + 6_401), Rto::CocoaAsMeasured);
        assert_eq!(estimate.rto(), ms(1_000));
        // The last change was at 9,602 ms.
        estimate.rto = ms(8_000);
        estimate.age(at(9_602 + 32_000), Rto::Cocoa);
        assert_eq!(estimate.rto(), ms(8_000));
        estimate.age(at(9_602 + 32_001), Rto::Cocoa);
        assert_eq!(estimate.rto(), ms(5_000));
        // From 1 to 3 s, both included, an estimate does not age.
        for rto in [1_000, 3_000] {
            estimate.rto = ms(rto);
            estimate.age(at(1_000_000), Rto::Cocoa);
            assert_eq!(estimate.rto(), ms(rto));
        }
    }

    // draft-ietf-core-cocoa-03, §4.2.1
    #[test]
    fn the_back_off_varies() {
        let after = |rto, timeout| next(rto, ms(timeout), ms(timeout));
        assert_eq!(after(Rto::Plain, 3_500), ms(7_000));
        assert_eq!(after(Rto::Cocoa, 500), ms(1_500));
        // From 1 to 3 s, both included, it doubles.
        for timeout in [1_000, 2_000, 3_000] {
            assert_eq!(after(Rto::Cocoa, timeout), ms(2 * timeout));
            assert_eq!(after(Rto::CocoaAsMeasured, timeout), ms(2 * timeout));
        }
        assert_eq!(after(Rto::Cocoa, 4_000), ms(6_000));
        assert_eq!(after(Rto::Cocoa, 30_000), ms(32_000));
        assert_eq!(after(Rto::CocoaAsMeasured, 500), ms(1_250));
        assert_eq!(after(Rto::CocoaAsMeasured, 30_000), ms(45_000));
        assert_eq!(next(Rto::CocoaAsMeasured, ms(4_000), ms(500)), ms(10_000));
    }

    // RFC 7252, §4.2
    #[test]
    fn a_first_timeout_is_dithered_by_half() {
        let mut random = Random::new(1, 0);
        let mut draw = |rto| {
            let of = |_| first(rto, ms(2_000), None, at(0), 0, &mut random);
            let drawn: std::vec::Vec<_> = (0..200).map(of).collect();
            (drawn.iter().min().copied().unwrap(), drawn.iter().max().copied().unwrap())
        };
        for rto in [Rto::Plain, Rto::Cocoa] {
            let (low, high) = draw(rto);
            assert!(low >= ms(2_000) && low < ms(2_050), "{low:?}");
            assert!(high <= ms(3_000) && high > ms(2_950), "{high:?}");
        }
        let mut blind = Estimate::new(at(0));
        let crowded =
            first(Rto::Cocoa, ms(2_000), Some(&mut blind), at(0), 2, &mut Random::new(1, 0));
        assert!(crowded >= ms(6_000), "each that is under way adds the initial estimate");
    }
}
