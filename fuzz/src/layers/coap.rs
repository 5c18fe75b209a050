//! CoAP: datagrams and calls in any order.

use crate::input::Input;
use kinglet_coap::{
    CoapConfig, Code, Delivery, Download, Endpoint, Event, Part, PeerEstimate, Reception, Reset,
    Rto, Sizes, Slot, Token, Upload, option,
};
use kinglet_time::Instant;

struct Plan;

impl Sizes for Plan {
    type Message = [u8; 96];
    type Requests<K: Copy + Eq> = [Slot<K, [u8; 96]>; 2];
    type Served<K: Copy + Eq> = [Slot<K, [u8; 96]>; 2];
    type Peers<K: Copy + Eq> = [Option<PeerEstimate<K>>; 1];
    type Resets<K: Copy + Eq> = [Option<Reset<K>>; 1];
}

/// CoAP: every request ends at most once, and draining ends.
pub fn coap_messages(data: &[u8]) {
    let mut input = Input::new(data);
    let Some(setup) = input.octet() else { return };
    let rto = [Rto::Plain, Rto::Cocoa, Rto::CocoaAsMeasured][usize::from(setup % 3)];
    let config = CoapConfig { rto, nstart: setup >> 6, ..CoapConfig::new(u64::from(setup)) };
    let mut end: Endpoint<u8, Plan> = Endpoint::new(config);
    let (mut download, mut upload) = (Download::new(setup >> 2 & 7), Upload::new(500, 2));
    let mut reception = Reception::NEW;
    let (mut ticket, mut handle) = (None, None);
    let mut token = Token::EMPTY;
    let (mut asked, mut ended) = (0, 0);
    while let Some(call) = input.octet() {
        let now = input.now();
        let peer = call >> 7;
        match call % 8 {
            0 => {
                input.later();
            }
            1 => {
                let delivery =
                    if call & 8 == 0 { Delivery::Confirmable } else { Delivery::NonConfirmable };
                let made = end.request(now, peer, delivery, Code::GET, |w| download.write(w));
                asked += u32::from(made.is_ok());
                handle = made.ok().or(handle);
            }
            2 if call & 8 != 0 => {
                let delivery =
                    if call & 16 == 0 { Delivery::Confirmable } else { Delivery::NonConfirmable };
                let number = u32::from(input.octet().unwrap_or(0));
                let _ = end.notify(now, (peer, token), delivery, Code::CONTENT, |w| {
                    w.uint(option::OBSERVE, number)?;
                    Part::first(500, 2).write(w)
                });
            }
            2 => {
                if let Some(ticket) = ticket {
                    let body = input.octets();
                    let _ = end.respond(now, ticket, Code::CONTENT, |w| w.payload(body));
                }
            }
            3 => {
                if let Some(handle) = handle {
                    end.cancel(handle);
                }
            }
            4 => {
                if let Some(at) = end.deadline() {
                    end.handle_deadline(input.skip_to(at));
                }
            }
            _ => match end.handle_message(now, peer, input.octets()) {
                Ok(Event::Request { ticket: new, message }) => {
                    (ticket, token) = (Some(new), message.header.token);
                    let _ = reception.handle(peer, &message, 1_000, 2);
                }
                Ok(Event::Response { message, .. }) => {
                    ended += 1;
                    let _ = (download.handle(&message), upload.handle(&message));
                }
                _ => {}
            },
        }
        drain(&mut end, input.now());
        while end.poll_failure().is_some() {
            ended += 1;
        }
        assert!(ended <= asked);
        while end.poll_gone().is_some() {}
    }
}

/// Drains all output, which must end.
fn drain(end: &mut Endpoint<u8, Plan>, now: Instant) {
    let mut outputs = 0;
    let taken = |octets: &[u8]| if octets.len() < 4 { Err(()) } else { Ok(()) };
    while end.poll_message(now, |_, octets| taken(octets)).is_some() {
        outputs += 1;
    }
    // A message and an acknowledgement of each exchange, and a Reset.
    assert!(outputs <= 2 * (2 + 2) + 1);
}
