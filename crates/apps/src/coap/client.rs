//! A client that sends one request after another, block-wise if necessary.

use super::server::exponent_of;
use super::socket::Socket;
use crate::app::App;
use crate::sockets::Peer;
use kinglet::{Each, Node, Profile};
use kinglet_coap::{
    CoapConfig, Code, Delivery, Download, Event, Handle, Message, Sizes, Stats, TransferError,
    Upload, UploadStep, WriteError, Writer, option,
};
use kinglet_mem::copy;
use kinglet_time::{Expected, Instant, earliest};

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    code: Code,
    path: &'a str,
    /// Octets of the body, which [`Asker::read`] provides.
    length: u32,
    /// Largest number of octets of a block.
    block: u16,
}

impl<'a> Request<'a> {
    /// Creates a GET of a path, in blocks of at most `block` octets: a power of two, 16 to 1024.
    pub const fn get(path: &'a str, block: u16) -> Self {
        Request { code: Code::GET, path, length: 0, block }
    }

    /// Creates a PUT of a body of `length` octets.
    pub const fn put(path: &'a str, block: u16, length: u32) -> Self {
        Request { code: Code::PUT, length, ..Self::get(path, block) }
    }

    /// Creates a POST of a body of `length` octets.
    pub const fn post(path: &'a str, block: u16, length: u32) -> Self {
        Request { code: Code::POST, length, ..Self::get(path, block) }
    }
}

/// Reason for which a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A message of it does not fit into the buffers of the plan.
    NoRoom,
    /// No response, or a Reset.
    Lost(kinglet_coap::Failure),
    /// The server refused it, or the blocks did not form a body.
    Transfer(TransferError),
}

/// Source of requests, and recipient of their responses.
pub trait Asker {
    /// Returns the time of the next request; `None` if there is none. Not called while a request is
    /// outstanding.
    fn next(&self) -> Option<Instant>;

    /// Returns the server.
    fn to(&self) -> Peer;

    /// Returns the request. It stays the same until it is answered.
    fn request(&self) -> Request<'_>;

    /// Fills `out` with octets of the request's body, starting at octet `at`.
    fn read(&self, _at: u32, _out: &mut [u8]) {}

    /// Receives the next octets of the response's body.
    fn take(&mut self, octets: &[u8]);

    /// Handles the end of the request that began at `since`: its response, or the reason for its
    /// failure.
    fn end(&mut self, now: Instant, since: Instant, outcome: Result<(), Failure>);
}

#[derive(Clone, Copy, Debug)]
enum Transfer {
    Down(Download),
    Up(Upload),
}

/// An outstanding request.
#[derive(Clone, Copy, Debug)]
struct Open {
    since: Instant,
    transfer: Transfer,
    /// The exchange for its next block.
    exchange: Option<Handle>,
    outcome: Option<Result<(), Failure>>,
    /// The Echo option of the next request of the transfer.
    echo: Option<Echo>,
}

/// The value of an Echo option (RFC 9175 §2.2.1): 1 to 40 octets.
#[derive(Clone, Copy, Debug)]
struct Echo {
    octets: [u8; 40],
    len: usize,
}

impl Echo {
    fn of(response: &Message<'_>) -> Option<Self> {
        let value = response.values(option::ECHO).next()?;
        let mut octets = [0; 40];
        let len = copy(&mut octets, value);
        Some(Echo { octets, len })
    }

    fn write(&self, request: &mut Writer<'_>) -> Result<(), WriteError> {
        request.option(option::ECHO, self.octets.get(..self.len).unwrap_or_default())
    }
}

/// A client that sends the requests of `A`, one at a time.
pub struct Client<A, Z: Sizes> {
    socket: Socket<Z>,
    asker: A,
    open: Option<Open>,
}

impl<A: Asker, Z: Sizes> Client<A, Z> {
    /// Creates a client at a port of its own.
    pub const fn new(config: CoapConfig, asker: A) -> Self {
        Client { socket: Socket::new(0, config), asker, open: None }
    }

    /// Returns the source of requests.
    pub const fn asker(&self) -> &A {
        &self.asker
    }

    /// Returns the source of requests, to change it.
    pub const fn asker_mut(&mut self) -> &mut A {
        &mut self.asker
    }

    /// Returns the counters of its endpoint.
    pub const fn stats(&self) -> Stats {
        self.socket.stats()
    }

