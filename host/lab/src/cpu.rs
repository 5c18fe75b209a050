//! What a node's CPU costs it, from the instructions that were measured on the target.

use crate::scenario::{HostCost, Radio, RadioProfile};
use kinglet::time::Duration;
use kinglet_sim::cpu::{self, Cpu, FITTED_TCPLP_HOST_COST, Instructions};
use serde::Deserialize;
use std::collections::BTreeMap;

/// `tools/instructions --json` writes it, and continuous integration compares the images with it.
const MEASURED: &str = include_str!("../instructions.json");

#[derive(Deserialize)]
struct Counts {
    frame_received: u32,
    frame_sent: u32,
    segment_received: u32,
    segment_sent: u32,
    cipher_run: u32,
    wake_up: u32,
}

/// The instructions that were measured for this target.
fn instructions(target: &str) -> Instructions {
    let all: BTreeMap<String, Counts> =
        serde_json::from_str(MEASURED).expect("instructions.json is what the tool writes");
    let counts = all.get(target).expect("instructions.json has both targets");
    let Counts { frame_received, frame_sent, .. } = *counts;
    let Counts { segment_received, segment_sent, cipher_run, wake_up, .. } = *counts;
    Instructions { frame_received, frame_sent, segment_received, segment_sent, cipher_run, wake_up }
}

/// The processor that goes with a radio, and what was measured for its kind.
fn measured(profile: RadioProfile) -> (Cpu, Instructions) {
    match profile {
        RadioProfile::At86rf233 => (cpu::SAMR21, instructions("thumbv6m-none-eabi")),
        RadioProfile::Nrf52840 => (cpu::NRF52840, instructions("thumbv7em-none-eabi")),
    }
}

/// The CPU cost that a scenario names.
pub(crate) fn host_cost_of(radio: &Radio) -> cpu::HostCost {
    match radio.host_cost {
        HostCost::Micros(us) => cpu::HostCost::per_frame(Duration::from_micros(us.into())),
        HostCost::FittedTcplp => FITTED_TCPLP_HOST_COST,
        HostCost::Measured => {
            let (cpu, counts) = measured(radio.profile);
            cpu::HostCost::measured(&counts, &cpu)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Options, run};
    use crate::scenario::Scenario;

    fn transfer(profile: &str, segments: usize) -> (Scenario, u64) {
        let text = format!(
            "duration_s = 60\n[radio]\nprofile = \"{profile}\"\nhost_cost = \"measured\"\n\
             [tcp]\nack_every = 1\nack_delay_ms = 0\n[topology]\nline = {{ hops = 1 }}\n\
             [[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 0\nbytes = {}\n",
            segments * 462
        );
        let scenario = Scenario::from_toml("test", &text).expect("a valid scenario");
        (scenario, segments as u64)
    }

    #[test]
    fn the_parts_of_a_cpus_time_are_all_of_it() {
        for profile in ["at86rf233", "nrf52840"] {
            let (scenario, segments) = transfer(profile, 100);
            let cost = host_cost_of(&scenario.radio);
            let result = run(&scenario, 3, &Options::default()).expect("it runs");
            assert!(result.flows[0].complete && result.flows[0].intact);
            for node in &result.nodes {
                let work = node.cpu_work;
                let seconds = result.sim_seconds * node.cpu_duty_cycle;
                // Less than a microsecond is carried over.
                assert!((seconds * 1e9 - cost.of(work) as f64).abs() < 1_500.0, "{work:?}");
                let charge_uc = seconds * f64::from(cost.active_ua);
                assert!((node.cpu_mj - charge_uc * 3.0 / 1e3).abs() < 1e-6);
                // Each segment and its acknowledgement, five frames and one: less only for
                // acknowledgements that overtake each other, more for repetitions and handshake.
                assert!((2 * segments..3 * segments).contains(&work.segments), "{work:?}");
                assert!(work.frames_received + work.frames_sent >= 6 * segments, "{work:?}");
                // Five full frames: the cipher runs three times for the header, once for each 16
                // octets.
                assert!(work.cipher_runs >= 5 * (3 + 100 / 16) * segments, "{work:?}");
            }
            let [to, from] = [0, 1].map(|n| result.nodes[n].cpu_work);
            assert!(to.frames_received >= 5 * segments && from.frames_sent >= 5 * segments);
        }
    }

    #[test]
    fn a_measured_segment_takes_what_was_counted_on_the_target() {
        let (cpu, counts) = measured(RadioProfile::At86rf233);
        let cost = cpu::HostCost::measured(&counts, &cpu);
        let both_ends =
            cpu::CpuWork { frames_received: 6, frames_sent: 6, segments: 4, ..cpu::CpuWork::NONE };
        let counted = 6 * (counts.frame_received + counts.frame_sent)
            + counts.segment_received
            + counts.segment_sent;
        let expected = f64::from(cpu.time_ns(counted));
        assert!((cost.of(both_ends) as f64 - expected).abs() < 1_000.0);
        // 1.533 cycles each at 48 MHz.
        assert_eq!(cpu.time_ns(1_000_000), 31_937_500);
    }
}
