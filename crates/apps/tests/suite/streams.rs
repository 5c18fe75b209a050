//! Applications over streams, between two nodes: transfers, services, and a web client.

use crate::common::{World, global, usual};
use kinglet::BorderRouter;
use kinglet::tcp::{ConnectionConfig, ListenConfig, RecvError};
use kinglet::time::{Duration, Instant};
use kinglet_apps::http::{Asker, Client, Failure, Request};
use kinglet_apps::service::{self, Echo, Sink, Source};
use kinglet_apps::{
    App, Asked, Content, Format, Peer, Place, Resource, Site, bulk, fill, http, is_intact, udp,
};

type Nodes = World<BorderRouter>;

fn nodes() -> Nodes {
    World::new(2, usual(), 0, 3)
}

fn connection() -> ConnectionConfig {
    ConnectionConfig { mss: 400, ..ConnectionConfig::DEFAULT }
}

fn listen() -> ListenConfig {
    ListenConfig { backlog: 2, connection: connection(), ..ListenConfig::default() }
}

/// Runs applications of both nodes for `limit`, or until `done`.
fn run<A: App, B: App>(
    world: &mut Nodes,
    (first, second): (&mut A, &mut B),
    limit: Duration,
    done: impl Fn(&A, &B) -> bool,
) -> bool {
    world.run(limit, |now, nodes| {
        while first.poll(now, &mut nodes[0]) {}
        while second.poll(now, &mut nodes[1]) {}
        for due in [first.deadline(), second.deadline()] {
            assert!(due.is_none_or(|at| at > now || at == Instant::ZERO), "what is due is done");
        }
        done(first, second)
    })
}

#[test]
fn datagrams_in_bulk_are_as_many_as_the_stack_takes_each_once_and_in_order() {
    let mut world = nodes();
    let mut bulk: udp::Bulk<[u8; 200]> =
        udp::Bulk::new((global(2), 7_000), Instant::from_millis(5), 300, 100);
    let mut sink = udp::Sink::new(7_000);
    let mut numbers = Vec::new();
    world.run(Duration::from_secs(60), |now, nodes| {
        while bulk.poll(now, &mut nodes[0]) {}
        sink.take(&mut nodes[1], |octets| numbers.extend(udp::number_of(octets)));
        assert!(bulk.deadline().is_none_or(|at| at > now));
        bulk.deadline().is_none() && sink.received() == 300
    });
    assert_eq!((bulk.sent(), sink.received(), sink.bytes()), (300, 300, 30_000));
    assert!(numbers.into_iter().eq(0..300));
}

#[test]
fn a_transfer_arrives_whole_also_if_all_of_it_fits_into_the_first_buffer() {
    for len in [0, 1, 300, 20_000] {
        let mut world = nodes();
        let mut sender: bulk::Sender =
            bulk::Sender::new((global(2), 6_000), Instant::ZERO, Some(len), connection());
        let mut receiver: bulk::Receiver = bulk::Receiver::new(6_000, listen());
        let apps = (&mut sender, &mut receiver);
        let ended = run(&mut world, apps, Duration::from_secs(60), |_, end| end.finished());
        assert!(ended && receiver.intact() && receiver.received() == len, "{len}: {receiver:?}");
        assert_eq!(sender.written(), len);
    }
}

#[test]
fn a_transfer_whose_receiver_is_late_begins_when_it_listens() {
    let mut world = nodes();
    let to = (global(2), 6_000);
    let mut sender: bulk::Sender = bulk::Sender::new(to, Instant::ZERO, Some(1_000), connection());
    let mut other: bulk::Receiver = bulk::Receiver::new(6_001, listen());
    run(&mut world, (&mut sender, &mut other), Duration::from_secs(10), |_, _| false);
    // After 1, 2 and 4 seconds.
    assert_eq!(world.nodes[1].tcp().stats().received, 4);
    let mut receiver: bulk::Receiver = bulk::Receiver::new(6_000, listen());
    let apps = (&mut sender, &mut receiver);
    assert!(run(&mut world, apps, Duration::from_secs(10), |_, end| end.finished()));
    assert!(receiver.intact() && receiver.received() == 1_000);
}

struct One;

impl service::Sizes for One {
    type Connections<C> = [Place<C>; 1];
}

