//! Requests at random times, measured from their dispatch to the last octet of the response (TCPlp
//! §8.1).

use super::CoapPlan;
use crate::apps::site::digest_line;
use kinglet::time::{Duration, Expected, Instant};
use kinglet::{Each, Node, Profile};
use kinglet_apps::coap::{Asker, Client, Failure, Peer, Request};
use kinglet_apps::{App, fill, is_intact};
use kinglet_coap::{CoapConfig, Stats};
use kinglet_scenario::Method;
use kinglet_sim::rng::Stream;
use sha2::{Digest, Sha256};

/// Parameters of the requests.
#[derive(Clone, Copy, Debug)]
pub struct Requests {
    /// The server.
    pub to: Peer,
    /// Direction of the body.
    pub method: Method,
    /// Earliest time of the first request.
    pub start: Instant,
    /// Octets of the body.
    pub bytes: u32,
    /// Maximum octets of a block: a power of two, 16 to 1024.
    pub block: u16,
    /// Mean pause between a response and the next request; the pause is uniform between zero and
    /// twice the mean.
    pub pause: Duration,
}

/// A transferred body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Time at which its first request was dispatched.
    pub at: Instant,
    /// Time until the last octet of the last response.
    pub latency: Duration,
}

/// Makes the requests and measures them.
struct Questions {
    requests: Requests,
    path: String,
    random: Stream,
    next: Instant,
    /// Expected response to an upload.
    digest: String,
    /// Octets of the response received so far.
    received: usize,
    answered: Vec<Exchange>,
    failed: u32,
    intact: bool,
}

/// The client.
pub struct CoapClient(Client<Questions, CoapPlan>);

impl CoapClient {
    /// Creates a client that draws its pauses from `random`.
    pub fn new(requests: Requests, config: CoapConfig, random: Stream) -> Self {
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

    /// Successful transfers, in order.
    pub fn answered(&self) -> &[Exchange] {
        &self.0.asker().answered
    }

    /// Number of failed transfers.
    pub fn failed(&self) -> u32 {
        self.0.asker().failed
    }

    /// Time at which the current transfer began or the next one begins.
    pub fn next(&self) -> Instant {
        self.0.asker().next
    }

    /// Counters of the CoAP endpoint.
    pub fn stats(&self) -> Stats {
        self.0.stats()
    }

    /// Octets of a body.
    pub fn bytes(&self) -> u32 {
        self.0.asker().requests.bytes
    }

    /// True if every octet was correct at both ends.
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

/// Expected response of the server to `bytes` octets of the known stream.
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
