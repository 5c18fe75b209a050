//! Two Kinglet nodes in one Cortex-M image.
//!
//! Node 1 sends 20 kB to node 0 by TCP over a link in memory that loses frames. Time is virtual: it
//! jumps to whatever is due next, so the image needs no timer and every run is the same. The last
//! line says `ok` and the emulator exits with 0, or why not and with 1.

#![no_std]
#![no_main]

mod air;
mod app;

use air::Air;
use app::{Failure, Receiver, Sender, TOTAL};
use core::panic::PanicInfo;
use cortex_m::singleton;
use cortex_m_rt::entry;
use cortex_m_semihosting::{debug, hprintln};
use kinglet::time::{Instant, earliest};
use kinglet::{Config, Mote, Node};

/// Much longer than the transfer takes, so that one that hangs ends too.
const GIVE_UP: Instant = Instant::from_secs(600);

/// Both nodes, and what joins them.
struct World<'a> {
    now: Instant,
    nodes: [&'a mut Node<Mote>; 2],
    air: Air,
}

#[entry]
fn main() -> ! {
    // Statics, so that the linker counts them.
    let first = singleton!(: Node<Mote> = node(0));
    let second = singleton!(: Node<Mote> = node(1));
    let (Some(first), Some(second)) = (first, second) else { exit(debug::EXIT_FAILURE) };
    hprintln!("a node takes {} octets of RAM", size_of::<Node<Mote>>());
    let mut world = World { now: Instant::ZERO, nodes: [first, second], air: Air::new(1) };
    match world.transfer() {
        Ok((fast, timeout)) => {
            let micros = world.now.as_micros();
            let goodput = TOTAL as u64 * 8_000_000 / micros.max(1);
            hprintln!("{} octets in {} ms: {} bit/s", TOTAL, micros / 1_000, goodput);
            hprintln!("{} of {} frames lost", world.air.lost, world.air.sent);
            hprintln!("segments sent again: {} fast, {} after timeout", fast, timeout);
            hprintln!("ok");
            exit(debug::EXIT_SUCCESS)
        }
        Err(failure) => {
            hprintln!("failed at {:?}: {}", world.now, failure);
            exit(debug::EXIT_FAILURE)
        }
    }
}

fn node(short: u16) -> Node<Mote> {
    // A product takes seed and secret from a source of entropy; a test must not.
    let seed = u64::from(short) + 1;
    Node::new(Config::new(short, [0; 8], seed, [seed as u8; 16]), air::capabilities())
}

impl World<'_> {
    /// Runs both applications to the end of the stream; the segments that were sent again.
    fn transfer(&mut self) -> Result<(u32, u32), Failure> {
        let mut receiver = Receiver::new(self.nodes[0])?;
        let mut sender = Sender::new(self.now, self.nodes[1])?;
        loop {
            sender.step(self.nodes[1])?;
            if receiver.step(self.nodes[0])? {
                return Ok(sender.retransmissions(self.nodes[1]));
            }
            self.submit();
            if !self.advance() {
                return Err(Failure::Hangs);
            }
        }
    }

    /// Gives the radios what the nodes want of them.
    fn submit(&mut self) {
        for (index, node) in self.nodes.iter_mut().enumerate() {
            while let Some(submission) = node.poll_radio(self.now) {
                let (command, frame) = (submission.command, submission.frame);
                if self.air.submit(self.now, index, command, frame).is_err() {
                    node.radio_refused(self.now);
                }
            }
        }
    }

    /// Jumps to whatever is due next and does it; false if nothing is, or time is over.
    fn advance(&mut self) -> bool {
        let mut next = self.air.deadline();
        for node in &self.nodes {
            next = earliest(next, node.deadline());
        }
        let Some(next) = next.filter(|&next| next < GIVE_UP) else { return false };
        self.now = self.now.max(next);
        while let Some((index, event, frame)) = self.air.poll_event(self.now) {
            self.nodes[index].handle_radio(self.now, event, frame);
        }
        for node in &mut self.nodes {
            if node.deadline().is_some_and(|at| at <= self.now) {
                node.handle_deadline(self.now);
            }
        }
        true
    }
}

/// Ends the emulation.
fn exit(status: debug::ExitStatus) -> ! {
    debug::exit(status);
    // A debugger that does not end us finds us here.
    loop {
        cortex_m::asm::bkpt();
    }
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    hprintln!("{}", info);
    exit(debug::EXIT_FAILURE)
}
