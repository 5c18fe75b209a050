//! Requests at random times, each over a new connection, measured from the dispatch to the last
//! octet of the answer (TCPlp §8.1).

use super::tcp::Socket;
use kinglet::tcp::ConnectionConfig;
use kinglet::time::{Duration, Instant};
use kinglet_apps::http::{Asker, Client, Failure, Request};
use kinglet_apps::{Peer, Sockets, StreamApp, is_intact};
use kinglet_sim::rng::Stream;

/// The longest line of an answer that is read.
const LINE: usize = 256;

/// What is asked, and when.
#[derive(Clone, Copy, Debug)]
pub struct Requests {
    /// The server.
    pub to: Peer,
    /// Not before this.
    pub start: Instant,
    /// Octets of the body asked for.
    pub bytes: u32,
    /// Mean pause between an answer and the next request; the pause is uniform between nothing and
    /// the double.
    pub pause: Duration,
    /// Settings of the connections.
    pub config: ConnectionConfig,
}

/// A request that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// When it was dispatched.
    pub at: Instant,
    /// Until the last octet of the answer.
    pub latency: Duration,
}

/// Asks, and measures.
struct Questions {
    to: Peer,
    bytes: u32,
    path: String,
    pause: Duration,
    random: Stream,
    next: Instant,
    /// Octets of the body that have come.
    received: u32,
    answered: Vec<Answered>,
    failed: u32,
    intact: bool,
}

/// The client.
pub struct HttpClient(Client<Questions, [u8; LINE], Socket>);

impl HttpClient {
    /// A client that draws its pauses from `random`.
    pub fn new(requests: Requests, random: Stream) -> Self {
        let Requests { to, start, bytes, pause, config } = requests;
        let mut questions = Questions {
            to,
            bytes,
            path: format!("/bytes/{bytes}"),
            pause,
            random,
            next: start,
            received: 0,
            answered: Vec::new(),
            failed: 0,
            intact: true,
        };
        questions.pause(start);
        HttpClient(Client::new(config, questions))
    }

    /// The requests that were answered, in order.
    pub fn answered(&self) -> &[Answered] {
        &self.0.asker().answered
    }

    /// Connections that ended before the answer was complete.
    pub fn failed(&self) -> u32 {
        self.0.asker().failed
    }

    /// When the request under way was dispatched, or the next one will be.
    pub fn next(&self) -> Instant {
        self.0.asker().next
    }

    /// Octets of the body asked for.
    pub fn bytes(&self) -> u32 {
        self.0.asker().bytes
    }

    /// Whether every answer was what was asked for.
    pub fn intact(&self) -> bool {
        self.0.asker().intact
    }
}

impl Questions {
    fn pause(&mut self, now: Instant) {
        let longest = 2.0 * self.pause.as_micros() as f64;
        self.next = now + Duration::from_micros((self.random.unit() * longest) as u64);
    }
}

impl Asker for Questions {
    fn next(&self) -> Option<Instant> {
        Some(self.next)
    }

    fn to(&self) -> Peer {
        self.to
    }

    fn request(&self) -> Request<'_> {
        Request::get("m", &self.path).last()
    }

    fn take(&mut self, octets: &[u8]) {
        self.intact &= is_intact(self.received.into(), octets);
        self.received += octets.len() as u32;
    }

    fn end(&mut self, now: Instant, since: Instant, outcome: Result<u16, Failure>) {
        let received = std::mem::take(&mut self.received);
        if outcome == Ok(200) {
            self.intact &= received == self.bytes;
            let latency = now.checked_since(since).unwrap_or_default();
            self.answered.push(Answered { at: since, latency });
        } else {
            self.failed += 1;
        }
        self.pause(now);
    }
}

impl StreamApp<Socket> for HttpClient {
    fn turn<S: Sockets<Handle = Socket>>(&mut self, now: Instant, sockets: &mut S) -> bool {
        self.0.turn(now, sockets)
    }

    fn due(&self) -> Option<Instant> {
        self.0.due()
    }
}
