//! Packets for sleeping children.

use crate::common;
use crate::common::*;
use kinglet_net::{
    Body, Class, Discard, FrameOut, Indirect, NetConfig, NextHop, Outgoing, RESERVED, Token,
};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::protocol;

const CHILD: u16 = 3;
const OTHER: u16 = 4;

/// Returns node 1 with children 3 and 4; node 5 does not sleep.
fn parent(indirect: Indirect) -> Node {
    let config = NetConfig { forward: true, indirect, ..NetConfig::new(Address::Short(1)) };
    let mut node = bare(config, 1);
    node.add_route(route(global(0), 64, NextHop::OnLink)).unwrap();
    node.add_route(route("2001:db8:1::".parse().unwrap(), 64, NextHop::Host)).unwrap();
    node.add_child(CHILD).unwrap();
    node.add_child(OTHER).unwrap();
    node
}

/// Forwards a packet of `len` octets from node 9, or from the host, through the parent.
fn forward(node: &mut Node, now: Instant, to: u16, len: usize) -> Result<(), Discard> {
    let long = len > 60;
    let src = if long { "2001:db8:1::9".parse().unwrap() } else { global(9) };
    let octets = packet(src, global(to), protocol::TCP, &vec![to as u8; len]);
    let heard = if long {
        // From the host, which need not fragment it.
        node.handle_host_packet(now, &octets)
    } else {
        hear(node, now, 9, Address::Short(1), &plain(&octets))
    };
    heard.map(|delivery| assert_eq!(delivery, None))
}

/// Returns the next frame, and whether it announces another one.
fn next(node: &mut Node) -> Option<(FrameOut, Vec<u8>, bool)> {
    let more = node.frame_pending(LIMITS);
    poll(node, LIMITS).map(|(frame, payload)| (frame, payload, more))
}

fn deliver(node: &mut Node, token: Token) {
    assert_eq!(node.handle_outcome(NOW, token, true), None);
}

#[test]
fn a_packet_waits_until_its_child_asks_and_the_rest_of_the_traffic_passes() {
    let mut node = parent(Indirect::DEFAULT);
    assert!(!node.handle_data_request(NOW, CHILD), "nothing waits");
    forward(&mut node, NOW, CHILD, 20).unwrap();
    assert_eq!(node.pending(), None);
    forward(&mut node, NOW, 5, 20).unwrap();
    assert_eq!(poll(&mut node, LIMITS).map(|(frame, _)| frame.dst), Some(Address::Short(5)));
    assert!(node.has_pending(CHILD) && !node.has_pending(OTHER));
    assert_eq!((node.waiting_for(CHILD), node.waiting_for(OTHER)), (1, 0));

    forward(&mut node, NOW, 5, 20).unwrap();
    assert!(!node.handle_data_request(NOW, OTHER) && !node.handle_data_request(NOW, 5));
    assert!(node.handle_data_request(NOW, CHILD));
    let (frame, _, more) = next(&mut node).unwrap();
    assert_eq!((frame.dst, frame.class, frame.ack), (Address::Short(3), Class::Indirect, true));
    assert!(!more);
    assert!(node.has_pending(CHILD), "it has not arrived yet");
    deliver(&mut node, frame.token);
    assert!(!node.has_pending(CHILD) && node.waiting_for(CHILD) == 0);
    assert_eq!(poll(&mut node, LIMITS).map(|(frame, _)| frame.dst), Some(Address::Short(5)));
    assert_eq!(node.pending(), None);
    assert_eq!((node.info().free_packets, node.stats().packets_out), (PACKETS, 3));
}

#[test]
fn the_frame_pending_bit_follows_the_waiting_packets() {
    let mut node = parent(Indirect::DEFAULT);
    assert_eq!(node.poll_pending_change(), None);
    forward(&mut node, NOW, OTHER, 20).unwrap();
    assert_eq!(node.poll_pending_change(), Some((OTHER, true)));
    assert_eq!(node.poll_pending_change(), None);
    node.handle_data_request(NOW, OTHER);
    let (frame, ..) = next(&mut node).unwrap();
    assert_eq!(node.poll_pending_change(), None);
    deliver(&mut node, frame.token);
    assert_eq!(node.poll_pending_change(), Some((OTHER, false)));
}

