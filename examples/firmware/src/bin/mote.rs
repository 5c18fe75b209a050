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
use kinglet_firmware::app::CONNECTION;
use kinglet_firmware::board::Board;
use kinglet_firmware::coap::{self, Coap, MAX_DATAGRAM, Server};
use kinglet_firmware::console;
use kinglet_firmware::echo::echo_datagrams;
use kinglet_firmware::place::{SHORT, commission, config};
use kinglet_firmware::serial_radio::SerialRadio;
use kinglet_firmware::web::Web;
use kinglet_firmware::{Place, make};

const ECHO_PORT: u16 = 7;

#[entry]
fn main() -> ! {
    let result = match cortex_m::Peripherals::take() {
        Some(peripherals) => serve(SerialRadio::new(Board::new(peripherals.SYST))),
        None => Err("no peripherals"),
    };
    console::end(result)
}

fn serve(mut radio: SerialRadio) -> Result<(), &'static str> {
    let place = singleton!(: Place<Mote> = Place::uninit()).ok_or("run twice")?;
    let node = make(place, config(), radio.capabilities());
    commission(node)?;
    radio.set_filter(node.filter());
    let listen = ListenConfig { backlog: 2, connection: CONNECTION, ..ListenConfig::default() };
    let mut web = Web::new(node, listen).map_err(|_| "cannot listen")?;
    let echo = node.datagrams().bind(ECHO_PORT).map_err(|_| "cannot bind")?;
    let endpoint =
        singleton!(: coap::Endpoint<Server> = coap::endpoint(SHORT)).ok_or("run twice")?;
    let mut coap = Coap::new(node, coap::PORT, endpoint).map_err(|_| "cannot bind")?;
    let datagram = singleton!(: [u8; MAX_DATAGRAM] = [0; MAX_DATAGRAM]).ok_or("run twice")?;
    loop {
        let now = radio.board.now();
        web.step(now, node);
        echo_datagrams(now, node, echo, datagram);
        coap.step(now, node, datagram, |endpoint, event| coap::serve_page(now, endpoint, event));
        let servers = earliest(web.deadline(), coap.deadline());
        let wake_up_at = earliest(node.drive(now, &mut radio), servers);
        radio.board.sleep(wake_up_at.unwrap_or(Instant::MAX) - now);
    }
}
