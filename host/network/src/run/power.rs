//! Time and energy of a node, part by part, as in Contiki's Powertrace.

use kinglet_sim::energy::{Energy, RadioState};
use kinglet_sim::flash::FlashPart;
use kinglet_time::Instant;
use schemars::JsonSchema;
use serde::Serialize;

/// Supply voltage for energy: two AA cells, within the range of these radios (1.8 to 3.6 V).
pub(crate) const VOLTS: f64 = 3.0;

/// Time and energy of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Spent {
    /// Seconds.
    pub seconds: f64,
    /// Millijoules.
    pub mj: f64,
}

/// Time and energy of a node by state.
///
/// The energies add up to the total of radio, CPU and flash. The radio is at every instant in one
/// of five states, so their times add up to the total time. CPU and flash work in parallel.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Power {
    /// The CPU is active.
    pub cpu: Spent,
    /// The receiver is on, with or without a frame.
    pub receive: Spent,
    /// The radio sends.
    pub transmit: Spent,
    /// The radio loads a frame, turns around or backs off.
    pub ready: Spent,
    /// The radio starts up after sleep.
    pub starting: Spent,
    /// The flash reads.
    pub flash_read: Spent,
    /// The flash loads data and writes them.
    pub flash_write: Spent,
    /// The flash erases.
    pub flash_erase: Spent,
    /// The radio sleeps. The energy is the idle consumption of radio, CPU and flash.
    pub sleep: Spent,
}

/// Number of parts.
pub const PARTS: usize = 9;

impl Power {
    /// Power of a node with this consumption up to `now`, and with this flash, if any.
    pub(crate) fn of(now: Instant, energy: &Energy, flash: Option<&FlashPart>) -> Power {
        let spent = |us: u64, uc: f64| Spent { seconds: us as f64 / 1e6, mj: uc * VOLTS / 1e3 };
        let radio = |states: &[RadioState]| {
            let us = states.iter().map(|state| energy.radio.of(*state)).sum();
            spent(us, states.iter().map(|state| energy.radio_charges.of(*state)).sum())
        };
        let times = flash.map(|part| part.times(now)).unwrap_or_default();
        let charges = flash.map(|part| part.charges(now)).unwrap_or_default();
        let asleep_uc = energy.radio_charges.of(RadioState::Sleep);
        let sleep_uc = asleep_uc + energy.cpu_uc - energy.cpu_active_uc + charges.rest_uc;
        Power {
            cpu: spent(energy.cpu_active_us, energy.cpu_active_uc),
            receive: radio(&[RadioState::Listen, RadioState::Receive]),
            transmit: radio(&[RadioState::Transmit]),
            ready: radio(&[RadioState::Ready]),
            starting: radio(&[RadioState::Idle, RadioState::Settle]),
            flash_read: spent(times.read_us, charges.read_uc),
            flash_write: spent(times.pass_us + times.program_us, charges.write_uc),
            flash_erase: spent(times.erase_us, charges.erase_uc),
            sleep: spent(energy.radio.of(RadioState::Sleep), sleep_uc),
        }
    }

    /// The parts with their names.
    pub const fn parts(&self) -> [(&'static str, Spent); PARTS] {
        let Power { cpu, receive, transmit, ready, starting, .. } = *self;
        let Power { flash_read, flash_write, flash_erase, sleep, .. } = *self;
        [
            ("CPU", cpu),
            ("receive", receive),
            ("transmit", transmit),
            ("ready", ready),
            ("starting", starting),
            ("flash read", flash_read),
            ("flash write", flash_write),
            ("flash erase", flash_erase),
            ("sleep", sleep),
        ]
    }

    /// Millijoules in all.
    pub fn mj(&self) -> f64 {
        self.parts().iter().map(|(_, spent)| spent.mj).sum()
    }
}

#[cfg(test)]
mod tests {
    use crate::run::{Options, RunResult, run};
    use kinglet_scenario::Scenario;
    use std::path::Path;

    /// Bursts of datagrams over relays that sleep.
    const PLAN: &str =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/bf-burst-length/plan.toml");

    fn asleep() -> RunResult {
        let mut scenario = Scenario::from_file(Path::new(PLAN)).expect("a scenario");
        scenario.duration_s = 30.0;
        let options = Options { samples: true, ..Options::default() };
        run(&scenario, 1, &options).expect("it can be simulated")
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let result = asleep();
        for node in &result.nodes {
            let (power, flash) = (&node.power, node.flash.expect("each has one"));
            let whole = node.whole_mj();
            assert!((power.mj() / whole - 1.0).abs() < 1e-9, "{node:?}");
            let on = power.receive.seconds + power.transmit.seconds + power.ready.seconds;
            let share = |seconds: f64| seconds / result.sim_seconds;
            assert!((share(on) - node.duty_cycle).abs() < 1e-9, "{node:?}");
            let all = on + power.starting.seconds + power.sleep.seconds;
            assert!((share(all) - 1.0).abs() < 1e-9, "{node:?}");
            assert!((share(power.flash_read.seconds) - flash.reading).abs() < 1e-9);
            let writing = power.flash_write.seconds + power.flash_erase.seconds;
            assert!((share(writing) - flash.writing).abs() < 1e-9);
            assert!((share(power.cpu.seconds) - node.cpu_duty_cycle.unwrap_or(0.0)).abs() < 1e-9);
        }
        // A relay uses every part.
        let relay = &result.nodes[2];
        assert!(relay.power.parts().iter().all(|(_, spent)| spent.mj > 0.0), "{relay:?}");
        let each = relay.mj_per_frame.expect("it passes on");
        assert!(
            (each * relay.frames_acked.unwrap_or(0) as f64 / relay.power.mj() - 1.0).abs() < 1e-9
        );
    }

    #[test]
    fn the_energy_spent_up_to_a_second_only_grows() {
        let result = asleep();
        assert!(result.samples.len() > 20);
        for pair in result.samples.windows(2) {
            for (before, after) in pair[0].power.iter().zip(&pair[1].power) {
                assert!(after.mj() > before.mj());
            }
        }
        let last = result.samples.last().expect("there are some");
        for (node, power) in result.nodes.iter().zip(&last.power) {
            assert!(power.mj() <= node.power.mj());
        }
    }
}
