//! Timestamps (RFC 7323) where segment scripts do not look: their values, and the order of checks.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common::script::*;
use crate::common::*;
use kinglet_tcp::*;
use kinglet_time::{Duration, Instant};
use kinglet_wire::tcp::{Options, Segment, Timestamps};

fn stamped(val: u32) -> Options {
    Options { timestamps: Some(Timestamps { val, ecr: 0 }), ..Options::NONE }
}

fn with_timestamps() -> ConnectionConfig {
    ConnectionConfig { timestamps: true, ..plain() }
}

//= rfc7323#5.2-2 rfc7323#5.2-3 rfc7323#5.2-4
#[test]
fn a_reset_echoes_the_timestamp_it_answers_and_has_no_time() {
    let mut s = Script::new();
    s.options = stamped(700);
    let _ = s.give(ACK, 5, 77, b"abc");
    let reset = s.take().unwrap();
    assert_eq!(reset.header.flags, RST);
    assert_eq!(reset.header.options.timestamps, Some(Timestamps { val: 0, ecr: 700 }));
    s.options = Options::NONE;
    let _ = s.give(ACK, 5, 77, b"abc");
    assert_eq!(s.take().unwrap().header.options.timestamps, None);
}

/// A segment that is outside of the window and has an old timestamp counts as old.
//= rfc7323#5.3-2
#[test]
fn the_timestamp_is_checked_before_the_window() {
    let (mut s, _) = Script::server(with_timestamps(), stamped(1000));
    for seq in [70_000, 0u32.wrapping_sub(500)] {
        s.options = stamped(1000);
        assert_eq!(s.give(ACK, seq, 1, b"text"), Err(Discard::OutsideWindow));
        s.options = stamped(999);
        assert_eq!(s.give(ACK, seq, 1, b"text"), Err(Discard::Paws));
        assert!(s.take_all().iter().all(|got| got.header.flags == ACK && got.ack == 1));
    }
}

/// Two connections at the same time, the same one with another secret, and the same one later.
//= rfc7323#7-1
#[test]
fn each_connection_has_a_timestamp_clock_of_its_own() {
    let stamp = |secret, at, port| {
        let mut ep = endpoint(secret);
        ep.connect_from(at, Pair(1, 2), port, 80, with_timestamps()).unwrap();
        let packet = ep.poll_packet(at).unwrap();
        Segment::parse(&packet.header).unwrap().header.options.timestamps.unwrap().val
    };
    let at = Instant::from_secs(5);
    let first = stamp(1, at, 7);
    assert_ne!(first, stamp(1, at, 8));
    assert_ne!(first, stamp(2, at, 7));
    assert_eq!(stamp(1, at + Duration::from_micros(1024 * 250), 7), first.wrapping_add(250));
}
