//! Limits on the octets that a server sends to an address that is not proven (RFC 7252 §11.3, RFC
//! 9175 §2.4).

use crate::common::*;
use kinglet_coap::*;

/// The headers of IPv6 and UDP.
const HEADERS: usize = 48;

fn ask(server: &mut End, now_ms: u64, octets: &[u8]) -> Option<Ticket> {
    match server.handle_message(at(now_ms), CLIENT, octets) {
        Ok(Event::Request { ticket, .. }) => Some(ticket),
        _ => None,
    }
}

fn request(kind: Kind, id: u16, echo: Option<&[u8]>) -> Vec<u8> {
    with(kind, Code::GET, id, b"t", |w| {
        w.path("a")?;
        echo.map_or(Ok(()), |echo| w.option(option::ECHO, echo))
    })
}

fn respond(server: &mut End, now_ms: u64, ticket: Ticket, len: usize) -> Result<(), RespondError> {
    server.respond(at(now_ms), ticket, Code::CONTENT, |w| w.payload(&[b'x'; 99][..len]))
}

/// Returns the octets that the server sends until nothing is due any more.
fn all_sent(server: &mut End, mut now_ms: u64) -> usize {
    let mut octets = 0;
    for _ in 0..50 {
        while let Some((_, message)) = sent(server, at(now_ms)) {
            octets += HEADERS + message.len();
        }
        let Some(due) = server.deadline() else { break };
        now_ms = (due - at(0)).as_millis();
        server.handle_deadline(due);
    }
    octets
}

#[test]
fn no_request_of_an_unproven_peer_gets_more_than_three_times_its_octets() {
    for kind in [Kind::Confirmable, Kind::NonConfirmable] {
        for late in [false, true] {
            let mut longest = 0;
            for len in 1..=99 {
                let mut server = end(2);
                let octets = request(kind, 1, None);
                let ticket = ask(&mut server, 0, &octets).unwrap();
                let mut total = 0;
                if late && kind == Kind::Confirmable {
                    // The acknowledgement is sent before the response is available.
                    let due = wait(&mut server);
                    total += HEADERS + must_send(&mut server, due).len();
                }
                if respond(&mut server, 600, ticket, len).is_ok() {
                    longest = len;
                } else {
                    server.challenge(at(600), ticket).unwrap();
                }
                total += all_sent(&mut server, 600);
                let limit = 3 * (HEADERS + octets.len());
                assert!(total <= limit, "{kind:?}, {len}: {total} octets for {}", octets.len());
            }
            let acked = late && kind == Kind::Confirmable;
            assert_eq!(longest, if acked { 63 - 4 } else { 99 }, "{kind:?}, {late}");
        }
    }
}

#[test]
fn a_peer_that_echoes_is_proven_until_its_exchanges_are_forgotten() {
    let mut server = end(2);
    let octets = message(Kind::Confirmable, Code::GET, 1, b"");
    let ticket = ask(&mut server, 0, &octets).unwrap();
    assert!(!server.is_proven(ticket));
    assert_eq!(respond(&mut server, 0, ticket, 99), Ok(()), "99 and 57 octets, for 52");
    must_send(&mut server, at(0));
    let long = |server: &mut End, now_ms, ticket| {
        server.respond(at(now_ms), ticket, Code::CONTENT, |w| w.payload(&[b'x'; 120]))
    };
    let ticket = ask(&mut server, 1, &message(Kind::Confirmable, Code::GET, 3, b"")).unwrap();
    assert_eq!(long(&mut server, 1, ticket), Err(RespondError::Unproven));
    server.challenge(at(1), ticket).unwrap();
    let challenge = must_send(&mut server, at(1));
    let said = Message::parse(&challenge).unwrap();
    assert_eq!((said.header.kind, said.header.code), (Kind::Acknowledgement, Code::UNAUTHORIZED));
    let echo: Vec<u8> = said.values(option::ECHO).next().unwrap().to_vec();
    assert_eq!(echo.len(), 8);
    // With the option once, and then without it.
    for (id, with_echo) in [(4, true), (5, false)] {
        let octets = request(Kind::Confirmable, id, Some(&echo[..]).filter(|_| with_echo));
        let ticket = ask(&mut server, 2, &octets).unwrap();
        assert!(server.is_proven(ticket));
        assert_eq!(long(&mut server, 2, ticket), Ok(()));
        must_send(&mut server, at(2));
    }
    let octets = request(Kind::NonConfirmable, 6, None);
    let other = server.handle_message(at(2), 9, &octets);
    assert!(matches!(other, Ok(Event::Request { ticket, .. }) if !server.is_proven(ticket)));
    server.handle_deadline(at(200_000));
    // The exchanges have ended, and with them the proof.
    while server.info().kept > 0 {
        wait(&mut server);
    }
    let ticket = ask(&mut server, 300_000, &octets).unwrap();
    assert!(!server.is_proven(ticket));
}

