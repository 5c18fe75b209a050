//! RFC 4944, 5.3: whatever happens to fragments, a datagram arrives exactly or not at all.

use crate::common::*;
use kinglet_net::{
    Body, Discard, FrameLimits, NetConfig, NextHop, Outgoing, SendError, mss_for_frames,
    path_header_len,
};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{Header, protocol};
use proptest::prelude::*;

const TCP_HEADER: [u8; 32] = [0x5A; 32];

fn segment(src: u16, dst: u16, key: u32, len: u16) -> Outgoing<'static, u32> {
    Outgoing {
        src: global(src),
        dst: global(dst),
        hop_limit: 64,
        traffic_class: 0,
        flow_label: 0,
        protocol: protocol::TCP,
        upper: &TCP_HEADER,
        body: Body::External { key, len },
    }
}

/// Returns the frames of one segment from node 1 to node 2.
fn segment_frames(key: u32, len: u16, max_payload: usize) -> Vec<Vec<u8>> {
    let mut sender = node(1);
    // Another tag for another key.
    for _ in 0..key % 7 {
        sender.submit(NOW, segment(1, 2, 0, 0)).unwrap();
        frames(&mut sender, LIMITS);
    }
    sender.submit(NOW, segment(1, 2, key, len)).unwrap();
    frames(&mut sender, FrameLimits { max_payload }).into_iter().map(|(_, frame)| frame).collect()
}

fn expected(key: u32, len: usize) -> Vec<u8> {
    [&TCP_HEADER[..], &pattern(key, len)].concat()
}

/// Processes a frame at node 2. Returns the upper layer's octets if that completes a packet.
fn hear_upper(node: &mut Node, now: Instant, src: u16, frame: &[u8]) -> Option<Vec<u8>> {
    let delivery = hear(node, now, src, Address::Short(2), frame).ok()??;
    let upper = node.packet(delivery.packet)[delivery.upper.clone()].to_vec();
    assert_eq!(usize::from(delivery.header.payload_len), upper.len());
    node.release(delivery.packet);
    Some(upper)
}

#[test]
fn a_segment_that_fits_goes_out_unfragmented() {
    let frames = segment_frames(0, 60, 104);
    assert_eq!(frames.len(), 1);
    // IPHC with elided addresses and hop limit: 2 octets, next header 1.
    assert_eq!(frames[0].len(), 3 + 32 + 60);
}

#[test]
fn every_fragment_but_the_last_is_as_full_as_units_of_eight_permit() {
    let frames = segment_frames(0, 451, 104);
    let lens: Vec<usize> = frames.iter().map(Vec::len).collect();
    // 4 + 3 + 96 (with the 40 of the header: 136); 5 + 96; 5 + 99.
    assert_eq!(lens, [103, 101, 101, 101, 104]);
}

//= rfc9293#MUST-67 rfc9293#SHLD-6
#[test]
fn mss_for_frames_is_what_the_fragmenter_does() {
    for max_payload in [60, 64, 81, 96, 102, 103, 104, 105, 106, 116] {
        for frames in 1..=8 {
            let Some(mss) = mss_for_frames(frames, max_payload, 3, TCP_HEADER.len()) else {
                continue;
            };
            let count = |len| segment_frames(0, len, max_payload).len();
            assert!(count(mss) <= usize::from(frames), "{frames} frames of {max_payload}: {mss}");
            if mss < 1280 - 72 {
                assert!(count(mss + 1) > usize::from(frames), "{frames} of {max_payload}: {mss}");
            }
        }
    }
}

#[test]
fn five_frames_carry_about_as_much_as_the_papers_462_octets() {
    // TCPlp §6.1 does not give the payload of its MAC, so this is the same arithmetic for all
    // payloads that 802.15.4 allows between 104 (extended addresses) and 112 (short ones only): 462
    // lies between the steps that units of eight octets make.
    let mss = |max_payload| mss_for_frames(5, max_payload, 3, 32).unwrap();
    assert_eq!([104, 105, 108, 109, 110].map(mss), [451, 452, 455, 480, 481]);
}

