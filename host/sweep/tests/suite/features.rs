//! Pairwise tests of features in a network: each flow delivers its share.

use kinglet_network::run::{Options, run};
use kinglet_scenario::Scenario;
use kinglet_sweep::features::{Row, START_S, worst};
use rayon::prelude::*;

/// A seed that was not used for tuning.
const SEED: u64 = 301;
/// Least delivered share of readings, datagrams or responses in half an hour.
const LEAST: f64 = 0.9;

#[test]
fn each_flow_delivers_nine_tenths_whichever_two_features_meet() {
    let rows = Row::pairwise(0);
    let judged = |row: &Row| {
        let result = run(&row.scenario(START_S + 1_800), SEED, &Options::default());
        (row.to_toml(START_S + 1_800), worst(&result.expect("it can be simulated")))
    };
    let bad: Vec<_> = rows.par_iter().map(judged).filter(|(_, worst)| worst.1 < LEAST).collect();
    let texts: String = bad.iter().map(|(text, worst)| format!("{text}# {worst:?}\n\n")).collect();
    assert!(bad.is_empty(), "{} of {} networks:\n{texts}", bad.len(), rows.len());
}

#[test]
fn the_office_in_which_all_sleep_works_with_each_routing() {
    let text = include_str!("../../../lab/scenarios/office-asleep.toml");
    let text = text.replace("duration_s = 300", "duration_s = 1800");
    for routing in ["static", "mesh", "rpl", "aodv"] {
        let text = text.replace("[net]", &format!("[net]\nrouting = \"{routing}\""));
        let scenario = Scenario::from_toml("office.toml", &text).expect("a scenario");
        let result = run(&scenario, SEED, &Options::default()).expect("it can be simulated");
        for flow in result.flows.iter().take(4) {
            // Thirty readings, the first of them while the network forms.
            assert!(flow.segments_received >= Some(28), "{routing}: {flow:?}");
        }
    }
}
