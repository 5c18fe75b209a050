//! ACK Rate Request (draft-ietf-tcpm-ack-rate-request-11): the handshake, requests of the peer, and
//! requests of this side.

use crate::common::script::*;
use crate::common::*;
use kinglet_tcp::*;
use kinglet_wire::tcp::{AckRate, Options};

const KNOWS: Options = Options { ack_rate: Some(AckRate::Supported), ..Options::NONE };

fn asking() -> ConnectionConfig {
    ConnectionConfig { ack_rate_request: true, ..plain() }
}

/// A connection with a peer whose SYN has `options`; text is acknowledged after 100 ms.
fn receiving(options: Options) -> Script {
    let config = ConnectionConfig { delayed_ack: MS * 100, ..plain() };
    Script::server(config, options).0
}

/// Hands in the next segment of 100 octets with this request, and returns whether it is
/// acknowledged at once.
fn is_prompt(s: &mut Script, seq: &mut u32, request: Option<u8>) -> bool {
    s.options.ack_rate = request.map(AckRate::Request);
    s.give(ACK | PSH, *seq, 1, &[1; 100]).unwrap();
    *seq += 100;
    s.take().map(|ack| assert_eq!(ack.ack, *seq)).is_some()
}

#[test]
fn the_option_is_offered_on_request_and_accepted_always() {
    for (config, expected) in [(asking(), KNOWS.ack_rate), (plain(), None)] {
        let mut s = Script::new();
        s.remote = 80;
        s.ep.connect(s.now, s.peer, 80, config).unwrap();
        assert_eq!(s.take().unwrap().header.options.ack_rate, expected);
        for (options, answer) in [(KNOWS, KNOWS.ack_rate), (Options::NONE, None)] {
            let mut s = Script::new();
            s.ep.listen(80, listening(2, config)).unwrap();
            s.options = options;
            s.give(SYN, 0, 0, b"").unwrap();
            assert_eq!(s.take().unwrap().header.options.ack_rate, answer);
        }
    }
}

#[test]
fn a_syn_that_is_sent_again_without_the_option_withdraws_it() {
    let mut s = Script::new();
    s.ep.listen(80, listening(2, plain())).unwrap();
    s.options = KNOWS;
    s.give(SYN, 0, 0, b"").unwrap();
    s.take().unwrap();
    s.options = Options::NONE;
    s.give(SYN, 0, 0, b"").unwrap();
    assert_eq!(s.take().unwrap().header.options.ack_rate, None);
}

#[test]
fn a_request_of_zero_has_one_segment_acknowledged_at_once() {
    let (mut s, mut seq) = (receiving(KNOWS), 1);
    assert!(is_prompt(&mut s, &mut seq, Some(0)));
    assert!(!is_prompt(&mut s, &mut seq, None), "it does not last");
    assert!(is_prompt(&mut s, &mut seq, None), "every second, as before");
    assert!(!is_prompt(&mut s, &mut seq, None));
    s.wait(MS * 500);
}

#[test]
fn a_request_without_text_changes_nothing() {
    let (mut s, mut seq) = (receiving(KNOWS), 1);
    for request in [0, 1, 4] {
        s.options.ack_rate = Some(AckRate::Request(request));
        s.give(ACK, seq, 1, b"").unwrap();
        s.silent();
        assert!(!is_prompt(&mut s, &mut seq, None), "after {request}");
        assert!(is_prompt(&mut s, &mut seq, None), "every second, after {request}");
    }
}

#[test]
fn a_request_of_one_has_short_segments_acknowledged_at_once() {
    let (mut s, mut seq) = (receiving(KNOWS), 1);
    for len in [100, 30, 100] {
        s.options.ack_rate = Some(AckRate::Request(1));
        s.give(ACK | PSH, seq, 1, &[1; 100][..len as usize]).unwrap();
        seq += len;
        assert_eq!(s.take().unwrap().ack, seq);
    }
}

#[test]
fn a_request_of_more_is_the_rate_from_then_on() {
    let (mut s, mut seq) = (receiving(KNOWS), 1);
    is_prompt(&mut s, &mut seq, Some(3));
    s.wait(MS * 500);
    let prompt: Vec<bool> = (0..3).map(|_| is_prompt(&mut s, &mut seq, None)).collect();
    assert_eq!(prompt, [false, false, true]);
    is_prompt(&mut s, &mut seq, Some(1));
    s.wait(MS * 500);
    assert!(is_prompt(&mut s, &mut seq, None));
}

#[test]
fn options_that_were_not_negotiated_are_ignored() {
    let (mut s, mut seq) = (receiving(Options::NONE), 1);
    assert!(!is_prompt(&mut s, &mut seq, Some(0)));
    assert!(is_prompt(&mut s, &mut seq, Some(4)), "every second");
}

/// The next segment out: its request and the length of its payload.
fn sent(s: &mut Script) -> (Option<u8>, usize) {
    let segment = s.take().unwrap();
    let request = segment.header.options.ack_rate.map(|option| match option {
        AckRate::Request(rate) => rate,
        AckRate::Supported => panic!("only in a SYN"),
    });
    (request, segment.payload.len())
}

