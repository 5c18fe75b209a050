//! GNRC (RIOT, `sys/net/gnrc/transport_layer/tcp`, `sys/include/net/gnrc/tcp/config.h`): strict RFC
//! 6298, with Karn's rule, on one segment.

use super::single::Patience;
use crate::rtt::{Rtt, Rules};
use kinglet_time::{Duration, Instant};

/// `CONFIG_GNRC_TCP_RTO_LOWER_BOUND_MS`, `…_UPPER_BOUND_MS`, `…_GRANULARITY_MS`.
const RULES: Rules = Rules {
    initial: Duration::from_secs(1),
    least: Duration::from_secs(1),
    least_variation: Duration::from_millis(10),
    slop: Duration::ZERO,
    most: Duration::from_secs(60),
};
/// `CONFIG_GNRC_TCP_CONNECTION_TIMEOUT_DURATION_MS`.
const PATIENCE: Duration = Duration::from_secs(120);

/// Timer of GNRC.
#[derive(Debug)]
pub(crate) struct Gnrc {
    rtt: Rtt,
    began: Instant,
}

impl Gnrc {
    pub(crate) const fn new() -> Self {
        Gnrc { rtt: Rtt::new(RULES), began: Instant::ZERO }
    }

    fn again(&self, now: Instant, times: u8) -> Option<Instant> {
        let spent = now.checked_since(self.began).unwrap_or(Duration::ZERO);
        (spent < PATIENCE).then(|| now + self.rtt.timeout(1 << times.min(6)))
    }
}

impl Patience for Gnrc {
    const IGNORES_CLOSED_WINDOW: bool = false;

    fn syn_timeout(&mut self, now: Instant, syns: u8) -> Option<Instant> {
        if syns == 1 {
            self.began = now;
        }
        self.again(now, syns.saturating_sub(1))
    }

    fn sent(&mut self, now: Instant) -> Instant {
        self.began = now;
        now + self.rtt.timeout(1)
    }

    fn answered(&mut self, _now: Instant, took: Option<Duration>) {
        if let Some(took) = took {
            self.rtt.sample(took);
        }
    }

    fn expired(&mut self, now: Instant, times: u8) -> Option<Instant> {
        self.again(now, times)
    }

    fn times(&self) -> (Duration, Duration, Duration) {
        (self.rtt.srtt(), self.rtt.last(), self.rtt.timeout(1))
    }
}
