//! Transfers of files over paths.

use kinglet_pip::{Forwarding, Node, NodeOutcome, Outcome, PAYLOAD, PipConfig, transfer, world};
use kinglet_radio::MAX_PSDU;
use kinglet_sim::interference::{Heard, Interferer, WIFI_FILE, WIFI_RANGE_DB};
use kinglet_sim::medium::Overlap;
use kinglet_sim::stats::Fate;
use kinglet_sim::{Fault, World};
use kinglet_time::{Duration, Instant};

const ALL: [Forwarding; 3] = [Forwarding::Between, Forwarding::Pipelined, Forwarding::Conditional];

/// Asserts that the file has arrived unchanged.
fn assert_whole(config: &PipConfig, outcome: &Outcome) {
    let whole = outcome.complete && outcome.intact && outcome.octets == config.octets;
    assert!(whole, "{config:?}: {outcome:?}");
}

fn run(config: &PipConfig) -> Outcome {
    let outcome = transfer(config, 1);
    assert_whole(config, &outcome);
    outcome
}

/// Capacity of a path: a full frame in two slots, from two hops on. Over one hop the source also
/// has every other slot.
fn most_kbps(config: &PipConfig) -> f64 {
    PAYLOAD as f64 * 8e3 / (2 * config.slots().length().as_micros()) as f64
}

#[test]
fn the_rate_is_that_of_the_slots_whatever_the_number_of_hops() {
    for hops in 1..=10 {
        let config = PipConfig::new(hops, 40_000);
        let outcome = run(&config);
        assert_eq!(outcome.rounds, 0);
        let share = outcome.goodput_kbps / most_kbps(&config);
        assert!((0.98..1.0).contains(&share), "{hops} hops: {}", outcome.goodput_kbps);
    }
}

#[test]
fn it_is_as_fast_as_the_two_implementations_were() {
    // The original 63 kb/s, the paper's 73. Neither says which octets are counted: here the file
    // alone, and then whole frames.
    let goodput = run(&PipConfig::new(10, 100_000)).goodput_kbps;
    assert!((60.0..64.0).contains(&goodput), "{goodput}");
    let of_frames = goodput * MAX_PSDU as f64 / PAYLOAD as f64;
    assert!((71.0..75.0).contains(&of_frames), "{of_frames}");
}

#[test]
fn copying_off_the_critical_path_is_faster_and_acknowledgements_cost_then() {
    for (forwarding, acknowledged, least) in [
        (Forwarding::Between, false, 60.0),
        (Forwarding::Between, true, 60.0),
        (Forwarding::Pipelined, false, 94.0),
        (Forwarding::Pipelined, true, 82.0),
        (Forwarding::Conditional, false, 92.0),
        (Forwarding::Conditional, true, 82.0),
    ] {
        let config = PipConfig { forwarding, acknowledged, ..PipConfig::new(4, 100_000) };
        let goodput = run(&config).goodput_kbps;
        assert!((least..=most_kbps(&config)).contains(&goodput), "{config:?}: {goodput}");
    }
}

#[test]
fn files_of_all_lengths_arrive() {
    for octets in [0, 1, PAYLOAD - 1, PAYLOAD, PAYLOAD + 1, 10 * PAYLOAD, 1_000 * PAYLOAD] {
        run(&PipConfig::new(2, octets));
    }
}

#[test]
fn frames_that_are_lost_are_sent_again_over_the_hop() {
    for forwarding in ALL {
        for loss in [0.1, 0.3, 0.5] {
            let mut config = PipConfig { forwarding, ..PipConfig::new(5, 20_000) };
            config.medium.frame_loss = loss;
            run(&config);
        }
    }
}

#[test]
fn without_acknowledgements_the_source_sends_again_what_is_missing() {
    for loss in [0.1, 0.3, 0.5] {
        let mut config = PipConfig { acknowledged: false, ..PipConfig::new(3, 20_000) };
        config.medium.frame_loss = loss;
        // Responses and questions are lost as well: on the last hop three in four, in each
        // direction.
        assert!(run(&config).rounds > 2);
    }
}

