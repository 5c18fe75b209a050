//! The policies of simpler TCPs, which a plan can select: an acknowledgment for each segment, other
//! timeouts, a limited window, loss detection by the timer alone.

use crate::common::script::*;
use crate::common::*;
use kinglet_tcp::congestion::NewReno;
use kinglet_tcp::*;
use kinglet_time::Duration;
use kinglet_wire::tcp::{Options, Segment};
use proptest::prelude::*;

plan!(Studied {
    congestion: NewReno,
    send: 4096,
    receive: 4096,
    pieces: 0,
    features: WithPolicies,
    segments: [SegmentRecord; 10],
    connections: 1,
    servers: 0,
});

plan!(Slow {
    congestion: NewReno,
    send: 4096,
    receive: 4096,
    pieces: 0,
    features: Small,
    segments: ByTimeout,
    connections: 1,
    servers: 0,
});

type Alone = Scripted<Studied>;

const RULES: [Rto; 4] = [Rto::RoundTrips, Rto::AtLeast, Rto::Static, Rto::FirstRoundTrip];

fn each() -> ConnectionConfig {
    ConnectionConfig { positive_acks: true, delayed_ack: MS * 100, ..plain() }
}

fn info<S: Sizes>(s: &Scripted<S>, handle: Handle) -> Info {
    s.ep.info(handle).unwrap()
}

fn acks(segments: &[Got]) -> Vec<u32> {
    segments.iter().map(|got| got.ack).collect()
}

#[test]
fn each_segment_has_an_acknowledgment_of_its_own_though_they_leave_late() {
    let (mut s, handle) = Alone::server(each(), Options::NONE);
    let give = |s: &mut Alone| {
        s.give(ACK, 1, 1, &[1; 100]).unwrap();
        s.give(ACK, 101, 1, &[2; 100]).unwrap();
        s.give(ACK | PSH, 201, 1, &[3; 40]).unwrap();
    };
    give(&mut s);
    let taken = s.take_all();
    assert_eq!(acks(&taken), [101, 201, 241]);
    // The right edge stays where it is: the octets that an acknowledgment leaves out are added to
    // its window.
    let edges: Vec<_> = taken.iter().map(|got| got.ack + u32::from(got.header.window)).collect();
    assert_eq!(edges, [801; 3]);
    assert_eq!(s.read(handle).len(), 240);
    // The same with a plan without the policy: one acknowledgment for all, and only after the
    // delay.
    let (mut s, _) = Script::server(each(), Options::NONE);
    s.give(ACK, 1, 1, &[1; 100]).unwrap();
    s.silent();
    s.give(ACK, 101, 1, &[2; 100]).unwrap();
    s.give(ACK | PSH, 201, 1, &[3; 40]).unwrap();
    assert_eq!(acks(&s.take_all()), [241]);
}

#[test]
fn none_of_them_waits_for_another_to_leave() {
    let (mut s, handle) = Alone::server(each(), Options::NONE);
    s.ep.hold_acks(handle);
    s.give(ACK, 1, 1, &[1; 100]).unwrap();
    s.give(ACK, 101, 1, &[2; 100]).unwrap();
    assert_eq!(acks(&s.take_all()), [101, 201]);
}

#[test]
fn text_in_the_other_direction_carries_the_first_of_them() {
    let (mut s, handle) = Alone::server(each(), Options::NONE);
    s.give(ACK, 1, 1, &[1; 100]).unwrap();
    s.give(ACK, 101, 1, &[2; 100]).unwrap();
    s.ep.send(handle, &[9; 50]).unwrap();
    let taken = s.take_all();
    let lens: Vec<_> = taken.iter().map(|got| got.payload.len()).collect();
    assert_eq!((acks(&taken), lens), (vec![101, 201], vec![50, 0]));
}

#[test]
fn a_filled_gap_is_acknowledged_as_a_whole_and_a_duplicate_twice() {
    let (mut s, _) = Alone::server(each(), Options::NONE);
    s.give(ACK, 101, 1, &[2; 100]).unwrap();
    assert_eq!(acks(&s.take_all()), [1]);
    s.give(ACK, 1, 1, &[1; 100]).unwrap();
    assert_eq!(acks(&s.take_all()), [201]);
    for _ in 0..2 {
        assert_eq!(s.give(ACK, 1, 1, &[1; 100]), Err(Discard::OutsideWindow));
    }
    assert_eq!(acks(&s.take_all()), [201, 201]);
}

