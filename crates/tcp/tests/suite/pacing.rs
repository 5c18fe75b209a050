//! Gaps between the segments of a window (RFC 9002 §7.7).

use crate::common::script::*;
use kinglet_tcp::*;
use kinglet_time::{Duration, Instant};
use kinglet_wire::tcp::Options;

const RTT: Duration = Duration::from_millis(100);

/// A connection with a window of four segments whose smoothed round-trip time is [`RTT`].
fn measured(pacing: bool) -> (Script, Handle) {
    let (mut s, handle) = Script::server(ConnectionConfig { pacing, ..plain() }, Options::NONE);
    for _ in 0..30 {
        s.ep.send(handle, &[1; 100]).unwrap();
        let [only] = &s.take_all()[..] else { panic!("one segment") };
        let end = only.seq + 100;
        s.now += RTT;
        s.ep.handle_deadline(s.now);
        s.give(ACK, 1, end, b"").unwrap();
    }
    let info = s.ep.info(handle).unwrap();
    assert!(info.srtt.as_millis().abs_diff(RTT.as_millis()) < 10 && info.cwnd == 400, "{info:?}");
    (s, handle)
}

/// Polls whenever something is due and returns when segments left.
fn departures(s: &mut Script, during: Duration) -> Vec<Instant> {
    let until = s.now + during;
    let mut times = Vec::new();
    loop {
        times.extend(s.take_all().iter().map(|_| s.now));
        let Some(next) = s.ep.deadline().filter(|at| *at <= until) else {
            s.now = until;
            return times;
        };
        assert!(next > s.now, "due at {next:?}, but it is {:?}", s.now);
        s.now = next;
        s.ep.handle_deadline(s.now);
    }
}

#[test]
fn without_pacing_a_window_leaves_at_once() {
    let (mut s, handle) = measured(false);
    s.ep.send(handle, &[1; 400]).unwrap();
    assert_eq!(s.take_all().len(), 4);
}

/// The times between the segments of a window of four, in milliseconds.
fn gaps(s: &mut Script, handle: Handle) -> Vec<u64> {
    let start = s.now;
    s.ep.send(handle, &[1; 400]).unwrap();
    let times = departures(s, RTT * 4);
    assert_eq!((times.len(), times[0]), (4, start), "nothing in flight, nothing to wait for");
    times.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect()
}

#[test]
fn the_gaps_of_a_window_take_four_fifths_of_a_round_trip() {
    let (mut s, handle) = measured(true);
    let gaps = gaps(&mut s, handle);
    assert!(gaps.iter().all(|gap| (19..=21).contains(gap)), "{gaps:?}");
}

/// Sends one segment after the other, and each is answered after `wait`.
fn wait_for_answers(s: &mut Script, handle: Handle, wait: Duration, times: u32) -> Duration {
    for _ in 0..times {
        s.ep.send(handle, &[1; 100]).unwrap();
        let end = s.take().unwrap().seq + 100;
        s.now += wait;
        s.give(ACK, 1, end, b"").unwrap();
    }
    s.ep.info(handle).unwrap().srtt
}

#[test]
fn five_segments_share_three_round_trips_however_long_the_sender_has_slept() {
    let (mut s, handle) = measured(true);
    let srtt = wait_for_answers(&mut s, handle, RTT * 7, 12);
    assert!(srtt > RTT * 5, "{srtt:?}");
    let gaps = gaps(&mut s, handle);
    assert!(gaps.iter().all(|gap| (59..=61).contains(gap)), "{gaps:?}");
}

//= rfc8985#6.2-1
#[test]
fn a_longer_path_is_known_after_twice_the_window_of_samples() {
    let (mut s, handle) = measured(true);
    wait_for_answers(&mut s, handle, RTT * 2, 64);
    let srtt = wait_for_answers(&mut s, handle, RTT * 14, 10);
    assert!(srtt > RTT * 8, "{srtt:?}");
    // Three fifths of the new path; of the old one they were 60 ms.
    let gaps = gaps(&mut s, handle);
    assert!(gaps.iter().all(|gap| (119..=121).contains(gap)), "{gaps:?}");
}

/// Random tests have found this case once.
#[test]
fn data_written_after_a_gap_find_no_deadline_in_the_past() {
    let (mut s, handle) = measured(true);
    s.ep.send(handle, &[1; 200]).unwrap();
    assert_eq!(departures(&mut s, RTT * 2).len(), 2, "written, sent and not acknowledged");
    s.ep.send(handle, &[1; 100]).unwrap();
    assert!(s.ep.deadline().is_some_and(|at| at > s.now), "the retransmission timer");
    assert_eq!(s.take_all().len(), 1, "the gap is over");
}

