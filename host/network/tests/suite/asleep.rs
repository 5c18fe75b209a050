//! Networks in which all nodes are duty-cycled: streams and datagrams over relays that wake eight
//! times a second, with drifting clocks, several channels, neighbours and interference.

use kinglet::time::{Duration, Instant};
use kinglet_network::apps::udp::{UdpSender, UdpSink};
use kinglet_network::build::{app_at, network, restart};
use kinglet_network::run::{Options, RunResult, run};
use kinglet_scenario::{
    Datagrams, Flash, Flow, FlowKind, Fragments, Interferer, NodeId, Overlap, Pace, RadioProfile,
    Routing, Scenario, Source, Wake,
};

/// `hops` hops of duty-cycled nodes that forward fragments.
fn line(hops: u32) -> Scenario {
    let mut scenario = Scenario::default().on_line(hops, 8.0);
    scenario.radio.profile = RadioProfile::Nrf52840;
    scenario.radio.drift_ppm = 40;
    scenario.wake = Some(Wake { border_duty_cycled: true, ..Wake::DEFAULT });
    scenario.fragments = Fragments::Forwarded;
    scenario.duration_s = 120.0;
    scenario
}

fn wake(scenario: &mut Scenario) -> &mut Wake {
    scenario.wake.as_mut().expect("they sleep")
}

fn stream(from: NodeId, to: NodeId, octets: u64) -> Flow {
    let mut flow = Flow::bulk(from, to);
    if let FlowKind::TcpBulk { bytes, .. } = &mut flow.kind {
        *bytes = Some(octets);
    }
    flow
}

fn datagrams(from: NodeId, to: NodeId, period_ms: u32) -> Flow {
    Flow::new(1.0, FlowKind::datagrams(from, to, period_ms, 80))
}

fn result(scenario: &Scenario, seed: u64) -> RunResult {
    run(scenario, seed, &Options::default()).expect("a scenario that can be run")
}

/// Asserts that all flows are complete, and every octet is correct.
fn must_arrive(scenario: &Scenario, seed: u64) -> RunResult {
    let result = result(scenario, seed);
    for flow in &result.flows {
        assert!(flow.is_well(), "seed {seed}: {flow:?}");
    }
    result
}

#[test]
fn streams_cross_relays_that_sleep_in_both_directions_secured_or_not() {
    for (seed, secured) in [(1, true), (2, false), (3, true)] {
        for (from, to) in [(4, 0), (0, 4)] {
            let mut scenario = line(4);
            if !secured {
                scenario.mac.security = None;
            }
            scenario.flows = vec![stream(from, to, 20_000)];
            let result = must_arrive(&scenario, seed);
            assert!(result.nodes.iter().all(|node| node.duty_cycle < 0.2), "they sleep");
        }
    }
}

/// The bursts of a transfer over one hop are in step with the wake-ups of its recipient. A node
/// behind it must get a share all the same, although it has no other evidence of its presence.
#[test]
fn a_transfer_over_one_hop_leaves_room_for_those_behind_it() {
    for (near, far) in [((1, 0), (3, 0)), ((0, 1), (3, 0)), ((2, 1), (4, 0)), ((0, 1), (0, 4))] {
        let mut scenario = line(4);
        wake(&mut scenario).border_duty_cycled = false;
        scenario.duration_s = 200.0;
        scenario.flows = vec![Flow::bulk(near.0, near.1), stream(far.0, far.1, 60_000)];
        scenario.flows[1].start_s = 20.0;
        let result = result(&scenario, 5);
        assert!(result.flows[1].is_well(), "{near:?} against {far:?}: {:?}", result.flows[1]);
        let goodput = result.flows[0].goodput_kbps.expect("it has a goodput");
        assert!(goodput > 5.0, "{near:?} gets {goodput} beside {far:?}");
    }
}

/// Two neighbours whose stores are full of frames for each other accept them from each other.
#[test]
fn flows_that_meet_head_on_do_not_block_each_other() {
    for flash in [Flash::None, Flash::M25p80] {
        for seed in 1..4 {
            let mut scenario = line(4);
            scenario.flash = flash;
            scenario.duration_s = 200.0;
            wake(&mut scenario).channels = 5;
            let bulk = |from, to| {
                let pace = Pace::Bulk(None);
                Flow::new(1.0, FlowKind::Udp(Datagrams { from, to, payload_bytes: 80, pace }))
            };
            scenario.flows = vec![bulk(4, 0), bulk(0, 4)];
            let result = result(&scenario, seed);
            for flow in &result.flows {
                // A single direction alone gets some 30 kb/s.
                assert!(flow.goodput_kbps > Some(3.0), "{flash:?}, seed {seed}: {flow:?}");
            }
        }
    }
}

#[test]
fn so_they_do_where_every_hop_reassembles() {
    let mut scenario = line(4);
    scenario.fragments = Fragments::Reassembled;
    scenario.flows = vec![stream(4, 0, 20_000)];
    must_arrive(&scenario, 1);
}

