//! CoAP on simulated nodes: over one hop and several, block by block, with losses.

use kinglet_apps::coap::PORT;
use kinglet_coap::Rto;
use kinglet_network::run::{FlowResult, Options, run};
use kinglet_scenario::{Flow, FlowKind, Method, Scenario, Wire};

const WIRE: Wire = Wire { reorder_delay_ms: 0, ..Wire::PERFECT };

/// The host sends requests to the last node of a line of `hops`, in blocks of 512 octets.
fn ask(hops: u32, method: Method, bytes: u32, loss: f64, rto: Rto) -> FlowResult {
    let mut scenario = Scenario { duration_s: 300.0, ..Scenario::default() };
    scenario.wire = Some(Wire { loss, duplicate: loss / 2.0, ..WIRE });
    let mut scenario = scenario.on_line(hops, 8.0);
    let server = FlowKind::CoapServer { node: hops, port: PORT, block_bytes: 512 };
    let client = FlowKind::CoapClient {
        from: scenario.host(),
        to: hops,
        port: PORT,
        method,
        bytes,
        block_bytes: 512,
        pause_ms: 2_000,
        rto,
        ack_timeout_ms: 2_000,
    };
    scenario.flows = [server, client].map(|kind| Flow::new(0.0, kind)).into();
    let result = run(&scenario, 1, &Options::default()).expect("a scenario that can be run");
    let flow = result.flows.into_iter().last().expect("two flows");
    assert!(flow.is_intact(), "{flow:?}");
    flow
}

fn median(flow: &FlowResult) -> f64 {
    let mut sorted = flow.latencies_ms().to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

#[test]
fn a_small_answer_takes_one_round_trip() {
    let flow = ask(1, Method::Get, 82, 0.0, Rto::Plain);
    assert!(flow.is_complete() && flow.latencies_ms().len() > 100, "{flow:?}");
    let asked = flow.latencies_ms().len() as u64;
    assert_eq!((flow.retransmissions, flow.segments_sent), (Some(0), Some(asked)));
    // 12 ms on the wire, a frame to the node and two back of at most 10 ms each.
    assert!((15.0..45.0).contains(&median(&flow)), "{}", median(&flow));
}

#[test]
fn long_bodies_go_in_both_directions_block_by_block() {
    for method in [Method::Get, Method::Put] {
        let flow = ask(3, method, 51_200, 0.0, Rto::Plain);
        assert!(flow.is_complete() && flow.latencies_ms().len() > 5, "{method:?}: {flow:?}");
        assert!(flow.segments_sent >= Some(100 * flow.latencies_ms().len() as u64), "{flow:?}");
        assert_eq!(flow.retransmissions, Some(0), "{method:?}: {flow:?}");
    }
}

// RFC 7252, §4.2: a message is retransmitted if it or its response is lost.
#[test]
fn messages_lost_on_the_wire_are_sent_again() {
    for rto in [Rto::Plain, Rto::Cocoa, Rto::CocoaAsMeasured] {
        let flow = ask(1, Method::Put, 2_000, 0.1, rto);
        assert!(flow.is_complete() && flow.latencies_ms().len() > 10, "{rto:?}: {flow:?}");
        assert!(flow.retransmissions > Some(5), "{rto:?}: {flow:?}");
    }
}