#[test]
fn no_more_than_sixteen_are_owed() {
    let config = ConnectionConfig { receive_buffer: 4000, ..each() };
    let (mut s, _) = Alone::server(config, Options::NONE);
    for n in 0..30 {
        s.give(ACK, 1 + n * 100, 1, &[1; 100]).unwrap();
    }
    let taken = s.take_all();
    assert_eq!((taken.len(), taken[0].ack, taken[15].ack), (16, 101, 3001));
}

/// A connection whose handshake took 50 ms, with the RTO by `rto`.
fn timed(rto: Rto, rto_min: Duration, seed: u8) -> (Alone, Handle) {
    let config = ConnectionConfig { rto, rto_min, pacing: false, ..plain() };
    let mut s = Alone::new();
    s.ep = Box::new(Endpoint::new(TcpConfig::new([seed; 16])));
    let handle = s.connecting(config);
    assert_eq!(info(&s, handle).rto, MS * 1_000, "of a SYN");
    s.wait(MS * 50);
    s.give(SYN | ACK, 0, 1, b"").unwrap();
    s.take_all();
    (s, handle)
}

/// Instants are kept in units of 32 us.
#[track_caller]
fn assert_near(a: Duration, b: Duration) {
    assert!(a + MS >= b && b + MS >= a, "{a:?} is not {b:?}");
}

/// Sends a segment, which is acknowledged after `rtt`.
fn exchange(s: &mut Alone, handle: Handle, offset: u32, rtt: Duration) {
    s.ep.send(handle, &[1; 100]).unwrap();
    assert_eq!(s.take_all().len(), 1);
    s.wait(rtt);
    s.give(ACK, 1, offset + 100, b"").unwrap();
}

#[test]
fn a_timeout_by_the_first_round_trip_is_four_of_it_and_stays_so() {
    let (mut s, handle) = timed(Rto::FirstRoundTrip, MS, 1);
    let rto = info(&s, handle).rto;
    assert_near(rto, MS * 200);
    for n in 0..5 {
        exchange(&mut s, handle, 1 + n * 100, MS * 150);
    }
    assert_eq!(info(&s, handle).rto, rto);
    assert!(info(&s, handle).srtt > MS * 80, "which is measured all the same");
    let (s, handle) = timed(Rto::FirstRoundTrip, MS * 500, 1);
    assert_eq!(info(&s, handle).rto, MS * 500, "but not less than the least");
}

#[test]
fn a_static_timeout_is_drawn_once_between_two_and_three_seconds() {
    let mut drawn = Vec::new();
    for seed in 0..40 {
        let (mut s, handle) = timed(Rto::Static, MS * 200, seed);
        let rto = info(&s, handle).rto;
        assert!((MS * 2_000..=MS * 3_000).contains(&rto), "{rto:?}");
        exchange(&mut s, handle, 1, MS * 700);
        assert_eq!(info(&s, handle).rto, rto);
        drawn.push(rto);
    }
    let below = drawn.iter().filter(|&&rto| rto < MS * 2_500).count();
    assert!((8..=32).contains(&below), "{below} of 40 in the lower half");
}

#[test]
fn a_least_timeout_is_a_distance_from_the_round_trip_or_the_least_of_all() {
    for (rule, floor, least, wanted) in [
        // 50 ms and half as long again four times are 150; then the variation shrinks.
        (Rto::RoundTrips, MS * 500, MS * 550, MS * 550),
        (Rto::AtLeast, MS * 500, MS * 500, MS * 500),
        (Rto::AtLeast, MS, MS * 150, MS * 51),
    ] {
        let (mut s, handle) = timed(rule, floor, 1);
        assert_near(info(&s, handle).rto, least);
        for n in 0..39 {
            exchange(&mut s, handle, 1 + n * 100, MS * 50);
        }
        assert_near(info(&s, handle).rto, wanted);
    }
}

#[test]
fn each_timeout_doubles_whatever_it_follows_from() {
    for rule in RULES {
        let (mut s, handle) = timed(rule, MS * 200, 3);
        let rto = info(&s, handle).rto;
        s.ep.send(handle, &[1; 100]).unwrap();
        let sent = s.wait(rto * 8);
        let at: Vec<_> = sent.iter().map(|got| got.at - sent[0].at).collect();
        assert_eq!(at.len(), 4, "{rule:?}");
        for (n, times) in [(1, 1), (2, 3), (3, 7)] {
            assert_near(at[n], rto * times);
        }
    }
}

