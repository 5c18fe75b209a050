//! The client.

use super::answer::{Answer, Found};
use crate::back_off::BackOff;
use crate::sockets::{Peer, Sockets, StreamApp};
use crate::text::Text;
use kinglet::tcp::{ConnectionConfig, ConnectionError, Handle, RecvError};
use kinglet_mem::Array;
use kinglet_time::{Duration, Instant};

/// Octets moved between connection and socket at a time.
const CHUNK: usize = 256;
/// A server that has started anew, or has given the connection up, says nothing any more, and TCP
/// does not find that out while it has nothing to send. So who waits for an answer gives it up
/// after the user timeout of RFC 9293 (3.10.1).
const PATIENCE: Duration = Duration::from_secs(300);

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    method: &'static str,
    host: &'a str,
    path: &'a str,
    /// Octets of the body, which [`Asker::read`] has.
    length: Option<u32>,
    keeps_alive: bool,
}

impl<'a> Request<'a> {
    /// GET of a path, which begins with `/`, at a host as its address or name has it.
    pub const fn get(host: &'a str, path: &'a str) -> Self {
        Request { method: "GET", host, path, length: None, keeps_alive: true }
    }

    /// HEAD: what GET would answer, without the body.
    pub const fn head(host: &'a str, path: &'a str) -> Self {
        Request { method: "HEAD", ..Self::get(host, path) }
    }

    /// PUT of a body of `length` octets.
    pub const fn put(host: &'a str, path: &'a str, length: u32) -> Self {
        Request { method: "PUT", length: Some(length), ..Self::get(host, path) }
    }

    /// POST of a body of `length` octets. Unlike the others it is not sent a second time by itself.
    pub const fn post(host: &'a str, path: &'a str, length: u32) -> Self {
        Request { method: "POST", ..Self::put(host, path, length) }
    }

    /// The same as the last request of its connection, which is otherwise kept for the next.
    #[must_use]
    pub const fn last(self) -> Self {
        Request { keeps_alive: false, ..self }
    }

    /// Writes the request from octet `sent` of it on, as much as there is room for.
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

/// Why a request came to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No connection could be opened.
    NoConnection,
    /// Nobody listens there, or there is no way there.
    Refused,
    /// The connection ended before the whole answer.
    Ended,
    /// Nothing came for 300 s.
    Silent,
    /// The answer makes no sense.
    Broken,
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

    /// The head of the answer has come: status (RFC 9110 §15), and octets of the body if it says
    /// so.
    fn head(&mut self, _status: u16, _length: Option<u32>) {}

    /// Takes the next octets of the answer's body.
    fn take(&mut self, octets: &[u8]);

    /// The request that began at `since` is over: with the status of the whole answer, or why not.
    fn end(&mut self, now: Instant, since: Instant, outcome: Result<u16, Failure>);
}

/// A connection, while a request is under way or kept for the next one.
#[derive(Clone, Copy, Debug)]
struct Open<H> {
    handle: H,
    to: Peer,
    /// When the request began.
    since: Instant,
    /// When an octet of it or of its answer last went or came.
    moved: Instant,
    /// Octets of the request that have gone.
    sent: usize,
    /// A request was answered on it before.
    is_used: bool,
    /// Nothing of the answer has come.
    is_silent: bool,
}

/// A client that asks one thing after another for `A`, with room for a line of an answer in `L`: 64
/// octets do.
///
/// A connection is kept for the next request if it goes to the same server and nobody minds; who is
/// refused, or finds no place for a connection, is held off ([`BackOff`]).
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
    /// A client whose connections have these settings.
    pub const fn new(config: ConnectionConfig, asker: A) -> Self {
        let back_off = BackOff::NEW;
        let answer = Answer::new(false);
        Client { config, asker, open: None, is_asking: false, answer, back_off }
    }

    /// Who asks.
    pub const fn asker(&self) -> &A {
        &self.asker
    }

    /// The same, to change what it asks.
    pub const fn asker_mut(&mut self) -> &mut A {
        &mut self.asker
    }

    /// Its connection, if there is one.
    pub fn connection(&self) -> Option<H> {
        self.open.as_ref().map(|open| open.handle)
    }

    /// When the next request is to begin.
    fn next(&self) -> Option<Instant> {
        self.asker.next().map(|at| at.max(self.back_off.at()))
    }

    /// Begins a request, on the connection that is there or on a new one.
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
            self.back_off.refused(now);
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

    /// Writes what there is room for; whether anything went.
    fn write<S: Sockets<Handle = H>>(&mut self, now: Instant, sockets: &mut S) -> bool {
        let Some(open) = &mut self.open else { return false };
        let mut busy = false;
        let mut chunk = [0; CHUNK];
        loop {
            let len = self.asker.request().write(&self.asker, open.sent, &mut chunk);
            let octets = chunk.get(..len).unwrap_or_default();
            // An end of the connection is seen by who reads.
            let taken = sockets.send(open.handle, octets).unwrap_or(0);
            if taken == 0 {
                return busy;
            }
            open.sent = open.sent.saturating_add(taken);
            open.moved = now;
            busy = true;
        }
    }

    /// Reads what has arrived; whether anything did.
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
                // The server had ended it before it heard of the request (RFC 9112 §9.3.1).
                self.again(now, sockets);
            } else {
                self.end(now, sockets, outcome);
            }
            return true;
        }
    }

    /// Asks the same once more, over a new connection.
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

    /// The request is over.
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
            // Nobody would read what may still come.
            Err(Failure::Silent | Failure::Broken) => {
                sockets.release(now, open.handle, Some(Duration::ZERO));
            }
            Ok(_) | Err(_) => sockets.release(now, open.handle, None),
        }
        self.over(now, open.since, outcome);
    }

    fn over(&mut self, now: Instant, since: Instant, outcome: Result<u16, Failure>) {
        match outcome {
            Ok(_) => self.back_off = BackOff::NEW,
            Err(Failure::NoConnection | Failure::Refused) => self.back_off.refused(now),
            Err(_) => {}
        }
        self.is_asking = false;
        self.asker.end(now, since, outcome);
    }
}

/// Takes octets of an answer; the outcome if that is the end of it.
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
    fn turn<S: Sockets<Handle = H>>(&mut self, now: Instant, sockets: &mut S) -> bool {
        if self.is_asking {
            let went = self.write(now, sockets);
            return self.read(now, sockets) | went;
        }
        if self.next().is_some_and(|at| at <= now) {
            self.begin(now, sockets);
            return true;
        }
        // A connection that is kept ends when its server ends it.
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
