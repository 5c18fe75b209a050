//! Sense and send (TCPlp §8.2): a reading of 82 octets at a fixed period, a bounded queue, batches,
//! and a sink that counts received readings.
//!
//! The sensors are those of [`kinglet_apps::sense`]. This module adds measurements and the ideal
//! protocol, which only a simulator can provide.

mod coap;
mod ideal;
mod reading;
mod sink;
mod tcp;

pub(crate) use coap::AROUND;
pub use coap::CoapUplink;
pub use ideal::{IdealUplink, Oracle};
pub use reading::LEN;
pub use sink::{INTERVAL, ReadingSink, Source};
pub use tcp::{Connections, TcpUplink};

use crate::apps::tcp::{Socket, Tcp};
use kinglet::time::{Expected, Instant};
use kinglet::{Each, Node, Profile};
use kinglet_apps::{App, Sockets, StreamApp};
use reading::{Numbers, Readings};
use std::collections::BTreeSet;

/// Sensor with the carrier of its readings.
pub enum Anemometer {
    /// One connection.
    Tcp(Box<TcpUplink>),
    /// CoAP messages.
    Coap(Box<CoapUplink>),
    /// The ideal protocol.
    Ideal(Box<IdealUplink>),
}

/// Fate of the readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Readings made by the sensor.
    pub generated: u32,
    /// Readings received at least once.
    pub delivered: u32,
    /// Readings dropped because the queue was full.
    pub dropped: u32,
    /// Readings neither received nor still at the sender.
    pub lost: u32,
}

impl Anemometer {
    /// Fate of the readings, with `sink` as their destination.
    pub fn counts(&self, sink: &ReadingSink) -> Counts {
        let (readings, numbers) = self.readings();
        let mut held = self.held();
        held.extend(numbers.waiting());
        let held = held.into_iter().filter(|number| !sink.has(*number)).count() as u32;
        let (generated, delivered) = (readings.generated(), sink.delivered());
        let lost = generated.saturating_sub(delivered).saturating_sub(held);
        Counts { generated, delivered, dropped: readings.dropped(), lost }
    }

    fn readings(&self) -> (&Readings, &Numbers) {
        match self {
            Anemometer::Tcp(uplink) => (uplink.sensor.readings(), &uplink.numbers),
            Anemometer::Coap(uplink) => (uplink.sensor.readings(), &uplink.numbers),
            Anemometer::Ideal(uplink) => (&uplink.readings, &uplink.numbers),
        }
    }

    /// Readings taken from the queue whose fate is unknown.
    fn held(&self) -> BTreeSet<u32> {
        match self {
            Anemometer::Tcp(uplink) => uplink.held().collect(),
            Anemometer::Coap(uplink) => uplink.held().collect(),
            Anemometer::Ideal(uplink) => uplink.held().collect(),
        }
    }
}

/// Applies to TCP only; does nothing with another uplink.
impl StreamApp<Socket> for Anemometer {
    fn step<S: Sockets<Handle = Socket>>(&mut self, now: Instant, tcp: &mut S) -> bool {
        match self {
            Anemometer::Tcp(uplink) => uplink.step(now, tcp),
            Anemometer::Coap(_) | Anemometer::Ideal(_) => false,
        }
    }

    fn due(&self) -> Option<Instant> {
        match self {
            Anemometer::Tcp(uplink) => uplink.sensor.due(),
            Anemometer::Coap(uplink) => uplink.sensor.deadline(),
            Anemometer::Ideal(uplink) => uplink.deadline(),
        }
    }
}

impl App for Anemometer {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        match self {
            Anemometer::Tcp(uplink) => uplink.step(now, &mut Tcp::Own(node)),
            Anemometer::Coap(uplink) => uplink.poll(now, node),
            Anemometer::Ideal(uplink) => uplink.poll(now, node),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.due()
    }

    fn expected(&self, now: Instant) -> Option<Expected> {
        match self {
            Anemometer::Coap(uplink) => uplink.sensor.expected(now),
            _ => None,
        }
    }

    fn messages(&self) -> (u32, u32) {
        match self {
            Anemometer::Coap(uplink) => uplink.sensor.messages(),
            _ => (0, 0),
        }
    }

    fn reasons(&self, each: &mut Each<'_>) {
        if let Anemometer::Coap(uplink) = self {
            uplink.sensor.reasons(each);
        }
    }
}
