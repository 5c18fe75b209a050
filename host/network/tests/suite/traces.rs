//! The trace of all layers: identities of packets against the counters of the stack, and the output
//! of `kinglet why` for lost packets.

use kinglet::time::{Duration, Instant};
use kinglet_network::apps::bulk::{BulkSender, BulkSink};
use kinglet_network::build::{Ends, Network, app_at, restart};
use kinglet_network::capture::Observations;
use kinglet_network::run::{LossResult, Options, RunResult, prepare, run};
use kinglet_network::trace::{Case, Fate, Row, Wanted, opening, read, sink, why};
use kinglet_scenario::Scenario;
use kinglet_sim::trace::Tracer;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;

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

/// Traces a network while `drive` runs it, and reads the trace.
fn driven<R>(
    name: &str,
    scenario: &Scenario,
    drive: impl FnOnce(&mut Network, &[Ends]) -> R,
) -> (R, Vec<Row>) {
    let (mut network, ends) = prepare(scenario, scenario.seed).expect("it can be simulated");
    let (failed, failures) = channel();
    let out = Observations::create(&file(name), failed).expect("a file");
    let sink = sink(scenario, scenario.seed, &file(name), out).expect("a trace begins");
    network.set_trace(Some(Tracer::new(opening(scenario), sink)));
    let result = drive(&mut network, &ends);
    network.set_trace(None);
    assert_eq!(failures.try_iter().next(), None);
    (result, read(&file(name)).expect("a trace").collect())
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
fn both_forms_of_a_trace_have_the_same_rows() {
    let flow = FLOW.replace("20000", "40000");
    let text = format!("duration_s = 30\n[topology]\nline = {{ hops = 3 }}\n{flow}");
    let (_, lines) = traced("form.jsonl", &text);
    let (_, columns) = traced("form.parquet", &text);
    assert_eq!(lines, columns);
    // More than one group of Parquet, and values of every type.
    assert!(lines.len() > 9_000, "{}", lines.len());
    assert!(lines.iter().any(|row| !row.overlapping.is_empty()));
    assert!(lines.iter().any(|row| row.forward == Some(false)));
    assert!(lines.iter().any(|row| row.waited_s.is_some_and(|s| s > 0.0)));
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
        let again = forward.iter().filter(|row| row.retransmission.is_some()).count() as u64;
        let counted = flow.retransmissions.expect("TCP");
        // Tail loss probes repeat data, and are not counted as retransmissions.
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
    // Acknowledgments take longer than the timeout: data that arrive are retransmitted.
    let text = "duration_s = 60\n[tcp]\ninitial_rto_ms = 300\nmin_rto_ms = 50\n[topology]\n\
                line = { hops = 1 }\n[wire]\ndelay_ms = 400\n\
                [[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 2\nbytes = 3000\n";
    let (result, _) = traced("late.jsonl", text);
    assert!(result.flows[0].retransmissions > Some(0));
    let late = cases("late.jsonl", &Wanted::default());
    let found = late.iter().find(|case| case.fate == Fate::Late).expect("one is late");
    assert!(
        found.text.contains("It arrived after") && found.retransmission.is_some(),
        "{}",
        found.text
    );
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

#[test]
fn a_node_that_is_cut_off_loses_its_parent_in_record_and_trace() {
    let cut = |routing: &str, more: &str| {
        format!(
            "duration_s = 200\n[net]\nrouting = \"{routing}\"\n{more}\
             [topology]\nline = {{ hops = 2 }}\n\
             [[fault]]\nkind = \"partition\"\nnodes = [0]\nfrom_s = 60.5\n[[flow]]\n\
             kind = \"udp-periodic\"\nfrom = 2\nto = 0\nperiod_ms = 1000\npayload_bytes = 40\n"
        )
    };
    for (name, text, what) in [
        ("lost-mesh.jsonl", cut("mesh", ""), ["parent", "neighbour"]),
        ("lost-rpl.jsonl", cut("rpl", ""), ["parent", "parent"]),
        ("lost-nd.parquet", cut("rpl", "discovery = true\n"), ["parent", "parent"]),
    ] {
        let (result, rows) = traced(name, &text);
        for what in what {
            let of = |it: &&LossResult| it.node == 1 && it.loss.relation == what && it.at_s > 60.5;
            let lost = result.losses.iter().find(of).expect(name);
            assert!(lost.loss.reasons.contains_key("mac"), "{name}: {lost:?}");
            assert_eq!(lost.at_s, lost.at_s.round(), "{name}: {lost:?}");
        }
        let rows: Vec<&Row> = rows.iter().filter(|row| row.event == "lost").collect();
        assert_eq!(rows.len(), result.losses.len(), "{name}");
        for (row, lost) in rows.iter().zip(&result.losses) {
            assert_eq!(row.relation.as_deref(), Some(lost.loss.relation));
            assert_eq!(row.to, Some(lost.loss.address.to_string()));
            assert_eq!((row.node, row.t_s), (Some(lost.node.into()), lost.at_s));
            assert_eq!(row.reason.is_some(), !lost.loss.reasons.is_empty());
        }
    }
    // Without relations there are no losses of relations.
    let (result, rows) = traced("lost-static.jsonl", &cut("static", ""));
    assert!(result.losses.is_empty() && rows.iter().all(|row| row.event != "lost"));
    let json = serde_json::to_value(&result).expect("plain");
    assert!(json.get("losses").is_none() && json.get("losses_omitted").is_none());
}

/// Segments of the flow's connection by the counters of sender and receiver.
fn segments(network: &Network, ends: Ends) -> (u64, u64) {
    let sender = app_at::<BulkSender>(network, ends.from).and_then(BulkSender::info);
    let sink = app_at::<BulkSink>(network, ends.to).and_then(BulkSink::info);
    let (sender, sink) = (sender.expect("it has begun"), sink.expect("it has begun"));
    (sender.counters.segments_sent.into(), sink.counters.segments_received.into())
}

/// Packets of a trace in a time span: formed, and arrived at node `to`.
fn identities(rows: &[Row], to: u64, (from_s, to_s): (f64, f64)) -> (u64, u64) {
    let rows = rows.iter().filter(|row| row.forward == Some(true));
    let rows = rows.filter(|row| (from_s..to_s).contains(&row.t_s));
    let formed: Vec<_> = rows.clone().filter(|r| r.event == "formed").map(|r| r.packet).collect();
    let here = rows.filter(|row| row.event == "arrived" && row.node == Some(to));
    let arrived = here.filter(|row| formed.contains(&row.packet)).count();
    (formed.len() as u64, arrived as u64)
}

#[test]
fn identities_agree_where_frames_have_eui_64_addresses() {
    let text = "[medium]\nframe_loss = 0.1\n[topology]\nline = { hops = 2 }\n\
                [[flow]]\nkind = \"tcp-bulk\"\nfrom = 2\nto = 0\nbytes = 20000\n";
    for (name, more) in [("eui.jsonl", ""), ("eui-open.jsonl", "security = false\n")] {
        let text = format!("[mac]\naddresses = \"eui64\"\n{more}{text}");
        let scenario = Scenario::from_toml(name, &text).expect("a scenario");
        let ((sent, received), rows) = driven(name, &scenario, |network, ends| {
            network.run_until(Instant::from_secs(60));
            assert_eq!(
                app_at::<BulkSink>(network, ends[0].to).map(BulkSink::received),
                Some(20_000)
            );
            segments(network, ends[0])
        });
        let (formed, arrived) = identities(&rows, 0, (0.0, 60.0));
        assert!(formed >= sent && formed <= sent + 2, "{name}: {sent}, {formed}");
        // The SYN goes to the listener, and the ACK of a FIN to no application.
        assert!(arrived >= received && arrived <= received + 3, "{name}: {received}, {arrived}");
        let frames = rows.iter().filter(|row| row.event == "attempt" && row.packet.is_some());
        let mut receivers: Vec<_> = frames.map(|row| row.to.clone().unwrap_or_default()).collect();
        receivers.sort();
        receivers.dedup();
        assert_eq!(receivers, ["node 0", "node 1", "node 2"], "{name}");
        let wanted = Wanted { lost_only: true, acks: true, ..Wanted::default() };
        let lost = cases(name, &wanted).iter().filter(|case| case.from.contains("::1:3]")).count();
        let open = formed - arrived;
        assert!(lost as u64 <= open && open <= lost as u64 + 1, "{name}: {lost}, {open}");
    }
}

#[test]
fn a_node_that_restarts_begins_again_in_the_trace() {
    let text = "duration_s = 200\n[mac]\nsecurity = false\nmax_frame_retries = 5\n\
                [medium]\nframe_loss = 0.1\n[topology]\nline = { hops = 2 }\n\
                [[flow]]\nkind = \"tcp-bulk\"\nfrom = 2\nto = 0\n";
    let name = "restart.jsonl";
    let scenario = Scenario::from_toml(name, text).expect("a scenario");
    let seconds = |network: &Network| network.now().as_micros() as f64 / 1e6;
    let ((relay_s, ends_s, first, second, reasons), rows) =
        driven(name, &scenario, |network, ends| {
            network.run_until(Instant::from_secs(20));
            // The relay restarts while a packet waits there.
            while network.device(1).node().net().info().queued == 0 {
                network.run_until(network.now() + Duration::from_millis(1));
            }
            let relay_s = seconds(network);
            restart(network, &scenario, 1, 8);
            network.run_until(Instant::from_secs(60));
            let (first, ends_s) = (segments(network, ends[0]), seconds(network));
            restart(network, &scenario, 0, 9);
            restart(network, &scenario, 2, 10);
            network.run_until(Instant::from_secs(120));
            let mut reasons = BTreeMap::new();
            network.device(1).reasons(|layer, reason, count| {
                let name = kinglet_apps::SnakeCase(reason).to_string();
                *reasons.entry((layer.to_owned(), name)).or_insert(0) += u64::from(count);
            });
            reasons.retain(|_, count| *count > 0);
            (relay_s, ends_s, first, segments(network, ends[0]), reasons)
        });
    let restarts: Vec<_> = rows.iter().filter(|row| row.event == "restarted").collect();
    let restarts: Vec<_> = restarts.iter().map(|row| (row.node, row.t_s)).collect();
    assert_eq!(restarts, [(Some(1), relay_s), (Some(0), ends_s), (Some(2), ends_s)]);
    for ((sent, received), span) in [(first, (0.0, ends_s)), (second, (ends_s, 121.0))] {
        let (formed, arrived) = identities(&rows, 0, span);
        // Some wait for the radio, and have no identity yet.
        assert!(formed <= sent && sent <= formed + 4, "{span:?}: {sent}, {formed}");
        assert!(arrived >= received && arrived <= received + 3, "{span:?}: {received}, {arrived}");
        let writes = rows.iter().filter(|row| row.event == "write" && row.node == Some(2));
        let write = writes.clone().find(|row| row.t_s >= span.0).expect("it writes");
        assert_eq!(write.offset, Some(0), "a stream begins");
    }
    let mut counted = BTreeMap::new();
    for row in rows.iter().filter(|row| row.event == "discarded" && row.node == Some(1)) {
        let (Some(layer), Some(reason)) = (row.layer.as_deref(), row.reason.clone()) else {
            continue;
        };
        if row.t_s >= relay_s {
            *counted.entry((layer.to_owned(), reason)).or_insert(0) += row.count.unwrap_or(0);
        }
    }
    assert_eq!(counted, reasons);
    // The packet that waits at the relay may be an acknowledgment.
    let lost = cases(name, &Wanted { lost_only: true, acks: true, ..Wanted::default() });
    let by_restart: Vec<_> =
        lost.iter().filter(|case| case.cause == "its node restarted").collect();
    assert!(by_restart.iter().any(|case| case.node == Some(1)), "{lost:#?}");
    assert!(by_restart.len() <= 6 && lost.len() > by_restart.len(), "{by_restart:#?}");
}

/// While the link is broken TCP has segments in flight and sends no other, so that a write changes
/// no counter of any layer.
#[test]
fn what_a_timer_does_is_in_the_trace_at_its_time() {
    let text = "duration_s = 30\n[topology]\nline = { hops = 1 }\n[[flow]]\nkind = \"anemometer\"\n\
                from = 1\nto = 0\nbatch = 1\n[[fault]]\nkind = \"partition\"\nnodes = [1]\n\
                from_s = 10\nto_s = 30\n";
    let (_, rows) = traced("timers.jsonl", text);
    let written = rows.iter().filter(|row| row.event == "write" && row.node == Some(1));
    let times: Vec<f64> = written.map(|row| row.t_s).collect();
    let count = times.iter().filter(|t| **t > 10.0).count();
    assert!(count >= 19, "{times:?}");
    let periods = times.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(periods.into_iter().all(|period| (period - 1.0).abs() < 1e-6), "{times:?}");
}
