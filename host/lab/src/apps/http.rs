//! A small HTTP/1.1 server: what a mote with a web page needs, and two endpoints to measure with.
//!
//! | request | answer |
//! |---|---|
//! | `GET /` | a page about the node |
//! | `GET /bytes/N` | N octets of the known stream, N up to 100,000,000 |
//! | `PUT` or `POST /upload` | length and SHA-256 of the body |
//!
//! Keep-alive, requests before the answer to the one before, `Expect: 100-continue` and `HEAD` are
//! understood; chunked bodies are refused with 411.

mod request;

use self::request::{Request, find_end, number};
use super::{digest_line, fill};
use core::any::Any;
use core::fmt::Write;
use kinglet::tcp::{Handle, ListenConfig};
use kinglet::time::{Duration, Instant, earliest};
use kinglet::{Node, Profile};
use kinglet_sim::App;
use sha2::{Digest, Sha256};

/// Longest request head.
const MAX_HEAD: usize = 1024;
/// Octets moved between connection and socket at a time.
const CHUNK: usize = 512;
/// For how long the first request of a connection is expected: as long as a client waits before it
/// sends it again (RFC 6298 §2).
const PATIENCE: Duration = Duration::from_secs(3);
/// Who has asked for nothing for so long makes room for others.
const IDLE: Duration = Duration::from_secs(60);
/// And for so long it may take to say goodbye.
const LINGER: Duration = Duration::from_secs(10);
/// Who neither takes an answer nor sends the rest of a body for so long has gone: the user timeout
/// of RFC 9293 (3.10.1).
const STUCK: Duration = Duration::from_secs(300);
/// Largest `/bytes/N`.
const MAX_BYTES: u64 = 100_000_000;

/// What is still to be sent: text, then octets of the known stream.
#[derive(Default)]
struct Answer {
    text: Vec<u8>,
    text_sent: usize,
    stream: u64,
    stream_sent: u64,
}

impl Answer {
    fn is_sent(&self) -> bool {
        self.text_sent == self.text.len() && self.stream_sent == self.stream
    }
}

/// Where a connection stands.
enum Stage {
    /// Collecting a request head.
    Head,
    /// Hashing a body with so many octets to come.
    Body { left: u64, total: u64, hash: Sha256 },
    /// Waiting for the answer to leave; then the connection ends.
    Last,
}

struct Connection {
    handle: Handle,
    opened: Instant,
    stage: Stage,
    head: Vec<u8>,
    answer: Answer,
    /// When an octet last came or went.
    moved: Instant,
    /// No request has been read from it.
    is_new: bool,
    /// Nothing more can be done.
    over: bool,
}

/// The server.
pub struct HttpServer {
    port: u16,
    name: String,
    config: ListenConfig,
    listening: bool,
    connections: Vec<Connection>,
    served: u64,
    sent: u64,
    received: u64,
    /// Since when the node has been told to expect a request.
    told: Option<Instant>,
}

impl HttpServer {
    /// A server on `port` whose page says `name`.
    pub fn new(port: u16, name: String, config: ListenConfig) -> Self {
        HttpServer {
            port,
            name,
            config,
            listening: false,
            connections: Vec::new(),
            served: 0,
            sent: 0,
            received: 0,
            told: None,
        }
    }

    /// Requests answered.
    pub fn served(&self) -> u64 {
        self.served
    }

    /// Octets written to sockets.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Octets read from sockets.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Connections open now.
    pub fn open(&self) -> usize {
        self.connections.len()
    }

