//! Opening under attack: SYN floods and cookies (RFC 4987).
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common::script::*;
use crate::common::*;
use kinglet_tcp::*;
use kinglet_time::Duration;
use kinglet_wire::tcp::{Flags, Options, Timestamps};

/// Fills the table of half-open connections by other peers.
fn flooded(config: ConnectionConfig) -> Script {
    let mut s = Script::new();
    s.ep.listen(80, listening(2, config)).unwrap();
    s.peer = Pair(1, 99);
    for port in 1..=3 {
        s.remote = port;
        s.give(SYN, 0, 0, b"").unwrap();
    }
    assert_eq!(s.take_all().len(), 3);
    (s.peer, s.remote) = (Pair(1, 2), 4000);
    s
}

/// The peer opens a connection whose SYN-ACK is a cookie.
fn answered(config: ConnectionConfig, options: Options) -> (Script, Got) {
    let mut s = flooded(config);
    s.options = options;
    // As most SYNs do, it requests ECN.
    s.give(SYN | Flags::ECE | Flags::CWR, 0, 0, b"").unwrap();
    let syn_ack = s.take().unwrap();
    assert!(syn_ack.is(SYN | ACK));
    assert_eq!((syn_ack.ack, s.ep.stats().syn_cookies_sent), (1, 1));
    s.theirs = syn_ack.header.seq;
    let timestamps =
        syn_ack.header.options.timestamps.map(|ts| Timestamps { val: 501, ecr: ts.val });
    s.options = Options { timestamps, ..Options::NONE };
    (s, syn_ack)
}

#[test]
fn ten_thousand_syns_do_not_keep_a_good_client_out() {
    let mut s = Script::new();
    s.ep.listen(80, listening(2, plain())).unwrap();
    let mut answers = 0;
    for i in 0..10_000_u16 {
        s.peer = Pair(1, 10 + (i % 200) as u8);
        s.remote = 1 + i;
        s.give(SYN, 0, 0, b"").unwrap();
        let out = s.take_all();
        assert!(out.iter().all(|got| got.payload.is_empty() && got.is(SYN | ACK)));
        answers += out.len();
        s.now += MS;
    }
    assert_eq!(answers, 10_000, "one answer each, the size of the question");
    (s.peer, s.remote) = (Pair(1, 2), 40_000);
    s.give(SYN, 0, 0, b"").unwrap();
    s.theirs = s.take().unwrap().header.seq;
    s.give(ACK, 1, 1, b"").unwrap();
    s.give(ACK, 1, 1, b"hello").unwrap();
    let handle = s.ep.accept(80).unwrap();
    assert_eq!(s.read(handle), b"hello");
    assert_eq!(s.ep.send(handle, b"welcome"), Ok(7));
    assert_eq!(s.take().unwrap().payload, b"welcome");
    // Only what is in the table is repeated, each as often as a SYN-ACK may be.
    s.ep.abort(handle).unwrap();
    s.take_all();
    let mut repeated = 0;
    while let Some(at) = s.ep.deadline() {
        s.now = at;
        s.ep.handle_deadline(at);
        repeated += s.take_all().len();
    }
    assert_eq!(repeated, 3 * 3);
}

#[test]
fn a_cookie_remembers_the_segment_size_and_with_timestamps_the_rest() {
    let config = ConnectionConfig { mss: 1400, timestamps: true, ..with_sack().0 };
    let syn = Options {
        mss: Some(500),
        window_scale: Some(3),
        sack_permitted: true,
        timestamps: Some(Timestamps { val: 500, ecr: 0 }),
        ..Options::NONE
    };
    let (mut s, syn_ack) = answered(config, syn);
    assert!(syn_ack.header.options.sack_permitted);
    s.give(ACK, 1, 1, b"").unwrap();
    let handle = s.ep.accept(80).unwrap();
    let info = s.ep.info(handle).unwrap();
    assert_eq!((info.mss, info.snd_wnd), (448 - 12, 8 * u32::from(s.window)));
    assert!(syn_ack.is(Flags::ECE) && info.ecn);
    // Out of order, so that there is something to report.
    s.give(ACK, 101, 1, b"later").unwrap();
    assert_eq!(s.take().unwrap().header.options.sack.as_slice().len(), 1);
}

