//! What is read off a run in which all nodes sleep.

use crate::run::{NodeResult, RunResult};
use crate::scenario::Scenario;

/// A figure of a path whose nodes sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfBursts {
    /// Share of time in which the radio of the busiest node is on or starts, %.
    RadioWorst,
    /// The same, mean of all nodes between the ends of the path, or of all if there are none.
    Radio,
    /// Payload that arrived of a flow of datagrams, in kB/s.
    Throughput,
    /// The same with what the frames carry beside it behind the MAC's header, in kB/s: each
    /// datagram is a frame of full length.
    OfFrames,
    /// Frames of full length that arrived, per second.
    Rate,
    /// Energy of a node between the ends, radio, CPU and flash, for a kilobyte that arrived, in mJ.
    EnergyPerKb,
    /// Share of the flash in that, %.
    FlashShare,
}

/// What a frame carries behind a MAC header with short addresses, in octets.
const FRAME: f64 = 116.0;

impl OfBursts {
    /// Name in results, and unit.
    pub const fn name(self) -> (&'static str, &'static str) {
        match self {
            OfBursts::RadioWorst => ("radio_worst", "%"),
            OfBursts::Radio => ("radio", "%"),
            OfBursts::Throughput => ("throughput", "kB/s"),
            OfBursts::OfFrames => ("throughput_of_frames", "kB/s"),
            OfBursts::Rate => ("rate", "frames/s"),
            OfBursts::EnergyPerKb => ("energy", "mJ/kB"),
            OfBursts::FlashShare => ("flash_share", "%"),
        }
    }

    /// The value in one run.
    pub fn value(self, scenario: &Scenario, run: &RunResult) -> Option<f64> {
        let on = |node: &NodeResult| 100.0 * (node.duty_cycle + node.starting);
        let between = between(scenario, run);
        let mean = |of: &dyn Fn(&NodeResult) -> f64| {
            let count = between.len().max(1) as f64;
            between.iter().map(|node| of(node)).sum::<f64>() / count
        };
        let flow = run.flows.first();
        let seconds = scenario.duration_s - scenario.flows.first().map_or(0.0, |f| f.start_s);
        let flash = |node: &NodeResult| node.flash.map_or(0.0, |flash| flash.mj);
        let energy = |node: &NodeResult| node.energy_mj + node.cpu_mj + flash(node);
        Some(match self {
            OfBursts::RadioWorst => run.nodes.iter().map(on).fold(0.0, f64::max),
            OfBursts::Radio => mean(&on),
            OfBursts::Throughput => flow?.bytes as f64 / seconds / 1e3,
            OfBursts::OfFrames => flow?.segments_received as f64 * FRAME / seconds / 1e3,
            OfBursts::Rate => flow?.segments_received as f64 / seconds,
            OfBursts::EnergyPerKb => mean(&energy) / (flow?.bytes as f64 / 1e3),
            OfBursts::FlashShare => 100.0 * mean(&flash) / mean(&energy),
        })
    }
}

/// The nodes between the ends of the first flow.
fn between<'a>(scenario: &Scenario, run: &'a RunResult) -> Vec<&'a NodeResult> {
    let ends: Vec<_> = run.flows.first().map(|flow| [flow.from, flow.to]).into_iter().collect();
    let is_end = |node: &NodeResult| ends.iter().flatten().any(|end| *end == node.id);
    let inner: Vec<_> = run.nodes.iter().filter(|node| !is_end(node)).collect();
    if inner.is_empty() || scenario.flows.is_empty() { run.nodes.iter().collect() } else { inner }
}