    /// Tells the node that requests are to come, for the case that it sleeps: TCPlp's adaptive duty
    /// cycle (§8.1.1). That a request is being received, or answered, TCP knows by itself.
    fn tell<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) {
        let waits =
            |connection: &&Connection| connection.opened + PATIENCE > now && connection.is_new;
        let since = self.connections.iter().filter(waits).map(|connection| connection.opened).min();
        if since == self.told {
            return;
        }
        match since {
            // While there is no room it is said again.
            Some(since) => {
                if node.expect(now, self.port, since, since + PATIENCE).is_err() {
                    return;
                }
            }
            None => node.expect_nothing(now, self.port),
        }
        self.told = since;
    }

    fn page(&self, now: Instant) -> String {
        let mut page = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "<!doctype html><title>{name}</title><h1>{name}</h1>\
             <p>This page comes from a mote, over TCP end to end.\
             <ul><li>up for {up} s<li>{served} requests served before this one\
             <li>{open} connections open</ul>\
             <p>Try <a href=/bytes/10000>/bytes/10000</a>, or PUT something to /upload.",
            name = self.name,
            up = now.as_micros() / 1_000_000,
            served = self.served,
            open = self.connections.len(),
        );
        page
    }

    /// Answers the request head `head`, which ends at a blank line.
    fn respond(&mut self, now: Instant, connection: &mut Connection, head: &[u8]) {
        let request = match Request::parse(head) {
            Ok(request) => request,
            Err(status) => return connection.refuse(status),
        };
        let mut request = request;
        let stream = request.path.strip_prefix("/bytes/").and_then(number);
        let stream = stream.filter(|len| *len <= MAX_BYTES);
        let is_upload = request.path == "/upload";
        // What comes with a request that needs no body would be taken for the next one.
        request.keep_alive &= is_upload || request.content_length.unwrap_or(0) == 0;
        connection.stage = if request.keep_alive { Stage::Head } else { Stage::Last };
        match (request.method, request.path, stream) {
            ("GET" | "HEAD", "/", _) => {
                connection.answer_text("200 OK", "text/html", &self.page(now), &request);
            }
            ("GET" | "HEAD", _, Some(len)) => {
                // Octets of no known type: RFC 9110 §8.3 leaves that out, and saves a frame.
                connection.answer_head("200 OK", "", len, &request);
                connection.answer.stream = if request.method == "HEAD" { 0 } else { len };
            }
            ("PUT" | "POST", "/upload", _) => match request.content_length {
                None => return connection.refuse("411 Length Required"),
                Some(total) => {
                    if request.expects_continue {
                        connection.answer.text.extend(b"HTTP/1.1 100 Continue\r\n\r\n");
                    }
                    connection.stage = Stage::Body { left: total, total, hash: Sha256::new() };
                }
            },
            (_, "/", _) | (_, _, Some(_)) => return connection.refuse_method("GET, HEAD"),
            _ if is_upload => return connection.refuse_method("PUT, POST"),
            _ => connection.answer_text("404 Not Found", "text/plain", "not here\n", &request),
        }
        self.served += 1;
    }

    /// Reads what has arrived and answers it; whether anything happened.
    fn read<P: Profile>(
        &mut self,
        now: Instant,
        connection: &mut Connection,
        node: &mut Node<P>,
    ) -> bool {
        let mut chunk = [0; CHUNK];
        // One request at a time: the next head is read when the answer has left.
        let waits = matches!(connection.stage, Stage::Last)
            || (matches!(connection.stage, Stage::Head) && !connection.answer.is_sent());
        if waits {
            return false;
        }
        if matches!(connection.stage, Stage::Head) && find_end(&connection.head).is_some() {
            // It came while the one before was being answered.
            self.take(now, connection, &[]);
            return true;
        }
        let len = match node.streams().recv(connection.handle, &mut chunk) {
            Ok(0) => {
                connection.stage = Stage::Last;
                return true;
            }
            Ok(len) => len,
            Err(kinglet::tcp::RecvError::WouldBlock) => return false,
            Err(_) => {
                connection.over = true;
                return true;
            }
        };
        self.received += len as u64;
        connection.is_new = false;
        connection.moved = now;
        self.take(now, connection, &chunk[..len]);
        true
    }

    fn take(&mut self, now: Instant, connection: &mut Connection, octets: &[u8]) {
        let mut rest = octets;
        if matches!(connection.stage, Stage::Head) {
            connection.head.extend(rest);
            rest = &[];
            if let Some(end) = find_end(&connection.head) {
                let all = std::mem::take(&mut connection.head);
                self.respond(now, connection, &all[..end]);
                if let Stage::Body { .. } = connection.stage {
                    connection.hash(&all[end..]);
                } else {
                    connection.head = all[end..].to_vec();
                }
            } else if connection.head.len() > MAX_HEAD {
                connection.refuse("431 Request Header Fields Too Large");
            }
        }
        if matches!(connection.stage, Stage::Body { .. }) {
            connection.hash(rest);
        }
    }

    fn write<P: Profile>(
        &mut self,
        now: Instant,
        connection: &mut Connection,
        node: &mut Node<P>,
    ) -> bool {
        let answer = &mut connection.answer;
        let mut busy = false;
        while !answer.is_sent() {
            let mut chunk = [0; CHUNK];
            let text = &answer.text[answer.text_sent..];
            let len = if text.is_empty() {
                let len = CHUNK.min((answer.stream - answer.stream_sent) as usize);
                fill(answer.stream_sent, &mut chunk[..len]);
                len
            } else {
                let len = text.len().min(CHUNK);
                chunk[..len].copy_from_slice(&text[..len]);
                len
            };
            let Ok(taken) = node.streams().send(connection.handle, &chunk[..len]) else {
                // Reset or timed out: nobody waits for the rest, and the next client for the place.
                connection.over = true;
                return true;
            };
            if taken == 0 {
                return busy;
            }
            if text.is_empty() {
                answer.stream_sent += taken as u64;
            } else {
                answer.text_sent += taken;
            }
            self.sent += taken as u64;
            connection.moved = now;
            busy = true;
        }
        if matches!(connection.stage, Stage::Last) {
            connection.over = true;
            return true;
        }
        if busy {
            *answer = Answer::default();
        }
        busy
    }
}

