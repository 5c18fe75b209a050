//! Sends back what comes by TCP and UDP to port 7 (RFC 862): the body of the `echo` images, each of
//! which chooses a profile.

use crate::board::Board;
use crate::place::{ROUTER, commission};
use crate::serial_radio::SerialRadio;
use crate::{Place, console, make_with_routing};
use cortex_m::Peripherals;
use kinglet::mac::{KeyOf, Listening};
use kinglet::net::UdpHandle;
use kinglet::radio::Driver;
use kinglet::tcp::{Handle, ListenConfig, RecvError, State};
use kinglet::time::Instant;
use kinglet::{Config, Node, Profile};

const PORT: u16 = 7;
/// Octets of the longest datagram that is sent back: more does not fit into a packet.
const DATAGRAM: usize = 1280 - 40 - 8;

/// The profile of an `echo` image: one connection with buffers of four segments, and what is named.
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

/// Echoes with these settings, for ever; `routing` learns routes.
pub fn run<P: Profile>(
    place: Option<&'static mut Place<P>>,
    config: Config<KeyOf<P>>,
    routing: P::Routing,
    listen: ListenConfig,
) -> ! {
    console::end(echo(place, config, routing, listen))
}

fn echo<P: Profile>(
    place: Option<&'static mut Place<P>>,
    config: Config<KeyOf<P>>,
    routing: P::Routing,
    listen: ListenConfig,
) -> Result<(), &'static str> {
    let peripherals = Peripherals::take().ok_or("no peripherals")?;
    let mut radio = SerialRadio::new(Board::new(peripherals.SYST));
    let place = place.ok_or("run twice")?;
    let node = make_with_routing(place, config, routing, radio.capabilities());
    radio.set_filter(node.filter());
    commission(node)?;
    if P::Listening::SLEEPS && !config.mac.rx_on_when_idle {
        let parent = node.set_parent(radio.board.now(), Some(ROUTER));
        parent.map_err(|_| "no room for a parent")?;
    }
    node.streams().listen(PORT, listen).map_err(|_| "cannot listen")?;
    let socket = node.datagrams().bind(PORT).map_err(|_| "cannot bind")?;
    let mut stream = None;
    let mut octets = [0; DATAGRAM];
    loop {
        let now = radio.board.now();
        echo_datagrams(now, node, socket, &mut octets);
        stream = stream.or_else(|| node.streams().accept(PORT));
        stream = stream.filter(|&handle| echo_stream(node, handle, &mut octets));
        let wake_up_at = node.drive(now, &mut radio);
        radio.board.sleep(wake_up_at.unwrap_or(Instant::MAX) - now);
    }
}

/// Sends datagrams back to where they came from.
pub fn echo_datagrams(
    now: Instant,
    node: &mut Node<impl Profile>,
    socket: UdpHandle,
    octets: &mut [u8],
) {
    // As many as a socket holds.
    while let Ok(Some(received)) = node.datagrams().recv(socket, octets) {
        let octets = octets.get(..received.len).unwrap_or_default();
        // Datagrams may get lost.
        let _ = node.datagrams().send(now, socket, received.src, received.src_port, octets);
    }
}

/// Sends back what there is room for; false when the connection is over.
fn echo_stream(node: &mut Node<impl Profile>, handle: Handle, octets: &mut [u8]) -> bool {
    // The receive ring's length bounds the rounds.
    loop {
        let room = node.tcp().can_send(handle).min(octets.len());
        let open = matches!(node.tcp().state(handle), Some(State::Established | State::CloseWait));
        if open && room == 0 {
            return true;
        }
        let octets = octets.get_mut(..room).unwrap_or_default();
        match node.streams().recv(handle, octets) {
            Ok(len @ 1..) => {
                let octets = octets.get(..len).unwrap_or_default();
                // There is room for all of it.
                let _ = node.streams().send(handle, octets);
            }
            Err(RecvError::WouldBlock) => return true,
            // The peer has sent everything, and so has this end.
            Ok(_) if open => return node.streams().close(handle).is_err(),
            Ok(_) | Err(_) => {
                let _ = node.streams().abort(handle);
                return false;
            }
        }
    }
}
