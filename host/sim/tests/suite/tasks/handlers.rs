//! A handler of another crate (`coap-handler`) answers requests over the air.

use super::network::{address, commissioned, network_with_loss, settings};
use coap_handler::Handler;
use coap_handler_implementations::{
    HandlerBuilder, ReportingHandlerBuilder, SimpleRendered, new_dispatcher,
};
use kinglet::{Node, Profile};
use kinglet_apps::App;
use kinglet_apps::coap::Socket;
use kinglet_coap::{
    CoapConfig, Code, Delivery, Event, PeerEstimate, Reset, Sizes, Slot, WriteError, Writer, option,
};
use kinglet_sim::Station;
use kinglet_time::Instant;

const COAP: u16 = 5683;
/// Longer than a block.
const LONG: &str = "A text that is longer than one block of sixty-four octets, so that a client \
                    asks for its second block.";

struct Lengths;

impl Sizes for Lengths {
    type Message = [u8; 160];
    type Requests<K: Copy + Eq> = [Slot<K, Self::Message>; 1];
    type Served<K: Copy + Eq> = [Slot<K, Self::Message>; 1];
    type Peers<K: Copy + Eq> = [Option<PeerEstimate<K>>; 1];
    type Resets<K: Copy + Eq> = [Option<Reset<K>>; 1];
}

/// A server whose responses are those of a handler.
struct Server<H> {
    socket: Socket<Lengths>,
    handler: H,
}

impl<H: Handler + 'static> App for Server<H> {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        let handler = &mut self.handler;
        self.socket.poll(now, node, |endpoint, _, event| {
            if let Event::Request { ticket, message } = event {
                endpoint.respond_by(now, ticket, &message, handler).expect("room");
            }
        })
    }

    fn deadline(&self) -> Option<Instant> {
        self.socket.deadline()
    }
}

/// A request: method, path, and an option.
type Request = (Code, &'static str, Option<(u16, u32)>);

/// A client that sends these requests, one after the other.
struct Client {
    socket: Socket<Lengths>,
    requests: Vec<Request>,
    is_waiting: bool,
    responses: Vec<(Code, Vec<u8>)>,
}

fn write((_, path, option): Request, writer: &mut Writer<'_>) -> Result<(), WriteError> {
    writer.path(path)?;
    option.map_or(Ok(()), |(number, value)| writer.uint(number, value))
}

impl App for Client {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        if let Some(&request) = self.requests.first().filter(|_| !self.is_waiting) {
            let (to, build) =
                ((address(1), COAP), |writer: &mut Writer<'_>| write(request, writer));
            let sent =
                self.socket.endpoint().request(now, to, Delivery::Confirmable, request.0, build);
            sent.expect("room");
            self.is_waiting = true;
        }
        let Client { requests, is_waiting, responses, .. } = self;
        self.socket.poll(now, node, |_, _, event| {
            if let Event::Response { message, .. } = event {
                responses.push((message.header.code, message.payload.to_vec()));
                requests.remove(0);
                *is_waiting = false;
            }
        })
    }

    fn deadline(&self) -> Option<Instant> {
        self.socket.deadline()
    }
}

#[test]
fn a_handler_of_another_crate_answers_requests() {
    let handler = new_dispatcher()
        .at(&["light"], SimpleRendered("bright"))
        .at(&["long"], SimpleRendered(LONG))
        .with_wkc();
    let socket = |port| Socket::new(port, CoapConfig::new(port.into()));
    let server = Server { socket: socket(COAP), handler };
    // The second block of 64 octets (RFC 7959, section 2.2).
    let second = Some((option::BLOCK2, 1 << 4 | 2));
    let requests = vec![
        (Code::GET, "light", None),
        (Code::GET, "dark", None),
        (Code::PUT, "light", None),
        (Code::GET, "light", Some((option::ACCEPT, 60))),
        (Code::GET, "long", Some((option::BLOCK2, 2))),
        (Code::GET, "long", second),
        (Code::GET, ".well-known/core", None),
    ];
    let client = Client { socket: socket(0), requests, is_waiting: false, responses: vec![] };
    let [one, two] = [1, 2].map(|short| commissioned(settings(short)));
    let nodes =
        vec![Station::new(one, vec![Box::new(server)]), Station::new(two, vec![Box::new(client)])];
    let mut world = network_with_loss(1, nodes, 0.0);
    world.run_until(Instant::from_secs(60));
    let client: &Client = world.device(1).app(0).expect("the only one");
    let expected: [(Code, &[u8]); 7] = [
        (Code::CONTENT, b"bright"),
        (Code::NOT_FOUND, b""),
        (Code::METHOD_NOT_ALLOWED, b""),
        (Code::NOT_ACCEPTABLE, b""),
        (Code::CONTENT, &LONG.as_bytes()[..64]),
        (Code::CONTENT, &LONG.as_bytes()[64..]),
        (Code::CONTENT, b"</light>,</long>"),
    ];
    let texts: Vec<_> = client
        .responses
        .iter()
        .map(|(code, payload)| format!("{code:?} {}", String::from_utf8_lossy(payload)))
        .collect();
    assert_eq!(client.responses.len(), expected.len());
    for ((code, payload), expected) in client.responses.iter().zip(expected) {
        assert_eq!((*code, &payload[..]), expected, "{texts:?}");
    }
}
