//! The octets on the air, and their times, match recorded captures: scenarios `captures/NAME.toml`
//! with `captures/NAME.pcap`. If a capture changes on purpose, the change that causes it also
//! records it again: `kinglet sim NAME.toml --pcap NAME.pcap`.

use kinglet_network::run::{Options, run};
use kinglet_scenario::Scenario;
use std::path::{Path, PathBuf};

/// Octets before the first record of a capture.
const FILE_HEADER: usize = 24;
/// Octets before each frame: seconds, microseconds, the frame's length twice.
const RECORD_HEADER: usize = 16;

/// A record of a capture.
#[derive(Debug, PartialEq, Eq)]
struct Frame {
    at_us: u64,
    /// TAP header and PSDU.
    octets: Vec<u8>,
}

fn word(octets: &[u8], at: usize) -> u32 {
    let word = octets.get(at..at + 4).expect("a whole record");
    u32::from_le_bytes(word.try_into().expect("four octets"))
}

fn frames(path: &Path) -> Vec<Frame> {
    let capture = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (mut frames, mut at) = (Vec::new(), FILE_HEADER);
    while at < capture.len() {
        let at_us = u64::from(word(&capture, at)) * 1_000_000 + u64::from(word(&capture, at + 4));
        let end = at + RECORD_HEADER + word(&capture, at + 8) as usize;
        let octets = capture.get(at + RECORD_HEADER..end).expect("a whole record").to_vec();
        frames.push(Frame { at_us, octets });
        at = end;
    }
    frames
}

/// Simulates a scenario, and returns its frames.
fn simulated(name: &str, scenario: &Path) -> Vec<Frame> {
    let text = std::fs::read_to_string(scenario).expect("the scenario can be read");
    let scenario = Scenario::from_toml(name, &text).expect("a valid scenario");
    let capture =
        std::env::temp_dir().join(format!("kinglet-again-{name}-{}.pcap", std::process::id()));
    let options = Options { pcap: Some(capture.clone()), ..Options::default() };
    run(&scenario, scenario.seed, &options).expect("it can be simulated");
    let frames = frames(&capture);
    let _ = std::fs::remove_file(capture);
    frames
}

fn compare(name: &str) {
    let file: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name);
    let recorded = frames(&file.with_extension("pcap"));
    let now = simulated(name, &file.with_extension("toml"));
    let pairs = recorded.iter().zip(&now).zip(1..);
    for ((recorded, now), number) in pairs {
        assert_eq!(recorded, now, "{name}: frame {number}, recorded and now");
    }
    assert_eq!(recorded.len(), now.len(), "{name}: the frames before that are alike");
    assert!(recorded.len() > 40, "{name}: too little to compare");
}

#[test]
fn the_defaults_over_two_hops_that_lose_frames() {
    compare("defaults");
}

#[test]
fn the_papers_settings_over_three_hops() {
    compare("paper");
}

#[test]
fn a_leaf_that_sleeps() {
    compare("leaf");
}

#[test]
fn a_leaf_that_samples() {
    compare("sampled");
}

#[test]
fn a_mesh_that_forms() {
    compare("mesh");
}

#[test]
fn relays_without_short_addresses_that_forward_fragments() {
    compare("eui64");
}

#[test]
fn relays_that_mark_segments_that_adapt_and_datagrams_in_fragments() {
    compare("congested");
}
