//! Recovery without loss reports of the link (decision 23).

use crate::common::script::*;
use kinglet_tcp::*;
use kinglet_time::Duration;
use kinglet_wire::tcp::{Options, SackBlock, Timestamps};

const MS: Duration = Duration::from_millis(1);

/// A server with segments of 400 octets and a round trip of 20 ms; four segments are in flight.
fn in_flight(config: ConnectionConfig) -> (Script, Handle) {
    let config = ConnectionConfig { mss: 400, rto_min: MS * 200, pacing: false, ..config };
    let options = Options { mss: Some(400), sack_permitted: config.sack, ..Options::NONE };
    let (mut s, handle) = Script::server(config, options);
    s.window = 4000;
    s.ep.send(handle, &[1; 400]).unwrap();
    s.take_all();
    s.wait(MS * 20);
    s.give(ACK, 1, 401, b"").unwrap();
    s.ep.send(handle, &[1; 1600]).unwrap();
    assert_eq!(seqs(&s.take_all()), [401, 801, 1201, 1601]);
    (s, handle)
}

/// The peer holds `left..right` and acknowledges the first segment of all.
fn sack(s: &mut Script, left: u32, right: u32) {
    let at = |offset: u32| s.theirs.wrapping_add(offset);
    let block = SackBlock { left: at(left), right: at(right) };
    s.options.sack.push(block);
    s.give(ACK, 1, 401, b"").unwrap();
    s.options.sack = Default::default();
}

fn sent(segments: &[Got]) -> Vec<(u32, usize)> {
    segments.iter().map(|segment| (segment.seq, segment.payload.len())).collect()
}

#[test]
fn after_a_second_timeout_in_a_row_the_loss_window_leaves_in_pieces() {
    for lossy_path in [false, true] {
        let config = ConnectionConfig { sack: false, lossy_path, ..plain() };
        let (mut s, handle) = in_flight(config);
        // One segment is sent again, and two on a lossy path.
        let rto = s.ep.info(handle).unwrap().rto;
        let first = s.wait(rto);
        let second = s.wait(rto * if lossy_path { 1 } else { 2 });
        let rest = [(401, 64), (465, 64), (529, 272)];
        let more = [(401, 64), (465, 64), (529, 400), (929, 272)];
        if lossy_path {
            assert_eq!(sent(&first), [(401, 400), (801, 400)]);
            assert_eq!(sent(&second), more);
        } else {
            assert_eq!(sent(&first), [(401, 400)]);
            assert_eq!(sent(&second), rest);
            // Two segments were sent again: a piece does not count as a segment.
            let sample = u16::MAX >> 5;
            assert_eq!(
                s.ep.info(handle).unwrap().retransmitted_share,
                sample - (sample >> 5) + sample
            );
        }
        // The arrival of one piece ends the back-off.
        s.give(ACK, 1, 465, b"").unwrap();
        let info = s.ep.info(handle).unwrap();
        assert_eq!((info.retransmits, info.backoff, info.rto), (0, 0, rto));
    }
}

#[test]
fn pieces_are_not_made_of_what_two_frames_hold() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.send(handle, &[1; 100]).unwrap();
    s.take_all();
    assert_eq!(sent(&s.wait(MS * 8000)), [(1, 100); 3]);
    // Pieces are not made of a short last segment either.
    let config = ConnectionConfig { mss: 400, ..plain() };
    let options = Options { mss: Some(400), ..Options::NONE };
    let (mut s, handle) = Script::server(config, options);
    s.ep.send(handle, &[1; 200]).unwrap();
    s.take_all();
    assert_eq!(sent(&s.wait(MS * 8000)), [(1, 200); 3]);
}

