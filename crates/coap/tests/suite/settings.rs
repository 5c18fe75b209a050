//! Every transmission parameter (RFC 7252 §4.8) has its documented effect.

use crate::common::*;
use kinglet_coap::*;
use kinglet_time::Instant;

fn with_config(change: impl FnOnce(&mut CoapConfig)) -> End {
    let mut config = CoapConfig::new(1);
    change(&mut config);
    Endpoint::new(config)
}

/// Returns the times of the retransmissions of a request, and of its timeout.
fn timeouts(client: &mut End) -> Vec<u64> {
    get(client, at(0));
    must_send(client, at(0));
    let mut times = Vec::new();
    while client.deadline().is_some() {
        let now = wait(client);
        times.push(now.as_millis());
        sent(client, now);
    }
    assert!(client.poll_failure().is_some());
    times
}

/// Returns the ticket of a request that a server has just received, confirmable or not.
fn asked(server: &mut End, kind: Kind) -> Ticket {
    let request = message(kind, Code::GET, 7, b"t");
    match server.handle_message(at(0), CLIENT, &request) {
        Ok(Event::Request { ticket, .. }) => ticket,
        other => panic!("{other:?}"),
    }
}

#[test]
fn ack_timeout_is_the_least_time_to_the_first_retransmission() {
    let times = timeouts(&mut with_config(|config| config.ack_timeout = ms(10_000)));
    assert!((10_000..=15_000).contains(&times[0]), "{times:?}");
}

#[test]
fn max_retransmit_is_how_often_a_message_is_sent_again() {
    for most in [0, 1, 6] {
        let times = timeouts(&mut with_config(|config| config.max_retransmit = most));
        // The last one is the timeout.
        assert_eq!(times.len(), usize::from(most) + 1);
    }
}

#[test]
fn nstart_is_the_number_of_pending_requests_to_a_peer() {
    for most in [1, 2, 3] {
        let mut client = with_config(|config| config.nstart = most);
        for _ in 0..3 {
            get(&mut client, at(0));
        }
        let pending = (0..4).take_while(|_| sent(&mut client, at(0)).is_some()).count();
        assert_eq!(pending, usize::from(most));
    }
}

#[test]
fn ack_delay_is_how_long_the_application_may_take() {
    let mut server = with_config(|config| config.ack_delay = ms(90));
    asked(&mut server, Kind::Confirmable);
    assert_eq!(wait(&mut server), at(90));
    assert_eq!(must_send(&mut server, at(90)), message(Kind::Acknowledgement, Code::EMPTY, 7, b""));
}

#[test]
fn response_timeout_is_how_long_an_acknowledged_request_waits() {
    let mut client = with_config(|config| config.response_timeout = ms(4_000));
    let handle = get(&mut client, at(0));
    let id = header(&must_send(&mut client, at(0))).message_id;
    let ack = message(Kind::Acknowledgement, Code::EMPTY, id, b"");
    client.handle_message(at(300), SERVER, &ack).unwrap();
    assert_eq!(wait(&mut client), at(4_300));
    assert_eq!(client.poll_failure(), Some((handle, Failure::TimedOut)));
}

/// Returns the time from which the repetition of a request counts as a new one.
fn forgotten(kind: Kind) -> Instant {
    let mut server = with_config(|config| config.lifetimes = (ms(30_000), ms(20_000)));
    let ticket = asked(&mut server, kind);
    server.respond(at(0), ticket, Code::CONTENT, |_| Ok(())).unwrap();
    must_send(&mut server, at(0));
    wait(&mut server)
}

#[test]
fn lifetimes_are_how_long_a_request_is_remembered() {
    assert_eq!(forgotten(Kind::Confirmable), at(30_000));
    assert_eq!(forgotten(Kind::NonConfirmable), at(20_000));
}

#[test]
fn the_seed_decides_message_ids_tokens_and_dithering() {
    let first = |seed| {
        let mut client = end(seed);
        get(&mut client, at(0));
        let Header { message_id, token, .. } = header(&must_send(&mut client, at(0)));
        (message_id, token, client.deadline())
    };
    assert_eq!(first(1), first(1));
    let ((id, token, due), (other_id, other_token, other_due)) = (first(1), first(2));
    assert!(id != other_id && token != other_token && due != other_due);
}