#[test]
fn fragments_follow_each_other_and_all_but_the_last_say_that_more_comes() {
    let mut node = parent(Indirect::DEFAULT);
    let mut child = common::node(CHILD);
    forward(&mut node, NOW, CHILD, 200).unwrap();
    forward(&mut node, NOW, CHILD, 20).unwrap();
    node.handle_data_request(NOW, CHILD);
    let mut said = Vec::new();
    let mut arrived = Vec::new();
    while let Some((frame, payload, more)) = next(&mut node) {
        said.push(more);
        // One at a time, and direct traffic need not wait for it.
        assert_eq!(node.pending(), None);
        forward(&mut node, NOW, 5, 10).unwrap();
        let (direct, _) = poll(&mut node, LIMITS).unwrap();
        assert_eq!((direct.dst, direct.class), (Address::Short(5), Class::Data));
        arrived.extend(hear(&mut child, NOW, 1, frame.dst, &payload).unwrap());
        deliver(&mut node, frame.token);
    }
    assert_eq!(said, [true, true, true, false]);
    let lens: Vec<_> = arrived.iter().map(|delivery| delivery.upper.len()).collect();
    assert_eq!(lens, [200, 20]);
    assert_eq!(node.info().free_packets, PACKETS);
}

#[test]
fn without_bursts_every_frame_has_its_data_request() {
    let mut node = parent(Indirect { burst: false, ..Indirect::DEFAULT });
    forward(&mut node, NOW, CHILD, 200).unwrap();
    for more in [true, true, false] {
        assert_eq!(node.pending(), None);
        assert!(node.handle_data_request(NOW, CHILD));
        let (frame, _, said) = next(&mut node).unwrap();
        assert_eq!(said, more);
        deliver(&mut node, frame.token);
    }
    assert!(!node.handle_data_request(NOW, CHILD));
}

#[test]
fn a_lost_frame_is_tried_again_at_the_next_data_requests_until_there_were_enough() {
    let mut node = parent(Indirect { polls: 3, ..Indirect::DEFAULT });
    forward(&mut node, NOW, CHILD, 200).unwrap();
    forward(&mut node, NOW, CHILD, 20).unwrap();
    node.handle_data_request(NOW, CHILD);
    let (frame, ..) = next(&mut node).unwrap();
    deliver(&mut node, frame.token);
    let mut tried = Vec::new();
    for round in 1..=3 {
        let (frame, payload, _) = next(&mut node).unwrap();
        tried.push(payload);
        assert_eq!(node.handle_outcome(NOW, frame.token, false), None);
        assert_eq!(node.pending(), None, "the child sleeps");
        assert_eq!(node.info().indirect, if round < 3 { 2 } else { 1 });
        node.handle_data_request(NOW, CHILD);
    }
    assert!(tried.iter().all(|payload| *payload == tried[0]), "the same fragment");
    assert_eq!(node.stats().failed_indirect, 1);
    let (frame, ..) = next(&mut node).unwrap();
    deliver(&mut node, frame.token);
    assert_eq!((node.info().indirect, node.info().free_packets), (0, PACKETS));
}

#[test]
fn a_repeated_data_request_gets_a_frame_and_is_no_reason_to_give_it_up() {
    let mut node = parent(Indirect { polls: 2, ..Indirect::DEFAULT });
    forward(&mut node, NOW, CHILD, 20).unwrap();
    // Before the child's first data request, and after it.
    for asks in [false, true] {
        if asks {
            assert!(node.handle_data_request(NOW, CHILD));
        }
        for _ in 0..20 {
            assert!(node.handle_repeated_request(NOW, CHILD));
            let (frame, ..) = next(&mut node).unwrap();
            node.handle_outcome(NOW, frame.token, false);
        }
        assert_eq!((node.waiting_for(CHILD), node.stats().failed_indirect), (1, 0));
    }
    node.handle_data_request(NOW, CHILD);
    let (frame, ..) = next(&mut node).unwrap();
    node.handle_outcome(NOW, frame.token, false);
    assert_eq!((node.waiting_for(CHILD), node.stats().failed_indirect), (0, 1));
}

