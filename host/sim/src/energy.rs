//! Time and charge per radio state and CPU state.

use crate::cpu::{CpuWork, HostCost};
use crate::ledger::{Cause, Ledger};
use crate::profile::Currents;

/// States of a radio by its current. Every microsecond of a run belongs to exactly one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RadioState {
    /// Lowest power.
    Sleep,
    /// Oscillator on or starting, receiver off.
    Idle,
    /// The synthesiser starts after sleep. Not counted as radio time, though it draws the current
    /// of [`RadioState::Ready`].
    Settle,
    /// Ready to send but not receiving: loads a frame, turns around, or backs off in hardware.
    Ready,
    /// Receiver on, no frame being received.
    Listen,
    /// Receiving a frame.
    Receive,
    /// Sending.
    Transmit,
}

impl RadioState {
    /// True if the state counts as radio time, like LISTEN and TRANSMIT of Energest, which include
    /// the loading of frames.
    pub const fn is_on(self) -> bool {
        !matches!(self, RadioState::Sleep | RadioState::Idle | RadioState::Settle)
    }
}

/// Microseconds per [`RadioState`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RadioTimes(pub [u64; 7]);

impl RadioTimes {
    /// Microseconds spent in `state`.
    pub fn of(&self, state: RadioState) -> u64 {
        self.0[state as usize]
    }

    /// Total time, equal to the elapsed time.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Microseconds in which the radio starts after sleep.
    pub fn starting(&self) -> u64 {
        self.of(RadioState::Idle) + self.of(RadioState::Settle)
    }

    /// Share of time in which the radio neither sleeps nor starts, 0 to 1, like LISTEN plus
    /// TRANSMIT of Energest. The loading of frames is included.
    pub fn duty_cycle(&self) -> f64 {
        let off = self.of(RadioState::Sleep) + self.starting();
        let total = self.total();
        if total == 0 { 0.0 } else { (total - off) as f64 / total as f64 }
    }

    /// The charge drawn, in microcoulombs.
    pub fn charge_uc(&self, currents: &Currents) -> f64 {
        let sum: u128 = self.products(currents).iter().sum();
        sum as f64 / NA_US_IN_UC
    }

    /// The charge drawn in each state, in microcoulombs, in the order of [`RadioState`].
    fn charges_uc(&self, currents: &Currents) -> RadioCharges {
        RadioCharges(self.products(currents).map(|product| product as f64 / NA_US_IN_UC))
    }

    /// Microseconds times nanoamperes.
    fn products(&self, currents: &Currents) -> [u128; 7] {
        let draw = [
            currents.sleep_na,
            currents.idle_ua * 1_000,
            currents.ready_ua * 1_000,
            currents.ready_ua * 1_000,
            currents.listen_ua * 1_000,
            currents.listen_ua * 1_000,
            currents.transmit_ua * 1_000,
        ];
        core::array::from_fn(|i| u128::from(self.0[i]) * u128::from(draw[i]))
    }
}

/// us * nA = 10^-15 C = 10^-9 uC.
const NA_US_IN_UC: f64 = 1e9;

/// Microcoulombs per [`RadioState`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RadioCharges([f64; 7]);

impl RadioCharges {
    /// Microcoulombs drawn in `state`.
    pub fn of(&self, state: RadioState) -> f64 {
        self.0[state as usize]
    }
}

const HOUR_US: u64 = 3_600_000_000;

/// Accounts for the state changes of one radio.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    state: RadioState,
    cause: Cause,
    since: u64,
    times: RadioTimes,
    ledger: Ledger,
    /// Microseconds with the radio on, per hour of the run.
    hours: Vec<u64>,
    /// Cause and length of the last interval with the radio on.
    last: (Cause, u64),
    /// Microseconds asleep between two attempts to send the same frame.
    between_attempts: u64,
}

impl Meter {
    pub(crate) const NEW: Meter = Meter {
        state: RadioState::Sleep,
        cause: Cause::Listen,
        since: 0,
        times: RadioTimes([0; 7]),
        ledger: Ledger([0; 6]),
        hours: Vec::new(),
        last: (Cause::Listen, 0),
        between_attempts: 0,
    };

    /// The radio is in `state` for `cause` from `at` on; `at` may be earlier than now but not
    /// earlier than the last change. Returns the start of the previous state if the radio was on
    /// in it.
    pub(crate) fn change(&mut self, at: u64, state: RadioState, cause: Cause) -> Option<u64> {
        debug_assert!(at >= self.since, "states change in order of time");
        let was_on = self.on_since();
        self.book(at);
        self.state = state;
        self.cause = cause;
        was_on
    }

    /// Start of the current state if the radio is on.
    pub(crate) fn on_since(&self) -> Option<u64> {
        self.state.is_on().then_some(self.since)
    }

    /// True if the radio is asleep.
    pub(crate) fn sleeps(&self) -> bool {
        self.state == RadioState::Sleep
    }

    /// Corrects the cause of the interval before the last change.
    pub(crate) fn was_for(&mut self, cause: Cause) {
        let (booked, us) = self.last;
        self.ledger.0[booked as usize] -= us;
        self.ledger.0[cause as usize] += us;
        self.last = (cause, us);
    }

