//! The CoAP server, between two nodes.

use crate::common::{World, global, usual};
use kinglet::BorderRouter;
use kinglet::time::{Duration, Instant};
use kinglet_apps::coap::{Asker, Client, Failure, Observer, PORT, Plan, Request, Server, Socket};
use kinglet_apps::{App, Asked, Content, Format, Fresh, Link, Never, Peer, Resource, Site};
use kinglet_coap::{
    CoapConfig, Code, Delivery, Event, Header, Kind, Message, Newest, PeerEstimate, Reset, Sizes,
    Slot, Writer, option,
};

struct Small;

impl Sizes for Small {
    type Message = [u8; 128];
    type Requests<K: Copy + Eq> = [Slot<K, Self::Message>; 1];
    type Served<K: Copy + Eq> = [Slot<K, Self::Message>; 3];
    type Peers<K: Copy + Eq> = [Option<PeerEstimate<K>>; 1];
    type Resets<K: Copy + Eq> = [Option<Reset<K>>; 1];
}

impl Plan for Small {
    type Observers = [Option<Observer>; 2];
    const IS_FOUND: bool = true;
}

/// A value that the test sets; its length is `len` octets.
struct Value {
    len: u32,
    version: u32,
}

impl Site for Value {
    type Body = u32;
    type Inbox = Never;

    fn find(&mut self, asked: &Asked<'_>) -> Option<Resource<u32, Never>> {
        let content = Content { format: Format::Text, len: self.len, body: self.version };
        (asked.path == b"/value" && self.len > 0).then_some(Resource::Content(content))
    }

    fn fresh(&self, now: Instant, path: &[u8]) -> Option<Fresh> {
        let until = now + Duration::from_secs(1_000);
        (path == b"/value" && self.len > 0).then_some(Fresh { version: self.version, until })
    }

    fn links(&self) -> &'static [Link] {
        const VALUE: Link = Link {
            path: "/value",
            format: Some(Format::Text),
            size: 0,
            kind: "v",
            observable: true,
        };
        &[VALUE]
    }

    fn read(&self, version: u32, _at: u32, out: &mut [u8]) {
        out.fill(b'0' + version as u8);
    }

    fn take(&mut self, inbox: &mut Never, _octets: &[u8]) {
        match *inbox {}
    }

    fn finish(&mut self, inbox: &mut Never, _len: u32) -> Content<u32> {
        match *inbox {}
    }
}

/// A message that a client has received: kind, code, number of a notification, payload.
type Heard = (Kind, Code, Option<u32>, String);

struct Pair {
    world: World<BorderRouter>,
    server: Server<Value, Small>,
    client: kinglet::net::UdpHandle,
    /// True if the client acknowledges, and true if it still knows the token.
    is_there: bool,
    knows: bool,
    heard: Vec<Heard>,
    /// The Echo option that the server sent last.
    echo: Vec<u8>,
    /// The token of requests.
    token: [u8; 3],
}

impl Pair {
    fn new() -> Self {
        let mut world = World::new(2, usual(), 0, 3);
        let client = world.nodes[0].datagrams().bind(0).expect("a socket");
        let server = Server::new(PORT, Value { len: 2, version: 1 }, 64, CoapConfig::new(2));
        let heard = Vec::new();
        let (is_there, knows, echo) = (true, true, Vec::new());
        let token = *b"tok";
        let mut pair = Pair { world, server, client, is_there, knows, heard, echo, token };
        pair.run(1);
        pair
    }

