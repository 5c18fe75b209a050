//! Bursts over nodes that all sleep (Duquennoy et al., "Lossy Links, Low Power, High Throughput",
//! SenSys 2011).
//!
//! | file | results |
//! |---|---|
//! | `metric.rs` | metrics of a path whose nodes sleep |
//! | `idle.rs` | cost of waking up: 3.1.1 |
//! | `length.rs` | length of a burst: Fig. 7 |
//! | `mechanisms.rs` | gain from channels and bursts: Fig. 8 |
//! | `interference.rs` | two kinds of interference: Fig. 6 and 10 |
//! | `fragments.rs` | fragmentation under interference: Fig. 9 |
//! | `crossing.rs` | transfers that cross a collection or each other: Fig. 12 and 13 |
//! | `timeline.rs` | TCP before, during and after interference: Fig. 15 |
//! | `power.rs`, `drawn.rs` | power of relays in that case: Fig. 16 |
//! | `timing.rs`, `of_frame.rs` | breakdown of the time of a frame: 5.1 |
//! | `transports.rs` | PIP, Snack and TCP: Fig. 17 to 19 |

mod crossing;
mod drawn;
mod fragments;
mod idle;
mod interference;
mod length;
mod mechanisms;
mod metric;
mod of_frame;
mod power;
mod timeline;
mod timing;
mod transports;

pub(super) use crossing::CROSS;
pub(super) use crossing::TWO_BULKS;
pub use drawn::Drawn;
pub(crate) use drawn::RELAYS;
pub(super) use fragments::EXPERIMENT as FRAGMENTS;
pub(super) use idle::EXPERIMENT as IDLE;
pub(crate) use idle::RATES as IDLE_RATES;
pub(super) use interference::EXPERIMENT as INTERFERENCE;
pub(crate) use interference::cell_label;
pub(super) use length::EXPERIMENT as LENGTH;
pub(crate) use length::{BURSTS, RATES};
pub(super) use mechanisms::EXPERIMENT as MECHANISMS;
pub use metric::OfBursts;
pub use of_frame::OfFrame;
pub(super) use power::EXPERIMENT as POWER;
pub(super) use timeline::EXPERIMENT as TIMELINE;
pub(super) use timing::EXPERIMENT as TIMING;
pub(super) use transports::EXPERIMENT as TRANSPORTS;
pub(crate) use transports::LEVELS;

use super::{Metric, Point, Rows};
use crate::chart::{Figure, Lines, Series, Style};
use crate::scenario::{
    Datagrams, Flash, Flow, FlowKind, Fragments, HostCost, Interferer, NodeId, Overlap, Pace,
    Propagation, RadioProfile, Scenario, Source, Wake, motes,
};
use kinglet::time::Duration;

/// Distance between neighbours in metres: one step is within the disc, two steps are not.
const SPACING_M: f64 = 8.0;
/// A range in metres beyond the distance of any two nodes of a scenario.
const FAR_M: f64 = 200.0;
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

/// All nodes are in range of each other, but routes lead from each to the next one.
fn in_range(mut scenario: Scenario) -> Scenario {
    scenario.hop_m = SPACING_M;
    if let Propagation::UnitDisc { range_m, interference_range_m, .. } =
        &mut scenario.medium.propagation
    {
        (*range_m, *interference_range_m) = (FAR_M, FAR_M);
    }
    scenario
}

/// Gives one node these sources of interference.
fn heard_by(mut scenario: Scenario, node: NodeId, sources: &[(Source, f64)]) -> Scenario {
    scenario.medium.overlap = Overlap::SinrBer;
    let heard = |(source, mean): &(Source, f64)| Interferer::heard_by(node, *source, *mean);
    scenario.interference = sources.iter().map(heard).collect();
    scenario
}

/// Datagrams that fill frames, at full speed.
fn bulk(from: NodeId, to: NodeId, start_s: f64, bytes: Option<u32>) -> Flow {
    let payload_bytes = FULL;
    let pace = Pace::Bulk(bytes.map(|bytes| bytes.div_ceil(FULL.into())));
    Flow::new(start_s, FlowKind::Udp(Datagrams { from, to, payload_bytes, pace }))
}

/// Octets that fill a frame over several hops together with the compressed headers.
const FULL: u16 = 103;

/// Additional points of an experiment, outside its plan.
fn beside(
    scenarios: impl IntoIterator<Item = (String, Scenario)>,
    metrics: &'static [Metric],
) -> impl Iterator<Item = Point> {
    let of = move |(label, scenario)| point(label, "beside", 1.0, scenario, metrics);
    scenarios.into_iter().map(of)
}

/// A figure of measured curves. Each curve has a name, abscissae and the labels of its points.
fn measured(
    rows: &Rows,
    metric: &str,
    (title, x_label, y_label): (&str, &str, &str),
    curves: impl IntoIterator<Item = (String, Vec<(f64, String)>)>,
) -> Figure {
    let at = |(x, label): (f64, String)| {
        let row = rows.get(&label, metric)?;
        Some((x, row.mean, row.ci95))
    };
    let curve = |(name, points): (String, Vec<(f64, String)>)| {
        let points = points.into_iter().filter_map(at).collect();
        Series { name, style: Style::Measured, points }
    };
    Figure::Lines(Lines {
        title: title.to_owned(),
        x_label: x_label.to_owned(),
        y_label: y_label.to_owned(),
        series: curves.into_iter().map(curve).collect(),
    })
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