/// Returns the octets that a service returns for `said` within `limit`, and the end of the stream,
/// if any.
fn talk<V: service::Service>(said: &[u8], limit: Duration) -> (Vec<u8>, Option<RecvError>) {
    let mut world = nodes();
    let mut server = service::Server::<V, One>::new(listen());
    let (mut handle, mut at, mut heard, mut end) = (None, 0, Vec::new(), None);
    world.run(limit, |now, nodes| {
        while server.poll(now, &mut nodes[1]) {}
        let mut streams = nodes[0].streams();
        let handle = *handle.get_or_insert_with(|| {
            streams.connect(now, global(2), V::PORT, connection()).expect("a place")
        });
        at += streams.send(handle, &said[at..]).unwrap_or(0);
        let is_open = nodes[0].tcp().state(handle) == Some(kinglet::tcp::State::Established);
        let mut streams = nodes[0].streams();
        if is_open && at == said.len() && at > 0 {
            streams.close(handle).expect("a connection");
        }
        let mut chunk = [0; 100];
        match streams.recv(handle, &mut chunk) {
            Ok(0) => end = Some(RecvError::WouldBlock),
            Ok(len) => heard.extend(&chunk[..len]),
            Err(RecvError::WouldBlock) => {}
            Err(error) => end = Some(error),
        }
        end.is_some()
    });
    (heard, end)
}

#[test]
fn services_do_what_they_always_did() {
    let mut said = [0; 5_000];
    fill(0, &mut said);
    // The stream ends without an error.
    let ended = Some(RecvError::WouldBlock);
    let (heard, end) = talk::<Echo>(&said, Duration::from_secs(30));
    assert!(heard == said && end == ended, "{} octets, {end:?}", heard.len());
    assert_eq!(talk::<Sink>(&said, Duration::from_secs(30)), (vec![], ended));
    let (heard, end) = talk::<Source>(&said, Duration::from_secs(5));
    assert!(heard.len() > 5_000 && is_intact(0, &heard) && end.is_none(), "{}", heard.len());
}

#[test]
fn a_peer_that_is_silent_for_a_minute_makes_room() {
    let (heard, end) = talk::<Echo>(b"", Duration::from_secs(59));
    assert!(heard.is_empty() && end.is_none(), "{end:?}");
    let (_, end) = talk::<Echo>(b"", Duration::from_secs(62));
    assert!(matches!(end, Some(RecvError::Ended(_))), "{end:?}");
}

struct Plan;

impl http::Sizes for Plan {
    type Line = [u8; 64];
    type Connections<C> = [Place<C>; 2];
}

/// Sends the same request repeatedly.
struct Again {
    path: &'static str,
    next: Option<Instant>,
    pause: Duration,
    is_last: bool,
    heads: Vec<(u16, Option<u32>)>,
    body: Vec<u8>,
    outcomes: Vec<Result<u16, Failure>>,
}

impl Again {
    fn new(path: &'static str, pause_s: u64, is_last: bool) -> Self {
        let (next, pause) = (Some(Instant::ZERO), Duration::from_secs(pause_s));
        let (heads, body, outcomes) = (Vec::new(), Vec::new(), Vec::new());
        Again { path, next, pause, is_last, heads, body, outcomes }
    }
}

impl Asker for Again {
    fn next(&self) -> Option<Instant> {
        self.next
    }

    fn to(&self) -> Peer {
        (global(2), 80)
    }

    fn request(&self) -> Request<'_> {
        let request = match self.path {
            "/sum" => Request::put("m", self.path, 1_000),
            path => Request::get("m", path),
        };
        if self.is_last { request.last() } else { request }
    }

    fn read(&self, at: u32, out: &mut [u8]) {
        fill(at.into(), out);
    }

    fn head(&mut self, status: u16, length: Option<u32>) {
        self.heads.push((status, length));
    }

    fn take(&mut self, octets: &[u8]) {
        self.body.extend(octets);
    }

    fn end(&mut self, now: Instant, since: Instant, outcome: Result<u16, Failure>) {
        assert!(since <= now);
        self.outcomes.push(outcome);
        self.next = Some(now + self.pause);
    }
}

type Web = Client<Again, [u8; 64]>;
const PAGE: &[u8] = b"<!doctype html><title>here</title>";

