//! The web server, between two nodes.

use crate::common::{World, global, usual};
use kinglet::tcp::{ConnectionConfig, Handle, Info, ListenConfig, RecvError, SendError, State};
use kinglet::time::{Duration, Instant};
use kinglet::{BorderRouter, Node};
use kinglet_apps::{
    App, Asked, Content, Format, Peer, Place, Resource, Site, Sockets, StreamApp, http,
};

const PORT: u16 = 80;
const PAGE: &[u8] = b"<!doctype html><title>here</title>";

/// A page, ten octets for each letter in a path, and an inbox.
struct Shown;

impl Site for Shown {
    /// The letter that is repeated (0 stands for the page), or the sum.
    type Body = Result<u8, u32>;
    /// The sum of the received octets.
    type Inbox = u32;

    fn find(&mut self, asked: &Asked<'_>) -> Option<Resource<Self::Body, u32>> {
        let content = |format, len, body| Resource::Content(Content { format, len, body });
        match asked.path {
            b"/" => Some(content(Format::Html, PAGE.len() as u32, Ok(0))),
            b"/sum" => Some(Resource::Inbox(0)),
            b"/long" => Some(content(Format::Octets, 100_000, Ok(b'l'))),
            [b'/', letter] => Some(content(Format::Octets, 10, Ok(*letter))),
            _ => None,
        }
    }

    fn read(&self, body: Self::Body, at: u32, out: &mut [u8]) {
        match body {
            Ok(0) => out.copy_from_slice(&PAGE[at as usize..][..out.len()]),
            Ok(letter) => out.fill(letter),
            Err(sum) => {
                out.copy_from_slice(&sum.to_string().as_bytes()[at as usize..][..out.len()])
            }
        }
    }

    fn take(&mut self, inbox: &mut u32, octets: &[u8]) {
        *inbox += octets.iter().map(|octet| u32::from(*octet)).sum::<u32>();
    }

    fn finish(&mut self, inbox: &mut u32, _len: u32) -> Content<Self::Body> {
        Content { format: Format::Text, len: inbox.to_string().len() as u32, body: Err(*inbox) }
    }
}

struct Plan;

impl http::Sizes for Plan {
    type Line = [u8; 64];
    type Connections<C> = [Place<C>; 2];
}

/// More slots than TCP has.
struct Wide;

impl http::Sizes for Wide {
    type Line = [u8; 64];
    type Connections<C> = [Place<C>; 8];
}

type Server<Z> = http::Server<Shown, Z>;
type Nodes = [Box<Node<BorderRouter>>];

/// Two nodes; the server is on the second.
struct Pair<Z: http::Sizes = Plan> {
    world: World<BorderRouter>,
    server: Server<Z>,
}

impl Pair {
    fn new() -> Self {
        Self::with_plan()
    }
}

impl<Z: http::Sizes> Pair<Z> {
    fn with_plan() -> Self {
        let connection = ConnectionConfig { mss: 400, ..ConnectionConfig::DEFAULT };
        let config = ListenConfig { backlog: 2, connection, ..ListenConfig::default() };
        let mut pair =
            Pair { world: World::new(3, usual(), 0, 3), server: Server::new(PORT, config, Shown) };
        // The server listens.
        pair.run(Duration::from_secs(1), |_, _| false);
        pair
    }

    /// Runs for `limit`, or until `done`.
    fn run(&mut self, limit: Duration, mut done: impl FnMut(Instant, &mut Nodes) -> bool) -> bool {
        let server = &mut self.server;
        self.world.run(limit, |now, nodes| {
            let wakes = server.deadline().is_some_and(|at| at <= now);
            // An iteration in which it finds work is followed by one in which it finds none.
            while server.poll(now, &mut nodes[1]) {}
            let still = server.deadline().is_some_and(|at| at <= now);
            assert!(!wakes || !still, "what is due is done");
            done(now, nodes)
        })
    }

