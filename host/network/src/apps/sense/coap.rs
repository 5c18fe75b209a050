//! Measurements of readings in CoAP messages.

use super::reading::{Numbers, Room, Wind};
use crate::apps::coap::CoapPlan;
use kinglet::time::Instant;
use kinglet::{Node, Profile};
use kinglet_apps::sense::{self, MessageSensor, Readings, Sampling, untag};
use kinglet_apps::{App, Peer};
use kinglet_coap::{CoapConfig, Delivery, Stats};

/// Resource of readings, named as in the paper's application. With it, a token of four octets and
/// the UDP header, a message is as long as a TCP segment with as many octets of readings.
pub(super) const PATH: &str = "anemometer";
/// Octets of a message in addition to its readings.
pub(crate) const AROUND: usize = sense::AROUND + 1 + PATH.len();

/// Sensor with one outstanding message to the sink, with measurements.
pub struct CoapUplink {
    pub(super) sensor: MessageSensor<Wind, Room, CoapPlan>,
    pub(super) numbers: Numbers,
    /// Numbers of the readings that the last message completes.
    completed: Vec<u32>,
    /// Sum in microseconds and number of the values from which initial timeouts were drawn.
    timeouts: (u64, u64),
}

impl CoapUplink {
    /// Messages to `to` with `room` octets of readings, or as many as fit in a datagram.
    pub fn new(
        sampling: Sampling,
        to: Peer,
        room: usize,
        delivery: Delivery,
        config: CoapConfig,
    ) -> Self {
        let readings = Readings::new(sampling, Wind);
        let sensor = MessageSensor::new(readings, (to, PATH), room, delivery, config);
        let (numbers, completed) = (Numbers::default(), Vec::new());
        CoapUplink { sensor, numbers, completed, timeouts: (0, 0) }
    }

    /// Counters of the CoAP endpoint.
    pub fn stats(&self) -> Stats {
        self.sensor.stats()
    }

    /// Sum in microseconds and number of the values from which initial timeouts were drawn.
    pub fn timeouts(&self) -> (u64, u64) {
        self.timeouts
    }

    pub(super) fn held(&self) -> impl Iterator<Item = u32> {
        self.sensor
            .tag()
            .into_iter()
            .flat_map(|tag| self.completed.iter().copied().chain([untag(tag).0]))
    }

    pub(super) fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        let (asked, tag) = (self.sensor.asked(), self.sensor.tag());
        let busy = self.sensor.poll(now, node);
        if self.sensor.asked() != asked {
            let timeout = self.sensor.first_timeout();
            self.timeouts = (self.timeouts.0 + timeout.as_micros(), self.timeouts.1 + 1);
        }
        let left = self.numbers.follow(self.sensor.readings());
        if self.sensor.tag() != tag {
            self.completed = left;
        }
        busy
    }
}