#[test]
fn without_timestamps_a_cookie_agrees_upon_the_segment_size_only() {
    let (config, sack) = with_sack();
    let (mut s, syn_ack) = answered(config, Options { window_scale: Some(3), ..sack });
    let options = syn_ack.header.options;
    assert_eq!(options, Options { mss: Some(100), ..Options::NONE });
    assert!(!syn_ack.is(Flags::ECE));
    s.give(ACK, 1, 1, b"").unwrap();
    let handle = s.ep.accept(80).unwrap();
    let info = s.ep.info(handle).unwrap();
    assert_eq!((info.snd_wnd, info.ecn), (u32::from(s.window), false));
}

#[test]
fn data_with_the_acknowledgment_of_a_cookie_is_taken() {
    let (mut s, _) = answered(plain(), Options::NONE);
    s.give(ACK, 1, 1, b"hello").unwrap();
    let handle = s.ep.accept(80).unwrap();
    assert_eq!(s.read(handle), b"hello");
    assert_eq!(s.ep.stats().syn_cookies_received, 1);
}

#[test]
fn a_cookie_is_worth_nothing_to_others_or_later_or_when_changed() {
    let syn = Options { timestamps: Some(Timestamps { val: 500, ecr: 0 }), ..Options::NONE };
    let refused = |change: fn(&mut Script)| {
        let (mut s, _) = answered(ConnectionConfig { timestamps: true, ..plain() }, syn);
        change(&mut s);
        assert_eq!(s.give(ACK, 1, 1, b""), Err(Discard::NoConnection));
        assert!(s.ep.accept(80).is_none());
        s
    };
    // While cookies are valid, such an acknowledgment may follow a segment that was lost.
    let ignored = |change: fn(&mut Script)| refused(change).silent();
    ignored(|s| s.theirs = s.theirs.wrapping_add(1));
    ignored(|s| s.theirs ^= 0x1000);
    ignored(|s| s.isn = s.isn.wrapping_add(1));
    ignored(|s| s.remote += 1);
    ignored(|s| s.peer = Pair(1, 3));
    ignored(|s| s.options.timestamps.as_mut().unwrap().ecr ^= 1);
    ignored(|s| s.options.timestamps = None);
    assert!(refused(|s| s.now += Duration::from_secs(135)).take().unwrap().is(RST));
}

#[test]
fn a_cookie_lasts_for_a_minute() {
    let (mut s, _) = answered(plain(), Options::NONE);
    s.now += Duration::from_secs(60);
    s.give(ACK, 1, 1, b"").unwrap();
    assert!(s.ep.accept(80).is_some());
}

#[test]
fn a_lost_segment_does_not_cost_the_connection_of_a_cookie() {
    for later in [&b"later"[..], b""] {
        let (mut s, _) = answered(plain(), Options::NONE);
        assert_eq!(s.give(ACK, 6, 1, later), Err(Discard::NoConnection));
        s.silent();
        s.give(ACK, 1, 1, b"hello").unwrap();
        let handle = s.ep.accept(80).unwrap();
        assert_eq!(s.take().unwrap().ack, 6);
        s.give(ACK, 6, 1, b"later").unwrap();
        assert_eq!(s.read(handle), b"hellolater");
    }
}

/// The copy of a SYN finds room in the table, which its cookie's connection does not depend on.
#[test]
fn a_lost_segment_does_not_cost_the_connection_of_a_cookie_beside_a_record() {
    let (mut s, syn_ack) = answered(plain(), Options::NONE);
    let good = core::mem::replace(&mut s.peer, Pair(1, 99));
    s.remote = 1;
    s.give(RST, 1, 0, b"").unwrap();
    (s.peer, s.remote) = (good, 4000);
    s.give(SYN, 0, 0, b"").unwrap();
    assert_ne!(s.take().unwrap().header.seq, syn_ack.header.seq);
    assert_eq!(s.give(ACK, 6, 1, b""), Err(Discard::AckUnsent));
    s.silent();
    s.give(ACK, 1, 1, b"hello").unwrap();
    let handle = s.ep.accept(80).unwrap();
    assert_eq!(s.read(handle), b"hello");
}

/// Reports an ICMPv6 Packet Too Big message about the connection to the endpoint.
fn big(s: &mut Script, quoted: u32, mtu: u32) {
    let seq = s.theirs.wrapping_add(quoted);
    s.ep.notify_packet_too_big(&s.peer, (s.local, s.remote), seq, mtu);
}

fn large() -> (Script, Handle) {
    let large = Options { mss: Some(1440), ..Options::NONE };
    let config =
        ConnectionConfig { mss: 1440, send_buffer: 0, initial_window: 4, sack: true, ..plain() };
    let (mut s, handle) = Script::server(config, large);
    s.window = 8000;
    s.give(ACK, 1, 1, b"").unwrap();
    s.ep.send(handle, &[7; 4320]).unwrap();
    assert_eq!(seqs(&s.take_all()), [1, 1441, 2881]);
    (s, handle)
}

