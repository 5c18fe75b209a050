//! Datagrams of scenarios, with the times of their sending and reception.

use kinglet::time::{Duration, Instant};
use kinglet::{Node, Profile};
use kinglet_apps::App;
use kinglet_apps::udp::{Bulk, Sender, Sink, number_of};
use kinglet_sim::rng::Stream;

/// Storage for any datagram: the longest packet in a scenario's mesh has 1552 octets.
type Datagram = [u8; 1_552 - 40 - 8];

/// Sends numbered datagrams.
pub struct UdpSender {
    source: Source,
    /// Time at which each datagram was sent, or refused for lack of buffer space.
    times: Vec<Instant>,
}

enum Source {
    Periodic(Sender<Datagram>),
    /// The same with periods drawn from a range.
    Random(Sender<Datagram>, (Duration, Duration), Stream),
    Bulk(Bulk<Datagram>),
}

impl UdpSender {
    /// Sends a datagram every period.
    pub fn periodic(sender: Sender<Datagram>) -> Self {
        UdpSender { source: Source::Periodic(sender), times: Vec::new() }
    }

    /// Sends datagrams with periods drawn from `range`.
    pub fn random(sender: Sender<Datagram>, range: (Duration, Duration), random: Stream) -> Self {
        UdpSender { source: Source::Random(sender, range, random), times: Vec::new() }
    }

    /// Sends as many datagrams as the stack accepts.
    pub fn bulk(sender: Bulk<Datagram>) -> Self {
        UdpSender { source: Source::Bulk(sender), times: Vec::new() }
    }

    /// Number of datagrams sent, or refused for lack of buffer space.
    pub fn numbered(&self) -> u32 {
        match &self.source {
            Source::Periodic(sender) | Source::Random(sender, ..) => {
                sender.sent().wrapping_add(sender.refused())
            }
            Source::Bulk(bulk) => bulk.sent(),
        }
    }

    /// Time at which datagram `number` was sent.
    pub fn sent_at(&self, number: u32) -> Option<Instant> {
        self.times.get(number as usize).copied()
    }
}

impl App for UdpSender {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        let busy = match &mut self.source {
            Source::Periodic(sender) => sender.poll(now, node),
            Source::Random(sender, (least, most), random) => {
                if sender.deadline().is_some_and(|at| at <= now) {
                    let range = (*most - *least).as_micros() as f64;
                    let more = Duration::from_micros((random.unit() * range) as u64);
                    sender.set_period(*least + more);
                }
                sender.poll(now, node)
            }
            Source::Bulk(bulk) => bulk.poll(now, node),
        };
        self.times.resize(self.numbered() as usize, now);
        busy
    }

    fn deadline(&self) -> Option<Instant> {
        match &self.source {
            Source::Periodic(sender) | Source::Random(sender, ..) => sender.deadline(),
            Source::Bulk(bulk) => bulk.deadline(),
        }
    }
}

/// Counts received datagrams and records their times.
pub struct UdpSink {
    sink: Sink<Datagram>,
    arrivals: Vec<(u32, Instant)>,
}

impl UdpSink {
    /// A sink on `port`.
    pub const fn new(port: u16) -> Self {
        UdpSink { sink: Sink::with_room(port), arrivals: Vec::new() }
    }

    /// Number of received datagrams.
    pub const fn received(&self) -> u32 {
        self.sink.received()
    }

    /// Payload octets of the received datagrams.
    pub const fn bytes(&self) -> u64 {
        self.sink.bytes()
    }

    /// Numbers of the received datagrams with the times of reception by this node's clock.
    pub fn arrivals(&self) -> &[(u32, Instant)] {
        &self.arrivals
    }
}

impl App for UdpSink {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        let arrivals = &mut self.arrivals;
        self.sink.take(node, |octets| arrivals.extend(number_of(octets).map(|n| (n, now))))
    }

    fn deadline(&self) -> Option<Instant> {
        self.sink.deadline()
    }
}
