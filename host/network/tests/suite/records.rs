//! Records of flows: a value is present if it applies and is known, and a dead flow has its reason.

use kinglet_network::run::{FlowResult, Options, Reason, RunResult, State, run};
use kinglet_scenario::{Fault, Flow, FlowKind, NodeId, Scenario};
use serde_json::Value;
use std::path::Path;

/// Values of every flow except a server.
const OF_ALL: [&str; 8] =
    ["kind", "from", "to", "state", "bytes", "seconds", "goodput_kbps", "intact"];
const OF_DEATH: [&str; 2] = ["reason", "explanation"];
const OF_TCP: [&str; 8] = [
    "segments_sent",
    "segments_received",
    "segment_loss",
    "retransmissions",
    "fast_retransmissions",
    "timeouts",
    "mss",
    "rtt_ms",
];

/// The values that the record of a kind can have, in addition to those of all flows and of dead
/// ones.
fn of_kind(kind: &str) -> Vec<&'static str> {
    let sensor = ["readings", "complete"];
    match kind {
        "tcp-bulk" => {
            let more = ["duplicates", "complete", "timeout_causes", "hops", "recovery_s"];
            [&OF_TCP[..], &more].concat()
        }
        "udp-periodic" | "udp-bulk" => vec![
            "segments_sent",
            "segments_received",
            "duplicates",
            "segment_loss",
            "outcome_known",
            "delay_ms",
            "longest_delay_ms",
            "complete",
            "hops",
        ],
        "snack" => vec!["segments_sent", "complete"],
        "pip" => vec!["complete"],
        "http-client" => vec!["latencies_ms", "failed", "complete", "hops"],
        "coap-client" => vec![
            "latencies_ms",
            "failed",
            "complete",
            "segments_sent",
            "retransmissions",
            "timeouts",
            "hops",
        ],
        // Values of TCP, of CoAP, of the ideal protocol.
        "anemometer" => [&sensor[..], &OF_TCP, &["connections", "timeout_ms", "hops"]].concat(),
        _ => Vec::new(),
    }
}

/// The names of the present values.
fn present(flow: &FlowResult) -> Vec<String> {
    let Ok(Value::Object(record)) = serde_json::to_value(flow) else { panic!("a plain struct") };
    let there = record.into_iter().filter(|(_, value)| !value.is_null());
    there.map(|(name, _)| name).collect()
}

fn check(file: &str, flow: &FlowResult) {
    let of_its_kind = of_kind(flow.kind);
    let is_server = flow.to.is_none();
    for name in present(flow) {
        let name = name.as_str();
        let expected = match is_server {
            true => ["kind", "from"].contains(&name),
            false => {
                OF_ALL.contains(&name) || OF_DEATH.contains(&name) || of_its_kind.contains(&name)
            }
        };
        assert!(expected, "{file}: {name} of {flow:?}");
    }
    if is_server {
        return;
    }
    let dead = flow.state == Some(State::Dead);
    assert_eq!(
        (flow.reason.is_some(), flow.explanation.is_some()),
        (dead, dead),
        "{file}: {flow:?}"
    );
    // Without data, correctness, duration and loss are unknown.
    if flow.bytes == Some(0) {
        assert_eq!(flow.intact, None, "{file}: {flow:?}");
        assert!(flow.latencies_ms().is_empty(), "{file}: {flow:?}");
        assert_ne!(flow.state, Some(State::Open), "{file}: {flow:?}");
    }
    if flow.state == Some(State::Complete) {
        assert_eq!(flow.complete, Some(true), "{file}: {flow:?}");
        let has_end = ["tcp-bulk", "udp-bulk", "snack", "pip"].contains(&flow.kind);
        assert!(has_end, "requests and readings go on: {file}: {flow:?}");
    }
    if flow.complete == Some(true) {
        assert!(flow.bytes > Some(0), "{file}: {flow:?}");
    }
    let counted = flow.segments_received.is_some() && flow.segments_sent > Some(0);
    assert_eq!(flow.segment_loss.is_some(), counted, "{file}: {flow:?}");
    assert!(flow.mss != Some(0) && flow.outcome_known != Some(0), "{file}: {flow:?}");
    assert!(flow.timeout_causes.is_none() || flow.timeouts.is_some(), "{file}: {flow:?}");
}