#[test]
fn a_child_that_asks_again_while_the_mac_still_tries_is_offered_the_frame_again() {
    let mut node = parent(Indirect::DEFAULT);
    forward(&mut node, NOW, CHILD, 20).unwrap();
    node.handle_data_request(NOW, CHILD);
    let (frame, ..) = next(&mut node).unwrap();
    assert!(node.handle_data_request(NOW, CHILD));
    assert_eq!(node.pending(), None, "the MAC has it");
    node.handle_outcome(NOW, frame.token, false);
    assert!(next(&mut node).is_some());
}

#[test]
fn a_datagram_whose_beginning_the_child_has_forgotten_starts_again() {
    let mut node = parent(Indirect::DEFAULT);
    let patience = node.config().reassembly_timeout;
    forward(&mut node, NOW, CHILD, 200).unwrap();
    node.handle_data_request(NOW, CHILD);
    let (first, start, _) = next(&mut node).unwrap();
    deliver(&mut node, first.token);
    let (second, rest, _) = next(&mut node).unwrap();
    node.handle_outcome(NOW, second.token, false);
    node.handle_data_request(NOW + patience, CHILD);
    let (again, payload, _) = next(&mut node).unwrap();
    assert_eq!((again.token, payload), (first.token, rest));
    node.handle_outcome(NOW + patience, again.token, false);
    node.handle_data_request(NOW + patience + Duration::from_micros(1), CHILD);
    let (anew, payload, _) = next(&mut node).unwrap();
    assert_ne!(anew.token, first.token, "another tag, so that old and new do not mix");
    assert_eq!(payload.len(), start.len());
}

#[test]
fn an_unrequested_packet_expires_unless_the_mac_holds_it() {
    let mut node = parent(Indirect::DEFAULT);
    let end = NOW + Indirect::DEFAULT.lifetime;
    forward(&mut node, NOW, CHILD, 20).unwrap();
    forward(&mut node, NOW + Duration::from_secs(1), CHILD, 20).unwrap();
    assert_eq!(node.deadline(), Some(end));
    node.handle_data_request(NOW, CHILD);
    let (frame, ..) = next(&mut node).unwrap();
    assert_eq!(node.deadline(), Some(end + Duration::from_secs(1)));
    node.handle_deadline(end);
    assert_eq!(node.info().indirect, 2);
    node.handle_outcome(end, frame.token, false);
    assert_eq!((node.info().indirect, node.stats().expired_indirect), (1, 1));
    node.handle_deadline(end + Duration::from_secs(1));
    assert_eq!((node.deadline(), node.info().free_packets), (None, PACKETS));
    // An old data request does not fetch a new packet.
    forward(&mut node, end, CHILD, 20).unwrap();
    assert_eq!(node.pending(), None);
}