#[test]
fn a_queue_that_overflows_loses_frames_and_the_ends_notice() {
    let config = PipConfig { queue: 2, ..PipConfig::new(4, 20_000) };
    let mut net = world(&config, 1);
    let fault = Fault::LinkLoss { from: 2, to: 3, loss: 0.6 };
    net.schedule_fault(Instant::ZERO, fault);
    net.run_until(Instant::from_secs(60));
    assert!((0..=4).all(|node| net.device(node).is_off()), "it is over");
    let sent = |node| net.counters(node).frames_sent;
    // Two in five pass the bad link, and the source has sent all frames that were lost before it.
    assert!(sent(0) > 2 * config.frames() as u64, "{}", sent(0));
}

#[test]
fn clocks_that_drift_stay_in_step() {
    for forwarding in ALL {
        let steady = PipConfig { forwarding, ..PipConfig::new(10, 100_000) };
        let config = PipConfig { drift_ppm: 40, ..steady.clone() };
        let (outcome, steady) = (run(&config), run(&steady));
        assert_eq!(outcome.rounds, 0, "{forwarding:?}");
        assert!((outcome.goodput_kbps / steady.goodput_kbps - 1.0).abs() < 1e-3);
    }
}

#[test]
fn a_guard_is_enough_for_the_silence_that_it_is_made_for() {
    // The link before the last node is silent for half a second, and recovers.
    let config = PipConfig { drift_ppm: 40, ..PipConfig::new(4, 40_000) };
    let mut net = world(&config, 1);
    for (at_ms, loss) in [(1_000, 1.0), (1_500, 0.0)] {
        let fault = Fault::LinkLoss { from: 2, to: 3, loss };
        net.schedule_fault(Instant::from_millis(at_ms), fault);
    }
    net.run_until(Instant::from_secs(30));
    assert!((0..=4).all(|node| net.device(node).is_off()));
    assert!((0..=4).all(|node| in_step(&net, node)), "who sends is not sent to");
}

/// Returns true if no frame for this node has reached it while it was sending.
fn in_step(net: &World<Node>, node: usize) -> bool {
    net.counters(node).mine.of(Fate::Transmitting) == 0
}

#[test]
fn answers_that_get_lost_are_asked_for_again() {
    for acknowledged in [true, false] {
        let config = PipConfig { acknowledged, ..PipConfig::new(3, 10_000) };
        let mut net = world(&config, 1);
        net.schedule_fault(Instant::ZERO, Fault::LinkLoss { from: 2, to: 1, loss: 0.7 });
        net.run_until(Instant::from_secs(60));
        assert!((0..=3).all(|node| net.device(node).is_off()), "{acknowledged}");
        assert!(net.counters(3).frames_sent > 1);
    }
}

fn interfered(mean_dbm: f64) -> PipConfig {
    let mut config = PipConfig::new(5, 30_000);
    config.medium.overlap = Overlap::SinrBer;
    config.medium.interferers = vec![Interferer {
        heard: Heard::By { node: 3, mean_dbm, range_db: WIFI_RANGE_DB },
        pattern: WIFI_FILE,
        hours: [1.0; 24],
        within_us: 0..u64::MAX,
        channels: 11..=26,
    }];
    config
}

#[test]
fn an_interferer_at_one_node_slows_it_down() {
    let goodput = [-130.0, -60.0].map(|dbm| run(&interfered(dbm)).goodput_kbps);
    assert!(goodput[1] < goodput[0] / 2.0, "{goodput:?}");
    let ends = PipConfig { acknowledged: false, ..interfered(-60.0) };
    assert!(run(&ends).rounds > 2);
}

