//! Runs one simulation of a scenario with options, and returns its results.

mod activity;
mod deaths;
pub(crate) mod flow;
mod identities;
mod lanes;
mod losses;
mod nodes;
mod observed;
mod pairs;
mod pip;
mod power;
pub(crate) mod reasons;
pub mod renamed;
pub(crate) mod result;
mod samples;
mod simulation;

pub use flow::{Death, FlowResult, Readings, Reason, State};
pub use lanes::{Lane, LaneItem, LaneKind};
pub use losses::{LossResult, Watch};
pub use pairs::drawn;
pub use power::{PARTS, Power, Spent};
pub use reasons::Reasons;
pub use result::{
    Activity, ActivityKind, AodvResult, BorderResult, Branch, CwndSample, FlashResult, NodeResult,
    RadioSeconds, RplResult, RunResult, SCHEMA, Sample, StrobeResult, Tree,
};

use crate::build::{Ends, Network, Stations};
use crate::flows;
use crate::tree::NextHops;
use kinglet::time::Instant;
use kinglet_scenario::{Fault, Scenario};
use kinglet_sim::{Device, World};
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Observations in addition to the counters.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// Write every frame on the air to this pcap file (802.15.4 with TAP headers).
    pub pcap: Option<PathBuf>,
    /// Write a capture of each node's radio, and one of the wire's host, to this directory.
    pub captures: Option<PathBuf>,
    /// Write a trace of all layers to this file, as Parquet if its name ends so, else as JSON
    /// lines.
    pub trace: Option<PathBuf>,
    /// Record the radios between these two instants, in seconds.
    pub timeline_s: Option<(f64, f64)>,
    /// Record changing values every second.
    pub samples: bool,
    /// Record the congestion window of every bulk flow.
    pub cwnd: bool,
    /// Record the routing tree.
    pub tree: bool,
    /// When it becomes true, the run ends early with the results so far.
    pub cancel: Option<&'a AtomicBool>,
    /// Called from time to time with the elapsed share of the simulated time, 0 to 1.
    pub progress: Option<&'a dyn Fn(f64)>,
}

/// A simulation that failed.
#[derive(Debug)]
pub enum RunError {
    /// The scenario needs a feature that this build cannot simulate.
    Unsupported(String),
    /// An observation file cannot be written.
    Output {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        error: std::io::Error,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Unsupported(what) => write!(f, "this build cannot simulate {what}"),
            RunError::Output { path, error } => {
                write!(f, "{}: cannot be written: {error}", path.display())
            }
        }
    }
}

impl std::error::Error for RunError {}

/// Builds the network of `scenario` for one run with `seed`, its faults scheduled. The caller
/// drives time.
///
/// # Errors
/// [`RunError::Unsupported`]
pub fn prepare(scenario: &Scenario, seed: u64) -> Result<(Network, Vec<Ends>), RunError> {
    simulation::prepare(scenario, seed, seed)
}

/// The same with another seed for the lives of the nodes: the topology stays that of `seed`, and
/// secrets, first sequence numbers and times of switching on are those of `life`.
///
/// # Errors
/// [`RunError::Unsupported`]
pub fn prepare_life(
    scenario: &Scenario,
    seed: u64,
    life: u64,
) -> Result<(Network, Vec<Ends>), RunError> {
    simulation::prepare(scenario, seed, life)
}

/// Checks that `scenario` can be simulated.
///
/// # Errors
/// [`RunError::Unsupported`]
pub fn check(scenario: &Scenario) -> Result<(), RunError> {
    simulation::check(scenario)
}

/// Checks that [`run`] can simulate `scenario`, without a computer at its far end.
///
/// # Errors
/// [`RunError::Unsupported`]
pub fn check_alone(scenario: &Scenario) -> Result<(), RunError> {
    simulation::refuse_tunnel(scenario)?;
    simulation::check(scenario)
}

/// Records of the flows of `scenario` with these `ends`, as if the network ended now, after
/// `seconds`. Values that need an end that is not a station of the lab are absent.
pub fn flow_records(
    network: &dyn Stations,
    (scenario, ends): (&Scenario, &[Ends]),
    next_hops: &NextHops,
    seconds: f64,
) -> Vec<FlowResult> {
    flows::records(network, (scenario, ends), next_hops, seconds)
}