/// A page, and an inbox for the known stream.
struct Shown;

impl Site for Shown {
    type Body = &'static [u8];
    /// Number of octets so far, and whether they are correct.
    type Inbox = (u64, bool);

    fn find(&mut self, asked: &Asked<'_>) -> Option<Resource<Self::Body, Self::Inbox>> {
        match asked.path {
            b"/" => Some(Resource::Content(content(PAGE))),
            b"/sum" => Some(Resource::Inbox((0, true))),
            _ => None,
        }
    }

    fn read(&self, body: Self::Body, at: u32, out: &mut [u8]) {
        out.copy_from_slice(&body[at as usize..][..out.len()]);
    }

    fn take(&mut self, inbox: &mut Self::Inbox, octets: &[u8]) {
        inbox.1 &= is_intact(inbox.0, octets);
        inbox.0 += octets.len() as u64;
    }

    fn finish(&mut self, inbox: &mut Self::Inbox, _len: u32) -> Content<Self::Body> {
        content(if *inbox == (1_000, true) { b"right" } else { b"wrong" })
    }
}

fn content(body: &'static [u8]) -> Content<&'static [u8]> {
    Content { format: Format::Text, len: body.len() as u32, body }
}

fn server() -> http::Server<Shown, Plan> {
    http::Server::new(80, listen(), Shown)
}

fn ask(again: Again, limit: u64) -> (Web, Nodes) {
    let (mut world, mut web) = (nodes(), Web::new(connection(), again));
    run(&mut world, (&mut web, &mut server()), Duration::from_secs(limit), |_, _| false);
    (web, world)
}

#[test]
fn a_connection_is_kept_for_the_next_request_unless_it_is_the_last() {
    let opened = [false, true].map(|is_last| {
        let (web, world) = ask(Again::new("/", 2, is_last), 19);
        let again = web.asker();
        assert_eq!(again.outcomes, [Ok(200); 10]);
        assert_eq!(again.body, PAGE.repeat(10));
        assert!(again.heads.iter().all(|head| *head == (200, Some(PAGE.len() as u32))));
        assert_eq!(web.connection().is_some(), !is_last);
        world.nodes[1].tcp().stats().established
    });
    assert_eq!(opened, [1, 10]);
}

#[test]
fn a_connection_that_its_server_has_ended_meanwhile_is_replaced() {
    // After a minute the server closes the idle connection.
    let (web, _) = ask(Again::new("/", 90, false), 400);
    assert_eq!(web.asker().outcomes, [Ok(200); 5]);
}

#[test]
fn a_refusal_is_reported_and_tried_again_after_a_pause() {
    assert_eq!(ask(Again::new("/none", 30, true), 20).0.asker().outcomes, [Ok(404)]);
    let put = ask(Again::new("/sum", 30, true), 20).0;
    assert_eq!((&put.asker().outcomes[..], &put.asker().body[..]), (&[Ok(200)][..], &b"right"[..]));
    let mut world = nodes();
    let mut other: bulk::Receiver = bulk::Receiver::new(6_001, listen());
    let mut web = Web::new(connection(), Again::new("/", 0, true));
    run(&mut world, (&mut web, &mut other), Duration::from_secs(10), |_, _| false);
    // After 1, 2 and 4 seconds.
    assert_eq!(web.asker().outcomes, [Err(Failure::Refused); 4]);
}

/// IPv6's minimum MTU.
#[test]
fn the_longest_datagram_of_a_packet_of_1280_octets_is_echoed() {
    let mut world = nodes();
    let mut echo = udp::Echo::new(7);
    let client = world.nodes[0].datagrams().bind(0).unwrap();
    let sent: Vec<u8> = (0..1280 - 40 - 8).map(|n| n as u8).collect();
    let (mut asked, mut buf) = (false, [0; 1280]);
    assert!(world.run(Duration::from_secs(10), |now, nodes| {
        while echo.poll(now, &mut nodes[1]) {}
        let mut datagrams = nodes[0].datagrams();
        asked = asked || datagrams.send(now, client, global(2), 7, &sent).is_ok();
        match datagrams.recv(client, &mut buf) {
            Ok(Some(received)) => {
                assert_eq!(buf[..received.len], sent);
                true
            }
            _ => false,
        }
    }));
}
