//! Round-trip time and retransmission timeout (RFC 6298).

use crate::config::Rto;
use kinglet_time::{Duration, Expected, Instant};

/// SRTT, RTTVAR and the RTO that follows from them, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RttEstimator {
    /// 0 before the first sample.
    srtt_us: u32,
    /// RTTVAR. Before the first sample, the initial RTO; with [`Rto::FirstRoundTrip`], half of that
    /// sample ever after.
    rttvar_us: u32,
    last_us: u32,
    min_ms: u16,
    /// In units of 10 ms.
    max_cs: u16,
}

/// G of §2.3: the least timeout, as on a path without delay timeouts would never end otherwise.
const GRANULARITY_US: u32 = 1_000;
pub(crate) const GRANULARITY: Duration = Duration::from_micros(GRANULARITY_US as u64);

/// ACK_TIMEOUT of CoAP (RFC 7252 §4.8), and 1/256 of the most that ACK_RANDOM_FACTOR adds.
const STATIC_US: u32 = 2_000_000;
const STATIC_MORE_US: u32 = 1_000_000 / 256;

/// Returns a setting in units of `unit` microseconds, rounded up.
#[inline(never)]
pub(crate) fn in_units(duration: Duration, unit: u32) -> u16 {
    let rounding = Duration::from_micros(u64::from(unit.saturating_sub(1)));
    u16::try_from(((duration + rounding) / unit).as_micros()).unwrap_or(u16::MAX)
}

/// Returns a duration in microseconds; saturates at 71 minutes, far above any RTO.
#[inline(never)]
pub(crate) fn micros_u32(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}

/// Returns `ms` milliseconds, without a multiplication in 64 bits.
pub(crate) fn millis(ms: u16) -> Duration {
    duration(u32::from(ms).saturating_mul(1_000))
}

fn duration(us: u32) -> Duration {
    Duration::from_micros(u64::from(us))
}

/// Settings of the estimator, as a listener keeps them for future connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RtoBounds {
    initial_us: u32,
    min_ms: u16,
    /// In units of 10 ms.
    max_cs: u16,
}

impl RtoBounds {
    pub(crate) fn new(initial: Duration, min: Duration, max: Duration) -> Self {
        RtoBounds {
            initial_us: micros_u32(initial).max(GRANULARITY_US),
            min_ms: in_units(min, 1_000).max(1),
            max_cs: in_units(max, 10_000),
        }
    }
}

impl RttEstimator {
    pub(crate) fn new(bounds: RtoBounds) -> Self {
        let RtoBounds { initial_us, min_ms, max_cs } = bounds;
        RttEstimator { srtt_us: 0, rttvar_us: initial_us, last_us: 0, min_ms, max_cs }
    }

    /// Changes the least and the largest RTO.
    pub(crate) fn set_bounds(&mut self, bounds: RtoBounds) {
        self.min_ms = bounds.min_ms;
        self.max_cs = bounds.max_cs;
    }

    fn measured(&self) -> bool {
        self.srtt_us > 0
    }

    /// Takes a measurement (§2.2, §2.3).
    //= rfc9293#MUST-18
    //= rfc6298#1-1 rfc6298#2-2 rfc6298#2-3 rfc6298#2-4 rfc6298#2-5
    pub(crate) fn sample(&mut self, rtt: Duration) {
        let r = micros_u32(rtt).max(1);
        self.last_us = r;
        if self.measured() {
            // RTTVAR before SRTT: beta = 1/4, alpha = 1/8.
            let error = self.srtt_us.abs_diff(r);
            self.rttvar_us = weighted(self.rttvar_us, error, 2);
            self.srtt_us = weighted(self.srtt_us, r, 3);
        } else {
            self.srtt_us = r;
            self.rttvar_us = r / 2;
        }
    }

    /// Takes a measurement; only the first one changes the RTO ([`Rto::FirstRoundTrip`]).
    pub(crate) fn sample_after_first(&mut self, rtt: Duration) {
        let (first, rttvar_us) = (!self.measured(), self.rttvar_us);
        self.sample(rtt);
        if !first {
            self.rttvar_us = rttvar_us;
        }
    }

    /// §5.7: the SYN was lost and no sample exists, so data starts with an RTO of 3 s.
    //= rfc6298#5-8
    pub(crate) fn syn_was_lost(&mut self) {
        if !self.measured() {
            self.rttvar_us = self.rttvar_us.max(3_000_000);
        }
    }

    /// Returns the RTO, doubled `backoff` times (§5.5), never above the maximum.
    #[inline(never)] // One call in each place is less than what is left of it there.
    pub(crate) fn rto(&self, backoff: u8) -> Duration {
        self.doubled(self.base_us(), backoff)
    }

    /// Returns the RTO by another rule; `drawn` is the random number of this connection, if any.
    #[inline(never)]
    pub(crate) fn rto_by(&self, rule: Rto, drawn: Option<u16>, backoff: u8) -> Duration {
        let base = match (rule, drawn) {
            (Rto::Static, Some(drawn)) => {
                STATIC_US.saturating_add(STATIC_MORE_US.saturating_mul(u32::from(drawn)) >> 8)
            }
            (Rto::AtLeast, _) if self.measured() => {
                let variation = self.rttvar_us.saturating_mul(4).max(GRANULARITY_US);
                self.srtt_us.saturating_add(variation).max(self.min_us())
            }
            (Rto::FirstRoundTrip, _) if self.measured() => {
                self.rttvar_us.saturating_mul(8).max(self.min_us())
            }
            _ => self.base_us(),
        };
        self.doubled(base, backoff)
    }

