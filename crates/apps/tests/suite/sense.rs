//! Sensors and a CoAP client, between two nodes.

use crate::common::{World, global, usual};
use kinglet::BorderRouter;
use kinglet::tcp::{ConnectionConfig, Handle, ListenConfig};
use kinglet::time::{Duration, Instant};
use kinglet_apps::coap::{self, Asker, Client, Failure, Observer, PORT, Request, Server, Socket};
use kinglet_apps::sense::{
    MessageSensor, Probe, Readings, Sampling, StreamSensor, TAG, Waiting, untag,
};
use kinglet_apps::{App, Asked, Content, Format, Peer, Resource, Site, fill, is_intact};
use kinglet_coap::{
    CoapConfig, Code, Delivery, Event, PeerEstimate, Reset, Sizes, Slot, TransferError,
};

type Nodes = World<BorderRouter>;

fn nodes() -> Nodes {
    World::new(2, usual(), 0, 3)
}

/// Readings of ten octets: their number, and the second in which they were made.
struct Clock;

impl Probe for Clock {
    type Reading = u64;
    const LEN: usize = 10;
    const HEAD: usize = 2;

    fn sample(&mut self, now: Instant) -> u64 {
        now.as_millis() / 1_000
    }

    fn write(&self, number: u32, second: u64, at: usize, out: &mut [u8]) {
        out.copy_from_slice(&octets(number, second)[at..][..out.len()]);
    }
}

fn octets(number: u32, second: u64) -> [u8; 10] {
    let mut octets = [0; 10];
    octets[..2].copy_from_slice(&(number as u16).to_be_bytes());
    octets[2..].copy_from_slice(&second.to_be_bytes());
    octets
}

/// All readings up to a number; the first is made in the second second.
fn stream(count: u32) -> Vec<u8> {
    (0..count).flat_map(|number| octets(number, u64::from(number) + 2)).collect()
}

type Queue = [Option<Waiting<u64>>; 8];

fn readings(batch: usize) -> Readings<Clock, Queue> {
    let (start, period) = (Instant::from_secs(2), Duration::from_secs(1));
    Readings::new(Sampling { start, period, batch, queue: 8 }, Clock)
}

/// Octets received over one connection, and whether it has ended.
type Call = (Handle, Vec<u8>, bool);

/// Runs with this sensor at the first node, and records all connections to the second.
fn listen(
    world: &mut Nodes,
    sensor: &mut StreamSensor<Clock, Queue>,
    heard: &mut Vec<Call>,
    seconds: u64,
) {
    world.run(Duration::from_secs(seconds), |now, nodes| {
        while sensor.poll(now, &mut nodes[0]) {}
        assert!(sensor.deadline().is_none_or(|at| at > now), "what is due is done");
        let mut streams = nodes[1].streams();
        let mut chunk = [0; 200];
        while let Some(handle) = streams.accept(6_000) {
            heard.push((handle, Vec::new(), false));
        }
        for (handle, octets, ended) in heard.iter_mut().filter(|(.., ended)| !ended) {
            match streams.recv(*handle, &mut chunk) {
                Ok(0) => {
                    *ended = true;
                    streams.release(now, *handle, None).expect("it is there");
                }
                Ok(len) => octets.extend(&chunk[..len]),
                Err(_) => {}
            }
        }
        false
    });
}

/// Returns all received octets.
fn whole(heard: &[Call]) -> Vec<u8> {
    heard.iter().flat_map(|(_, octets, _)| octets.iter().copied()).collect()
}

#[test]
fn readings_arrive_by_stream_in_batches_and_a_connection_that_was_refused_is_tried_again() {
    let mut world = nodes();
    let connection = ConnectionConfig { mss: 400, ..ConnectionConfig::DEFAULT };
    let to = (global(2), 6_000);
    let mut sensor: StreamSensor<Clock, Queue> =
        StreamSensor::new(readings(4), to, Instant::ZERO, connection);
    let mut heard = Vec::new();
    // The port is closed: the sensor tries every three seconds.
    listen(&mut world, &mut sensor, &mut heard, 5);
    assert!(heard.is_empty());
    let refused = world.nodes[1].tcp().stats().received;
    assert_eq!(refused, 2);
    let config = ListenConfig { backlog: 2, connection, ..ListenConfig::default() };
    world.nodes[1].streams().listen(6_000, config).expect("room");
    // Waiting readings are sent when there is a connection, then 12 to 15 as a batch; 16 waits.
    listen(&mut world, &mut sensor, &mut heard, 10);
    assert_eq!(whole(&heard), stream(14), "{heard:?}");
    let left = sensor.readings();
    assert_eq!((left.left(), left.dropped(), sensor.written()), (14, 0, 140));
}

