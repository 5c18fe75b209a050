//! A mote whose radio is its serial line: the whole stack on a Cortex-M, with a web server on port
//! 80, the same page by CoAP on port 5683, UDP echo on port 7 (RFC 862) and answers to ping.
//!
//! `kinglet gateway --serial` joins it to a simulated network, in which it is node 2 of a line.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::Mote;
use kinglet::radio::Driver;
use kinglet::tcp::ListenConfig;
use kinglet::time::{Instant, earliest};
use kinglet_apps::{App, Page, Place as Room, coap, http, udp};
use kinglet_firmware::app::CONNECTION;
use kinglet_firmware::board::{Board, Line};
use kinglet_firmware::coap::{Server, config as coap_config};
use kinglet_firmware::console;
use kinglet_firmware::place::{SHORT, commission, config};
use kinglet_firmware::serial_radio::SerialRadio;
use kinglet_firmware::{Place, make};

const ECHO_PORT: u16 = 7;
/// // With all headers, including link security, blocks of 64 octets fit into one frame.
const BLOCK: u16 = 64;
const PAGE: Page = Page(
    b"<!doctype html><title>Cortex-M mote</title><h1>Cortex-M mote</h1>\
    <p>This page comes from Arm machine code: 802.15.4, 6LoWPAN, IPv6 and TCP in one image, \
    with a serial line for a radio.</p>\n",
);

/// The memory plan of the web server: one client at a time, and the connections of a mote minus one
/// that is closing.
struct Web;

impl http::Sizes for Web {
    type Line = [u8; 64];
    type Connections<C> = [Room<C>; 1];
}

#[entry]
fn main() -> ! {
    let result = match cortex_m::Peripherals::take() {
        Some(peripherals) => serve(Board::new(peripherals.SYST)),
        None => Err("no peripherals"),
    };
    console::end(result)
}

fn serve((mut board, line): (Board, Line)) -> Result<(), &'static str> {
    let mut radio = SerialRadio::new(line);
    let place = singleton!(: Place<Mote> = Place::uninit()).ok_or("run twice")?;
    let node = make(place, config(), radio.capabilities());
    commission(node)?;
    radio.set_filter(node.filter());
    let listen = ListenConfig { backlog: 2, connection: CONNECTION, ..ListenConfig::default() };
    let mut web = http::Server::<Page, Web>::new(80, listen, PAGE);
    let coap = singleton!(: coap::Server<Page, Server> =
        coap::Server::new(coap::PORT, PAGE, BLOCK, coap_config(SHORT)));
    let coap = coap.ok_or("run twice")?;
    let echo = singleton!(: udp::Echo = udp::Echo::new(ECHO_PORT)).ok_or("run twice")?;
    loop {
        let now = board.now();
        let busy = web.poll(now, node) | echo.poll(now, node) | coap.poll(now, node);
        let servers = earliest(echo.deadline(), earliest(web.deadline(), coap.deadline()));
        let wake_up_at = earliest(node.drive(now, &mut radio), servers);
        if !busy {
            board.sleep(wake_up_at.unwrap_or(Instant::MAX) - now);
        }
    }
}
