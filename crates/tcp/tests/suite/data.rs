//! Sending, loss recovery and timers, segment by segment; many tests are named after a defect of
//! another stack.

use crate::common;
use crate::common::script::*;
use kinglet_tcp::*;
use kinglet_time::Duration;
use kinglet_wire::tcp::{Options, SackBlock, Timestamps};

//= rfc5681#3.1-2 rfc6928#2-1
#[test]
fn the_initial_window_is_that_of_rfc_5681_or_what_is_configured_within_rfc_6928() {
    let windows = [
        (100, 0, 400),
        (1200, 0, 3600),
        (2200, 0, 4400),
        (100, 1, 100),
        (100, 10, 1000),
        (2000, 10, 14_600),
    ];
    for (mss, configured, want) in windows {
        let config =
            ConnectionConfig { mss, initial_window: configured, send_buffer: 8000, ..plain() };
        let options = Options { mss: Some(mss), ..Options::NONE };
        let (mut s, handle) = Script::server(config, options);
        s.window = 60_000;
        s.give(ACK, 1, 1, b"").unwrap();
        assert_eq!(s.ep.info(handle).unwrap().cwnd, want, "mss {mss}, configured {configured}");
        s.ep.send(handle, &[1; 8000]).unwrap();
        let sent: usize = s.take_all().iter().map(|got| got.payload.len()).sum();
        assert_eq!(sent, 8000.min(want as usize), "mss {mss}, configured {configured}");
    }
}

//= rfc5681#3.1-6
#[test]
fn after_a_lost_syn_the_initial_window_is_one_segment() {
    let mut s = Script::new();
    let handle = s.connecting(plain());
    s.wait(MS * 1500);
    s.give(SYN | ACK, 0, 1, b"").unwrap();
    s.take_all();
    s.ep.send(handle, &[1; 800]).unwrap();
    assert_eq!(s.take_all().len(), 1);
}

#[test]
fn slow_start_counts_octets_up_to_two_segments_an_ack() {
    let (mut s, handle) = Script::server(ConnectionConfig { mss: 100, ..plain() }, Options::NONE);
    s.window = 60_000;
    s.give(ACK, 1, 1, b"").unwrap();
    s.ep.send(handle, &[1; 1600]).unwrap();
    assert_eq!(s.take_all().len(), 4);
    // An ACK of one octet must not open the window by a segment (RFC 3465).
    s.give(ACK, 1, 2, b"").unwrap();
    assert_eq!(s.ep.info(handle).unwrap().cwnd, 401);
    s.take_all();
    s.give(ACK, 1, 401, b"").unwrap();
    assert_eq!(s.ep.info(handle).unwrap().cwnd, 601, "399 octets, but L is 2 SMSS");
}

#[test]
fn congestion_control_uses_the_effective_mss() {
    let config = ConnectionConfig { mss: 500, timestamps: true, ..plain() };
    let ts = Some(Timestamps { val: 1, ecr: 0 });
    let options = Options { mss: Some(200), timestamps: ts, ..Options::NONE };
    let (mut s, handle) = Script::server(config, options);
    let info = s.ep.info(handle).unwrap();
    assert_eq!((info.mss, info.cwnd), (188, 4 * 188));
    s.ep.send(handle, &[1; 1000]).unwrap();
    let first = s.take().unwrap();
    assert_eq!(first.payload.len(), 188);
    assert_eq!(first.header.header_len() + first.payload.len(), 220, "MSS counts options");
}

//= rfc9293#MUST-58 rfc9293#MUST-59
#[test]
fn an_ack_is_not_marked_sent_before_it_is_polled() {
    let (mut s, _) = Script::server(plain(), Options::NONE);
    s.give(ACK, 1, 1, &[1; 100]).unwrap();
    // The radio is busy for ten seconds; the endpoint is not polled.
    s.now += Duration::from_secs(10);
    s.ep.handle_deadline(s.now);
    s.give(ACK, 101, 1, &[1; 100]).unwrap();
    let acks = s.take_all();
    assert_eq!(acks.len(), 1, "merged");
    assert_eq!(acks[0].ack, 201);
}

