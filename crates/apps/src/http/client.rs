//! HTTP client.

use super::answer::{Answer, Found};
use crate::sockets::{Peer, Sockets, StreamApp};
use crate::text::Text;
use kinglet::tcp::{ConnectionConfig, ConnectionError, Handle, RecvError};
use kinglet_mem::Array;
use kinglet_time::{BackOff, Duration, Instant};

/// Octets moved between connection and socket at a time.
const CHUNK: usize = 256;
/// Time after which a client gives up an idle response: the user timeout of RFC 9293 (3.10.1). A
/// server that has restarted, or has dropped the connection, sends nothing more, and TCP cannot
/// detect that while it has nothing to send.
const PATIENCE: Duration = Duration::from_secs(300);

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    method: &'static str,
    host: &'a str,
    path: &'a str,
    /// Octets of the body, which [`Asker::read`] provides.
    length: Option<u32>,
    keeps_alive: bool,
}

impl<'a> Request<'a> {
    /// Creates a GET of a path, which begins with `/`, from a host, given by address or name.
    pub const fn get(host: &'a str, path: &'a str) -> Self {
        Request { method: "GET", host, path, length: None, keeps_alive: true }
    }

    /// Creates a HEAD: the response to GET without the body.
    pub const fn head(host: &'a str, path: &'a str) -> Self {
        Request { method: "HEAD", ..Self::get(host, path) }
    }

    /// Creates a PUT of a body of `length` octets.
    pub const fn put(host: &'a str, path: &'a str, length: u32) -> Self {
        Request { method: "PUT", length: Some(length), ..Self::get(host, path) }
    }

    /// Creates a POST of a body of `length` octets. Unlike the others it is not repeated
    /// automatically.
    pub const fn post(host: &'a str, path: &'a str, length: u32) -> Self {
        Request { method: "POST", ..Self::put(host, path, length) }
    }

    /// Returns the same as the last request of its connection, which is otherwise kept for the
    /// next.
    #[must_use]
    pub const fn last(self) -> Self {
        Request { keeps_alive: false, ..self }
    }

    /// Writes the request from octet `sent` on, as much as fits.
    fn write(&self, asker: &impl Asker, sent: usize, out: &mut [u8]) -> usize {
        let mut text = Text::new(sent, out);
        for part in [self.method, " ", self.path, " HTTP/1.1\r\nHost: ", self.host] {
            text.put(part.as_bytes());
        }
        if let Some(length) = self.length {
            text.put(b"\r\nContent-Length: ");
            text.number(length);
        }
        if !self.keeps_alive {
            text.put(b"\r\nConnection: close");
        }
        text.put(b"\r\n\r\n");
        let (kept, total) = text.finish();
        let at = u32::try_from(sent.saturating_sub(total)).unwrap_or(u32::MAX);
        let left = self.length.unwrap_or(0).saturating_sub(at);
        let room = out.get_mut(kept..).unwrap_or_default();
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(room.len());
        if len > 0 {
            asker.read(at, room.get_mut(..len).unwrap_or_default());
        }
        kept.saturating_add(len)
    }
}

/// Reason for which a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No connection could be opened.
    NoConnection,
    /// The server does not listen on the port, or there is no route to it.
    Refused,
    /// The connection ended before the response was complete.
    Ended,
    /// Nothing was received for 300 s.
    Silent,
    /// The response is malformed.
    Broken,
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

    /// Handles the head of the response: its status (RFC 9110 §15), and the length of the body if
    /// stated.
    fn head(&mut self, _status: u16, _length: Option<u32>) {}

    /// Receives the next octets of the response's body.
    fn take(&mut self, octets: &[u8]);

    /// Handles the end of the request that began at `since`: the status of the complete response,
    /// or the reason for its failure.
    fn end(&mut self, now: Instant, since: Instant, outcome: Result<u16, Failure>);
}

/// A connection, while a request is outstanding or until the next one.
#[derive(Clone, Copy, Debug)]
struct Open<H> {
    handle: H,
    to: Peer,
    /// Start of the request.
    since: Instant,
    /// Time of the last octet sent or received.
    moved: Instant,
    /// Octets of the request that have been sent.
    sent: usize,
    /// True if an earlier request was answered on it.
    is_used: bool,
    /// True if nothing of the response was received.
    is_silent: bool,
}

