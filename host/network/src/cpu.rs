//! CPU cost of a node, from instruction counts measured on the target.

use kinglet::time::Duration;
use kinglet_scenario::{HostCost, Radio, RadioProfile};
use kinglet_sim::cpu::{self, Cpu, FITTED_TCPLP_HOST_COST, Instructions};
use std::collections::BTreeMap;

/// `tools/instructions --json` writes this file, and continuous integration compares the images
/// with it.
const MEASURED: &str = include_str!("../instructions.json");

/// Instruction counts measured for this target.
fn instructions(target: &str) -> Instructions {
    let all: BTreeMap<String, Instructions> =
        serde_json::from_str(MEASURED).expect("instructions.json is what the tool writes");
    *all.get(target).expect("instructions.json has both targets")
}

/// Processor that goes with a radio, and the instruction counts for its kind. The MSP430 was not
/// measured.
fn measured(profile: RadioProfile) -> Option<(Cpu, Instructions)> {
    match profile {
        RadioProfile::At86rf233 => Some((cpu::SAMR21, instructions("thumbv6m-none-eabi"))),
        RadioProfile::Nrf52840 | RadioProfile::Standard => {
            Some((cpu::NRF52840, instructions("thumbv7em-none-eabi")))
        }
        RadioProfile::Cc2420 | RadioProfile::Cc2420Contiki => None,
    }
}

/// CPU cost of a scenario's nodes.
///
/// # Panics
/// If instructions were not measured for the radio's processor: a valid scenario has no such radio.
pub fn host_cost_of(radio: &Radio) -> cpu::HostCost {
    match radio.host_cost {
        HostCost::Micros(us) => {
            let cost = cpu::HostCost::per_frame(Duration::from_micros(us.into()));
            match radio.profile {
                // MSP430 of a Tmote Sky, 1.8 mA and 0.0545 mA (Contiki, `SensorInfo.java`).
                RadioProfile::Cc2420Contiki => {
                    cpu::HostCost { active_ua: 1_800, sleep_ua: 55, ..cost }
                }
                _ => cost,
            }
        }
        HostCost::FittedTcplp => FITTED_TCPLP_HOST_COST,
        HostCost::Measured => {
            let (cpu, counts) = measured(radio.profile).expect("checked with the scenario");
            cpu::HostCost::measured(&counts, &cpu)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{NodeResult, Options, run};
    use kinglet_scenario::Scenario;

    fn one_hop(profile: &str, flows: &str) -> Scenario {
        let text = format!(
            "duration_s = 60\n[radio]\nprofile = \"{profile}\"\nhost_cost = \"measured\"\n\
             [tcp]\nack_every = 1\nack_delay_ms = 0\n[topology]\nline = {{ hops = 1 }}\n{flows}"
        );
        Scenario::from_toml("test", &text).expect("a valid scenario")
    }

    fn transfer(profile: &str, segments: usize) -> (Scenario, u64) {
        let flow = format!(
            "[[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 0\nbytes = {}\n",
            segments * 462
        );
        (one_hop(profile, &flow), segments as u64)
    }

    /// Asserts that a node's CPU time equals the cost of its work.
    fn assert_took(cost: &cpu::HostCost, node: &NodeResult, sim_seconds: f64) {
        let seconds = sim_seconds * node.cpu_duty_cycle.expect("there is a CPU cost");
        // Less than a microsecond is carried over.
        let work = node.cpu_work.expect("it is counted");
        assert!((seconds * 1e9 - cost.of(work) as f64).abs() < 1_500.0, "{work:?}");
        let charge_uc = seconds * f64::from(cost.active_ua);
        assert!((node.cpu_mj.expect("there is a CPU cost") - charge_uc * 3.0 / 1e3).abs() < 1e-6);
    }

    #[test]
    fn the_parts_of_a_cpus_time_are_all_of_it() {
        for profile in ["at86rf233", "nrf52840"] {
            let (scenario, segments) = transfer(profile, 100);
            let cost = host_cost_of(&scenario.radio);
            let result = run(&scenario, 3, &Options::default()).expect("it runs");
            assert!(result.flows[0].is_well());
            for node in &result.nodes {
                assert_took(&cost, node, result.sim_seconds);
                let work = node.cpu_work.expect("it is counted");
                // Each segment has an acknowledgement: five frames and one. The number is lower
                // only because of cumulative acknowledgements, and higher because of
                // retransmissions and handshake.
                assert!((2 * segments..3 * segments).contains(&work.segments), "{work:?}");
                assert!(work.frames_received + work.frames_sent >= 6 * segments, "{work:?}");
                // Five full frames: the cipher runs three times for the header and once for each 16
                // octets.
                assert!(work.cipher_runs >= 5 * (3 + 100 / 16) * segments, "{work:?}");
            }
            let [to, from] = [0, 1].map(|n| result.nodes[n].cpu_work.expect("it is counted"));
            assert!(to.frames_received >= 5 * segments && from.frames_sent >= 5 * segments);
        }
    }

    #[test]
    fn datagrams_and_coap_messages_take_time_at_both_ends() {
        let flows = "[[flow]]\nkind = \"coap-server\"\nnode = 0\n\
                     [[flow]]\nkind = \"coap-client\"\nfrom = 1\nto = 0\npause_ms = 500\n";
        for profile in ["at86rf233", "nrf52840"] {
            let scenario = one_hop(profile, flows);
            let cost = host_cost_of(&scenario.radio);
            let result = run(&scenario, 3, &Options::default()).expect("it runs");
            for node in &result.nodes {
                assert_took(&cost, node, result.sim_seconds);
                let work = node.cpu_work.expect("it is counted");
                // Nothing but CoAP uses UDP here, and TCP is not used.
                assert!(work.messages_sent > 50, "{work:?}");
                assert_eq!(work.messages_sent, work.datagrams_sent);
                assert_eq!(work.messages_received, work.datagrams_received);
                assert_eq!(work.segments, 0);
                let without = cpu::CpuWork {
                    messages_received: 0,
                    messages_sent: 0,
                    datagrams_received: 0,
                    datagrams_sent: 0,
                    ..work
                };
                assert!(cost.of(without) < cost.of(work));
            }
            let [server, client] = [0, 1].map(|n| result.nodes[n].cpu_work.expect("it is counted"));
            // One hop loses nothing.
            assert_eq!(server.messages_received, client.messages_sent);
            assert_eq!(client.messages_received, server.messages_sent);
        }
    }

    #[test]
    fn measured_work_takes_what_was_counted_on_the_target() {
        let (cpu, counts) = measured(RadioProfile::At86rf233).expect("it was measured");
        let cost = cpu::HostCost::measured(&counts, &cpu);
        let both_ends =
            cpu::CpuWork { frames_received: 6, frames_sent: 6, segments: 4, ..cpu::CpuWork::NONE };
        let counted = 6 * (counts.frame_received + counts.frame_sent)
            + counts.segment_received
            + counts.segment_sent;
        let expected = f64::from(cpu.time_ns(counted));
        assert!((cost.of(both_ends) as f64 - expected).abs() < 1_000.0);
        let request_and_response = cpu::CpuWork {
            datagrams_received: 2,
            datagrams_sent: 2,
            messages_received: 2,
            messages_sent: 2,
            ..cpu::CpuWork::NONE
        };
        let counted = 2 * (counts.datagram_received + counts.datagram_sent)
            + (counts.request_sent + counts.request_received)
            + (counts.response_sent + counts.response_received);
        let expected = f64::from(cpu.time_ns(counted));
        assert!((cost.of(request_and_response) as f64 - expected).abs() < 1_000.0);
    }
}
