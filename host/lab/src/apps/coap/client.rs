//! Requests at random times, measured from the dispatch to the last octet of the answer
//! (TCPlp §8.1).

use super::CoapPlan;
use crate::apps::site::digest_line;
use kinglet::time::{Duration, Expected, Instant};
use kinglet::{Each, Node, Profile};
use kinglet_apps::coap::{Asker, Client, Failure, Peer, Request};
use kinglet_apps::{App, fill, is_intact};
use kinglet_coap::{Config, Stats};
use kinglet_sim::rng::Stream;
use sha2::{Digest, Sha256};

/// What is done with the server's resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// `GET /bytes/N`
    Get,
    /// `PUT /upload`
    Put,
}

/// What is asked, and when.
#[derive(Clone, Copy, Debug)]
pub struct Requests {
    /// The server.
    pub to: Peer,
    /// Which way octets go.
    pub method: Method,
    /// Not before this.
    pub start: Instant,
    /// Octets of the body.
    pub bytes: u32,
    /// Octets of a block at most: a power of two, 16 to 1024.
    pub block: u16,
    /// Mean pause between an answer and the next request; the pause is uniform between nothing and
    /// the double.
    pub pause: Duration,
}

/// A body that was transferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// When its first request was dispatched.
    pub at: Instant,
    /// Until the last octet of the last answer.
    pub latency: Duration,
}

/// Asks, and measures.
struct Questions {
    requests: Requests,
    path: String,
    random: Stream,
    next: Instant,
    /// What is answered to an upload.
    digest: String,
    /// Octets of the answer that have come.
    received: usize,
    answered: Vec<Exchange>,
    failed: u32,
    intact: bool,
}

/// The client.
pub struct CoapClient(Client<Questions, CoapPlan>);

impl CoapClient {
    /// A client that draws its pauses from `random`.
    pub fn new(requests: Requests, config: Config, random: Stream) -> Self {
        let Requests { method, bytes, start, .. } = requests;
        let (path, digest) = match method {
            Method::Get => (format!("/bytes/{bytes}"), String::new()),
            Method::Put => ("/upload".to_owned(), expected_digest(bytes)),
        };
        let mut questions = Questions {
            requests,
            path,
            random,
            next: start,
            digest,
            received: 0,
            answered: Vec::new(),
            failed: 0,
            intact: true,
        };
        questions.pause(start);
        CoapClient(Client::new(config, questions))
    }

    /// The transfers that have ended well, in order.
    pub fn answered(&self) -> &[Exchange] {
        &self.0.asker().answered
    }

    /// Transfers that came to nothing.
    pub fn failed(&self) -> u32 {
        self.0.asker().failed
    }

    /// When the transfer under way began, or the next one will.
    pub fn next(&self) -> Instant {
        self.0.asker().next
    }

    /// The counters of its endpoint.
    pub fn stats(&self) -> Stats {
        self.0.stats()
    }

    /// Octets of a body.
    pub fn bytes(&self) -> u32 {
        self.0.asker().requests.bytes
    }

    /// Whether every octet was the right one, at either end.
    pub fn intact(&self) -> bool {
        self.0.asker().intact
    }
}

impl Questions {
    fn pause(&mut self, now: Instant) {
        let longest = 2.0 * self.requests.pause.as_micros() as f64;
        self.next = now + Duration::from_micros((self.random.unit() * longest) as u64);
    }
}

impl Asker for Questions {
    fn next(&self) -> Option<Instant> {
        Some(self.next)
    }

    fn to(&self) -> Peer {
        self.requests.to
    }

    fn request(&self) -> Request<'_> {
        let Requests { method, bytes, block, .. } = self.requests;
        match method {
            Method::Get => Request::get(&self.path, block),
            Method::Put => Request::put(&self.path, block, bytes),
        }
    }

    fn read(&self, at: u32, out: &mut [u8]) {
        fill(at.into(), out);
    }

    fn take(&mut self, octets: &[u8]) {
        let end = self.received + octets.len();
        self.intact &= match self.requests.method {
            Method::Get => is_intact(self.received as u64, octets),
            Method::Put => self.digest.as_bytes().get(self.received..end) == Some(octets),
        };
        self.received = end;
    }

    fn end(&mut self, now: Instant, since: Instant, outcome: Result<(), Failure>) {
        let received = std::mem::take(&mut self.received);
        if outcome.is_ok() {
            let whole = match self.requests.method {
                Method::Get => self.requests.bytes as usize,
                Method::Put => self.digest.len(),
            };
            self.intact &= received == whole;
            let latency = now.checked_since(since).unwrap_or_default();
            self.answered.push(Exchange { at: since, latency });
        } else {
            self.failed += 1;
        }
        self.pause(now);
    }
}

/// What the server says of `bytes` octets of the known stream.
fn expected_digest(bytes: u32) -> String {
    let mut body = vec![0; bytes as usize];
    fill(0, &mut body);
    digest_line(bytes, Sha256::digest(body).into())
}

impl App for CoapClient {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        self.0.poll(now, node)
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.deadline()
    }

    fn expected(&self, now: Instant) -> Option<Expected> {
        self.0.expected(now)
    }

    fn messages(&self) -> (u32, u32) {
        self.0.messages()
    }

    fn reasons(&self, each: &mut Each<'_>) {
        self.0.reasons(each);
    }
}
