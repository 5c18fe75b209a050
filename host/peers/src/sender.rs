//! Decisions of a stack: the times of transmissions and retransmissions.

use crate::block::{Ack, Block};
use crate::info::Info;
use kinglet_time::{Duration, Instant};

/// The sending half of a stack.
pub(crate) trait Sender: core::fmt::Debug + Send {
    /// Time of the retransmission if the `syns`-th SYN is not answered; `None` if that was the
    /// last.
    fn syn_timeout(&mut self, now: Instant, syns: u8) -> Option<Instant>;

    /// The handshake is complete; `took` is its duration, unless a SYN was retransmitted.
    fn opened(&mut self, now: Instant, block: &mut Block, took: Option<Duration>);

    /// Processes an acknowledgement of sent data, new or not. SND.WND is still that of the previous
    /// segment.
    fn acked(&mut self, now: Instant, block: &mut Block, ack: &Ack);

    /// Queues the data that may be sent now.
    fn output(&mut self, now: Instant, block: &mut Block);

    /// Time at which a timer expires.
    fn deadline(&self) -> Option<Instant>;

    /// Handles timers that are due.
    fn handle_deadline(&mut self, now: Instant, block: &mut Block);

    /// Its retransmission timeout.
    fn rto(&self) -> Duration;

    /// Fills in its values.
    fn describe(&self, block: &Block, info: &mut Info);
}

/// The periodic timer of uIP and BLIP: half a second, with an arbitrary phase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticker {
    phase: Duration,
}

impl Ticker {
    /// Period of 0.5 s in both: `CLOCK_SECOND / 2` in Contiki's `tcpip.c`, 512 binary milliseconds
    /// in TinyOS' `TcpP.nc`.
    pub(crate) const PERIOD_US: u64 = 500_000;

    pub(crate) const fn new(phase: Duration) -> Self {
        Ticker { phase }
    }

    /// Number of ticks until `at`.
    pub(crate) fn count(&self, at: Instant) -> u64 {
        let phase = self.phase.as_micros() % Self::PERIOD_US;
        (at.as_micros() + Self::PERIOD_US - phase) / Self::PERIOD_US
    }

    /// The `ticks`-th tick after `now`.
    pub(crate) fn after(&self, now: Instant, ticks: u64) -> Instant {
        let phase = self.phase.as_micros() % Self::PERIOD_US;
        let at = (self.count(now) + ticks) * Self::PERIOD_US + phase - Self::PERIOD_US;
        Instant::from_micros(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_where_the_phase_says() {
        let ticker = Ticker::new(Duration::from_millis(200));
        let at = Instant::from_millis;
        assert_eq!(ticker.after(at(0), 1), at(200));
        assert_eq!(ticker.after(at(199), 1), at(200));
        assert_eq!(ticker.after(at(200), 1), at(700));
        assert_eq!(ticker.after(at(250), 3), at(1700));
        assert_eq!(ticker.count(at(1700)) - ticker.count(at(250)), 3);
    }
}
