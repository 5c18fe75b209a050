//! What the images share: the emulated board, output by semihosting, a link in memory.
//!
//! | image | what it does |
//! |---|---|
//! | `pair` | two nodes in one image move 100 kB over a lossy link in memory |
//! | `leaf` | a leaf that sleeps sends readings to its parent, over the same link |
//! | `sensor` | a leaf that sleeps sends readings to a host; its radio is its serial line |
//! | `mote` | one node, a web and CoAP server, whose radio is its serial line |
//! | `echo`, `echo-…` | sends back what comes, each in a configuration of its own |
//! | `measure` | counts the instructions that a segment takes |
//! | `octets` | compares the copies and sums in assembly with plain ones |
//!
//! Nothing here panics, and nothing formats: `tools/no-panic` checks it in the linked images.

#![no_std]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod air;
pub mod app;
pub mod board;
pub mod coap;
pub mod console;
pub mod echo;
pub mod place;
pub mod serial_radio;
pub mod world;

use core::hint::black_box;
use core::mem::MaybeUninit;
use core::panic::PanicInfo;
use kinglet::mac::KeyOf;
use kinglet::radio::Capabilities;
use kinglet::{Config, Node, Profile};

/// Where a node stays: a static, so that the linker counts it.
pub type Place<P> = MaybeUninit<Node<P>>;

/// Makes a node where it stays. It is larger than the stack of a small device, and what this
/// function has on the stack, which `measure` counts, depends on the compiler's seeing that each
/// part can be made in its place: see `tools/arm-build`.
#[inline(never)]
pub fn make<P: Profile>(
    place: &'static mut Place<P>,
    config: Config<KeyOf<P>>,
    radio: Capabilities,
) -> &'static mut Node<P> {
    // If the compiler knew where it stands, it would write the address of each field into the code.
    black_box(place.write(Node::new(config, radio)))
}

/// The same with `routing`, which learns routes, and `discovery`, which learns link addresses.
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
