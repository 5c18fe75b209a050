//! A CoAP server with the resources of the web server (`http.rs`):
//!
//! | request | answer |
//! |---|---|
//! | `GET /` | a text about the node |
//! | `GET /.well-known/core` | the resources, in the format of RFC 6690 |
//! | `GET /bytes/N` | N octets of the known stream, block by block |
//! | `PUT` or `POST /upload` | length and SHA-256 of the body, which comes block by block |

use super::{CoapPlan, CoapSocket, Peer};
use crate::apps::{digest_line, fill};
use core::any::Any;
use kinglet::time::Instant;
use kinglet::{Node, Profile};
use kinglet_coap::{
    Code, Config, Endpoint, Event, MAX_EXPONENT, Message, Part, Reception, Ticket, option,
};
use kinglet_sim::App;
use sha2::{Digest, Sha256};

/// As many octets as block numbers of the largest blocks reach.
const MAX_BYTES: usize = 1 << 30;
/// What is in a body, for a client that asks (RFC 7252 §12.3).
const TEXT: u32 = 0;
const LINKS: u32 = 40;
const OCTETS: u32 = 42;

/// The server.
pub struct CoapServer {
    socket: CoapSocket,
    resources: Resources,
}

struct Resources {
    name: String,
    exponent: u8,
    upload: Reception<Peer>,
    hash: Sha256,
    served: u64,
    /// The request served last was for a block that is not the last one.
    goes_on: bool,
}

/// What a request gets.
enum Answer {
    /// This text.
    Text(String, u32),
    /// So many octets of the known stream.
    Stream(usize),
    /// It has its answer.
    Given,
}

impl CoapServer {
    /// A server on `port` whose text says `name`, with blocks of at most `block` octets (a power of
    /// two, 16 to 1024).
    pub fn new(port: u16, name: String, block: u16, config: Config) -> Self {
        let resources = Resources {
            name,
            exponent: exponent_of(block),
            upload: Reception::NEW,
            hash: Sha256::new(),
            served: 0,
            goes_on: false,
        };
        CoapServer { socket: CoapSocket::new(port, config), resources }
    }

    /// Requests answered; one for each block.
    pub fn served(&self) -> u64 {
        self.resources.served
    }
}

/// The size exponent of blocks of at most `block` octets.
pub(super) fn exponent_of(block: u16) -> u8 {
    (block.max(16).ilog2() as u8 - 4).min(MAX_EXPONENT)
}

impl Resources {
    fn handle(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint<Peer, CoapPlan>,
        peer: Peer,
        event: Event<'_>,
    ) {
        let Event::Request { ticket, message } = event else { return };
        self.served += 1;
        self.goes_on = false;
        let refused = match self.answer(now, endpoint, peer, ticket, &message) {
            Ok(Answer::Given) => return,
            Ok(Answer::Text(text, format)) => {
                let octets = text.as_bytes();
                self.respond(now, endpoint, (ticket, &message), octets.len(), format, |at, out| {
                    out.copy_from_slice(&octets[at..at + out.len()]);
                })
            }
            Ok(Answer::Stream(len)) => {
                self.respond(now, endpoint, (ticket, &message), len, OCTETS, |at, out| {
                    fill(at as u64, out);
                })
            }
            Err(code) => Err(code),
        };
        if let Err(code) = refused {
            // An empty answer fits, and the ticket is fresh.
            let _ = endpoint.respond(now, ticket, code, |_| Ok(()));
        }
    }

    fn answer(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint<Peer, CoapPlan>,
        peer: Peer,
        ticket: Ticket,
        message: &Message<'_>,
    ) -> Result<Answer, Code> {
        let get = message.header.code == Code::GET;
        let put = matches!(message.header.code, Code::PUT | Code::POST);
        let mut path = message.values(option::URI_PATH);
        match (path.next(), path.next(), path.next()) {
            (None | Some(b""), None, None) if get => {
                let up = now.as_micros() / 1_000_000;
                let text =
                    format!("{}, up for {up} s, {} requests served\n", self.name, self.served - 1);
                Ok(Answer::Text(text, TEXT))
            }
            (Some(b".well-known"), Some(b"core"), None) if get => {
                let links = "</>;ct=0,</bytes/10000>;ct=42;sz=10000,</upload>";
                Ok(Answer::Text(links.to_owned(), LINKS))
            }
            (Some(b"bytes"), Some(len), None) if get => {
                let len = core::str::from_utf8(len).ok().and_then(|len| len.parse().ok());
                let len = len.filter(|len| *len <= MAX_BYTES).ok_or(Code::NOT_FOUND)?;
                Ok(Answer::Stream(len))
            }
            (Some(b"upload"), None, None) if put => {
                self.upload(now, endpoint, peer, ticket, message).map(|()| Answer::Given)
            }
            (None | Some(b"" | b"upload"), None, None) => Err(Code::METHOD_NOT_ALLOWED),
            _ => Err(Code::NOT_FOUND),
        }
    }

    /// Answers with the part that is asked for of `len` octets, which `read` copies from where they
    /// are.
    fn respond(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint<Peer, CoapPlan>,
        (ticket, message): (Ticket, &Message<'_>),
        len: usize,
        format: u32,
        read: impl Fn(usize, &mut [u8]),
    ) -> Result<(), Code> {
        let part = Part::of(message, len, self.exponent)?;
        let range = part.range();
        self.goes_on = range.end < len;
        let done = endpoint.respond(now, ticket, Code::CONTENT, |response| {
            response.uint(option::CONTENT_FORMAT, format)?;
            part.write(response)?;
            read(range.start, response.payload_space(range.len())?);
            Ok(())
        });
        done.map_err(|_| Code::INTERNAL_SERVER_ERROR)
    }

    fn upload(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint<Peer, CoapPlan>,
        peer: Peer,
        ticket: Ticket,
        message: &Message<'_>,
    ) -> Result<(), Code> {
        let accepted = self.upload.handle(peer, message, MAX_BYTES, self.exponent)?;
        let piece = accepted.piece;
        self.goes_on = !piece.is_last;
        if piece.offset == 0 {
            self.hash = Sha256::new();
        }
        self.hash.update(piece.data);
        let total = (piece.offset + piece.data.len()) as u64;
        let line = piece.is_last.then(|| digest_line(total, &mut self.hash));
        let done = endpoint.respond(now, ticket, accepted.code(Code::CHANGED), |response| {
            if line.is_some() {
                response.uint(option::CONTENT_FORMAT, TEXT)?;
            }
            accepted.write(response)?;
            response.payload(line.unwrap_or_default().as_bytes())
        });
        done.map_err(|_| Code::INTERNAL_SERVER_ERROR)
    }
}

impl<P: Profile> App<P> for CoapServer {
    fn poll(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        let CoapServer { socket, resources } = self;
        let before = resources.served;
        let busy = socket.poll(now, node, |endpoint, peer, event| {
            resources.handle(now, endpoint, peer, event);
        });
        if resources.served > before {
            socket.expect_request(now, resources.goes_on);
        }
        busy
    }

    fn deadline(&self) -> Option<Instant> {
        self.socket.deadline()
    }

    fn messages(&self) -> (u32, u32) {
        self.socket.messages()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
