//! Windows, probes, acknowledgments and reassembly, segment by segment; many tests are named after
//! a defect of another stack.

use crate::common::script::*;
use crate::common::*;
use kinglet_tcp::*;
use kinglet_time::Duration;
use kinglet_wire::tcp::{Options, SackBlock};

#[test]
fn the_window_of_a_syn_is_never_scaled() {
    let options = Options { window_scale: Some(7), ..Options::NONE };
    let (mut s, handle) = Script::server(plain(), options);
    // The ACK that completed the handshake had a window of 1000, scaled.
    assert_eq!(s.ep.info(handle).unwrap().snd_wnd, 1000 << 7);
    // In an active open the window of the SYN-ACK is taken unscaled.
    let (s2, handle) = Script::client(plain(), options);
    assert_eq!(s2.ep.info(handle).unwrap().snd_wnd, 1000);
    s.silent();
}

#[test]
fn nagle_holds_back_what_is_small_while_something_is_in_flight() {
    for nagle in [true, false] {
        let (mut s, handle) = Script::server(ConnectionConfig { nagle, ..plain() }, Options::NONE);
        s.ep.send(handle, b"one").unwrap();
        assert_eq!(s.take().unwrap().payload, b"one");
        s.ep.send(handle, b"two").unwrap();
        if nagle {
            s.silent();
            s.ep.send(handle, b"three").unwrap();
            s.silent();
            s.give(ACK, 1, 4, b"").unwrap();
            assert_eq!(s.take().unwrap().payload, b"twothree");
        } else {
            assert_eq!(s.take().unwrap().payload, b"two");
        }
    }
}

#[test]
fn the_sender_avoids_silly_windows() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.send(handle, &[1; 1000]).unwrap();
    assert_eq!(s.take_all().len(), 4);
    // 30 octets of window beyond what is in flight: not worth a segment.
    s.window = 30;
    s.give(ACK, 1, 401, b"").unwrap();
    s.silent();
    s.window = 100;
    s.give(ACK, 1, 401, b"").unwrap();
    assert_eq!(s.take().unwrap().payload.len(), 100);
}

#[test]
fn a_small_window_is_used_after_the_override_timeout() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.send(handle, &[1; 1000]).unwrap();
    s.take_all();
    s.window = 30;
    s.give(ACK, 1, 401, b"").unwrap();
    let sent = s.wait(Duration::from_secs(2));
    assert_eq!((sent[0].seq, sent[0].payload.len()), (401, 30));
}

#[test]
fn the_receiver_avoids_silly_windows_and_never_retracts_its_edge() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    let mut edge = 801;
    let mut seq = 1;
    for round in 0..60 {
        let mut buf = [0; 20];
        let _ = s.ep.recv(handle, &mut buf[..1 + round % 20]);
        for got in s.take_all() {
            let new = got.ack + u32::from(got.header.window);
            assert!(new >= edge, "the edge went back");
            assert!(new == edge || new - edge >= 100, "a silly step of {}", new - edge);
            edge = new;
        }
        let len = (edge - seq).min(90);
        if s.give(ACK, seq, 1, &vec![9; len as usize]).is_ok() {
            seq += len;
        }
    }
    assert!(edge > 801);
}

#[test]
fn window_updates_announce_the_end_of_a_closed_window() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    for i in 0..8 {
        s.give(ACK, 1 + i * 100, 1, &[1; 100]).unwrap();
    }
    let acks = s.take_all();
    assert_eq!(acks.last().unwrap().header.window, 0);
    let mut buf = [0; 99];
    s.ep.recv(handle, &mut buf).unwrap();
    s.silent();
    s.ep.recv(handle, &mut buf[..1]).unwrap();
    assert_eq!(s.take().unwrap().header.window, 100);
}

#[test]
fn segments_duplicate_acknowledgments_and_probes_are_counted() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    let start = s.ep.info(handle).unwrap().counters;
    s.ep.send(handle, &[5; 400]).unwrap();
    assert_eq!(s.take_all().len(), 4);
    for ack in [1, 1, 101, 401] {
        s.give(ACK, 1, ack, b"").unwrap();
    }
    s.window = 0;
    s.give(ACK, 1, 401, b"").unwrap();
    s.ep.send(handle, &[5; 50]).unwrap();
    assert_eq!(s.wait(Duration::from_secs(2)).len(), 1);
    let segments_sent = start.segments_sent + 5;
    let segments_received = start.segments_received + 5;
    let expected = Counters { segments_sent, segments_received, dup_acks: 2, probes: 1, ..start };
    assert_eq!(s.ep.info(handle).unwrap().counters, expected);
}