//= rfc6298#5-6
#[test]
fn on_a_lossy_path_four_timeouts_in_a_row_are_alike() {
    let waits = |lossy_path| {
        let (mut s, handle) = in_flight(ConnectionConfig { sack: false, lossy_path, ..plain() });
        let rto = s.ep.info(handle).unwrap().rto.as_millis();
        let mut waits = Vec::new();
        for _ in 0..6 {
            let from = s.now;
            s.now = s.ep.deadline().unwrap();
            s.ep.handle_deadline(s.now);
            assert!(!s.take_all().is_empty());
            waits.push(((s.now - from).as_millis() + rto / 2) / rto);
        }
        waits
    };
    assert_eq!(waits(false), [1, 2, 4, 8, 16, 32]);
    assert_eq!(waits(true), [1, 1, 1, 1, 2, 4]);
}

#[test]
fn timeouts_of_losses_reported_by_the_link_are_alike_too() {
    let (mut s, handle) = in_flight(ConnectionConfig { sack: false, ..plain() });
    let rto = s.ep.info(handle).unwrap().rto.as_millis();
    let mut waits = Vec::new();
    for _ in 0..6 {
        while let Some(packet) = s.ep.poll_packet(s.now) {
            s.ep.notify_lost(s.now, packet.payload);
        }
        let from = s.now;
        s.now = s.ep.deadline().unwrap();
        s.ep.handle_deadline(s.now);
        waits.push(((s.now - from).as_millis() + rto / 2) / rto);
    }
    // Then the link's reports no longer count, and the wait is as long as without them.
    assert_eq!(waits, [1, 1, 1, 1, 16, 32]);
}

#[test]
fn a_loss_reported_by_the_link_is_no_sign_of_a_short_timeout() {
    for reported in [false, true] {
        let (mut s, handle) = in_flight(ConnectionConfig { sack: false, ..plain() });
        let rto = s.ep.info(handle).unwrap().rto;
        s.now += rto;
        s.ep.handle_deadline(s.now);
        let again = s.ep.poll_packet(s.now).unwrap();
        if reported {
            s.ep.notify_lost(s.now, again.payload);
            s.take_all();
        }
        // The acknowledgment is too late for the RTO.
        s.now += rto;
        s.give(ACK, 1, 801, b"").unwrap();
        assert_eq!(s.ep.info(handle).unwrap().backoff, u8::from(!reported));
    }
}

//= rfc8985#9.3-1
#[test]
fn recovery_leaves_two_segments_for_a_window_however_much_was_lost() {
    let (mut s, handle) = in_flight(ConnectionConfig { sack: true, ..plain() });
    s.wait(MS * 20);
    // The last of four segments arrives, and none of the others.
    sack(&mut s, 1601, 2001);
    let again = s.wait(MS * 10);
    assert_eq!(seqs(&again), [401, 801]);
    assert_eq!(s.ep.info(handle).unwrap().counters.fast_recoveries, 1);
}

#[test]
fn a_retransmission_that_the_window_leaves_alone_is_followed_by_a_probe() {
    let (mut s, handle) = in_flight(ConnectionConfig { sack: true, ..plain() });
    // A probe has found the tail lost, so that the last round trip measured is that of its SACK.
    assert_eq!(seqs(&s.wait(MS * 100)), [1601]);
    sack(&mut s, 1601, 2001);
    let again = s.wait(MS * 10);
    assert_eq!(seqs(&again), [401, 801]);
    // 1201 is lost too, and has to wait for a window.
    let probe = s.wait(MS * 100);
    assert_eq!(seqs(&probe), [401]);
    assert_eq!(s.ep.info(handle).unwrap().counters.timeouts, 0);
}

#[test]
fn windows_do_not_shrink_with_a_segment_size_that_is_chosen() {
    let (mut s, handle) = in_flight(ConnectionConfig { sack: false, ..plain() });
    s.ep.set_mss(handle, 100).unwrap();
    let rto = s.ep.info(handle).unwrap().rto;
    // The loss window is one segment of the largest size, and ssthresh two.
    assert_eq!(seqs(&s.wait(rto)), [401, 501, 601, 701]);
    let info = s.ep.info(handle).unwrap();
    assert_eq!((info.mss, info.cwnd, info.ssthresh), (100, 400, 800));
}

