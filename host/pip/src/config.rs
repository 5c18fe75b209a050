//! Configuration of a path.

use crate::frame::{PAYLOAD, WINDOW};
use crate::slot::{Forwarding, GUARD, Slots};
use crate::source::Patience;
use kinglet_sim::medium::MediumConfig;
use kinglet_sim::profile::{Buffering, CC2420_CONTIKI, RadioProfile};
use kinglet_time::Duration;

/// The longest file, in octets: the index of a data frame has 16 bits.
pub const MAX_FILE: usize = u16::MAX as usize * PAYLOAD;

/// A path and a transfer over it.
#[derive(Clone, Debug, PartialEq)]
pub struct PipConfig {
    /// Hops from source to sink, at least 1.
    pub hops: usize,
    /// Octets of the file, at most [`MAX_FILE`].
    pub octets: usize,
    /// The radio of all nodes.
    pub radio: RadioProfile,
    /// Time at which relays copy.
    pub forwarding: Forwarding,
    /// True if every hop is acknowledged, and a frame sent until it is. PIP does so by its
    /// description (section 2.1 of the paper, and the original's own abstract); `false` leaves all
    /// recovery to the ends.
    pub acknowledged: bool,
    /// Guard time between two slots.
    pub guard: Duration,
    /// Number of receive channels, 1 to 16, which nodes use in rotation. The path has no
    /// self-interference if no two nodes with the same channel are in range of each other.
    pub channels: u8,
    /// Queue length in frames. With a serial line the sink has additional memory for as many frames
    /// of the file, and the source for half of that. The original needs only small queues, but its
    /// abstract gives no size: these are one of the ten kilobytes of a Tmote Sky.
    pub queue: usize,
    /// Bits per second of the serial lines between both end nodes and their hosts, with ten bits
    /// per octet; `None`: the end nodes have the file.
    pub serial: Option<u32>,
    /// Clock error in parts per million: clocks of even nodes are fast by it, those of odd nodes
    /// slow.
    pub drift_ppm: u32,
    /// Distance between neighbours, in metres.
    pub spacing_m: f64,
    /// The medium.
    pub medium: MediumConfig,
    /// Time limit of the transfer.
    pub limit: Duration,
}

impl PipConfig {
    /// A file of `octets` octets over `hops` hops of the paper's hardware, each in range of its
    /// neighbours only, without loss. The time limit is an hour.
    pub fn new(hops: usize, octets: usize) -> PipConfig {
        PipConfig {
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

    /// Number of data frames of the file.
    pub fn frames(&self) -> usize {
        self.octets.div_ceil(PAYLOAD)
    }

    /// Radio of node `index` in the simulator. Copying during reception takes no additional time;
    /// its remainder is part of the slot.
    pub(crate) fn radio_of(&self, index: usize) -> RadioProfile {
        match self.forwarding {
            Forwarding::Conditional if index > 0 && index < self.hops => {
                RadioProfile { buffering: Buffering::Ram, ..self.radio }
            }
            _ => self.radio,
        }
    }

    /// Time for which the source waits for the response of the sink. At first it is twice the time
    /// of a question without retransmissions, all parts of the longest response, and the return
    /// path. With retransmissions on hops it may take longer, and another question would only
    /// collide with the response.
    pub(crate) fn patience(&self) -> Patience {
        let latency = self.hops as u32 * self.forwarding.lag();
        let parts = self.frames().div_ceil(WINDOW) as u32;
        // Each node may just have missed a slot, and sends in every other one.
        let slots = 2 * (latency + 1) + 2 * (parts + 1);
        let least = self.slots().length() * (2 * slots);
        let most = if self.acknowledged { least * 16 } else { least };
        Patience { least, most }
    }
}