    /// Runs for `seconds`. Returns the received messages.
    fn run(&mut self, seconds: u64) -> Vec<Heard> {
        let Pair { world, server, client, is_there, knows, heard, echo, .. } = self;
        world.run(Duration::from_secs(seconds), |now, nodes| {
            while server.poll(now, &mut nodes[1]) {}
            assert!(App::deadline(server).is_none_or(|at| at > now), "what is due is done");
            let mut datagram = [0; 200];
            while let Ok(Some(found)) = nodes[0].datagrams().recv(*client, &mut datagram) {
                let message = Message::parse(&datagram[..found.len]).expect("well formed");
                let Header { kind, code, message_id, .. } = message.header;
                let text = String::from_utf8_lossy(message.payload).into_owned();
                if let Some(value) = message.values(option::ECHO).next() {
                    *echo = value.to_vec();
                }
                heard.push((kind, code, message.uint(option::OBSERVE), text));
                let answer = if *knows { 0x60 } else { 0x70 };
                let answered = *is_there && (kind == Kind::Confirmable || !*knows);
                if answered && kind != Kind::Acknowledgement {
                    let [high, low] = message_id.to_be_bytes();
                    let octets = [answer, 0, high, low];
                    let mut datagrams = nodes[0].datagrams();
                    datagrams.send(now, *client, global(2), PORT, &octets).expect("room");
                }
            }
            false
        });
        std::mem::take(heard)
    }