#[test]
fn a_sender_with_one_segment_requests_an_acknowledgment_of_each() {
    let one = ConnectionConfig { send_buffer: 100, nagle: false, ..asking() };
    let (mut s, handle) = Script::client(one, KNOWS);
    let stream = |s: &mut Script, una: u32, len: usize| {
        s.ep.send(handle, &vec![1; len]).unwrap();
        let sent = sent(s);
        s.give(ACK, 1, una + sent.1 as u32, b"").unwrap();
        sent
    };
    // The option takes eight octets of the first segment.
    assert_eq!(stream(&mut s, 1, 100), (Some(1), 92));
    assert_eq!(sent(&mut s), (Some(1), 8));
    s.give(ACK, 1, 101, b"").unwrap();
    // The peer has the request: full segments carry none, and shorter ones, which the peer may
    // delay, request it again.
    assert_eq!(stream(&mut s, 101, 100), (None, 100));
    assert_eq!(stream(&mut s, 201, 92), (Some(1), 92));
    assert_eq!(stream(&mut s, 293, 93), (None, 93));
}

#[test]
fn a_request_is_sent_again_with_what_was_lost_and_withdrawn_with_a_larger_window() {
    let (mut s, handle) = Script::client(asking(), KNOWS);
    s.window = 100;
    s.give(ACK, 1, 1, b"").unwrap();
    s.ep.send(handle, &[1; 800]).unwrap();
    assert_eq!(sent(&mut s), (Some(1), 92));
    let again = s.wait(MS * 1_500);
    assert_eq!(again[0].header.options.ack_rate, Some(AckRate::Request(1)));
    s.give(ACK, 1, 93, b"").unwrap();
    assert_eq!(sent(&mut s), (None, 100));
    s.window = 1000;
    let (mut una, mut requests) = (193, vec![]);
    for _ in 0..4 {
        s.give(ACK, 1, una, b"").unwrap();
        for got in s.take_all() {
            una = got.seq + got.payload.len() as u32;
            requests.extend(got.header.options.ack_rate);
        }
    }
    assert_eq!((requests, una), (vec![AckRate::Request(2)], 801));
}

#[test]
fn a_sender_that_can_send_more_or_whose_peer_knows_nothing_requests_nothing() {
    for (config, options) in [
        // Two full segments.
        (ConnectionConfig { send_buffer: 200, ..asking() }, KNOWS),
        (ConnectionConfig { send_buffer: 150, ..asking() }, Options::NONE),
        (ConnectionConfig { send_buffer: 150, ..plain() }, KNOWS),
    ] {
        let (mut s, handle) = Script::client(config, options);
        s.ep.send(handle, &[1; 150]).unwrap();
        let segment = s.take().unwrap();
        assert_eq!((segment.header.options.ack_rate, segment.payload.len()), (None, 100));
    }
}

#[test]
fn a_segment_is_sent_again_whole() {
    let (mut s, handle) = Script::client(asking(), KNOWS);
    s.ep.send(handle, &[1; 400]).unwrap();
    assert_eq!(seqs(&s.take_all()), [1, 101, 201, 301]);
    // After the timeout one segment may be in flight, and there is no room for the option.
    let again = s.wait(MS * 1_500);
    assert_eq!((again[0].seq, again[0].payload.len()), (1, 100));
    assert_eq!(again[0].header.options.ack_rate, None);
}

#[test]
fn a_small_plan_neither_answers_nor_requests() {
    let mut s = Scripted::<Tiny>::new();
    s.ep.listen(80, listening(2, asking())).unwrap();
    s.options = KNOWS;
    s.give(SYN, 0, 0, b"").unwrap();
    assert_eq!(s.take().unwrap().header.options.ack_rate, None);
    let mut s = Scripted::<Tiny>::new();
    s.ep.connect(s.now, s.peer, 80, asking()).unwrap();
    assert_eq!(s.take().unwrap().header.options.ack_rate, None);
}

plan!(Tiny {
    congestion: congestion::NewReno,
    send: 1024,
    receive: 1024,
    pieces: 0,
    features: Small,
    segments: (),
    connections: 1,
    servers: 1,
});

#[test]
fn new_settings_keep_what_the_handshake_agreed_upon_and_the_peer_requested() {
    for agreed in [true, false] {
        let offer = if agreed { KNOWS } else { Options::NONE };
        let options = Options { sack_permitted: agreed, ..offer };
        let config =
            ConnectionConfig { sack: true, delayed_ack: MS * 100, ack_every: 3, ..plain() };
        let (mut s, handle) = Script::server(config, options);
        let mut seq = 1;
        assert_eq!(is_prompt(&mut s, &mut seq, Some(1)), agreed);
        s.wait(MS * 500);
        let other = ConnectionConfig { sack: !agreed, ack_rate_request: !agreed, ..config };
        s.ep.configure(s.now, handle, &other).unwrap();
        assert_eq!(s.ep.info(handle).unwrap().sack, agreed);
        assert_eq!(is_prompt(&mut s, &mut seq, None), agreed, "rate 1");
        s.wait(MS * 500);
        assert_eq!(is_prompt(&mut s, &mut seq, Some(0)), agreed);
    }
}
