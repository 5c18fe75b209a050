//! Modelled chips with their drivers as nodes: their captures and their energy are those of the
//! simulator's radio (decision 55).

use kinglet_network::run::{Options, RunResult, run};
use kinglet_scenario::Scenario;
use std::sync::atomic::{AtomicU32, Ordering};

/// Longest difference of the times of two frames of a flow without contention, per frame before
/// them that a node waited for: 41 us from the command to the assessment of the channel, and 24 us
/// from the end of a frame to its event.
const PER_FRAME_US: u64 = 65;
/// Start of the crystal oscillator before a transmission of a node that sleeps.
const OSCILLATOR_US: u64 = 360;

/// A frame on the air: its time and its PSDU.
struct Frame {
    at_us: u64,
    psdu: Vec<u8>,
}

fn frames(capture: &[u8]) -> Vec<Frame> {
    let word = |at: usize| {
        let octets = capture[at..at + 4].try_into().expect("four octets");
        u32::from_le_bytes(octets)
    };
    let (mut frames, mut at) = (Vec::new(), 24);
    while at < capture.len() {
        let at_us = u64::from(word(at)) * 1_000_000 + u64::from(word(at + 4));
        let (data, end) = (at + 16, at + 16 + word(at + 8) as usize);
        // A chip acknowledges with the power of its last frame, and before that with the greatest.
        let tap = usize::from(u16::from_le_bytes([capture[data + 2], capture[data + 3]]));
        frames.push(Frame { at_us, psdu: capture[data + tap..end].to_vec() });
        at = end;
    }
    frames
}

/// Runs a scenario of nRF52840s. The nodes `chips` are modelled chips.
fn run_with(chips: &str, rest: &str) -> (Vec<Frame>, RunResult) {
    run_of("nrf52840", chips, rest)
}

fn run_of(profile: &str, chips: &str, rest: &str) -> (Vec<Frame>, RunResult) {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let text = format!("[radio]\nprofile = \"{profile}\"\nchips = {chips}\n{rest}");
    let scenario = Scenario::from_toml("chips.toml", &text).expect("a valid scenario");
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    let name = format!("kinglet-chips-{}-{number}.pcap", std::process::id());
    let path = std::env::temp_dir().join(name);
    let options = Options { pcap: Some(path.clone()), ..Options::default() };
    let result = run(&scenario, 1, &options).expect("it can be simulated");
    let capture = std::fs::read(&path).expect("a capture");
    let _ = std::fs::remove_file(path);
    (frames(&capture), result)
}

/// Compares octets and order of all frames, and returns the largest difference of their times.
fn compare(radios: &[Frame], chips: &[Frame]) -> u64 {
    for (number, (radio, chip)) in radios.iter().zip(chips).enumerate() {
        let at = (radio.at_us, chip.at_us);
        assert_eq!(radio.psdu, chip.psdu, "frame {number}, at {at:?} us");
    }
    assert_eq!(radios.len(), chips.len(), "frames");
    let apart = radios.iter().zip(chips).map(|(radio, chip)| radio.at_us.abs_diff(chip.at_us));
    apart.max().unwrap_or_default()
}

fn assert_same_energy(radios: &RunResult, chips: &RunResult, share: f64) {
    for (radio, chip) in radios.nodes.iter().zip(&chips.nodes) {
        let change = chip.energy_mj / radio.energy_mj - 1.0;
        assert!(change.abs() < share, "node {}: energy differs by {change:+.4}", radio.id);
    }
}

const DATAGRAMS: &str = "
    [topology]
    line = { hops = 1 }
    [[flow]]
    kind = \"udp-periodic\"
    from = 1
    to = 0
    period_ms = 500
";

#[test]
fn datagrams_of_chips_are_those_of_radios() {
    let (radios, of_radios) = run_with("[]", DATAGRAMS);
    assert!(radios.len() > 200, "{} frames", radios.len());
    for chips in ["[0, 1]", "[0]", "[1]"] {
        let (chips, of_chips) = run_with(chips, DATAGRAMS);
        assert!(compare(&radios, &chips) <= PER_FRAME_US);
        assert_same_energy(&of_radios, &of_chips, 0.02);
    }
}