#[test]
fn no_child_takes_the_place_of_another_and_all_of_them_leave_slots_for_the_rest() {
    let mut node = parent(Indirect { limit: 9, ..Indirect::DEFAULT });
    // Four entries, one of them for the other child.
    for _ in 0..3 {
        forward(&mut node, NOW, CHILD, 20).unwrap();
    }
    assert_eq!(forward(&mut node, NOW, CHILD, 20), Err(Discard::QueueFull));
    forward(&mut node, NOW, OTHER, 20).unwrap();
    assert_eq!(forward(&mut node, NOW, OTHER, 20), Err(Discard::QueueFull));

    // With more children than places the first packet takes the place, whoever it is for.
    let mut node = parent(Indirect { limit: 9, ..Indirect::DEFAULT });
    for _ in 0..3 {
        forward(&mut node, NOW, CHILD, 20).unwrap();
    }
    node.add_child(7).unwrap();
    forward(&mut node, NOW, OTHER, 20).unwrap();
    assert_eq!(forward(&mut node, NOW, 7, 20), Err(Discard::QueueFull));

    let mut node = parent(Indirect { limit: 2, ..Indirect::DEFAULT });
    let results = [(); 3].map(|()| forward(&mut node, NOW, CHILD, 20));
    assert_eq!(results, [Ok(()), Ok(()), Err(Discard::QueueFull)]);

    // Incomplete datagrams take all slots that they may; a child's packets leave the reserve free.
    let mut node = parent(Indirect::DEFAULT);
    let mut waiting = 0;
    while node.info().free_packets > RESERVED + 1 {
        forward(&mut node, NOW, [OTHER, 5][usize::from(waiting >= 1)], 20).unwrap();
        waiting += 1;
    }
    assert_eq!(forward(&mut node, NOW, CHILD, 20), Err(Discard::NoBuffer));
    assert!(waiting > 4 || forward(&mut node, NOW, 5, 20).is_ok());
}

#[test]
fn own_packets_for_a_sleeping_child_are_parked_too() {
    let mut node = parent(Indirect::DEFAULT);
    let outgoing = Outgoing {
        src: global(1),
        dst: global(CHILD),
        hop_limit: 64,
        traffic_class: 0,
        flow_label: 0,
        protocol: protocol::TCP,
        upper: &[7; 20],
        body: Body::External { key: 5, len: 300 },
    };
    node.submit(NOW, outgoing).unwrap();
    node.park(NOW, &Pattern);
    assert!(node.can_submit() && node.has_pending(CHILD));
    node.submit(NOW, Outgoing { dst: global(5), ..outgoing }).unwrap();
    node.park(NOW, &Pattern);
    assert!(!node.can_submit(), "a neighbour that does not sleep");
    node.handle_data_request(NOW, CHILD);
    let mut child = common::node(CHILD);
    let mut arrived = None;
    while node.has_pending(CHILD) {
        let (frame, payload, _) = next(&mut node).unwrap();
        if frame.class == Class::Indirect {
            arrived = arrived.or(hear(&mut child, NOW, 1, frame.dst, &payload).unwrap());
            deliver(&mut node, frame.token);
        }
    }
    let delivery = arrived.unwrap();
    let octets = &child.packet(delivery.packet)[delivery.upper];
    assert_eq!(octets[20..], pattern(5, 300));
}

#[test]
fn a_forgotten_child_leaves_nothing_behind() {
    let mut node = parent(Indirect::DEFAULT);
    forward(&mut node, NOW, CHILD, 20).unwrap();
    forward(&mut node, NOW, OTHER, 20).unwrap();
    forward(&mut node, NOW, CHILD, 20).unwrap();
    node.handle_data_request(NOW, CHILD);
    let (frame, ..) = next(&mut node).unwrap();
    assert!(node.remove_child(CHILD) && !node.remove_child(CHILD));
    assert_eq!(node.stats().abandoned_indirect, 2);
    deliver(&mut node, frame.token);
    assert_eq!((node.info().indirect, node.info().free_packets), (1, PACKETS - 1));
    assert_eq!(node.children().collect::<Vec<_>>(), [OTHER]);
    forward(&mut node, NOW, CHILD, 20).unwrap();
    assert!(node.pending().is_some(), "it is a neighbour like any other");
}

#[test]
fn a_packet_that_fits_into_no_frame_does_not_block_the_child() {
    let mut node = parent(Indirect::DEFAULT);
    forward(&mut node, NOW, CHILD, 20).unwrap();
    node.handle_data_request(NOW, CHILD);
    let pending = node.pending().unwrap();
    let limits = kinglet_net::FrameLimits { max_payload: 8 };
    assert_eq!(node.poll_frame(NOW, limits, &Pattern, &mut [0; 8]), None);
    assert_eq!(node.pending(), Some(pending));
    node.handle_outcome(NOW, pending.token, false);
    assert_eq!((node.pending(), node.info().free_packets), (None, PACKETS));
}
