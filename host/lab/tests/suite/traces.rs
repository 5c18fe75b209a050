//! The trace of all layers: identities of packets against the counters of the stack, and what
//! `kinglet why` says of packets that are lost.

use kinglet_lab::run::{Options, RunResult, run};
use kinglet_lab::scenario::Scenario;
use kinglet_lab::trace::{Case, Fate, Row, Wanted, read, why};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Runs a scenario, and reads the trace.
fn traced(name: &str, text: &str) -> (RunResult, Vec<Row>) {
    let scenario = Scenario::from_toml(name, text).expect("a scenario");
    let trace = file(name);
    let options = Options { trace: Some(trace.clone()), ..Options::default() };
    let result = run(&scenario, scenario.seed, &options).expect("it can be simulated");
    assert!(result.cut_short.is_empty(), "{:?}", result.cut_short);
    let mut rows = read(&trace).expect("a trace");
    let all = rows.by_ref().collect();
    assert_eq!(rows.cut_short(), None);
    (result, all)
}

fn cases(name: &str, wanted: &Wanted) -> Vec<Case> {
    why(&mut read(&file(name)).expect("a trace"), wanted).expect("there are flows")
}

const FLOW: &str = "[[flow]]\nkind = \"tcp-bulk\"\nfrom = 3\nto = 0\nbytes = 20000\n";

/// Networks in which packets look different between the hops.
fn networks() -> Vec<(&'static str, String)> {
    let line = "[topology]\nline = { hops = 3 }\n";
    let lossy = "duration_s = 60\n[medium]\nframe_loss = 0.1\n";
    let rpl =
        |more: &str| format!("{lossy}[net]\nrouting = \"rpl\"\n{more}{line}{FLOW}start_s = 25\n");
    vec![
        ("static.jsonl", format!("{lossy}{line}{FLOW}")),
        ("static.parquet", format!("{lossy}{line}{FLOW}")),
        ("open.jsonl", format!("{lossy}[mac]\nsecurity = false\n{line}{FLOW}")),
        ("mesh.jsonl", format!("{lossy}[net]\nrouting = \"mesh\"\n{line}{FLOW}start_s = 25\n")),
        ("storing.jsonl", rpl("")),
        ("non-storing.jsonl", rpl("rpl_mode = \"non-storing\"\n")),
        ("compressed.jsonl", rpl("rpl_mode = \"non-storing\"\nrpl_compression = true\n")),
        ("slow.jsonl", format!("{lossy}[radio]\nhost_cost_us_per_frame = 500\n{line}{FLOW}")),
        ("relayed.jsonl", format!("{lossy}[net]\nfragments = \"forwarded\"\n{line}{FLOW}")),
    ]
}

#[test]
fn identities_agree_with_the_counters_of_both_ends() {
    for (name, text) in networks() {
        let (result, rows) = traced(name, &text);
        let flow = &result.flows[0];
        let is = |row: &&Row, event: &str| row.event == event && row.flow == Some(0);
        let formed = rows.iter().filter(|row| is(row, "formed"));
        let forward: Vec<&Row> = formed.filter(|row| row.forward == Some(true)).collect();
        // The record leaves out the SYN, and the ACK of the peer's FIN.
        let (sent, formed) = (flow.segments_sent.expect("TCP"), forward.len() as u64);
        assert!(formed >= sent && formed <= sent + 3, "{name}: {sent}, {formed}");
        let again = forward.iter().filter(|row| row.again.is_some()).count() as u64;
        let counted = flow.retransmissions.expect("TCP");
        // Tail loss probes are sent again, and not counted as retransmissions.
        assert!(again >= counted && again <= counted + 10, "{name}: {again}, {counted}");
        let arrived: Vec<u64> = rows
            .iter()
            .filter(|row| is(row, "arrived") && row.node == Some(0) && row.forward == Some(true))
            .filter_map(|row| row.packet)
            .collect();
        let received = flow.segments_received.expect("TCP");
        let came = arrived.len() as u64;
        assert!(came >= received && came <= received + 3, "{name}: {received}, {came}");
        let known: Vec<u64> = forward.iter().filter_map(|row| row.packet).collect();
        assert!(arrived.iter().all(|packet| known.contains(packet)), "{name}");
        let read: u64 =
            rows.iter().filter(|row| is(row, "read")).filter_map(|row| row.octets).sum();
        assert_eq!(Some(read), flow.bytes, "{name}");
        let lost = cases(name, &Wanted { lost_only: true, acks: true, ..Wanted::default() });
        let forward_lost = lost.iter().filter(|case| known.contains(&case.packet)).count();
        let open = known.iter().filter(|packet| !arrived.contains(packet)).count();
        assert!(forward_lost <= open && open <= forward_lost + 1, "{name}: {forward_lost}, {open}");
    }
}

