//! A leaf that sleeps and its parent in one Cortex-M image, with link security.
//!
//! Every ten seconds the leaf sends readings by TCP; what its parent answers it fetches with data
//! requests, made when the answer is due, and its radio is off otherwise. The link is that of
//! `pair`. The last line says `ok` and the emulator exits with 0, or why not and with 1.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::tcp::ConnectionConfig;
use kinglet::time::{Duration, Instant};
use kinglet::{Config, Mote, Node, Profile, Router};
use kinglet_firmware::air::{self, Air, End};
use kinglet_firmware::app::{self, RECEIVER, Receiver, SECURITY, SECURITY_OCTETS, SENDER, Sender};
use kinglet_firmware::console::{self, Piece::Number, Piece::Text};
use kinglet_firmware::world::World;

/// Octets of a batch of readings, and how many batches there are.
const BATCH: usize = 1_000;
const TOTAL: usize = 12 * BATCH;
const INTERVAL: Duration = Duration::from_secs(10);
/// The leaf's radio may be on for so many thousandths of the time; it was for 11 when this was
/// written.
const MOST_PER_1000: u64 = 15;
static CONNECTION: ConnectionConfig =
    ConnectionConfig { mss: app::mss(SECURITY_OCTETS), ..ConnectionConfig::DEFAULT };

fn node<P: Profile>(short: u16, sleeps: bool) -> Node<P> {
    let seed = u64::from(short) + 1;
    let mut config = Config::new(short, [0; 8], seed, [seed as u8; 16]);
    config.mac.security = Some(SECURITY);
    config.mac.rx_on_when_idle = !sleeps;
    config.mac.indirect.burst = true;
    Node::new(config, air::capabilities())
}

#[entry]
fn main() -> ! {
    let parent = singleton!(: Node<Router> = node(RECEIVER, false));
    let leaf = singleton!(: Node<Mote> = node(SENDER, true));
    let (Some(first), Some(second)) = (parent, leaf) else { console::end(Err("run twice")) };
    let mut world = World { now: Instant::ZERO, first, second, air: Air::new(1) };
    let result = transfer(&mut world);
    let time = world.now - Instant::ZERO;
    let on = world.air.time_on(world.now, End::Second);
    report(&world, time, on);
    let too_long = on.as_micros() * 1_000 > time.as_micros() * MOST_PER_1000;
    let verdict = if too_long { Err("the leaf's radio was on for too long") } else { Ok(()) };
    console::end(result.and(verdict))
}

/// Runs both applications to the end of the stream.
fn transfer(world: &mut World<'_, Router, Mote>) -> Result<(), &'static str> {
    world.first.add_child(SENDER).map_err(|_| "no room for a child")?;
    let parent = Some(RECEIVER);
    world.second.set_parent(world.now, parent).map_err(|_| "no room for a parent")?;
    let mut receiver = Receiver::new(world.first, &CONNECTION, TOTAL)?;
    let mut sender = Sender::new(world.now, world.second, CONNECTION, TOTAL)?;
    let mut ready = 0;
    let mut next = Some(world.now);
    loop {
        if let Some(at) = next.filter(|&at| at <= world.now) {
            ready += BATCH;
            next = (ready < TOTAL).then_some(at + INTERVAL);
        }
        sender.step(world.second, ready - sender.sent())?;
        if receiver.step(world.first)? {
            return Ok(());
        }
        world.submit();
        if !world.advance(next) {
            return Err("nothing is due any more, or time is over");
        }
    }
}

fn report(world: &World<'_, Router, Mote>, time: Duration, on: Duration) {
    let stats = world.second.stats();
    console::line(&[
        Number(TOTAL as u32),
        Text(" octets in "),
        Number(time.as_millis() as u32),
        Text(" ms, of which the leaf's radio was on for "),
        Number(on.as_millis() as u32),
    ]);
    console::line(&[
        Number(stats.data_requests),
        Text(" data requests, "),
        Number(stats.nothing_pending),
        Text(" of them in vain; "),
        Number(world.air.lost),
        Text(" of "),
        Number(world.air.sent),
        Text(" frames lost"),
    ]);
}