#[test]
fn the_window_is_no_wider_than_its_limit() {
    for limit in 1..=8_u8 {
        let config =
            ConnectionConfig { window_limit: limit, pacing: false, initial_window: 8, ..plain() };
        let (mut s, handle) = Alone::server(config, Options { mss: Some(100), ..Options::NONE });
        s.window = 4000;
        let mut acknowledged = 1;
        for _ in 0..10 {
            while s.ep.send(handle, &[1; 400]).unwrap() > 0 {}
            assert_eq!(s.take_all().len(), usize::from(limit));
            acknowledged += 100 * u32::from(limit);
            s.give(ACK, 1, acknowledged, b"").unwrap();
        }
        assert_eq!(info(&s, handle).cwnd, 100 * u32::from(limit));
    }
}

#[test]
fn the_window_limit_follows_from_the_hops() {
    for (hops, limit) in [(1, 3), (2, 3), (3, 2), (9, 2)] {
        let config = ConnectionConfig {
            window_by_hops: true,
            window_limit: 7,
            pacing: false,
            initial_window: 8,
            ..plain()
        };
        let (mut s, handle) = Alone::server(config, Options { mss: Some(100), ..Options::NONE });
        s.window = 4000;
        s.ep.note_distance(&s.peer, hops);
        while s.ep.send(handle, &[1; 400]).unwrap() > 0 {}
        assert_eq!(s.take_all().len(), limit, "{hops} hops");
    }
}

/// Five duplicates have no effect. A timeout leaves a window of one segment, and everything in
/// flight is sent again in it.
fn waits_for_its_timer<S: Sizes>(config: ConnectionConfig) {
    let config = ConnectionConfig { sack: true, pacing: false, initial_window: 4, ..config };
    let options = Options { mss: Some(100), sack_permitted: true, ..Options::NONE };
    let (mut s, handle) = Scripted::<S>::server(config, options);
    s.ep.send(handle, &[2; 600]).unwrap();
    assert_eq!(seqs(&s.take_all()), [1, 101, 201, 301]);
    for right in [201, 301, 401, 401, 401] {
        let at = |offset: u32| s.theirs.wrapping_add(offset);
        s.options.sack.push(kinglet_wire::tcp::SackBlock { left: at(101), right: at(right) });
        s.give(ACK, 1, 1, b"").unwrap();
        s.options.sack = Default::default();
    }
    s.silent();
    let rto = info(&s, handle).rto;
    assert_eq!(s.wait(rto - MS).len(), 0, "nor is there a probe");
    assert_eq!(seqs(&s.wait(MS)), [1]);
    let after = info(&s, handle);
    assert_eq!((after.cwnd, after.repair), (100, Repair::Timeout));
    s.give(ACK, 1, 101, b"").unwrap();
    assert_eq!(seqs(&s.take_all()), [101, 201]);
    s.give(ACK, 1, 401, b"").unwrap();
    assert_eq!(seqs(&s.take_all()), [401, 501]);
    let counters = info(&s, handle).counters;
    assert_eq!((counters.fast_retransmits, counters.timeouts, counters.undone), (0, 1, 0));
}

#[test]
fn losses_are_found_by_the_timer_alone_by_setting_or_by_type() {
    waits_for_its_timer::<Studied>(ConnectionConfig { fast_recovery: false, ..plain() });
    waits_for_its_timer::<Slow>(plain());
}

fn any_policies() -> impl Strategy<Value = ConnectionConfig> {
    let rules = proptest::sample::select(&RULES[..]);
    (any::<bool>(), rules, 0..=8_u8, any::<bool>()).prop_map(|(each, rto, limit, fast)| {
        ConnectionConfig {
            positive_acks: each,
            rto,
            window_limit: limit,
            fast_recovery: fast,
            mss: 200,
            ..Default::default()
        }
    })
}

proptest! {
    #![proptest_config(cases(40))]

    /// With any settings of both ends, all data arrives, and no right edge goes back.
    #[test]
    fn all_arrives_with_any_policies(
        client in any_policies(),
        server in any_policies(),
        loss in 0..150_u32,
        reorder in 0..100_u32,
        seed: u64,
    ) {
        let link = Link { loss, reorder, duplicate: 20, ..PERFECT };
        let mut net = Network::<Studied>::new(link, seed);
        transfer(&mut net, [client, server], [12_000, 3_000], Duration::from_secs(4_000));
        for side in 0..2 {
            let mut edge: Option<u32> = None;
            for (_, _, octets) in net.log.iter().filter(|(_, from, _)| *from == side) {
                let header = Segment::parse(octets).unwrap().header;
                if !header.flags.contains(SYN) && !header.flags.contains(RST) {
                    let right = header.ack.wrapping_add(u32::from(header.window));
                    let back = edge.is_some_and(|edge| right.wrapping_sub(edge) > u32::MAX / 2);
                    prop_assert!(!back, "side {side}");
                    edge = Some(right);
                }
            }
        }
    }
}
