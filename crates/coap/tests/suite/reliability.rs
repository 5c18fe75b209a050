//! Lost, duplicate and late messages (RFC 7252 §4).

use crate::common::*;
use kinglet_coap::*;
use kinglet_time::Instant;

fn ask(client: &mut End, server: &mut End, now: Instant) -> (Vec<u8>, Ticket) {
    get(client, now);
    let request = must_send(client, now);
    let Ok(Event::Request { ticket, .. }) = server.handle_message(now, CLIENT, &request) else {
        panic!("a request");
    };
    (request, ticket)
}

// RFC 7252, §4.2
#[test]
fn a_request_is_sent_five_times_with_doubled_timeouts_and_then_given_up() {
    let mut client = end(1);
    let handle = get(&mut client, at(0));
    let first = must_send(&mut client, at(0));
    let mut times = vec![at(0)];
    for _ in 0..4 {
        let now = wait(&mut client);
        assert_eq!(must_send(&mut client, now), first, "the same message");
        times.push(now);
    }
    let gaps: Vec<u64> = times.windows(2).map(|w| (w[1] - w[0]).as_micros()).collect();
    assert!((2_000_000..=3_000_000).contains(&gaps[0]), "{gaps:?}");
    assert!(gaps.windows(2).all(|pair| pair[1] == 2 * pair[0]), "{gaps:?}");
    let over = wait(&mut client);
    assert_eq!((over - times[4]).as_micros(), 2 * gaps[3]);
    assert_eq!(sent(&mut client, over), None);
    assert_eq!(client.poll_failure(), Some((handle, Failure::TimedOut)));
    assert_eq!((client.poll_failure(), client.deadline()), (None, None));
    // The next one starts with the initial timeout.
    get(&mut client, over);
    must_send(&mut client, over);
    assert!(client.deadline().unwrap() - over <= ms(3_000));
    assert_eq!((client.stats().retransmissions, client.stats().timeouts), (4, 1));
}

// RFC 7252, §5.2.1
#[test]
fn a_response_rides_in_the_acknowledgement() {
    let (mut client, mut server) = (end(1), end(2));
    let (request, ticket) = ask(&mut client, &mut server, at(0));
    server.respond(at(0), ticket, Code::CONTENT, |w| w.payload(b"x")).unwrap();
    let response = must_send(&mut server, at(0));
    assert_eq!(header(&response).kind, Kind::Acknowledgement);
    assert_eq!(header(&response).message_id, header(&request).message_id);
    let event = client.handle_message(at(100), SERVER, &response);
    assert!(matches!(event, Ok(Event::Response { message, .. }) if message.payload == b"x"));
    assert_eq!((sent(&mut client, at(100)), client.deadline()), (None, None));
    let again = client.handle_message(at(101), SERVER, &response);
    assert_eq!(again, Err(Discard::Unexpected));
}

// RFC 7252, §4.5
#[test]
fn a_repeated_request_is_answered_again_and_not_carried_out_again() {
    let (mut client, mut server) = (end(1), end(2));
    let (request, ticket) = ask(&mut client, &mut server, at(0));
    let again = |server: &mut End, now| server.handle_message(now, CLIENT, &request);
    assert_eq!(again(&mut server, at(10)), Err(Discard::Duplicate));
    assert_eq!(sent(&mut server, at(10)), None, "it is being answered");
    server.respond(at(20), ticket, Code::CHANGED, |_| Ok(())).unwrap();
    let response = must_send(&mut server, at(20));
    assert_eq!(again(&mut server, at(2_000)), Err(Discard::Duplicate));
    assert_eq!(must_send(&mut server, at(2_000)), response);
    assert_eq!(
        server.respond(at(2_001), ticket, Code::CHANGED, |_| Ok(())),
        Err(RespondError::Stale)
    );
    // EXCHANGE_LIFETIME after the last of them it is a new one.
    assert_eq!(wait(&mut server), at(249_000));
    assert!(matches!(again(&mut server, at(249_000)), Ok(Event::Request { .. })));
}

