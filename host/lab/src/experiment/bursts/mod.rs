//! Bursts over nodes that all sleep (Duquennoy et al., "Lossy Links, Low Power, High Throughput",
//! SenSys 2011).
//!
//! | file | results |
//! |---|---|
//! | `metric.rs` | what is read off a path whose nodes sleep |
//! | `idle.rs` | what waking costs: 3.1.1 |
//! | `length.rs` | how long a burst should be: Fig. 7 |

mod idle;
mod length;
mod metric;

pub(super) use idle::EXPERIMENT as IDLE;
pub(crate) use idle::RATES as IDLE_RATES;
pub(super) use length::EXPERIMENT as LENGTH;
pub(crate) use length::{BURSTS, RATES};
pub use metric::OfBursts;

use super::{Metric, Point};
use crate::scenario::{Flash, Fragments, HostCost, RadioProfile, Scenario, Wake};

/// Distance of neighbours in metres: within the disc, while two steps are not.
const SPACING_M: f64 = 8.0;
/// What a Tmote Sky computes for each frame, in microseconds: 3.0 ms lie between two frames (5.1),
/// of which copying one takes 1.2 and the transceiver's turnaround 0.2.
const TMOTE_US: u32 = 1_600;

/// A line of nodes that sleep, as the paper has them: Tmotes with flash, a channel for each.
fn tmotes(hops: u32) -> Scenario {
    let mut scenario = Scenario::default().on_line(hops, SPACING_M);
    scenario.radio.profile = RadioProfile::Cc2420Contiki;
    scenario.radio.host_cost = HostCost::Micros(TMOTE_US);
    scenario.flash = Flash::M25p80;
    asleep(scenario)
}

/// The same with a radio of today and memory for the queue.
fn today(hops: u32) -> Scenario {
    let mut scenario = Scenario::default().on_line(hops, SPACING_M);
    scenario.radio.profile = RadioProfile::Nrf52840;
    scenario.radio.host_cost = HostCost::Measured;
    asleep(scenario)
}

/// All nodes sleep, frames are not secured, as the paper's are not, and clocks are as wrong as
/// crystals may be.
fn asleep(mut scenario: Scenario) -> Scenario {
    scenario.radio.drift_ppm = 40;
    scenario.mac.security = None;
    scenario.fragments = Fragments::Forwarded;
    scenario.wake = Some(Wake { border_sleeps: true, channels: 11, ..Wake::DEFAULT });
    scenario
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
