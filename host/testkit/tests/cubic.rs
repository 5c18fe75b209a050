//! CUBIC in integers against the formulas of RFC 9438 in floating point, which stack crates do not
//! have even in tests.

use kinglet_tcp::congestion::{Acked, Controller, Cubic};
use kinglet_time::{Duration, Instant};

const MSS: u32 = 1000;

fn acked(now_ms: u64, octets: u32) -> Acked {
    Acked {
        now: Instant::from_millis(now_ms),
        srtt: Duration::from_millis(100),
        rtt: Duration::from_millis(100),
        flight: 0,
        octets,
        limited: true,
        after_timeout: false,
    }
}

/// The formulas of RFC 9438, unchanged: segments and seconds.
#[derive(Default)]
struct Model {
    cwnd: f64,
    w_max: f64,
    prior: f64,
    w_est: f64,
    k: f64,
    epoch: Option<f64>,
}

impl Model {
    fn w_cubic(&self, t: f64) -> f64 {
        0.4 * (t - self.k).powi(3) + self.w_max
    }

    fn on_ack(&mut self, now: f64, segments: f64) {
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.w_max = self.w_max.max(self.cwnd);
            self.k = ((self.w_max - self.cwnd) / 0.4).cbrt();
            self.w_est = self.cwnd;
            now
        });
        let t = now - epoch;
        let alpha = if self.w_est < self.prior { 3.0 * 0.3 / 1.7 } else { 1.0 };
        self.w_est += alpha * segments / self.cwnd;
        if self.w_cubic(t) < self.w_est {
            self.cwnd = self.cwnd.max(self.w_est);
        } else {
            let target = self.w_cubic(t + 0.1).clamp(self.cwnd, 1.5 * self.cwnd);
            self.cwnd += (target - self.cwnd) / self.cwnd * segments;
        }
    }

    fn on_loss(&mut self) {
        self.w_max = if self.cwnd < self.w_max { self.cwnd * 0.85 } else { self.cwnd };
        self.prior = self.cwnd;
        self.cwnd = (self.cwnd * 0.7).max(2.0);
        self.epoch = None;
    }
}

/// Runs both through a minute of acknowledgments at a round trip of 100 ms, with a loss at each of
/// these times in milliseconds.
fn follow(start: u32, losses: &[u64]) -> Vec<(u64, f64)> {
    let mut cubic = Cubic::new(MSS, start * MSS);
    let mut model = Model { cwnd: f64::from(start), ..Default::default() };
    let mut curve = Vec::new();
    cubic.on_loss(start * MSS);
    model.on_loss();
    let mut now = 0;
    while now < 60_000 {
        let per_round = (cubic.window() / MSS).max(1);
        now += u64::from(100 / per_round).max(1);
        cubic.on_ack(acked(now, MSS));
        model.on_ack(now as f64 / 1000.0, 1.0);
        if losses.iter().any(|at| (now - u64::from(100 / per_round).max(1)..now).contains(at)) {
            cubic.on_loss(cubic.window());
            model.on_loss();
        }
        let ours = f64::from(cubic.window()) / f64::from(MSS);
        let off = (ours - model.cwnd).abs();
        // Half a window of W_est may be outstanding.
        assert!(off <= 0.6 + 0.01 * model.cwnd, "{now} ms: {ours}, not {}", model.cwnd);
        curve.push((now, ours));
    }
    curve
}

#[test]
fn the_window_follows_the_formulas() {
    for start in [4, 10, 40, 100] {
        follow(start, &[]);
        follow(start, &[5_000, 9_000, 20_000, 20_500, 45_000]);
    }
}

#[test]
fn it_is_concave_up_to_w_max_and_convex_beyond() {
    let curve = follow(100, &[]);
    let at = |ms: u64| curve.iter().find(|(now, _)| *now >= ms).unwrap().1;
    // K = cbrt(30 / 0.4) = 4.2 s.
    let (early, late) = (at(1_000) - at(100), at(4_100) - at(3_200));
    assert!(early > 10.0 && late < 2.0, "{early} {late}");
    assert!((99.0..101.5).contains(&at(4_200)), "{}", at(4_200));
    assert!(at(9_000) - at(8_100) > 10.0);
}