#[test]
fn one_lost_fragment_never_blocks_reassembly() {
    let (mut sender, mut receiver) = (node(1), node(2));
    let mut send = |key| -> Vec<Vec<u8>> {
        sender.submit(NOW, segment(1, 2, key, 451)).unwrap();
        frames(&mut sender, LIMITS).into_iter().map(|(_, frame)| frame).collect()
    };
    for round in 0..50 {
        let mut lossy = send(round);
        lossy.remove(round as usize % 5);
        for frame in &lossy {
            assert_eq!(hear_upper(&mut receiver, NOW, 1, frame), None);
        }
        let arrived: Vec<_> = send(round + 1)
            .iter()
            .filter_map(|frame| hear_upper(&mut receiver, NOW, 1, frame))
            .collect();
        assert_eq!(arrived, [expected(round + 1, 451)], "round {round}, without any time passing");
    }
}

#[test]
fn pitfall_009_and_051_stray_fragments_cannot_pin_the_slots() {
    let mut receiver = node(2);
    // Last fragments of datagrams that will never be complete, from other senders.
    for stranger in 10..30 {
        let strays = segment_frames(stranger, 451, 104);
        assert_eq!(hear_upper(&mut receiver, NOW, stranger as u16, &strays[4]), None);
    }
    assert_eq!(receiver.info().reassemblies, 2);
    assert_eq!(receiver.stats().discarded(Discard::NoReassembly), 18);
    let frames = segment_frames(0, 451, 104);
    let arrived: Vec<_> =
        frames.iter().filter_map(|frame| hear_upper(&mut receiver, NOW, 1, frame)).collect();
    assert_eq!(arrived, [expected(0, 451)]);
}

#[test]
fn a_sender_that_restarts_loses_its_own_datagram_first() {
    let mut receiver = node(2);
    let (theirs, old, new) =
        (segment_frames(1, 451, 104), segment_frames(2, 451, 104), segment_frames(3, 451, 104));
    // Node 5's datagram is the older one.
    assert_eq!(hear_upper(&mut receiver, NOW, 5, &theirs[0]), None);
    assert_eq!(hear_upper(&mut receiver, NOW, 1, &old[0]), None);
    assert_eq!(hear_upper(&mut receiver, NOW, 1, &new[0]), None);
    assert_eq!(receiver.stats().evicted_reassemblies, 1);
    let rest = theirs[1..].iter().filter_map(|frame| hear_upper(&mut receiver, NOW, 5, frame));
    assert_eq!(rest.collect::<Vec<_>>(), [expected(1, 451)]);
}

#[test]
fn a_late_first_fragment_does_not_replace_a_datagram_that_still_arrives() {
    let mut receiver = node(2);
    let idle = receiver.config().reassembly_timeout / 8;
    let [late, one, two] = [1, 2, 3].map(|key| segment_frames(key, 451, 104));
    for (from, frames) in [(5, &one), (6, &two)] {
        for frame in &frames[..3] {
            assert_eq!(hear_upper(&mut receiver, NOW, from, frame), None);
        }
    }
    // A copy of the first fragment of a datagram that was delivered long ago.
    let soon = NOW + idle - Duration::from_micros(1);
    assert_eq!(hear_upper(&mut receiver, soon, 7, &late[0]), None);
    assert_eq!(receiver.stats().evicted_reassemblies, 0);
    assert_eq!(receiver.stats().discarded(Discard::NoReassembly), 1);
    let rest = one[3..].iter().filter_map(|frame| hear_upper(&mut receiver, soon, 5, frame));
    assert_eq!(rest.collect::<Vec<_>>(), [expected(2, 451)]);
    // It gets a free entry, and loses it to the next sender as soon as it is idle; so does the
    // other one.
    assert_eq!(hear_upper(&mut receiver, soon, 7, &late[0]), None);
    for (from, frames) in [(8, &one), (9, &late)] {
        assert_eq!(hear_upper(&mut receiver, soon + idle, from, &frames[0]), None);
    }
    assert_eq!(receiver.stats().evicted_reassemblies, 2);
    assert_eq!(receiver.stats().discarded(Discard::NoReassembly), 1);
}

