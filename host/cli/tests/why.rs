//! `kinglet why` and its input files: a file that is not a trace is refused, with a hint.

mod common;

use common::kinglet;
use std::path::{Path, PathBuf};

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// A trace of a transfer that loses packets on the wire.
fn trace(name: &str) -> String {
    let (scenario, trace) = (scratch(&format!("{name}.toml")), scratch(name));
    let text = "duration_s = 20\n[topology]\nline = { hops = 1 }\n[wire]\nloss = 0.1\n\
                [[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 2\nbytes = 20000\n";
    std::fs::write(&scenario, text).expect("a scratch file");
    let (scenario, trace) = (scenario.display().to_string(), trace.display().to_string());
    let (code, _, err) = kinglet(&["sim", &scenario, "--seed", "3", "--trace", &trace]);
    assert_eq!(code, Some(0), "{err}");
    trace
}

#[test]
fn lost_packets_have_a_paragraph_each_and_a_summary() {
    let trace = trace("why-lost.jsonl");
    let (code, out, err) = kinglet(&["why", &trace, "--flow", "0", "--lost"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let paragraphs = out.split("\n\n").filter(|text| text.contains(": lost. TCP")).count();
    assert!(paragraphs > 0 && out.contains("Flow 0 (tcp-bulk):\n"), "{out}");
    let counted = out.lines().filter_map(|line| line.split_once(" lost: lost on the wire to the "));
    let counted: usize = counted.filter_map(|(count, _)| count.trim().parse::<usize>().ok()).sum();
    assert_eq!(counted, paragraphs, "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    let (code, json, _) = kinglet(&["why", &trace, "--lost", "--json"]);
    let cases: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((code, cases.as_array().map(Vec::len)), (Some(0), Some(paragraphs)));
    let packet = cases[0]["packet"].to_string();
    let (code, out, _) = kinglet(&["why", &trace, "--packet", &packet]);
    assert!(code == Some(0) && out.starts_with(&format!("Packet {packet} ")), "{out}");
}

#[test]
fn a_trace_that_was_cut_short_is_read_as_far_as_it_goes() {
    let trace = trace("why-cut.jsonl");
    let text = std::fs::read_to_string(&trace).expect("a trace");
    for (octets, needle) in [(text.len() / 2, "is not whole"), (text.len() - 30, "cut short")] {
        std::fs::write(&trace, &text[..octets]).expect("a scratch file");
        let (code, _, err) = kinglet(&["why", &trace]);
        assert_eq!(code, Some(0), "{err}");
        assert!(err.contains(needle) && err.contains("The part before that is used"), "{err}");
    }
    // Whole lines, without the last one.
    let end = text.trim_end().rfind('\n').expect("lines");
    std::fs::write(&trace, &text[..=end]).expect("a scratch file");
    let (code, _, err) = kinglet(&["why", &trace]);
    assert!(code == Some(0) && err.contains("without its last line"), "{err}");
    let parquet = self::trace("why-cut.parquet");
    let octets = std::fs::read(&parquet).expect("a trace");
    std::fs::write(&parquet, &octets[..octets.len() / 2]).expect("a scratch file");
    let (code, _, err) = kinglet(&["why", &parquet]);
    assert!(code == Some(2) && err.contains("was cut short: it has no last row"), "{err}");
}

#[test]
fn a_file_that_is_no_trace_is_refused_with_the_right_format() {
    let file = |name: &str, text: &str| {
        let path = scratch(name);
        std::fs::write(&path, text).expect("a scratch file");
        path.display().to_string()
    };
    let old = "{\"event\":\"begin\",\"trace\":0,\"kinglet\":\"0.0.9\"}\n";
    let none = scratch("why-none.jsonl").display().to_string();
    let directory = scratch("").display().to_string();
    let trace = trace("why-right.jsonl");
    for (arguments, code, needle) in [
        (
            vec!["why", &file("why-text.jsonl", "0.000192 1 cca clear\n")],
            2,
            "is not a trace; `kinglet",
        ),
        (
            vec!["why", &file("why-json.jsonl", "{\"flows\":[]}\n")],
            2,
            "is not a trace; `kinglet sim",
        ),
        (vec!["why", &file("why-empty.jsonl", "")], 2, "is empty"),
        (vec!["why", &file("why-old.jsonl", old)], 2, "version 0, written by kinglet 0.0.9"),
        (vec!["why", &none], 3, "No such file"),
        (vec!["why", &directory], 2, "is a directory"),
        (vec!["why", &trace, "--flow", "7"], 2, "no flow 7 in this trace, which has one flow"),
        (vec!["why", &trace, "--packet", "999999"], 2, "no packet 999999 in this trace"),
    ] {
        let (ended, out, err) = kinglet(&arguments);
        assert_eq!((ended, out.as_str()), (Some(code), ""), "{arguments:?}: {err}");
        assert!(err.contains(needle), "{arguments:?}: {err}");
        // A whole trace is not called cut short as well.
        assert_eq!(err.lines().count(), 1, "{arguments:?}: {err}");
    }
}

#[test]
fn captures_of_nodes_go_to_a_new_directory_and_to_no_other() {
    let scenario = scratch("why-captures.toml");
    let text = "duration_s = 5\n[topology]\nline = { hops = 1 }\n[wire]\n\
                [[flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 2\nbytes = 2000\n";
    std::fs::write(&scenario, text).expect("a scratch file");
    let scenario = scenario.display().to_string();
    let dir = scratch("why-captures");
    let _ = std::fs::remove_dir_all(&dir);
    let shown = dir.display().to_string();
    let (code, _, err) = kinglet(&["sim", &scenario, "--pcap", &shown]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains(&format!("-r {shown}/node-0.pcapng")), "{err}");
    for name in ["node-0.pcapng", "node-1.pcapng", "host.pcapng"] {
        let octets = std::fs::read(dir.join(name)).expect(name);
        assert_eq!(octets[..4], [0x0a, 0x0d, 0x0d, 0x0a], "{name}");
        let comment = b"packet 1";
        assert!(octets.windows(comment.len()).any(|part| part == comment), "{name}");
    }
    let (code, out, err) = kinglet(&["sim", &scenario, "--pcap", &shown]);
    assert_eq!((code, out.as_str()), (Some(3), ""));
    assert!(err.contains("exists and is not empty; give the name of a new one"), "{err}");
    let (code, _, err) = kinglet(&["sim", &scenario, "--pcap", "/proc/captures"]);
    assert!(code == Some(3) && err.contains("/proc/captures"), "{err}");
}
