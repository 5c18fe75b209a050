//! A transfer in the simulator, and its outcome.

use crate::config::{MAX_FILE, PipConfig};
use crate::frame::PAN;
use crate::node::Node;
use kinglet_radio::Filter;
use kinglet_sim::cpu::HostCost;
use kinglet_sim::energy::Energy;
use kinglet_sim::medium::Position;
use kinglet_sim::{NodeConfig, World};
use kinglet_time::Instant;

/// Supply voltage of a Tmote Sky in the paper (6.1.1).
const VOLTS: f64 = 3.0;

/// Activity of one node until the end of the transfer.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeOutcome {
    /// Frames sent, without acknowledgements.
    pub frames_sent: u64,
    /// Acknowledgements sent.
    pub acks_sent: u64,
    /// Share of time in which its radio was on, 0 to 1.
    pub radio_on: f64,
    /// Energy of its radio at 3 V, in millijoules.
    pub radio_mj: f64,
    /// Details of the energy.
    pub energy: Energy,
}

/// Outcome of a transfer.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// True if the source has received the report that the sink has everything.
    pub complete: bool,
    /// Octets of the file that the sink has received.
    pub octets: usize,
    /// True if all of them are correct.
    pub intact: bool,
    /// Time from the start until the last of them arrived, in seconds; the time limit if the
    /// transfer is not complete.
    pub seconds: f64,
    /// Time from the start until the source received the report of completion, or the time limit,
    /// in seconds: nodes are on for this time.
    pub connected_seconds: f64,
    /// Rate at which the sink received the file in `seconds`, in kb/s.
    pub goodput_kbps: f64,
    /// Number of reports to the source that data were missing.
    pub rounds: u32,
    /// Every node, from source to sink.
    pub nodes: Vec<NodeOutcome>,
}

impl Outcome {
    /// Energy of the radio of `node` for each 1000 octets of the file that the sink has received,
    /// in millijoules.
    pub fn radio_mj_per_kb(&self, node: usize) -> f64 {
        self.nodes[node].radio_mj * 1e3 / self.octets.max(1) as f64
    }
}

/// Runs the transfer of `config`.
///
/// # Panics
/// As [`world`].
pub fn transfer(config: &PipConfig, seed: u64) -> Outcome {
    let mut world = world(config, seed);
    let limit = Instant::ZERO + config.limit;
    while !finished(&world) && world.next_event_at().is_some_and(|at| at <= limit) {
        world.step();
    }
    if !finished(&world) {
        world.run_until(limit);
    }
    outcome(config, &world)
}

/// The nodes of `config` at the start, for callers that observe them.
///
/// # Panics
/// If the path has no hop, the file is longer than [`MAX_FILE`], or there is no channel or no room
/// in queues.
pub fn world(config: &PipConfig, seed: u64) -> World<Node> {
    let PipConfig { hops, octets, channels, queue, .. } = *config;
    assert!(hops > 0 && hops < usize::from(u16::MAX - 1), "{hops} hops");
    assert!(octets <= MAX_FILE, "{octets} octets");
    assert!((1..=16).contains(&channels) && queue > 0, "{channels} channels, {queue} frames");
    let file = file(octets);
    let drift = i32::try_from(config.drift_ppm).unwrap_or(i32::MAX);
    let node = |index: usize| {
        let place = NodeConfig {
            position: Position { x_m: index as f64 * config.spacing_m, y_m: 0.0 },
            filter: Filter { pan_id: PAN, short: index as u16, extended: [0; 8] },
            radio: config.radio_of(index),
            host: HostCost::NONE,
            drift_ppm: if index.is_multiple_of(2) { drift } else { -drift },
            begin_us: 0,
            chip: None,
        };
        (place, Node::new(config, index, &file))
    };
    World::new(seed, &config.medium, (0..=hops).map(node).collect())
}

/// A file without repetitions: the upper octets of multiples of 2^64 over the golden ratio.
fn file(octets: usize) -> Vec<u8> {
    let octet = |at: u64| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    (0..octets as u64).map(octet).collect()
}

fn finished(world: &World<Node>) -> bool {
    world.device(0).source().is_some_and(|source| source.finished().is_some())
}

fn outcome(config: &PipConfig, world: &World<Node>) -> Outcome {
    let complete = finished(world);
    let rounds = world.device(0).source().map_or(0, |source| source.rounds());
    let connected_seconds = world.now().as_micros() as f64 / 1e6;
    let (mut octets, mut intact, mut seconds) = (0, false, connected_seconds);
    if let Some(sink) = world.device(config.hops).sink() {
        octets = sink.octets();
        intact = sink.agrees_with(&file(config.octets));
        if complete {
            seconds = sink.last().as_micros() as f64 / 1e6;
        }
    }
    let node = |index| {
        let (energy, counters) = (world.energy(index), world.counters(index));
        NodeOutcome {
            frames_sent: counters.frames_sent,
            acks_sent: counters.acks_sent,
            radio_on: energy.radio.duty_cycle(),
            radio_mj: energy.radio_uc * VOLTS / 1e3,
            energy,
        }
    };
    let goodput_kbps = if seconds > 0.0 { octets as f64 * 8e-3 / seconds } else { 0.0 };
    let nodes = (0..=config.hops).map(node).collect();
    Outcome { complete, octets, intact, seconds, connected_seconds, goodput_kbps, rounds, nodes }
}
