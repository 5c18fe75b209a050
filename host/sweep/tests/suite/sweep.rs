//! Sweep files: their plans, and their errors.

use kinglet_sweep::sweep::{Plan, Sweep};
use std::path::Path;

const FLOW: &str = "[[scenario.flow]]\nkind = \"tcp-bulk\"\nfrom = 1\nto = 0\n";

/// A sweep of one hop with these lines before its scenario.
fn text(above: &str) -> String {
    format!("{above}\n[scenario.topology]\nline = {{ hops = 1 }}\n{FLOW}")
}

fn plan(text: &str) -> Result<Plan, String> {
    let sweep = Sweep::from_toml(Path::new("s.toml"), text);
    sweep.and_then(Plan::new).map_err(|error| error.to_string())
}

fn error(above: &str) -> String {
    plan(&text(above)).expect_err("must be refused")
}

#[test]
fn every_value_meets_every_other_one_with_every_seed_the_last_field_first() {
    let plan = plan(&text(
        "seeds = [3, 5]\n[fields]\ntcp.nagle = [true, false]\n\"mac.max_be\" = [4, 5, 6]\n",
    ))
    .expect("a sweep");
    assert_eq!(plan.sweep().fields(), ["tcp.nagle", "mac.max_be"]);
    let runs: Vec<(usize, u64)> = plan.runs().iter().map(|run| (run.point, run.seed)).collect();
    assert_eq!(runs.len(), 12);
    assert_eq!(runs[..3], [(0, 3), (0, 5), (1, 3)]);
    let scenario = plan.scenario(&plan.runs()[8]).expect("a scenario");
    assert!(!scenario.tcp.connection.nagle);
    assert_eq!(scenario.mac.csma_params.max_be, 5);
    let keys: std::collections::BTreeSet<_> = plan.runs().iter().map(|run| &run.key).collect();
    assert_eq!(keys.len(), 12, "no two runs are the same");
}

#[test]
fn the_same_sweep_says_the_same_when_it_was_sent_elsewhere() {
    let plan = plan(&text("[fields]\nflow.0.start_s = [1.5, 2]\n")).unwrap();
    let sent = Sweep::from_json(&plan.sweep().to_json().unwrap()).unwrap();
    for run in plan.runs() {
        assert_eq!(sent.scenario(run.point), plan.scenario(run));
    }
}

#[test]
fn errors_are_reported_with_line_field_and_allowed_values() {
    for (above, expected) in [
        (
            "\n[fields]\ntcp.ack_evry = [1]\n",
            "s.toml:3:17: tcp.ack_evry: unknown key; did you mean `ack_every`?",
        ),
        ("[fields]\ntcpp.nagle = [true]\n", "s.toml:2:15: tcpp: unknown key; did you mean `tcp`?"),
        (
            "[fields]\nmac.max_be = [4,\n  9]\n",
            "s.toml:3:3: mac.max_be: 9 is out of range; allowed are 3 to 8",
        ),
        (
            "[fields]\nflow.1.bytes = [4]\n",
            "s.toml:2:17: flow.1.bytes: `flow` has 1 entries, numbered from 0, but not 1",
        ),
        ("[fields]\nflow.0.to = [0, 7]\n", "s.toml:2:17: flow[0].to: 7 is out of range"),
        ("[fields]\ntcp.nagle = true\n", "s.toml:2:13: fields.tcp.nagle: expected a list of"),
        ("[fields]\ntcp.nagle = []\n", "s.toml:2:5: tcp.nagle: no values"),
        ("[fields]\nseed = [1]\n", "s.toml:2:1: seed: give them as `seeds`"),
        ("seeds = []\n[fields]\n", "s.toml:1:1: seeds: no seeds"),
        ("sedes = [1]\n[fields]\n", "s.toml:1:1: sedes: unknown key; did you mean `seeds`?"),
        ("seeds = { cuont = 3 }\n[fields]\n", "s.toml:1:9: seeds: give `count`, how many"),
        ("base = \"x.toml\"\n[fields]\n", "base: give either `base` or [scenario], not both"),
        ("seeds = [1]\n", "s.toml:1:1: missing; give a table [fields] of lists"),
        (
            "[fields]\ntcp = [{}]\ntcp2.nagle = [true]\n\"tcp.nagle\" = [true]\n",
            "s.toml:4:16: tcp.nagle: `tcp` is varied as well",
        ),
        ("[fields\n", "s.toml:1:"),
    ] {
        let error = error(above);
        assert!(error.starts_with(expected) || error.ends_with(expected), "{error}\n{expected}");
    }
}

#[test]
fn a_fault_of_the_base_is_found_where_the_base_has_it() {
    let text = text("[fields]\nmac.max_be = [4]\n").replace("from = 1", "portt = 5\nfrom = 1");
    let line = text.lines().position(|line| line == "portt = 5").unwrap() + 1;
    let error = plan(&text).unwrap_err();
    assert!(error.starts_with(&format!("s.toml:{line}:1: flow[0].portt: unknown key")), "{error}");

    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let sweep = dir.join("elsewhere.toml");
    let from = |base: &str| {
        let text = format!("base = \"{base}\"\n[fields]\ntcp.nagle = [true]\n");
        let sweep = Sweep::from_toml(&sweep, &text);
        sweep.and_then(Plan::new).unwrap_err().to_string()
    };
    std::fs::write(dir.join("base.toml"), "[topology]\nline = { hops = 0 }\n").unwrap();
    let expected =
        format!("{}:2:10: topology.line.hops: 0 is out", dir.join("base.toml").display());
    assert!(from("base.toml").starts_with(&expected), "{}", from("base.toml"));
    let error = from("nowhere.toml");
    assert!(error.contains("elsewhere.toml:1:8: base: ") && error.contains("nowhere"), "{error}");
}

#[test]
fn a_value_that_cannot_be_simulated_is_reported_before_any_run() {
    let error = error("[fields]\ntcp.send_buffer_bytes = [1000, 1000000]\n");
    assert!(error.contains("a TCP buffer of 1000000 octets"), "{error}");
    assert!(error.ends_with("(with tcp.send_buffer_bytes = 1000000)"), "{error}");
}

#[test]
fn the_example_is_a_sweep() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/sweeps/window.toml");
    let plan = Sweep::from_file(&file).and_then(Plan::new).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(plan.runs().len(), 36);
}
