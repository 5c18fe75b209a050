//! Published results as experiments: varied parameters, metrics, and the paper's figures.
//!
//! [`kinglet_sweep::experiment`] has the engine, and experiments that are folders. The others have
//! their plans here, in one file each.

mod air;
mod bf_timing;
mod headers_on_air;
pub(crate) mod kinglet_features;
pub(crate) mod kinglet_formation;
mod kinglet_model;
pub(crate) mod kinglet_restarts;
pub(crate) mod over_rpl;
mod tcplp_bound;
mod tcplp_frame_time;
mod tcplp_headers;
mod tcplp_memory;
mod tcplp_stacks;
mod tcplp_timers;

pub(crate) use tcplp_stacks::table_9;

use kinglet_scenario::Scenario;
use kinglet_sweep::chart::Figure;
use kinglet_sweep::experiment::{Effort, Experiment, ExperimentResult, Point, Rows, folder};
use kinglet_sweep::metric::Metric;
use std::path::Path;
use std::sync::LazyLock;

/// All experiments by id.
pub fn all() -> &'static [Experiment] {
    &ALL
}

static ALL: LazyLock<Vec<Experiment>> = LazyLock::new(|| {
    let mut all: Vec<Experiment> =
        IN_RUST.iter().map(InRust::experiment).chain(folder::experiments()).collect();
    all.sort_by_key(|experiment| experiment.id);
    all
});

/// An experiment whose plan is in Rust; the fields are those of [`Experiment`].
struct InRust {
    id: &'static str,
    /// Text of the `README.md` in its folder, which has title, question, method and threats.
    readme: &'static str,
    source: &'static str,
    main: &'static str,
    plan: fn(Effort) -> Vec<Point>,
    refine: fn(&mut Rows),
    figures: fn(&ExperimentResult) -> Vec<Figure>,
}

/// Text of the `README.md` in the folder of an experiment.
macro_rules! readme {
    ($id:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/", $id, "/README.md"))
    };
}
use readme;

impl InRust {
    /// # Panics
    /// Never: the texts are part of the program and tests read them.
    fn experiment(&self) -> Experiment {
        let InRust { id, readme, source, main, plan, refine, figures } = *self;
        let text = folder::text(Path::new(id), readme).expect("READMEs are tested");
        let folder::Text { title, question, method, threats } = text;
        Experiment { id, title, source, question, method, threats, main, plan, refine, figures }
    }
}

/// Experiments whose plans are in Rust.
static IN_RUST: &[InRust] = &[
    air::EXPERIMENT,
    tcplp_frame_time::EXPERIMENT,
    tcplp_headers::EXPERIMENT,
    tcplp_bound::EXPERIMENT,
    tcplp_stacks::EXPERIMENT,
    kinglet_formation::EXPERIMENT,
    kinglet_features::EXPERIMENT,
    kinglet_restarts::EXPERIMENT,
    tcplp_memory::EXPERIMENT,
    tcplp_timers::EXPERIMENT,
    kinglet_model::EXPERIMENT,
    over_rpl::FORMS,
    over_rpl::METERS,
    bf_timing::EXPERIMENT,
];

/// Experiment with this id.
pub fn find(id: &str) -> Option<&'static Experiment> {
    all().iter().find(|e| e.id == id)
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims;
    use kinglet_network::run;
    use kinglet_report::{markdown, page};
    use kinglet_scenario::{HostTcp, NodeId, Route, Routing};
    use kinglet_sweep::experiment::{self as engine, ExperimentConfig};
    use std::collections::BTreeSet;
    use std::path::PathBuf;
    use std::sync::atomic::AtomicBool;

    /// Labels of the points outside the plan.
    fn labels(id: &str) -> Vec<String> {
        let experiment = find(id).expect("there is one");
        let planned = (experiment.plan)(Effort::Full).len();
        experiment.points(Effort::Full).into_iter().skip(planned).map(|it| it.label).collect()
    }

    #[test]
    fn every_experiment_that_simulates_has_the_defaults_and_every_host_is_linux_as_well() {
        for experiment in all() {
            let points = experiment.points(Effort::Full);
            assert_eq!(points.iter().any(|p| p.scenario.has_defaults()), !points.is_empty());
            let host = |linux: bool| {
                let wires = points.iter().filter_map(|p| p.scenario.wire.as_ref());
                wires.filter(|wire| (wire.host == HostTcp::Linux) == linux).count()
            };
            assert!(host(true) > 0 || host(false) == 0, "{}", experiment.id);
        }
    }

    #[test]
    fn they_are_those_of_the_main_point() {
        assert_eq!(labels("tcplp-hops"), ["hops=3 defaults"]);
        assert_eq!(labels("tcplp-flows"), ["kinglet tcp load_kbps=8 host=linux"]);
        assert_eq!(labels("kinglet-load"), [""; 0]);
    }

    /// A claim that was not tested would not be missed.
    #[test]
    fn claims_of_experiments_that_are_only_computed_are_tested() {
        let computed = all().iter().filter(|it| (it.plan)(Effort::Quick).is_empty());
        let computed: Vec<_> = computed.collect();
        let config = ExperimentConfig {
            effort: Effort::Quick,
            seeds: 1,
            first_seed: 101,
            jobs: 1,
            cancel: &AtomicBool::new(false),
            progress: &|_, _| (),
        };
        let results = engine::run(&computed, config).expect("it can be computed").experiments;
        let verdicts = claims::check(&results);
        let quiet: Vec<_> =
            verdicts.iter().filter(|it| it.holds.is_none()).map(|it| &it.id).collect();
        assert!(verdicts.len() > 1 && quiet.is_empty(), "not tested: {quiet:?}");
    }

    #[test]
    fn an_experiment_without_rows_has_a_section_in_a_report() {
        let header = page::Header { command: "", version: "", interrupted: false };
        for Experiment { id, .. } in all() {
            let (rows, samples) = (Vec::new(), Vec::new());
            let empty = ExperimentResult { id, rows, samples, seeds: 0 };
            let page = page::html(&header, all(), &[], &[empty], &[]);
            assert!(page.contains(&format!("<section id=\"{id}\">")), "{id}");
        }
    }

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