/// RFC 8201 §4.
#[test]
fn a_path_with_a_smaller_mtu_gets_everything_again_in_smaller_segments() {
    let (mut s, handle) = large();
    big(&mut s, 1, 1300);
    let again = s.take_all();
    assert_eq!((again[0].seq, again[0].payload.len()), (1, 1240));
    assert!(again.len() >= 3 && again.iter().all(|got| got.payload.len() <= 1240));
    let info = s.ep.info(handle).unwrap();
    assert_eq!((info.mss, info.ssthresh), (1240, u32::MAX), "that was no congestion");
    // The messages about the other segments of the flight change nothing more.
    big(&mut s, 1441, 1300);
    s.silent();
    let mut at = 1;
    while at < 4321 {
        at += 1080;
        s.give(ACK, 1, at, b"").unwrap();
        s.take_all();
    }
    assert_eq!(s.ep.info(handle).unwrap().bytes_in_flight, 0);
    s.silent();
}

/// RFC 5927 §7: what an attacker can do with forged messages.
#[test]
fn a_forged_packet_too_big_costs_nothing_or_little() {
    let (mut s, handle) = large();
    for (quoted, mtu) in [(4321, 1280), (0, 1280), (0x4000_0000, 68), (1, 1500), (1, 1501)] {
        big(&mut s, quoted, mtu);
        s.silent();
    }
    assert_eq!(s.ep.info(handle).unwrap().mss, 1440);
    for mtu in [68, 0, 1279] {
        big(&mut s, 1, mtu);
        assert_eq!(s.ep.info(handle).unwrap().mss, 1220, "IPv6 has no smaller MTU");
    }
}

//= rfc9293#MUST-47 rfc9293#SHLD-25
#[test]
fn a_soft_error_lasts_until_the_next_segment_of_the_peer() {
    let (mut s, handle) = large();
    let soft = |s: &Script| s.ep.info(handle).unwrap().soft_error;
    s.ep.notify_network_error(
        &s.peer,
        (s.local, s.remote),
        s.theirs.wrapping_add(9000),
        SoftError::Unreachable,
    );
    assert_eq!(soft(&s), None, "not in flight");
    s.ep.notify_network_error(
        &s.peer,
        (s.local, s.remote),
        s.theirs.wrapping_add(1),
        SoftError::Unreachable,
    );
    assert_eq!(soft(&s), Some(SoftError::Unreachable));
    assert_eq!(s.ep.state(handle), Some(State::Established));
    s.give(ACK, 1, 1441, b"").unwrap();
    assert_eq!(soft(&s), None);
}

//= rfc9293#SHLD-25
#[test]
fn time_exceeded_and_parameter_problem_are_reported_and_end_nothing() {
    for error in [SoftError::TimeExceeded, SoftError::ParameterProblem] {
        let (mut s, handle) = large();
        let seq = s.theirs.wrapping_add(1);
        s.ep.notify_network_error(&s.peer, (s.local, s.remote), seq, error);
        assert_eq!(s.ep.info(handle).unwrap().soft_error, Some(error));
        assert_eq!(s.ep.state(handle), Some(State::Established));
        let mut s = Script::new();
        let handle = s.connecting(plain());
        s.ep.notify_network_error(&s.peer, (s.local, 80), s.theirs, error);
        assert_eq!(s.ep.info(handle).unwrap().soft_error, Some(error));
        assert_eq!(s.ep.state(handle), Some(State::SynSent));
    }
}

#[test]
fn a_connection_that_is_refused_was_never_established() {
    let mut s = Script::new();
    let handle = s.connecting(plain());
    assert_eq!(s.give(ACK, 0, 5, b""), Err(Discard::AckUnsent));
    assert_eq!(s.ep.stats().established, 0);
    s.give(RST | ACK, 0, 1, b"").unwrap();
    assert_eq!(s.ep.info(handle).unwrap().error, Some(ConnectionError::Refused));
    assert_eq!(s.ep.stats().established, 0);
}

#[test]
fn a_peer_of_tiny_segments_gets_no_cookie() {
    let mut s = flooded(plain());
    for (mss, sent) in [(63, 0), (64, 1)] {
        s.options = Options { mss: Some(mss), ..Options::NONE };
        assert_eq!(s.give(SYN, 0, 0, b"").is_ok(), sent == 1);
        assert_eq!(s.ep.stats().syn_cookies_sent, sent);
    }
}