#[test]
fn a_zero_window_is_probed_and_the_probe_counts_as_sent() {
    let config = ConnectionConfig { nagle: false, ..plain() };
    let (mut s, handle) = Script::server(config, Options::NONE);
    s.window = 0;
    s.give(ACK, 1, 1, b"").unwrap();
    s.ep.send(handle, &[5; 250]).unwrap();
    s.silent();
    let probes = s.wait(Duration::from_secs(1));
    assert_eq!((probes.len(), probes[0].payload.len(), probes[0].seq), (1, 1, 1));
    assert_eq!(s.ep.info(handle).unwrap().bytes_in_flight, 1);
    // The peer does not accept it: the same octet is sent again, at growing intervals, for as long
    // as the peer responds.
    let mut gaps = Vec::new();
    let mut last = probes[0].at;
    for _ in 0..40 {
        s.give(ACK, 1, 1, b"").unwrap();
        let probes = s.wait(Duration::from_secs(61));
        assert!(!probes.is_empty());
        assert!(probes.iter().all(|p| p.seq == 1 && p.payload.len() == 1));
        gaps.push(probes[0].at - last);
        last = probes[probes.len() - 1].at;
    }
    assert!(gaps[1] > gaps[0]);
    assert_eq!(s.ep.info(handle).unwrap().error, None);
    // The peer takes the probe and opens.
    s.window = 1000;
    s.give(ACK, 1, 2, b"").unwrap();
    assert_eq!(seqs(&s.take_all()), [2, 102, 202]);
}

#[test]
fn a_window_that_opens_sends_the_refused_probe_again_at_once() {
    let config = ConnectionConfig { nagle: false, ..plain() };
    let (mut s, handle) = Script::server(config, Options::NONE);
    s.window = 0;
    s.give(ACK, 1, 1, b"").unwrap();
    s.ep.send(handle, &[5; 250]).unwrap();
    assert_eq!(s.wait(Duration::from_secs(1)).len(), 1);
    s.window = 1000;
    s.give(ACK, 1, 1, b"").unwrap();
    let sent = s.take_all();
    assert_eq!(seqs(&sent), [1, 101, 201]);
    assert_eq!(sent[0].payload.len(), 100, "filled up with new data");
    assert_eq!(s.ep.info(handle).unwrap().counters.timeouts, 0);
}

#[test]
fn a_probe_that_is_not_answered_ends_the_connection_after_all() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.window = 0;
    s.give(ACK, 1, 1, b"").unwrap();
    s.ep.send(handle, b"x").unwrap();
    s.wait(Duration::from_secs(2000));
    assert_eq!(s.ep.info(handle).unwrap().error, Some(ConnectionError::TimedOut));
}

//= rfc9293#MUST-34 rfc9293#SHLD-17
#[test]
fn a_window_shrunk_to_zero_under_data_in_flight_does_not_stall_for_ever() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.send(handle, &[1; 400]).unwrap();
    assert_eq!(s.take_all().len(), 4);
    s.window = 0;
    s.give(ACK, 1, 101, b"").unwrap();
    // The data in flight is now a probe, and no sign of congestion.
    let before = s.ep.info(handle).unwrap();
    let probes = s.wait(Duration::from_secs(3));
    assert!(!probes.is_empty());
    assert!(probes.iter().all(|p| p.seq == 101 && p.payload.len() == 1));
    assert_eq!(s.ep.info(handle).unwrap().ssthresh, before.ssthresh);
    s.window = 1000;
    s.give(ACK, 1, 101, b"").unwrap();
    assert_eq!(seqs(&s.take_all()), [101, 201, 301]);
    s.give(ACK, 1, 401, b"").unwrap();
    assert_eq!(s.ep.deadline(), None);
}

#[test]
fn a_zero_window_on_a_partial_ack_keeps_the_retransmission_timer() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.send(handle, &[1; 400]).unwrap();
    s.take_all();
    s.wait(Duration::from_secs(1));
    s.window = 0;
    s.give(ACK, 1, 101, b"").unwrap();
    assert!(s.ep.deadline().is_some());
    assert!(!s.wait(Duration::from_secs(5)).is_empty());
}