    /// Sends the request that `build` writes, and returns the responses within a second; if the
    /// server requires a proof of the address, the request is repeated with it.
    fn ask(
        &mut self,
        code: Code,
        message_id: u16,
        build: impl Fn(&mut Writer<'_>) -> Result<(), kinglet_coap::WriteError>,
    ) -> Vec<Heard> {
        let heard = self.ask_once(code, message_id, &build);
        if !matches!(&heard[..], [(_, Code::UNAUTHORIZED, ..)]) {
            return heard;
        }
        let echo = std::mem::take(&mut self.echo);
        self.ask_once(code, message_id + 1_000, |request| {
            build(request)?;
            request.option(option::ECHO, &echo)
        })
    }

    fn ask_once(
        &mut self,
        code: Code,
        message_id: u16,
        build: impl Fn(&mut Writer<'_>) -> Result<(), kinglet_coap::WriteError>,
    ) -> Vec<Heard> {
        let token = kinglet_coap::Token::new(&self.token);
        let mut octets = [0; 100];
        let header = Header { kind: Kind::Confirmable, code, message_id, token };
        let mut writer = Writer::new(&mut octets, header).expect("room");
        build(&mut writer).expect("room");
        let len = writer.finish();
        let (now, client) = (self.world.now, self.client);
        let mut datagrams = self.world.nodes[0].datagrams();
        datagrams.send(now, client, global(2), PORT, &octets[..len]).expect("room");
        self.run(1)
    }

    fn observe(&mut self, wish: u32, message_id: u16) -> Vec<Heard> {
        self.ask(Code::GET, message_id, |request| {
            request.uint(option::OBSERVE, wish)?;
            request.path("value")
        })
    }

    /// Changes the value.
    fn set(&mut self, version: u32) {
        self.server.site().version = version;
    }
}

fn content(kind: Kind, number: Option<u32>, text: &str) -> Heard {
    (kind, Code::CONTENT, number, text.to_owned())
}

#[test]
fn a_refused_request_gets_the_code_and_text_of_the_reason() {
    let (get, put) = (Code::GET, Code::PUT);
    for (code, path, accept, answer, text) in [
        (get, "value", None, Code::CONTENT, "11"),
        (get, "value", Some(0), Code::CONTENT, "11"),
        (get, "value", Some(50), Code::NOT_ACCEPTABLE, "not in this format"),
        (get, "other", None, Code::NOT_FOUND, "not here"),
        (get, "value/x", None, Code::NOT_FOUND, "not here"),
        (put, "value", None, Code::METHOD_NOT_ALLOWED, "not with this method"),
        (Code::DELETE, "other", None, Code::NOT_FOUND, "not here"),
        (get, ".well-known/core", None, Code::CONTENT, "</value>;rt=\"v\";ct=0;obs"),
        (get, ".well-known/core", Some(0), Code::NOT_ACCEPTABLE, "not in this format"),
    ] {
        let heard = Pair::new().ask(code, 7, |request| {
            request.path(path)?;
            accept.map_or(Ok(()), |format| request.uint(option::ACCEPT, format))
        });
        let expected = (Kind::Acknowledgement, answer, None, text.to_owned());
        assert_eq!(heard, [expected], "{code:?} {path} {accept:?}");
    }
}

#[test]
fn an_observer_is_notified_of_changes_in_order_until_it_has_enough() {
    let mut pair = Pair::new();
    let now = pair.world.now;
    assert_eq!(pair.observe(0, 1), [content(Kind::Acknowledgement, Some(1), "11")]);
    assert_eq!(pair.server.observed(), 1);
    assert_eq!(pair.run(60), [], "nothing has changed");
    pair.set(2);
    assert_eq!(pair.run(1), [content(Kind::NonConfirmable, Some(2), "22")]);
    // Two changes within the pause are one notification.
    pair.set(3);
    assert_eq!(pair.run(1), []);
    pair.set(4);
    assert_eq!(pair.run(3), [content(Kind::NonConfirmable, Some(3), "44")]);
    // After ten minutes the client has to confirm that it is still there.
    pair.run(600);
    pair.set(5);
    assert!(pair.world.now > now + Duration::from_secs(600));
    assert_eq!(pair.run(10), [content(Kind::Confirmable, Some(4), "55")]);
    pair.set(6);
    assert_eq!(pair.run(10), [content(Kind::NonConfirmable, Some(5), "66")]);
    assert_eq!(pair.observe(1, 2), [content(Kind::Acknowledgement, None, "66")]);
    pair.set(7);
    assert_eq!((pair.run(10), pair.server.observed()), (vec![], 0));
}

#[test]
fn an_observer_that_has_gone_is_removed_with_a_message_or_without() {
    // The client does not know the token any more.
    let mut pair = Pair::new();
    pair.observe(0, 1);
    pair.knows = false;
    pair.set(2);
    assert_eq!(pair.run(5).len(), 1);
    pair.set(3);
    assert_eq!((pair.run(5), pair.server.observed()), (vec![], 0));
    // The client is silent, which a confirmable notification detects.
    let mut pair = Pair::new();
    pair.observe(0, 1);
    pair.run(601);
    pair.is_there = false;
    pair.set(2);
    let heard = pair.run(300);
    assert_eq!(heard.len(), 5, "once, and four times more: {heard:?}");
    assert_eq!(pair.server.observed(), 0);
}

#[test]
fn an_observer_that_has_gone_loses_its_place_when_another_one_wants_it() {
    let mut pair = Pair::new();
    let mut message_ids = 1..;
    let mut observe = |pair: &mut Pair, token: &[u8; 3]| {
        pair.token = *token;
        let heard = pair.observe(0, message_ids.next().unwrap());
        heard.iter().any(|it| it.0 == Kind::Acknowledgement && it.2.is_some())
    };
    // A slot is free, so the first observer need not confirm.
    assert!(observe(&mut pair, b"one"));
    assert_eq!(pair.run(100), []);
    pair.token = *b"two";
    let heard = pair.observe(0, 800);
    assert!(heard.iter().all(|it| it.0 == Kind::Acknowledgement), "{heard:?}");
    let places = 2;
    assert_eq!(pair.server.observed(), places);
    // The first has to confirm because a new observer finds the table full; the second has just
    // registered.
    assert!(!observe(&mut pair, b"new"));
    pair.run(5);
    // All registered recently: they need not confirm, and the new client has its response.
    assert_eq!(pair.run(100), []);
    // After a minute each has to confirm once, though the value stays the same, and all are there.
    pair.token = *b"new";
    let mut asked = pair.observe(0, 900);
    asked.extend(pair.run(5));
    asked.retain(|it| it.0 != Kind::Acknowledgement);
    assert_eq!(asked.len(), places, "{asked:?}");
    assert!(asked.iter().all(|it| it.0 == Kind::Confirmable && it.3 == "11"), "{asked:?}");
    assert!(!observe(&mut pair, b"new"));
    assert_eq!(pair.run(300), []);
    assert_eq!(pair.server.observed(), places);
    // They are gone. Without a new observer none has to confirm; then each has to.
    pair.is_there = false;
    assert_eq!(pair.run(100), []);
    assert!(!observe(&mut pair, b"new"));
    // At most MAX_TRANSMIT_WAIT for each, one after the other (NSTART, RFC 7252 §4.7).
    pair.run(93 * places as u64);
    assert_eq!(pair.server.observed(), 0);
    assert!(observe(&mut pair, b"new"));
}

#[test]
fn a_resource_that_has_gone_is_said_to_be_and_one_without_a_place_is_answered_once() {
    let mut pair = Pair::new();
    pair.observe(0, 1);
    // The same client with the same token takes no second slot.
    pair.observe(0, 2);
    assert_eq!(pair.server.observed(), 1);
    let heard = pair.ask(Code::GET, 3, |request| {
        request.uint(option::OBSERVE, 0)?;
        request.path("other")
    });
    assert_eq!(heard[0].1, Code::NOT_FOUND);
    assert_eq!(pair.server.observed(), 0, "the token is that of the new request");
    pair.observe(0, 4);
    pair.server.site().len = 0;
    let heard = pair.run(5);
    assert_eq!((heard.len(), heard[0].1), (1, Code::NOT_FOUND));
    assert_eq!(pair.server.observed(), 0);
}

#[test]
fn a_notification_has_the_first_block_of_a_long_body_and_the_others_are_fetched() {
    let mut pair = Pair::new();
    pair.server.site().len = 100;
    let heard = pair.observe(0, 1);
    assert_eq!(heard, [content(Kind::Acknowledgement, Some(1), &"1".repeat(64))]);
    pair.set(2);
    assert_eq!(pair.run(5), [content(Kind::NonConfirmable, Some(2), &"2".repeat(64))]);
    let heard = pair.ask(Code::GET, 2, |request| {
        request.path("value")?;
        request.uint(option::BLOCK2, 1 << 4 | 2)
    });
    assert_eq!(heard, [content(Kind::Acknowledgement, None, &"2".repeat(36))]);
    assert_eq!(pair.server.observed(), 1);
}

#[test]
fn the_next_block_is_expected_for_three_seconds_after_the_previous_one() {
    let mut pair = Pair::new();
    pair.server.site().len = 100;
    let expects = |pair: &Pair| pair.server.expected(pair.world.now).is_some();
    assert!(!expects(&pair));
    pair.ask(Code::GET, 1, |request| request.path("value"));
    for (seconds, expected) in [(0, true), (1, true), (2, false)] {
        pair.run(seconds);
        assert_eq!(expects(&pair), expected, "after {seconds} s more");
    }
    for (message_id, block) in [(2, 2), (3, 1 << 4 | 2)] {
        pair.ask(Code::GET, message_id, |request| {
            request.path("value")?;
            request.uint(option::BLOCK2, block)
        });
        assert_eq!(expects(&pair), block == 2, "unless it was the last one");
    }
}

#[test]
fn a_socket_expects_answers_and_says_which_messages_it_has_counted() {
    let mut pair = Pair::new();
    let mut socket = Socket::<Small>::new(0, CoapConfig::new(1));
    let (server, mut answered, mut asked) = (&mut pair.server, false, false);
    pair.world.run(Duration::from_secs(5), |now, nodes| {
        while server.poll(now, &mut nodes[1]) {}
        if !asked {
            let to = (global(2), PORT);
            let endpoint = socket.endpoint();
            let made =
                endpoint.request(now, to, Delivery::Confirmable, Code::GET, |it| it.path("value"));
            asked = made.is_ok();
        }
        while socket.poll(now, &mut nodes[0], |_, _, event| {
            answered |= matches!(event, Event::Response { .. });
        }) {}
        assert_eq!(socket.expected(now).is_some(), asked && !answered);
        answered
    });
    assert!(answered);
    assert_eq!((socket.messages(), server.messages()), ((1, 1), (1, 1)));
}

#[test]
fn a_client_that_observes_is_notified_of_every_change_until_it_has_enough() {
    let mut pair = Pair::new();
    let mut socket = Socket::<Small>::new(0, CoapConfig::new(1));
    let (server, mut newest) = (&mut pair.server, Newest::NONE);
    let (mut asked, mut heard, mut echo) = (None, Vec::new(), Vec::new());
    let start = pair.world.now;
    pair.world.run(Duration::from_secs(60), |now, nodes| {
        // A new version every ten seconds; the client wants three.
        server.site().version = 1 + ((now - start).as_millis() / 10_000) as u32;
        while server.poll(now, &mut nodes[1]) {}
        let endpoint = socket.endpoint();
        let handle = *asked.get_or_insert_with(|| {
            let to = (global(2), PORT);
            let made = endpoint.request(now, to, Delivery::Confirmable, Code::GET, |it| {
                it.uint(option::OBSERVE, 0)?;
                it.path("value")?;
                if echo.is_empty() { Ok(()) } else { it.option(option::ECHO, &echo) }
            });
            made.expect("room")
        });
        if heard.len() == 3 {
            endpoint.cancel(handle);
        }
        while socket.poll(now, &mut nodes[0], |_, _, event| {
            if let Event::Response { message, handle: found } = event {
                if message.header.code == Code::UNAUTHORIZED {
                    echo.extend(message.values(option::ECHO).flatten());
                    asked = None;
                    return;
                }
                assert!(found == handle && newest.take(now, &message));
                heard.push(message.payload.to_vec());
            }
        }) {}
        false
    });
    assert_eq!(heard, [b"11", b"22", b"33"]);
    assert!(pair.server.site().version >= 6);
}

#[test]
fn a_group_is_answered_at_leisure_by_who_has_something_to_say() {
    let (link, site) = ("ff02::fd", "ff05::fd");
    let (con, non) = (Kind::Confirmable, Kind::NonConfirmable);
    let (links, at) = ("</value>;rt=\"v\";ct=0;obs", ".well-known/core");
    for (group, kind, path, filter, answers) in [
        (link, non, at, "", Some(links)),
        (site, non, at, "", Some(links)),
        (site, non, at, "rt=v*", Some(links)),
        (site, non, "value", "", Some("11")),
        (site, non, at, "rt=other", None),
        (site, non, "other", "", None),
        (site, con, at, "", None),
        ("ff05::1:3", non, at, "", None),
    ] {
        let mut pair = Pair::new();
        let token = kinglet_coap::Token::new(b"tok");
        let header = Header { kind, code: Code::GET, message_id: 7, token };
        let mut octets = [0; 100];
        let mut writer = Writer::new(&mut octets, header).expect("room");
        writer.path(path).expect("room");
        if !filter.is_empty() {
            writer.option(option::URI_QUERY, filter.as_bytes()).expect("room");
        }
        let len = writer.finish();
        let (now, to) = (pair.world.now, group.parse().expect("an address"));
        let mut datagrams = pair.world.nodes[0].datagrams();
        datagrams.send(now, pair.client, to, PORT, &octets[..len]).expect("room");
        let heard = pair.run(6);
        let expected: Vec<Heard> =
            answers.iter().map(|text| content(Kind::NonConfirmable, None, text)).collect();
        assert_eq!(heard, expected, "{group} {kind:?} {path} {filter}");
    }
}

/// RFC 7641 leaves observing by a group request undefined: each member would send notifications to
/// the client that it could not tell apart by their token.
#[test]
fn a_group_request_to_observe_is_answered_once_although_the_client_is_proven() {
    let mut pair = Pair::new();
    let wish = |request: &mut Writer<'_>| {
        request.uint(option::OBSERVE, 0)?;
        request.path("value")
    };
    pair.ask_once(Code::GET, 1, wish);
    let echo = std::mem::take(&mut pair.echo);
    assert!(!echo.is_empty());
    let (kind, token) = (Kind::NonConfirmable, kinglet_coap::Token::new(b"tok"));
    let header = Header { kind, code: Code::GET, message_id: 7, token };
    let mut octets = [0; 100];
    let mut writer = Writer::new(&mut octets, header).expect("room");
    wish(&mut writer).expect("room");
    writer.option(option::ECHO, &echo).expect("room");
    let len = writer.finish();
    let (now, to) = (pair.world.now, "ff02::fd".parse().expect("an address"));
    let mut datagrams = pair.world.nodes[0].datagrams();
    datagrams.send(now, pair.client, to, PORT, &octets[..len]).expect("room");
    pair.heard.clear();
    assert_eq!(pair.run(6), [content(Kind::NonConfirmable, None, "11")]);
    assert_eq!(pair.server.observed(), 0);
}

#[test]
fn a_client_with_an_unproven_address_observes_nothing_and_reads_nothing_long() {
    let mut pair = Pair::new();
    pair.server.site().len = 64;
    let wish = |request: &mut Writer<'_>| {
        request.uint(option::OBSERVE, 0)?;
        request.path("value")
    };
    let heard = pair.ask_once(Code::GET, 1, wish);
    assert_eq!(heard, [(Kind::Acknowledgement, Code::UNAUTHORIZED, None, String::new())]);
    assert_eq!(pair.server.observed(), 0);
    // Without observing it is short enough.
    let heard = pair.ask_once(Code::GET, 2, |request| request.path("value"));
    assert_eq!(heard, [content(Kind::Acknowledgement, None, &"1".repeat(64))]);
    assert_eq!(pair.ask(Code::GET, 3, wish)[0].2, Some(1), "with proof");
    assert_eq!(pair.server.observed(), 1);
}