#[test]
fn a_needless_timeout_is_found_out_by_what_was_sent_once() {
    let (mut s, handle) = in_flight(ConnectionConfig { sack: false, ..plain() });
    let rto = s.ep.info(handle).unwrap().rto;
    assert_eq!(sent(&s.wait(rto)), [(401, 400)]);
    // The first counts as one that was sent again; the second was not sent again (F-RTO).
    s.give(ACK, 1, 801, b"").unwrap();
    let info = s.ep.info(handle).unwrap();
    assert_eq!((info.counters.undone, info.backoff), (0, 0), "it may have been lost");
    s.give(ACK, 1, 1201, b"").unwrap();
    let info = s.ep.info(handle).unwrap();
    assert_eq!((info.counters.undone, info.backoff), (1, 0), "a round trip has been measured");
    assert!(info.rto > rto);
}

#[test]
fn a_loss_probe_is_not_sent_once_all_is_acknowledged() {
    let (mut s, handle) = in_flight(ConnectionConfig { sack: true, ..plain() });
    // It is due while the link is busy, and then the acknowledgment arrives, with a window so small
    // that silly window avoidance sends nothing into it.
    s.now = s.ep.deadline().unwrap();
    s.ep.handle_deadline(s.now);
    s.window = 12;
    s.give(ACK, 1, 2001, b"").unwrap();
    s.ep.send(handle, &[2; 400]).unwrap();
    s.silent();
    s.window = 4000;
    s.give(ACK, 1, 2001, b"").unwrap();
    assert_eq!(sent(&s.take_all()), [(2001, 400)]);
}

#[test]
fn a_loss_after_a_needless_timeout_counts_all_that_is_in_flight() {
    let config = ConnectionConfig { mss: 412, sack: true, timestamps: true, ..plain() };
    let config = ConnectionConfig {
        rto_min: MS * 200,
        pacing: false,
        initial_window: 8,
        send_buffer: 3200,
        ..config
    };
    let stamped = |val, ecr| Some(Timestamps { val, ecr });
    let options = Options { mss: Some(412), sack_permitted: true, ..Options::NONE };
    let (mut s, handle) = Script::server(config, Options { timestamps: stamped(1, 0), ..options });
    s.window = 4000;
    s.ep.send(handle, &[1; 400]).unwrap();
    let echo = |got: &Got| got.header.options.timestamps.unwrap().val;
    let first = s.take().unwrap();
    s.wait(MS * 20);
    s.options.timestamps = stamped(1, echo(&first));
    s.give(ACK, 1, 401, b"").unwrap();
    s.ep.send(handle, &[1; 3200]).unwrap();
    let flight = s.take_all();
    assert_eq!(flight.len(), 8);
    s.options.timestamps = stamped(1, echo(&flight[0]));
    s.wait(MS * 20);
    // Fast recovery sends two of six again, and then the timer expires.
    sack(&mut s, 2801, 3601);
    assert_eq!(seqs(&s.wait(MS * 10)), [401, 801]);
    let rto = s.ep.info(handle).unwrap().rto;
    s.wait(rto * 2);
    assert_eq!(s.ep.info(handle).unwrap().repair, Repair::Timeout);
    // The segments sent again were only late; but another one is lost.
    s.options.timestamps = stamped(1, echo(&flight[1]));
    let at = |offset: u32| s.theirs.wrapping_add(offset);
    let late = SackBlock { left: at(801), right: at(1201) };
    s.options.sack.push(late);
    sack(&mut s, 2801, 3601);
    let info = s.ep.info(handle).unwrap();
    assert_eq!((info.counters.undone, info.repair), (1, Repair::Fast));
    assert_eq!(info.ssthresh, 1600);
}

#[test]
fn a_needless_timeout_leaves_a_timer_where_a_window_had_just_opened() {
    let (mut s, handle) = in_flight(ConnectionConfig { sack: true, ..plain() });
    let timeouts = |s: &Script| s.ep.info(handle).unwrap().counters.timeouts;
    for _ in 0..100 {
        if timeouts(&s) == 0 {
            s.wait(MS * 10);
        }
    }
    assert_eq!(timeouts(&s), 1);
    // The window closes over what is in flight and opens, so that all of it is to be sent again,
    // at once and without a timer; and then the timeout turns out to have been needless.
    for window in [0, 4000] {
        s.window = window;
        s.give(ACK, 1, 401, b"").unwrap();
    }
    sack(&mut s, 1, 401);
    assert_eq!(s.ep.info(handle).unwrap().counters.undone, 1);
    assert!(s.ep.deadline().is_some());
    assert!(!s.wait(MS * 10_000).is_empty());
}