#[test]
fn a_link_that_loses_three_segments_in_a_row_looks_down() {
    let (mut s, handle) = large();
    let soft = |s: &Script| s.ep.info(handle).unwrap().soft_error;
    let segment = PayloadRef { handle, seq: SeqNum::new(s.theirs.wrapping_add(1)), len: 1440 };
    for soft_error in [None, None, Some(SoftError::LinkDown)] {
        s.ep.notify_lost(s.now, segment);
        assert_eq!(soft(&s), soft_error);
        assert_eq!(s.take().unwrap().seq, 1);
    }
    s.give(ACK, 1, 1441, b"").unwrap();
    assert_eq!(soft(&s), None);
}

/// A SYN is answered with a cookie, but late, so it is sent again. The second SYN finds room and is
/// answered with another ISS; then the acknowledgment of the cookie arrives.
#[test]
fn a_cookie_is_good_when_its_syn_has_come_again_and_found_room() {
    let (mut s, _) = answered(plain(), Options::NONE);
    (s.peer, s.remote) = (Pair(1, 99), 1);
    s.give(RST, 1, 0, b"").unwrap();
    (s.peer, s.remote) = (Pair(1, 2), 4000);
    s.give(SYN, 0, 0, b"").unwrap();
    assert_ne!(s.take().unwrap().header.seq, s.theirs);
    s.give(ACK, 1, 1, b"hello").unwrap();
    let handle = s.ep.accept(80).unwrap();
    assert_eq!((s.read(handle), s.ep.stats().syn_cookies_received), (b"hello".to_vec(), 1));
    // A guess at a cookie opens nothing while there is such a record.
    (s.peer, s.remote) = (Pair(1, 99), 2);
    assert_eq!(s.give(ACK, 1, 1, b""), Err(Discard::AckUnsent));
    assert!(s.ep.accept(80).is_none());
}

/// An unexpected acknowledgment must not count as a guess at a cookie.
#[test]
fn without_a_flood_no_cookie_is_accepted() {
    let (s, _) = answered(plain(), Options::NONE);
    let cookie = s.theirs;
    let mut s = Script::new();
    s.ep.listen(80, listening(2, plain())).unwrap();
    s.theirs = cookie;
    assert_eq!(s.give(ACK, 1, 1, b""), Err(Discard::NoConnection));
}

#[test]
fn cookies_do_not_go_beyond_the_backlog() {
    let mut s = flooded(plain());
    for port in [4000, 4001] {
        s.remote = port;
        s.give(SYN, 0, 0, b"").unwrap();
        s.theirs = s.take().unwrap().header.seq;
        s.give(ACK, 1, 1, b"").unwrap();
    }
    s.remote = 4002;
    assert_eq!(s.give(SYN, 0, 0, b""), Err(Discard::BacklogFull));
    s.silent();
}

/// A forged source address in a SYN gets four SYN-ACKs and no more.
#[test]
fn a_half_open_syn_is_answered_four_times_within_a_quarter_of_a_minute() {
    let mut s = Script::new();
    let config = ConnectionConfig { rto_initial: Duration::from_secs(1), ..plain() };
    s.ep.listen(80, listening(2, config)).unwrap();
    s.give(SYN, 0, 0, b"").unwrap();
    let mut sent = vec![s.take().expect("SYN-ACK")];
    sent.extend(s.wait(Duration::from_secs(300)));
    assert!(sent.iter().all(|it| it.is(SYN | ACK)));
    let since = sent.iter().map(|it| (it.at - sent[0].at).as_millis()).collect::<Vec<_>>();
    assert_eq!(since.iter().map(|ms| ms / 100 * 100).collect::<Vec<_>>(), [0, 1_000, 3_000, 7_000]);
    assert_eq!(s.ep.deadline(), None, "nothing is kept");
    // A client whose ACK was lost, and which has text only later, finds its record.
    let mut s = Script::new();
    s.ep.listen(80, listening(2, config)).unwrap();
    s.give(SYN, 0, 0, b"").unwrap();
    s.theirs = s.take().expect("SYN-ACK").header.seq;
    assert_eq!(s.wait(Duration::from_secs(100)).len(), 3);
    s.give(ACK | PSH, 1, 1, b"late").unwrap();
    assert!(s.ep.accept(80).is_some());
    // A side that opens actively repeats its SYN for three minutes.
    let mut s = Script::new();
    s.connecting(config);
    assert_eq!(s.wait(Duration::from_secs(300)).len(), 7);
}
