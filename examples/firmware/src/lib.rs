//! What the images share: the emulated board, output by semihosting, a link in memory.
//!
//! | image | what it does |
//! |---|---|
//! | `pair` | two nodes in one image move 100 kB over a lossy link in memory |
//! | `leaf` | a leaf that sleeps sends readings to its parent, over the same link |
//! | `mote` | one node, a web server, whose radio is its serial line |
//! | `measure` | counts the instructions that a segment takes |
//!
//! Nothing here panics, and nothing formats: `tools/no-panic` checks it in the linked images.

#![no_std]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod air;
pub mod app;
pub mod board;
pub mod console;
pub mod web;
pub mod world;

use core::panic::PanicInfo;

/// Never linked: see `tools/no-panic`.
#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    loop {
        cortex_m::asm::bkpt();
    }
}