/// RFC 6298, 5.3: only an acknowledgment of new data restarts the timer.
#[test]
fn a_needless_timeout_does_not_move_the_timer_of_what_is_in_flight_nor_sets_one_for_nothing() {
    for all_arrived in [false, true] {
        let (mut s, handle) = in_flight(ConnectionConfig { sack: true, ..plain() });
        let counters = |s: &Script| s.ep.info(handle).unwrap().counters;
        // The loss probe is lost, too.
        while counters(&s).timeouts == 0 {
            s.now = s.ep.deadline().unwrap();
            s.ep.handle_deadline(s.now);
            s.take_all();
        }
        s.now += MS * 10;
        if all_arrived {
            s.give(ACK, 1, 2001, b"").unwrap();
        }
        let due = s.ep.deadline();
        assert_eq!(due.is_none(), all_arrived);
        s.now += MS * 10;
        let at = |offset: u32| s.theirs.wrapping_add(offset);
        let (left, right) = if all_arrived { (401, 801) } else { (1, 401) };
        let block = SackBlock { left: at(left), right: at(right) };
        s.options.sack.push(block);
        s.give(ACK, 1, if all_arrived { 2001 } else { 401 }, b"").unwrap();
        assert_eq!((counters(&s).undone, s.ep.deadline()), (1, due), "{all_arrived}");
    }
}

#[test]
fn a_window_that_closes_is_asked_whatever_is_being_found_out_of_a_timeout() {
    let (mut s, handle) = in_flight(ConnectionConfig { sack: false, ..plain() });
    let rto = s.ep.info(handle).unwrap().rto;
    assert_eq!(sent(&s.wait(rto)), [(401, 400)]);
    // F-RTO sends new data before data that may be lost.
    s.give(ACK, 1, 801, b"").unwrap();
    assert_eq!(s.ep.send(handle, &[2; 400]), Ok(400));
    assert_eq!(seqs(&s.take_all()), [2001]);
    s.window = 0;
    s.give(ACK, 1, 801, b"").unwrap();
    assert_eq!(sent(&s.wait(MS * 1000))[0], (801, 1));
    s.window = 4000;
    s.give(ACK, 1, 801, b"").unwrap();
    assert_eq!(s.wait(MS * 1000)[0].seq, 801);
}

/// RFC 2883, 4: a D-SACK is a block, of a peer that has offered SACK (RFC 2018, 3).
#[test]
fn only_a_block_of_a_peer_with_sack_shows_that_a_timeout_was_needless() {
    for (sack, has_block) in [(false, false), (false, true), (true, false), (true, true)] {
        let config = ConnectionConfig { sack, rto_min: MS * 200, ..plain() };
        let offer = Options { sack_permitted: sack, ..Options::NONE };
        let (mut s, handle) = Script::server(config, offer);
        // An octet, so that the count of a single one would prove it.
        s.ep.send(handle, &[1]).unwrap();
        s.take_all();
        let timeouts = |s: &Script| s.ep.info(handle).unwrap().counters.timeouts;
        while timeouts(&s) == 0 {
            s.now = s.ep.deadline().unwrap();
            s.ep.handle_deadline(s.now);
            s.take_all();
        }
        if has_block {
            s.options.sack.push(SackBlock {
                left: s.theirs.wrapping_add(1),
                right: s.theirs.wrapping_add(2),
            });
        }
        s.give(ACK, 1, 2, b"").unwrap();
        let undone = s.ep.info(handle).unwrap().counters.undone;
        assert_eq!(undone, u16::from(sack && has_block), "{sack} {has_block}");
    }
}