/// A client that sends the requests of `A` one after another; `L` is a buffer for a line of a
/// response: 64 octets suffice.
///
/// A connection is kept for the next request if that goes to the same server and neither side
/// closes it. After a refusal, or without a free connection slot, the client backs off
/// ([`BackOff`]).
#[derive(Debug)]
pub struct Client<A, L, H = Handle> {
    config: ConnectionConfig,
    asker: A,
    open: Option<Open<H>>,
    is_asking: bool,
    answer: Answer<L>,
    back_off: BackOff,
}

impl<A: Asker, L: Array<u8>, H: Copy> Client<A, L, H> {
    /// Creates a client whose connections have these settings.
    pub const fn new(config: ConnectionConfig, asker: A) -> Self {
        let back_off = BackOff::NEW;
        let answer = Answer::new(false);
        Client { config, asker, open: None, is_asking: false, answer, back_off }
    }

    /// Returns the source of requests.
    pub const fn asker(&self) -> &A {
        &self.asker
    }

    /// Returns the source of requests, to change it.
    pub const fn asker_mut(&mut self) -> &mut A {
        &mut self.asker
    }

    /// Returns its connection, if there is one.
    pub fn connection(&self) -> Option<H> {
        self.open.as_ref().map(|open| open.handle)
    }

    /// Returns the start of the next request.
    fn next(&self) -> Option<Instant> {
        self.asker.next().map(|at| at.max(self.back_off.at()))
    }

    /// Starts a request, on the existing connection or on a new one.
    fn begin<S: Sockets<Handle = H>>(&mut self, now: Instant, sockets: &mut S) {
        let to = self.asker.to();
        let is_head = self.asker.request().method == "HEAD";
        self.answer = Answer::new(is_head);
        if let Some(open) = self.open.take() {
            let stands = sockets.peek(open.handle, &mut [0]) == Err(RecvError::WouldBlock);
            if open.to == to && stands {
                let fresh = Open { since: now, moved: now, sent: 0, is_silent: true, ..open };
                self.open = Some(Open { is_used: true, ..fresh });
            } else {
                sockets.release(now, open.handle, None);
            }
        }
        if self.open.is_none() {
            self.open = self.connect(now, sockets, to);
        }
        self.is_asking = self.open.is_some();
        if !self.is_asking {
            self.back_off.failed(now);
            return self.asker.end(now, now, Err(Failure::NoConnection));
        }
        self.write(now, sockets);
    }

    fn connect<S: Sockets<Handle = H>>(
        &self,
        now: Instant,
        sockets: &mut S,
        to: Peer,
    ) -> Option<Open<H>> {
        let handle = sockets.connect(now, to, self.config)?;
        let (since, moved) = (now, now);
        Some(Open { handle, to, since, moved, sent: 0, is_used: false, is_silent: true })
    }

    /// Writes as much as fits. Returns whether anything was written.
    fn write<S: Sockets<Handle = H>>(&mut self, now: Instant, sockets: &mut S) -> bool {
        let Some(open) = &mut self.open else { return false };
        let mut busy = false;
        let mut chunk = [0; CHUNK];
        loop {
            let len = self.asker.request().write(&self.asker, open.sent, &mut chunk);
            let octets = chunk.get(..len).unwrap_or_default();
            // The read side detects the end of the connection.
            let taken = sockets.send(open.handle, octets).unwrap_or(0);
            if taken == 0 {
                return busy;
            }
            open.sent = open.sent.saturating_add(taken);
            open.moved = now;
            busy = true;
        }
    }