#[test]
fn three_duplicates_make_a_fast_retransmission_and_limited_transmit_comes_before() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.window = 60_000;
    s.give(ACK, 1, 1, b"").unwrap();
    s.ep.send(handle, &[1; 1600]).unwrap();
    assert_eq!(seqs(&s.take_all()), [1, 101, 201, 301]);
    for (seq, what) in [(401, "limited transmit"), (501, "limited transmit"), (1, "resent")] {
        s.give(ACK, 1, 1, b"").unwrap();
        assert_eq!(seqs(&s.take_all()), [seq], "{what}");
    }
    let info = s.ep.info(handle).unwrap();
    // RFC 5681 §3.2 step 2: half of the four, without the two of limited transmit.
    assert_eq!((info.ssthresh, info.counters.fast_recoveries), (200, 1));
    s.give(ACK, 1, 601, b"").unwrap();
    assert!(!s.take_all().is_empty());
    assert_eq!(s.ep.info(handle).unwrap().counters.timeouts, 0);
}

//= rfc6582#3.2-8
#[test]
fn a_new_reno_partial_ack_sends_the_next_hole_and_stays_in_recovery() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.window = 60_000;
    s.give(ACK, 1, 1, b"").unwrap();
    s.ep.send(handle, &[1; 600]).unwrap();
    s.take_all();
    for _ in 0..3 {
        s.give(ACK, 1, 1, b"").unwrap();
    }
    assert_eq!(s.take().unwrap().seq, 1);
    s.take_all();
    s.give(ACK, 1, 101, b"").unwrap();
    assert_eq!(s.take().unwrap().seq, 101);
    s.take_all();
    s.give(ACK, 1, 201, b"").unwrap();
    assert_eq!(s.take().unwrap().seq, 201);
    assert_eq!(s.ep.info(handle).unwrap().counters.fast_recoveries, 1);
}

#[test]
fn early_retransmit_needs_one_duplicate_less_than_is_outstanding() {
    let (config, options) = with_sack();
    let (mut s, handle) = Script::server(config, options);
    s.ep.send(handle, &[1; 200]).unwrap();
    assert_eq!(s.take_all().len(), 2);
    let (left, right) = (s.theirs.wrapping_add(101), s.theirs.wrapping_add(201));
    s.options.sack.push(SackBlock { left, right });
    s.give(ACK, 1, 1, b"").unwrap();
    assert_eq!(seqs(&s.take_all()), [1]);
}

/// RFC 5827, 3.1.
#[test]
fn early_retransmit_without_sack_is_for_two_or_three_segments_and_nothing_new_to_send() {
    for (outstanding, needed) in [(1, 3), (2, 1), (3, 2), (4, 3)] {
        let (mut s, handle) = Script::server(plain(), Options::NONE);
        s.ep.send(handle, &vec![1; 100 * outstanding]).unwrap();
        assert_eq!(s.take_all().len(), outstanding);
        for _ in 1..needed {
            s.give(ACK, 1, 1, b"").unwrap();
            s.silent();
        }
        s.give(ACK, 1, 1, b"").unwrap();
        assert_eq!(seqs(&s.take_all()), [1], "{outstanding}");
    }
    // The window of the peer permits no new segment; that of congestion control does not count.
    for (window, first) in [(200, 1), (1000, 201)] {
        let config = ConnectionConfig { initial_window: 2, ..plain() };
        let (mut s, handle) = Script::server(config, Options::NONE);
        s.window = window;
        s.give(ACK, 1, 1, b"").unwrap();
        s.ep.send(handle, &[1; 400]).unwrap();
        assert_eq!(s.take_all().len(), 2);
        s.give(ACK, 1, 1, b"").unwrap();
        assert_eq!(seqs(&s.take_all()), [first], "{window}");
    }
}

#[test]
fn a_fast_retransmission_requested_between_polls_is_not_lost() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.send(handle, &[1; 400]).unwrap();
    s.take_all();
    for _ in 0..3 {
        s.give(ACK, 1, 1, b"").unwrap();
    }
    // The radio has no free buffer for a while; even the timer expires meanwhile.
    s.now += Duration::from_secs(5);
    s.ep.handle_deadline(s.now);
    s.ep.handle_deadline(s.now);
    assert_eq!(s.take().unwrap().seq, 1);
    assert!(s.ep.deadline().is_some());
}