#[test]
fn a_probe_into_our_closed_window_is_acknowledged_and_its_ack_is_taken() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    for i in 0..8 {
        s.give(ACK, 1 + i * 100, 1, &[1; 100]).unwrap();
    }
    s.ep.send(handle, b"data").unwrap();
    s.take_all();
    s.give(ACK, 801, 5, b"x").unwrap();
    let ack = s.take().unwrap();
    assert_eq!((ack.ack, ack.header.window), (801, 0));
    assert_eq!(s.ep.info(handle).unwrap().bytes_in_flight, 0);
}

//= rfc9293#MUST-40
//= rfc5681#4.2-2 rfc5681#4.2-4 rfc5681#4.2-5
#[test]
fn no_setting_delays_an_ack_by_half_a_second() {
    let slow = ConnectionConfig { delayed_ack: Duration::from_secs(3), ..plain() };
    let (mut s, _) = Script::server(slow, Options::NONE);
    s.give(ACK, 1, 1, b"x").unwrap();
    assert_eq!(s.take_all().len(), 0);
    let acks = s.wait(Duration::from_micros(499_999));
    assert_eq!(acks.len(), 1);
}

/// The acknowledgment of a single segment does not wait so long: its sender may have measured only
/// the handshake, and then has an RTO of 200 ms more than that took.
#[test]
fn an_ack_waits_three_times_as_long_where_the_sender_has_more() {
    let config = ConnectionConfig { delayed_ack: MS * 100, mss: 100, ..plain() };
    let (mut s, _) = Script::server(config, Options::NONE);
    let mut wait_for = |flags, seq, len: usize| {
        s.give(flags, seq, 1, &[1; 100][..len]).unwrap();
        let from = s.now;
        let acks = s.wait(MS * 500);
        assert_eq!(acks.len(), 1);
        acks[0].at - from
    };
    assert_eq!(wait_for(ACK | PSH, 1, 100), MS * 100, "alone");
    assert_eq!(wait_for(ACK, 101, 100), MS * 300, "more waits at the sender");
    assert_eq!(wait_for(ACK | PSH, 201, 100), MS * 100, "the last");
}

#[test]
fn acks_are_delayed_until_the_second_full_segment_or_the_timeout() {
    let config = ConnectionConfig { delayed_ack: MS * 100, ..plain() };
    let (mut s, handle) = Script::server(config, Options::NONE);
    s.give(ACK, 1, 1, &[1; 100]).unwrap();
    s.silent();
    s.give(ACK, 101, 1, &[1; 100]).unwrap();
    assert_eq!(s.take().unwrap().ack, 201);
    s.give(ACK, 201, 1, &[1; 100]).unwrap();
    let from = s.now;
    let acks = s.wait(MS * 500);
    assert_eq!((acks.len(), acks[0].at - from), (1, MS * 300), "more waits at the sender");
    // Data going out takes the acknowledgment along.
    s.give(ACK, 301, 1, &[1; 100]).unwrap();
    s.ep.send(handle, b"answer").unwrap();
    assert_eq!(s.take().unwrap().ack, 401);
    assert!(s.wait(MS * 150).is_empty(), "the ACK was sent already");
}

#[test]
fn acks_are_immediate_out_of_order_when_a_gap_is_filled_and_when_the_buffer_is_full() {
    let config = ConnectionConfig { delayed_ack: MS * 100, ack_every: 9, ..plain() };
    let (mut s, _) = Script::server(config, Options::NONE);
    s.give(ACK, 101, 1, &[1; 100]).unwrap();
    assert_eq!(s.take().unwrap().ack, 1);
    s.give(ACK, 1, 1, &[1; 100]).unwrap();
    assert_eq!(s.take().unwrap().ack, 201);
    // The next two are acknowledged at once, too.
    for i in 2..4 {
        s.give(ACK, 1 + i * 100, 1, &[1; 100]).unwrap();
        assert_eq!(s.take().unwrap().ack, 101 + i * 100);
    }
    for i in 4..7 {
        s.give(ACK, 1 + i * 100, 1, &[1; 100]).unwrap();
        s.silent();
    }
    s.give(ACK, 701, 1, &[1; 100]).unwrap();
    let full = s.take().unwrap();
    assert_eq!((full.ack, full.header.window), (801, 0));
}