    fn book(&mut self, at: u64) {
        let us = at.saturating_sub(self.since);
        self.times.0[self.state as usize] += us;
        self.last = (self.cause, 0);
        if self.state.is_on() {
            self.ledger.0[self.cause as usize] += us;
            self.last.1 = us;
            self.book_hours(at);
        }
        self.since = at;
    }

    fn book_hours(&mut self, at: u64) {
        let mut from = self.since;
        while from < at {
            let hour = (from / HOUR_US) as usize;
            let end = at.min((hour as u64 + 1) * HOUR_US);
            if self.hours.len() <= hour {
                self.hours.resize(hour + 1, 0);
            }
            self.hours[hour] += end - from;
            from = end;
        }
    }

    /// Microseconds asleep until `now`.
    pub(crate) fn asleep(&self, now: u64) -> u64 {
        let more = if self.state == RadioState::Sleep { now.saturating_sub(self.since) } else { 0 };
        self.times.of(RadioState::Sleep) + more
    }

    /// Adds sleep between two attempts to send the same frame, in microseconds.
    pub(crate) fn slept_between_attempts(&mut self, us: u64) {
        self.between_attempts += us;
    }

    /// Totals until `now`.
    pub(crate) fn until(&self, now: u64) -> Metered {
        let mut meter = self.clone();
        meter.book(now);
        meter.hours.resize(now.div_ceil(HOUR_US) as usize, 0);
        Metered {
            radio: meter.times,
            between_attempts_us: meter.between_attempts,
            ledger: meter.ledger,
            on_by_hour_us: meter.hours,
        }
    }
}

/// Totals of a [`Meter`].
#[derive(Clone, Debug)]
pub(crate) struct Metered {
    radio: RadioTimes,
    between_attempts_us: u64,
    ledger: Ledger,
    on_by_hour_us: Vec<u64>,
}

/// Energy figures of one node at one instant.
#[derive(Clone, Debug, PartialEq)]
pub struct Energy {
    /// Elapsed time in microseconds.
    pub elapsed_us: u64,
    /// Time per radio state.
    pub radio: RadioTimes,
    /// Sleep between two attempts to send the same frame, in microseconds, less the wake-up time
    /// that a radio saves by staying on in between.
    pub between_attempts_us: u64,
    /// Charge drawn by the radio, in microcoulombs.
    pub radio_uc: f64,
    /// Charge by state.
    pub radio_charges: RadioCharges,
    /// Time with the radio on by cause; the sum is the time in which it neither slept nor started.
    pub ledger: Ledger,
    /// Microseconds with the radio on in each hour of the run; the last hour may be incomplete.
    pub on_by_hour_us: Vec<u64>,
    /// Time the CPU worked, in microseconds (0 without a host cost).
    pub cpu_active_us: u64,
    /// Work of the CPU in that time.
    pub cpu_work: CpuWork,
    /// Charge drawn by the CPU, in microcoulombs.
    pub cpu_uc: f64,
    /// Charge drawn by the CPU while it worked, in microcoulombs.
    pub cpu_active_uc: f64,
}

impl Energy {
    pub(crate) fn new(
        elapsed_us: u64,
        Metered { radio, between_attempts_us, ledger, on_by_hour_us }: Metered,
        currents: &Currents,
        (cpu_active_us, cpu_work): (u64, CpuWork),
        host: &HostCost,
    ) -> Self {
        let asleep = elapsed_us.saturating_sub(cpu_active_us);
        let active = cpu_active_us as f64 * f64::from(host.active_ua);
        let cpu_uc = (active + asleep as f64 * f64::from(host.sleep_ua)) / 1e6;
        let radio_uc = radio.charge_uc(currents);
        Energy {
            elapsed_us,
            radio,
            between_attempts_us,
            radio_uc,
            radio_charges: radio.charges_uc(currents),
            ledger,
            on_by_hour_us,
            cpu_active_us,
            cpu_work,
            cpu_uc,
            cpu_active_uc: active / 1e6,
        }
    }

    /// The share of time in which the CPU works, 0 to 1.
    pub fn cpu_duty_cycle(&self) -> f64 {
        self.cpu_active_us as f64 / self.elapsed_us.max(1) as f64
    }

    /// Average power in microwatts at a supply of `volts`.
    pub fn average_uw(&self, volts: f64) -> f64 {
        if self.elapsed_us == 0 {
            return 0.0;
        }
        (self.radio_uc + self.cpu_uc) * volts / (self.elapsed_us as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::AT86RF233;

    #[test]
    fn an_hour_of_listening_draws_its_milliampere_hours() {
        let mut meter = Meter::NEW;
        meter.change(0, RadioState::Listen, Cause::Listen);
        let Metered { radio: times, ledger, on_by_hour_us: hours, .. } = meter.until(3_600_000_000);
        assert_eq!((ledger.of(Cause::Listen), &hours[..]), (3_600_000_000, &[3_600_000_000][..]));
        assert_eq!(times.total(), 3_600_000_000);
        // 11.8 mA for one hour = 42.48 C.
        assert!((times.charge_uc(&AT86RF233.currents) - 42_480_000.0).abs() < 1.0);
        assert!((times.duty_cycle() - 1.0).abs() < 1e-12);
    }
}
