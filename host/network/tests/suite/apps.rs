//! The applications of scenarios, over networks small enough that the results are known.

use kinglet::time::{Duration, Instant};
use kinglet_coap::Rto;
use kinglet_network::apps::http_client::HttpClient;
use kinglet_network::build;
use kinglet_network::run::{FlowResult, Options, Readings, run};
use kinglet_scenario::{Buffer, Carrier, Flow, FlowKind, Mss, NodeId, Scenario, Sensor, Wire};

const WIRE: Wire = Wire { reorder_delay_ms: 0, ..Wire::PERFECT };

/// A line of `hops` with a host behind its border router.
fn line(hops: u32, duration_s: f64, loss: f64) -> Scenario {
    let base = Scenario { duration_s, ..Scenario::default() };
    Scenario { wire: Some(Wire { loss, ..WIRE }), ..base }.on_line(hops, 8.0)
}

fn sensor(from: NodeId, to: NodeId, carrier: Carrier, batch: u16) -> Flow {
    let kind = FlowKind::Anemometer(Sensor { batch, ..Sensor::new(from, to, carrier) });
    Flow::new(1.0, kind)
}

fn flows(scenario: &Scenario) -> Vec<FlowResult> {
    run(scenario, 1, &Options::default()).expect("a scenario that can be run").flows
}

#[test]
fn every_reading_arrives_once_in_batches_and_one_by_one() {
    let carriers = Carrier::ALL.into_iter().flat_map(|(_, carrier)| [(carrier, 64), (carrier, 1)]);
    for (carrier, batch) in carriers {
        let mut scenario = line(2, 400.0, 0.0);
        scenario.flows.push(sensor(2, scenario.host(), carrier, batch));
        let flow = &flows(&scenario)[0];
        let readings = flow.readings.as_ref().expect("a sensor");
        let what = format!("{carrier:?} {batch}: {flow:?}");
        assert!(flow.is_intact() && readings.lost == 0 && readings.dropped == 0, "{what}");
        // The first reading is made within a batch after the start, and the last batch may still
        // wait.
        let early = readings.generated - readings.delivered;
        assert!((335..=400).contains(&readings.generated) && early <= u32::from(batch), "{what}");
        assert_eq!(readings.reliability(), Some(1.0));
    }
}

#[test]
fn messages_may_be_as_long_as_a_datagram() {
    let longest = [Mss::Frames(12), Mss::Bytes(1_220)];
    for (mss, (_, carrier)) in longest.into_iter().flat_map(|mss| Carrier::ALL.map(|c| (mss, c))) {
        let mut scenario = line(1, 200.0, 0.0);
        scenario.tcp.mss = mss;
        scenario.tcp.send_buffer = Buffer::Bytes(4_096);
        scenario.tcp.receive_buffer = Buffer::Bytes(4_096);
        scenario.flows.push(sensor(1, scenario.host(), carrier, 64));
        let flow = &flows(&scenario)[0];
        let readings = flow.readings.as_ref().expect("a sensor");
        assert!(flow.is_intact() && readings.delivered >= 64, "{carrier:?}: {flow:?}");
        assert_eq!((readings.lost, readings.dropped), (0, 0), "{carrier:?}: {flow:?}");
    }
}

#[test]
fn readings_lost_on_the_wire_are_sent_again_by_all_carriers_but_the_non_confirmable() {
    for (_, carrier) in Carrier::ALL.into_iter().filter(|(_, c)| *c != Carrier::NonConfirmable) {
        let mut scenario = line(1, 1_000.0, 0.1);
        // Room for readings that are made during retransmissions.
        let sensor = Sensor::new(1, scenario.host(), carrier);
        let kind = FlowKind::Anemometer(Sensor { queue: 128, ..sensor });
        scenario.flows.push(Flow::new(1.0, kind));
        let flow = &flows(&scenario)[0];
        let readings = flow.readings.as_ref().expect("a sensor");
        assert!(flow.is_intact() && flow.retransmissions > Some(3), "{flow:?}");
        assert_eq!((readings.lost, readings.dropped), (0, 0), "{flow:?}");
    }
}

#[test]
fn non_confirmable_readings_are_lost_and_draw_no_response() {
    let mut scenario = line(1, 2_000.0, 0.2);
    scenario.flows.push(sensor(1, scenario.host(), Carrier::NonConfirmable, 1));
    let result = run(&scenario, 1, &Options::default()).expect("it can be run");
    let flow = &result.flows[0];
    let reliability = flow.readings.as_ref().and_then(Readings::reliability).expect("a sensor");
    assert!((0.77..0.83).contains(&reliability), "{flow:?}");
    // No frame for the mote, and two for each reading.
    assert_eq!((flow.retransmissions, result.nodes[0].frames_sent), (Some(0), 0));
}

#[test]
fn readings_are_lost_when_the_queue_is_full_and_the_connection_is_opened_again() {
    let mut scenario = line(1, 3_000.0, 0.0);
    scenario.flows.push(sensor(1, scenario.host(), Carrier::Tcp, 64));
    // Longer than twelve retransmissions.
    let fault =
        kinglet_scenario::Fault::Partition { nodes: vec![1], from_s: 200.0, to_s: Some(1_400.0) };
    scenario.faults.push(fault);
    let flow = &flows(&scenario)[0];
    let readings = flow.readings.as_ref().expect("a sensor");
    assert!(
        flow.is_intact() && readings.dropped > 900 && readings.lost >= readings.dropped,
        "{flow:?}"
    );
    assert!(readings.delivered > 1_500 && readings.generated > 2_900, "{flow:?}");
}