    fn connect(&mut self) -> Handle {
        self.connect_from(0)
    }

    fn connect_from(&mut self, node: usize) -> Handle {
        let (now, config) = (self.world.now, ConnectionConfig { mss: 400, ..Default::default() });
        self.world.nodes[node].streams().connect(now, global(2), PORT, config).expect("a place")
    }

    /// Returns the response of the server on `handle` to `request` within `limit`, and whether it
    /// has ended.
    fn ask(&mut self, handle: Handle, request: &[u8], limit: Duration) -> (String, bool) {
        let (mut said, mut heard, mut ended) = (0, Vec::new(), false);
        self.run(limit, |_, nodes| {
            said += nodes[0].streams().send(handle, &request[said..]).unwrap_or(0);
            let mut chunk = [0; 200];
            match nodes[0].streams().recv(handle, &mut chunk) {
                Ok(len @ 1..) => heard.extend(&chunk[..len]),
                Err(RecvError::WouldBlock) => {}
                Ok(_) | Err(_) => ended = true,
            }
            ended
        });
        (String::from_utf8(heard).expect("text"), ended)
    }
}

fn answer(request: &str) -> (String, bool) {
    let mut pair = Pair::new();
    let handle = pair.connect();
    pair.ask(handle, request.as_bytes(), Duration::from_secs(20))
}

#[test]
fn requests_are_answered_or_refused_as_the_standard_says() {
    let with = |method: &str, path: &str, fields: &str| {
        format!("{method} {path} HTTP/1.1\r\nHost: m\r\n{fields}\r\n")
    };
    let put = |fields: &str| with("PUT", "/sum", fields) + "ABC";
    let length = "Content-Length: 3\r\n";
    let page = "Content-Type: text/html\r\nContent-Length: 34\r\nConnection: keep-alive\r\n\r\n\
                <!doctype html><title>here</title>";
    for (request, status, rest, ends) in [
        (with("GET", "/", ""), "200 OK", page, false),
        (with("GET", "/?x=y", ""), "200 OK", page, false),
        (with("GET", "http://m:80/", ""), "200 OK", page, false),
        (with("GET", "http://m", ""), "200 OK", page, false),
        ("GET / HTTP/1.1\nHost: m\n\n".to_owned(), "200 OK", page, false),
        (with("GET", "/x", ""), "200 OK", "keep-alive\r\n\r\nxxxxxxxxxx", false),
        (with("HEAD", "/x", ""), "200 OK", "10\r\nConnection: keep-alive\r\n\r\n", false),
        (with("GET", "/x", "Connection: close\r\n"), "200 OK", "close\r\n\r\nxxxxxxxxxx", true),
        ("GET /x HTTP/1.0\n\n".to_owned(), "200 OK", "close\r\n\r\nxxxxxxxxxx", true),
        (with("GET", "/none", ""), "404 Not Found", "\r\n\r\n404 Not Found\n", false),
        (with("HEAD", "/none", ""), "404 Not Found", "14\r\nConnection: keep-alive\r\n\r\n", false),
        (put(length), "200 OK", "Length: 3\r\nConnection: close\r\n\r\n198", true),
        (put("Content-Length: +3\r\n"), "400 Bad Request", "\r\n400 Bad Request\n", true),
        (put(&(length.to_owned() + "Content-Length: 4\r\n")), "400 Bad Request", "", true),
        (put(""), "411 Length Required", "", true),
        (put("Transfer-Encoding: chunked\r\n"), "411 Length Required", "", true),
        (with("PUT", "/sum", "Content-Length: 0\r\n"), "200 OK", "\r\n\r\n0", true),
        (with("DELETE", "/", ""), "405 Method Not Allowed", "\r\nAllow: GET, HEAD\r\n", true),
        (with("GET", "/sum", ""), "405 Method Not Allowed", "\r\nAllow: PUT, POST\r\n", true),
        // An unexpected body is not the next request.
        (with("GET", "/x", length) + "GET", "200 OK", "close\r\n\r\nxxxxxxxxxx", true),
    ] {
        let (text, ended) = answer(&request);
        assert!(text.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request}: {text}");
        assert!(text.contains(rest) && ended == ends, "{request}: {text}, ended: {ended}");
        let is_last = !rest.ends_with("\r\n\r\n") || text.ends_with(rest);
        assert!(is_last && text.matches("HTTP/1.1").count() == 1, "{request}: {text}");
    }
}