#[test]
fn nodes_without_traffic_are_on_for_less_than_the_paper_says() {
    for (radio, most) in [(RadioProfile::Nrf52840, 0.003), (RadioProfile::Cc2420Contiki, 0.006)] {
        let mut scenario = line(4);
        scenario.radio.profile = radio;
        let result = result(&scenario, 1);
        for node in &result.nodes {
            let on = node.duty_cycle + node.starting;
            assert!(on > most / 4.0 && on < most, "{}: {on}", radio.name());
        }
    }
}

#[test]
fn clocks_that_are_100_ppm_wrong_lose_nothing() {
    for seed in 1..=4 {
        let mut scenario = line(3);
        scenario.radio.drift_ppm = 100;
        wake(&mut scenario).settings.drift_ppm = 200;
        // Rare datagrams, between which clocks drift apart by up to 4 ms.
        scenario.duration_s = 600.0;
        scenario.flows = vec![datagrams(3, 0, 20_000)];
        let result = result(&scenario, seed);
        let flow = &result.flows[0];
        assert!(flow.segments_sent > Some(25) && flow.segment_loss == Some(0.0), "{flow:?}");
    }
}

#[test]
fn nodes_that_listen_on_channels_of_their_own_find_each_other() {
    for channels in [2, 5, 16] {
        let mut scenario = line(5);
        wake(&mut scenario).channels = channels;
        scenario.flows = vec![stream(5, 0, 15_000)];
        must_arrive(&scenario, channels.into());
    }
}

#[test]
fn accepted_frames_are_not_lost_at_a_relay_that_is_slower_than_its_neighbours() {
    let mut scenario = line(4);
    // More than the nodes can carry, and one node is next to an oven.
    scenario.medium.overlap = Overlap::SinrBer;
    scenario.interference = vec![Interferer::heard_by(2, Source::Microwave, -98.0)];
    scenario.flows = vec![datagrams(4, 0, 4)];
    let (mut network, _) = network(&scenario, 1);
    network.run_until(Instant::from_secs(120));
    let stack = |node| network.device(node).node();
    let mut full = 0;
    for relay in 1..4 {
        let stats = stack(relay).net().relay_stats().expect("it relays");
        assert_eq!((stats.full, stats.broken, stats.dropped), (0, 0, 0), "{relay}");
        full += stack(relay).mac().wake_stats().expect("it wakes").refused;
    }
    assert!(full > 0, "somebody has refused a burst");
    let frames = |node: usize| stack(node).net().relay_stats().expect("it relays").frames;
    let waiting = |node: usize| stack(node).net().relayed_waiting();
    // A hop has received all frames of the previous one, except for those that wait and a few
    // frames in the MAC.
    for (near, far) in [(1, 2), (2, 3)] {
        let between = (frames(far) - frames(near)) as usize;
        assert!((waiting(far)..waiting(far) + 6).contains(&between), "{near}: {between}");
    }
    assert!(frames(1) > 1_000, "{}", frames(1));
}

#[test]
fn long_queues_go_through_flash_and_nothing_of_them_is_lost() {
    let mut scenario = line(4);
    scenario.flash = Flash::M25p80;
    wake(&mut scenario).settings.burst = Duration::from_secs(2);
    scenario.flows = vec![datagrams(4, 0, 4)];
    let (mut network, _) = network(&scenario, 1);
    network.run_until(Instant::from_secs(120));
    let mut written = 0;
    for relay in 1..4 {
        let net = network.device(relay).node().net();
        let (relayed, store) = (net.relay_stats().expect("it relays"), net.store_stats().unwrap());
        assert_eq!((relayed.full, relayed.broken, relayed.dropped), (0, 0, 0), "{relay}");
        assert_eq!((store.lost, store.given_up, store.failed_reads), (0, 0, 0), "{relay}");
        assert!(store.most > 100, "{relay}: {store:?}");
        written += store.written;
    }
    assert!(written > 1_000, "{written}");
    let mut stream_too = line(4);
    stream_too.flash = Flash::M25p80;
    stream_too.flows = vec![stream(4, 0, 20_000), stream(0, 4, 10_000)];
    must_arrive(&stream_too, 2);
}

#[test]
fn datagrams_of_1504_octets_pass_where_nodes_take_packets_as_long() {
    let text = |mtu| {
        format!(
            "duration_s = 60\n[topology]\nline = {{ hops = 3 }}\n[radio]\nprofile = \"nrf52840\"\n\
             [wake]\n[net]\nmtu = {mtu}\n\
             fragments = \"forwarded\"\n[[flow]]\nkind = \"udp-periodic\"\nfrom = 3\nto = 0\n\
             period_ms = 5000\npayload_bytes = 1504\n"
        )
    };
    let scenario = Scenario::from_toml("long.toml", &text(1552)).expect("a scenario");
    let flow = &result(&scenario, 1).flows[0];
    assert!(
        flow.outcome_known >= Some(9) && flow.segments_received >= flow.outcome_known,
        "{flow:?}"
    );
    let error = Scenario::from_toml("long.toml", &text(1280)).expect_err("too long").to_string();
    assert!(error.ends_with("1504 is out of range; allowed are 4 to 1232"), "{error}");
}

