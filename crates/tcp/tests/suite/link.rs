//! Loss reports of the link: segments that did not reach the next hop.

use crate::common::script::*;
use kinglet_tcp::congestion::NewReno;
use kinglet_tcp::*;
use kinglet_time::Duration;
use kinglet_wire::tcp::Options;

plan!(Late {
    congestion: NewReno,
    send: 4096,
    receive: 4096,
    pieces: 0,
    features: WithPolicies,
    segments: [SegmentRecord; 10],
    connections: 1,
    servers: 0,
});

/// Polls all segments and returns the beginning of each in the stream, with its reference.
fn poll_all(s: &mut Script) -> Vec<(u32, PayloadRef)> {
    let base = s.theirs;
    let offset = |p: PayloadRef| p.seq.value().wrapping_sub(base);
    std::iter::from_fn(|| s.ep.poll_packet(s.now).map(|p| (offset(p.payload), p.payload))).collect()
}

fn starts(sent: &[(u32, PayloadRef)]) -> Vec<u32> {
    sent.iter().map(|(start, _)| *start).collect()
}

#[test]
fn a_segment_lost_by_the_link_is_retransmitted_at_once_and_is_no_sign_of_congestion() {
    for sack in [true, false] {
        let options = Options { sack_permitted: sack, ..Options::NONE };
        let (mut s, handle) = Script::server(ConnectionConfig { sack, ..plain() }, options);
        s.ep.send(handle, &[1; 400]).unwrap();
        let sent = poll_all(&mut s);
        assert_eq!(starts(&sent), [1, 101, 201, 301]);
        s.ep.notify_lost(s.now, sent[2].1);
        s.ep.notify_lost(s.now, sent[1].1);
        let again = poll_all(&mut s);
        assert_eq!(starts(&again), [101, 201], "and in order");
        let info = s.ep.info(handle).unwrap();
        assert_eq!((info.cwnd, info.ssthresh), (400, u32::MAX));
        assert_eq!((info.counters.fast_recoveries, info.counters.timeouts), (0, 0));
        s.give(ACK, 1, 401, b"").unwrap();
        s.ep.notify_lost(s.now, again[0].1);
        assert_eq!(starts(&poll_all(&mut s)), [0; 0], "it has arrived");
    }
}

#[test]
fn the_retransmission_of_a_segment_lost_by_the_link_is_not_paced() {
    let (mut s, handle) =
        Script::server(ConnectionConfig { pacing: true, ..plain() }, Options::NONE);
    // A round trip of 100 ms was measured, so that there are gaps.
    s.ep.send(handle, &[1; 100]).unwrap();
    let end = s.take().unwrap().seq + 100;
    s.now += Duration::from_millis(100);
    s.give(ACK, 1, end, b"").unwrap();
    s.ep.send(handle, &[1; 300]).unwrap();
    let [first] = &poll_all(&mut s)[..] else { panic!("the second waits for a gap") };
    s.now += Duration::from_millis(1);
    s.ep.notify_lost(s.now, first.1);
    assert_eq!(starts(&poll_all(&mut s)), [first.0], "again, and the second waits on");
}

#[test]
fn a_lost_acknowledgment_a_lost_fin_and_a_lost_syn_go_again_too() {
    let (mut s, handle) = Script::server(plain(), Options::NONE);
    s.give(ACK, 1, 1, &[1; 100]).unwrap();
    let ack = poll_all(&mut s);
    assert_eq!((ack.len(), ack[0].1.len), (1, 0));
    s.ep.notify_lost(s.now, ack[0].1);
    assert_eq!(s.take().unwrap().ack, 101);
    s.ep.close(handle).unwrap();
    let fin = poll_all(&mut s);
    s.ep.notify_lost(s.now, fin[0].1);
    assert!(s.take().unwrap().is(FIN));

    let mut s = Script::new();
    s.remote = 80;
    s.ep.connect(s.now, s.peer, 80, plain()).unwrap();
    let syn = poll_all(&mut s);
    s.ep.notify_lost(s.now, syn[0].1);
    assert!(s.take().unwrap().is(SYN));
}

