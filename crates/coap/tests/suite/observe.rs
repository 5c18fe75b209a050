//! Notifications of a server (RFC 7641).

use crate::common::*;
use kinglet_coap::*;

/// Registers the client, and drops the first response.
fn registered(client: &mut End, server: &mut End) -> (u8, Token) {
    get(client, at(0));
    let request = must_send(client, at(0));
    let Ok(Event::Request { ticket, message }) = server.handle_message(at(0), CLIENT, &request)
    else {
        panic!("a request");
    };
    let token = message.header.token;
    server.respond(at(0), ticket, Code::CONTENT, |w| w.uint(option::OBSERVE, 1)).unwrap();
    must_send(server, at(0));
    (CLIENT, token)
}

fn notify(server: &mut End, to: (u8, Token), delivery: Delivery) -> Vec<u8> {
    let written = |w: &mut Writer<'_>| w.uint(option::OBSERVE, 2);
    server.notify(at(1), to, delivery, Code::CONTENT, written).unwrap();
    must_send(server, at(1))
}

#[test]
fn a_notification_has_the_token_of_the_request_and_a_message_id_of_its_own() {
    let (mut client, mut server) = (end(1), end(2));
    let to = registered(&mut client, &mut server);
    let octets = notify(&mut server, to, Delivery::NonConfirmable);
    let message = Message::parse(&octets).unwrap();
    assert_eq!((message.header.kind, message.header.token), (Kind::NonConfirmable, to.1));
    assert_eq!(message.uint(option::OBSERVE), Some(2));
    assert!(!server.is_notifying(to));
    assert_eq!((sent(&mut server, at(1)), server.poll_gone()), (None, None));
}

#[test]
fn a_confirmable_one_is_repeated_until_it_is_acknowledged_or_the_observer_is_gone() {
    let (mut client, mut server) = (end(1), end(2));
    let to = registered(&mut client, &mut server);
    let first = notify(&mut server, to, Delivery::Confirmable);
    assert!(server.is_notifying(to));
    let now = wait(&mut server);
    assert_eq!(must_send(&mut server, now), first);
    let ack = message(Kind::Acknowledgement, Code::EMPTY, header(&first).message_id, b"");
    server.handle_message(now, CLIENT, &ack).unwrap();
    assert!(!server.is_notifying(to));
    assert_eq!(server.poll_gone(), None);

    notify(&mut server, to, Delivery::Confirmable);
    for _ in 0..4 {
        let now = wait(&mut server);
        must_send(&mut server, now);
    }
    assert_eq!(server.poll_gone(), None);
    wait(&mut server);
    assert_eq!(server.poll_gone(), Some(to));
    assert_eq!((server.poll_gone(), server.is_notifying(to)), (None, false));
}

#[test]
fn a_reset_ends_it_also_of_what_was_not_confirmable() {
    for delivery in [Delivery::Confirmable, Delivery::NonConfirmable] {
        let (mut client, mut server) = (end(1), end(2));
        let to = registered(&mut client, &mut server);
        let octets = notify(&mut server, to, delivery);
        let reset = message(Kind::Reset, Code::EMPTY, header(&octets).message_id, b"");
        assert_eq!(server.handle_message(at(2), CLIENT, &reset), Ok(Event::Nothing));
        assert_eq!((server.poll_gone(), server.poll_gone()), (Some(to), None));
    }
}

#[test]
fn a_request_with_the_message_id_of_a_notification_is_no_repetition() {
    let (mut client, mut server) = (end(1), end(2));
    let to = registered(&mut client, &mut server);
    let number = header(&notify(&mut server, to, Delivery::NonConfirmable)).message_id;
    let request = message(Kind::Confirmable, Code::GET, number, b"t");
    let taken = server.handle_message(at(2), CLIENT, &request);
    assert!(matches!(taken, Ok(Event::Request { .. })), "{taken:?}");
}

#[test]
fn the_first_part_says_that_there_are_more() {
    let part = Part::first(100, 2);
    assert_eq!((part.range(), part.exponent()), (0..64, Some(2)));
    let part = Part::first(64, 2);
    assert_eq!((part.range(), part.exponent()), (0..64, None));
}
