//! A path, as whoever sets it up knows it.

use crate::frame::{PAYLOAD, WINDOW};
use crate::slot::{Forwarding, GUARD, Slots};
use crate::source::Patience;
use kinglet_sim::medium::MediumConfig;
use kinglet_sim::profile::{Buffering, CC2420_CONTIKI, RadioProfile};
use kinglet_time::Duration;

/// The longest file, in octets: a data frame's index has 16 bits.
pub const MAX_FILE: usize = u16::MAX as usize * PAYLOAD;

/// A path and a transfer over it.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Hops from source to sink, at least 1.
    pub hops: usize,
    /// Octets of the file, at most [`MAX_FILE`].
    pub octets: usize,
    /// The radio of all nodes.
    pub radio: RadioProfile,
    /// When relays copy.
    pub forwarding: Forwarding,
    /// Whether every hop is acknowledged, and a frame sent until it is. PIP is said to (section 2.1
    /// of the paper, and the original's own abstract); `false` leaves all of recovery to the ends.
    pub acknowledged: bool,
    /// What lies between two slots.
    pub guard: Duration,
    /// Receive channels, 1 to 16, which nodes have in turn. The path is free of interference of its
    /// own if no two nodes that have the same one hear each other.
    pub channels: u8,
    /// Frames that a node has room for. Beside its serial line the sink has room for as much of the
    /// file, and the source for half of that. The original needs only small queues; how small, its
    /// abstract does not say: these are one of the ten kilobytes of a Tmote Sky.
    pub queue: usize,
    /// Bits per second of the serial lines between both end nodes and their hosts, of which an
    /// octet takes ten; `None`: the end nodes have the file.
    pub serial: Option<u32>,
    /// How wrong clocks are, in parts per million: those of even nodes are fast, those of odd nodes
    /// slow by so much.
    pub drift_ppm: u32,
    /// Between neighbours, in metres.
    pub spacing_m: f64,
    /// The medium.
    pub medium: MediumConfig,
    /// After this the transfer is given up.
    pub limit: Duration,
}

impl Config {
    /// A file of so many octets over so many hops of the paper's hardware, each in range of its
    /// neighbours alone, without loss. It is given up after an hour.
    pub fn new(hops: usize, octets: usize) -> Config {
        Config {
            hops,
            octets,
            radio: CC2420_CONTIKI,
            forwarding: Forwarding::Between,
            acknowledged: true,
            guard: GUARD,
            channels: 16,
            queue: 8,
            serial: None,
            drift_ppm: 0,
            spacing_m: 8.0,
            medium: MediumConfig::unit_disc(10.0),
            limit: Duration::from_secs(3_600),
        }
    }

    /// The slots of the path.
    pub fn slots(&self) -> Slots {
        Slots::new(&self.radio, self.forwarding, self.acknowledged, self.guard)
    }

    /// Data frames of the file.
    pub fn frames(&self) -> usize {
        self.octets.div_ceil(PAYLOAD)
    }

    /// The radio of node `index` as the simulator sees it. What a relay copies while it comes costs
    /// no time of its own but what is part of the slot.
    pub(crate) fn radio_of(&self, index: usize) -> RadioProfile {
        match self.forwarding {
            Forwarding::Conditional if index > 0 && index < self.hops => {
                RadioProfile { buffering: Buffering::Ram, ..self.radio }
            }
            _ => self.radio,
        }
    }

    /// How long the source waits for the answer of the sink: at first twice what a question takes
    /// that nobody has to repeat, all parts of the longest answer, and the way back. Where hops
    /// repeat frames it may take longer, and a question more would only meet the answer.
    pub(crate) fn patience(&self) -> Patience {
        let way = self.hops as u32 * self.forwarding.lag();
        let parts = self.frames().div_ceil(WINDOW) as u32;
        // Everybody may have missed a slot by a moment, and has every other one.
        let slots = 2 * (way + 1) + 2 * (parts + 1);
        let least = self.slots().length() * (2 * slots);
        let most = if self.acknowledged { least * 16 } else { least };
        Patience { least, most }
    }
}