#[test]
fn after_a_timeout_pure_acks_and_rsts_still_carry_snd_max() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.send(handle, &[1; 400]).unwrap();
    s.take_all();
    let again = s.wait(MS * 1100);
    assert_eq!(seqs(&again), [1]);
    s.give(ACK, 1, 1, b"data").unwrap();
    assert_eq!(s.take().unwrap().seq, 401);
    s.ep.abort(handle).unwrap();
    assert_eq!(s.take().unwrap().seq, 401);
}

//= rfc6298#5-3
#[test]
fn a_timeout_halves_once_and_then_goes_back_in_slow_start() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.send(handle, &[1; 400]).unwrap();
    s.take_all();
    assert_eq!(seqs(&s.wait(MS * 8000)), [1, 1, 1], "1 s, 2 s and 4 s");
    let info = s.ep.info(handle).unwrap();
    assert_eq!((info.cwnd, info.ssthresh), (100, 200));
    s.give(ACK, 1, 101, b"").unwrap();
    assert_eq!(seqs(&s.take_all()), [101, 201]);
    assert_eq!(s.ep.info(handle).unwrap().rto, Duration::from_secs(8), "nothing is measured");
    s.give(ACK, 1, 401, b"").unwrap();
    assert_eq!(s.ep.deadline(), None);
}

/// RFC 5681 §3.1, equation 4: a segment that the timer has not yet sent again.
//= rfc6928#2-4
#[test]
fn the_timeout_of_another_segment_halves_once_more() {
    let config = ConnectionConfig { initial_window: 10, ..plain() };
    let (mut s, handle) = Script::server(config, Options::NONE);
    s.ep.send(handle, &[1; 1000]).unwrap();
    assert_eq!(s.take_all().len(), 10);
    let threshold = |s: &Script| s.ep.info(handle).unwrap().ssthresh;
    assert_eq!((seqs(&s.wait(MS * 1000)), threshold(&s)), (vec![1], 500));
    assert_eq!((seqs(&s.wait(MS * 2000)), threshold(&s)), (vec![1], 500));
    s.give(ACK, 1, 101, b"").unwrap();
    s.take_all();
    assert_eq!((seqs(&s.wait(MS * 1000)), threshold(&s)), (vec![101], 450));
}

#[test]
fn a_timeout_with_sack_sends_only_what_is_missing() {
    let (config, options) = with_sack();
    let (mut s, handle) = Script::server(config, options);
    s.ep.send(handle, &[1; 400]).unwrap();
    s.take_all();
    let at = |o: u32| s.theirs.wrapping_add(o);
    let block = SackBlock { left: at(201), right: at(301) };
    s.options.sack.push(block);
    s.give(ACK, 1, 1, b"").unwrap();
    s.take_all();
    s.options.sack = Default::default();
    // Once as a loss probe.
    assert_eq!(seqs(&s.wait(MS * 1100)), [1, 1]);
    s.give(ACK, 1, 101, b"").unwrap();
    assert_eq!(seqs(&s.take_all()), [101, 301]);
}

//= rfc6675#4-2
#[test]
fn a_peer_that_reneges_gets_everything_again() {
    let (config, options) = with_sack();
    let (mut s, handle) = Script::server(config, options);
    s.ep.send(handle, &[1; 400]).unwrap();
    s.take_all();
    let at = |o: u32| s.theirs.wrapping_add(o);
    let block = SackBlock { left: at(101), right: at(401) };
    s.options.sack.push(block);
    s.give(ACK, 1, 1, b"").unwrap();
    s.take_all();
    s.options.sack = Default::default();
    // The peer acknowledges the first segment only: it has dropped the data that it had SACKed.
    s.give(ACK, 1, 101, b"").unwrap();
    let mut again = Vec::new();
    for next in [201, 301, 401] {
        again.extend(seqs(&s.wait(MS * 1500)));
        s.give(ACK, 1, next, b"").unwrap();
    }
    for missing in [101, 201, 301] {
        assert!(again.contains(&missing), "{missing} was not sent again");
    }
    assert_eq!(s.ep.info(handle).unwrap().bytes_in_flight, 0);
}

