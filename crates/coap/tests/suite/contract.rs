//! CoAP keeps the contract of a layer, with any datagrams and any order of calls.

use crate::common::*;
use kinglet_coap::*;
use kinglet_testkit::contract::{Subject, check};
use kinglet_time::{Duration, Instant};
use rand_core::Rng;
use rand_pcg::Pcg32;

struct Both {
    end: End,
    handle: Option<Handle>,
    ticket: Option<Ticket>,
    /// The last sent message, for datagrams that match it.
    last: Vec<u8>,
}

/// Slots for requests, for served ones, and for Resets.
const TABLES: (usize, usize, usize) = (3, 2, 2);

impl Both {
    fn take(&mut self, now: Instant, peer: u8, octets: &[u8]) -> String {
        let event = self.end.handle_message(now, peer, octets);
        if let Ok(Event::Request { ticket, .. }) = event {
            self.ticket = Some(ticket);
        }
        format!("{event:?}")
    }

    fn send(&mut self, now: Instant, peer: u8, delivery: Delivery) -> bool {
        // Some register as observers.
        let observes = now.as_micros() & 4 == 0;
        let sent = self.end.request(now, peer, delivery, Code::PUT, |w| {
            if observes {
                w.uint(option::OBSERVE, 0)?;
            }
            w.payload(&[7; 20])
        });
        self.handle = sent.ok().or(self.handle);
        sent.is_ok()
    }
}

/// Returns an answer to `last` with a random code, a request with one of few message IDs, or noise.
fn some_datagram(random: &mut Pcg32, last: &[u8]) -> Vec<u8> {
    let dice = random.next_u32();
    let kinds =
        [Kind::Confirmable, Kind::NonConfirmable, Kind::Acknowledgement, Kind::Reset, Kind::Reset];
    let codes = [Code::EMPTY, Code::GET, Code::CONTENT, Code::CONTINUE, Code(0x20), Code::PUT];
    let kind = kinds[(dice >> 8) as usize % kinds.len()];
    let code = codes[(dice >> 16) as usize % codes.len()];
    match (dice & 3, Message::parse(last)) {
        (0, _) => {
            let mut noise = vec![0; (dice >> 24) as usize % 40];
            random.fill_bytes(&mut noise);
            noise
        }
        (1, Ok(Message { header, .. })) if code == Code::EMPTY => {
            message(kind, code, header.message_id, b"")
        }
        (1, Ok(Message { header, .. })) => {
            message(kind, code, header.message_id, header.token.as_slice())
        }
        (2, Ok(Message { header, .. })) if code != Code::EMPTY => {
            message(kind, code, (dice >> 28) as u16, header.token.as_slice())
        }
        (3, Ok(Message { header, .. })) if dice & 0x30 == 0 => {
            let (id, token) = ((dice >> 28) as u16, header.token);
            with(kind, Code::CONTENT, id, token.as_slice(), |w| w.uint(option::OBSERVE, dice >> 9))
        }
        _ => with(kind, Code::GET, (dice >> 29) as u16, b"", |w| w.path("a")),
    }
}

impl Subject for Both {
    /// Each exchange may have an acknowledgement and a message to send, and each failure is
    /// reported.
    const DRAIN_BOUND: usize = 3 * (TABLES.0 + TABLES.1) + TABLES.2;

    fn fresh(seed: u64) -> Self {
        let rto = [Rto::Plain, Rto::Cocoa, Rto::CocoaAsMeasured][seed as usize % 3];
        let config = CoapConfig {
            rto,
            ack_timeout: Duration::from_millis(seed % 4 * 700),
            max_retransmit: (seed % 6) as u8,
            nstart: (seed % 4) as u8,
            ack_delay: Duration::from_millis(seed % 5 * 400),
            response_timeout: Duration::from_secs(seed % 7 * 5),
            lifetimes: (
                Duration::from_secs(1 + seed % 9 * 9),
                Duration::from_secs(1 + seed % 5 * 9),
            ),
            ..CoapConfig::new(seed)
        };
        let end = Endpoint::new(config);
        Both { end, handle: None, ticket: None, last: Vec::new() }
    }