#[test]
fn until_an_acknowledgment_has_left_the_next_one_waits_and_says_all() {
    let (config, options) = with_sack();
    let config = ConnectionConfig { delayed_ack: Duration::ZERO, ack_every: 1, ..config };
    let (mut s, handle) = Scripted::<Late>::server(config, options);
    s.give(ACK, 1, 1, &[1; 100]).unwrap();
    assert_eq!(s.take().unwrap().ack, 101);
    s.ep.hold_acks(handle);
    s.give(ACK, 101, 1, &[2; 100]).unwrap();
    s.silent();
    s.give(ACK, 201, 1, &[3; 100]).unwrap();
    s.silent();
    assert_eq!(s.ep.deadline(), None, "nothing is due before it has left");
    assert!(s.ep.release_acks(handle));
    assert_eq!(s.take_all().iter().map(|got| got.ack).collect::<Vec<_>>(), [301]);

    // A segment with text acknowledges as well.
    s.ep.hold_acks(handle);
    s.give(ACK, 301, 1, &[4; 100]).unwrap();
    s.ep.send(handle, &[9; 50]).unwrap();
    let text = s.take().unwrap();
    assert_eq!((text.ack, text.payload.len()), (401, 50));
    assert!(!s.ep.release_acks(handle), "none has waited");
    s.silent();
}

#[test]
fn late_acknowledgments_do_not_wait_for_each_other() {
    let (config, options) = with_sack();
    let (mut s, handle) = Scripted::<Late>::server(config, options);
    s.ep.hold_acks(handle);
    s.give(ACK, 1, 1, &[1; 100]).unwrap();
    s.give(ACK, 101, 1, &[2; 100]).unwrap();
    assert_eq!(s.take().unwrap().ack, 201);
}

#[test]
fn duplicate_acks_do_not_wait_for_an_acknowledgment_to_leave() {
    let (config, options) = with_sack();
    let config = ConnectionConfig { ack_every: 1, ..config };
    let (mut s, handle) = Scripted::<Late>::server(config, options);
    s.ep.hold_acks(handle);
    for n in 1..4 {
        s.give(ACK, 1 + n * 100, 1, &[1; 100]).unwrap();
        assert_eq!(s.take().expect("after a gap").ack, 1);
    }
    s.give(ACK, 1, 1, &[1; 100]).unwrap();
    s.silent();
    assert!(s.ep.release_acks(handle));
    assert_eq!(s.take().unwrap().ack, 401);
}

#[test]
fn a_dead_link_does_not_keep_a_connection_alive() {
    let config = ConnectionConfig { max_retransmits: 4, ..plain() };
    let (mut s, handle) = Script::server(config, Options::NONE);
    s.ep.send(handle, &[1; 400]).unwrap();
    // One after the other, as a MAC with one slot sends them.
    let mut sent = Vec::new();
    let mut tries = 0;
    while s.ep.state(handle) == Some(State::Established) {
        tries += 1;
        assert!(tries < 20, "given up");
        let mut count = 0;
        while let Some(packet) = s.ep.poll_packet(s.now) {
            count += 1;
            assert!(count < 20, "bounded");
            s.ep.notify_lost(s.now, packet.payload);
        }
        sent.push(count);
        s.now = s.ep.deadline().unwrap();
        s.ep.handle_deadline(s.now);
    }
    // The flight and eight more; then one at each timeout, and half as many more each time.
    assert_eq!(sent, [4 + 8, 1 + 4, 1 + 2, 1 + 1, 1]);
    let error = ConnectionError::TimedOut;
    assert_eq!(s.ep.send(handle, b"x"), Err(SendError::Ended(error)));
}

#[test]
fn a_random_back_off_is_never_shorter_and_no_two_connections_draw_the_same() {
    let waits = |random_backoff: bool, remote: u16| {
        let config = ConnectionConfig { random_backoff, ..plain() };
        let mut s = Script::new();
        s.remote = remote;
        s.ep.connect(s.now, s.peer, remote, config).unwrap();
        assert!(s.take().unwrap().is(SYN));
        let mut at = Vec::new();
        for _ in 0..5 {
            let start = s.now;
            s.now = s.ep.deadline().unwrap();
            s.ep.handle_deadline(s.now);
            assert!(s.take().is_some());
            at.push((s.now - start).as_millis());
        }
        at
    };
    let plain = waits(false, 80);
    assert_eq!(plain, [1000, 2000, 4000, 8000, 16_000]);
    let (a, b) = (waits(true, 80), waits(true, 81));
    assert_eq!((a[0], b[0]), (1000, 1000), "what is not backed off is not spread");
    for i in 1..5 {
        assert!((plain[i]..plain[i] * 3 / 2).contains(&a[i]), "{a:?}");
        assert!((plain[i]..plain[i] * 3 / 2).contains(&b[i]), "{b:?}");
        assert_ne!(a[i], b[i]);
    }
    assert_eq!(a, waits(true, 80), "deterministic");
}