#[test]
fn a_ticket_of_an_ended_exchange_is_neither_proven_nor_challenged() {
    let mut server = end(2);
    let octets = message(Kind::NonConfirmable, Code::GET, 1, b"");
    let old = ask(&mut server, 0, &octets).unwrap();
    server.challenge(at(0), old).unwrap();
    let challenge = must_send(&mut server, at(0));
    let echo = Message::parse(&challenge).unwrap().values(option::ECHO).next().unwrap().to_vec();
    while server.info().kept > 0 {
        wait(&mut server);
    }
    // Its slot has a proven exchange.
    let now_ms = 200_000;
    assert!(!server.is_proven(old));
    let octets = request(Kind::NonConfirmable, 7, Some(&echo));
    let new = ask(&mut server, now_ms, &octets).unwrap();
    assert!(server.is_proven(new) && !server.is_proven(old));
    assert_eq!(server.challenge(at(now_ms), old), Err(RespondError::Stale));
    assert_eq!(respond(&mut server, now_ms, new, 9), Ok(()));
}

#[test]
fn an_echo_is_good_for_its_peer_and_its_time() {
    let echo_of = |server: &mut End, peer| {
        let octets = message(Kind::NonConfirmable, Code::GET, 1, b"");
        let Ok(Event::Request { ticket, .. }) = server.handle_message(at(0), peer, &octets) else {
            panic!("a request")
        };
        server.challenge(at(0), ticket).unwrap();
        let octets = must_send(server, at(0));
        Message::parse(&octets).unwrap().values(option::ECHO).next().unwrap().to_vec()
    };
    let echo = echo_of(&mut end(2), CLIENT);
    let proven = |seed, peer, now_ms, echo: &[u8]| {
        let (mut server, octets) = (end(seed), request(Kind::Confirmable, 7, Some(echo)));
        let Ok(Event::Request { ticket, .. }) = server.handle_message(at(now_ms), peer, &octets)
        else {
            panic!("a request")
        };
        server.is_proven(ticket)
    };
    assert!(proven(2, CLIENT, 0, &echo) && proven(2, CLIENT, 268_000, &echo));
    assert!(!proven(2, CLIENT, 269_000, &echo), "too old");
    assert!(!proven(2, 9, 0, &echo), "another peer's");
    assert!(!proven(3, CLIENT, 0, &echo), "another server's");
    assert!(!proven(2, CLIENT, 0, &echo[..7]) && !proven(2, CLIENT, 0, &[0; 8]));
    assert!(proven(2, 9, 0, &echo_of(&mut end(2), 9)));
}

#[test]
fn short_repetitions_of_a_long_request_do_not_get_its_response_for_ever() {
    let mut server = end(2);
    let long = with(Kind::Confirmable, Code::GET, 1, b"", |w| w.payload(&[0; 60]));
    let ticket = ask(&mut server, 0, &long).unwrap();
    server.respond(at(0), ticket, Code::CONTENT, |w| w.payload(&[b'x'; 120])).unwrap();
    let mut out = HEADERS + must_send(&mut server, at(0)).len();
    let mut taken = HEADERS + long.len();
    let short = message(Kind::Confirmable, Code::GET, 1, b"");
    for now_ms in 1..100 {
        assert_eq!(ask(&mut server, now_ms, &short), None);
        taken += HEADERS + short.len();
        out += sent(&mut server, at(now_ms)).map_or(0, |(_, octets)| HEADERS + octets.len());
        assert!(out <= 3 * taken, "{out} octets for {taken}");
    }
    assert!(out > 2 * taken, "the repetitions are answered: {out} octets for {taken}");
}