#[test]
fn a_sensor_with_a_connection_for_each_batch_waits_for_one_that_is_answered() {
    let mut world = nodes();
    let connection = ConnectionConfig { mss: 400, ..ConnectionConfig::DEFAULT };
    let to = (global(2), 6_000);
    let mut sensor = StreamSensor::<Clock, Queue>::new(readings(4), to, Instant::ZERO, connection)
        .connection_per_batch();
    let mut heard = Vec::new();
    // The port is closed, and nothing is to be sent until the fourth reading, in the fifth second.
    listen(&mut world, &mut sensor, &mut heard, 4);
    assert!(heard.is_empty());
    assert_eq!(world.nodes[1].tcp().stats().received, 0, "it has not called");
    listen(&mut world, &mut sensor, &mut heard, 2);
    assert!(heard.is_empty());
    assert!(world.nodes[1].tcp().stats().received > 0, "it has");
    let config = ListenConfig { backlog: 2, connection, ..ListenConfig::default() };
    world.nodes[1].streams().listen(6_000, config).expect("room");
    listen(&mut world, &mut sensor, &mut heard, 11);
    assert!(heard.len() >= 2 && heard.iter().all(|(.., ended)| *ended), "{heard:?}");
    let whole = whole(&heard);
    assert_eq!(whole, stream(whole.len() as u32 / 10), "nothing was lost");
    assert!(whole.len() >= 80, "two batches at the least");
}

struct Small;

impl Sizes for Small {
    type Message = [u8; 96];
    type Requests<K: Copy + Eq> = [Slot<K, Self::Message>; 1];
    type Served<K: Copy + Eq> = [Slot<K, Self::Message>; 2];
    type Peers<K: Copy + Eq> = [Option<PeerEstimate<K>>; 1];
    type Resets<K: Copy + Eq> = [Option<Reset<K>>; 1];
}

impl coap::Plan for Small {
    type Observers = [Option<Observer>; 0];
    const IS_FOUND: bool = false;
}

/// Codes and payloads of messages.
type Heard = Vec<(Code, Vec<u8>)>;

/// Returns the messages with readings that arrive within `seconds`, while `hears` is true for a
/// present receiver, and the sensor afterwards.
fn messages(
    room: usize,
    delivery: Delivery,
    seconds: u64,
    hears: impl Fn(Instant) -> bool,
) -> (Heard, MessageSensor<Clock, Queue, Small>) {
    let mut world = nodes();
    let to = ((global(2), PORT), "readings");
    let mut sensor = MessageSensor::new(readings(4), to, room, delivery, CoapConfig::new(1));
    let mut sink = Socket::<Small>::new(PORT, CoapConfig::new(2));
    let mut heard = Vec::new();
    world.run(Duration::from_secs(seconds), |now, nodes| {
        while sensor.poll(now, &mut nodes[0]) {}
        assert!(sensor.deadline().is_none_or(|at| at > now), "what is due is done");
        if !hears(now) {
            return false;
        }
        while sink.poll(now, &mut nodes[1], |endpoint, _, event| {
            let Event::Request { ticket, message } = event else { return };
            assert!(message.is_path("readings"));
            heard.push((message.header.code, message.payload.to_vec()));
            endpoint.respond(now, ticket, Code::CHANGED, |_| Ok(())).expect("room");
        }) {}
        false
    });
    (heard, sensor)
}

/// Returns the octets of messages at their positions, and checks the code of each.
fn placed(heard: &[(Code, Vec<u8>)], code: Code) -> Vec<u8> {
    let mut placed = Vec::new();
    for (found, octets) in heard {
        let (tag, octets) = octets.split_first_chunk::<TAG>().expect("a tag");
        let (number, cut) = untag(u32::from_be_bytes(*tag));
        let at = number as usize * Clock::LEN + cut;
        assert!(*found == code && at <= placed.len(), "a hole");
        placed.truncate(at);
        placed.extend(octets);
    }
    placed
}

#[test]
fn readings_arrive_in_messages_whether_they_are_confirmed_or_not() {
    for (delivery, code) in
        [(Delivery::Confirmable, Code::POST), (Delivery::NonConfirmable, Code::PUT)]
    {
        let (heard, sensor) = messages(25, delivery, 14, |_| true);
        assert_eq!(placed(&heard, code), stream(12), "{heard:?}");
        // Forty octets in two messages.
        assert_eq!((heard.len(), sensor.asked()), (6, 6));
        assert_eq!(sensor.tag().is_none(), delivery == Delivery::Confirmable);
    }
    // As many as fit into a message of the plan: all four readings.
    assert_eq!(messages(1_000, Delivery::Confirmable, 6, |_| true).0.len(), 1);
}

#[test]
fn an_aborted_transfer_begins_again_and_only_a_full_queue_loses_readings() {
    let (heard, sensor) =
        messages(1_000, Delivery::Confirmable, 300, |now| now > Instant::from_secs(200));
    assert!(sensor.stats().timeouts > 0 && sensor.asked() > 1);
    // Four in the message, eight in the queue, and all later ones.
    let readings = sensor.readings();
    assert!(readings.dropped() > 150, "{}", readings.dropped());
    let first = placed(&heard[..1], Code::POST);
    assert_eq!(first, stream(4));
    let (tag, second) = heard[1].1.split_first_chunk::<TAG>().expect("a tag");
    assert_eq!(untag(u32::from_be_bytes(*tag)), (4, 0));
    assert!(second.starts_with(&stream(8)[40..]));
}