// RFC 7252, §4.2 and 5.2.2
#[test]
fn a_late_response_is_acknowledged_as_a_message_of_its_own() {
    let (mut client, mut server) = (end(1), end(2));
    let (request, ticket) = ask(&mut client, &mut server, at(0));
    assert_eq!(wait(&mut server), at(500));
    let ack = must_send(&mut server, at(500));
    assert_eq!(ack, message(Kind::Acknowledgement, Code::EMPTY, header(&request).message_id, b""));
    assert_eq!(client.handle_message(at(600), SERVER, &ack), Ok(Event::Nothing));
    // The request is not retransmitted any more; the response may be late.
    assert_eq!(client.deadline(), Some(at(93_600)));
    // A repetition that was in flight is acknowledged again.
    let repeated = server.handle_message(at(650), CLIENT, &request);
    assert_eq!((repeated, must_send(&mut server, at(650))), (Err(Discard::Duplicate), ack));

    server.respond(at(5_000), ticket, Code::CONTENT, |w| w.payload(b"x")).unwrap();
    let response = must_send(&mut server, at(5_000));
    assert_eq!(header(&response).kind, Kind::Confirmable);
    assert_eq!(header(&response).token, header(&request).token);
    assert_ne!(header(&response).message_id, header(&request).message_id);
    let event = client.handle_message(at(5_100), SERVER, &response);
    assert!(matches!(event, Ok(Event::Response { .. })));
    must_send(&mut client, at(5_100)); // and is lost
    let resent = wait(&mut server);
    assert_eq!(must_send(&mut server, resent), response);
    assert_eq!(client.handle_message(resent, SERVER, &response), Err(Discard::Duplicate));
    let ack = must_send(&mut client, resent);
    assert_eq!(ack, message(Kind::Acknowledgement, Code::EMPTY, header(&response).message_id, b""));
    assert_eq!(server.handle_message(resent, CLIENT, &ack), Ok(Event::Nothing));
    assert_eq!(server.info().serving, 0);
}

/// Sends a request at 0; the acknowledgement is lost, and this is the response of 700 ms.
fn respond_unacknowledged(client: &mut End, server: &mut End) -> Vec<u8> {
    let (_, ticket) = ask(client, server, at(0));
    wait(server);
    must_send(server, at(500)); // and is lost
    server.respond(at(700), ticket, Code::CONTENT, |_| Ok(())).unwrap();
    must_send(server, at(700))
}

// RFC 7252, §4.2
#[test]
fn a_response_that_is_not_acknowledged_is_given_up_and_counts_as_a_timeout() {
    let (mut client, mut server) = (end(1), end(2));
    respond_unacknowledged(&mut client, &mut server);
    // It is retransmitted as often as the length of the request allows (RFC 9175, 3).
    let again = core::iter::from_fn(|| {
        let due = wait(&mut server);
        sent(&mut server, due)
    });
    assert!(again.count() > 0);
    assert_eq!(server.stats().timeouts, 1);
    assert_eq!((server.info().serving, server.info().kept), (0, 1));
}

// RFC 7252, §5.2.2: the response overtakes the acknowledgement, or the latter is lost.
#[test]
fn a_response_of_its_own_acknowledges_the_request_too() {
    let (mut client, mut server) = (end(1), end(2));
    let response = respond_unacknowledged(&mut client, &mut server);
    let event = client.handle_message(at(800), SERVER, &response);
    assert!(matches!(event, Ok(Event::Response { .. })));
    assert_eq!(client.deadline(), None);
}

