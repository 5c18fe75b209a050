//! Responses to group requests (RFC 7252 §8).

use crate::common::*;
use kinglet_coap::*;

#[test]
fn an_answer_at_leisure_leaves_within_it_and_not_always_at_the_same_time() {
    let mut pauses = Vec::new();
    for seed in 1..=20 {
        let mut server = end(seed);
        let request = message(Kind::NonConfirmable, Code::GET, 7, b"t");
        let Ok(Event::Request { ticket, .. }) = server.handle_message(at(0), CLIENT, &request)
        else {
            panic!("a request");
        };
        let leisure = ms(5_000);
        let written = |w: &mut Writer<'_>| w.payload(b"x");
        server.respond_at_leisure(at(0), ticket, leisure, Code::CONTENT, written).unwrap();
        assert_eq!(sent(&mut server, at(0)), None);
        let now = wait(&mut server);
        let answer = must_send(&mut server, now);
        assert_eq!(header(&answer).kind, Kind::NonConfirmable);
        assert_eq!(Message::parse(&answer).unwrap().payload, b"x");
        pauses.push((now - at(0)).as_millis());
    }
    assert!(pauses.iter().all(|pause| *pause <= 5_000), "{pauses:?}");
    let (least, most) = (pauses.iter().min().unwrap(), pauses.iter().max().unwrap());
    assert!(*least < 1_000 && *most > 4_000, "they are spread: {pauses:?}");
}
