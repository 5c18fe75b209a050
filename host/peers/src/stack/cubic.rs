//! CUBIC (RFC 9438), as Linux grows its window in congestion avoidance.

use kinglet_time::Instant;

/// C and β of RFC 9438 §4.1 and §4.6.
const C: f64 = 0.4;
const BETA: f64 = 0.7;

/// State of CUBIC; windows in segments, time in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cubic {
    w_max: f64,
    w_est: f64,
    /// Start of this epoch of growth, and K.
    epoch: Option<(Instant, f64)>,
}

impl Cubic {
    /// Handles a loss at a window of `cwnd` octets; returns SSTHRESH.
    pub(crate) fn reduce(&mut self, cwnd: u32, mss: u32) -> u32 {
        let window = f64::from(cwnd) / f64::from(mss);
        // Fast convergence (§4.7).
        self.w_max = if window < self.w_max { window * (1.0 + BETA) / 2.0 } else { window };
        self.epoch = None;
        ((f64::from(cwnd) * BETA) as u32).max(2 * mss)
    }

    /// Handles an acknowledgement of `acked` octets in congestion avoidance; returns the new
    /// window.
    pub(crate) fn grow(
        &mut self,
        now: Instant,
        (cwnd, mss): (u32, u32),
        acked: u32,
        rtt: f64,
    ) -> u32 {
        let (window, acked) = (f64::from(cwnd) / f64::from(mss), f64::from(acked) / f64::from(mss));
        if self.epoch.is_none() {
            let k = ((self.w_max - window).max(0.0) / C).cbrt();
            self.epoch = Some((now, k));
            self.w_est = window;
            self.w_max = self.w_max.max(window);
        }
        let (began, k) = self.epoch.unwrap_or((now, 0.0));
        let spent = now.checked_since(began).map_or(0.0, |d| d.as_micros() as f64 / 1e6);
        let target = C * (spent + rtt - k).powi(3) + self.w_max;
        let target = target.clamp(window, 1.5 * window);
        // The Reno-friendly region (§4.3).
        self.w_est += 3.0 * (1.0 - BETA) / (1.0 + BETA) * acked / window;
        let next = (window + (target - window) / window * acked).max(self.w_est);
        (next * f64::from(mss)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_returns_to_the_window_of_the_loss_and_goes_on() {
        let mut cubic = Cubic::default();
        let ssthresh = cubic.reduce(100_000, 1000);
        assert_eq!(ssthresh, 70_000);
        let mut cwnd = ssthresh;
        let mut after = Vec::new();
        for ms in (0..12_000).step_by(100) {
            let now = Instant::from_millis(1_000 + ms);
            for _ in 0..cwnd / 1000 {
                cwnd = cubic.grow(now, (cwnd, 1000), 1000, 0.1);
            }
            after.push(cwnd);
        }
        // K = cbrt(30 / 0.4) = 4.2 s.
        assert!(after[20] < 100_000, "{}", after[20]);
        assert!((95_000..110_000).contains(&after[42]), "{}", after[42]);
        assert!(after[110] > 150_000, "{}", after[110]);
    }
}