/// A stream of any length, and an inbox for one.
struct Stream;

impl Site for Stream {
    type Body = Option<bool>;
    type Inbox = (u64, bool);

    fn find(&mut self, asked: &Asked<'_>) -> Option<Resource<Self::Body, Self::Inbox>> {
        match asked.path {
            b"/long" => Some(Resource::Content(content(300, None))),
            b"/short" => Some(Resource::Content(content(3, None))),
            b"/upload" => Some(Resource::Inbox((0, true))),
            _ => None,
        }
    }

    fn read(&self, body: Self::Body, at: u32, out: &mut [u8]) {
        match body {
            None => fill(at.into(), out),
            Some(intact) => out.fill(u8::from(intact)),
        }
    }

    fn take(&mut self, inbox: &mut Self::Inbox, octets: &[u8]) {
        inbox.1 &= is_intact(inbox.0, octets);
        inbox.0 += octets.len() as u64;
    }

    fn finish(&mut self, inbox: &mut Self::Inbox, len: u32) -> Content<Self::Body> {
        content(1, Some(inbox.1 && inbox.0 == u64::from(len)))
    }
}

fn content(len: u32, body: Option<bool>) -> Content<Option<bool>> {
    Content { format: Format::Octets, len, body }
}

/// Sends these requests one after another.
struct List {
    requests: &'static [Request<'static>],
    heard: Vec<u8>,
    outcomes: Vec<(Result<(), Failure>, Vec<u8>)>,
}

impl Asker for List {
    fn next(&self) -> Option<Instant> {
        (self.outcomes.len() < self.requests.len()).then_some(Instant::from_secs(1))
    }

    fn to(&self) -> Peer {
        (global(2), PORT)
    }

    fn request(&self) -> Request<'_> {
        self.requests[self.outcomes.len()]
    }

    fn read(&self, at: u32, out: &mut [u8]) {
        fill(at.into(), out);
    }

    fn take(&mut self, octets: &[u8]) {
        self.heard.extend(octets);
    }

    fn end(&mut self, now: Instant, since: Instant, outcome: Result<(), Failure>) {
        assert!(since <= now);
        self.outcomes.push((outcome, std::mem::take(&mut self.heard)));
    }
}

#[test]
fn a_client_fetches_and_sends_bodies_block_by_block_and_says_what_was_refused() {
    const REQUESTS: &[Request<'_>] = &[
        Request::get("/long", 64),
        Request::get("short", 16),
        Request::put("/upload", 32, 200),
        Request::post("/upload", 64, 3),
        Request::get("/none", 64),
        Request::put("/long", 64, 3),
        Request::put("/upload", 1_024, 2_000),
    ];
    let mut world = nodes();
    let mut server = Server::<Stream, Small>::new(PORT, Stream, 64, CoapConfig::new(2));
    let list = List { requests: REQUESTS, heard: Vec::new(), outcomes: Vec::new() };
    let mut client = Client::<List, Small>::new(CoapConfig::new(1), list);
    let done = world.run(Duration::from_secs(60), |now, nodes| {
        while client.poll(now, &mut nodes[0]) {}
        while server.poll(now, &mut nodes[1]) {}
        assert!(client.deadline().is_none_or(|at| at > now), "what is due is done");
        client.asker().outcomes.len() == REQUESTS.len()
    });
    let refused = |code| Err(Failure::Transfer(TransferError::Refused(code)));
    let mut body = [0; 300];
    fill(0, &mut body);
    let expected = [
        (Ok(()), body.to_vec()),
        (Ok(()), body[..3].to_vec()),
        (Ok(()), vec![1]),
        (Ok(()), vec![1]),
        (refused(Code::NOT_FOUND), vec![]),
        (refused(Code::METHOD_NOT_ALLOWED), vec![]),
        // Blocks that do not fit into a message of the plan.
        (Err(Failure::NoRoom), vec![]),
    ];
    assert_eq!(client.asker().outcomes, expected);
    assert!(done && client.stats().timeouts == 0);
}

#[test]
fn a_client_whose_server_is_not_there_says_so() {
    const REQUESTS: &[Request<'_>] = &[Request::get("/long", 64)];
    let mut world = nodes();
    let list = List { requests: REQUESTS, heard: Vec::new(), outcomes: Vec::new() };
    let mut client = Client::<List, Small>::new(CoapConfig::new(1), list);
    // The node's socket accepts datagrams that are never read.
    world.nodes[1].datagrams().bind(PORT).expect("room");
    world.run(Duration::from_secs(200), |now, nodes| {
        while client.poll(now, &mut nodes[0]) {}
        !client.asker().outcomes.is_empty()
    });
    let lost = Err(Failure::Lost(kinglet_coap::Failure::TimedOut));
    assert_eq!(client.asker().outcomes, [(lost, vec![])]);
}