#[test]
fn a_reassembly_ends_at_its_timeout_and_frees_its_slot() {
    let mut receiver = node(2);
    assert_eq!(receiver.deadline(), None);
    let frames = segment_frames(0, 451, 104);
    assert_eq!(hear_upper(&mut receiver, NOW, 1, &frames[0]), None);
    let due = NOW + receiver.config().reassembly_timeout;
    assert_eq!(receiver.deadline(), Some(due));
    receiver.handle_deadline(due - Duration::from_micros(1));
    assert_eq!(receiver.info().reassemblies, 1);
    receiver.handle_deadline(due);
    assert_eq!((receiver.info().reassemblies, receiver.info().free_packets), (0, PACKETS));
    assert_eq!(receiver.stats().expired_reassemblies, 1);
    assert_eq!(receiver.deadline(), None);
}

#[test]
fn a_repeated_fragment_is_ignored() {
    let mut receiver = node(2);
    let frames = segment_frames(0, 451, 104);
    for frame in &frames[..4] {
        assert_eq!(hear_upper(&mut receiver, NOW, 1, frame), None);
        assert_eq!(hear_upper(&mut receiver, NOW, 1, frame), None);
    }
    assert_eq!(receiver.stats().duplicate_fragments, 4);
    assert_eq!(hear_upper(&mut receiver, NOW, 1, &frames[4]), Some(expected(0, 451)));
}

#[test]
fn a_fragment_that_overlaps_otherwise_discards_what_was_there() {
    let changed = |frames: &[Vec<u8>]| {
        let mut frame = frames[1].clone();
        *frame.last_mut().unwrap() ^= 1;
        frame
    };
    let longer = |frames: &[Vec<u8>]| [&frames[1][..], &frames[2][5..13]].concat();
    let later = |frames: &[Vec<u8>]| {
        let mut frame = frames[1].clone();
        frame[4] += 1;
        frame
    };
    // The same octets, cut differently, conflict as well: size or offset differ.
    let merged = |frames: &[Vec<u8>]| [&frames[1][..], &frames[2][5..]].concat();
    let shorter = |frames: &[Vec<u8>]| frames[1][..5 + 16].to_vec();
    type Conflict<'a> = &'a dyn Fn(&[Vec<u8>]) -> Vec<u8>;
    let conflicts: [Conflict; 5] = [&changed, &longer, &later, &merged, &shorter];
    for conflict in conflicts {
        let mut receiver = node(2);
        let frames = segment_frames(0, 451, 104);
        for frame in &frames[..3] {
            assert_eq!(hear_upper(&mut receiver, NOW, 1, frame), None);
        }
        assert_eq!(hear_upper(&mut receiver, NOW, 1, &conflict(&frames)), None);
        assert_eq!(receiver.stats().conflicting_fragments, 1);
        // The last two no longer complete it.
        assert_eq!(hear_upper(&mut receiver, NOW, 1, &frames[3]), None);
        assert_eq!(hear_upper(&mut receiver, NOW, 1, &frames[4]), None);
        assert_eq!(receiver.info().reassemblies, 1);
    }
}

#[test]
fn the_sender_of_a_datagram_that_is_too_long_learns_the_limit() {
    let mut receiver = node(2);
    // 1400 octets, in a first fragment that ends within the payload, and one that continues it.
    let upper = [0; 1400 - 40];
    let octets = packet(global(1), global(2), protocol::UDP, &upper);
    let mut first = vec![0xC0 | 0x05, 0x78, 0, 1, 0x41];
    first.extend_from_slice(&octets[..80]);
    let mut next = vec![0xE0 | 0x05, 0x78, 0, 1, 10];
    next.extend_from_slice(&octets[80..160]);
    for frame in [&first, &next] {
        let heard = hear(&mut receiver, NOW, 1, Address::Short(2), frame);
        assert_eq!(heard, Err(Discard::TooBig));
    }
    let mut sender = node(1);
    carry(&mut receiver, 2, &mut sender);
    // The sender has sent no such packet and rejects the error, but that is what came.
    assert_eq!(sender.stats().discarded(Discard::ForgedError), 1);
    assert_eq!((receiver.stats().errors_out, receiver.pending()), (1, None));
    assert_eq!(receiver.info().free_packets, PACKETS);
}

