//! Sense and send (TCPlp §8.2): a reading of 82 octets at a fixed period, a queue of bounded
//! length, batches, and a sink that counts what arrives.
//!
//! The sensors are those of [`kinglet_apps::sense`]; here is what is measured around them, and the
//! ideal protocol, which only a simulator has.

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

/// The sensor, by what carries its readings.
pub enum Anemometer {
    /// One connection.
    Tcp(Box<TcpUplink>),
    /// CoAP messages.
    Coap(Box<CoapUplink>),
    /// The ideal protocol.
    Ideal(Box<IdealUplink>),
}

/// What became of the readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Made by the sensor.
    pub generated: u32,
    /// Arrived, each counted once.
    pub delivered: u32,
    /// Not made room for in the queue.
    pub dropped: u32,
    /// Neither arrived nor still with the sender.
    pub lost: u32,
}

impl Anemometer {
    /// What became of the readings, given the sink at which they arrive.
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

    /// Readings taken from the queue whose fate is open.
    fn held(&self) -> BTreeSet<u32> {
        match self {
            Anemometer::Tcp(uplink) => uplink.held().collect(),
            Anemometer::Coap(uplink) => uplink.held().collect(),
            Anemometer::Ideal(uplink) => uplink.held().collect(),
        }
    }
}

/// Over TCP only: with another uplink it does nothing.
impl StreamApp<Socket> for Anemometer {
    fn turn<S: Sockets<Handle = Socket>>(&mut self, now: Instant, tcp: &mut S) -> bool {
        match self {
            Anemometer::Tcp(uplink) => uplink.turn(now, tcp),
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
            Anemometer::Tcp(uplink) => uplink.turn(now, &mut Tcp::Own(node)),
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
