//! Two Kinglet nodes in one Cortex-M image.
//!
//! Node 1 sends 100 kB to node 0 by TCP over a link in memory that loses frames. Time is virtual:
//! it jumps to the next deadline, so the image needs no timer and every run is the same. The last
//! line says `ok` and the emulator exits with 0, or the reason and with 1.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::time::{Instant, earliest};
use kinglet::{Mote, Node};
use kinglet_apps::App;
use kinglet_apps::bulk::{Receiver, Sender};
use kinglet_firmware::air::{self, Air};
use kinglet_firmware::app::{self, CONNECTION, PORT, RECEIVER_ADDRESS};
use kinglet_firmware::console::{self, Piece::Number, Piece::Text};
use kinglet_firmware::world::World;
use kinglet_firmware::{Place, make};

/// Octets to be moved.
const TOTAL: u64 = 100_000;

#[entry]
fn main() -> ! {
    let first = singleton!(: Place<Mote> = Place::uninit());
    let second = singleton!(: Place<Mote> = Place::uninit());
    let (Some(first), Some(second)) = (first, second) else { console::end(Err("run twice")) };
    let first = make(first, app::config(app::RECEIVER), air::capabilities());
    let second = make(second, app::config(app::SENDER), air::capabilities());
    console::line(&[
        Text("a node takes "),
        Number(size_of::<Node<Mote>>() as u32),
        Text(" octets of RAM"),
    ]);
    let mut world = World { now: Instant::ZERO, first, second, air: Air::new(1) };
    let result = transfer(&mut world);
    report(&world, result.ok());
    console::end(result.map(|_| ()))
}

/// Runs both applications to the end of the stream; returns the numbers of retransmitted segments.
fn transfer(world: &mut World<'_, Mote, Mote>) -> Result<(u16, u16), &'static str> {
    let mut receiver = Receiver::new(PORT, app::listen(CONNECTION));
    let to = (RECEIVER_ADDRESS, PORT);
    let mut sender = Sender::new(to, world.now, Some(TOTAL), CONNECTION);
    loop {
        while receiver.poll(world.now, world.first) | sender.poll(world.now, world.second) {}
        if receiver.finished() {
            let info = sender.connection().and_then(|handle| world.second.tcp().info(handle));
            let whole = receiver.intact() && receiver.received() == TOTAL;
            let counters = info.filter(|_| whole).map(|info| info.counters);
            let counters = counters.ok_or("the received octets are not those sent")?;
            return Ok((counters.fast_retransmits, counters.timeout_retransmits));
        }
        if !world.step(earliest(receiver.deadline(), sender.deadline())) {
            return Err("nothing is due any more, or time is over");
        }
    }
}

fn report(world: &World<'_, Mote, Mote>, again: Option<(u16, u16)>) {
    let milliseconds = (world.now.as_millis() as u32).max(1);
    let Air { sent, lost, .. } = world.air;
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