struct Large;

impl Sizes for Large {
    type Message = [u8; 600];
    type Requests<K: Copy + Eq> = [Slot<K, Self::Message>; 1];
    type Served<K: Copy + Eq> = [Slot<K, Self::Message>; 2];
    type Peers<K: Copy + Eq> = [Option<PeerEstimate<K>>; 1];
    type Resets<K: Copy + Eq> = [Option<Reset<K>>; 1];
}

impl Plan for Large {
    type Observers = [Option<Observer>; 0];
    const IS_FOUND: bool = true;
}

/// 1,500 octets at `/long`, and an inbox at `/box` that answers with 400 and counts bodies.
struct Long {
    bodies: u32,
}

impl Site for Long {
    type Body = ();
    type Inbox = ();

    fn find(&mut self, asked: &Asked<'_>) -> Option<Resource<(), ()>> {
        let content = |len| Content { format: Format::Text, len, body: () };
        match asked.path {
            b"/long" => Some(Resource::Content(content(1_500))),
            b"/box" => Some(Resource::Inbox(())),
            _ => None,
        }
    }

    fn links(&self) -> &'static [Link] {
        const LONG: Link =
            Link { path: "/long", format: None, size: 0, kind: "k", observable: false };
        &[LONG; 30]
    }

    fn read(&self, (): (), at: u32, out: &mut [u8]) {
        out.iter_mut().zip(at..).for_each(|(octet, at)| *octet = at as u8);
    }

    fn take(&mut self, (): &mut (), _octets: &[u8]) {}

    fn finish(&mut self, (): &mut (), _len: u32) -> Content<()> {
        self.bodies += 1;
        Content { format: Format::Text, len: 400, body: () }
    }
}