    fn min_us(&self) -> u32 {
        u32::from(self.min_ms).saturating_mul(1_000)
    }

    //= rfc6298#2-6 rfc6298#4-1
    fn base_us(&self) -> u32 {
        if self.measured() {
            let variation = self.rttvar_us.saturating_mul(4);
            self.srtt_us.saturating_add(variation.max(self.min_us()))
        } else {
            self.rttvar_us
        }
    }

    fn doubled(&self, base: u32, backoff: u8) -> Duration {
        let shift = u32::from(backoff.min(16));
        let max_us = u32::from(self.max_cs).saturating_mul(10_000).max(GRANULARITY_US);
        // The comparison comes first, so that the shift does not overflow.
        let rto = if base > max_us >> shift { max_us } else { base << shift };
        duration(rto)
    }

    /// Returns the time in which the response to a segment sent at `since` can arrive.
    pub(crate) fn expected(&self, since: Instant) -> Expected {
        let earliest = self.srtt_us.saturating_sub(self.rttvar_us.saturating_mul(4));
        Expected { since, from: since + duration(earliest), until: since + self.rto(0) }
    }

    /// Returns SRTT in microseconds; 0 before the first sample.
    pub(crate) fn srtt_us(&self) -> u32 {
        self.srtt_us
    }

    pub(crate) fn srtt(&self) -> Duration {
        duration(self.srtt_us)
    }

    pub(crate) fn rttvar(&self) -> Duration {
        duration(if self.measured() { self.rttvar_us } else { 0 })
    }

    pub(crate) fn last(&self) -> Duration {
        duration(self.last_us)
    }
}

/// Returns `old` plus 1 / 2^shift of the difference to `new`, rounded down.
fn weighted(old: u32, new: u32, shift: u32) -> u32 {
    match new.checked_sub(old) {
        Some(up) => old.saturating_add(up >> shift),
        None => {
            old.saturating_sub((old.abs_diff(new).saturating_sub(1) >> shift).saturating_add(1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn estimator() -> RttEstimator {
        RttEstimator::new(RtoBounds::new(MS * 1000, MS * 200, MS * 60_000))
    }

    //= rfc6298#4-1 type=test
    #[test]
    fn a_path_without_delay_has_a_timeout_all_the_same() {
        let mut e = RttEstimator::new(RtoBounds::new(Duration::ZERO, Duration::ZERO, MS * 60_000));
        assert_eq!(e.rto(0), MS);
        e.sample(Duration::ZERO);
        // No sample is less than a microsecond.
        let least = MS + Duration::from_micros(1);
        assert_eq!((e.rto(0), e.rto(3)), (least, least * 8));
        let e = RttEstimator::new(RtoBounds::new(MS * 1000, MS * 200, Duration::ZERO));
        assert_eq!(e.rto(16), MS);
    }

    //= rfc6298#2-2 type=test
    #[test]
    fn the_first_sample_sets_srtt_and_half_of_it_as_rttvar() {
        let mut e = estimator();
        assert_eq!(e.rto(0), MS * 1000);
        e.sample(MS * 400);
        assert_eq!((e.srtt(), e.rttvar(), e.rto(0)), (MS * 400, MS * 200, MS * 1200));
    }

    //= rfc6298#2-3 rfc6298#2-4 rfc6298#2-5 type=test
    #[test]
    fn later_samples_are_smoothed_with_the_gains_of_rfc_6298() {
        let mut e = estimator();
        e.sample(MS * 400);
        e.sample(MS * 800);
        // RTTVAR = 3/4 * 200 + 1/4 * |400 - 800|, SRTT = 7/8 * 400 + 1/8 * 800.
        assert_eq!((e.rttvar(), e.srtt()), (MS * 250, MS * 450));
    }

    #[test]
    fn the_rto_keeps_its_distance_from_srtt_and_doubles_up_to_the_maximum() {
        let mut e = estimator();
        for _ in 0..100 {
            e.sample(MS * 80);
        }
        assert_eq!(e.rto(0), MS * 280);
        assert_eq!((e.rto(1), e.rto(3)), (MS * 560, MS * 2240));
        assert_eq!((e.rto(8), e.rto(255)), (MS * 60_000, MS * 60_000));
    }

    //= rfc6298#5-8 type=test
    #[test]
    fn after_a_lost_syn_data_starts_with_three_seconds_unless_there_is_a_sample() {
        let mut e = estimator();
        e.syn_was_lost();
        assert_eq!(e.rto(0), MS * 3000);
        e.sample(MS * 10);
        assert_eq!(e.rto(0), MS * 210);
    }

    proptest::proptest! {
        /// RFC 6298 §2.3 with wider numbers.
        #[test]
        fn an_average_is_exact_and_cannot_overflow(old: u32, new: u32, shift in 1u32..8) {
            let sum = u64::from(old) * ((1 << shift) - 1) + u64::from(new);
            proptest::prop_assert_eq!(u64::from(weighted(old, new, shift)), sum >> shift);
        }
    }

    #[test]
    fn hostile_samples_saturate() {
        let mut e = estimator();
        e.sample(Duration::MAX);
        e.sample(Duration::ZERO);
        e.sample(Duration::MAX);
        assert_eq!(e.rto(0), MS * 60_000);
    }
}
