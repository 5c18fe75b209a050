//! Samples of changing values while a network runs, every second.

use super::power::Power;
use super::result::Sample;
use crate::build::{Ends, Network};
use crate::flows;
use kinglet::time::{Duration, Instant};
use kinglet_scenario::Scenario;

/// Interval between samples.
const EVERY: Duration = Duration::from_secs(1);

/// Takes a sample every second.
pub(super) struct Sampling<'a> {
    scenario: &'a Scenario,
    ends: &'a [Ends],
    next: Instant,
    samples: Vec<Sample>,
}

impl<'a> Sampling<'a> {
    pub(super) const fn new(scenario: &'a Scenario, ends: &'a [Ends]) -> Self {
        Sampling { scenario, ends, next: Instant::ZERO, samples: Vec::new() }
    }

    /// Time of the next sample.
    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    /// Takes a sample, if it is due.
    pub(super) fn look(&mut self, world: &Network) {
        if world.now() < self.next {
            return;
        }
        self.next = world.now() + EVERY;
        let flows = self.scenario.flows.iter().zip(self.ends);
        let nodes = 0..world.nodes();
        let on_s = |node| {
            let energy = world.energy(node);
            (energy.radio.duty_cycle()
                + energy.radio.starting() as f64 / energy.elapsed_us.max(1) as f64)
                * energy.elapsed_us as f64
                / 1e6
        };
        let power = |node| Power::of(world.now(), &world.energy(node), world.device(node).flash());
        let sent = |ends: &Ends| flows::bulk_sender(world, *ends).and_then(|sender| sender.info());
        self.samples.push(Sample {
            at_s: world.now().as_micros() as f64 / 1e6,
            bytes: flows.map(|(flow, ends)| flows::delivered(world, flow, *ends)).collect(),
            on_s: nodes.clone().map(on_s).collect(),
            power: nodes.clone().map(power).collect(),
            waiting: nodes.map(|n| world.device(n).node().net().relayed_waiting()).collect(),
            rtt_ms: self.ends.iter().find_map(sent).map(|info| info.srtt.as_micros() as f64 / 1e3),
            retransmitted: self.ends.iter().find_map(sent).map_or(0, |info| {
                let counters = info.counters;
                u64::from(counters.fast_retransmits) + u64::from(counters.timeout_retransmits)
            }),
        });
    }

    pub(super) fn into_samples(self) -> Vec<Sample> {
        self.samples
    }
}