    /// Reads received octets. Returns whether there were any.
    fn read<S: Sockets<Handle = H>>(&mut self, now: Instant, sockets: &mut S) -> bool {
        let Some(open) = &mut self.open else { return false };
        let mut chunk = [0; CHUNK];
        let mut busy = false;
        loop {
            let found = sockets.recv(open.handle, &mut chunk);
            let outcome = match found {
                Ok(len @ 1..) => {
                    (open.moved, open.is_silent, busy) = (now, false, true);
                    let octets = chunk.get(..len).unwrap_or_default();
                    match hear(&mut self.answer, &mut self.asker, octets) {
                        Some(outcome) => outcome,
                        None => continue,
                    }
                }
                Err(RecvError::WouldBlock) if now < open.moved + PATIENCE => return busy,
                Err(RecvError::WouldBlock) => Err(Failure::Silent),
                Err(RecvError::Ended(ConnectionError::Refused | ConnectionError::Unreachable)) => {
                    Err(Failure::Refused)
                }
                Ok(_) if self.answer.may_end() => Ok(self.answer.status()),
                Ok(_) | Err(_) => Err(Failure::Ended),
            };
            let is_stale = outcome == Err(Failure::Ended) && open.is_used && open.is_silent;
            if is_stale && self.asker.request().method != "POST" {
                // The server had closed it before it received the request (RFC 9112 §9.3.1).
                self.again(now, sockets);
            } else {
                self.end(now, sockets, outcome);
            }
            return true;
        }
    }

    /// Sends the same request again, over a new connection.
    fn again<S: Sockets<Handle = H>>(&mut self, now: Instant, sockets: &mut S) {
        let Some(open) = self.open.take() else { return };
        sockets.release(now, open.handle, None);
        match self.connect(now, sockets, open.to) {
            Some(fresh) => {
                self.open = Some(Open { since: open.since, ..fresh });
                self.write(now, sockets);
            }
            None => self.over(now, open.since, Err(Failure::NoConnection)),
        }
    }

    /// Ends the request.
    fn end<S: Sockets<Handle = H>>(
        &mut self,
        now: Instant,
        sockets: &mut S,
        outcome: Result<u16, Failure>,
    ) {
        let Some(open) = self.open.take() else { return };
        let keeps_alive = self.answer.keeps_alive() && self.asker.request().keeps_alive;
        match outcome {
            Ok(_) if keeps_alive => self.open = Some(open),
            // Further octets would not be read.
            Err(Failure::Silent | Failure::Broken) => {
                sockets.release(now, open.handle, Some(Duration::ZERO));
            }
            Ok(_) | Err(_) => sockets.release(now, open.handle, None),
        }
        self.over(now, open.since, outcome);
    }

    fn over(&mut self, now: Instant, since: Instant, outcome: Result<u16, Failure>) {
        match outcome {
            Ok(_) => self.back_off.succeeded(),
            Err(Failure::NoConnection | Failure::Refused) => self.back_off.failed(now),
            Err(_) => {}
        }
        self.is_asking = false;
        self.asker.end(now, since, outcome);
    }
}

/// Parses octets of a response. Returns the outcome if it ends with them.
fn hear<L: Array<u8>>(
    answer: &mut Answer<L>,
    asker: &mut impl Asker,
    octets: &[u8],
) -> Option<Result<u16, Failure>> {
    let mut rest = octets;
    while !rest.is_empty() {
        let Ok((taken, found)) = answer.take(rest) else { return Some(Err(Failure::Broken)) };
        match found {
            Found::Nothing => {}
            Found::Head => asker.head(answer.status(), answer.length()),
            Found::Body(octets) => asker.take(octets),
        }
        rest = rest.get(taken..).unwrap_or_default();
        if answer.is_done() {
            if !rest.is_empty() {
                answer.distrust();
            }
            return Some(Ok(answer.status()));
        }
    }
    None
}

impl<A: Asker, L: Array<u8>, H: Copy> StreamApp<H> for Client<A, L, H> {
    fn step<S: Sockets<Handle = H>>(&mut self, now: Instant, sockets: &mut S) -> bool {
        if self.is_asking {
            let went = self.write(now, sockets);
            return self.read(now, sockets) | went;
        }
        if self.next().is_some_and(|at| at <= now) {
            self.begin(now, sockets);
            return true;
        }
        // A kept connection ends when its server closes it.
        let ended =
            |open: &mut Open<H>| sockets.peek(open.handle, &mut [0]) != Err(RecvError::WouldBlock);
        let Some(open) = self.open.take_if(ended) else { return false };
        sockets.release(now, open.handle, None);
        true
    }

    fn due(&self) -> Option<Instant> {
        match &self.open {
            Some(open) if self.is_asking => Some(open.moved + PATIENCE),
            _ => self.next(),
        }
    }
}