#[test]
fn crossing_streams_all_arrive() {
    for seed in 1..=3 {
        let mut scenario = line(4);
        scenario.duration_s = 400.0;
        scenario.flows = vec![stream(4, 0, 15_000), stream(0, 4, 15_000), stream(1, 3, 15_000)];
        must_arrive(&scenario, seed);
    }
}

#[test]
fn a_network_of_sleeping_nodes_finds_its_routes_by_itself() {
    let mut scenario = line(4);
    scenario.routing = Routing::Rpl;
    scenario.duration_s = 300.0;
    let mut flow = stream(4, 0, 5_000);
    flow.start_s = 60.0;
    scenario.flows = vec![flow];
    must_arrive(&scenario, 1);
}

/// A broadcast is repeated for a wake-up period on each channel. DIOs at shorter intervals would
/// fill the channel (RFC 6206, 6.6).
#[test]
fn routers_that_sleep_leave_time_for_each_broadcast() {
    for (period_ms, channels, shortest_ms) in [(125, 1, 512), (250, 1, 1_024), (250, 4, 4_096)] {
        let mut scenario = line(3);
        scenario.routing = Routing::Rpl;
        wake(&mut scenario).settings.period = Duration::from_millis(period_ms);
        wake(&mut scenario).channels = channels;
        let (mut network, _) = network(&scenario, 1);
        let mut shortest = None;
        for second in 1..120 {
            network.run_until(Instant::from_secs(second));
            let nodes = (0..network.nodes()).map(|node| network.device(node).node());
            let intervals = nodes.filter_map(|node| node.routing().rpl()?.info().interval);
            shortest = intervals.chain(shortest).min();
        }
        assert_eq!(shortest, Some(Duration::from_millis(shortest_ms)), "{channels} channels");
    }
}

#[test]
fn frames_are_given_up_where_that_is_wanted_and_the_rest_goes_on() {
    let mut scenario = line(2);
    wake(&mut scenario).settings.max_attempts = Some(2);
    wake(&mut scenario).settings.burst = Duration::from_millis(200);
    scenario.medium.frame_loss = 0.3;
    scenario.flows = vec![stream(2, 0, 10_000)];
    scenario.duration_s = 300.0;
    must_arrive(&scenario, 1);
}

/// Acknowledged data are lost only if they are in the memory of a relay that restarts.
#[test]
fn a_relay_that_restarts_loses_what_it_had_in_memory_and_no_more() {
    for (seed, flash) in [(1, Flash::None), (2, Flash::M25p80), (3, Flash::None)] {
        let mut scenario = line(4);
        // A restarted node repeats its frame counters.
        scenario.mac.security = None;
        scenario.flash = flash;
        scenario.medium.frame_loss = 0.1;
        let period_ms = 300;
        scenario.flows = vec![datagrams(4, 0, period_ms)];
        let (mut network, ends) = network(&scenario, seed);
        network.run_until(Instant::from_secs(60));
        let relay = network.device(2).node();
        // A datagram has more than one frame, and the loss of one makes the others useless.
        let kept = relay.net().relayed_waiting() + relay.info().mac.slots_used;
        restart(&mut network, &scenario, 2, seed ^ 1 << 32);
        // It is discovered again within seconds: sixteen failures, and a search.
        network.run_until(Instant::from_secs(120));
        let numbers = |network: &kinglet_network::build::Network| -> Vec<u32> {
            let sink: &UdpSink = app_at(network, ends[0].to).expect("a sink");
            sink.arrivals().iter().map(|(number, _)| *number).collect()
        };
        let before = numbers(&network);
        network.run_until(Instant::from_secs(180));
        let after = numbers(&network);
        let minute = 60_000 / period_ms;
        assert!(after.len() > before.len() + minute as usize * 9 / 10, "seed {seed}");
        let sender: &UdpSender = app_at(&network, ends[0].from).expect("a sender");
        // Some are in flight.
        let last = sender.numbered() - 30;
        let missing = (0..last).filter(|number| !after.contains(number)).count();
        assert!(missing <= kept + 1, "seed {seed}: {missing} are missing, {kept} frames were kept");
    }
}

#[test]
fn no_radio_is_on_for_a_quarter_of_the_time_whatever_is_on_the_air() {
    for source in [Source::Microwave, Source::WifiSaturated, Source::Bluetooth, Source::WifiFile] {
        let mut scenario = line(1);
        scenario.medium.overlap = Overlap::SinrBer;
        let heard_by = |node| Interferer::heard_by(node, source, -60.0);
        scenario.interference = vec![heard_by(0), heard_by(1)];
        scenario.duration_s = 60.0;
        let result = result(&scenario, 1);
        for node in &result.nodes {
            let on = node.duty_cycle + node.starting;
            assert!(on < 0.25, "{source:?}: {on}");
        }
    }
}
