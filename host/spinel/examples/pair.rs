//! Two coprocessors in range of each other, each with a node of this process:
//!
//! ```text
//! cargo run -p kinglet-spinel --example pair -- URL URL [STEP]
//! ```
//!
//! The first node sends echo requests of all sizes, or with a STEP of every STEPth size, and then
//! both send 200 kB by TCP, secured by a link key. Every octet is checked. The exit code is 1 if
//! something is missing.

use core::net::Ipv6Addr;
use kinglet::mac::{CcmStar, Csma, PeerCounter, Security, Tabled};
use kinglet::radio::{Channel, Driver, Key};
use kinglet::tcp::{ConnectionConfig, ListenConfig};
use kinglet::{Config, Node};
use kinglet_apps::App;
use kinglet_apps::bulk::{Receiver, Sender};
use kinglet_spinel::{Stick, Url};
use kinglet_time::{Duration, Instant, earliest};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::error::Error;

kinglet::profile! {
    /// A node on a machine with enough memory.
    struct Station {
        security: CcmStar<Tabled, [PeerCounter; 4]>,
        frames: 4,
        packets: 16,
        storage: 1500,
        output: 16,
        connections: 4,
        send_buffer: 8192,
        receive_buffer: 8192,
        segments: 22,
        features: kinglet::tcp::Full,
    }
}

const PORT: u16 = 5_000;
const OCTETS: u64 = 200_000;
/// Data of the longest echo request in a packet of 1,280 octets.
const LONGEST: u16 = 1_280 - 40 - 8;
/// Limits of the parts, far above their times on a loaded machine.
const READY: Duration = Duration::from_secs(20);
const REPLY: Duration = Duration::from_secs(2);
/// Requests of one size: a radio may lose some.
const ATTEMPTS: u16 = 10;
const TRANSFER: Duration = Duration::from_secs(240);

/// A node with its coprocessor and its applications.
struct Place {
    node: Box<Node<Station>>,
    stick: Stick,
    sender: Option<Sender>,
    receiver: Receiver,
}

impl Place {
    fn new(now: Instant, url: &str, number: u16) -> Result<Place, Box<dyn Error>> {
        let stick = Stick::open(now, &url.parse::<Url>()?)?;
        let [high, low] = number.to_be_bytes();
        let eui64 = [2, 0, 0, 0xff, 0xfe, 0, high, low];
        let mut config = Config::repeatable(number, eui64, u64::from(number), [low; 16]);
        config.mac.csma = Csma::Hardware;
        config.mac.channel = Channel::new(15).ok_or("channel 15 exists")?;
        let eui64_prefix = [2, 0, 0, 0xff, 0xfe, 0];
        let key = Key(*b"Kinglet's sticks");
        config.mac.security = Some(Security { key, eui64_prefix, first_counter: 0 });
        let node = Box::new(Node::new(config, stick.capabilities()));
        let listen = ListenConfig { connection: ConnectionConfig::DEFAULT, ..Default::default() };
        let (sender, receiver) = (None, Receiver::new(PORT, listen));
        let mut place = Place { node, stick, sender, receiver };
        place.stick.set_filter(place.node.filter());
        Ok(place)
    }

    /// Does all work that can be done now, and returns the time of the next work.
    fn step(&mut self, now: Instant) -> Option<Instant> {
        self.stick.exchange(now);
        let mut busy = self.receiver.poll(now, &mut *self.node);
        if let Some(sender) = &mut self.sender {
            busy |= sender.poll(now, &mut *self.node);
        }
        let driven = self.node.drive(now, &mut self.stick);
        let driven = if busy { Some(now) } else { driven };
        let apps = self.sender.as_ref().and_then(App::deadline);
        let apps = earliest(apps, self.receiver.deadline());
        let stack = earliest(driven, self.node.deadline());
        earliest(earliest(stack, apps), self.stick.deadline())
    }
}

/// Both, and the clock.
struct Pair {
    places: [Place; 2],
    begin: std::time::Instant,
}

impl Pair {
    fn now(&self) -> Instant {
        let micros = u64::try_from(self.begin.elapsed().as_micros()).unwrap_or(u64::MAX);
        Instant::from_micros(micros)
    }