#[test]
fn impossible_fragments_are_refused() {
    let mut receiver = node(2);
    let mut refuse = |frame: &[u8], why| {
        let heard = hear(&mut receiver, NOW, 1, Address::Short(2), frame);
        assert_eq!(heard, Err(why), "{frame:02x?}");
    };
    refuse(&[0xC0, 39, 0, 1, 0x41], Discard::Fragment);
    refuse(&[0xC7, 0xFF, 0, 1, 0x41, 1], Discard::TooBig);
    refuse(&[0xC1, 0, 0, 1], Discard::Dispatch);
    refuse(&[0xC1, 0, 0, 1, 0x7A, 0x34, 6], Discard::Compression);
    refuse(&[0xE1, 0, 0, 1], Discard::Fragment);
    refuse(&[0xE1, 0, 0, 1, 1], Discard::Fragment);
    // Not a multiple of eight, and not the end.
    refuse(&[0xE1, 0, 0, 1, 1, 1, 2, 3], Discard::Fragment);
    // Beyond the end.
    refuse(&[0xE0, 48, 0, 1, 5, 1, 2, 3, 4, 5, 6, 7, 8, 9], Discard::Fragment);
    assert_eq!(receiver.info().free_packets, PACKETS);
}

#[test]
fn a_middle_fragment_that_is_no_multiple_of_eight_is_refused_where_it_is_expected() {
    let frames = segment_frames(0, 451, 104);
    let mut receiver = node(2);
    assert_eq!(hear_upper(&mut receiver, NOW, 1, &frames[0]), None);
    let cut = &frames[1][..frames[1].len() - 3];
    let heard = hear(&mut receiver, NOW, 1, Address::Short(2), cut);
    assert_eq!(heard, Err(Discard::Fragment));
    // The right one completes the datagram with the others.
    let (last, middle) = frames[1..].split_last().unwrap();
    middle.iter().for_each(|frame| assert_eq!(hear_upper(&mut receiver, NOW, 1, frame), None));
    assert_eq!(hear_upper(&mut receiver, NOW, 1, last), Some(expected(0, 451)));
}

#[test]
fn a_frame_that_was_not_delivered_ends_its_datagram() {
    let mut sender = node(1);
    sender.submit(NOW, segment(1, 2, 0, 451)).unwrap();
    let (first, _) = poll(&mut sender, LIMITS).unwrap();
    assert_eq!(sender.submit(NOW, segment(1, 2, 1, 10)), Err(SendError::Busy));
    sender.handle_outcome(NOW, first.token, true);
    assert!(sender.pending().is_some() && !sender.can_submit());
    sender.handle_outcome(NOW, first.token, false);
    assert!(sender.pending().is_none() && sender.can_submit());
    assert_eq!(sender.stats().cancelled, 1);
    // A late result does not affect the next datagram.
    sender.submit(NOW, segment(1, 2, 1, 451)).unwrap();
    poll(&mut sender, LIMITS).unwrap();
    sender.handle_outcome(NOW, first.token, false);
    assert_eq!(frames(&mut sender, LIMITS).len(), 4);
}

#[test]
fn payload_that_is_gone_ends_its_datagram_and_the_next_proceeds() {
    let mut sender = node(1);
    let mut buf = [0; 104];
    sender.submit(NOW, segment(1, 2, 0, 451)).unwrap();
    sender.ping(NOW, global(2), 1, 1, &[]).unwrap();
    assert_eq!(sender.poll_frame(NOW, LIMITS, &kinglet_net::NoBody, &mut buf), None);
    assert_eq!(sender.stats().stale, 1);
    assert!(sender.can_submit() && sender.pending().is_some());
    assert!(sender.poll_frame(NOW, LIMITS, &kinglet_net::NoBody, &mut buf).is_some());
}

#[test]
fn a_short_buffer_loses_nothing() {
    let mut sender = node(1);
    sender.submit(NOW, segment(1, 2, 0, 451)).unwrap();
    let mut got = Vec::new();
    while sender.pending().is_some() {
        assert_eq!(sender.poll_frame(NOW, LIMITS, &Pattern, &mut [0; 103]), None);
        let tiny = FrameLimits { max_payload: 4 };
        assert_eq!(sender.poll_frame(NOW, tiny, &Pattern, &mut [0; 104]), None);
        got.push(poll(&mut sender, LIMITS).unwrap().1);
    }
    assert_eq!(got, segment_frames(0, 451, 104));
}