#[test]
fn retransmissions_end_the_connection_with_a_sticky_error() {
    let config = ConnectionConfig { max_retransmits: 3, ..plain() };
    let (mut s, handle) = Script::server(config, Options::NONE);
    s.ep.send(handle, b"x").unwrap();
    let sent = s.wait(Duration::from_secs(100));
    assert_eq!(sent.iter().filter(|g| g.payload == b"x").count(), 4);
    assert!(sent.last().unwrap().is(RST));
    for _ in 0..2 {
        assert_eq!(s.ep.send(handle, b"y"), Err(SendError::Ended(ConnectionError::TimedOut)));
    }
}

#[test]
fn the_user_timeout_ends_the_connection() {
    let config = ConnectionConfig { user_timeout: Some(Duration::from_secs(10)), ..plain() };
    let (mut s, handle) = Script::server(config, Options::NONE);
    s.ep.send(handle, b"x").unwrap();
    s.wait(Duration::from_secs(6));
    assert_eq!(s.ep.info(handle).unwrap().error, None);
    s.wait(Duration::from_secs(10));
    assert_eq!(s.ep.info(handle).unwrap().error, Some(ConnectionError::TimedOut));
}

#[test]
fn keep_alive_is_off_by_default_and_ends_a_dead_connection_when_on() {
    let (s, _) = Script::server(plain(), Options::NONE);
    assert_eq!(s.ep.deadline(), None);
    let idle = Duration::from_secs(60);
    let keepalive = KeepAlive { idle, interval: Duration::from_secs(5), probes: 3 };
    let config = ConnectionConfig { keepalive: Some(keepalive), ..plain() };
    let (mut s, handle) = Script::server(config, Options::NONE);
    let probes = s.wait(Duration::from_secs(61));
    assert_eq!((probes.len(), probes[0].seq, probes[0].payload.len()), (1, 0, 0));
    s.give(ACK, 1, 1, b"").unwrap();
    assert!(s.wait(Duration::from_secs(59)).is_empty(), "an answer starts it over");
    let sent = s.wait(Duration::from_secs(60));
    assert_eq!(sent.len(), 4);
    assert!(sent[3].is(RST));
    assert_eq!(s.ep.info(handle).unwrap().error, Some(ConnectionError::TimedOut));
}

#[test]
fn an_application_that_has_closed_its_side_reads_for_as_long_as_it_likes() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.close(handle).unwrap();
    s.take();
    s.give(ACK, 1, 2, b"").unwrap();
    assert!(s.wait(Duration::from_secs(100_000)).is_empty());
    assert_eq!((s.ep.state(handle), s.ep.deadline()), (Some(State::FinWait2), None));
    s.give(ACK, 1, 2, b"late").unwrap();
    let mut text = [0; 8];
    assert_eq!(s.ep.recv(handle, &mut text), Ok(4));
    assert_eq!(s.take().unwrap().ack, 5);
    // A SYN does not take its place either.
    fill_slots(&mut s);
    assert!(!opens_another(&mut s));
    // When the application stops reading, the time limit begins with its call.
    s.now += Duration::from_secs(1);
    s.ep.release(s.now, handle, None).unwrap();
    s.wait(Duration::from_millis(59_900));
    assert_eq!(s.ep.state(handle), Some(State::FinWait2));
    s.wait(Duration::from_secs(1));
    assert_eq!(s.ep.state(handle), Some(State::Closed));
}

#[test]
fn a_released_connection_ends_a_minute_after_its_fin_was_acknowledged() {
    for linger in [None, Some(Duration::from_secs(300))] {
        let (mut s, handle) = Script::server(plain(), Options::NONE);
        s.ep.release(s.now, handle, linger).unwrap();
        s.take();
        s.wait(Duration::from_millis(500));
        s.give(ACK, 1, 2, b"").unwrap();
        // An acknowledgment does not extend the wait.
        s.wait(Duration::from_secs(40));
        s.give(ACK, 1, 2, b"").unwrap();
        assert!(s.wait(Duration::from_millis(19_900)).is_empty());
        assert_eq!(s.ep.state(handle), Some(State::FinWait2));
        s.wait(Duration::from_secs(1));
        assert_eq!(s.ep.state(handle), Some(State::Closed), "{linger:?}");
    }
}

/// The other two slots are in use.
fn fill_slots(s: &mut Script) {
    for port in [7, 8] {
        s.ep.connect(s.now, s.peer, port, plain()).unwrap();
        s.take().unwrap();
    }
}

