//! A node's own clock, which starts with the node and may run fast or slow.

use kinglet_radio::{Command, Event, Start};
use kinglet_time::Instant;

const MILLION: u64 = 1_000_000;

/// Converts between true time and a node's time. With t the true time since the node's start, local
/// = floor(t * rate / 10^6).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// Microseconds of the clock in a million true ones.
    rate: u64,
    begin_us: u64,
}

impl Clock {
    pub(crate) fn new(ppm: i32, begin_us: u32) -> Self {
        let rate = MILLION.saturating_add_signed(ppm.clamp(-500_000, 500_000).into());
        Clock { rate, begin_us: begin_us.into() }
    }

    /// True if the clock shows the true time.
    fn is_true(self) -> bool {
        self.rate == MILLION && self.begin_us == 0
    }

    /// The node's time at true time `us`; zero before its start.
    pub(crate) fn local(self, us: u64) -> Instant {
        let us = us.saturating_sub(self.begin_us);
        if self.rate == MILLION {
            return Instant::from_micros(us);
        }
        // Whole millions and the remainder separately, so that no product overflows 64 bits before
        // the result.
        let whole = (us / MILLION).saturating_mul(self.rate);
        Instant::from_micros(whole.saturating_add(us % MILLION * self.rate / MILLION))
    }

    /// Earliest true time at which the node's clock shows `local` or later.
    pub(crate) fn true_us(self, local: Instant) -> u64 {
        let us = local.as_micros();
        if us == u64::MAX {
            return us;
        }
        if self.rate == MILLION {
            return us.saturating_add(self.begin_us);
        }
        let whole = (us / self.rate).saturating_mul(MILLION);
        let rest = (us % self.rate * MILLION).div_ceil(self.rate);
        whole.saturating_add(rest).saturating_add(self.begin_us)
    }

    fn to_true(self, local: Instant) -> Instant {
        Instant::from_micros(self.true_us(local))
    }

    /// Converts the times of a command to true time.
    pub(crate) fn command(self, command: Command) -> Command {
        if self.is_true() {
            return command;
        }
        let fix = |start| match start {
            Start::Asap => Start::Asap,
            Start::At(at) => Start::At(self.to_true(at)),
        };
        match command {
            Command::Receive { start, until, channel } => Command::Receive {
                start: fix(start),
                until: until.map(|at| self.to_true(at)),
                channel,
            },
            Command::Await { start, until, channel, source_filter } => Command::Await {
                start: fix(start),
                until: self.to_true(until),
                channel,
                source_filter,
            },
            Command::Transmit { start, access, channel, power_dbm, ack } => {
                Command::Transmit { start: fix(start), access, channel, power_dbm, ack }
            }
            Command::Strobe { start, senses, channel, power_dbm, ack, lasting, spacing } => {
                let start = fix(start);
                Command::Strobe { start, senses, channel, power_dbm, ack, lasting, spacing }
            }
            // No other command contains a time.
            _ => command,
        }
    }

    /// Converts the times of an event to the node's time.
    pub(crate) fn event(self, event: Event) -> Event {
        if self.is_true() {
            return event;
        }
        let fix = |at: Instant| self.local(at.as_micros());
        match event {
            Event::Received { sfd, len, rssi_dbm, lqi, acked } => {
                Event::Received { sfd: fix(sfd), len, rssi_dbm, lqi, acked }
            }
            Event::Transmitted { sfd, ack } => Event::Transmitted { sfd: fix(sfd), ack },
            Event::Strobed { sfd, ack, times } => Event::Strobed { sfd: fix(sfd), ack, times },
            _ => event,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_never_reached_early_and_never_late_by_a_tick() {
        let clocks = [(-100, 0), (-1, 7), (0, 0), (0, 31), (1, 1), (40, 900), (100_000, 5)];
        for (ppm, begin_us) in clocks {
            let clock = Clock::new(ppm, begin_us);
            for us in (0..2_000_000_000_000u64).step_by(77_777_777_777) {
                let local = Instant::from_micros(us);
                let at = clock.true_us(local);
                assert!(clock.local(at) >= local, "{ppm} {us}");
                assert!(us == 0 || clock.local(at - 1) < local, "{ppm} {us}");
            }
        }
    }

    #[test]
    fn a_clock_begins_with_its_node() {
        let clock = Clock::new(0, 17);
        assert_eq!(clock.local(117).as_micros(), 100);
        assert_eq!(clock.true_us(Instant::from_micros(100)), 117);
        assert_eq!(clock.local(3).as_micros(), 0);
    }

    #[test]
    fn forty_ppm_gain_forty_microseconds_a_second() {
        assert_eq!(Clock::new(40, 0).local(1_000_000).as_micros(), 1_000_040);
        assert_eq!(Clock::new(-40, 0).local(1_000_000).as_micros(), 999_960);
    }
}