/// Sends `request` once.
struct Once {
    request: Request<'static>,
    octets: Vec<u8>,
    outcome: Option<Result<(), Failure>>,
}

impl Asker for Once {
    fn next(&self) -> Option<Instant> {
        self.outcome.is_none().then_some(Instant::ZERO)
    }

    fn to(&self) -> Peer {
        (global(2), PORT)
    }

    fn request(&self) -> Request<'_> {
        self.request
    }

    fn take(&mut self, octets: &[u8]) {
        self.octets.extend(octets);
    }

    fn end(&mut self, _now: Instant, _since: Instant, outcome: Result<(), Failure>) {
        self.outcome = Some(outcome);
    }
}

/// Returns the content that a client gets, the number of messages that it has sent for it, and the
/// number of bodies received.
fn fetched(request: Request<'static>) -> (Vec<u8>, u32, u32) {
    let mut world: World<BorderRouter> = World::new(2, usual(), 0, 3);
    let mut server: Server<Long, Large> =
        Server::new(PORT, Long { bodies: 0 }, 512, CoapConfig::new(2));
    let asker = Once { request, octets: Vec::new(), outcome: None };
    let mut client: Client<Once, Large> = Client::new(CoapConfig::new(1), asker);
    world.run(Duration::from_secs(30), |now, nodes| {
        while server.poll(now, &mut nodes[1]) {}
        while client.poll(now, &mut nodes[0]) {}
        client.asker().outcome.is_some()
    });
    assert_eq!(client.asker().outcome, Some(Ok(())));
    (client.asker().octets.clone(), client.messages().1, server.site().bodies)
}

