//! A client that observes (RFC 7641 §3).

use crate::common::*;
use kinglet_coap::*;

/// Returns a client whose request with this Observe option was sent: its handle and message.
fn asked(observe: u32) -> (End, Handle, Header) {
    let mut client = end(1);
    let handle = client.request(at(0), SERVER, Delivery::Confirmable, Code::GET, |w| {
        w.uint(option::OBSERVE, observe)?;
        w.path("a")
    });
    let request = header(&must_send(&mut client, at(0)));
    (client, handle.expect("room"), request)
}

fn notification(kind: Kind, code: Code, id: u16, token: Token, number: Option<u32>) -> Vec<u8> {
    with(kind, code, id, token.as_slice(), |w| match number {
        Some(number) => w.uint(option::OBSERVE, number),
        None => Ok(()),
    })
}

fn is_answer(client: &mut End, now: u64, octets: &[u8], expected: Handle) -> bool {
    let event = client.handle_message(at(now), SERVER, octets);
    matches!(event, Ok(Event::Response { handle, .. }) if handle == expected)
}

#[test]
fn an_observer_gets_further_responses_and_acknowledges_confirmable_ones() {
    let (con, non, ack) = (Kind::Confirmable, Kind::NonConfirmable, Kind::Acknowledgement);
    let (mut client, handle, Header { token, message_id, .. }) = asked(0);
    let first = notification(ack, Code::CONTENT, message_id, token, Some(1));
    assert!(is_answer(&mut client, 50, &first, handle));
    assert_eq!((client.deadline(), sent(&mut client, at(50))), (None, None), "it rests");
    // Also a notification that happens to have the ID of the request.
    for (id, kind) in [(message_id, non), (7, con), (8, non)] {
        let next = notification(kind, Code::CONTENT, id, token, Some(2));
        assert!(is_answer(&mut client, 9_000, &next, handle), "{id}");
        let answered = sent(&mut client, at(9_000)).map(|(_, octets)| header(&octets));
        assert_eq!(answered.is_some_and(|it| it.kind == ack && it.message_id == 7), kind == con);
        // It is repeated.
        let event = client.handle_message(at(9_010), SERVER, &next);
        assert_eq!(event, Err(Discard::Duplicate));
        assert_eq!(sent(&mut client, at(9_010)).is_some(), kind == con);
    }
    // Its slot is not evicted, and messages of other peers do not count.
    get(&mut client, at(9_100));
    get(&mut client, at(9_100));
    let more = client.request(at(9_100), SERVER, Delivery::Confirmable, Code::GET, |_| Ok(()));
    assert_eq!(more, Err(RequestError::TableFull));
    let next = notification(non, Code::CONTENT, 9, token, Some(3));
    assert!(client.handle_message(at(9_200), CLIENT, &next).is_err());
    assert!(is_answer(&mut client, 9_200, &next, handle));
}

#[test]
fn an_observation_ends_when_the_server_or_the_client_says_so() {
    let (con, ack) = (Kind::Confirmable, Kind::Acknowledgement);
    for (wish, code, number, goes_on) in [
        (0, Code::CONTENT, Some(1), true),
        (0, Code::CONTENT, None, false),
        (0, Code::NOT_FOUND, Some(1), false),
        (1, Code::CONTENT, Some(1), false),
    ] {
        let (mut client, handle, Header { token, message_id, .. }) = asked(wish);
        let first = notification(ack, code, message_id, token, number);
        assert!(is_answer(&mut client, 50, &first, handle));
        let next = notification(con, Code::CONTENT, 7, token, Some(2));
        assert_eq!(is_answer(&mut client, 9_000, &next, handle), goes_on);
        let answer = if goes_on { ack } else { Kind::Reset };
        assert_eq!(header(&must_send(&mut client, at(9_000))).kind, answer);
        client.cancel(handle);
        let last = notification(con, Code::CONTENT, 8, token, Some(3));
        assert!(!is_answer(&mut client, 9_500, &last, handle));
        assert_eq!(header(&must_send(&mut client, at(9_500))).kind, Kind::Reset);
    }
}

#[test]
fn a_late_notification_is_not_the_newest() {
    let mut newest = Newest::NONE;
    let half = 1 << 23;
    for (seconds, number, is_newer) in [
        (0, Some(5), true),
        (1, Some(5), false),
        (1, Some(4), false),
        (1, Some(6), true),
        (2, Some(6 + half), false),
        (2, Some(5 + half), true),
        (3, Some(3), true),
        (3, Some(5 + half), false),
        (131, Some(2), false),
        (132, Some(2), true),
        (133, None, true),
        (134, Some(3), true),
    ] {
        let token = Token::new(b"t");
        let octets = notification(Kind::NonConfirmable, Code::CONTENT, 1, token, number);
        let message = Message::parse(&octets).expect("well formed");
        assert_eq!(newest.take(at(seconds * 1_000), &message), is_newer, "{seconds} {number:?}");
    }
}

#[test]
fn four_octets_are_no_number_of_a_notification() {
    for (value, goes_on) in [(&[0, 0, 1][..], true), (&[0, 0, 0, 1], false)] {
        let mut client = end(1);
        let register = |w: &mut Writer<'_>| w.uint(option::OBSERVE, 0);
        client.request(at(0), SERVER, Delivery::Confirmable, Code::GET, register).unwrap();
        let Header { message_id, token, .. } = header(&must_send(&mut client, at(0)));
        let (kind, token) = (Kind::Acknowledgement, token.as_slice());
        let said = |w: &mut Writer<'_>| w.option(option::OBSERVE, value);
        let first = with(kind, Code::CONTENT, message_id, token, said);
        assert!(matches!(client.handle_message(at(1), SERVER, &first), Ok(Event::Response { .. })));
        let next = with(Kind::NonConfirmable, Code::CONTENT, 77, token, said);
        assert_eq!(client.handle_message(at(2), SERVER, &next).is_ok(), goes_on, "{value:?}");
        // A response with such a number counts as one without a number, which is always newer.
        let octets = with(Kind::NonConfirmable, Code::CONTENT, 78, token, said);
        let mut newest = Newest::NONE;
        let taken = [1, 2].map(|_| newest.take(at(3), &Message::parse(&octets).unwrap()));
        assert_eq!(taken, [true, !goes_on]);
    }
}
