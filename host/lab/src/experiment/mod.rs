//! Published results as experiments: varied parameters, metrics, and the paper's figures.
//!
//! There is one file per experiment. A *plan* lists points: a label, an abscissa and a scenario.
//! Every point is simulated with several seeds ([`run`]). Each metric becomes a [`Row`] with mean
//! and 95 % interval. `refine` then adds computed rows: bounds, model predictions, the paper's
//! figures.

mod air;
pub(crate) mod bursts;
mod defaults;
pub(crate) mod design;
pub(crate) mod duty_cycles;
pub(crate) mod folder;
mod headers_on_air;
mod intervals;
mod kinglet_fair;
pub(crate) mod kinglet_features;
pub(crate) mod kinglet_formation;
mod kinglet_mesh;
mod kinglet_model;
mod kinglet_page;
pub(crate) mod kinglet_restarts;
mod kinglet_sleep;
mod metric;
mod models;
pub(crate) mod over_rpl;
mod radio_time;
mod requests;
mod runner;
mod sense;
mod tcplp_bound;
mod tcplp_context;
mod tcplp_day;
mod tcplp_frame_time;
mod tcplp_headers;
mod tcplp_latency;
mod tcplp_memory;
mod tcplp_outages;
mod tcplp_stacks;
mod tcplp_timers;
mod timeout_cause;

pub use bursts::{Drawn, OfBursts, OfFrame};
pub use defaults::SERIES as DEFAULTS;
pub use design::OfPairs;
pub use duty_cycles::OfNode;
pub use folder::columns;
pub use metric::Metric;
pub(crate) use models::Model;
pub use over_rpl::OfTree;
pub use runner::{ExperimentConfig, LabError, Outcome, Results, run};
pub(crate) use tcplp_stacks::table_9;

use kinglet::time::Duration;
use kinglet_network::run::RunResult;
use kinglet_scenario::{Scenario, ScenarioError, tcplp};
use kinglet_sweep::chart::Figure;
use kinglet_sweep::row::Row;
use std::sync::LazyLock;

/// Amount of simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Short simulations for a first look.
    Quick,
    /// Complete simulations for the record.
    Full,
}

impl Effort {
    /// Default number of seeds per point: enough for 95 % intervals of about one per cent in
    /// goodput.
    pub const fn default_seeds(self) -> u32 {
        5
    }

    /// Simulated seconds of a bulk transfer. Two minutes are a thousand segments even over four
    /// hops.
    pub const fn seconds(self) -> f64 {
        match self {
            Effort::Quick => 120.0,
            Effort::Full => 300.0,
        }
    }
}

/// A published result and its reproduction.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// Name on the command line and of the folder under `experiments/`.
    pub id: &'static str,
    /// Title for readers.
    pub title: &'static str,
    /// Section or figure of the paper.
    pub source: &'static str,
    /// Question that the experiment answers.
    pub question: &'static str,
    /// Method.
    pub method: &'static str,
    /// Reasons why the result could be wrong or not transferable.
    pub threats: &'static [&'static str],
    /// Label of the point with the main result; empty for pure calculation, which is represented by
    /// a plain transfer over one hop. `experiments/<id>/plan.toml` has it as a scenario file.
    pub main: &'static str,
    /// Simulated points; empty for pure calculation.
    pub plan: fn(Effort) -> Vec<Point>,
    /// Adds computed rows, bounds and the paper's figures to the measured ones.
    pub refine: fn(&mut Rows),
    /// Figures of the result.
    pub figures: fn(&ExperimentResult) -> Vec<Figure>,
}

impl Experiment {
    /// All simulated points: the plan and the defaults.
    pub fn points(&self, effort: Effort) -> Vec<Point> {
        let mut points = (self.plan)(effort);
        points.extend(defaults::beside(self, &points));
        points
    }

    /// Scenario of the main point.
    pub fn main_scenario(&self, effort: Effort) -> Scenario {
        let point = self.points(effort).into_iter().find(|point| point.label == self.main);
        point.map_or_else(|| line_scenario(effort, 1, 0), |point| point.scenario)
    }
}

/// A point of the plan, simulated once per seed.
#[derive(Clone, Debug)]
pub struct Point {
    /// Unique in its experiment, such as `d_ms=40` or `d_ms=40 hops=1`.
    pub label: String,
    /// Curve of the point.
    pub series: &'static str,
    /// Abscissa on that curve.
    pub x: f64,
    /// Simulated scenario.
    pub scenario: Scenario,
    /// Metrics of the point.
    pub metrics: &'static [Metric],
    /// Interval (seconds) in which the first seed's run records radio activity.
    pub timeline_s: Option<(f64, f64)>,
}

/// Rows of an experiment during their completion.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// All rows.
    pub all: Vec<Row>,
    /// First seed of their runs.
    pub first_seed: u64,
}

impl Rows {
    /// Row with this label and metric.
    pub fn get(&self, label: &str, metric: &str) -> Option<&Row> {
        self.all.iter().find(|r| r.label == label && r.metric == metric)
    }