/// A leaf that polls, with datagrams in both directions that do not meet.
const LEAF: &str = "
    [topology]
    line = { hops = 2, leaves = [2] }
    [leaf]
    sleep_interval_s = 2
    [[flow]]
    kind = \"udp-periodic\"
    from = 2
    to = 0
    period_ms = 4000
    [[flow]]
    kind = \"udp-periodic\"
    from = 0
    to = 2
    period_ms = 8000
    start_s = 3.7
";

#[test]
fn a_chip_that_sleeps_sends_the_frames_and_draws_the_energy_of_a_radio() {
    for security in [true, false] {
        let rest = format!("{LEAF}[mac]\nsecurity = {security}");
        let (radios, of_radios) = run_with("[]", &rest);
        let (chips, of_chips) = run_with("[0, 1, 2]", &rest);
        let apart = compare(&radios, &chips);
        assert!(apart < OSCILLATOR_US + 4 * PER_FRAME_US, "{apart}");
        assert_same_energy(&of_radios, &of_chips, 0.02);
        let causes = of_radios.nodes[2].radio_s.parts().into_iter();
        for ((cause, radio), (_, chip)) in causes.zip(of_chips.nodes[2].radio_s.parts()) {
            let apart = (radio - chip).abs();
            assert!(apart < 0.15 * radio + 0.002, "{cause}: {radio} s and {chip} s");
        }
        assert!(
            of_chips.flows.iter().all(|flow| flow.bytes > Some(0)),
            "datagrams in both directions"
        );
    }
}

/// A stream from the last node of a line to the first.
fn stream(hops: u32) -> String {
    format!(
        "[topology]
         line = {{ hops = {hops} }}
         [[flow]]
         kind = \"tcp-bulk\"
         from = {hops}
         to = 0"
    )
}

fn assert_same_goodput(radios: &RunResult, chips: &RunResult, share: f64) {
    let goodput = |of: &RunResult| of.flows[0].goodput_kbps.expect("octets have arrived");
    let change = goodput(chips) / goodput(radios) - 1.0;
    assert!(change.abs() < share, "goodput differs by {change:+.4}");
}

#[test]
fn tcp_between_chips_is_as_fast_as_between_radios() {
    // Over several hops, microseconds decide which frames of hidden nodes collide.
    let runs = [
        (1, "[0, 1]", 0.02),
        (2, "[0, 1, 2]", 0.06),
        (3, "[0, 1, 2, 3]", 0.06),
        (3, "[1, 3]", 0.06),
    ];
    for (hops, nodes, share) in runs {
        let rest = stream(hops);
        let (_, of_radios) = run_with("[]", &rest);
        let (_, of_chips) = run_with(nodes, &rest);
        assert_same_goodput(&of_radios, &of_chips, share);
        assert_same_energy(&of_radios, &of_chips, 0.02);
    }
}

#[test]
fn datagrams_and_streams_of_an_at86rf233_are_those_of_its_radio() {
    let (radios, of_radios) = run_of("at86rf233", "[]", DATAGRAMS);
    for chips in ["[0, 1]", "[0]", "[1]"] {
        let (chips, of_chips) = run_of("at86rf233", chips, DATAGRAMS);
        assert!(compare(&radios, &chips) <= PER_FRAME_US);
        assert_same_energy(&of_radios, &of_chips, 0.02);
    }
    // The chip receives frames for other nodes to their ends, and loads its frame after that.
    for (hops, nodes, share) in [(1, "[0, 1]", 0.03), (3, "[0, 1, 2, 3]", 0.10)] {
        let (_, of_radios) = run_of("at86rf233", "[]", &stream(hops));
        let (_, of_chips) = run_of("at86rf233", nodes, &stream(hops));
        assert_same_goodput(&of_radios, &of_chips, share);
        assert_same_energy(&of_radios, &of_chips, 0.02);
    }
}

/// The radio has the typical settling times of the data sheet; those of the chip are drawn between
/// these and the longest, with the synthesiser on. The chip does not know data requests with link
/// security.
#[test]
fn an_at86rf233_that_sleeps_sends_the_frames_of_its_radio() {
    let rest = format!("{LEAF}[mac]\nsecurity = false");
    let (radios, of_radios) = run_of("at86rf233", "[]", &rest);
    let (chips, of_chips) = run_of("at86rf233", "[0, 1, 2]", &rest);
    assert!(compare(&radios, &chips) < 1_500);
    assert_same_energy(&of_radios, &of_chips, 0.05);
}
