//! File transfer by PIP: nodes without any other protocol, on the medium of the scenario.

use super::nodes::radio_result;
use super::power::Power;
use super::{Death, FlowResult, NodeResult, Options, Reason, RunError, RunResult, SCHEMA, State};
use kinglet::time::{Duration, Instant};
use kinglet_pip::{MAX_FILE, Outcome, PipConfig, transfer};
use kinglet_scenario::simulated::{medium_of, radio_of};
use kinglet_scenario::{File, FlowKind, NodeId, Scenario};

/// The file that PIP transfers, if there is one.
pub(super) fn file_of(scenario: &Scenario) -> Option<File> {
    scenario.flows.iter().find_map(|flow| match flow.kind {
        FlowKind::Pip(file) => Some(file),
        _ => None,
    })
}

/// Refuses to build or to observe Kinglet nodes if PIP transfers the file.
pub(super) fn refuse(scenario: &Scenario, what: &str) -> Result<(), RunError> {
    match file_of(scenario) {
        Some(_) => Err(RunError::Unsupported(format!("{what} of a file by PIP"))),
        None => Ok(()),
    }
}

/// Refuses nodes that are not a line from one end to the other, and other flows in addition to the
/// file.
pub(super) fn check(scenario: &Scenario) -> Result<(), RunError> {
    let Some(file) = file_of(scenario) else { return Ok(()) };
    let last = scenario.host() - 1;
    let places = &scenario.nodes;
    let apart = |pair: &[kinglet_scenario::NodePlace]| pair[1].x_m - pair[0].x_m;
    let evenly = places.windows(2).all(|pair| {
        (apart(pair) - apart(places)).abs() < 1e-9 && (pair[1].y_m - pair[0].y_m).abs() < 1e-9
    });
    let whole = (file.from, file.to) == (0, last) && scenario.flows.len() == 1 && evenly;
    if !whole || file.bytes as usize > MAX_FILE {
        return Err(RunError::Unsupported(format!(
            "PIP except on a line, from node 0 to node {last}, without another flow, and with a \
             file of at most {MAX_FILE} octets"
        )));
    }
    Ok(())
}

/// Refuses observations: there is no capture, trace, timeline or tree of PIP nodes.
pub(super) fn check_options(scenario: &Scenario, options: &Options<'_>) -> Result<(), RunError> {
    let observed = [
        (options.pcap.is_some() || options.captures.is_some(), "a capture"),
        (options.trace.is_some(), "a trace"),
        (options.timeline_s.is_some(), "a timeline"),
    ];
    let asked = observed.into_iter().find(|(asked, _)| *asked);
    asked.map_or(Ok(()), |(_, what)| refuse(scenario, what))
}

/// Transfers the file of `scenario`. Ends when the file has arrived, or with the scenario.
pub(super) fn simulate(scenario: &Scenario, file: File, seed: u64) -> RunResult {
    let clock = std::time::Instant::now();
    let hops = scenario.nodes.len() - 1;
    let spacing_m = scenario.nodes[1].x_m - scenario.nodes[0].x_m;
    let config = PipConfig {
        radio: radio_of(scenario),
        drift_ppm: scenario.radio.drift_ppm,
        spacing_m,
        medium: medium_of(scenario),
        limit: Duration::from_micros((scenario.duration_s * 1e6) as u64),
        ..PipConfig::new(hops, file.bytes as usize)
    };
    let outcome = transfer(&config, seed);
    RunResult {
        schema: SCHEMA,
        flows: vec![flow(file, &outcome)],
        nodes: (0..).zip(&outcome.nodes).map(|(id, node)| result(id, node)).collect(),
        sim_seconds: outcome.connected_seconds,
        wall_seconds: clock.elapsed().as_secs_f64(),
        ..RunResult::default()
    }
}

fn flow(file: File, outcome: &Outcome) -> FlowResult {
    let state = match (outcome.complete, outcome.octets) {
        (true, _) => State::Complete,
        (false, 0) => State::Dead,
        (false, _) => State::Open,
    };
    let death = Death { reason: Reason::NoAnswer, node: file.to };
    let death = (state == State::Dead).then_some(death);
    FlowResult {
        kind: FlowKind::Pip(file).name(),
        from: file.from,
        to: Some(file.to),
        bytes: Some(outcome.octets as u64),
        seconds: Some(outcome.seconds),
        goodput_kbps: Some(outcome.goodput_kbps),
        intact: (outcome.octets > 0).then_some(outcome.intact),
        complete: Some(outcome.complete),
        ..FlowResult::default()
    }
    .ended(state, death)
}

fn result(id: NodeId, node: &kinglet_pip::NodeOutcome) -> NodeResult {
    NodeResult {
        id,
        frames_sent: node.frames_sent,
        power: Power::of(Instant::from_micros(node.energy.elapsed_us), &node.energy, None),
        ..radio_result(&node.energy)
    }
}
