//! A client that asks for one thing after another, block by block where it takes several.

use super::server::exponent_of;
use super::socket::Socket;
use crate::app::App;
use crate::sockets::Peer;
use kinglet::{Each, Node, Profile};
use kinglet_coap::{
    Code, Config, Delivery, Download, Event, Handle, Message, Sizes, Stats, TransferError, Upload,
    UploadStep, WriteError, Writer, option,
};
use kinglet_mem::copy;
use kinglet_time::{Expected, Instant, earliest};

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    code: Code,
    path: &'a str,
    /// Octets of the body, which [`Asker::read`] has.
    length: u32,
    /// Octets of a block at most.
    block: u16,
}

impl<'a> Request<'a> {
    /// GET of a path, in blocks of at most `block` octets: a power of two, 16 to 1024.
    pub const fn get(path: &'a str, block: u16) -> Self {
        Request { code: Code::GET, path, length: 0, block }
    }

    /// PUT of a body of `length` octets.
    pub const fn put(path: &'a str, block: u16, length: u32) -> Self {
        Request { code: Code::PUT, length, ..Self::get(path, block) }
    }

    /// POST of a body of `length` octets.
    pub const fn post(path: &'a str, block: u16, length: u32) -> Self {
        Request { code: Code::POST, length, ..Self::get(path, block) }
    }
}

/// Why a request came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A message of it does not fit into those of the plan.
    NoRoom,
    /// No answer, or a Reset.
    Lost(kinglet_coap::Failure),
    /// The server refused it, or the blocks did not make a body.
    Transfer(TransferError),
}

/// Who asks, and takes the answers.
pub trait Asker {
    /// When it wants to ask; `None` if it does not. Not looked at while a request is under way.
    fn next(&self) -> Option<Instant>;

    /// Whom.
    fn to(&self) -> Peer;

    /// What. It stays the same until it is answered.
    fn request(&self) -> Request<'_>;

    /// Fills `out` with octets of the request's body, from octet `at` of it on.
    fn read(&self, _at: u32, _out: &mut [u8]) {}

    /// Takes the next octets of the answer's body.
    fn take(&mut self, octets: &[u8]);

    /// The request that began at `since` is over: whether it was answered, or why not.
    fn end(&mut self, now: Instant, since: Instant, outcome: Result<(), Failure>);
}

#[derive(Clone, Copy, Debug)]
enum Transfer {
    Down(Download),
    Up(Upload),
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Open {
    since: Instant,
    transfer: Transfer,
    /// The exchange for its next block.
    exchange: Option<Handle>,
    outcome: Option<Result<(), Failure>>,
    /// What the next request of the transfer echoes.
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

/// A client that asks for `A`, one thing at a time.
pub struct Client<A, Z: Sizes> {
    socket: Socket<Z>,
    asker: A,
    open: Option<Open>,
}

impl<A: Asker, Z: Sizes> Client<A, Z> {
    /// A client at a port of its own.
    pub const fn new(config: Config, asker: A) -> Self {
        Client { socket: Socket::new(0, config), asker, open: None }
    }

    /// Who asks.
    pub const fn asker(&self) -> &A {
        &self.asker
    }

    /// The same, to change what it asks.
    pub const fn asker_mut(&mut self) -> &mut A {
        &mut self.asker
    }

    /// The counters of its endpoint.
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

    /// Sends the request for the next block, if none is under way.
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

    /// Closes the books on a request that is over; whether one was.
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
    /// Takes the response to the exchange under way.
    fn take(&mut self, response: &Message<'_>, asker: &mut impl Asker) {
        self.exchange = None;
        let echoed = core::mem::replace(&mut self.echo, Echo::of(response));
        // It proves its address with the same request (RFC 9175 §2.3), once.
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
