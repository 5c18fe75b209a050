//! Two Kinglet nodes in one Cortex-M image.
//!
//! Node 1 sends 100 kB to node 0 by TCP over a link in memory that loses frames. Time is virtual:
//! it jumps to whatever is due next, so the image needs no timer and every run is the same. The
//! last line says `ok` and the emulator exits with 0, or why not and with 1.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::time::{Instant, earliest};
use kinglet::{Mote, Node};
use kinglet_firmware::air::{Air, End};
use kinglet_firmware::app::{self, CONNECTION, Receiver, Sender};
use kinglet_firmware::console::{self, Piece::Number, Piece::Text};

/// Octets to be moved.
const TOTAL: usize = 100_000;
/// Much longer than the transfer takes, so that one that hangs ends too.
const GIVE_UP: Instant = Instant::from_secs(600);

/// Both nodes, and what joins them.
struct World<'a> {
    now: Instant,
    first: &'a mut Node<Mote>,
    second: &'a mut Node<Mote>,
    air: Air,
}

#[entry]
fn main() -> ! {
    // Statics, so that the linker counts them.
    let first = singleton!(: Node<Mote> = app::node(app::RECEIVER));
    let second = singleton!(: Node<Mote> = app::node(app::SENDER));
    let (Some(first), Some(second)) = (first, second) else { console::end(Err("run twice")) };
    console::line(&[
        Text("a node takes "),
        Number(size_of::<Node<Mote>>() as u32),
        Text(" octets of RAM"),
    ]);
    let mut world = World { now: Instant::ZERO, first, second, air: Air::new(1) };
    let result = world.transfer();
    world.report(result.ok());
    console::end(result.map(|_| ()))
}

impl World<'_> {
    /// Runs both applications to the end of the stream; the segments that were sent again.
    fn transfer(&mut self) -> Result<(u16, u16), &'static str> {
        let mut receiver = Receiver::new(self.first, &CONNECTION, TOTAL)?;
        let mut sender = Sender::new(self.now, self.second, CONNECTION, TOTAL)?;
        loop {
            sender.step(self.second, usize::MAX)?;
            if receiver.step(self.first)? {
                return Ok(sender.retransmissions(self.second));
            }
            self.submit();
            if !self.advance() {
                return Err("nothing is due any more, or time is over");
            }
        }
    }

    fn report(&self, again: Option<(u16, u16)>) {
        let milliseconds = (self.now.as_millis() as u32).max(1);
        let Air { sent, lost, .. } = self.air;
        console::line(&[
            Number(lost),
            Text(" of "),
            Number(sent),
            Text(" frames lost in "),
            Number(milliseconds),
            Text(" ms"),
        ]);
        let Some((fast, timeout)) = again else { return };
        console::line(&[
            Number(TOTAL as u32),
            Text(" octets: "),
            Number(TOTAL as u32 * 8 / milliseconds),
            Text(" kb/s"),
        ]);
        console::line(&[
            Text("segments sent again: "),
            Number(fast.into()),
            Text(" fast, "),
            Number(timeout.into()),
            Text(" after timeout"),
        ]);
    }

    fn node(&mut self, end: End) -> &mut Node<Mote> {
        match end {
            End::First => self.first,
            End::Second => self.second,
        }
    }

    /// Gives the radios what the nodes want of them.
    fn submit(&mut self) {
        for end in End::BOTH {
            let now = self.now;
            let node = match end {
                End::First => &mut *self.first,
                End::Second => &mut *self.second,
            };
            while let Some(submission) = node.poll_radio(now) {
                let (command, frame) = (submission.command, submission.frame);
                if self.air.submit(now, end, command, frame).is_err() {
                    node.radio_refused(now);
                }
            }
        }
    }

    /// Jumps to whatever is due next and does it; false if nothing is, or time is over.
    fn advance(&mut self) -> bool {
        let nodes = earliest(self.first.deadline(), self.second.deadline());
        let next = earliest(self.air.deadline(), nodes);
        let Some(next) = next.filter(|&next| next < GIVE_UP) else { return false };
        let now = self.now.max(next);
        self.now = now;
        while let Some((end, event, frame)) = self.air.poll_event(now) {
            let node = match end {
                End::First => &mut *self.first,
                End::Second => &mut *self.second,
            };
            node.handle_radio(now, event, frame);
        }
        for end in End::BOTH {
            let node = self.node(end);
            if node.deadline().is_some_and(|at| at <= now) {
                node.handle_deadline(now);
            }
        }
        true
    }
}
