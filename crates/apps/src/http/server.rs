//! HTTP server.

use super::request::{Head, Method, Status};
use crate::scarce::{LOSS_PATIENCE, PATIENCE as HURRY};
use crate::site::{Asked, Content, Format, Resource, Site};
use crate::sockets::{Place, Sockets, StreamApp};
use crate::text::Text;
use kinglet::Each;
use kinglet::tcp::{Handle, ListenConfig, RecvError, State};
use kinglet_mem::{Array, Held};
use kinglet_time::{Duration, Expected, Instant, earliest};

/// Octets moved between connection and socket at a time.
const CHUNK: usize = 128;
/// Time for which the first request of a connection is expected: the initial RTO of a client (RFC
/// 6298 §2).
const PATIENCE: Duration = Duration::from_secs(3);
/// Idle time after which a connection without a complete request is closed.
const IDLE: Duration = Duration::from_secs(60);
/// Longest time for which a closing connection is kept. Octets that the client sends meanwhile are
/// discarded, because an RST for them could overtake the response (RFC 9112 §9.6).
const LINGER: Duration = Duration::from_secs(10);
/// Time after which a client that neither takes a response nor sends the rest of a body counts as
/// gone: the user timeout of RFC 9293 (3.10.1).
const STUCK: Duration = Duration::from_secs(300);
/// RFC 9110 §15.2.1.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Number and size of all tables: a memory plan (see `kinglet_mem`).
pub trait Sizes {
    /// Buffer for a request's path and one line behind it. A relevant line that does not fit is
    /// refused; 64 octets suffice for short paths, and 96 for the connection fields that clients
    /// send.
    type Line: Array<u8>;
    /// Connections that are served at a time. The connection in the last slot, or any one while
    /// other clients wait, is closed after its response.
    type Connections<C>: Array<Place<C>>;
}

/// Counters of the server, wrapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Requests answered, without refused ones.
    pub served: u32,
    /// Octets written to sockets.
    pub sent: u32,
    /// Octets read from sockets.
    pub received: u32,
    /// Connections evicted for a waiting client.
    pub evicted: u32,
}

/// A web server of `S` at a port.
pub struct Server<S: Site, Z: Sizes, H = Handle> {
    port: u16,
    config: ListenConfig,
    listening: bool,
    site: S,
    connections: Z::Connections<Connection<S, Z::Line, H>>,
    stats: Stats,
}

/// A response.
#[derive(Clone, Copy)]
struct Answer<B> {
    status: Status,
    /// Without content the body repeats the status.
    content: Option<Content<B>>,
    /// Methods that the resource allows, with status 405.
    allow: &'static str,
    /// True if only the head is sent.
    is_head: bool,
    keeps_alive: bool,
}

/// State of a connection.
enum Stage<S: Site> {
    /// A request is awaited.
    Head,
    /// Its body is received, and `left` octets of it are missing; before that, `greeting` octets of
    /// [`CONTINUE`] are sent.
    Body { greeting: usize, left: u32, total: u32, inbox: S::Inbox },
    /// `sent` octets of the response have been sent.
    Answer { answer: Answer<S::Body>, sent: usize },
    /// The exchange is complete.
    Over,
    /// This side is closed. Received octets are discarded until the client closes its side.
    Closing,
    /// The client's side is closed too.
    Closed,
}

/// A connection.
pub struct Connection<S: Site, L, H> {
    handle: H,
    opened: Instant,
    /// Time of the last request, or of the last octet sent or received otherwise.
    moved: Instant,
    /// True if no request has begun.
    is_new: bool,
    stage: Stage<S>,
    head: Head<L>,
}

/// The state of the server that a connection needs.
struct Desk<'a, S> {
    now: Instant,
    site: &'a mut S,
    stats: &'a mut Stats,
    /// Number of open connections, and whether a slot is free.
    open: usize,
    has_room: bool,
}

impl<S: Site, Z: Sizes, H: Copy> Server<S, Z, H> {
    /// Creates a server on `port`, whose connections have the settings of `config`.
    pub const fn new(port: u16, config: ListenConfig, site: S) -> Self {
        Server {
            port,
            config,
            listening: false,
            site,
            connections: Z::Connections::<Connection<S, Z::Line, H>>::EMPTY,
            stats: Stats { served: 0, sent: 0, received: 0, evicted: 0 },
        }
    }

    /// Returns the counters.
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// Returns the number of open connections, without those that this side has closed.
    pub fn open(&self) -> usize {
        self.connections().filter(|it| !matches!(it.stage, Stage::Closing | Stage::Closed)).count()
    }

