//! Cost of datagrams and CoAP in addition to their frames: a body of five frames in one direction
//! and a response of one frame, by UDP alone and as a request with its response.

use crate::LONGEST;
use crate::station::{Station, settle};
use crate::transfer::{FRAMES, per, report_count};
use cortex_m::singleton;
use kinglet::net::UdpHandle;
use kinglet::time::{Duration, Instant};
use kinglet::{Mote, Node};
use kinglet_apps::coap::{PORT, Socket};
use kinglet_apps::udp::MAX_DATAGRAM;
use kinglet_coap::{Code, Delivery, Event, PeerEstimate, Reset, Sizes, Slot, Ticket};
use kinglet_firmware::app::{RECEIVER, RECEIVER_ADDRESS, SENDER};
use kinglet_firmware::coap;

/// Warm-up exchanges, and exchanges that count.
const WARM_UP: u32 = 4;
const EXCHANGES: u32 = 100;
/// Header, token, path and payload marker: with them a request is as long as a datagram.
const COAP_OCTETS: usize = 4 + 4 + 8 + 1;
/// As long as the payload of a segment.
const PAYLOAD: usize = LONGEST;
static BODY: [u8; PAYLOAD] = [0x5a; PAYLOAD];
/// As long as a response without payload.
static ANSWER: [u8; 8] = [0x5a; 8];

struct Plan;

impl Sizes for Plan {
    type Message = [u8; PAYLOAD];
    type Requests<K: Copy + Eq> = [Slot<K, Self::Message>; 1];
    type Served<K: Copy + Eq> = [Slot<K, Self::Message>; 2];
    type Peers<K: Copy + Eq> = [Option<PeerEstimate<K>>; 1];
    type Resets<K: Copy + Eq> = [Option<Reset<K>>; 1];
}

/// Ticks of the steps of exchanges: the client sends, the server receives, the server responds, the
/// client receives.
type Steps = [u32; 4];

/// An exchange of a body for a response. Each step works at one end, before or after the frames are
/// carried.
trait Exchange {
    fn ask(&mut self, now: Instant, client: &mut Node<Mote>) -> Option<()>;
    fn take(&mut self, now: Instant, server: &mut Node<Mote>) -> Option<()>;
    fn answer(&mut self, now: Instant, server: &mut Node<Mote>) -> Option<()>;
    fn end(&mut self, now: Instant, client: &mut Node<Mote>) -> Option<()>;
}

struct Udp<'a> {
    client: UdpHandle,
    server: UdpHandle,
    peer: Option<(core::net::Ipv6Addr, u16)>,
    datagram: &'a mut [u8],
}

impl Exchange for Udp<'_> {
    fn ask(&mut self, now: Instant, client: &mut Node<Mote>) -> Option<()> {
        client.datagrams().send(now, self.client, RECEIVER_ADDRESS, PORT, &BODY).ok()
    }

    fn take(&mut self, _: Instant, server: &mut Node<Mote>) -> Option<()> {
        let received = server.datagrams().recv(self.server, self.datagram).ok()??;
        self.peer = Some((received.src, received.src_port));
        (received.len == BODY.len()).then_some(())
    }

    fn answer(&mut self, now: Instant, server: &mut Node<Mote>) -> Option<()> {
        let (address, port) = self.peer.take()?;
        server.datagrams().send(now, self.server, address, port, &ANSWER).ok()
    }

    fn end(&mut self, _: Instant, client: &mut Node<Mote>) -> Option<()> {
        let received = client.datagrams().recv(self.client, self.datagram).ok()??;
        (received.len == ANSWER.len()).then_some(())
    }
}

struct CoapExchange<'a> {
    client: &'a mut Socket<Plan>,
    server: &'a mut Socket<Plan>,
    ticket: Option<Ticket>,
}