    /// Runs both until `condition` is true; returns whether it is within `limit`.
    fn run(
        &mut self,
        limit: Duration,
        condition: impl Fn(&mut Pair) -> bool,
    ) -> Result<bool, Box<dyn Error>> {
        let until = self.now() + limit;
        while !condition(self) {
            let now = self.now();
            if now >= until {
                return Ok(false);
            }
            let next = self.places.iter_mut().fold(None, |next, it| earliest(next, it.step(now)));
            let next = next.unwrap_or(until).min(until);
            let left = (next - self.now()).as_micros();
            let timeout = Timespec {
                tv_sec: i64::try_from(left / 1_000_000)?,
                tv_nsec: i64::try_from(left % 1_000_000 * 1_000)?,
            };
            let mut fds = Vec::new();
            for place in &self.places {
                let write =
                    if place.stick.wants_write() { PollFlags::OUT } else { PollFlags::empty() };
                let fd = place.stick.fd();
                fds.extend(fd.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN | write)));
            }
            match poll(&mut fds, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// Returns the reason for which a coprocessor does not work.
    fn trouble(&self) -> String {
        let troubles = self.places.iter().filter_map(|place| place.stick.trouble());
        troubles.map(|trouble| trouble.to_string()).collect::<Vec<_>>().join("; ")
    }
}

fn address(number: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, number)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut urls = std::env::args().skip(1);
    let usage = "usage: pair URL URL [STEP]";
    let (first, second) = (urls.next().ok_or(usage)?, urls.next().ok_or(usage)?);
    let step: usize = urls.next().as_deref().unwrap_or("1").parse().map_err(|_| usage)?;
    let begin = std::time::Instant::now();
    let places = [Place::new(Instant::ZERO, &first, 1)?, Place::new(Instant::ZERO, &second, 2)?];
    let mut pair = Pair { places, begin };
    let are_ready = |pair: &mut Pair| pair.places.iter().all(|it| it.stick.eui64().is_some());
    if !pair.run(READY, are_ready)? {
        return Err(format!("not ready after 20 s: {}", pair.trouble()).into());
    }
    for place in &pair.places {
        if let Some(identity) = place.stick.status().identity {
            println!("{}, RCP interface {}", identity.version, identity.api);
        }
    }
    ping(&mut pair, step.max(1))?;
    transfer(&mut pair)?;
    for place in &pair.places {
        let stats = place.stick.status().stats;
        let (messages, damaged) = (stats.messages, stats.damaged);
        let repeated = stats.repeated_commands + stats.repeated_transmissions;
        println!("{messages} messages, {damaged} damaged; {repeated} commands repeated");
    }
    Ok(())
}

/// Sends echo requests of every `step`th size from the first to the second node.
fn ping(pair: &mut Pair, step: usize) -> Result<(), Box<dyn Error>> {
    let (begin, mut count, mut lost) = (pair.now(), 0, 0);
    for len in (0..=LONGEST).step_by(step) {
        count += 1;
        let data: Vec<u8> = (0..len).map(|index| index.to_le_bytes()[0]).collect();
        let mut answered = false;
        for _ in 0..ATTEMPTS {
            let now = pair.now();
            let [node, _] = pair.places.each_mut().map(|place| &mut place.node);
            let sent = node.datagrams().ping(now, address(2), 7, len, &data);
            sent.map_err(|error| format!("{error:?}"))?;
            answered = pair.run(REPLY, |pair| {
                let reply = pair.places[0].node.datagrams().poll_echo_reply();
                reply.is_some_and(|reply| reply.seq == len)
            })?;
            if answered {
                break;
            }
            lost += 1;
        }
        if !answered {
            return Err(format!("no reply to {len} octets; {}", pair.trouble()).into());
        }
    }
    let ms = (pair.now() - begin).as_millis();
    println!("{count} echo requests of 0 to {LONGEST} octets answered, {lost} lost, in {ms} ms");
    Ok(())
}

/// Lets both nodes send at the same time.
fn transfer(pair: &mut Pair) -> Result<(), Box<dyn Error>> {
    let begin = pair.now();
    for (place, other) in pair.places.iter_mut().zip([2, 1]) {
        let to = (address(other), PORT);
        place.sender = Some(Sender::new(to, begin, Some(OCTETS), ConnectionConfig::DEFAULT));
    }
    let are_finished = |pair: &mut Pair| pair.places.iter().all(|it| it.receiver.finished());
    let finished = pair.run(TRANSFER, are_finished)?;
    for (place, number) in pair.places.iter().zip([1, 2]) {
        let (received, intact) = (place.receiver.received(), place.receiver.intact());
        if !finished || received != OCTETS || !intact {
            let trouble = pair.trouble();
            let why = format!("node {number} has received {received} octets, intact: {intact}");
            return Err(format!("{why}; {trouble}").into());
        }
    }
    let ms = (pair.now() - begin).as_millis();
    println!("{OCTETS} octets both ways, every one right, in {ms} ms");
    Ok(())
}
