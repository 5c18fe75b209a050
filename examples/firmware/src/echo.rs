//! Sends received data back by TCP and UDP on port 7 (RFC 862): the body of the `echo` images, each
//! of which selects a profile.

use crate::board::Board;
use crate::place::{ROUTER, commission};
use crate::serial_radio::SerialRadio;
use crate::{Place, console, make_with_layers};
use cortex_m::Peripherals;
use kinglet::mac::{KeyOf, Listening, Wake};
use kinglet::radio::Driver;
use kinglet::tcp::ListenConfig;
use kinglet::time::{Instant, earliest};
use kinglet::{Config, Profile, net};
use kinglet_apps::service::{Echo, Server, Service, Sizes};
use kinglet_apps::{App, udp};

/// One client at a time.
struct Room;

impl Sizes for Room {
    type Connections<C> = [kinglet_apps::Place<C>; 1];
}

/// The profile of an `echo` image: one connection with buffers of four segments, and the named
/// options.
#[macro_export]
macro_rules! echo_profile {
    ($name:ident { $($choices:tt)* }) => {
        ::kinglet::profile! {
            struct $name {
                packets: 5,
                reassemblies: 2,
                send_buffer: 2048,
                receive_buffer: 2048,
                segments: 6,
                $($choices)*
            }
        }
    };
}

/// Echoes with these settings, for ever; `routing` is the routing protocol.
pub fn run<P: Profile>(
    place: Option<&'static mut Place<P>>,
    config: Config<KeyOf<P>>,
    routing: P::Routing,
    listen: ListenConfig,
) -> ! {
    console::end(echo(place, config, (routing, net::Discovery::NONE), listen))
}

/// The same with `discovery`, which resolves link-layer addresses.
pub fn run_with_discovery<P: Profile<Routing = ()>>(
    place: Option<&'static mut Place<P>>,
    config: Config<KeyOf<P>>,
    discovery: P::Discovery,
    listen: ListenConfig,
) -> ! {
    console::end(echo(place, config, ((), discovery), listen))
}

fn echo<P: Profile>(
    place: Option<&'static mut Place<P>>,
    config: Config<KeyOf<P>>,
    layers: (P::Routing, P::Discovery),
    listen: ListenConfig,
) -> Result<(), &'static str> {
    let peripherals = Peripherals::take().ok_or("no peripherals")?;
    let (mut board, line) = Board::new(peripherals.SYST);
    let mut radio = SerialRadio::new(line);
    radio.strobes = P::Listening::WAKES;
    let place = place.ok_or("run twice")?;
    let node = make_with_layers(place, config, layers, radio.capabilities());
    radio.set_filter(node.filter());
    commission(node)?;
    if P::Listening::SLEEPS && !config.mac.rx_on_when_idle {
        let parent = node.set_parent(board.now(), Some(ROUTER));
        parent.map_err(|_| "no room for a parent")?;
    }
    if P::Listening::WAKES {
        node.set_wake(Some(Wake::DEFAULT)).map_err(|_| "the radio cannot wake")?;
        node.forward_fragments(true);
    }
    let mut streams = Server::<Echo, Room>::new(listen);
    let mut datagrams = udp::Echo::new(Echo::PORT);
    loop {
        let now = board.now();
        let busy = streams.poll(now, node) | datagrams.poll(now, node);
        let due = earliest(streams.deadline(), datagrams.deadline());
        let wake_up_at = earliest(node.drive(now, &mut radio), due);
        if !busy {
            board.sleep(wake_up_at.unwrap_or(Instant::MAX) - now);
        }
    }
}