#[test]
fn on_a_lossy_path_more_is_acknowledged_at_once_after_a_gap() {
    for (lossy_path, prompt) in [(false, 2), (true, 4)] {
        let delayed_ack = MS * 100;
        let config = ConnectionConfig { delayed_ack, ack_every: 3, lossy_path, ..plain() };
        let (mut s, handle) = Script::server(config, Options::NONE);
        s.give(ACK, 101, 1, &[1; 100]).unwrap();
        s.give(ACK, 1, 1, &[1; 100]).unwrap();
        s.take_all();
        for i in 2..=2 + prompt {
            s.read(handle);
            s.give(ACK, 1 + i * 100, 1, &[1; 100]).unwrap();
            assert_eq!(s.take().is_some(), i < 2 + prompt, "{i}");
        }
    }
}

#[test]
fn thinned_acknowledgments_come_twice_a_window() {
    let config = ConnectionConfig { delayed_ack: MS * 100, ack_every: 9, ..plain() };
    let (mut s, handle) = Script::server(config, Options::NONE);
    for i in 0..12 {
        s.give(ACK, 1 + i * 100, 1, &[1; 100]).unwrap();
        s.read(handle);
        let ack = s.take().map(|ack| ack.ack);
        assert_eq!(ack, (i % 4 == 3).then_some(101 + i * 100), "with 800 octets of window");
    }
}

#[test]
fn signs_of_the_peers_timeout_have_the_next_eight_segments_acknowledged_at_once() {
    let config = ConnectionConfig { delayed_ack: MS * 100, ack_every: 3, ..plain() };
    let (mut s, handle) = Script::server(config, Options::NONE);
    let mut nxt = 1;
    // All of it twice, some of it twice, and less than a segment that the peer does not push.
    for (back, len) in [(100, 100), (50, 100), (0, 40)] {
        for _ in 0..3 {
            s.give(ACK, nxt, 1, &[1; 100]).unwrap();
            nxt += 100;
        }
        assert!(!s.take_all().is_empty());
        let _ = s.give(ACK, nxt - back, 1, &vec![1; len]);
        nxt = nxt.max(nxt - back + len as u32);
        assert_eq!(s.take().unwrap().ack, nxt);
        s.read(handle);
        // The short segment has used up one of the eight.
        for _ in 0..if back == 100 { 8 } else { 7 } {
            s.give(ACK, nxt, 1, &[1; 100]).unwrap();
            nxt += 100;
            assert_eq!(s.take().unwrap().ack, nxt);
            s.read(handle);
        }
        s.give(ACK, nxt, 1, &[1; 100]).unwrap();
        nxt += 100;
        s.silent();
        s.wait(MS * 200);
        s.read(handle);
    }
    // A segment with PSH is short because there is no more text.
    s.give(ACK | PSH, nxt, 1, &[1; 40]).unwrap();
    s.silent();
}

#[test]
fn sack_blocks_have_the_most_recent_first() {
    let (config, options) = with_sack();
    let (mut s, _) = Script::server(config, options);
    let isn = s.isn;
    let block =
        |l: u32, r: u32| SackBlock { left: isn.wrapping_add(l), right: isn.wrapping_add(r) };
    s.give(ACK, 201, 1, &[1; 100]).unwrap();
    s.take();
    s.give(ACK, 401, 1, &[1; 100]).unwrap();
    s.take();
    s.give(ACK, 601, 1, &[1; 100]).unwrap();
    let ack = s.take().unwrap();
    let want = [block(601, 701), block(401, 501), block(201, 301)];
    assert_eq!(ack.header.options.sack.as_slice(), want);
    // A block that joins two of them.
    s.give(ACK, 301, 1, &[1; 100]).unwrap();
    let ack = s.take().unwrap();
    assert_eq!(ack.header.options.sack.as_slice(), [block(201, 501), block(601, 701)]);
    s.give(ACK, 1, 1, &[1; 200]).unwrap();
    let ack = s.take().unwrap();
    assert_eq!((ack.ack, ack.header.options.sack.as_slice()), (501, &[block(601, 701)][..]));
}

#[test]
fn a_receive_buffer_filled_entirely_out_of_order_is_reassembled() {
    let (config, options) = with_sack();
    let (mut s, handle) = Script::server(config, options);
    let stream: Vec<u8> = (0..800).map(|i| octet(0, i)).collect();
    for i in (0..800).rev() {
        s.give(ACK, 1 + i as u32, 1, &stream[i..=i]).unwrap();
    }
    assert_eq!(s.take_all().last().unwrap().ack, 801);
    assert_eq!(s.read(handle), stream);
}

