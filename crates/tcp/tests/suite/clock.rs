//! Time is kept in four octets, which wrap after 38 hours; the wrap must have no effect.

use crate::common::script::*;
use kinglet_tcp::*;
use kinglet_time::{Duration, Instant};
use kinglet_wire::tcp::Options;

const HOUR: Duration = Duration::from_secs(3600);
/// 2^32 units of 32 µs: after this time an instant looks like the present.
const WRAP: Duration = Duration::from_micros(1 << 37);

/// A connection whose window has grown far beyond the initial one of 400 octets.
fn grown() -> (Script, Handle) {
    let config = ConnectionConfig { send_buffer: 8000, ..plain() };
    let (mut s, handle) = Script::server(config, Options::NONE);
    s.window = 8000;
    for _ in 0..8 {
        s.ep.send(handle, &[1; 4000]).unwrap();
        while let Some(last) = s.take_all().pop() {
            s.give(ACK, 1, last.seq + last.payload.len() as u32, b"").unwrap();
        }
    }
    assert!(s.ep.info(handle).unwrap().cwnd > 1600);
    assert_eq!(s.ep.deadline(), None);
    (s, handle)
}

/// RFC 5681 §4.1: what may be sent at once is the initial window again.
#[track_caller]
fn sends_as_after_idle_time(s: &mut Script, handle: Handle) {
    s.ep.send(handle, &[1; 2000]).unwrap();
    assert_eq!(s.take_all().len(), 4);
    let rto = s.ep.info(handle).unwrap().rto;
    let deadline = s.ep.deadline().expect("the retransmission timer runs");
    assert!(deadline >= s.now + rto && deadline < s.now + rto + MS, "{deadline:?}");
}

#[test]
fn after_a_week_of_silence_a_connection_knows_that_it_was_idle() {
    for silence in [HOUR * 24 * 7, WRAP, WRAP * 4 + MS * 100, HOUR * 20] {
        let (mut s, handle) = grown();
        s.now += silence;
        sends_as_after_idle_time(&mut s, handle);
    }
}

#[test]
fn so_it_does_if_others_were_busy_all_the_while() {
    let (mut s, handle) = grown();
    let until = s.now + WRAP;
    while s.now < until {
        s.ep.handle_deadline(s.now);
        s.silent();
        s.now += Duration::from_secs(977);
    }
    s.now = until;
    sends_as_after_idle_time(&mut s, handle);
}

#[test]
fn a_timer_that_is_served_days_late_is_served() {
    for late in [HOUR, HOUR * 20, WRAP, HOUR * 24 * 7] {
        let (mut s, handle) = Script::server(plain(), Options::NONE);
        s.ep.send(handle, b"lost").unwrap();
        let first = s.take().unwrap();
        s.now += late;
        s.ep.handle_deadline(s.now);
        let again = s.take().expect("the retransmission");
        assert_eq!((again.seq, again.payload), (first.seq, first.payload));
        assert!(s.ep.deadline().unwrap() > s.now);
    }
}

#[test]
fn time_wait_ends_however_late_it_is_looked_at() {
    for late in [HOUR * 20, WRAP - HOUR, HOUR * 24 * 7] {
        let (mut s, handle) = Script::server(plain(), Options::NONE);
        s.ep.close(handle).unwrap();
        s.take_all();
        s.give(ACK | FIN, 1, 2, b"").unwrap();
        s.take_all();
        assert_eq!(s.ep.deadline(), Some(s.now + Duration::from_secs(60)));
        s.now += late;
        s.ep.handle_deadline(s.now);
        assert_eq!(s.ep.deadline(), None);
    }
}

#[test]
fn a_timer_beyond_the_range_runs_for_as_long_as_it_can() {
    let forever = Duration::from_secs(u64::from(u32::MAX) / 1000);
    let keepalive = Some(KeepAlive { idle: forever, interval: forever, probes: 1 });
    let (s, _) = Script::server(ConnectionConfig { keepalive, ..plain() }, Options::NONE);
    let deadline = s.ep.deadline().unwrap();
    assert!(deadline > s.now + HOUR * 17 && deadline < s.now + HOUR * 18, "{deadline:?}");
}

#[test]
fn the_clock_may_start_anywhere() {
    for start in [0, 1, 31, (1 << 37) - 1, (1 << 37) + 5, u64::MAX / 2] {
        let mut s = Script::new();
        s.now = Instant::from_micros(start);
        s.connecting(plain());
        let deadline = s.ep.deadline().unwrap();
        let wait = deadline - s.now;
        assert!(wait >= MS * 1000 && wait < MS * 1001, "{wait:?} from {start}");
        s.ep.handle_deadline(deadline - Duration::from_micros(1));
        s.silent();
        s.now = deadline;
        s.ep.handle_deadline(deadline);
        assert!(s.take().unwrap().is(SYN));
    }
}