#[test]
fn a_path_that_never_answers_ends_at_the_limit() {
    for acknowledged in [true, false] {
        let limit = Duration::from_secs(20);
        let mut config = PipConfig { acknowledged, limit, ..PipConfig::new(3, 5_000) };
        config.medium.frame_loss = 1.0;
        let outcome = transfer(&config, 1);
        let Outcome { complete, octets, seconds, goodput_kbps, .. } = outcome;
        assert_eq!((complete, octets, seconds, goodput_kbps), (false, 0, 20.0, 0.0));
        assert!(outcome.nodes[0].frames_sent > 50, "it has tried");
    }
}

#[test]
fn a_sink_that_never_answers_has_the_file_and_the_source_does_not_know() {
    let config = PipConfig { limit: Duration::from_secs(20), ..PipConfig::new(2, 5_000) };
    for acknowledged in [true, false] {
        let config = PipConfig { acknowledged, ..config.clone() };
        let mut net = world(&config, 1);
        net.schedule_fault(Instant::ZERO, Fault::LinkLoss { from: 1, to: 0, loss: 1.0 });
        net.run_until(Instant::from_secs(20));
        assert!((0..=2).all(|node| !net.device(node).is_off()));
        assert!(net.counters(0).frames_sent > 50);
    }
}

#[test]
fn a_serial_line_slower_than_the_path_sets_the_rate() {
    // Eight of ten bits are data.
    let config = PipConfig { serial: Some(57_600), ..PipConfig::new(4, 60_000) };
    let outcome = run(&config);
    assert_eq!(outcome.rounds, 0, "the sink's line takes what the source's gives");
    assert!((outcome.goodput_kbps / 46.08 - 1.0).abs() < 0.02, "{}", outcome.goodput_kbps);
    // The usual rate of a Tmote is no limit.
    let fast = PipConfig { serial: Some(115_200), ..config };
    assert!(run(&fast).goodput_kbps > 0.98 * most_kbps(&fast));
}

#[test]
fn channels_keep_nodes_in_range_of_each_other_apart() {
    let near = PipConfig { spacing_m: 0.5, ..PipConfig::new(10, 20_000) };
    let outcome = run(&near);
    assert_eq!(outcome.rounds, 0);
    let channels = PipConfig { channels: 1, limit: Duration::from_secs(60), ..near };
    let crowded = transfer(&channels, 1);
    assert!(crowded.goodput_kbps < outcome.goodput_kbps / 2.0, "{crowded:?}");
}

#[test]
fn radios_are_on_all_the_time() {
    let config = PipConfig::new(4, 50_000);
    let outcome = run(&config);
    for NodeOutcome { frames_sent, acks_sent, radio_on, radio_mj, .. } in outcome.nodes.clone() {
        assert!(radio_on > 0.999, "{radio_on}");
        // Between 17.4 and 18.8 mA at 3 V.
        let mw = radio_mj / outcome.connected_seconds;
        assert!((52.2..56.4).contains(&mw), "{mw}");
        assert!(frames_sent > 0 && acks_sent > 0);
    }
    // The source sends the file and a question, relays these and a response.
    let frames = config.frames() as u64;
    let sent: Vec<u64> = outcome.nodes.iter().map(|node| node.frames_sent).collect();
    assert_eq!(sent, [frames + 1, frames + 2, frames + 2, frames + 2, 1]);
}

#[test]
fn a_path_is_torn_down_when_all_is_there() {
    for acknowledged in [true, false] {
        let mut config = PipConfig { acknowledged, ..PipConfig::new(6, 5_000) };
        config.medium.frame_loss = 0.1;
        let mut net = world(&config, 3);
        net.run_until(Instant::from_secs(60));
        let off = (0..=6).filter(|&node| net.device(node).is_off()).count();
        assert_eq!(off, 7);
        assert!((0..=6).all(|node| net.energy(node).radio.duty_cycle() < 0.2));
    }
}

#[test]
fn the_same_seed_has_the_same_outcome() {
    let mut config = interfered(-60.0);
    config.medium.frame_loss = 0.1;
    config.drift_ppm = 20;
    assert_eq!(transfer(&config, 5), transfer(&config, 5));
    assert_ne!(transfer(&config, 5), transfer(&config, 6));
}