    fn connections(&self) -> impl Iterator<Item = &Connection<S, Z::Line, H>> {
        self.connections.as_slice().iter().filter_map(|place| place.0.as_deref())
    }

    /// Accepts connections. Returns whether there was one.
    fn accept<T: Sockets<Handle = H>>(&mut self, now: Instant, sockets: &mut T) -> bool {
        let mut busy = false;
        for place in self.connections.as_mut_slice().iter_mut().filter(|place| place.0.is_none()) {
            let Some(handle) = sockets.accept(self.port) else { break };
            let (stage, head) = (Stage::Head, Head::NEW);
            let (opened, moved) = (now, now);
            let new = Connection { handle, opened, moved, is_new: true, stage, head };
            place.0 = Some(Held::This(new));
            busy = true;
        }
        busy
    }

    /// Returns the slot of the connection to be evicted for a waiting client, if there is one.
    #[inline(never)]
    fn victim<T: Sockets<Handle = H>>(&self, now: Instant, sockets: &T) -> Option<usize> {
        let (mut oldest, mut victim) = (Instant::MAX, None);
        for (index, place) in self.connections.as_slice().iter().enumerate() {
            let Some(it) = place.0.as_deref() else { continue };
            // A client that has its whole response loses nothing.
            let done = it.is_done(sockets);
            let since = if done { Instant::ZERO } else { it.moved };
            if since < oldest && (done || now >= since + it.patience(sockets)) {
                (oldest, victim) = (since, Some(index));
            }
        }
        victim
    }
}

impl<S: Site, Z: Sizes, H: Copy> StreamApp<H> for Server<S, Z, H> {
    fn step<T: Sockets<Handle = H>>(&mut self, now: Instant, sockets: &mut T) -> bool {
        if !self.listening {
            self.listening = sockets.listen(self.port, self.config);
        }
        let mut busy = self.accept(now, sockets);
        let open = self.open();
        // A waiting client retransmits its SYN, so this is checked again.
        let wanted = sockets.is_wanted(self.port);
        let victim = if wanted { self.victim(now, sockets) } else { None };
        let has_room = open < Z::Connections::<Connection<S, Z::Line, H>>::LEN && !wanted;
        for (index, place) in self.connections.as_mut_slice().iter_mut().enumerate() {
            let Some(connection) = place.0.as_deref_mut() else { continue };
            let (site, stats) = (&mut self.site, &mut self.stats);
            let mut desk = Desk { now, site, stats, open, has_room };
            busy |= connection.read(&mut desk, sockets);
            busy |= connection.write(&mut desk, sockets);
            let chosen = victim == Some(index);
            if connection.is_left(now, sockets, chosen) {
                self.stats.evicted = self.stats.evicted.wrapping_add(u32::from(chosen));
                place.0 = None;
                busy = true;
            }
        }
        busy
    }

    fn due(&self) -> Option<Instant> {
        let listen = (!self.listening).then_some(Instant::ZERO);
        self.connections().fold(listen, |soonest, it| earliest(soonest, Some(it.until())))
    }

    fn losses(&self, each: &mut Each<'_>) {
        each("http", "evicted", self.stats.evicted);
    }

    /// Returns the window of the first request of a connection. TCP itself knows of requests and
    /// responses in progress.
    fn awaited(&self, now: Instant) -> Option<Expected> {
        let waits = |it: &&Connection<S, Z::Line, H>| it.is_new && it.opened + PATIENCE > now;
        let since = self.connections().filter(waits).map(|it| it.opened).min()?;
        Some(Expected { since, from: since, until: since + PATIENCE })
    }
}

impl<S: Site, L: Array<u8>, H: Copy> Connection<S, L, H> {
    /// Returns the time at which it is closed if nothing moves on it.
    fn until(&self) -> Instant {
        self.moved
            + match self.stage {
                Stage::Head => IDLE,
                Stage::Closing => LINGER,
                _ => STUCK,
            }
    }

    /// Returns the idle time after which it may be evicted for a waiting client.
    fn patience<T: Sockets<Handle = H>>(&self, sockets: &T) -> Duration {
        match self.stage {
            _ if sockets.is_held_back(self.handle) => HURRY,
            // The end of a response may still be in flight.
            Stage::Head if !sockets.has_queued(self.handle) => HURRY,
            _ => LOSS_PATIENCE,
        }
    }

