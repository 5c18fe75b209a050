//! A device that follows a script and records its events.
#![allow(unreachable_pub, reason = "a module of test files")]

use kinglet_radio::{Access, Channel, Command, CsmaParams, Event, Filter, Start};
use kinglet_sim::cpu::HostCost;
use kinglet_sim::medium::{Connectivity, MatrixLink, MediumConfig, Position};
use kinglet_sim::profile::{AT86RF233, RadioProfile};
use kinglet_sim::trace::{self, Opening, Tracer};
use kinglet_sim::{Device, NodeConfig, World};
use kinglet_time::Instant;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

pub const PAN: u16 = 0xABCD;

/// An event of a device, with the time by its own clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub at: u64,
    pub event: Event,
    pub frame: Vec<u8>,
}

#[derive(Default)]
pub struct Script {
    steps: VecDeque<(u64, Command, Vec<u8>)>,
    current: Vec<u8>,
    pub recorded: Vec<Recorded>,
}

impl Script {
    pub fn silent() -> Script {
        Script::default()
    }

    pub fn listening() -> Script {
        Script::default().at(0, listen())
    }

    pub fn at(mut self, us: u64, command: Command) -> Script {
        self.steps.push_back((us, command, Vec::new()));
        self
    }

    pub fn send(mut self, us: u64, command: Command, frame: Vec<u8>) -> Script {
        self.steps.push_back((us, command, frame));
        self
    }

    pub fn events(&self) -> Vec<Event> {
        self.recorded.iter().map(|t| t.event).collect()
    }

    pub fn received(&self) -> usize {
        self.recorded.iter().filter(|t| matches!(t.event, Event::Received { .. })).count()
    }
}

impl Device for Script {
    fn handle_radio(&mut self, now: Instant, event: Event, frame: &[u8]) {
        self.recorded.push(Recorded { at: now.as_micros(), event, frame: frame.to_vec() });
    }

    fn poll_radio(&mut self, now: Instant) -> Option<(Command, &[u8])> {
        let due = self.steps.front()?.0;
        if due > now.as_micros() {
            return None;
        }
        let (_, command, frame) = self.steps.pop_front()?;
        self.current = frame;
        Some((command, &self.current))
    }

    fn deadline(&self) -> Option<Instant> {
        self.steps.front().map(|step| Instant::from_micros(step.0))
    }

    fn handle_deadline(&mut self, _: Instant) {}
}

pub fn listen() -> Command {
    Command::Receive { start: Start::Asap, until: None, channel: Channel::default() }
}

pub fn transmit(access: Access, ack: bool) -> Command {
    transmit_at(Start::Asap, access, ack)
}

pub fn transmit_at(start: Start, access: Access, ack: bool) -> Command {
    Command::Transmit { start, access, channel: Channel::default(), power_dbm: 0, ack }
}

pub fn csma() -> Access {
    Access::Csma(CsmaParams::default())
}

/// A data frame of `psdu_len` octets (FCS included) from `src` to `dst`.
pub fn data(dst: u16, src: u16, sequence: u8, psdu_len: usize) -> Vec<u8> {
    let mut frame = vec![if dst == 0xFFFF { 0x41 } else { 0x61 }, 0x88, sequence];
    for field in [PAN, dst, src] {
        frame.extend(field.to_le_bytes());
    }
    while frame.len() < psdu_len - 2 {
        frame.push(frame.len() as u8);
    }
    frame
}

pub fn node(number: usize, x_m: f64) -> NodeConfig {
    NodeConfig {
        position: Position { x_m, y_m: 0.0 },
        filter: Filter { pan_id: PAN, short: number as u16, extended: [number as u8; 8] },
        radio: AT86RF233,
        host: HostCost::NONE,
        drift_ppm: 0,
        begin_us: 0,
        chip: None,
    }
}

pub fn with_radio(config: NodeConfig, radio: RadioProfile) -> NodeConfig {
    NodeConfig { radio, ..config }
}

/// Nodes 8 m apart on a line; the radius of 10 m includes only the next node.
pub fn line(medium: &MediumConfig, devices: Vec<Script>) -> World<Script> {
    let place = |(i, device)| (node(i, i as f64 * 8.0), device);
    World::new(1, medium, devices.into_iter().enumerate().map(place).collect())
}

pub fn disc() -> MediumConfig {
    MediumConfig::unit_disc(10.0)
}

/// Both directions of `(a, b, rssi_dbm)`.
pub fn matrix(links: &[(usize, usize, f64)]) -> Connectivity {
    let both = |&(a, b, rssi_dbm): &(usize, usize, f64)| {
        [(a, b), (b, a)].map(|(from, to)| MatrixLink { from, to, prr: 1.0, rssi_dbm })
    };
    Connectivity::LinkMatrix(links.iter().flat_map(both).collect())
}

/// A trace that stores its events, and the storage.
pub fn to_memory() -> (Tracer, Arc<Mutex<Vec<trace::Event>>>) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&events);
    let sink = move |event| own.lock().expect("no panic").push(event);
    (Tracer::new(Opening::default(), Box::new(sink)), events)
}

pub fn run(world: &mut World<Script>, us: u64) {
    world.run_until(Instant::from_micros(us));
}

/// A device that listens and sends `frames` broadcasts of `psdu_len` octets, one every 10 ms,
/// without channel access.
pub fn broadcasts(frames: u64, source: u16, psdu_len: usize) -> Script {
    (0..frames).fold(Script::listening(), |script, i| {
        let frame = data(0xFFFF, source, i as u8, psdu_len);
        script.send(10_000 + i * 10_000, transmit(Access::Immediate, false), frame)
    })
}