/// Returns whether another connection to port 80 can be accepted.
fn opens_another(s: &mut Script) -> bool {
    let (remote, theirs) = (s.remote, s.theirs);
    s.remote = remote + 1;
    s.give(SYN, 0, 0, b"").unwrap();
    s.theirs = s.take().unwrap().header.seq;
    let opened = s.give(ACK, 1, 1, b"").is_ok();
    (s.remote, s.theirs) = (remote, theirs);
    opened
}

#[test]
fn a_released_connection_gives_its_place_to_the_next_when_its_fin_is_acknowledged() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    fill_slots(&mut s);
    s.ep.release(s.now, handle, None).unwrap();
    s.take();
    assert!(!opens_another(&mut s), "what it has sent may have to be sent again");
    // The peer has responded, so its handshake is kept for longer than one without a response.
    let sent = s.wait(Duration::from_secs(60));
    let syn_acks = sent.iter().filter(|it| it.is(SYN | ACK)).count();
    assert_eq!(syn_acks, 5, "after 1, 3, 7, 15 and 31 s");
    assert!(s.ep.is_wanted(80));
    s.give(ACK, 1, 2, b"").unwrap();
    assert!(!s.ep.is_wanted(80), "there is a place");
    assert!(opens_another(&mut s));
    assert_eq!(s.ep.state(handle), None);
}

#[test]
fn an_old_timestamp_is_rejected_by_paws_and_a_missing_one_too() {
    let ts = |val| Some(Timestamps { val, ecr: 0 });
    let config = ConnectionConfig { timestamps: true, ..plain() };
    let (mut s, handle) = Script::server(config, Options { timestamps: ts(1000), ..Options::NONE });
    s.options.timestamps = ts(2000);
    s.give(ACK, 1, 1, b"new").unwrap();
    assert_eq!(s.take().unwrap().header.options.timestamps.unwrap().ecr, 2000);
    s.options.timestamps = ts(1999);
    assert_eq!(s.give(ACK, 4, 1, b"old"), Err(Discard::Paws));
    assert_eq!(s.take().unwrap().ack, 4);
    s.options.timestamps = None;
    assert_eq!(s.give(ACK, 4, 1, b"none"), Err(Discard::NoTimestamp));
    s.silent();
    // RST needs no timestamp (RFC 7323 §3.2).
    s.give(RST, 4, 0, b"").unwrap();
    assert_eq!(s.ep.state(handle), Some(State::Closed));
}

#[test]
fn connections_are_served_round_robin() {
    let mut s = Script::new();
    s.ep.listen(80, common::listening(3, plain())).unwrap();
    let mut handles = Vec::new();
    for port in 1..4 {
        s.remote = port;
        s.give(SYN, 0, 0, b"").unwrap();
        s.theirs = s.take().unwrap().header.seq;
        s.give(ACK, 1, 1, b"").unwrap();
        handles.push(s.ep.accept(80).unwrap());
    }
    for handle in handles {
        s.ep.send(handle, &[0; 300]).unwrap();
    }
    let ports: Vec<u16> = s.take_all().iter().map(|g| g.header.dst_port).collect();
    assert_eq!(ports, [1, 2, 3, 1, 2, 3, 1, 2, 3]);
}

//= rfc9293#MUST-3 rfc9293#MUST-7
#[test]
fn a_wrong_checksum_and_broken_options_are_dropped_and_counted() {
    let (mut s, _) = Script::server(plain(), Options::NONE);
    let mut octets = s.octets(ACK, 1, 1, b"data");
    octets[21] ^= 1;
    assert_eq!(s.ep.handle_packet(s.now, s.peer, Ecn::NotEct, &octets), Err(Discard::Checksum));
    assert_eq!(s.ep.stats().discarded(Discard::Checksum), 1);
    s.silent();
}

#[test]
fn a_window_that_closes_and_opens_in_fast_recovery_sends_everything_once() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.ep.send(handle, &[1; 400]).unwrap();
    s.take_all();
    for _ in 0..3 {
        s.give(ACK, 1, 1, b"").unwrap();
    }
    assert_eq!(seqs(&s.take_all()), [1]);
    for window in [0, 1000] {
        s.window = window;
        s.give(ACK, 1, 1, b"").unwrap();
    }
    assert_eq!(seqs(&s.take_all()), [1, 101, 201, 301]);
}
