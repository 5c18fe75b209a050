//! Shared parts of the images: the emulated board, output by semihosting, a link in memory.
//!
//! | image | function |
//! |---|---|
//! | `pair` | two nodes in one image move 100 kB over a lossy link in memory |
//! | `leaf` | a sleepy leaf sends readings to its parent, over the same link |
//! | `sensor` | a sleepy leaf sends readings to a host; its radio is its serial line |
//! | `sensor-tasks` | the same as a task of an executor |
//! | `mqtt` | a sleepy leaf publishes by MQTT; tasks |
//! | `rust-mqtt`, `mqtt-tls` | the same by another client of MQTT, and over TLS 1.3; tasks |
//! | `http` | a web server by `edge-http`; tasks |
//! | `tls` | a sleepy leaf sends a reading over TLS 1.3; tasks |
//! | `tls-certificate` | the same, with a certificate of the server; tasks |
//! | `mote` | one node, a web and CoAP server, whose radio is its serial line |
//! | `echo`, `echo-…` | sends received data back, each in its own configuration |
//! | `echo-tasks` | the same as tasks of an executor, with async sockets |
//! | `measure` | counts the instructions of a segment |
//! | `curve` | counts those of the elliptic curve of TLS |
//! | `octets` | compares the copies and sums in assembly with plain ones |
//!
//! No code here panics or formats: `tools/no-panic` checks the linked images.

#![no_std]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod air;
pub mod app;
pub mod board;
pub mod coap;
pub mod console;
pub mod counting;
pub mod echo;
pub mod host;
pub mod numbers;
pub mod place;
pub mod publisher;
pub mod reading;
pub mod serial_radio;
pub mod tasks;
pub mod world;

use core::hint::black_box;
use core::mem::MaybeUninit;
use core::panic::PanicInfo;
use kinglet::mac::KeyOf;
use kinglet::radio::Capabilities;
use kinglet::{Config, Node, Profile};

/// Storage of a node: a static, so that the linker counts it.
pub type Place<P> = MaybeUninit<Node<P>>;

/// Constructs a node in its storage. It is larger than the stack of a small device. The stack use
/// of this function, which `measure` counts, depends on the compiler's construction of each part in
/// place: see `tools/arm-build`.
#[inline(never)]
pub fn make<P: Profile>(
    place: &'static mut Place<P>,
    config: Config<KeyOf<P>>,
    radio: Capabilities,
) -> &'static mut Node<P> {
    // If the compiler knew the address, it would write the address of each field into the code.
    black_box(place.write(Node::new(config, radio)))
}

/// The same with the routing protocol `routing`, and `discovery`, which resolves link-layer
/// addresses.
#[inline(never)]
pub fn make_with_layers<P: Profile>(
    place: &'static mut Place<P>,
    config: Config<KeyOf<P>>,
    (routing, discovery): (P::Routing, P::Discovery),
    radio: Capabilities,
) -> &'static mut Node<P> {
    black_box(place.write(Node::with_layers(config, routing, discovery, radio)))
}

/// Never linked: see `tools/no-panic`.
#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    loop {
        cortex_m::asm::bkpt();
    }
}