#[test]
fn external_packets_and_slots_are_served_round_robin() {
    let mut sender = node(1);
    for seq in 0..3 {
        sender.ping(NOW, global(2), 1, seq, &[]).unwrap();
    }
    let mut kinds = Vec::new();
    while let Some((_, frame)) = poll(&mut sender, LIMITS) {
        // The next header field distinguishes them.
        kinds.push(frame[2]);
        if kinds.len() < 5 && sender.can_submit() {
            sender.submit(NOW, segment(1, 2, 0, 0)).unwrap();
        }
    }
    assert_eq!(kinds, [58, 6, 58, 6, 58, 6]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn fragments_in_any_order_repeated_and_lost_give_the_packet_or_nothing(
        len in 0u16..=1208, max_payload in 60usize..=120, key in 0u32..250,
        shuffle in any::<u64>(), lose in 0usize..40, again in 0usize..40,
    ) {
        let mut frames = segment_frames(key, len, max_payload);
        let total = frames.len();
        if again < total {
            frames.push(frames[again].clone());
        }
        let lost = lose < total && lose != again;
        if lost {
            frames.remove(lose);
        }
        let mut state = shuffle | 1;
        for i in (1..frames.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            frames.swap(i, (state >> 33) as usize % (i + 1));
        }
        let mut receiver = node(2);
        let mut arrived: Vec<Vec<u8>> = Vec::new();
        for frame in &frames {
            arrived.extend(hear_upper(&mut receiver, NOW, 1, frame));
        }
        prop_assert!(arrived.iter().all(|upper| *upper == expected(key, usize::from(len))));
        // A repetition of an unfragmented packet is a second packet.
        let times = if lost { 0 } else if total == 1 && again == 0 { 2 } else { 1 };
        prop_assert_eq!(arrived.len(), times);
        receiver.handle_deadline(NOW + Duration::from_secs(60));
        prop_assert_eq!(receiver.info().free_packets, PACKETS);
    }

    #[test]
    fn no_frames_panic_or_leak(
        inputs in prop::collection::vec((
            prop::collection::vec(any::<u8>(), 0..120), 0u8..8, 0u16..4, any::<bool>(),
        ), 1..40),
    ) {
        let mut receiver = router(2);
        receiver.add_route(route(global(0), 64, kinglet_net::NextHop::OnLink)).unwrap();
        receiver.udp_bind(0xF0B1).unwrap();
        for (mut frame, kind, src, broadcast) in inputs {
            if let [a, b, ..] = &mut frame[..] {
                match kind {
                    0 => *a = 0x41,
                    1..=3 => *a = 0x60 | (*a & 0x1F),
                    4 => (*a, *b) = (0xC0 | (*a & 1), *b & 0xFC),
                    5 => (*a, *b) = (0xE0 | (*a & 1), *b & 0xFC),
                    _ => {}
                }
            }
            if kind == 4 && frame.len() > 5 {
                frame[4] = 0x60 | (frame[4] & 0x1F);
            }
            let dst = if broadcast { Address::BROADCAST } else { Address::Short(2) };
            if let Ok(Some(delivery)) = hear(&mut receiver, NOW, src, dst, &frame) {
                receiver.release(delivery.packet);
            }
        }
        frames(&mut receiver, LIMITS);
        let mut buf = [0; 1280];
        let _ = receiver.poll_host_packet(NOW, &Pattern, &mut buf);
        receiver.handle_deadline(NOW + Duration::from_secs(60));
        prop_assert_eq!(receiver.info().free_packets, PACKETS);
    }
}

#[test]
fn traffic_class_and_flow_label_reach_the_other_end() {
    let (mut sender, mut receiver) = (node(1), node(2));
    let outgoing = Outgoing { traffic_class: 0xBB, flow_label: 0x54321, ..segment(1, 2, 0, 300) };
    sender.submit(NOW, outgoing).unwrap();
    let deliveries = carry(&mut sender, 1, &mut receiver);
    let Header { traffic_class, flow_label, .. } = deliveries[0].header;
    assert_eq!((traffic_class, flow_label), (0xBB, 0x54321));
}

//= rfc9293#SHLD-6
#[test]
fn the_header_of_the_worst_hop_is_what_a_forwarder_writes() {
    let contexts = node(1).contexts().to_vec();
    // IPHC 2, ECN 1, next header 1, hop limit 1, two 16-bit addresses.
    assert_eq!(path_header_len(global(1), global(9), &contexts), Ok(9));
    assert_eq!(path_header_len(global(1), global(9), &[]), Ok(2 + 3 + 32));
    let mut forwarder = router(5);
    forwarder.add_route(route(global(0), 64, NextHop::Link(Address::Short(6)))).unwrap();
    let mut octets = packet(global(1), global(9), protocol::TCP, &[0; 20]);
    // ECT(0), and a hop limit that is not elided after this hop.
    octets[1] = 0x20;
    octets[7] = 60;
    hear(&mut forwarder, NOW, 4, Address::Short(5), &plain(&octets)).unwrap();
    assert_eq!(poll(&mut forwarder, LIMITS).unwrap().0.len, 9 + 20);
}

#[test]
fn contexts_beyond_the_table_are_refused() {
    let mut node = node(1);
    assert!(node.set_context(1, None).is_ok());
    assert!(node.set_context(2, None).is_err());
}

#[test]
fn a_reassembly_leaves_the_last_slot_to_what_is_not_fragmented() {
    let mut receiver = node(2);
    let ack = plain(&packet(global(1), global(2), protocol::TCP, &[0; 20]));
    let mut next = |frame: &[u8]| hear(&mut receiver, NOW, 1, Address::Short(2), frame);
    // An upper layer that does not release its packets.
    for _ in 1..PACKETS {
        assert!(next(&ack).unwrap().is_some());
    }
    assert_eq!(next(&segment_frames(0, 451, 104)[0]), Err(Discard::NoBuffer));
    assert!(next(&ack).unwrap().is_some());
    assert_eq!(next(&ack), Err(Discard::NoBuffer));
}

#[test]
fn the_first_tag_is_the_configured_one_so_that_a_reboot_does_not_continue_old_datagrams() {
    let tag = |first_tag: u16| {
        let mut sender = bare(NetConfig { first_tag, ..NetConfig::new(Address::Short(1)) }, 1);
        sender.add_route(route(global(0), 64, NextHop::OnLink)).unwrap();
        [0, 1].map(|_| {
            sender.submit(NOW, segment(1, 2, 0, 600)).unwrap();
            let (_, first) = frames(&mut sender, LIMITS).swap_remove(0);
            u16::from_be_bytes([first[2], first[3]])
        })
    };
    assert_eq!(tag(0), [0, 1]);
    assert_eq!(tag(0xBEEF), [0xBEEF, 0xBEF0]);
    assert_eq!(tag(0xFFFF), [0xFFFF, 0]);
}

#[test]
fn the_owner_of_a_payload_is_notified_of_a_lost_frame() {
    let mut sender = node(1);
    let mut tokens = Vec::new();
    for key in 1..=3 {
        sender.submit(NOW, segment(1, 2, key, 100)).unwrap();
        let (first, _) = poll(&mut sender, LIMITS).unwrap();
        assert!(poll(&mut sender, LIMITS).is_some() && sender.can_submit());
        tokens.push(first.token);
    }
    // The last two written ones are remembered, each until it is lost.
    let lost = |sender: &mut Node, token| {
        (sender.handle_outcome(NOW, token, true), sender.handle_outcome(NOW, token, false))
    };
    assert_eq!(lost(&mut sender, tokens[0]), (None, None));
    assert_eq!(lost(&mut sender, tokens[1]), (None, Some(2)));
    assert_eq!(lost(&mut sender, tokens[1]), (None, None));
    assert_eq!(lost(&mut sender, tokens[2]), (None, Some(3)));
    // The one in progress is remembered, too.
    sender.submit(NOW, segment(1, 2, 4, 451)).unwrap();
    let (first, _) = poll(&mut sender, LIMITS).unwrap();
    assert_eq!(lost(&mut sender, first.token), (None, Some(4)));
}
