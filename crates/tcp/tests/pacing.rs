//! Gaps between the segments of a window (RFC 9002 §7.7).

mod common;
use common::script::*;
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

#[test]
fn the_segments_of_a_window_share_the_round_trip() {
    let (mut s, handle) = measured(true);
    let start = s.now;
    s.ep.send(handle, &[1; 400]).unwrap();
    let times = departures(&mut s, RTT);
    assert_eq!(times.len(), 4);
    assert_eq!(times[0], start, "nothing in flight, nothing to wait for");
    // A quarter of the round trip, and a fifth less (N = 1.25).
    for pair in times.windows(2) {
        let gap = (pair[1] - pair[0]).as_micros();
        assert!((18_000..=21_000).contains(&gap), "{gap} µs");
    }
}

/// As random choices have found once.
#[test]
fn what_is_written_after_a_gap_finds_no_deadline_in_the_past() {
    let (mut s, handle) = measured(true);
    s.ep.send(handle, &[1; 200]).unwrap();
    assert_eq!(departures(&mut s, RTT).len(), 2, "written, sent and not acknowledged");
    s.ep.send(handle, &[1; 100]).unwrap();
    assert!(s.ep.deadline().is_some_and(|at| at > s.now), "the retransmission timer");
    assert_eq!(s.take_all().len(), 1, "the gap is over");
}