/// Schedules `faults`, whose times count from `from`.
pub fn add_faults<D: Device>(world: &mut World<D>, faults: &[Fault], from: Instant) {
    simulation::add_faults(world, faults, from);
}

/// Simulates `scenario` with `seed`. Same scenario, same seed: same result to the last bit, wall
/// clock excepted.
///
/// # Errors
/// [`RunError`]
pub fn run(scenario: &Scenario, seed: u64, options: &Options<'_>) -> Result<RunResult, RunError> {
    simulation::simulate(scenario, seed, options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet::net::BorderPolicy;
    use kinglet_scenario::{Flow, LINE_SPACING_M, Role, Wire};

    #[test]
    fn two_receivers_on_one_port_are_refused_and_given_ports_are_used() {
        let mut scenario = Scenario { duration_s: 5.0, ..Scenario::default() };
        scenario.flows = vec![Flow::bulk(1, 0), Flow::bulk(1, 0)];
        scenario.flows[1].port = Some(5001);
        let Err(error) = run(&scenario, 1, &Options::default()) else { panic!("one port twice") };
        assert!(error.to_string().contains("two receivers on TCP port 5001 of node 0"), "{error}");
        scenario.flows[1].port = Some(9);
        let result = run(&scenario, 1, &Options::default()).expect("it can be simulated");
        assert!(result.flows.iter().all(|flow| flow.bytes > Some(1_000)), "{:?}", result.flows);
    }

    #[test]
    fn the_queue_between_host_and_radio_is_reported_where_there_is_one() {
        let mut scenario =
            Scenario { duration_s: 20.0, wire: Some(Wire::PERFECT), ..Scenario::default() }
                .on_line(2, LINE_SPACING_M);
        scenario.nodes[0].role = Role::BorderRouter;
        scenario.border_queue = Some(2);
        scenario.flows = vec![Flow::bulk(scenario.host(), 1), Flow::bulk(scenario.host(), 2)];
        let of = |scenario: &Scenario| {
            let result = run(scenario, 1, &Options::default()).expect("it can be simulated");
            let queues: Vec<_> = result.nodes.iter().map(|node| node.border_queue).collect();
            assert_eq!(queues[1..], [None, None], "those are no border routers");
            queues[0]
        };
        let queue = of(&scenario).expect("there is one");
        assert!(queue.dequeued > 100 && queue.dropped > 0 && queue.longest_ms > 1.0, "{queue:?}");
        assert_eq!(queue.peak, 2);
        let known = queue.dequeued + queue.dropped + queue.waiting as u32;
        assert_eq!(queue.queued, known, "{queue:?}");
        scenario.net.border = BorderPolicy::Shared;
        assert_eq!(of(&scenario), None);
        scenario.net.border = BorderPolicy::Fair;
        (scenario.wire, scenario.flows) = (None, vec![Flow::bulk(2, 0)]);
        assert_eq!(of(&scenario), None, "nobody is behind it");
    }

    #[test]
    fn every_microsecond_of_the_office_is_accounted_for_once() {
        let mut scenario = Scenario::office().by_day();
        scenario.duration_s = 20.0;
        scenario.start_hour = 10.0;
        scenario.flows = vec![Flow::bulk(13, scenario.host()), Flow::bulk(11, scenario.host())];
        let result = run(&scenario, 3, &Options::default()).expect("it can be simulated");
        assert!(result.flows.iter().all(|flow| flow.is_intact()));
        assert!(result.flows.iter().filter_map(|flow| flow.bytes).sum::<u64>() > 10_000);
        for node in &result.nodes {
            let on: f64 = node.radio_s.parts().iter().map(|(_, seconds)| seconds).sum();
            assert!((on / result.sim_seconds - node.duty_cycle).abs() < 1e-9, "{node:?}");
            let [only] = node.duty_by_hour[..] else { panic!("one hour: {node:?}") };
            assert!((only - node.duty_cycle).abs() < 1e-9);
        }
        let retries = result.nodes.iter().map(|node| node.radio_s.retry).sum::<f64>();
        assert!(retries > 0.0, "interference and hidden terminals cost something");
    }
}
