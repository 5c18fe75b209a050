//! A sensor that sleeps: it opens a TCP connection to a host, sends a reading every few seconds,
//! and lets its radio be off in between. All that an application needs around a `Node`.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::Mote;
use kinglet::radio::Driver;
use kinglet::tcp::{ConnectionConfig, State};
use kinglet::time::{Duration, Instant, earliest};
use kinglet_firmware::board::Board;
use kinglet_firmware::place::{HOST, ROUTER, commission, config};
use kinglet_firmware::serial_radio::SerialRadio;
use kinglet_firmware::{Place, console, make};

const PORT: u16 = 4242;
const INTERVAL: Duration = Duration::from_secs(1);

#[entry]
fn main() -> ! {
    let peripherals = cortex_m::Peripherals::take();
    let radio = peripherals.map(|all| SerialRadio::new(Board::new(all.SYST)));
    console::end(radio.ok_or("no peripherals").and_then(sense))
}

fn sense(mut radio: SerialRadio) -> Result<(), &'static str> {
    let mut config = config();
    config.mac.rx_on_when_idle = false;
    let place = singleton!(: Place<Mote> = Place::uninit()).ok_or("run twice")?;
    let node = make(place, config, radio.capabilities());
    radio.set_filter(node.filter());
    commission(node)?;
    let mut next = radio.board.now();
    node.set_parent(next, Some(ROUTER)).map_err(|_| "no room for a parent")?;
    let mut connection = None;
    loop {
        let now = radio.board.now();
        if next <= now {
            next = now + INTERVAL;
            match connection.and_then(|handle| node.tcp().state(handle)) {
                // What does not fit into the send buffer is one reading less.
                Some(State::Established) => {
                    let _ = connection.map(|handle| node.streams().send(handle, b"21.5 degrees\n"));
                }
                Some(State::SynSent) => {}
                // Refused, ended, or not asked for yet.
                _ => {
                    let _ = connection.map(|handle| node.streams().abort(handle));
                    let config = ConnectionConfig::DEFAULT;
                    connection = node.streams().connect(now, HOST, PORT, config).ok();
                }
            }
        }
        let wake_up_at = earliest(node.drive(now, &mut radio), Some(next));
        radio.board.sleep(wake_up_at.unwrap_or(Instant::MAX) - now);
    }
}
