//! uIP (Contiki 2.6, `core/net/uip6.c`, `uipopt.h`): time in ticks of half a second.

use super::single::Patience;
use crate::sender::Ticker;
use kinglet_time::{Duration, Instant};

/// `UIP_RTO`, in ticks.
const RTO: u64 = 3;
/// `UIP_MAXRTX`.
const MOST: u8 = 8;
/// `UIP_MAXSYNRTX`.
const MOST_SYNS: u8 = 5;
/// Initial variance of an active open (`uip_connect`).
const FIRST_VARIANCE: i64 = 16;

/// Timer and estimator of uIP.
#[derive(Debug)]
pub(crate) struct Uip {
    ticker: Ticker,
    /// SRTT in eighths of a tick, and its variation in quarters.
    sa: i64,
    sv: i64,
    rto: u64,
    last: i64,
    sent_at: Instant,
}

impl Uip {
    pub(crate) const fn new(phase: Duration) -> Self {
        let ticker = Ticker::new(phase);
        Uip { ticker, sa: 0, sv: FIRST_VARIANCE, rto: RTO, last: 0, sent_at: Instant::ZERO }
    }

    /// Time at which a timer expires. It is decremented with each tick and expires at the tick that
    /// finds it at zero.
    fn when(&self, now: Instant, ticks: u64) -> Instant {
        self.ticker.after(now, ticks + 1)
    }

    fn backed_off(&self, now: Instant, times: u8) -> Instant {
        self.when(now, RTO << times.min(4))
    }

    fn ticks(n: i64) -> Duration {
        Duration::from_millis(500 * n.unsigned_abs())
    }
}

impl Patience for Uip {
    const IGNORES_CLOSED_WINDOW: bool = true;

    fn syn_timeout(&mut self, now: Instant, syns: u8) -> Option<Instant> {
        // Each SYN restarts it, backed off by the number of retransmissions before.
        (syns <= MOST_SYNS).then(|| self.backed_off(now, syns.saturating_sub(1)))
    }

    fn sent(&mut self, now: Instant) -> Instant {
        self.sent_at = now;
        self.when(now, self.rto)
    }

    fn answered(&mut self, now: Instant, took: Option<Duration>) {
        if took.is_none() || self.sent_at == Instant::ZERO {
            return;
        }
        // Van Jacobson's estimator, in ticks: the amount by which the timer was decremented.
        let mut m = (self.ticker.count(now) - self.ticker.count(self.sent_at)) as i64;
        self.last = m;
        m -= self.sa >> 3;
        self.sa += m;
        m = m.abs() - (self.sv >> 2);
        self.sv += m;
        self.rto = ((self.sa >> 3) + self.sv).max(0) as u64;
    }

    fn expired(&mut self, now: Instant, times: u8) -> Option<Instant> {
        (times <= MOST).then(|| self.backed_off(now, times - 1))
    }

    fn times(&self) -> (Duration, Duration, Duration) {
        (Self::ticks(self.sa >> 3), Self::ticks(self.last), Self::ticks(self.rto as i64))
    }
}
