//! Requests at random times, each over a new connection, measured from the dispatch to the last
//! octet of the response (TCPlp §8.1).

use super::tcp::Socket;
use kinglet::tcp::ConnectionConfig;
use kinglet::time::{Duration, Instant};
use kinglet_apps::http::{Asker, Client, Failure, Request};
use kinglet_apps::{Peer, Sockets, StreamApp, is_intact};
use kinglet_sim::rng::Stream;

/// Longest line of a response that is parsed.
const LINE: usize = 256;

/// Parameters of the requests.
#[derive(Clone, Copy, Debug)]
pub struct Requests {
    /// The server.
    pub to: Peer,
    /// Earliest time of the first request.
    pub start: Instant,
    /// Octets of the requested body.
    pub bytes: u32,
    /// Mean pause between a response and the next request; the pause is uniform between zero and
    /// twice the mean.
    pub pause: Duration,
    /// Settings of the connections.
    pub config: ConnectionConfig,
}

/// A request with its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Time of its dispatch.
    pub at: Instant,
    /// Time until the last octet of the response.
    pub latency: Duration,
}

/// Makes the requests and measures them.
struct Questions {
    to: Peer,
    bytes: u32,
    path: String,
    pause: Duration,
    random: Stream,
    next: Instant,
    /// Octets of the body received so far.
    received: u32,
    answered: Vec<Answered>,
    failed: u32,
    intact: bool,
}

/// The client.
pub struct HttpClient(Client<Questions, [u8; LINE], Socket>);

impl HttpClient {
    /// Creates a client that draws its pauses from `random`.
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

    /// Requests with a complete response, in order.
    pub fn answered(&self) -> &[Answered] {
        &self.0.asker().answered
    }

    /// Connections that ended before the response was complete.
    pub fn failed(&self) -> u32 {
        self.0.asker().failed
    }

    /// Time at which the current request was dispatched or the next one will be.
    pub fn next(&self) -> Instant {
        self.0.asker().next
    }

    /// Octets of the requested body.
    pub fn bytes(&self) -> u32 {
        self.0.asker().bytes
    }

    /// True if every response was correct.
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
    fn step<S: Sockets<Handle = Socket>>(&mut self, now: Instant, sockets: &mut S) -> bool {
        self.0.step(now, sockets)
    }

    fn due(&self) -> Option<Instant> {
        self.0.due()
    }
}