    fn operate(&mut self, now: Instant, random: &mut Pcg32) -> String {
        let dice = random.next_u32();
        // Mostly the same one of three: there are more peers than estimates.
        let peer = [SERVER, SERVER, CLIENT, 9][(dice >> 4 & 3) as usize];
        match dice & 15 {
            0 | 1 => format!("request {}", self.send(now, peer, Delivery::Confirmable)),
            2 => format!("request {}", self.send(now, peer, Delivery::NonConfirmable)),
            3 => {
                if let Some(handle) = self.handle {
                    self.end.cancel(handle);
                }
                "cancel".to_owned()
            }
            4 | 5 => {
                let Some(ticket) = self.ticket else { return String::new() };
                let len = (dice >> 8) as usize % 200;
                let body = vec![1; len];
                let result = self.end.respond(now, ticket, Code::CONTENT, |w| w.payload(&body));
                format!("respond {result:?}")
            }
            6 => {
                let Some(ticket) = self.ticket else { return String::new() };
                let leisure = Duration::from_millis(u64::from(dice >> 8) % 6_000);
                let code = Code::CONTENT;
                let result = self.end.respond_at_leisure(now, ticket, leisure, code, |_| Ok(()));
                format!("respond within {leisure:?} {result:?}")
            }
            7 => {
                let kinds = [Delivery::Confirmable, Delivery::NonConfirmable];
                let (to, kind) = ((peer, Token::new(b"t")), kinds[(dice >> 8 & 1) as usize]);
                let waits = self.end.is_notifying(to);
                let result = self.end.notify(now, to, kind, Code::CONTENT, |w| w.payload(b"1"));
                assert!(result.is_err() || self.end.is_notifying(to));
                format!("notify {waits} {result:?}")
            }
            _ => {
                let octets = some_datagram(random, &self.last);
                self.take(now, peer, &octets)
            }
        }
    }

    fn poll(&mut self, now: Instant) -> Option<String> {
        if let Some(failure) = self.end.poll_failure() {
            return Some(format!("{failure:?}"));
        }
        if let Some(gone) = self.end.poll_gone() {
            return Some(format!("gone {gone:?}"));
        }
        let (_, octets) = sent(&mut self.end, now)?;
        let text = format!("{octets:02x?}");
        self.last = octets;
        Some(text)
    }

    fn deadline(&self) -> Option<Instant> {
        self.end.deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.end.handle_deadline(now);
    }

    fn observe(&self) -> String {
        format!("{:?} {:?} {:?}", self.end.info(), self.end.stats(), self.end.expected())
    }

    fn refuse(&mut self, now: Instant) -> bool {
        self.end.poll_message(now, |_, _| Err(())).is_some()
    }

    fn owed(&self) -> usize {
        let info = self.end.info();
        info.requests + info.serving + info.resets
    }

    fn occupancy(&self) -> Vec<(usize, usize)> {
        let info = self.end.info();
        vec![
            (info.requests, TABLES.0),
            (info.serving + info.kept, TABLES.1),
            (info.resets, TABLES.2),
        ]
    }

    /// Requests of this end.
    fn offer_data(&mut self, now: Instant) -> Option<bool> {
        Some(self.send(now, SERVER, Delivery::Confirmable))
    }

    /// A request of a peer while none is being served.
    fn offer_control(&mut self, now: Instant) -> Option<bool> {
        let request = message(Kind::Confirmable, Code::GET, 9, b"t");
        Some(self.end.handle_message(now, SERVER, &request).is_ok())
    }
}

#[test]
fn coap_keeps_the_laws() {
    check::<Both>(0..60, 250);
}
