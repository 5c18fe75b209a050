//! A mote whose radio is its serial line: the whole stack on a Cortex-M, with a web server on port
//! 80, the same page by CoAP on port 5683, UDP echo on port 7 (RFC 862) and answers to ping.
//!
//! `kinglet gateway --serial` joins it to a simulated network, in which it is node 2 of a line.

#![no_std]
#![no_main]

use core::net::Ipv6Addr;
use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::mac::{Csma, Key, Security};
use kinglet::net::{InterfaceAddress, NextHop, Route, UdpHandle};
use kinglet::radio::serial::{Receiver, Request, parse_event};
use kinglet::radio::{Busy, Capabilities, Command, Event};
use kinglet::tcp::ListenConfig;
use kinglet::time::{Instant, earliest};
use kinglet::wire::ieee802154::Address;
use kinglet::wire::sixlowpan::Context;
use kinglet::{Config, Mote, Node};
use kinglet_firmware::app::CONNECTION;
use kinglet_firmware::board::Board;
use kinglet_firmware::coap::{self, Coap, MAX_DATAGRAM, Server};
use kinglet_firmware::console;
use kinglet_firmware::web::Web;
use kinglet_firmware::{Place, make};

/// Short addresses of this node and of the one that it reaches all others by.
const SHORT: u16 = 3;
const ROUTER: u16 = 2;
/// The prefix of the network, 6LoWPAN context 0, and the host behind it, context 1.
const PREFIX: Ipv6Addr = Ipv6Addr::new(0xfd6b, 0x696e, 0x676c, 0x7400, 0, 0, 0, 0);
const HOST: Ipv6Addr = Ipv6Addr::new(0xfd6b, 0x696e, 0x676c, 0x7401, 0, 0, 0, 1);
/// The one that follows from the short address, so that it costs nothing on the air.
const ADDRESS: Ipv6Addr = Ipv6Addr::new(0xfd6b, 0x696e, 0x676c, 0x7400, 0, 0xff, 0xfe00, SHORT);
const ECHO_PORT: u16 = 7;

/// The key of the scenarios of the simulator and the gateway. A product's is its own, and what it
/// starts to count from is in its flash; this board has none, so its counters begin at 0 each time.
const SECURITY: Security = Security {
    key: Key(*b"Kinglet scenario"),
    eui64_prefix: [0x02, 0x00, 0x00, 0xff, 0xfe, 0x00],
    first_counter: 0,
};

#[entry]
fn main() -> ! {
    let result = match cortex_m::Peripherals::take() {
        Some(peripherals) => serve(Board::new(peripherals.SYST)),
        None => Err("no peripherals"),
    };
    console::end(result)
}

fn serve(mut board: Board) -> Result<(), &'static str> {
    // A product takes seed and secret from its source of entropy; this board has none.
    let mut config = Config::new(SHORT, [0; 8], SHORT as u64, [SHORT as u8; 16]);
    config.mac.csma = Csma::Hardware;
    config.mac.security = Some(SECURITY);
    let capabilities = Capabilities::AUTO_ACK | Capabilities::ACK_WAIT | Capabilities::CSMA;
    let place = singleton!(: Place<Mote> = Place::uninit()).ok_or("run twice")?;
    let node = make(place, config, capabilities);
    commission(node).ok_or("a table is full")?;
    let mut radio = Radio { receiver: Receiver::new(), sending: false, number: 0 };
    Request::Filter(node.filter()).send(|octet| board.write(octet));
    let listen = ListenConfig { backlog: 2, connection: CONNECTION, ..ListenConfig::default() };
    let mut web = Web::new(node, listen).map_err(|_| "cannot listen")?;
    let echo = node.net().udp_bind(ECHO_PORT).map_err(|_| "cannot bind")?;
    let endpoint =
        singleton!(: coap::Endpoint<Server> = coap::endpoint(SHORT)).ok_or("run twice")?;
    let mut coap = Coap::new(node, coap::PORT, endpoint).map_err(|_| "cannot bind")?;
    let datagram = singleton!(: [u8; MAX_DATAGRAM] = [0; MAX_DATAGRAM]).ok_or("run twice")?;
    loop {
        let mut now = board.now();
        while let Some(octet) = board.read() {
            now = board.now();
            radio.take(now, octet, node);
        }
        if node.deadline().is_some_and(|at| at <= now) {
            node.handle_deadline(now);
        }
        web.step(now, node);
        answer(now, node, echo, datagram);
        coap.step(now, node, datagram, |endpoint, event| coap::serve_page(now, endpoint, event));
        while let Some(submission) = node.poll_radio(now) {
            let (command, frame) = (submission.command, submission.frame);
            if radio.submit(&mut board, command, frame).is_err() {
                node.radio_refused(now);
            }
        }
        let servers = earliest(web.deadline(), coap.deadline());
        let wake_up_at = earliest(node.deadline(), servers).unwrap_or(Instant::MAX);
        board.sleep(wake_up_at - now);
    }
}

/// Addresses, contexts and routes, as the network's plan has them.
fn commission(node: &mut Node<Mote>) -> Option<()> {
    let net = node.net();
    net.add_address(InterfaceAddress { address: ADDRESS, prefix_len: 64 }).ok()?;
    net.set_context(0, Some(Context { prefix: PREFIX, len: 64 })).ok()?;
    net.set_context(1, Some(Context { prefix: HOST, len: 128 })).ok()?;
    let via = NextHop::Link(Address::Short(ROUTER));
    net.add_route(Route { prefix: Ipv6Addr::UNSPECIFIED, prefix_len: 0, via }).ok()
}

/// Sends datagrams back to where they came from.
fn answer(now: Instant, node: &mut Node<Mote>, echo: UdpHandle, datagram: &mut [u8]) {
    // As many as a socket holds.
    while let Ok(Some(received)) = node.net().udp_recv(echo, datagram) {
        let octets = datagram.get(..received.len).unwrap_or_default();
        // Datagrams may get lost.
        let _ = node.net().udp_send(now, echo, received.src, received.src_port, octets);
    }
}

/// The radio at the other end of the line.
struct Radio {
    receiver: Receiver,
    /// A transmission is outstanding.
    sending: bool,
    /// That of the last one.
    number: u8,
}

impl Radio {
    /// Takes an octet of the line, and gives `node` the event that it ends.
    fn take(&mut self, now: Instant, octet: u8, node: &mut Node<Mote>) {
        let message = self.receiver.push(octet);
        let Some((event, number, frame)) = message.and_then(|octets| parse_event(now, octets))
        else {
            return;
        };
        if !matches!(event, Event::Received { .. }) {
            if !self.sending || number != self.number {
                // It has crossed the reset of its transmission on the line.
                return;
            }
            self.sending = false;
        }
        node.handle_radio(now, event, frame);
    }

    fn submit(&mut self, board: &mut Board, command: Command, frame: &[u8]) -> Result<(), Busy> {
        match command {
            Command::Transmit { .. } if self.sending => return Err(Busy),
            Command::Transmit { .. } => {
                self.sending = true;
                self.number = self.number.wrapping_add(1);
            }
            Command::Reset => self.sending = false,
            Command::Off | Command::Receive { .. } | Command::Pending { .. } => {}
        }
        let request = Request::Command { command, number: self.number, frame };
        request.send(|octet| board.write(octet));
        Ok(())
    }
}