    /// Returns whether the client has acknowledged its whole response, and has only to close its
    /// side.
    fn is_done<T: Sockets<Handle = H>>(&self, sockets: &T) -> bool {
        let closing = matches!(self.stage, Stage::Closing);
        closing && sockets.state(self.handle) == Some(State::FinWait2)
    }

    /// Releases a connection that has ended, has timed out, or was chosen for eviction. Returns
    /// whether it was released.
    fn is_left<T: Sockets<Handle = H>>(
        &mut self,
        now: Instant,
        sockets: &mut T,
        chosen: bool,
    ) -> bool {
        let linger = match self.stage {
            Stage::Over => {
                sockets.close(self.handle);
                (self.stage, self.moved) = (Stage::Closing, now);
                return false;
            }
            Stage::Closed => None,
            // TCP keeps the state that it needs of a finished one.
            Stage::Closing if chosen && self.is_done(sockets) => None,
            _ if chosen => Some(Duration::ZERO),
            _ if now < self.until() => return false,
            // A client that is present detects the close before its next request.
            Stage::Head | Stage::Closing => Some(LINGER),
            _ => Some(Duration::ZERO),
        };
        sockets.release(now, self.handle, linger);
        true
    }

    /// Reads received octets. Returns whether anything happened. It handles one request at a time:
    /// further ones stay in the receive buffer of TCP until the response has been sent.
    fn read<T: Sockets<Handle = H>>(&mut self, desk: &mut Desk<'_, S>, sockets: &mut T) -> bool {
        let mut chunk = [0; CHUNK];
        let found = match &self.stage {
            Stage::Head | Stage::Closing => sockets.peek(self.handle, &mut chunk),
            Stage::Body { greeting: 0, left, .. } => {
                let most = usize::try_from(*left).unwrap_or(CHUNK).min(CHUNK);
                sockets.peek(self.handle, chunk.get_mut(..most).unwrap_or_default())
            }
            Stage::Body { .. } | Stage::Answer { .. } | Stage::Over | Stage::Closed => {
                return false;
            }
        };
        let len = match found {
            Ok(len @ 1..) => len,
            Err(RecvError::WouldBlock) => return false,
            Ok(_) | Err(_) => {
                let closing = matches!(self.stage, Stage::Closing);
                self.stage = if closing { Stage::Closed } else { Stage::Over };
                return true;
            }
        };
        self.is_new = false;
        let taken = self.take(desk, chunk.get(..len).unwrap_or_default());
        // These are the octets that were peeked.
        let _ = sockets.recv(self.handle, chunk.get_mut(..taken).unwrap_or_default());
        desk.stats.received = desk.stats.received.wrapping_add(taken as u32);
        true
    }

    /// Processes `octets` as far as possible. Returns the number processed.
    fn take(&mut self, desk: &mut Desk<'_, S>, octets: &[u8]) -> usize {
        if matches!(self.stage, Stage::Closing) {
            return octets.len();
        }
        let Stage::Body { left, total, inbox, .. } = &mut self.stage else {
            let (taken, ended) = self.head.take(octets);
            if ended {
                self.moved = desk.now;
                self.respond(desk);
                self.head = Head::NEW;
            }
            return taken;
        };
        self.moved = desk.now;
        desk.site.take(inbox, octets);
        *left = left.saturating_sub(octets.len() as u32);
        if *left == 0 {
            let content = Some(desk.site.finish(inbox, *total));
            self.answer(Answer {
                status: Status::Ok,
                content,
                allow: "",
                is_head: false,
                keeps_alive: false,
            });
        }
        octets.len()
    }

    fn answer(&mut self, answer: Answer<S::Body>) {
        self.stage = Stage::Answer { answer, sent: 0 };
    }

    /// Answers the request whose head is complete.
    fn respond(&mut self, desk: &mut Desk<'_, S>) {
        let method = self.head.method();
        let refusal = |status, allow, keeps_alive| Answer {
            status,
            content: None,
            allow,
            is_head: method == Method::Head,
            keeps_alive,
        };
        if let Err(status) = self.head.check() {
            return self.answer(refusal(status, "", false));
        }
        let Desk { now, open, .. } = *desk;
        let served = desk.stats.served;
        let found = desk.site.find(&Asked { now, path: self.head.path(), served, open });
        let length = self.head.content_length();
        // The body of a request that needs none would be parsed as the next request.
        let keeps_alive = self.head.keeps_alive() && desk.has_room && length.unwrap_or(0) == 0;
        let answer = match (found, method) {
            (None, _) => refusal(Status::NotFound, "", keeps_alive),
            (Some(Resource::Content(content)), Method::Get | Method::Head) => {
                Answer { content: Some(content), ..refusal(Status::Ok, "", keeps_alive) }
            }
            (Some(Resource::Inbox(inbox)), Method::Put | Method::Post) => match length {
                None => return self.answer(refusal(Status::LengthRequired, "", false)),
                Some(left) => return self.receive(desk, inbox, left),
            },
            (Some(Resource::Content(_)), _) => {
                return self.answer(refusal(Status::MethodNotAllowed, "GET, HEAD", false));
            }
            (Some(Resource::Inbox(_)), _) => {
                return self.answer(refusal(Status::MethodNotAllowed, "PUT, POST", false));
            }
        };
        desk.stats.served = desk.stats.served.wrapping_add(1);
        self.answer(answer);
    }