impl Exchange for CoapExchange<'_> {
    fn ask(&mut self, now: Instant, client: &mut Node<Mote>) -> Option<()> {
        let peer = (RECEIVER_ADDRESS, PORT);
        let sent = self.client.endpoint().request(
            now,
            peer,
            Delivery::Confirmable,
            Code::POST,
            |request| {
                request.path("reading")?;
                request.payload(BODY.get(COAP_OCTETS..).unwrap_or_default())
            },
        );
        self.client.poll(now, client, |_, _, _| ());
        sent.ok().map(|_| ())
    }

    fn take(&mut self, now: Instant, server: &mut Node<Mote>) -> Option<()> {
        let ticket = &mut self.ticket;
        self.server.poll(now, server, |_, _, event| {
            if let Event::Request { ticket: new, message } = event
                && message.payload.len() == BODY.len() - COAP_OCTETS
            {
                *ticket = Some(new);
            }
        });
        self.ticket.as_ref().map(|_| ())
    }

    fn answer(&mut self, now: Instant, server: &mut Node<Mote>) -> Option<()> {
        let ticket = self.ticket.take()?;
        let answered = self.server.endpoint().respond(now, ticket, Code::CHANGED, |_| Ok(()));
        self.server.poll(now, server, |_, _, _| ());
        answered.ok()
    }

    fn end(&mut self, now: Instant, client: &mut Node<Mote>) -> Option<()> {
        let mut answered = None;
        self.client.poll(now, client, |_, _, event| {
            if let Event::Response { .. } = event {
                answered = Some(());
            }
        });
        answered
    }
}

/// Cost of the steps of many exchanges.
fn steps(
    now: &mut Instant,
    (server, client): (&mut Station<'_>, &mut Station<'_>),
    exchange: &mut impl Exchange,
) -> Option<Steps> {
    let mut sum = [0; 4];
    for round in 0..WARM_UP + EXCHANGES {
        if round == WARM_UP {
            sum = [0; 4];
        }
        server.restart();
        client.restart();
        client.timed(|node| exchange.ask(*now, node))?;
        settle(*now, client, server);
        server.timed(|node| exchange.take(*now, node))?;
        let there = [client.ticks, server.ticks];
        server.timed(|node| exchange.answer(*now, node))?;
        settle(*now, server, client);
        client.timed(|node| exchange.end(*now, node))?;
        let back = [server.ticks - there[1], client.ticks - there[0]];
        if (client.frames, server.frames) != (FRAMES, 1) {
            return None;
        }
        for (sum, ticks) in sum.iter_mut().zip(there.into_iter().chain(back)) {
            *sum += ticks;
        }
        *now += Duration::from_millis(40);
        for node in [&mut *client.node, &mut *server.node] {
            if node.deadline().is_some_and(|at| at <= *now) {
                node.handle_deadline(*now);
            }
        }
    }
    Some(sum)
}

/// Measures and reports: the cost of a datagram in addition to its frames, as the mean of body and
/// response; and the cost of a request and its response in addition to their datagrams.
pub fn measure(
    mut now: Instant,
    (server, client): (&mut Station<'_>, &mut Station<'_>),
    frame_received: u32,
    frame_sent: u32,
) -> Result<(), &'static str> {
    let bind = "cannot bind";
    let datagram = singleton!(: [u8; MAX_DATAGRAM] = [0; MAX_DATAGRAM]).ok_or("run twice")?;
    let to = server.node.datagrams().bind(PORT).map_err(|_| bind)?;
    let from = client.node.datagrams().bind(0).map_err(|_| bind)?;
    let mut udp = Udp { client: from, server: to, peer: None, datagram };
    let ends = (&mut *server, &mut *client);
    let alone =
        steps(&mut now, ends, &mut udp).ok_or("a datagram did not arrive in five frames")?;
    server.node.datagrams().close(to);
    client.node.datagrams().close(from);

    let first = singleton!(: Socket<Plan> = Socket::new(0, coap::config(SENDER)));
    let second = singleton!(: Socket<Plan> = Socket::new(PORT, coap::config(RECEIVER)));
    let (Some(first), Some(second)) = (first, second) else { return Err("run twice") };
    // They bind their ports.
    first.poll(now, client.node, |_, _, _| ());
    second.poll(now, server.node, |_, _, _| ());
    let mut exchange = CoapExchange { client: first, server: second, ticket: None };
    let with_coap = steps(&mut now, (server, client), &mut exchange).ok_or("no CoAP")?;

    let [asked, taken, answered, ended] = alone.map(|ticks| per(ticks, EXCHANGES));
    report_count("datagram_sent", (asked + answered - (FRAMES + 1) * frame_sent) / 2);
    report_count("datagram_received", (taken + ended - (FRAMES + 1) * frame_received) / 2);
    let names = ["request_sent", "request_received", "response_sent", "response_received"];
    for (name, (with_coap, alone)) in names.iter().zip(with_coap.into_iter().zip(alone)) {
        report_count(name, per(with_coap - alone, EXCHANGES));
    }
    Ok(())
}
