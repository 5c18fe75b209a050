//! Valid and invalid contents of `[[interference]]`.

use super::*;
use crate::Scenario;
use crate::simulated::interferer_of;
use kinglet_sim::interference::{Heard, Pattern};
use std::path::PathBuf;

const LINE: &str = "[topology]\nline = { hops = 3 }\n[[interference]]\n";

fn read_of(keys: &str) -> std::result::Result<Interferer, String> {
    let scenario = Scenario::from_toml("s.toml", &format!("{LINE}{keys}\n"));
    scenario.map(|mut s| s.interference.remove(0)).map_err(|error| error.to_string())
}

fn refused(keys: &str) -> String {
    read_of(keys).expect_err(keys)
}

/// A directory of this test with a scenario and a trace.
fn files(name: &str, keys: &str, trace: &str) -> PathBuf {
    let at = std::env::temp_dir().join(format!("kinglet-trace-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&at).expect("a directory");
    let text = format!("{LINE}source = \"trace\"\nnode = 2\nfile = \"oven.csv\"\n{keys}\n");
    std::fs::write(at.join("s.toml"), text).expect("written");
    std::fs::write(at.join("oven.csv"), trace).expect("written");
    at
}

#[test]
fn one_node_hears_a_source_at_a_mean_level() {
    let one =
        read_of("source = \"microwave\"\nnode = 2\nmean_dbm = -98\nfrom_s = 1\nuntil_s = 2.5")
            .expect("valid");
    assert_eq!((one.node, one.mean_dbm, one.range_db), (Some(2), Some(-98.0), None));
    assert_eq!((one.from_s, one.until_s), (1.0, Some(2.5)));
    let some = read_of("source = \"wifi-file\"\nlowest_channel = 16\nhighest_channel = 19");
    assert_eq!(interferer_of(&some.expect("valid")).channels, 16..=19);
    assert_eq!(interferer_of(&one).channels, 11..=26);
    let cell = read_of("source = \"wifi-saturated\"\nstations = 5").expect("valid");
    assert_eq!((cell.source, cell.stations), (Source::WifiSaturated, 5));
    let usual = read_of("source = \"wifi-saturated\"").expect("valid");
    assert_eq!((usual.stations, usual.power_dbm), (25, Source::WifiFile.usual_dbm()));
}

#[test]
fn keys_that_exclude_or_need_others_are_named() {
    for key in ["x_m = 3", "y_m = 3", "power_dbm = 3"] {
        let message = refused(&format!("source = \"microwave\"\nnode = 2\nmean_dbm = -98\n{key}"));
        let name = key.split(' ').next().expect("a name");
        let expected = format!("interference[0].{name}: give either {name} or node, not both");
        assert!(message.ends_with(&expected), "{message}");
    }
    for (keys, expected) in [
        ("source = \"microwave\"\nnode = 2", "mean_dbm: missing; give the mean level"),
        ("source = \"microwave\"\nmean_dbm = -98", "mean_dbm: has no meaning without node"),
        ("source = \"microwave\"\nnode = 4\nmean_dbm = -98", "node: 4 is out of range; allowed"),
        ("source = \"microwave\"\nrange_db = 50", "range_db: has no meaning without mean_dbm"),
        ("source = \"microwave\"\nstations = 5", "stations: has no meaning without source = \"w"),
        ("source = \"microwave\"\nfile = \"a\"", "file: has no meaning without source = \"trace\""),
        ("source = \"microwave\"\ngain_db = 5", "gain_db: has no meaning without source"),
        (
            "source = \"microwave\"\nlowest_channel = 20\nhighest_channel = 19",
            "highest_channel: 19",
        ),
        ("source = \"wifi-saturated\"\nstations = 51", "stations: 51 is out of range"),
        ("source = \"trace\"\nnode = 1", "file: missing; give the path"),
        ("source = \"trace\"\nfile = \"a\"", "node: missing; a trace is what one node received"),
        ("source = \"bluetooth\"\nfrom_s = 5\nuntil_s = 4", "until_s: 4 is out of range"),
    ] {
        let message = refused(keys);
        assert!(message.contains(&format!("interference[0].{expected}")), "{message}");
    }
    let gone = refused("source = \"trace\"\nnode = 1\nfile = \"no/such.csv\"");
    assert!(gone.starts_with("s.toml:6:8: interference[0].file: no/such.csv cannot be read"));
}

#[test]
fn a_trace_is_read_from_the_folder_of_the_scenario() {
    let read = |name: &str, keys: &str, trace: &str| {
        let at = files(name, keys, trace);
        let scenario = Scenario::from_file(&at.join("s.toml"));
        std::fs::remove_dir_all(&at).expect("removed");
        scenario.map(|mut s| s.interference.remove(0))
    };
    let one = read("times", "gain_db = 10", "0,-90\n100,-40\n").expect("valid");
    let trace = one.trace.expect("read");
    assert_eq!((trace.samples(), trace.length_us(), trace.mean_dbm()), (2, 200, -65.0));
    assert_eq!(one.gain_db, 10.0);
    let one = read("step", "step_us = 50\nmean_dbm = -76", "-90\n-40\n").expect("valid");
    assert_eq!(one.trace.map(|trace| trace.length_us()), Some(100));
    let error = read("wrong", "", "0,-90\n100,loud\n").expect_err("no number");
    assert_eq!((error.position, error.field.as_str()), (Some((2, 5)), "interference[0].file"));
    assert!(error.file.ends_with("oven.csv"), "{error}");
    let both = read("both", "gain_db = 1\nmean_dbm = -76", "0,-90\n100,-40\n");
    assert!(both.expect_err("both").message.contains("either gain_db or mean_dbm"));
    let range = read("range", "mean_dbm = -76\nrange_db = 30", "0,-90\n100,-40\n");
    assert!(range.expect_err("its own").message.contains("its own difference"));
}

#[test]
fn the_simulator_gets_the_settings_of_the_file() {
    let passed = |keys: &str| interferer_of(&read_of(keys).expect("valid"));
    let oven =
        passed("source = \"microwave\"\nnode = 2\nmean_dbm = -98\nfrom_s = 1\nuntil_s = 2.5");
    let by = |range_db| Heard::By { node: 2, mean_dbm: -98.0, range_db };
    assert_eq!((oven.heard, oven.within_us), (by(MICROWAVE_RANGE_DB), 1_000_000..2_500_000));
    let other = passed("source = \"bluetooth\"\nnode = 2\nmean_dbm = -98\nrange_db = 40");
    assert_eq!((other.heard, other.within_us), (by(40.0), 0..u64::MAX));
    let around = passed("source = \"wifi-saturated\"\nx_m = 3\nstations = 5");
    assert!(matches!(around.heard, Heard::Around { position, .. } if position.x_m == 3.0));
    assert!(matches!(around.pattern, Pattern::Saturated(_)));
    let code = interferer_of(&Interferer::heard_by(2, Source::Microwave, -98.0));
    assert_eq!(code.heard, by(MICROWAVE_RANGE_DB));
    // The gain is added to the recorded level.
    let trace = Some(Arc::new(Trace::parse("-90\n-40\n", Some(50)).expect("valid")));
    let mut played = Interferer { trace, ..Interferer::heard_by(2, Source::Trace, -76.0) };
    assert!(matches!(interferer_of(&played).heard, Heard::By { mean_dbm: -76.0, .. }));
    (played.mean_dbm, played.gain_db) = (None, 7.0);
    assert!(matches!(interferer_of(&played).heard, Heard::By { mean_dbm: -58.0, .. }));
}
