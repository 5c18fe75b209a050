//! Speed of engine, medium and radio without a stack: pairs of nodes whose senders transmit
//! 127-octet unicast frames continuously with a random software backoff.
//!
//! `cargo run --release -p kinglet-sim --example speed [PAIRS] [SECONDS]`

use kinglet_radio::{Access, Ack, Channel, Command, Event, Filter, Start};
use kinglet_sim::cpu::HostCost;
use kinglet_sim::medium::{MediumConfig, Position};
use kinglet_sim::profile::AT86RF233;
use kinglet_sim::rng::Stream;
use kinglet_sim::{Device, NodeConfig, World};
use kinglet_time::{Duration, Instant};

struct Sender {
    frame: [u8; 125],
    peer: bool,
    listening: bool,
    due: Option<Instant>,
    random: Stream,
    acked: u64,
}

impl Sender {
    fn backoff(&mut self, now: Instant) {
        let units = self.random.below(8);
        self.due = Some(now + Duration::from_micros(320) * units);
    }
}

impl Device for Sender {
    fn handle_radio(&mut self, now: Instant, event: Event, _: &[u8]) {
        match event {
            Event::Transmitted { ack, .. } => {
                self.acked += u64::from(ack != Ack::Missing);
                self.frame[2] = self.frame[2].wrapping_add(1);
                self.backoff(now);
            }
            Event::ChannelBusy | Event::Missed => self.backoff(now),
            _ => {}
        }
    }

    fn poll_radio(&mut self, now: Instant) -> Option<(Command, &[u8])> {
        if !self.listening {
            self.listening = true;
            let channel = Channel::default();
            return Some((Command::Receive { start: Start::Asap, until: None, channel }, &[]));
        }
        if self.due.is_none_or(|due| due > now) {
            return None;
        }
        self.due = None;
        let command = Command::Transmit {
            start: Start::Asap,
            access: Access::Cca,
            channel: Channel::default(),
            power_dbm: 0,
            ack: true,
        };
        Some((command, &self.frame))
    }

    fn deadline(&self) -> Option<Instant> {
        self.due
    }

    fn handle_deadline(&mut self, _: Instant) {
        assert!(self.peer, "only senders have deadlines");
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse::<u64>().unwrap_or(1));
    let pairs = arguments.next().unwrap_or(1) as usize;
    let seconds = arguments.next().unwrap_or(2_000);
    let mut nodes = Vec::new();
    for i in 0..2 * pairs {
        let peer = (i ^ 1) as u16;
        let mut frame = [0; 125];
        frame[..9].copy_from_slice(&[
            0x61,
            0x88,
            0,
            0xCD,
            0xAB,
            peer as u8,
            (peer >> 8) as u8,
            0,
            0,
        ]);
        let sends = i % 2 == 0;
        let device = Sender {
            frame,
            peer: sends,
            listening: false,
            due: sends.then_some(Instant::from_millis(10)),
            random: Stream::from_seed(i as u64),
            acked: 0,
        };
        let config = NodeConfig {
            position: Position { x_m: (i / 2) as f64 * 100.0 + (i % 2) as f64 * 5.0, y_m: 0.0 },
            filter: Filter { pan_id: 0xABCD, short: i as u16, extended: [0; 8] },
            radio: AT86RF233,
            host: HostCost::NONE,
            drift_ppm: 0,
            begin_us: 0,
            chip: None,
        };
        nodes.push((config, device));
    }
    let mut world = World::new(1, &MediumConfig::unit_disc(10.0), nodes);
    let start = std::time::Instant::now();
    world.run_until(Instant::from_secs(seconds));
    let wall = start.elapsed().as_secs_f64();
    let acked: u64 = (0..2 * pairs).map(|n| world.device(n).acked).sum();
    println!(
        "{pairs} pairs, {seconds} s simulated in {wall:.3} s: {:.0} exchanges/s, {:.2} us each, \
         {:.1} M events/s, {:.1} events each, {:.0} simulated seconds per second",
        acked as f64 / wall,
        wall * 1e6 / acked as f64,
        world.events() as f64 / wall / 1e6,
        world.events() as f64 / acked as f64,
        seconds as f64 / wall,
    );
}
