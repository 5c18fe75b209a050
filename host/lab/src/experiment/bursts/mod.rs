//! Bursts over nodes that all sleep (Duquennoy et al., "Lossy Links, Low Power, High Throughput",
//! SenSys 2011).
//!
//! | file | results |
//! |---|---|
//! | `timeline.rs` | TCP before, during and after interference: Fig. 15 |
//! | `power.rs` | power of relays in that case: Fig. 16 |
//! | `timing.rs` | breakdown of the time of a frame: 5.1 |
//!
//! The others are folders (`experiments/bf-*`).

mod power;
mod timeline;
mod timing;

pub(super) use power::EXPERIMENT as POWER;
pub(super) use timeline::EXPERIMENT as TIMELINE;
pub(super) use timing::EXPERIMENT as TIMING;

use kinglet::time::Duration;
use kinglet_scenario::{
    Flash, Fragments, HostCost, Interferer, NodeId, Overlap, RadioProfile, Scenario, Source, Wake,
    motes,
};
use kinglet_sweep::experiment::Point;
use kinglet_sweep::metric::Metric;

/// Distance between neighbours in metres: one step is within the disc, two steps are not.
const SPACING_M: f64 = 8.0;
/// A line of sleeping nodes as in the paper: Tmotes with flash and several channels.
fn tmotes(hops: u32) -> Scenario {
    let mut scenario = Scenario::default().on_line(hops, SPACING_M);
    scenario.radio.profile = RadioProfile::Cc2420Contiki;
    scenario.radio.host_cost = motes::TMOTE;
    scenario.flash = Flash::M25p80;
    asleep(scenario)
}

/// The same with a current radio and the queue in memory.
fn today(hops: u32) -> Scenario {
    let mut scenario = Scenario::default().on_line(hops, SPACING_M);
    scenario.radio.profile = RadioProfile::Nrf52840;
    scenario.radio.host_cost = HostCost::Measured;
    asleep(scenario)
}

/// Makes all nodes sleep. Frames are unsecured, as in the paper, and clocks drift as much as
/// crystals may.
fn asleep(mut scenario: Scenario) -> Scenario {
    scenario.radio.drift_ppm = 40;
    scenario.mac.security = None;
    scenario.fragments = Fragments::Forwarded;
    scenario.wake = Some(Wake { border_duty_cycled: true, channels: 11, ..Wake::DEFAULT });
    scenario
}

/// The same with the paper's settings of bursts instead of ours.
fn as_paper(mut scenario: Scenario) -> Scenario {
    if let Some(wake) = &mut scenario.wake {
        wake.settings.burst = Duration::from_secs(2);
        wake.settings.burst_repeats = wake.settings.repeats;
    }
    scenario
}

/// Applies settings of bursts.
type Set = fn(Scenario) -> Scenario;
/// Settings of bursts, with their names in labels.
const SETTINGS: [(&str, Set); 2] = [("paper", as_paper), ("ours", |s| s)];

/// Gives one node these sources of interference.
fn heard_by(mut scenario: Scenario, node: NodeId, sources: &[(Source, f64)]) -> Scenario {
    scenario.medium.overlap = Overlap::SinrBer;
    let heard = |(source, mean): &(Source, f64)| Interferer::heard_by(node, *source, *mean);
    scenario.interference = sources.iter().map(heard).collect();
    scenario
}

/// Additional points of an experiment, outside its plan.
fn beside(
    scenarios: impl IntoIterator<Item = (String, Scenario)>,
    metrics: &'static [Metric],
) -> impl Iterator<Item = Point> {
    let of = move |(label, scenario)| point(label, "beside", 1.0, scenario, metrics);
    scenarios.into_iter().map(of)
}

fn point(
    label: String,
    series: &'static str,
    x: f64,
    mut scenario: Scenario,
    metrics: &'static [Metric],
) -> Point {
    scenario.name.clone_from(&label);
    Point { label, series, x, scenario, metrics, timeline_s: None }
}