#[test]
fn a_packet_keeps_its_identity_over_all_hops() {
    let (_, rows) = traced("hops.jsonl", &networks()[0].1);
    let mut path: BTreeMap<u64, Vec<(u64, &str)>> = BTreeMap::new();
    let formed = |row: &Row| row.event == "formed" && row.node == Some(3);
    let ours: Vec<u64> = rows.iter().filter(|row| formed(row)).filter_map(|r| r.packet).collect();
    for row in &rows {
        if let (Some(packet), Some(node)) = (row.packet, row.node)
            && ["formed", "arrived", "dequeued"].contains(&&*row.event)
            && ours.contains(&packet)
        {
            path.entry(packet).or_default().push((node, &row.event));
        }
    }
    let whole = [
        (3, "formed"),
        (2, "arrived"),
        (2, "dequeued"),
        (1, "arrived"),
        (1, "dequeued"),
        (0, "arrived"),
    ];
    let of_flow = path.values().filter(|path| path.len() >= whole.len());
    assert!(of_flow.clone().count() > 40);
    assert!(of_flow.clone().all(|path| path[..whole.len()] == whole), "{path:?}");
}

#[test]
fn tracing_changes_no_result() {
    for (name, text) in networks() {
        let scenario = Scenario::from_toml(name, &text).expect("a scenario");
        let plain = run(&scenario, scenario.seed, &Options::default()).expect("it runs");
        let (traced, _) = traced(&format!("same-{name}"), &text);
        assert_eq!(plain.events, traced.events, "{name}");
        let records = |result: &RunResult| serde_json::to_value(&result.flows).expect("plain");
        assert_eq!(records(&plain), records(&traced), "{name}");
    }
}

#[test]
fn each_cause_of_a_loss_is_found() {
    let wire = "duration_s = 30\nseed = 3\n[topology]\nline = { hops = 1 }\n[wire]\nloss = 0.1\n\
                [[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 2\nbytes = 20000\n";
    let cut = "duration_s = 40\n[topology]\nline = { hops = 2 }\n[[fault]]\nkind = \"partition\"\n\
               nodes = [0]\nfrom_s = 2\nto_s = 12\n[[flow]]\nkind = \"tcp-bulk\"\nfrom = 2\n\
               to = 0\nbytes = 60000\n";
    let sender = |node: u32| {
        format!(
            "[[flow]]\nkind = \"udp-periodic\"\nfrom = {node}\nto = 0\nperiod_ms = 10\n\
             payload_bytes = 60\n"
        )
    };
    let places = ["0", "8", "16", "16\ny_m = 3"].map(|x| format!("[[node]]\nx_m = {x}\n")).concat();
    let queue =
        format!("duration_s = 10\n[net]\nqueue_packets = 1\n{places}{}{}", sender(2), sender(3));
    for (name, text, cause, node) in [
        ("wire.jsonl", wire, "lost on the wire to the host", None),
        ("cut.jsonl", cut, "not received", Some(1)),
        ("queue.jsonl", &queue, "discarded: net.queue_full", Some(1)),
    ] {
        let (_, rows) = traced(name, text);
        assert!(rows.len() > 100);
        let lost = cases(name, &Wanted { lost_only: true, ..Wanted::default() });
        let of = |case: &&Case| case.cause == cause && (node.is_none() || case.node == node);
        let found = lost.iter().filter(of).count();
        assert!(found > 0, "{name}: {lost:#?}");
        assert!(lost.iter().all(|case| case.fate == Fate::Lost && case.cause != "unknown"));
    }
}

#[test]
fn a_late_packet_says_where_its_time_went() {
    // Acknowledgments take longer than the timeout: data are sent again that arrive.
    let text = "duration_s = 60\n[tcp]\ninitial_rto_ms = 300\nmin_rto_ms = 50\n[topology]\n\
                line = { hops = 1 }\n[wire]\ndelay_ms = 400\n\
                [[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 2\nbytes = 3000\n";
    let (result, _) = traced("late.jsonl", text);
    assert!(result.flows[0].retransmissions > Some(0));
    let late = cases("late.jsonl", &Wanted::default());
    let found = late.iter().find(|case| case.fate == Fate::Late).expect("one is late");
    assert!(found.text.contains("It arrived after") && found.again.is_some(), "{}", found.text);
    let only = Wanted { packet: Some(found.packet), ..Wanted::default() };
    assert_eq!(cases("late.jsonl", &only).len(), 1);
}

#[test]
fn a_wire_that_duplicates_hides_no_loss() {
    let text = "duration_s = 60\nseed = 5\n[topology]\nline = { hops = 1 }\n[wire]\nloss = 0.1\n\
                duplicate = 0.3\n[[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 2\nbytes = 60000\n";
    let (result, rows) = traced("twice.jsonl", text);
    let flow = &result.flows[0];
    let lost = rows.iter().filter(|row| row.event == "wire" && row.fate.as_deref() == Some("lost"));
    let lost = lost.filter(|row| row.forward == Some(true)).count();
    let sent = flow.segments_sent.expect("TCP");
    let share = flow.segment_loss.expect("TCP");
    assert!(
        lost > 5 && (share * sent as f64 - lost as f64).abs() < 1.5,
        "{share} of {sent}, {lost}"
    );
    let twice = rows.iter().filter(|row| row.fate.as_deref() == Some("duplicated"));
    let twice = twice.filter(|row| row.forward == Some(true)).count() as u64;
    let seen = flow.duplicates.expect("counted");
    assert!(twice > 10 && seen.abs_diff(twice) <= 2, "{seen}, {twice}");
}