    /// Prepares for a body of `left` octets.
    fn receive(&mut self, desk: &mut Desk<'_, S>, inbox: S::Inbox, left: u32) {
        desk.stats.served = desk.stats.served.wrapping_add(1);
        let greeting = if self.head.expects_continue() { CONTINUE.len() } else { 0 };
        self.stage = Stage::Body { greeting, left, total: left, inbox };
        if left == 0 {
            self.take(desk, &[]);
        }
    }

    /// Writes as much as fits. Returns whether anything happened.
    fn write<T: Sockets<Handle = H>>(&mut self, desk: &mut Desk<'_, S>, sockets: &mut T) -> bool {
        let mut busy = false;
        let mut chunk = [0; CHUNK];
        loop {
            let len = match &self.stage {
                Stage::Body { greeting, .. } => {
                    let from = CONTINUE.len().saturating_sub(*greeting);
                    kinglet_mem::copy(&mut chunk, CONTINUE.get(from..).unwrap_or_default())
                }
                Stage::Answer { answer, sent } => answer.write(desk.site, *sent, &mut chunk),
                _ => return busy,
            };
            if len == 0 {
                if let Stage::Answer { answer, .. } = &self.stage {
                    self.stage = if answer.keeps_alive { Stage::Head } else { Stage::Over };
                    busy = true;
                }
                return busy;
            }
            let octets = chunk.get(..len).unwrap_or_default();
            let Ok(taken) = sockets.send(self.handle, octets) else {
                // Reset or timed out: the rest is not needed, and another client may wait for the
                // slot.
                self.stage = Stage::Over;
                return true;
            };
            if taken == 0 {
                return busy;
            }
            match &mut self.stage {
                Stage::Body { greeting, .. } => *greeting = greeting.saturating_sub(taken),
                Stage::Answer { sent, .. } => *sent = sent.saturating_add(taken),
                _ => {}
            }
            desk.stats.sent = desk.stats.sent.wrapping_add(taken as u32);
            self.moved = desk.now;
            busy = true;
        }
    }
}

impl<B: Copy> Answer<B> {
    /// Writes the response from octet `sent` on, as much as fits.
    #[inline(never)]
    fn write<S: Site<Body = B>>(&self, site: &S, sent: usize, out: &mut [u8]) -> usize {
        let status = self.status.text().as_bytes();
        let mut text = Text::new(sent, out);
        text.put(b"HTTP/1.1 ");
        text.put(status);
        // The repeated status has an end of line, and no type.
        let own = u32::try_from(status.len()).unwrap_or(0).saturating_add(1);
        let (len, format) =
            self.content.map_or((own, Format::Octets), |content| (content.len, content.format));
        for (name, value) in
            [("\r\nContent-Type: ", format.media_type()), ("\r\nAllow: ", self.allow)]
        {
            if !value.is_empty() {
                text.put(name.as_bytes());
                text.put(value.as_bytes());
            }
        }
        text.put(b"\r\nContent-Length: ");
        text.number(len);
        text.put(b"\r\nConnection: ");
        text.put(if self.keeps_alive { b"keep-alive" } else { b"close" });
        text.put(b"\r\n\r\n");
        if self.content.is_none() && !self.is_head {
            text.put(status);
            text.put(b"\n");
        }
        let (kept, total) = text.finish();
        let Some(content) = self.content.filter(|_| !self.is_head) else { return kept };
        let at = u32::try_from(sent.saturating_sub(total)).unwrap_or(u32::MAX);
        let left = usize::try_from(content.len.saturating_sub(at)).unwrap_or(usize::MAX);
        let room = out.get_mut(kept..).unwrap_or_default();
        let len = left.min(room.len());
        site.read(content.body, at, room.get_mut(..len).unwrap_or_default());
        kept.saturating_add(len)
    }
}