    /// Mean of the row with this label and metric.
    pub fn mean(&self, label: &str, metric: &str) -> Option<f64> {
        self.get(label, metric).map(|r| r.mean)
    }

    /// Adds a computed value.
    pub fn compute(
        &mut self,
        label: &str,
        series: &'static str,
        x: f64,
        (metric, unit): (&str, &str),
        value: f64,
    ) -> &mut Row {
        self.all.push(Row {
            label: label.to_owned(),
            x,
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            mean: value,
            ci95: None,
            bound: None,
            paper: None,
            series,
        });
        let last = self.all.len() - 1;
        &mut self.all[last]
    }

    /// Sets the paper's figure of a row if the row exists.
    pub fn paper(&mut self, label: &str, metric: &str, value: f64) {
        let row = self.all.iter_mut().find(|r| r.label == label && r.metric == metric);
        if let Some(row) = row {
            row.paper = Some(value);
        }
    }

    /// Sets the bound of every row of `metric` for which `bound` returns one.
    pub fn bound(&mut self, metric: &str, bound: impl Fn(&Row) -> Option<f64>) {
        for row in self.all.iter_mut().filter(|r| r.metric == metric) {
            row.bound = bound(row);
        }
    }
}

/// Result of an experiment.
#[derive(Clone, Debug)]
pub struct ExperimentResult {
    /// Id of the experiment.
    pub id: &'static str,
    /// Measured and computed rows, in the order of the plan.
    pub rows: Vec<Row>,
    /// Run of every point with the first seed, for traces and timelines.
    pub samples: Vec<(Point, RunResult)>,
    /// Number of seeds that were completed for every point.
    pub seeds: u32,
}

/// All experiments by id.
pub fn all() -> &'static [Experiment] {
    &ALL
}

/// Checks the files of all experiments that are folders, and the scenarios of those with these ids.
///
/// # Errors
/// The first error with file, line and what would be right.
pub fn check(ids: &[&str]) -> Result<(), ScenarioError> {
    folder::check(ids)
}

/// Whether the points of the experiment with this id have fields: those of a folder have.
pub fn has_fields(id: &str) -> bool {
    folder::definition(id).is_some()
}

static ALL: LazyLock<Vec<Experiment>> = LazyLock::new(|| {
    let live: Vec<Experiment> = folder::experiments().collect();
    let mut all: Vec<Experiment> = IN_RUST
        .iter()
        .copied()
        .filter(|e| live.iter().all(|l| l.id != e.id))
        .chain(live.iter().copied())
        .collect();
    all.sort_by_key(|experiment| experiment.id);
    all
});

/// Experiments whose plans are in Rust.
static IN_RUST: &[Experiment] = &[
    air::EXPERIMENT,
    tcplp_frame_time::EXPERIMENT,
    tcplp_headers::EXPERIMENT,
    tcplp_bound::EXPERIMENT,
    tcplp_stacks::EXPERIMENT,
    tcplp_day::EXPERIMENT,
    tcplp_latency::EXPERIMENT,
    kinglet_sleep::EXPERIMENT,
    duty_cycles::EXPERIMENT,
    kinglet_fair::EXPERIMENT,
    kinglet_formation::EXPERIMENT,
    kinglet_features::EXPERIMENT,
    kinglet_restarts::EXPERIMENT,
    kinglet_page::EXPERIMENT,
    tcplp_memory::EXPERIMENT,
    tcplp_timers::EXPERIMENT,
    tcplp_context::EXPERIMENT,
    tcplp_outages::EXPERIMENT,
    kinglet_model::EXPERIMENT,
    kinglet_mesh::EXPERIMENT,
    over_rpl::FORMS,
    over_rpl::METERS,
    bursts::TIMING,
    bursts::TIMELINE,
    bursts::POWER,
    design::FACTORIAL,
];

/// Experiment with this id.
pub fn find(id: &str) -> Option<&'static Experiment> {
    all().iter().find(|e| e.id == id)
}

/// Received signal strength of the links of a line, dBm; far above the noise.
const RSSI_DBM: f64 = -60.0;

/// A point without a recorded interval.
fn point(
    label: String,
    series: &'static str,
    x: f64,
    scenario: Scenario,
    metrics: &'static [Metric],
) -> Point {
    Point { label, series, x, scenario, metrics, timeline_s: None }
}

/// Empty plan: the experiment only computes.
fn nothing_to_simulate(_: Effort) -> Vec<Point> {
    Vec::new()
}