// RFC 7252, §4.2 and 4.3
#[test]
fn a_reset_ends_a_request_and_nonsense_is_reset_if_confirmable() {
    let mut client = end(1);
    let handle = get(&mut client, at(0));
    let id = header(&must_send(&mut client, at(0))).message_id;
    let reset = message(Kind::Reset, Code::EMPTY, id, b"");
    assert_eq!(client.handle_message(at(1), SERVER + 1, &reset), Err(Discard::Unexpected));
    assert_eq!(client.handle_message(at(1), SERVER, &reset), Ok(Event::Nothing));
    assert_eq!(client.poll_failure(), Some((handle, Failure::Reset)));

    let reset = Some((SERVER, message(Kind::Reset, Code::EMPTY, 77, b"")));
    let cases = [
        (Code::EMPTY, Ok(Event::Nothing)), // CoAP's ping
        (Code(0x20), Err(Discard::Malformed)),
        (Code::CONTENT, Err(Discard::Unexpected)),
    ];
    for (code, result) in cases {
        let confirmable = message(Kind::Confirmable, code, 77, b"");
        assert_eq!(client.handle_message(at(2), SERVER, &confirmable), result);
        assert_eq!(sent(&mut client, at(2)), reset);
        let other = message(Kind::NonConfirmable, code, 77, b"");
        assert!(client.handle_message(at(2), SERVER, &other).is_err());
        assert_eq!(sent(&mut client, at(2)), None);
    }
    assert!(client.handle_message(at(3), SERVER, b"\x40\x01\x00\x4d\xff").is_err());
    assert_eq!(sent(&mut client, at(3)), reset, "a format error");
}

// RFC 7252, §4.7
#[test]
fn only_one_request_to_a_peer_is_pending() {
    let mut client = end(1);
    let handles = [0, 0].map(|now| get(&mut client, at(now)));
    let elsewhere = client.request(at(0), 9, Delivery::Confirmable, Code::GET, |_| Ok(())).unwrap();
    let first = must_send(&mut client, at(0));
    assert_eq!(sent(&mut client, at(0)).map(|(peer, _)| peer), Some(9));
    assert_eq!(sent(&mut client, at(0)), None);
    assert_eq!(client.is_sent(handles[0]), Some(true));
    assert_eq!(client.is_sent(handles[1]), Some(false));
    assert_eq!(client.is_sent(elsewhere), Some(true));
    let full = client.request(at(0), SERVER, Delivery::Confirmable, Code::GET, |_| Ok(()));
    assert_eq!(full, Err(RequestError::TableFull));
    // An acknowledgement lets the next request be sent.
    let ack = message(Kind::Acknowledgement, Code::EMPTY, header(&first).message_id, b"");
    client.handle_message(at(50), SERVER, &ack).unwrap();
    must_send(&mut client, at(50));
    assert_eq!(client.is_sent(handles[1]), Some(true));
}

// RFC 7252, §4.3 and 5.2.3
#[test]
fn a_non_confirmable_message_is_neither_acknowledged_nor_sent_again() {
    let (mut client, mut server) = (end(1), end(2));
    let post = client
        .request(at(0), SERVER, Delivery::NonConfirmable, Code::POST, |w| w.payload(b"x"))
        .unwrap();
    let request = must_send(&mut client, at(0));
    let Ok(Event::Request { ticket, .. }) = server.handle_message(at(5), CLIENT, &request) else {
        panic!("a request");
    };
    assert_eq!(server.handle_message(at(5), CLIENT, &request), Err(Discard::Duplicate));
    server.respond(at(9_000), ticket, Code::CHANGED, |_| Ok(())).unwrap();
    let response = must_send(&mut server, at(9_000));
    assert_eq!(header(&response).kind, Kind::NonConfirmable);
    assert_eq!(server.handle_message(at(9_000), CLIENT, &request), Err(Discard::Duplicate));
    assert_eq!(sent(&mut server, at(9_000)), None);
    let event = client.handle_message(at(9_100), SERVER, &response);
    assert!(matches!(event, Ok(Event::Response { handle, .. }) if handle == post));
    assert_eq!((client.deadline(), client.stats().sent), (None, 1));
}

#[test]
fn a_cancelled_request_is_over() {
    let mut client = end(1);
    let handle = get(&mut client, at(0));
    let id = header(&must_send(&mut client, at(0))).message_id;
    client.cancel(handle);
    assert_eq!((client.deadline(), client.expected(), client.info().requests), (None, None, 0));
    let ack = message(Kind::Acknowledgement, Code::EMPTY, id, b"");
    assert_eq!(client.handle_message(at(1), SERVER, &ack), Err(Discard::Unexpected));
}