/// A connection whose packets wait on the path for much longer than they travel, with 40 octets of
/// data queued.
fn on_a_busy_path() -> (Script, Handle) {
    let (mut s, handle) = measured(true);
    wait_for_answers(&mut s, handle, RTT * 4, 24);
    s.ep.send(handle, &[1; 40]).unwrap();
    (s, handle)
}

#[test]
fn on_a_busy_path_a_short_segment_waits_for_round_trips_without_anything_in_flight() {
    let (mut s, handle) = on_a_busy_path();
    let (start, info) = (s.now, s.ep.info(handle).unwrap());
    let [left] = departures(&mut s, RTT * 20)[..] else { panic!("one segment") };
    // Six, or as long as the override timeout of the avoidance of silly windows lets it.
    let waits = (info.srtt * 6).min(info.rto);
    assert!((left - start).as_millis().abs_diff(waits.as_millis()) < 20, "{:?}", left - start);
    assert!(left - start > info.srtt);
}

#[test]
fn a_full_segment_the_end_and_an_answer_are_not_delayed() {
    let (mut s, handle) = on_a_busy_path();
    assert!(s.take_all().is_empty());
    s.ep.send(handle, &[1; 60]).unwrap();
    assert_eq!(s.take_all().len(), 1, "a full one");

    let (mut s, handle) = on_a_busy_path();
    s.ep.close(handle).unwrap();
    assert_eq!(s.take_all().len(), 1, "the last one");

    let (mut s, handle) = on_a_busy_path();
    let end = 1 + s.ep.info(handle).unwrap().bytes_acked;
    s.give(ACK, 1, end, b"well?").unwrap();
    assert_eq!(s.take_all().len(), 1, "the answer to what the peer has said");

    let (mut s, handle) = on_a_busy_path();
    let config = ConnectionConfig { nagle: false, pacing: true, ..plain() };
    s.ep.configure(s.now, handle, &config).unwrap();
    assert_eq!(s.take_all().len(), 1, "Nagle's algorithm is off");
}

#[test]
fn on_a_quiet_path_a_short_segment_leaves_at_once() {
    let (mut s, handle) = measured(true);
    s.ep.send(handle, &[1; 40]).unwrap();
    assert_eq!(s.take_all().len(), 1);
}

/// Returns the retransmissions of a lost window within ten seconds.
fn timeouts(pacing: bool) -> Vec<(u64, u32, usize)> {
    let (mut s, handle) = measured(pacing);
    s.ep.send(handle, &[1; 400]).unwrap();
    let start = s.take().unwrap();
    s.wait(RTT * 4);
    let sent = s.wait(Duration::from_secs(10));
    let since = |g: &Got| ((g.at - start.at).as_millis(), g.seq - start.seq, g.payload.len());
    sent.iter().map(since).collect()
}

#[test]
fn pacing_changes_nothing_of_what_timeouts_send() {
    let (burst, paced) = (timeouts(false), timeouts(true));
    assert_eq!(burst.len(), 3, "{burst:?}");
    for (burst, paced) in burst.iter().zip(&paced) {
        assert_eq!((burst.1, burst.2), (paced.1, paced.2), "{burst:?} {paced:?}");
        assert!(burst.0.abs_diff(paced.0) < 2, "{burst:?} {paced:?}");
    }
}

#[test]
fn a_connection_that_is_held_back_sends_only_without_data_in_flight() {
    for pacing in [false, true] {
        let (mut s, handle) = measured(pacing);
        let gap = RTT * 2;
        s.ep.hold_back(s.now, handle, gap).unwrap();
        s.ep.send(handle, &[1; 200]).unwrap();
        let first = s.take().expect("nothing is in flight");
        s.ep.hold_back(s.now, handle, gap).unwrap();
        s.ep.hold_back(s.now, handle, RTT).unwrap();
        assert_eq!(s.take_all().len(), 0);
        let sent = s.wait(RTT * 5 / 2);
        let waited = sent[0].at - first.at;
        assert!(waited >= gap && waited < gap + Duration::from_millis(1), "{waited:?}");
    }
}

#[test]
fn a_link_that_gathers_frames_ends_the_gaps_of_a_window() {
    let (mut s, handle) = measured(true);
    s.ep.send(handle, &[1; 400]).unwrap();
    for n in 0..4 {
        assert_eq!(s.take_all().len(), 1, "{n}");
        s.ep.follow_at_once(handle).unwrap();
    }
    assert_eq!(s.take_all().len(), 0, "the window is used up");
}
