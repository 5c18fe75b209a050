//! A CoAP client that asks at random times and measures from the dispatch of a request to the last
//! octet of its answer (TCPlp §8.1).

use super::CoapSocket;
use crate::apps::site::digest_line;
use kinglet::time::{Duration, Expected, Instant};
use kinglet::{Node, Profile};
use kinglet_apps::coap::{Peer, exponent_of};
use kinglet_apps::{App, fill, is_intact};
use kinglet_coap::{
    Code, Config, Delivery, Download, Event, Handle, Message, Stats, Upload, UploadStep,
    WriteError, Writer,
};
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

#[derive(Clone, Copy)]
enum Transfer {
    Down(Download),
    Up(Upload),
}

struct Open {
    at: Instant,
    transfer: Transfer,
    /// The request under way.
    request: Option<Handle>,
    /// When that could not be made.
    failed: bool,
    done: bool,
}

/// The client.
pub struct CoapClient {
    requests: Requests,
    random: Stream,
    next: Instant,
    socket: CoapSocket,
    open: Option<Open>,
    answered: Vec<Exchange>,
    failed: u32,
    intact: bool,
}

impl CoapClient {
    /// A client that draws its pauses from `random`.
    pub fn new(requests: Requests, config: Config, random: Stream) -> Self {
        let mut client = CoapClient {
            requests,
            random,
            next: requests.start,
            socket: CoapSocket::new(0, config),
            open: None,
            answered: Vec::new(),
            failed: 0,
            intact: true,
        };
        client.pause(requests.start);
        client
    }

    /// The transfers that have ended well, in order.
    pub fn answered(&self) -> &[Exchange] {
        &self.answered
    }

    /// Transfers that came to nothing.
    pub fn failed(&self) -> u32 {
        self.failed
    }

    /// The counters of its endpoint.
    pub fn stats(&self) -> Stats {
        self.socket.stats()
    }

    /// Octets of a body.
    pub fn bytes(&self) -> u32 {
        self.requests.bytes
    }

    /// Whether every octet was the right one, at either end.
    pub fn intact(&self) -> bool {
        self.intact
    }

    fn pause(&mut self, now: Instant) {
        let longest = 2.0 * self.requests.pause.as_micros() as f64;
        self.next = now + Duration::from_micros((self.random.unit() * longest) as u64);
    }

    fn begin(&mut self, now: Instant) {
        let Requests { method, bytes, block, .. } = self.requests;
        let transfer = match method {
            Method::Get => Transfer::Down(Download::new(exponent_of(block))),
            Method::Put => Transfer::Up(Upload::new(bytes as usize, exponent_of(block))),
        };
        self.open = Some(Open { at: now, transfer, request: None, failed: false, done: false });
    }

    /// Sends the request for the next block, if none is under way.
    fn ask(&mut self, now: Instant) {
        let Requests { to, bytes, .. } = self.requests;
        let Some(open) = &mut self.open else { return };
        if open.request.is_some() || open.done || open.failed {
            return;
        }
        let (code, transfer) = match open.transfer {
            Transfer::Down(_) => (Code::GET, open.transfer),
            Transfer::Up(_) => (Code::PUT, open.transfer),
        };
        let endpoint = self.socket.endpoint();
        let made = endpoint.request(now, to, Delivery::Confirmable, code, |request| {
            write(request, transfer, bytes)
        });
        open.failed = made.is_err();
        open.request = made.ok();
    }

    /// Closes the books on a transfer that is over; whether one was.
    fn end(&mut self, now: Instant) -> bool {
        let Some(open) = self.open.take_if(|open| open.done || open.failed) else { return false };
        if open.done {
            let latency = now.checked_since(open.at).unwrap_or_default();
            self.answered.push(Exchange { at: open.at, latency });
        } else {
            self.failed += 1;
        }
        self.pause(now);
        true
    }
}

fn write(request: &mut Writer<'_>, transfer: Transfer, bytes: u32) -> Result<(), WriteError> {
    match transfer {
        Transfer::Down(download) => {
            request.path(&format!("bytes/{bytes}"))?;
            download.write(request)
        }
        Transfer::Up(upload) => {
            request.path("upload")?;
            upload.write(request)?;
            let range = upload.range();
            fill(range.start as u64, request.payload_space(range.len())?);
            Ok(())
        }
    }
}

impl Open {
    /// Takes the response to the request under way; whether it was what had to come.
    fn take(&mut self, response: &Message<'_>, bytes: u32) -> bool {
        self.request = None;
        match &mut self.transfer {
            Transfer::Down(download) => match download.handle(response) {
                Ok(piece) => {
                    let end = piece.offset + piece.data.len();
                    self.done = piece.is_last;
                    is_intact(piece.offset as u64, piece.data)
                        && (!piece.is_last || end == bytes as usize)
                }
                Err(_) => {
                    self.failed = true;
                    true
                }
            },
            Transfer::Up(upload) => match upload.handle(response) {
                Ok(UploadStep::Next) => true,
                Ok(UploadStep::Done) => {
                    self.done = true;
                    response.payload == expected_digest(bytes).as_bytes()
                }
                Err(_) => {
                    self.failed = true;
                    true
                }
            },
        }
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
        if self.open.is_none() && now >= self.next {
            self.begin(now);
        }
        self.ask(now);
        let (open, bytes) = (&mut self.open, self.requests.bytes);
        let mut intact = true;
        let mut busy = self.socket.poll(now, node, |_, _, event| {
            if let (Event::Response { handle, message }, Some(open)) = (event, open.as_mut())
                && open.request == Some(handle)
            {
                intact &= open.take(&message, bytes);
            }
        });
        self.intact &= intact;
        while let Some((handle, _)) = self.socket.endpoint().poll_failure() {
            if let Some(open) = self.open.as_mut().filter(|open| open.request == Some(handle)) {
                open.failed = true;
            }
            busy = true;
        }
        busy | self.end(now)
    }

    fn deadline(&self) -> Option<Instant> {
        if self.open.is_none() {
            return kinglet::time::earliest(Some(self.next), self.socket.deadline());
        }
        self.socket.deadline()
    }

    fn expected(&self, now: Instant) -> Option<Expected> {
        self.socket.expected(now)
    }

    fn messages(&self) -> (u32, u32) {
        self.socket.messages()
    }
}