#[test]
fn a_client_that_expects_100_continue_gets_it() {
    let head = "POST /sum HTTP/1.1\r\nHost: m\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    let mut pair = Pair::new();
    let handle = pair.connect();
    let (text, _) = pair.ask(handle, head.as_bytes(), Duration::from_secs(5));
    assert_eq!(text, "HTTP/1.1 100 Continue\r\n\r\n");
    let (text, ended) = pair.ask(handle, b"AB", Duration::from_secs(5));
    assert!(text.starts_with("HTTP/1.1 200 OK") && text.ends_with("\r\n131") && ended, "{text}");
}

#[test]
fn requests_before_the_answer_to_the_one_before_are_answered_in_their_order() {
    let letters: Vec<char> = ('a'..='z').collect();
    let one = |letter: &char| format!("GET /{letter} HTTP/1.1\r\nHost: m\r\n\r\n");
    let (text, ended) = answer(&letters.iter().map(one).collect::<String>());
    let bodies: Vec<char> =
        text.split("HTTP/1.1 200 OK").skip(1).filter_map(|answer| answer.chars().last()).collect();
    assert_eq!(bodies, letters);
    assert!(!ended, "the connection stays");
}

#[test]
fn a_silent_client_makes_room_for_others_even_in_the_midst_of_a_request() {
    let mut pair = Pair::new();
    for begun in [&b""[..], b"GET / HT"] {
        let idle = pair.connect();
        let (text, ended) = pair.ask(idle, begun, Duration::from_secs(10));
        assert!(text.is_empty() && !ended, "a minute of grace");
    }
    assert_eq!(pair.server.open(), 2);
    pair.run(Duration::from_secs(45), |_, _| false);
    assert_eq!(pair.server.open(), 1, "while nobody waits");
    pair.run(Duration::from_secs(10), |_, _| false);
    assert_eq!(pair.server.open(), 0);
}

/// Behaviours of clients that take a slot and do not release it: the octets they send, and whether
/// they read.
const SQUATTERS: [(&[u8], bool); 5] = [
    (b"", true),
    (b"GET / HT", true),
    (b"GET / HTTP/1.1\r\nHost: m\r\n\r\n", true),
    (b"GET / HTTP/1.0\r\n\r\n", true),
    (b"GET /long HTTP/1.1\r\nHost: m\r\n\r\n", false),
];

/// Connects `clients` such clients, one after another, which stay. Returns the time of a page after
/// that, and the number of clients that have lost their connection then.
fn page_after<Z: http::Sizes>(clients: usize, (said, reads): (&[u8], bool)) -> (Duration, usize) {
    let mut pair = Pair::<Z>::with_plan();
    let mut squatters = Vec::new();
    for client in 0..clients {
        let node = if client % 2 == 0 { 0 } else { 2 };
        let handle = pair.connect_from(node);
        let mut left = said;
        pair.run(Duration::from_secs(3), |_, nodes| {
            left = &left[nodes[node].streams().send(handle, left).unwrap_or(0)..];
            // The page is read, and the connection not closed.
            while reads && nodes[node].streams().recv(handle, &mut [0; 200]).is_ok_and(|it| it > 0)
            {
            }
            false
        });
        squatters.push((node, handle));
    }
    let (start, next) = (pair.world.now, pair.connect());
    let (mut said, mut heard) = (0, Vec::new());
    let request = b"GET / HTTP/1.0\r\n\r\n";
    let whole = pair.run(Duration::from_secs(600), |_, nodes| {
        said += nodes[0].streams().send(next, &request[said..]).unwrap_or(0);
        let mut chunk = [0; 200];
        if let Ok(len) = nodes[0].streams().recv(next, &mut chunk) {
            heard.extend(&chunk[..len]);
        }
        heard.ends_with(PAGE)
    });
    assert!(whole, "no page in 600 s");
    let took = pair.world.now - start;
    pair.run(Duration::from_secs(5), |_, _| false);
    let gone = |&&(node, handle): &&(usize, Handle)| {
        pair.world.nodes[node].tcp().info(handle).is_none_or(|it| it.error.is_some())
    };
    (took, squatters.iter().filter(gone).count())
}

