//! An HTTP/1.1 client that asks at random times, each time over a new connection, and measures from
//! the dispatch of a request to the last octet of its answer (TCPlp §8.1).

use core::net::Ipv6Addr;
use kinglet::tcp::{ConnectionConfig, ConnectionError, Handle, RecvError};
use kinglet::time::{Duration, Instant};
use kinglet::{Node, Profile};
use kinglet_apps::{App, BackOff, is_intact};
use kinglet_sim::rng::Stream;

/// Octets read at a time.
const CHUNK: usize = 1024;
/// A server that has started anew, or has given the connection up, says nothing any more, and TCP
/// does not find that out while it has nothing to send. So who waits for an answer gives it up
/// after the user timeout of RFC 9293 (3.10.1).
const PATIENCE: Duration = Duration::from_secs(300);
/// Header fields of an answer.
const MAX_FIELDS: usize = 16;

/// What is asked, and when.
#[derive(Clone, Copy, Debug)]
pub struct Requests {
    /// The server.
    pub to: (Ipv6Addr, u16),
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
    /// It travelled in the SYN, and the server took it.
    pub fast_open: bool,
}

struct Request {
    handle: Handle,
    at: Instant,
    /// When something of the answer last came, or the request was dispatched.
    heard: Instant,
    answer: Vec<u8>,
}

/// The client.
pub struct HttpClient {
    requests: Requests,
    random: Stream,
    next: Instant,
    open: Option<Request>,
    answered: Vec<Answered>,
    failed: u32,
    intact: bool,
    /// The request that is over was refused.
    is_refused: bool,
    /// After refusals.
    back_off: BackOff,
}

impl HttpClient {
    /// A client that draws its pauses from `random`.
    pub fn new(requests: Requests, random: Stream) -> Self {
        let (next, answered) = (requests.start, Vec::new());
        let mut client = HttpClient {
            requests,
            random,
            next,
            open: None,
            answered,
            failed: 0,
            intact: true,
            is_refused: false,
            back_off: BackOff::default(),
        };
        client.pause(requests.start);
        client
    }

    /// The requests that were answered, in order.
    pub fn answered(&self) -> &[Answered] {
        &self.answered
    }

    /// Connections that ended before the answer was complete.
    pub fn failed(&self) -> u32 {
        self.failed
    }

    /// Octets of the body asked for.
    pub fn bytes(&self) -> u32 {
        self.requests.bytes
    }

    /// Whether every answer was what was asked for.
    pub fn intact(&self) -> bool {
        self.intact
    }

    fn pause(&mut self, now: Instant) {
        let longest = 2.0 * self.requests.pause.as_micros() as f64;
        self.next = now + Duration::from_micros((self.random.unit() * longest) as u64);
    }

    /// The same after nobody could be asked: longer each time, however short pauses are.
    fn pause_longer(&mut self, now: Instant) {
        self.pause(now);
        self.back_off.refused(now);
        self.next = self.next.max(self.back_off.at());
    }

    fn dispatch<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) {
        let Requests { to: (address, port), bytes, config, .. } = self.requests;
        let Ok(handle) = node.streams().connect(now, address, port, config) else {
            self.failed += 1;
            self.pause_longer(now);
            return;
        };
        let request =
            format!("GET /bytes/{bytes} HTTP/1.1\r\nHost: m\r\nConnection: close\r\n\r\n");
        // An empty send buffer takes it.
        let _ = node.streams().send(handle, request.as_bytes());
        self.open = Some(Request { handle, at: now, heard: now, answer: Vec::new() });
    }

    /// Reads what has arrived; whether the request is over.
    fn read<P: Profile>(
        &mut self,
        now: Instant,
        request: &mut Request,
        node: &mut Node<P>,
    ) -> bool {
        let mut chunk = [0; CHUNK];
        loop {
            match node.streams().recv(request.handle, &mut chunk) {
                Ok(len @ 1..) => {
                    request.answer.extend(&chunk[..len]);
                    request.heard = now;
                }
                Err(RecvError::WouldBlock) if now < request.heard + PATIENCE => return false,
                Err(RecvError::Ended(ConnectionError::Refused)) => {
                    self.failed += 1;
                    self.is_refused = true;
                    return true;
                }
                Ok(0) | Err(_) => {
                    self.failed += 1;
                    return true;
                }
            }
            let Some(body) = body(&request.answer) else { continue };
            if body.len() < self.requests.bytes as usize {
                continue;
            }
            self.back_off = BackOff::default();
            self.intact &= body.len() == self.requests.bytes as usize && is_intact(0, body);
            let info = node.tcp().info(request.handle);
            self.answered.push(Answered {
                at: request.at,
                latency: now.checked_since(request.at).unwrap_or_default(),
                fast_open: info.is_some_and(|info| info.fast_open),
            });
            return true;
        }
    }
}

/// The body of an answer whose head is there and tells of success.
fn body(answer: &[u8]) -> Option<&[u8]> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut head = httparse::Response::new(&mut fields);
    match head.parse(answer) {
        Ok(httparse::Status::Complete(len)) if head.code == Some(200) => answer.get(len..),
        _ => None,
    }
}

impl App for HttpClient {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        match self.open.take() {
            Some(mut request) => {
                let over = self.read(now, &mut request, node);
                if over {
                    let _ = node.streams().close(request.handle);
                    match std::mem::take(&mut self.is_refused) {
                        true => self.pause_longer(now),
                        false => self.pause(now),
                    }
                } else {
                    self.open = Some(request);
                }
                over
            }
            None if now >= self.next => {
                self.dispatch(now, node);
                true
            }
            None => false,
        }
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.open.as_ref().map_or(self.next, |request| request.heard + PATIENCE))
    }
}
