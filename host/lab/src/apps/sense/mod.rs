//! Sense and send (TCPlp §8.2): a reading of 82 octets at a fixed period, a queue of bounded
//! length, batches, and a sink that counts what arrives.
//!
//! A new reading that finds the queue full is lost. As soon as a batch waits, readings leave until
//! the queue is empty; those that come meanwhile go along (the paper's published application).

mod coap;
mod ideal;
mod queue;
mod reading;
mod sink;
mod tcp;

pub(crate) use coap::AROUND;
pub use coap::CoapUplink;
pub use ideal::{IdealUplink, Oracle};
pub use reading::{LEN, TAG};
pub use sink::{INTERVAL, ReadingSink, Source};
pub use tcp::{Connections, TcpUplink};

use crate::apps::tcp::{Socket, Tcp};
use kinglet::time::{Duration, Expected, Instant, earliest};
use kinglet::{Node, Profile};
use kinglet_apps::{App, Sockets, StreamApp};
use queue::Queue;
use std::collections::BTreeSet;

/// From one message without an answer to the next, as in the paper's application.
const PACE: Duration = Duration::from_millis(500);

/// What carries the readings.
pub enum Uplink {
    /// One connection.
    Tcp(Box<TcpUplink>),
    /// CoAP messages.
    Coap(Box<CoapUplink>),
    /// The ideal protocol.
    Ideal(IdealUplink),
}

impl Uplink {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>, queue: &mut Queue) -> bool {
        match self {
            Uplink::Tcp(uplink) => uplink.poll(now, &mut Tcp::Own(node), queue),
            Uplink::Coap(uplink) => uplink.poll(now, node, queue),
            Uplink::Ideal(uplink) => uplink.poll(now, node, queue),
        }
    }

    fn deadline(&self, queue: &Queue) -> Option<Instant> {
        match self {
            Uplink::Tcp(uplink) => uplink.deadline(),
            Uplink::Coap(uplink) => uplink.deadline(queue),
            Uplink::Ideal(uplink) => uplink.deadline(queue),
        }
    }

    /// Readings taken from the queue whose fate is open.
    fn held(&self) -> BTreeSet<u32> {
        match self {
            Uplink::Tcp(uplink) => uplink.held().collect(),
            Uplink::Coap(uplink) => uplink.held().collect(),
            Uplink::Ideal(uplink) => uplink.held().collect(),
        }
    }
}

/// When readings are made, and how many of them wait for what.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// The first reading.
    pub start: Instant,
    /// From one to the next.
    pub period: Duration,
    /// Readings that must wait before any is sent, at least 1.
    pub batch: usize,
    /// Readings that can wait, at least `batch`.
    pub queue: usize,
}

/// The sensor.
pub struct Anemometer {
    next: Instant,
    period: Duration,
    queue: Queue,
    uplink: Uplink,
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
    /// A sensor whose readings leave by `uplink`.
    pub fn new(sampling: Sampling, uplink: Uplink) -> Self {
        let Sampling { start, period, batch, queue } = sampling;
        Anemometer { next: start, period, queue: Queue::new(batch, queue), uplink }
    }

    /// What became of the readings, given the sink at which they arrive.
    pub fn counts(&self, sink: &ReadingSink) -> Counts {
        let mut held = self.uplink.held();
        held.extend(self.queue.waiting());
        let held = held.into_iter().filter(|number| !sink.has(*number)).count() as u32;
        let (generated, delivered) = (self.queue.generated(), sink.delivered());
        let lost = generated.saturating_sub(delivered).saturating_sub(held);
        Counts { generated, delivered, dropped: self.queue.dropped(), lost }
    }

    /// What carries its readings.
    pub fn uplink(&self) -> &Uplink {
        &self.uplink
    }
}

impl Anemometer {
    /// Takes a sample if it is time; whether it was.
    fn sample(&mut self, now: Instant) -> bool {
        let sampled = now >= self.next;
        if sampled {
            self.next += self.period;
            self.queue.sample();
        }
        sampled
    }
}

/// Over TCP only: with another uplink it sends nothing.
impl StreamApp<Socket> for Anemometer {
    fn turn<S: Sockets<Handle = Socket>>(&mut self, now: Instant, tcp: &mut S) -> bool {
        let sampled = self.sample(now);
        match &mut self.uplink {
            Uplink::Tcp(uplink) => uplink.poll(now, tcp, &mut self.queue) | sampled,
            Uplink::Coap(_) | Uplink::Ideal(_) => sampled,
        }
    }

    fn due(&self) -> Option<Instant> {
        earliest(Some(self.next), self.uplink.deadline(&self.queue))
    }
}

impl App for Anemometer {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        let sampled = self.sample(now);
        self.uplink.poll(now, node, &mut self.queue) | sampled
    }

    fn deadline(&self) -> Option<Instant> {
        earliest(Some(self.next), self.uplink.deadline(&self.queue))
    }

    fn expected(&self, now: Instant) -> Option<Expected> {
        match &self.uplink {
            Uplink::Coap(uplink) => uplink.expected(now),
            _ => None,
        }
    }

    fn messages(&self) -> (u32, u32) {
        match &self.uplink {
            Uplink::Coap(uplink) => uplink.messages(),
            _ => (0, 0),
        }
    }
}