#[test]
fn a_client_that_waits_gets_the_place_of_one_that_is_idle() {
    for squatter in SQUATTERS {
        // As many as the server has slots, and as many as TCP has.
        for (took, gone) in [page_after::<Plan>(2, squatter), page_after::<Wide>(4, squatter)] {
            let text = String::from_utf8_lossy(squatter.0);
            assert!(took <= Duration::from_secs(2), "{text}: {took:?}");
            assert!(gone <= 1, "{text}: {gone} have lost their connection");
        }
    }
}

#[test]
fn a_new_client_is_not_evicted_for_the_next() {
    // Four clients of a server with two slots; each sends its next request at once.
    let mut pair = Pair::new();
    let request = b"GET /x HTTP/1.1\r\nHost: m\r\n\r\n";
    let mut clients: Vec<(usize, Handle, usize, Vec<u8>, u32)> =
        [0, 2, 0, 2].map(|node| (node, pair.connect_from(node), 0, Vec::new(), 0)).into();
    let mut sent_away = 0;
    let done = pair.run(Duration::from_secs(120), |now, nodes| {
        for (node, handle, said, heard, answers) in &mut clients {
            let mut streams = nodes[*node].streams();
            *said += streams.send(*handle, &request[*said..]).unwrap_or(0);
            let mut chunk = [0; 200];
            match streams.recv(*handle, &mut chunk) {
                end @ (Ok(0) | Err(RecvError::Ended(_))) => {
                    let answered = end == Ok(0) && heard.ends_with(b"xxxxxxxxxx");
                    sent_away += u32::from(!answered);
                    *answers += u32::from(answered);
                    // The next one at once.
                    streams.release(now, *handle, None).unwrap();
                    let config = ConnectionConfig { mss: 400, ..Default::default() };
                    *handle = streams.connect(now, global(2), PORT, config).expect("a place");
                    *said = 0;
                    heard.clear();
                }
                Ok(len @ 1..) => {
                    heard.extend(&chunk[..len]);
                    if heard.ends_with(b"xxxxxxxxxx")
                        && heard.windows(10).any(|it| it == b"keep-alive")
                    {
                        (*said, *answers) = (0, *answers + 1);
                        heard.clear();
                    }
                }
                Err(RecvError::WouldBlock) => {}
                other => panic!("{other:?} after {answers} answers and {} octets", heard.len()),
            }
        }
        clients.iter().all(|client| client.4 >= 10)
    });
    assert!(done, "{:?}", clients.iter().map(|client| client.4).collect::<Vec<_>>());
    // A client whose SYN and request are both lost sends nothing for three seconds (RFC 6298, 5.7).
    assert!(sent_away <= 1, "{sent_away}");
}

#[test]
fn the_client_with_the_last_place_is_asked_not_to_keep_it() {
    let mut pair = Pair::new();
    let request = b"GET /x HTTP/1.1\r\nHost: m\r\n\r\n";
    for (stays, ends) in [("keep-alive", false), ("close", true)] {
        let handle = pair.connect();
        let (text, ended) = pair.ask(handle, request, Duration::from_secs(5));
        assert!(text.contains(&format!("Connection: {stays}\r\n")) && ended == ends, "{text}");
    }
}