    fn begin(&mut self, now: Instant) {
        let Request { code, length, block, .. } = self.asker.request();
        let exponent = exponent_of(block);
        let transfer = if code == Code::GET {
            Transfer::Down(Download::new(exponent))
        } else {
            let length = usize::try_from(length).unwrap_or(usize::MAX);
            Transfer::Up(Upload::new(length, exponent))
        };
        self.open = Some(Open { since: now, transfer, exchange: None, outcome: None, echo: None });
    }

    /// Sends the request for the next block, if none is outstanding.
    fn ask(&mut self, now: Instant) {
        let Some(open) = &mut self.open else { return };
        if open.exchange.is_some() || open.outcome.is_some() {
            return;
        }
        let (asker, transfer, echo) = (&self.asker, open.transfer, open.echo);
        let made = self.socket.endpoint().request(
            now,
            asker.to(),
            Delivery::Confirmable,
            asker.request().code,
            |request| write(request, transfer, echo, asker),
        );
        if made.is_err() {
            open.outcome = Some(Err(Failure::NoRoom));
        }
        open.exchange = made.ok();
    }

    /// Reports the end of a request. Returns whether one has ended.
    fn end(&mut self, now: Instant) -> bool {
        let Some(open) = self.open.take_if(|open| open.outcome.is_some()) else { return false };
        if let Some(outcome) = open.outcome {
            self.asker.end(now, open.since, outcome);
        }
        true
    }
}

fn write(
    request: &mut Writer<'_>,
    transfer: Transfer,
    echo: Option<Echo>,
    asker: &impl Asker,
) -> Result<(), WriteError> {
    request.path(asker.request().path)?;
    match &transfer {
        Transfer::Down(download) => download.write(request)?,
        Transfer::Up(upload) => upload.write(request)?,
    }
    echo.map_or(Ok(()), |echo| echo.write(request))?;
    match transfer {
        Transfer::Down(_) => Ok(()),
        Transfer::Up(upload) => {
            let range = upload.range();
            let at = u32::try_from(range.start).unwrap_or(u32::MAX);
            asker.read(at, request.payload_space(range.len())?);
            Ok(())
        }
    }
}

impl Open {
    /// Handles the response to the outstanding exchange.
    fn take(&mut self, response: &Message<'_>, asker: &mut impl Asker) {
        self.exchange = None;
        let echoed = core::mem::replace(&mut self.echo, Echo::of(response));
        // The client proves its address with the same request (RFC 9175 §2.3), once.
        if response.header.code == Code::UNAUTHORIZED && echoed.is_none() && self.echo.is_some() {
            return;
        }
        let is_over = match &mut self.transfer {
            Transfer::Down(download) => download.handle(response).map(|piece| {
                asker.take(piece.data);
                piece.is_last
            }),
            Transfer::Up(upload) => upload.handle(response).map(|step| {
                let is_done = step == UploadStep::Done;
                if is_done {
                    asker.take(response.payload);
                }
                is_done
            }),
        };
        self.outcome = match is_over {
            Ok(false) => None,
            Ok(true) => Some(Ok(())),
            Err(error) => Some(Err(Failure::Transfer(error))),
        };
    }
}

impl<A: Asker, Z: Sizes> App for Client<A, Z> {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        if self.open.is_none() && self.asker.next().is_some_and(|at| at <= now) {
            self.begin(now);
        }
        self.ask(now);
        let (open, asker) = (&mut self.open, &mut self.asker);
        let mut busy = self.socket.poll(now, node, |_, _, event| {
            if let (Event::Response { handle, message }, Some(open)) = (event, open.as_mut())
                && open.exchange == Some(handle)
            {
                open.take(&message, asker);
            }
        });
        while let Some((handle, failure)) = self.socket.endpoint().poll_failure() {
            if let Some(open) = self.open.as_mut().filter(|it| it.exchange == Some(handle)) {
                open.outcome = Some(Err(Failure::Lost(failure)));
            }
            busy = true;
        }
        busy | self.end(now)
    }

    fn deadline(&self) -> Option<Instant> {
        let next = if self.open.is_none() { self.asker.next() } else { None };
        earliest(next, self.socket.deadline())
    }

    fn expected(&self, now: Instant) -> Option<Expected> {
        self.socket.expected(now)
    }

    fn messages(&self) -> (u32, u32) {
        self.socket.messages()
    }

    fn reasons(&self, each: &mut Each<'_>) {
        self.socket.reasons(each);
    }
}
