//! A sleepy leaf and its parent in one Cortex-M image, with link security.
//!
//! Every ten seconds the leaf sends a batch of readings by TCP and one reading by CoAP. It fetches
//! the responses of its parent with data requests at the expected times, and its radio is off
//! otherwise. The link is that of `pair`. The last line says `ok` and the emulator exits with 0, or
//! the reason and with 1.

#![no_std]
#![no_main]

use cortex_m::singleton;
use cortex_m_rt::entry;
use kinglet::mac::{LinkSecurity, Security};
use kinglet::tcp::ConnectionConfig;
use kinglet::time::{Duration, Instant, earliest};
use kinglet::{Mote, Node, Profile, Router};
use kinglet_apps::bulk::Receiver;
use kinglet_apps::coap::{PORT, Socket};
use kinglet_apps::sense::{Probe, Readings, Sampling, StreamSensor, Waiting};
use kinglet_apps::{App, ReportedExpectation, fill};
use kinglet_coap::{Code, Delivery, Event};
use kinglet_firmware::air::{self, Air, End};
use kinglet_firmware::app::{
    self, PORT as STREAM_PORT, RECEIVER, RECEIVER_ADDRESS, SECURITY, SECURITY_OCTETS, SENDER,
};
use kinglet_firmware::coap::{self, Client, Server};
use kinglet_firmware::console::{self, Piece::Number, Piece::Text};
use kinglet_firmware::world::World;
use kinglet_firmware::{Place, make};

/// Readings of a batch, and number of batches.
const BATCH: usize = 10;
const BATCHES: usize = 12;
const TOTAL: u64 = (BATCHES * BATCH * Hundred::LEN) as u64;
/// Octets of a reading by CoAP.
const READING: usize = 60;
const INTERVAL: Duration = Duration::from_secs(10);
/// Limit of the radio duty cycle of the leaf, in thousandths; it was 12 when this was written.
const MOST_PER_1000: u64 = 15;
const CONNECTION: ConnectionConfig =
    ConnectionConfig { mss: app::mss(5, SECURITY_OCTETS), ..ConnectionConfig::DEFAULT };

/// Readings of a hundred octets, which are consecutive parts of the known stream.
struct Hundred;

impl Probe for Hundred {
    type Reading = ();
    const LEN: usize = 100;
    const HEAD: usize = 0;

    fn sample(&mut self, _now: Instant) {}

    fn write(&self, number: u32, (): (), at: usize, out: &mut [u8]) {
        fill(u64::from(number) * Self::LEN as u64 + at as u64, out);
    }
}

type Queue = [Option<Waiting<()>>; BATCH];

fn node<P: Profile<Security: LinkSecurity<Key = Option<Security>>>>(
    place: &'static mut Place<P>,
    short: u16,
    sleeps: bool,
) -> &'static mut Node<P> {
    let mut config = app::config(short);
    config.mac.security = Some(SECURITY);
    config.mac.rx_on_when_idle = !sleeps;
    config.mac.indirect.burst = true;
    make(place, config, air::capabilities())
}

#[entry]
fn main() -> ! {
    let parent = singleton!(: Place<Router> = Place::uninit());
    let leaf = singleton!(: Place<Mote> = Place::uninit());
    let (Some(parent), Some(leaf)) = (parent, leaf) else { console::end(Err("run twice")) };
    let (first, second) = (node(parent, RECEIVER, false), node(leaf, SENDER, true));
    let mut world = World { now: Instant::ZERO, first, second, air: Air::new(1) };
    let result = transfer(&mut world);
    let time = world.now - Instant::ZERO;
    let on = world.air.time_on(world.now, End::Second);
    report(&world, time, on);
    let too_long = on.as_micros() * 1_000 > time.as_micros() * MOST_PER_1000;
    let verdict = if too_long { Err("the leaf's radio was on for too long") } else { Ok(()) };
    console::end(result.and(verdict))
}