/// The first segment of a full window was lost: the next segment of the peer begins at the right
/// edge.
#[test]
fn an_ack_at_the_right_edge_of_the_window_is_taken() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.send(handle, &[7; 40]).unwrap();
    assert_eq!(s.take_all().len(), 1);
    let window = s.ep.info(handle).unwrap().rcv_wnd;
    for offset in (101..=window).step_by(100) {
        let len = 100.min(window + 1 - offset) as usize;
        s.give(ACK, offset, 1, &[9; 100][..len]).unwrap();
    }
    s.take_all();
    assert_eq!(s.give(ACK, window + 2, 41, b""), Err(Discard::OutsideWindow));
    assert_eq!(s.ep.info(handle).unwrap().bytes_in_flight, 40);
    s.give(ACK, window + 1, 41, b"").unwrap();
    assert_eq!(s.ep.info(handle).unwrap().bytes_in_flight, 0);
    assert_eq!(s.ep.can_recv(handle), 0);
}

#[test]
fn a_fin_out_of_order_is_remembered_and_text_after_it_is_refused() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.give(FIN | ACK, 101, 1, &[2; 50]).unwrap();
    assert_eq!(s.ep.state(handle), Some(State::Established));
    // Text beyond the FIN, whatever its sender thinks.
    s.give(ACK, 151, 1, &[3; 50]).unwrap();
    s.give(ACK, 1, 1, &[1; 100]).unwrap();
    assert_eq!(s.ep.state(handle), Some(State::CloseWait));
    assert_eq!(s.take_all().last().unwrap().ack, 152);
    assert_eq!(s.read(handle), [vec![1; 100], vec![2; 50]].concat());
    assert_eq!(s.ep.recv(handle, &mut [0; 1]), Ok(0));
    assert!(s.give(ACK, 152, 1, b"late").is_ok());
    assert_eq!(s.ep.can_recv(handle), 0);
}

#[test]
fn a_fin_that_is_cut_off_at_the_window_edge_is_not_accepted() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.give(FIN | ACK, 1, 1, &[1; 900]).unwrap();
    assert_eq!(s.ep.state(handle), Some(State::Established));
    assert_eq!(s.read(handle).len(), 800);
    s.take_all();
    s.give(FIN | ACK, 801, 1, &[1; 100]).unwrap();
    assert_eq!(s.ep.state(handle), Some(State::CloseWait));
}

#[test]
fn a_lone_fin_is_retransmitted_until_it_is_acknowledged() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.close(handle).unwrap();
    assert!(s.take().unwrap().is(FIN));
    for _ in 0..5 {
        // Duplicates request a fast retransmission, and the timer stays.
        s.give(ACK, 1, 1, b"").unwrap();
        s.take_all();
        assert!(s.ep.deadline().is_some());
    }
    let again = s.wait(Duration::from_secs(2));
    assert!(again[0].is(FIN) && again[0].seq == 1);
    s.give(ACK, 1, 2, b"").unwrap();
    assert_eq!(s.ep.state(handle), Some(State::FinWait2));
}

#[test]
fn a_payload_reference_goes_stale_when_it_is_acknowledged_or_the_connection_is_gone() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    let data: Vec<u8> = (0..100).collect();
    s.ep.send(handle, &data).unwrap();
    let packet = s.ep.poll_packet(s.now).unwrap();
    let mut out = [0; 40];
    // Fragment by fragment, as 6LoWPAN reads it.
    for offset in [0, 40, 60] {
        s.ep.read_payload(packet.payload, offset, &mut out).unwrap();
        assert_eq!(out, data[offset..offset + 40]);
    }
    assert_eq!(s.ep.read_payload(packet.payload, 61, &mut out), Err(Stale));
    s.give(ACK, 1, 51, b"").unwrap();
    assert_eq!(s.ep.read_payload(packet.payload, 0, &mut out), Err(Stale));
    assert_eq!(s.ep.read_payload(packet.payload, 60, &mut out), Ok(()));
    s.ep.abort(handle).unwrap();
    assert_eq!(s.ep.read_payload(packet.payload, 60, &mut out), Err(Stale));
}
