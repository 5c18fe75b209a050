//! The rules of the medium on every experiment: interframe spacing, turnaround, backoff grid,
//! channel assessment. `kinglet lab run air-validation` does the same for longer.

use kinglet_lab::audit::audit;
use kinglet_lab::experiment;
use kinglet_scenario::{FlowKind, Role, Scenario};
use kinglet_sweep::experiment::{Effort, Point};
use rayon::prelude::*;

/// Simulated seconds of a point: enough for some hundred frames, or for the first batch of a sleepy
/// sensor.
fn seconds(point: &Point) -> f64 {
    let mut flows = point.scenario.flows.iter();
    let senses = flows.any(|flow| matches!(flow.kind, FlowKind::Anemometer(_)));
    let sleeps = point.scenario.nodes.iter().any(|place| place.role == Role::Leaf);
    match sleeps && senses {
        true => 80.0,
        // Two seconds from the first start.
        false => point.scenario.flows.iter().map(|f| f.start_s).fold(120.0, f64::min) + 2.0,
    }
}

#[test]
fn nothing_in_any_experiment_breaks_a_rule_of_the_air() {
    for experiment in experiment::all() {
        let points = (experiment.plan)(Effort::Quick);
        let audits: Vec<_> = points
            .par_iter()
            .map(|point| (&point.label, audit(&point.scenario, 7, seconds(point))))
            .collect();
        let mut frames = 0;
        for (label, found) in audits {
            let found = found.expect("it can be simulated");
            assert_eq!(found.first, None, "{} {label}", experiment.id);
            frames += found.frames;
        }
        assert!(points.is_empty() || frames > 20, "{}: {frames} frames", experiment.id);
    }
}

#[test]
fn a_node_with_the_backoff_of_tinyos_breaks_none_either() {
    let flow = |from, to| format!("[[flow]]\nkind = \"tcp-bulk\"\nfrom = {from}\nto = {to}\n");
    let text = "[radio]\nprofile = \"standard\"\n[mac]\nbackoff = \"tinyos\"\ncsma = \"hardware\"\n\
                [topology]\nline = { hops = 2 }\n";
    let text = &format!("{text}{}{}", flow(0, 2), flow(2, 0));
    let scenario = Scenario::from_toml("tinyos", text).expect("a valid scenario");
    let found = audit(&scenario, 7, 20.0).expect("it can be simulated");
    assert_eq!(found.first, None);
    assert!(found.backoffs > 100, "{} were timed", found.backoffs);
}