#[test]
fn example_scenarios_have_no_zero_and_no_truth_that_stands_for_something_unknown() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/scenarios");
    let mut kinds = std::collections::BTreeSet::new();
    for file in std::fs::read_dir(folder).expect("the example scenarios") {
        let file = file.expect("an entry").path();
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let scenario = Scenario::from_file(&file).unwrap_or_else(|error| panic!("{error}"));
        for duration_s in [0.5, 40.0] {
            let scenario = Scenario { duration_s, ..scenario.clone() };
            let result = run(&scenario, 1, &Options::default()).expect("an example can be run");
            for flow in &result.flows {
                kinds.insert(flow.kind);
                check(&name, flow);
            }
        }
    }
    assert!(kinds.len() >= 5, "{kinds:?}");
}

fn scenario(text: &str) -> Scenario {
    Scenario::from_toml("records.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

/// Two hops; every kind of flow between its ends, with a server if it needs one.
const KINDS: [&str; 11] = [
    "[[flow]]\nkind = \"tcp-bulk\"\nfrom = 2\nto = 0\n",
    "[[flow]]\nkind = \"tcp-bulk\"\nfrom = 2\nto = 0\nbytes = 5000\n",
    "[[flow]]\nkind = \"udp-periodic\"\nfrom = 2\nto = 0\nperiod_ms = 300\n",
    "[[flow]]\nkind = \"udp-bulk\"\nfrom = 2\nto = 0\nbytes = 1000\n",
    "[[flow]]\nkind = \"snack\"\nfrom = 2\nto = 0\nbytes = 4000\n",
    "[[flow]]\nkind = \"http-server\"\nnode = 0\n\
     [[flow]]\nkind = \"http-client\"\nfrom = 2\nto = 0\npause_ms = 300\n",
    "[[flow]]\nkind = \"coap-server\"\nnode = 0\n\
     [[flow]]\nkind = \"coap-client\"\nfrom = 2\nto = 0\npause_ms = 300\n",
    "[[flow]]\nkind = \"anemometer\"\nfrom = 2\nto = 0\nbatch = 1\ncarrier = \"tcp\"\n",
    "[[flow]]\nkind = \"anemometer\"\nfrom = 2\nto = 0\nbatch = 1\ncarrier = \"coap\"\n",
    "[[flow]]\nkind = \"anemometer\"\nfrom = 2\nto = 0\nbatch = 1\ncarrier = \"non-confirmable\"\n",
    "[[flow]]\nkind = \"services\"\nnode = 1\n",
];

fn line(spacing_m: u32, flow: &str) -> Scenario {
    scenario(&format!(
        "duration_s = 30\n[topology]\nline = {{ hops = 2, spacing_m = {spacing_m} }}\n{flow}"
    ))
}

#[test]
fn every_kind_of_flow_lives_over_two_hops_and_is_dead_without_route_or_link() {
    for kind in KINDS {
        for (spacing_m, cut, reason) in
            [(8, false, None), (80, false, Some(Reason::NoRoute)), (8, true, Some(Reason::NoLink))]
        {
            let mut scenario = line(spacing_m, kind);
            if cut {
                let (nodes, from_s, to_s) = (vec![2], 0.0, None);
                scenario.faults.push(Fault::Partition { nodes, from_s, to_s });
            }
            let result = run(&scenario, 1, &Options::default()).expect("it can be simulated");
            for flow in result.flows.iter().filter(|flow| flow.to.is_some()) {
                check(kind, flow);
                assert_eq!(flow.reason, reason, "{flow:?}");
                if reason.is_none() {
                    assert!(flow.is_well(), "{flow:?}");
                } else {
                    assert_eq!(flow.bytes, Some(0), "{flow:?}");
                    assert_eq!(flow.goodput_kbps, Some(0.0), "no octet in all the time: {flow:?}");
                    assert_ne!(flow.complete, Some(true), "{flow:?}");
                }
            }
        }
    }
}

#[test]
fn a_flow_without_server_or_route_says_which() {
    let dead = |flow: FlowKind, more: fn(&mut Scenario)| {
        let mut scenario = line(8, "");
        scenario.flows = vec![Flow::new(1.0, flow)];
        more(&mut scenario);
        let result = run(&scenario, 1, &Options::default()).expect("it can be simulated");
        let flow = &result.flows[0];
        assert!(flow.is_dead(), "{flow:?}");
        (flow.reason, flow.explanation.clone().unwrap_or_default())
    };
    let asks = |from: NodeId, to| FlowKind::HttpClient {
        from,
        to,
        port: 80,
        bytes: 100,
        pause_ms: 500,
        fast_open: false,
    };
    let (reason, because) = dead(asks(0, 2), |_| {});
    assert_eq!(reason, Some(Reason::NoServer));
    assert!(because.contains("node 2"), "{because}");
    let bulk =
        FlowKind::TcpBulk { from: 2, to: 0, bytes: None, send_buffer: None, receive_buffer: None };
    let (reason, because) = dead(bulk, |scenario| scenario.given_routes = Some(Vec::new()));
    assert_eq!(
        (reason, because.as_str()),
        (Some(Reason::NoRoute), "node 2 has no route to the other end")
    );
}

#[test]
fn a_transfer_whose_connection_ends_with_an_error_is_dead_although_octets_arrived() {
    let mut scenario =
        line(8, "[tcp]\nmax_retransmits = 3\n[[flow]]\nkind = \"tcp-bulk\"\nfrom = 2\nto = 0\n");
    scenario.duration_s = 120.0;
    let (nodes, from_s, to_s) = (vec![0], 10.0, None);
    scenario.faults.push(Fault::Partition { nodes, from_s, to_s });
    let result = run(&scenario, 1, &Options::default()).expect("it can be simulated");
    let flow = &result.flows[0];
    assert!(flow.bytes > Some(1_000) && flow.is_dead(), "{flow:?}");
    assert_eq!(flow.reason, Some(Reason::TimedOut), "{flow:?}");
}

#[test]
fn a_flow_that_begins_after_the_end_waits() {
    let mut scenario = line(8, "[[flow]]\nkind = \"tcp-bulk\"\nfrom = 2\nto = 0\n");
    scenario.flows[0].start_s = 100.0;
    let result = run(&scenario, 1, &Options::default()).expect("it can be simulated");
    let flow = &result.flows[0];
    assert_eq!((flow.state, flow.complete, flow.intact), (Some(State::Waiting), None, None));
    assert_eq!((flow.goodput_kbps, flow.segment_loss, flow.mss), (None, None, None));
}

#[test]
fn the_threshold_of_slow_start_is_absent_until_there_is_one() {
    let scenario =
        line(8, "[[flow]]\nkind = \"tcp-bulk\"\nfrom = 2\nto = 0\n[medium]\nframe_loss = 0.4\n");
    let options = Options { cwnd: true, ..Options::default() };
    let result = run(&scenario, 1, &options).expect("it can be simulated");
    let first = result.cwnd.first().expect("windows were recorded");
    assert_eq!(first.ssthresh, None);
    assert!(result.cwnd.iter().all(|sample| sample.ssthresh != Some(u32::MAX)));
}

#[test]
fn the_schema_file_describes_the_records() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("run.schema.json");
    let text = RunResult::schema_text();
    if std::env::var_os("KINGLET_BLESS").is_some() {
        std::fs::write(&file, &text).expect("the file can be written");
    }
    let kept = std::fs::read_to_string(&file).expect("the schema file");
    assert!(
        kept == text,
        "{} is stale: set KINGLET_BLESS=1, and raise SCHEMA if a name or a meaning \
         has changed",
        file.display()
    );
    // Every possible name of a result is in it.
    let schema: Value = serde_json::from_str(&kept).expect("JSON");
    let result = serde_json::to_value(RunResult::with_every_value()).expect("a plain struct");
    for (list, of) in [("flows", "FlowResult"), ("nodes", "NodeResult")] {
        let described = schema["$defs"][of]["properties"].as_object().expect("properties");
        for name in result[list][0].as_object().expect("a record").keys() {
            assert!(described.contains_key(name), "{of}: {name}");
        }
    }
    assert_eq!(kinglet_network::run::SCHEMA, 2, "renamed fields are those of version 2");
    for (_, new) in kinglet_network::run::renamed::FIELDS {
        let name = new.rsplit('.').next().expect("a name");
        assert!(kept.contains(&format!("\"{name}\": {{")), "{new}");
    }
}

/// Its parent retransmits a datagram with the same sequence number, however long the leaf sleeps.
#[test]
fn a_leaf_that_sleeps_gets_no_datagram_twice() {
    for (security, csl) in [(false, ""), (true, ""), (true, "csl_period_ms = 1_000\n")] {
        let text = format!(
            "duration_s = 300\n[radio]\nprofile = \"nrf52840\"\n[[node]]\n[[node]]\nx_m = 5\n\
             role = \"leaf\"\nparent = 0\n[medium]\nframe_loss = 0.4\n[mac]\n\
             security = {security}\n[leaf]\nsleep_interval_s = 3\n{csl}[[flow]]\n\
             kind = \"udp-periodic\"\nfrom = 0\nto = 1\nperiod_ms = 2_000\n"
        );
        let scenario = Scenario::from_toml("leaf.toml", &text).expect("a scenario");
        let result = run(&scenario, 21, &Options::default()).expect("it can be simulated");
        let flow = &result.flows[0];
        assert!(flow.segments_received > Some(140), "{:?}", flow.segments_received);
        assert_eq!(flow.duplicates, Some(0), "security {security}, {csl:?}");
    }
}