/// A bulk transfer along a line of `hops`, with TCPlp's parameters of §7 and the given retry delay.
pub(crate) fn line_scenario(effort: Effort, hops: u32, retry_delay_ms: u32) -> Scenario {
    let mut scenario =
        Scenario::default().on_line(hops, kinglet_scenario::LINE_SPACING_M).as_tcplp();
    scenario.name = format!("{hops} hops, d = {retry_delay_ms} ms");
    scenario.duration_s = effort.seconds();
    scenario.mac = tcplp::MAC;
    scenario.mac.retry_delay_max = Duration::from_millis(retry_delay_ms.into());
    scenario.tcp.mss = kinglet_scenario::Mss::Bytes(462);
    scenario.flows = vec![kinglet_scenario::Flow::bulk(hops, 0)];
    scenario
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown;
    use kinglet_network::run;
    use kinglet_scenario::{NodeId, Route, Routing};
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    #[test]
    fn labels_are_unique_in_each_plan() {
        for experiment in all() {
            for effort in [Effort::Quick, Effort::Full] {
                let plan = experiment.points(effort);
                let labels: BTreeSet<&str> = plan.iter().map(|p| p.label.as_str()).collect();
                assert_eq!(labels.len(), plan.len(), "{}", experiment.id);
            }
        }
    }

    #[test]
    fn peer_stacks_are_where_they_can_be() {
        for experiment in all() {
            for point in experiment.points(Effort::Full) {
                let misplaced = point.scenario.misplaced_peer();
                assert_eq!(misplaced, None, "{} {}", experiment.id, point.label);
            }
        }
    }

    /// True if routes lead from one node to the other.
    fn leads(routes: &[Route], nodes: usize, from: NodeId, to: NodeId) -> bool {
        let next = |at: &NodeId| {
            let here = |route: &&Route| (route.node, route.destination) == (*at, to);
            routes.iter().find(here).map(|route| route.next_hop)
        };
        std::iter::successors(Some(from), next).take(nodes).any(|node| node == to)
    }

    #[test]
    fn every_planned_flow_has_a_route_in_both_directions() {
        for experiment in all() {
            let points = experiment.points(Effort::Quick);
            // A building is drawn until all nodes are connected, including the effect of shadowing.
            let planned = points.into_iter().filter(|point| point.scenario.building.is_none());
            for Point { mut scenario, label, .. } in planned {
                // Static routes exist wherever a mesh finds routes.
                scenario.routing = Routing::Static;
                let (routes, nodes) = (scenario.routes(), scenario.nodes.len());
                // The host is behind the border router.
                let inside = |node| if node == scenario.host() { scenario.root() } else { node };
                for flow in &scenario.flows {
                    let (from, to) = flow.kind.ends();
                    let (from, to) = (inside(from), inside(to.unwrap_or(0)));
                    let both = leads(&routes, nodes, from, to) && leads(&routes, nodes, to, from);
                    assert!(both, "{} {label}", experiment.id);
                }
            }
        }
    }

    fn folder(experiment: &Experiment) -> PathBuf {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");
        Path::new(root).join(experiment.id)
    }

    #[test]
    fn every_experiment_is_described_in_its_folder() {
        for experiment in all() {
            let path = folder(experiment).join("README.md");
            let text = std::fs::read_to_string(&path).expect("a README");
            for heading in ["Question", "Method", "Result", "Differences", "Threats to validity"] {
                assert!(text.contains(&format!("## {heading}")), "{path:?} lacks {heading}");
            }
        }
    }

    #[test]
    fn the_results_in_its_folder_have_every_point_and_every_claim_of_an_experiment() {
        let claims = crate::claims::all();
        for experiment in all() {
            let path = folder(experiment).join("results.md");
            let text = std::fs::read_to_string(&path).expect("results");
            let points = experiment.points(Effort::Full);
            let labels = points.iter().map(|point| &point.label);
            let ids = claims.iter().filter(|claim| claim.experiment == experiment.id);
            for name in labels.chain(ids.map(|claim| &claim.id)) {
                assert!(text.contains(&format!("| `{name}` |")), "{path:?} lacks {name}");
            }
        }
    }

    #[test]
    fn the_index_of_claims_is_that_of_the_folders() {
        let results = all().iter().map(|experiment| {
            let text = std::fs::read_to_string(folder(experiment).join("results.md"));
            (experiment.id, text.expect("results"))
        });
        let results: Vec<_> = results.collect();
        let index = markdown::index(results.iter().map(|(id, text)| (*id, text.as_str())));
        let path = folder(all().iter().next().expect("an experiment")).with_file_name("claims.md");
        assert!(std::fs::read_to_string(&path).expect("an index") == index, "{path:?} is old");
    }

    #[test]
    fn the_scenario_file_of_an_experiment_is_its_main_point_and_runs() {
        for experiment in all() {
            let path = folder(experiment).join("plan.toml");
            let mut scenario = Scenario::from_file(&path).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(scenario, experiment.main_scenario(Effort::Full), "{}", experiment.id);
            // Long enough for a sensor's first batch.
            scenario.duration_s = 150.0;
            let run =
                run::run(&scenario, 1, &run::Options::default()).expect("it can be simulated");
            let intact = run.flows.iter().all(|flow| flow.is_intact());
            let bytes: u64 = run.flows.iter().filter_map(|flow| flow.bytes).sum();
            assert!(intact && bytes > 0, "{}", experiment.id);
        }
    }

    #[test]
    fn a_main_point_is_in_its_plan() {
        for experiment in all() {
            let plan = (experiment.plan)(Effort::Quick);
            let there = plan.iter().any(|point| point.label == experiment.main);
            assert_eq!(there, !plan.is_empty(), "{}", experiment.id);
        }
    }
}