impl Connection {
    /// Nothing is asked for, or not all of a request has come.
    fn is_idle(&self) -> bool {
        matches!(self.stage, Stage::Head) && self.answer.is_sent()
    }

    /// When it has to make room for others if nothing moves on it.
    fn until(&self) -> Instant {
        self.moved + if self.is_idle() { IDLE } else { STUCK }
    }

    fn refuse(&mut self, status: &str) {
        self.refuse_with(status, "");
    }

    /// A method that the resource does not have; it has those of `allow` (RFC 9110 §15.5.6).
    fn refuse_method(&mut self, allow: &str) {
        self.refuse_with("405 Method Not Allowed", &format!("Allow: {allow}\r\n"));
    }

    fn refuse_with(&mut self, status: &str, fields: &str) {
        self.answer.text.extend(
            format!(
                "HTTP/1.1 {status}\r\n{fields}Content-Length: {}\r\n\
                 Connection: close\r\n\r\n{status}\n",
                status.len() + 1
            )
            .bytes(),
        );
        self.stage = Stage::Last;
    }

    fn answer_head(&mut self, status: &str, kind: &str, len: u64, request: &Request<'_>) {
        let connection = if request.keep_alive { "keep-alive" } else { "close" };
        let kind = match kind {
            "" => String::new(),
            kind => format!("Content-Type: {kind}\r\n"),
        };
        self.answer.text.extend(
            format!(
                "HTTP/1.1 {status}\r\n{kind}Content-Length: {len}\r\n\
                 Connection: {connection}\r\n\r\n"
            )
            .bytes(),
        );
    }

    fn answer_text(&mut self, status: &str, kind: &str, text: &str, request: &Request<'_>) {
        self.answer_head(status, kind, text.len() as u64, request);
        if request.method != "HEAD" {
            self.answer.text.extend(text.bytes());
        }
    }

    /// Takes octets of a body; its answer, if these were the last.
    fn hash(&mut self, octets: &[u8]) {
        let Stage::Body { left, total, hash } = &mut self.stage else { return };
        let len = octets.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
        hash.update(&octets[..len]);
        *left -= len as u64;
        if *left > 0 {
            return;
        }
        let text = digest_line(*total, hash);
        self.answer.text.extend(
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\
                 Connection: close\r\n\r\n{text}",
                text.len()
            )
            .bytes(),
        );
        self.stage = Stage::Last;
    }
}

impl<P: Profile> App<P> for HttpServer {
    fn poll(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        if !self.listening {
            self.listening = node.streams().listen(self.port, self.config).is_ok();
        }
        let mut busy = false;
        while let Some(handle) = node.streams().accept(self.port) {
            let (stage, answer) = (Stage::Head, Answer::default());
            let head = Vec::new();
            self.connections.push(Connection {
                handle,
                opened: now,
                moved: now,
                stage,
                head,
                answer,
                is_new: true,
                over: false,
            });
            busy = true;
        }
        let mut connections = std::mem::take(&mut self.connections);
        for connection in &mut connections {
            busy |= self.read(now, connection, node);
            busy |= self.write(now, connection, node);
        }
        connections.retain(|connection| {
            let late = now >= connection.until();
            if connection.over {
                // Half closed on our side; the rest of the shutdown is TCP's business.
                let _ = node.streams().close(connection.handle);
            } else if late && connection.is_idle() {
                // A client that is there learns of it before it asks the next time.
                let _ = node.streams().release(now, connection.handle, Some(LINGER));
            } else if late {
                let _ = node.streams().abort(connection.handle);
            }
            !connection.over && !late
        });
        self.connections = connections;
        self.tell(now, node);
        busy
    }

    fn deadline(&self) -> Option<Instant> {
        let listen = (!self.listening).then_some(Instant::ZERO);
        let untils = self.connections.iter().map(|connection| Some(connection.until()));
        untils.fold(listen, earliest)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