#[test]
fn a_client_proves_its_address_once_for_all_blocks() {
    let (octets, sent, _) = fetched(Request::get("long", 512));
    let expected: Vec<u8> = (0..1_500).map(|at| at as u8).collect();
    assert_eq!((octets, sent), (expected, 1 + 3));
    // Small blocks need no proof.
    let (octets, sent, _) = fetched(Request::get("long", 64));
    assert_eq!((octets.len(), sent), (1_500, 24));
}

#[test]
fn a_body_is_taken_once_though_its_answer_is_too_long_for_an_unproven_peer() {
    let (octets, sent, bodies) = fetched(Request::put("box", 64, 10));
    assert_eq!((octets.len(), sent, bodies), (0, 1, 1));
    let (octets, sent, bodies) = fetched(Request::put("box", 512, 300));
    assert_eq!((octets.len(), sent, bodies), (400, 1, 1), "a long request gets a long answer");
}

#[test]
fn a_group_that_is_asked_for_a_long_list_answers_with_a_block_of_it() {
    let mut world: World<BorderRouter> = World::new(2, usual(), 0, 3);
    let client = world.nodes[0].datagrams().bind(0).expect("a socket");
    let mut server: Server<Long, Large> =
        Server::new(PORT, Long { bodies: 0 }, 512, CoapConfig::new(2));
    let header = Header {
        kind: Kind::NonConfirmable,
        code: Code::GET,
        message_id: 7,
        token: kinglet_coap::Token::new(b"tok"),
    };
    let (mut octets, mut asked, mut lens) = ([0; 100], 0, Vec::new());
    world.run(Duration::from_secs(12), |now, nodes| {
        while server.poll(now, &mut nodes[1]) {}
        if asked == 0 && now > Instant::from_secs(2) {
            let mut writer = Writer::new(&mut octets, header).expect("room");
            writer.path(".well-known/core").expect("room");
            asked = writer.finish();
            let to = "ff02::fd".parse().expect("an address");
            nodes[0].datagrams().send(now, client, to, PORT, &octets[..asked]).expect("room");
        }
        let mut datagram = [0; 700];
        while let Ok(Some(found)) = nodes[0].datagrams().recv(client, &mut datagram) {
            let message = Message::parse(&datagram[..found.len]).expect("well formed");
            assert_eq!(message.uint(option::BLOCK2), Some(8 | 2), "the first of several");
            assert_eq!((message.header.code, message.payload.len()), (Code::CONTENT, 64));
            lens.push(found.len);
        }
        false
    });
    assert!(matches!(lens[..], [len] if len + 48 <= 3 * (asked + 48)), "{lens:?} for {asked}");
}
