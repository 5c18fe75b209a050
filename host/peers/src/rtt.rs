//! Round-trip times and the retransmission timeout computed from them (RFC 6298; Jacobson's
//! estimator).

use kinglet_time::Duration;

/// Parameters of a stack's timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    /// The timeout before the first sample.
    pub(crate) initial: Duration,
    /// The minimum timeout.
    pub(crate) least: Duration,
    /// The minimum difference between timeout and SRTT.
    pub(crate) least_variation: Duration,
    /// Addition to every timeout.
    pub(crate) slop: Duration,
    /// The maximum timeout.
    pub(crate) most: Duration,
}

/// The estimator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtt {
    rules: Rules,
    srtt: Option<Duration>,
    rttvar: Duration,
    last: Duration,
}

fn micros(us: u64) -> Duration {
    Duration::from_micros(us)
}

impl Rtt {
    pub(crate) const fn new(rules: Rules) -> Self {
        Rtt { rules, srtt: None, rttvar: Duration::ZERO, last: Duration::ZERO }
    }

    /// Records a measured round-trip time.
    pub(crate) fn sample(&mut self, rtt: Duration) {
        self.last = rtt;
        let new = rtt.as_micros();
        match self.srtt.map(Duration::as_micros) {
            None => {
                self.srtt = Some(rtt);
                self.rttvar = micros(new / 2);
            }
            Some(srtt) => {
                let deviation = new.abs_diff(srtt);
                let rttvar = self.rttvar.as_micros();
                self.rttvar = micros(rttvar - rttvar / 4 + deviation / 4);
                self.srtt = Some(micros(srtt - srtt / 8 + new / 8));
            }
        }
    }

    /// The smoothed round-trip time; zero before the first sample.
    pub(crate) fn srtt(&self) -> Duration {
        self.srtt.unwrap_or(Duration::ZERO)
    }

    /// The last sample.
    pub(crate) const fn last(&self) -> Duration {
        self.last
    }

    /// The timeout: `factor` times the one without back-off.
    pub(crate) fn timeout(&self, factor: u64) -> Duration {
        let Rules { initial, least, least_variation, slop, most } = self.rules;
        let base = match self.srtt {
            None => initial,
            Some(srtt) => {
                let variation = (4 * self.rttvar.as_micros()).max(least_variation.as_micros());
                micros(srtt.as_micros() + variation).max(least)
            }
        };
        let slop = if self.srtt.is_some() { slop } else { Duration::ZERO };
        (micros(base.as_micros() * factor) + slop).min(most)
    }

    /// Discards the estimate as FreeBSD does after some timeouts: it becomes variation, and the
    /// next sample counts as the first (`tcp_timer_rexmt`).
    pub(crate) fn distrust(&mut self) {
        if let Some(srtt) = self.srtt {
            self.rttvar += micros(srtt.as_micros() / 4);
            self.srtt = Some(Duration::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules {
        initial: Duration::from_secs(3),
        least: Duration::from_millis(30),
        least_variation: Duration::ZERO,
        slop: Duration::from_millis(200),
        most: Duration::from_secs(64),
    };

    #[test]
    fn the_timeout_follows_the_samples() {
        let mut rtt = Rtt::new(RULES);
        assert_eq!(rtt.timeout(1), Duration::from_secs(3));
        rtt.sample(Duration::from_millis(100));
        // 100 + 4 * 50, and the slop.
        assert_eq!(rtt.timeout(1), Duration::from_millis(500));
        assert_eq!(rtt.timeout(2), Duration::from_millis(800));
        for _ in 0..200 {
            rtt.sample(Duration::from_millis(100));
        }
        let settled = rtt.timeout(1);
        assert!(settled >= Duration::from_millis(300), "{settled:?}");
        assert!(settled < Duration::from_millis(301), "{settled:?}");
        assert_eq!(rtt.timeout(10_000), RULES.most);
    }
}