#[test]
fn messages_and_datagrams_take_as_many_frames_as_segments() {
    for frames in [3, 5] {
        let carriers = [Carrier::Tcp, Carrier::Ideal, Carrier::NonConfirmable];
        let sent = carriers.map(|carrier| {
            let mut scenario = line(1, 700.0, 0.0);
            scenario.tcp.mss = Mss::Frames(frames);
            // With timestamps the header of a segment is as long as that of a message.
            scenario.tcp.connection.timestamps = true;
            scenario.flows.push(sensor(1, scenario.host(), carrier, 64));
            let result = run(&scenario, 1, &Options::default()).expect("it can be run");
            let delivered = result.flows[0].readings.as_ref().map_or(0, |r| r.delivered);
            f64::from(delivered) / result.nodes[1].frames_sent as f64
        });
        // TCP has a handshake and, by Nagle's algorithm, other segments in addition to full ones.
        assert!((sent[0] / sent[1] - 1.0).abs() < 0.06, "{frames} frames: {sent:?}");
        assert!((sent[2] / sent[1] - 1.0).abs() < 0.02, "{frames} frames: {sent:?}");
    }
}

#[test]
fn a_load_that_the_channel_carries_arrives_in_every_interval() {
    let mut scenario = line(1, 400.0, 0.0);
    let sensor = Sensor::new(1, scenario.host(), Carrier::Tcp);
    let kind = FlowKind::Anemometer(Sensor { period_ms: 164, batch: 1, ..sensor });
    scenario.flows.push(Flow::new(0.0, kind));
    let flow = &flows(&scenario)[0];
    let intervals = &flow.readings.as_ref().expect("a sensor").intervals_kbps;
    assert_eq!(intervals.len(), 10);
    assert!(intervals.iter().all(|kbps| (kbps - 4.0).abs() < 0.05), "{intervals:?}");
}

/// Sorted latencies of requests for `bytes` octets, in milliseconds; a packet takes `delay_ms` on
/// the wire.
fn latencies(hops: u32, bytes: u32, delay_ms: u32, fast_open: bool) -> Vec<f64> {
    let mut scenario = line(hops, 600.0, 0.0);
    scenario.wire = Some(Wire { delay_ms, ..WIRE });
    let (from, to) = (scenario.host(), hops);
    scenario.flows.push(Flow::new(0.0, FlowKind::HttpServer { node: to, port: 80 }));
    let kind = FlowKind::HttpClient { from, to, port: 80, bytes, pause_ms: 5_000, fast_open };
    scenario.flows.push(Flow::new(1.0, kind));
    let flow = flows(&scenario).pop().expect("two flows");
    assert!(flow.is_well(), "{flow:?}");
    let mut sorted = flow.latencies_ms().to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[test]
fn a_request_takes_two_round_trips_and_one_with_fast_open() {
    let (two, one) = (latencies(1, 82, 100, false), latencies(1, 82, 100, true));
    assert!(two.len() > 80 && one.len() > 80, "{} {}", two.len(), one.len());
    let median = |sorted: &[f64]| sorted[sorted.len() / 2];
    // The wire alone takes 200 ms for a round trip.
    assert!((400.0..500.0).contains(&median(&two)), "{}", median(&two));
    assert!((200.0..300.0).contains(&median(&one)), "{}", median(&one));
}

#[test]
fn a_longer_answer_takes_longer() {
    let (short, long) = (latencies(1, 82, 6, false), latencies(1, 10_000, 6, false));
    // 10 kB at less than 125 kb/s.
    assert!(long[0] > short[0] + 640.0, "{} {}", short[0], long[0]);
}

#[test]
fn answers_alone_can_be_lost() {
    let mut scenario = line(1, 400.0, 0.0);
    scenario.wire = Some(Wire { loss_to_mesh: Some(0.5), ..WIRE });
    let host = scenario.host();
    let coap = Carrier::Coap(Rto::Plain);
    scenario.flows = vec![sensor(1, host, Carrier::NonConfirmable, 1), sensor(1, host, coap, 8)];
    let [bare, coap] = &flows(&scenario)[..] else { panic!("two flows") };
    assert_eq!(bare.readings.as_ref().map(|r| r.lost), Some(0), "{bare:?}");
    // As many as first transmissions: every second response is lost.
    let (Some(again), Some(sent)) = (coap.retransmissions, coap.segments_sent) else {
        panic!("CoAP counts both: {coap:?}")
    };
    let share = again as f64 / sent as f64;
    assert!((0.3..0.7).contains(&share), "{coap:?}");
    assert_eq!(coap.timeout_ms, Some(2_000.0));
}

#[test]
fn a_client_whose_server_has_restarted_asks_again() {
    let mut scenario = line(1, 0.0, 0.0);
    scenario.mac.security = None;
    let (server, port) = (FlowKind::HttpServer { node: 1, port: 80 }, 80);
    let (from, to, bytes, pause_ms) = (scenario.host(), 1, 20_000, 100);
    let client = FlowKind::HttpClient { from, to, port, bytes, pause_ms, fast_open: true };
    scenario.flows.extend([server, client].map(|kind| Flow::new(1.0, kind)));
    let (mut network, ends) = build::network(&scenario, 1);
    let answered = |network: &build::Network| {
        let client = build::app_at::<HttpClient>(network, ends[1].from).expect("a client");
        (client.answered().len(), client.failed())
    };
    for life in 1..=20 {
        let (before, _) = answered(&network);
        network.run_until(Instant::from_secs(400 * life) + Duration::from_millis(137 * life));
        let (after, failed) = answered(&network);
        assert!(after > before + 10, "life {life}: {before}, {after}, {failed} failed");
        build::restart(&mut network, &scenario, 1, life);
    }
    assert!(answered(&network).1 > 0, "none was waiting for an answer");
}