#[test]
fn a_request_is_expected_for_three_seconds_of_a_new_connection() {
    let mut pair = Pair::new();
    assert_eq!(pair.server.expected(pair.world.now), None);
    let handle = pair.connect();
    let (text, _) = pair.ask(handle, b"", Duration::from_millis(500));
    let expected = pair.server.expected(pair.world.now).expect("a request");
    assert!(text.is_empty() && expected.until == expected.since + Duration::from_secs(3));
    assert_eq!(pair.server.expected(expected.until), None);
    pair.ask(handle, b"G", Duration::from_millis(500));
    assert_eq!(pair.server.expected(pair.world.now), None, "TCP sees the rest");
}

/// A TCP with one connection, whose state the test sets.
struct Single {
    accepted: bool,
    said: &'static [u8],
    wanted: bool,
    queued: bool,
    released: Option<Instant>,
}

impl Sockets for Single {
    type Handle = ();

    fn connect(&mut self, _: Instant, _: Peer, _: ConnectionConfig) -> Option<()> {
        None
    }

    fn listen(&mut self, _: u16, _: ListenConfig) -> bool {
        true
    }

    fn accept(&mut self, _: u16) -> Option<()> {
        (!std::mem::replace(&mut self.accepted, true)).then_some(())
    }

    fn is_wanted(&self, _: u16) -> bool {
        self.wanted
    }

    fn has_queued(&self, (): ()) -> bool {
        self.queued
    }

    fn state(&self, (): ()) -> Option<State> {
        Some(State::Established)
    }

    fn info(&self, (): ()) -> Option<Info> {
        None
    }

    fn can_send(&self, (): ()) -> usize {
        1_000
    }

    fn send(&mut self, (): (), octets: &[u8]) -> Result<usize, SendError> {
        self.queued = true;
        Ok(octets.len())
    }

    fn peek(&self, (): (), out: &mut [u8]) -> Result<usize, RecvError> {
        let len = self.said.len().min(out.len());
        out[..len].copy_from_slice(&self.said[..len]);
        if len > 0 { Ok(len) } else { Err(RecvError::WouldBlock) }
    }

    fn recv(&mut self, (): (), out: &mut [u8]) -> Result<usize, RecvError> {
        let len = self.peek((), out)?;
        self.said = &self.said[len..];
        Ok(len)
    }

    fn close(&mut self, (): ()) {}

    fn release(&mut self, now: Instant, (): (), _: Option<Duration>) {
        self.released.get_or_insert(now);
    }
}

#[test]
fn a_response_in_flight_is_not_idle() {
    let request = b"GET / HTTP/1.1\r\nHost: m\r\nConnection: keep-alive\r\n\r\n";
    // Acknowledged after `acked_ms`; evicted for a waiting client after `left_ms`.
    for (acked_ms, left_ms) in [(0, 1_000), (5_000, 5_000), (30_000, 10_000)] {
        let config = ListenConfig::default();
        let mut server = http::Server::<Shown, Plan, ()>::new(PORT, config, Shown);
        let (accepted, wanted, queued) = (false, false, false);
        let mut tcp = Single { accepted, said: request, wanted, queued, released: None };
        let begin = Instant::from_secs(1);
        for ms in (0..20_000).step_by(500) {
            let now = begin + Duration::from_millis(ms);
            while server.step(now, &mut tcp) {}
            // The next client arrives when the connection has been kept alive.
            tcp.wanted = true;
            tcp.queued &= ms < acked_ms;
        }
        assert_eq!(tcp.said, b"", "it is answered");
        let left = begin + Duration::from_millis(left_ms);
        // The next call detects it.
        let released = tcp.released.expect("a client waits");
        assert!(left <= released && released <= left + Duration::from_millis(500), "{released:?}");
    }
}