// RFC 7252, §5.4.1, 5.4.5, 5.7
#[test]
fn a_critical_option_that_is_not_recognised_is_rejected() {
    let mut server = end(2);
    type Build = fn(&mut Writer<'_>) -> Result<(), WriteError>;
    let cases: [(Build, Option<Code>); 7] = [
        (|w| w.option(2_049, b""), Some(Code::BAD_OPTION)),
        (|w| w.option(option::IF_MATCH, b"1"), Some(Code::BAD_OPTION)),
        (|w| w.option(option::URI_HOST, b""), Some(Code::BAD_OPTION)),
        (|w| w.uint(option::ACCEPT, 0).and(w.uint(option::ACCEPT, 1)), Some(Code::BAD_OPTION)),
        (|w| w.option(option::PROXY_URI, b"a"), Some(Code::PROXYING_NOT_SUPPORTED)),
        (|w| w.option(2_050, b""), None),
        (|w| w.path("a/b").and(w.uint(option::MAX_AGE, 1)).and(w.uint(option::ACCEPT, 0)), None),
    ];
    for (id, (build, code)) in (1u16..).zip(cases) {
        let request = with(Kind::Confirmable, Code::GET, id, b"t", build);
        let event = server.handle_message(at(0), CLIENT, &request);
        if let Some(code) = code {
            assert_eq!(event, Err(Discard::BadOption));
            let answer = header(&must_send(&mut server, at(0)));
            assert_eq!((answer.kind, answer.code), (Kind::Acknowledgement, code));
            assert_eq!((answer.message_id, answer.token), (id, Token::new(b"t")));
            let other = with(Kind::NonConfirmable, Code::GET, id + 100, b"t", build);
            assert_eq!(server.handle_message(at(0), CLIENT, &other), Err(Discard::BadOption));
            assert_eq!(sent(&mut server, at(0)), None, "silence, if it is not confirmable");
        } else {
            let Ok(Event::Request { ticket, .. }) = event else { panic!("{id}: {event:?}") };
            server.respond(at(0), ticket, Code::CONTENT, |_| Ok(())).unwrap();
            must_send(&mut server, at(0));
        }
    }
    let mut client = end(1);
    get(&mut client, at(0));
    let Header { message_id, token, .. } = header(&must_send(&mut client, at(0)));
    let kind = Kind::Acknowledgement;
    let bad = with(kind, Code::CONTENT, message_id, token.as_slice(), |w| w.option(2_049, b""));
    assert_eq!(client.handle_message(at(1), SERVER, &bad), Err(Discard::BadOption));
    assert_eq!((sent(&mut client, at(1)), client.info().requests), (None, 1));
}

#[test]
fn a_message_that_the_transport_refuses_is_offered_again() {
    let mut client = end(1);
    get(&mut client, at(0));
    let refused = client.poll_message(at(0), |_, _| Err("full"));
    assert_eq!(refused, Some(Err("full")));
    assert_eq!((sent(&mut client, at(19)), client.deadline()), (None, Some(at(20))));
    wait(&mut client);
    must_send(&mut client, at(20));
    assert_eq!((client.stats().sent, client.stats().refused), (1, 1));
    assert!(client.deadline().unwrap() >= at(2_020), "the timeout begins when it has left");
}

#[test]
fn unanswered_requests_do_not_evict_others() {
    let mut server = end(2);
    let ask = |server: &mut End, id| {
        let request = message(Kind::Confirmable, Code::GET, id, b"t");
        match server.handle_message(at(0), CLIENT, &request) {
            Ok(Event::Request { ticket, .. }) => Ok(ticket),
            other => Err(other.err()),
        }
    };
    let tickets = [1, 2].map(|id| ask(&mut server, id).unwrap());
    assert_eq!(ask(&mut server, 3), Err(Some(Discard::Busy)));
    server.respond(at(0), tickets[1], Code::CONTENT, |_| Ok(())).unwrap();
    must_send(&mut server, at(0));
    // The slot of a response that was sent is used again; the ticket is void then.
    ask(&mut server, 3).unwrap();
    assert_eq!(ask(&mut server, 4), Err(Some(Discard::Busy)));
    assert!(server.respond(at(0), tickets[1], Code::CONTENT, |_| Ok(())).is_err());
    assert!(server.respond(at(0), tickets[0], Code::CONTENT, |_| Ok(())).is_ok());
}

// RFC 7252, §5.2.3 and 4.5
#[test]
fn a_request_that_needs_no_answer_does_not_keep_others_from_being_heard() {
    let mut server = end(2);
    let mut ask = |kind, id| {
        let request = message(kind, Code::POST, id, b"t");
        match server.handle_message(at(u64::from(id)), CLIENT, &request) {
            Ok(Event::Request { ticket, .. }) => Ok(ticket),
            other => Err(other.err()),
        }
    };
    // More than there are slots for: the oldest is evicted.
    let tickets = [1, 2, 3].map(|id| ask(Kind::NonConfirmable, id).unwrap());
    // Requests that are still stored are recognised.
    assert_eq!(ask(Kind::NonConfirmable, 3), Err(Some(Discard::Duplicate)));
    ask(Kind::Confirmable, 4).unwrap();
    ask(Kind::Confirmable, 5).unwrap();
    for kind in [Kind::NonConfirmable, Kind::Confirmable] {
        assert_eq!(ask(kind, 6), Err(Some(Discard::Busy)), "an answer is promised to both");
    }
    for ticket in tickets {
        let stale = server.respond(at(9), ticket, Code::CHANGED, |_| Ok(()));
        assert_eq!(stale, Err(RespondError::Stale));
    }
    // Stored responses are evicted before requests that may get one.
    let mut server = end(2);
    let mut ask = |id| {
        let request = message(Kind::NonConfirmable, Code::POST, id, b"t");
        match server.handle_message(at(u64::from(id)), CLIENT, &request) {
            Ok(Event::Request { ticket, .. }) => ticket,
            other => panic!("{other:?}"),
        }
    };
    let [waiting, answered] = [1, 2].map(&mut ask);
    server.respond(at(2), answered, Code::CHANGED, |_| Ok(())).unwrap();
    must_send(&mut server, at(2));
    let request = message(Kind::NonConfirmable, Code::POST, 3, b"t");
    server.handle_message(at(3), CLIENT, &request).unwrap();
    server.respond(at(4), waiting, Code::CHANGED, |_| Ok(())).unwrap();
}

#[test]
fn of_two_places_that_are_free_the_one_without_a_memory_is_taken() {
    let (mut client, mut server) = (end(1), end(2));
    let response = respond_unacknowledged(&mut client, &mut server);
    client.handle_message(at(800), SERVER, &response).unwrap();
    must_send(&mut client, at(800)); // and is lost
    get(&mut client, at(900));
    must_send(&mut client, at(900));
    let again = client.handle_message(at(3_000), SERVER, &response);
    assert_eq!(again, Err(Discard::Duplicate), "it is acknowledged, not reset");
}

#[test]
fn only_what_is_well_formed_counts_as_received() {
    let mut server = end(2);
    for octets in [&b""[..], b"\x40\x01\x00\x4d\xff"] {
        assert!(server.handle_message(at(0), CLIENT, octets).is_err());
    }
    let stats = server.stats();
    let discarded: u32 = stats.reasons().map(|(_, count)| count).sum();
    assert_eq!((stats.received, discarded), (0, 2));
}

#[test]
fn the_expected_time_of_a_response_follows_the_round_trips() {
    let (mut client, mut server) = (end(1), end(2));
    assert_eq!(client.expected(), None);
    let mut exchange = |now: u64| {
        let (_, ticket) = ask(&mut client, &mut server, at(now));
        server.respond(at(now), ticket, Code::CONTENT, |_| Ok(())).unwrap();
        let response = must_send(&mut server, at(now));
        let expected = client.expected().unwrap();
        client.handle_message(at(now + 400), SERVER, &response).unwrap();
        assert_eq!(client.expected(), None);
        expected
    };
    let first = exchange(1_000);
    assert_eq!((first.since, first.from), (at(1_000), at(1_000)));
    assert!(first.until >= at(3_000) && first.until <= at(4_000));
    let mut last = first;
    for n in 2..30 {
        last = exchange(n * 10_000);
        assert!(last.from <= last.since + ms(400) && last.until > last.since + ms(400));
    }
    assert!(last.from > last.since + ms(390), "{last:?}");
    assert!(last.until < last.since + ms(920), "{last:?}");
}

// The time of a response to a non-confirmable request is the application's choice and no round
// trip.
#[test]
fn answers_to_what_is_not_confirmable_are_no_round_trips() {
    let mut client = Endpoint::new(CoapConfig { rto: Rto::Cocoa, ..CoapConfig::new(1) });
    for n in 0..20 {
        let now = at(n * 20_000);
        let delivery = Delivery::NonConfirmable;
        client.request(now, SERVER, delivery, Code::GET, |_| Ok(())).unwrap();
        let Header { message_id, token, .. } = header(&must_send(&mut client, now));
        let answer = message(Kind::NonConfirmable, Code::CONTENT, message_id, token.as_slice());
        client.handle_message(now + ms(9_000), SERVER, &answer).unwrap();
    }
    get(&mut client, at(400_000));
    must_send(&mut client, at(400_000));
    assert!(client.deadline().unwrap() <= at(403_000), "the first timeout is still 2 to 3 s");
}

// draft-ietf-core-cocoa-03, §4.2
#[test]
fn cocoa_learns_from_round_trips() {
    let mut client = Endpoint::new(CoapConfig { rto: Rto::Cocoa, ..CoapConfig::new(1) });
    let mut server = end(2);
    let mut timeout = ms(0);
    for n in 1..30 {
        let now = at(n * 1_000);
        let (_, ticket) = ask(&mut client, &mut server, now);
        timeout = client.deadline().unwrap() - now;
        server.respond(now, ticket, Code::CONTENT, |_| Ok(())).unwrap();
        let response = must_send(&mut server, now);
        client.handle_message(now + ms(100), SERVER, &response).unwrap();
    }
    assert!(timeout >= ms(100) && timeout < ms(170), "{timeout:?}");
}

#[test]
fn an_answer_counts_only_from_the_peer_that_was_asked() {
    const OTHER: u8 = 9;
    let mut client = end(1);
    let handle = get(&mut client, at(0));
    let Header { message_id, token, .. } = header(&must_send(&mut client, at(0)));
    let ack = message(Kind::Acknowledgement, Code::EMPTY, message_id, b"");
    let reset = message(Kind::Reset, Code::EMPTY, message_id, b"");
    let response = message(Kind::Acknowledgement, Code::CONTENT, message_id, token.as_slice());
    let separate = message(Kind::NonConfirmable, Code::CONTENT, 5, token.as_slice());
    for forged in [&ack, &reset, &response, &separate] {
        let due = client.deadline();
        assert_eq!(client.handle_message(at(1), OTHER, forged), Err(Discard::Unexpected));
        assert_eq!((client.deadline(), client.poll_failure()), (due, None), "nothing has changed");
    }
    let event = client.handle_message(at(1), SERVER, &response);
    assert!(matches!(event, Ok(Event::Response { handle: it, .. }) if it == handle), "{event:?}");

    // The peer of a server also acknowledges messages that the server sends on its own initiative.
    let mut server = end(2);
    let to = (CLIENT, Token::new(b"t"));
    let notify = |server: &mut End| {
        server.notify(at(0), to, Delivery::Confirmable, Code::CONTENT, |_| Ok(())).unwrap();
        header(&must_send(server, at(0))).message_id
    };
    let id = notify(&mut server);
    let ack = message(Kind::Acknowledgement, Code::EMPTY, id, b"");
    let reset = message(Kind::Reset, Code::EMPTY, id, b"");
    for forged in [&ack, &reset] {
        assert_eq!(server.handle_message(at(1), OTHER, forged), Err(Discard::Unexpected));
    }
    assert!(server.is_notifying(to) && server.poll_gone().is_none());
    server.handle_message(at(1), CLIENT, &ack).unwrap();
    assert!(!server.is_notifying(to));
}