/// Runs the applications to the last octet of the last batch and the response to the last message.
fn transfer(world: &mut World<'_, Router, Mote>) -> Result<(), &'static str> {
    world.first.add_child(SENDER).map_err(|_| "no room for a child")?;
    let parent = Some(RECEIVER);
    world.second.set_parent(world.now, parent).map_err(|_| "no room for a parent")?;
    let mut receiver = Receiver::new(STREAM_PORT, app::listen(CONNECTION));
    let start = world.now;
    let period = Duration::from_micros(INTERVAL.as_micros() / BATCH as u64);
    let sampling = Sampling { start, period, batch: BATCH, queue: BATCH };
    let to = (RECEIVER_ADDRESS, STREAM_PORT);
    let queue = Readings::<Hundred, Queue>::new(sampling, Hundred);
    let mut sensor = StreamSensor::new(queue, to, start, CONNECTION);
    let mut messages = Messages::new()?;
    let (mut next, mut sent) = (start, 0);
    loop {
        if next <= world.now && sent < BATCHES {
            next += INTERVAL;
            sent += 1;
            messages.send(world.now)?;
        }
        while receiver.poll(world.now, world.first) | sensor.poll(world.now, world.second) {}
        messages.step(world);
        if !receiver.intact() {
            return Err("an octet is not the one that was sent");
        }
        if receiver.received() >= TOTAL && messages.answered == BATCHES {
            return Ok(());
        }
        let apps = earliest(receiver.deadline(), sensor.deadline());
        if !world.step(earliest(earliest(apps, Some(next)), messages.deadline())) {
            return Err("nothing is due any more, or time is over");
        }
    }
}

/// CoAP messages, at both ends.
struct Messages {
    leaf: &'static mut Socket<Client>,
    parent: &'static mut Socket<Server>,
    answered: usize,
    reported: ReportedExpectation,
}

impl Messages {
    fn new() -> Result<Self, &'static str> {
        let leaf = singleton!(: Socket<Client> = Socket::new(0, coap::config(SENDER)));
        let parent = singleton!(: Socket<Server> = Socket::new(PORT, coap::config(RECEIVER)));
        let (Some(leaf), Some(parent)) = (leaf, parent) else { return Err("run twice") };
        Ok(Messages { leaf, parent, answered: 0, reported: ReportedExpectation::default() })
    }

    /// Sends a message.
    fn send(&mut self, now: Instant) -> Result<(), &'static str> {
        let parent = (RECEIVER_ADDRESS, PORT);
        let endpoint = self.leaf.endpoint();
        let sent = endpoint.request(now, parent, Delivery::Confirmable, Code::POST, |request| {
            request.path("reading")?;
            request.payload(&[0x5a; READING])
        });
        sent.map(|_| ()).map_err(|_| "the last message was not answered in time")
    }

    fn step(&mut self, world: &mut World<'_, Router, Mote>) {
        let World { now, first, second, .. } = world;
        self.parent.poll(*now, *first, |endpoint, _, event| {
            let Event::Request { ticket, message } = event else { return };
            let whole = message.payload == [0x5a; READING];
            let code = if whole { Code::CHANGED } else { Code::BAD_REQUEST };
            let _ = endpoint.respond(*now, ticket, code, |_| Ok(()));
        });
        let answered = &mut self.answered;
        self.leaf.poll(*now, *second, |_, _, event| {
            if let Event::Response { message, .. } = event {
                *answered += usize::from(message.header.code == Code::CHANGED);
            }
        });
        // TCP itself reports the responses that it expects.
        self.reported.report(*now, *second, 0, self.leaf.expected(*now));
    }

    fn deadline(&self) -> Option<Instant> {
        earliest(self.leaf.deadline(), self.parent.deadline())
    }
}

fn report(world: &World<'_, Router, Mote>, time: Duration, on: Duration) {
    let stats = world.second.stats();
    console::line(&[
        Number(TOTAL as u32),
        Text(" octets in "),
        Number(time.as_millis() as u32),
        Text(" ms; the leaf's radio was on for "),
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
