//! What a stack decides for itself: when text is sent, and when it is sent again.

use crate::block::{Ack, Block};
use crate::info::Info;
use kinglet_time::{Duration, Instant};

/// The sending half of a stack.
pub(crate) trait Sender: core::fmt::Debug + Send {
    /// When a SYN is sent again if nobody answers the `syns`-th; `None` if that was the last.
    fn syn_timeout(&mut self, now: Instant, syns: u8) -> Option<Instant>;

    /// The handshake is over; how long it took, unless a SYN was sent again.
    fn opened(&mut self, now: Instant, block: &mut Block, took: Option<Duration>);

    /// Takes an acknowledgement of something that was sent, new or not. SND.WND is still that of
    /// the segment before.
    fn acked(&mut self, now: Instant, block: &mut Block, ack: &Ack);

    /// Puts on its way what may be sent now.
    fn output(&mut self, now: Instant, block: &mut Block);

    /// When a timer expires.
    fn deadline(&self) -> Option<Instant>;

    /// Does what is due.
    fn handle_deadline(&mut self, now: Instant, block: &mut Block);

    /// Its retransmission timeout.
    fn rto(&self) -> Duration;

    /// Fills in what it knows.
    fn describe(&self, block: &Block, info: &mut Info);
}

/// The periodic timer of uIP and BLIP: half a second, somewhere in each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticker {
    phase: Duration,
}

impl Ticker {
    /// Both have 0.5 s: `CLOCK_SECOND / 2` in Contiki's `tcpip.c`, 512 binary milliseconds in
    /// TinyOS' `TcpP.nc`.
    pub(crate) const PERIOD_US: u64 = 500_000;

    pub(crate) const fn new(phase: Duration) -> Self {
        Ticker { phase }
    }

    /// Ticks until `at`.
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
