//! TCP Fast Open (RFC 7413), server and client.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::common::script::*;
use crate::common::*;
use kinglet_tcp::*;
use kinglet_time::Duration;
use kinglet_wire::tcp::{Cookie, Options, Segment, Timestamps};

const REQUEST: Options = Options { fast_open: Some(Cookie::REQUEST), ..Options::NONE };

fn with(cookie: Cookie) -> Options {
    Options { fast_open: Some(cookie), ..Options::NONE }
}

fn wants() -> ConnectionConfig {
    ConnectionConfig { fast_open: true, ..plain() }
}

/// A listener with room for `fast_open` early connections, and the cookie it gives to the peer.
fn server(fast_open: u8) -> (Script, Cookie) {
    let mut s = Script::new();
    s.ep.listen(80, ListenConfig { fast_open, ..listening(3, plain()) }).unwrap();
    s.options = REQUEST;
    s.give(SYN, 0, 0, b"too early").unwrap();
    let syn_ack = s.take().unwrap();
    assert_eq!((syn_ack.header.flags, syn_ack.ack), (SYN | ACK, 1), "the data is left to the peer");
    s.theirs = syn_ack.header.seq;
    s.options = Options::NONE;
    s.give(RST, 1, 0, b"").unwrap();
    s.remote += 1;
    (s, syn_ack.header.options.fast_open.unwrap_or_default())
}

/// Hands in the peer's SYN with a cookie and data; returns the response.
fn open_early(s: &mut Script, cookie: Cookie, data: &[u8]) -> Got {
    s.options = with(cookie);
    s.give(SYN, 0, 0, data).unwrap();
    s.options = Options::NONE;
    let syn_ack = s.take().unwrap();
    assert_eq!(syn_ack.header.flags, SYN | ACK);
    s.theirs = syn_ack.header.seq;
    syn_ack
}

//= rfc7413#2-1 rfc7413#4.2-1
#[test]
fn no_client_opens_fast_without_having_asked_for_it() {
    let mut s = Script::new();
    s.ep.listen(80, ListenConfig::default()).unwrap();
    s.options = REQUEST;
    s.give(SYN, 0, 0, b"GET /").unwrap();
    let syn_ack = s.take().unwrap();
    assert_eq!((syn_ack.ack, syn_ack.header.options.fast_open), (1, None));
    let mut s = client();
    s.remote = 80;
    let handle = s.ep.connect(s.now, s.peer, 80, ConnectionConfig::DEFAULT).unwrap();
    s.ep.send(handle, b"GET /").unwrap();
    let syn = s.take().unwrap();
    assert!(syn.payload.is_empty() && syn.header.options.fast_open.is_none());
}

#[test]
fn a_listener_without_fast_open_ignores_the_option() {
    let (_, cookie) = server(0);
    assert!(cookie.is_request(), "no option came");
}

#[test]
fn data_with_a_cookie_is_read_and_answered_before_the_handshake_is_over() {
    let (mut s, cookie) = server(2);
    assert_eq!(cookie.as_slice().len(), 8);
    let syn_ack = open_early(&mut s, cookie, b"GET /");
    assert_eq!((syn_ack.ack, syn_ack.header.options.fast_open), (6, None));
    let handle = s.ep.accept(80).unwrap();
    assert_eq!(s.ep.state(handle), Some(State::SynReceived));
    assert_eq!(s.read(handle), b"GET /");
    s.ep.send(handle, b"200 OK").unwrap();
    let answer = s.take().unwrap();
    assert_eq!((answer.seq, answer.ack, &answer.payload[..]), (1, 6, &b"200 OK"[..]));
    s.silent();
    s.give(ACK, 6, 7, b"").unwrap();
    assert_eq!(s.ep.state(handle), Some(State::Established));
    assert_eq!(s.ep.info(handle).unwrap().bytes_in_flight, 0);
    assert_eq!(s.ep.stats().fast_opens, 1);
    s.give(ACK, 6, 7, b"more").unwrap();
    assert_eq!(s.read(handle), b"more");
}

/// Last.ACK.sent of RFC 7323 §4.3 is what the SYN-ACK has acknowledged.
#[test]
fn a_segment_after_the_data_of_a_syn_has_its_timestamp_echoed() {
    let config = ConnectionConfig { timestamps: true, ..plain() };
    let mut s = Script::new();
    s.ep.listen(80, ListenConfig { fast_open: 2, ..listening(3, config) }).unwrap();
    s.options = REQUEST;
    s.give(SYN, 0, 0, b"").unwrap();
    let cookie = s.take().unwrap().header.options.fast_open.unwrap();
    s.remote += 1;
    let at = |val| Some(Timestamps { val, ecr: 0 });
    s.options = Options { timestamps: at(7), ..with(cookie) };
    s.give(SYN, 0, 0, b"GET /").unwrap();
    let syn_ack = s.take().unwrap();
    assert_eq!((syn_ack.ack, syn_ack.header.options.timestamps.unwrap().ecr), (6, 7));
    s.theirs = syn_ack.header.seq;
    s.options = Options { timestamps: at(9), ..Options::NONE };
    s.give(ACK, 6, 1, b"more").unwrap();
    let ack = s.take().unwrap();
    assert_eq!((ack.ack, ack.header.options.timestamps.unwrap().ecr), (10, 9));
}

//= rfc7413#4.1.2-1
#[test]
fn a_cookie_is_the_peers_own_and_lasts_a_day() {
    let refused = |change: fn(&mut Script, &mut Cookie)| {
        let (mut s, mut cookie) = server(2);
        change(&mut s, &mut cookie);
        let syn_ack = open_early(&mut s, cookie, b"GET /");
        assert_eq!(syn_ack.ack, 1, "only the SYN");
        let fresh = syn_ack.header.options.fast_open.unwrap();
        assert!(fresh != cookie && fresh.as_slice().len() == 8);
        assert!(s.ep.accept(80).is_none());
        s.give(ACK, 1, 1, b"GET /").unwrap();
        let handle = s.ep.accept(80).unwrap();
        assert_eq!(s.read(handle), b"GET /");
    };
    refused(|s, _| s.peer = Pair(1, 3));
    refused(|s, _| s.now += Duration::from_secs(48 * 3600));
    refused(|_, cookie| *cookie = Cookie::new(&[7; 8]).unwrap());
    refused(|_, cookie| *cookie = Cookie::new(&cookie.as_slice()[..4]).unwrap());
    let (mut s, cookie) = server(2);
    s.now += Duration::from_secs(18 * 3600);
    assert_eq!(open_early(&mut s, cookie, b"GET /").ack, 6);
}

/// RFC 7413 §5.1: if too many connections are opening, or were reset, further ones open without
/// Fast Open.
//= rfc7413#4.2-3
#[test]
fn early_connections_are_bounded_and_resets_count() {
    let (mut s, cookie) = server(1);
    assert_eq!(open_early(&mut s, cookie, b"one").ack, 4);
    s.remote += 1;
    assert_eq!(open_early(&mut s, cookie, b"two").ack, 1, "the limit is one");
    s.remote -= 1;
    s.give(RST, 4, 0, b"").unwrap();
    assert!(s.ep.accept(80).is_none(), "reset before anybody has taken it");
    s.remote += 2;
    assert_eq!(open_early(&mut s, cookie, b"three").ack, 1, "the reset one still counts");
    s.now += Duration::from_secs(134);
    s.remote += 1;
    assert_eq!(open_early(&mut s, cookie, b"four").ack, 5);
    s.give(ACK, 5, 1, b"").unwrap();
    s.remote += 1;
    assert_eq!(open_early(&mut s, cookie, b"five").ack, 5, "one that is open does not count");
}

//= rfc7413#4.2.2-4
#[test]
fn the_syn_ack_is_repeated_without_data_or_cookie() {
    let (mut s, cookie) = server(2);
    open_early(&mut s, cookie, b"GET /");
    let handle = s.ep.accept(80).unwrap();
    s.ep.send(handle, b"200 OK").unwrap();
    assert_eq!(s.take().unwrap().payload, b"200 OK");
    let again = s.wait(Duration::from_millis(1100));
    let headers: Vec<_> = again.iter().map(|g| (g.header.flags, g.seq, g.payload.len())).collect();
    assert_eq!(headers, [(SYN | ACK, 0, 0)]);
    // The peer has fallen back: it repeats its SYN without data.
    s.give(SYN, 0, 0, b"").unwrap();
    let syn_ack = s.take().unwrap();
    assert_eq!((syn_ack.header.flags, syn_ack.seq, syn_ack.ack), (SYN | ACK, 0, 6));
    assert_eq!(s.read(handle), b"GET /", "once");
    // Only the SYN-ACK has arrived, so the response is sent again when its timer expires.
    s.give(ACK, 6, 1, b"").unwrap();
    assert_eq!(s.ep.state(handle), Some(State::Established));
    let again = s.wait(Duration::from_secs(4));
    assert_eq!((again[0].seq, &again[0].payload[..]), (1, &b"200 OK"[..]));
}

//= rfc7413#4.2.1-2
#[test]
fn a_request_cookie_is_not_repeated_with_the_syn_ack() {
    let mut s = Script::new();
    s.ep.listen(80, ListenConfig { fast_open: 1, ..listening(3, plain()) }).unwrap();
    s.options = REQUEST;
    s.give(SYN, 0, 0, b"").unwrap();
    assert!(s.take().unwrap().header.options.fast_open.is_some());
    let again = s.wait(Duration::from_millis(1100));
    assert_eq!((again.len(), again[0].header.options.fast_open), (1, None));
}

#[test]
fn an_early_connection_can_be_closed_at_once() {
    let (mut s, cookie) = server(2);
    open_early(&mut s, cookie, b"GET /");
    let handle = s.ep.accept(80).unwrap();
    s.ep.send(handle, b"200 OK").unwrap();
    s.ep.close(handle).unwrap();
    let answer = s.take().unwrap();
    assert!(answer.is(FIN) && answer.payload == b"200 OK");
    s.give(FIN | ACK, 6, 8, b"").unwrap();
    assert_eq!(s.take().unwrap().ack, 7);
    assert_eq!(s.ep.state(handle), Some(State::TimeWait));
}

#[test]
fn an_accepted_early_connection_reports_a_reset() {
    let (mut s, cookie) = server(2);
    open_early(&mut s, cookie, b"");
    let handle = s.ep.accept(80).unwrap();
    s.give(RST, 1, 0, b"").unwrap();
    assert_eq!(s.ep.recv(handle, &mut [0; 9]), Err(RecvError::Ended(ConnectionError::Reset)));
}

const COOKIE: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

/// A client that has `data` to send, and its SYN.
fn connecting(s: &mut Script, data: &[u8]) -> (Handle, Got) {
    s.remote = 80;
    let handle = s.ep.connect(s.now, s.peer, 80, wants()).unwrap();
    s.ep.send(handle, data).unwrap();
    let syn = s.take().unwrap();
    assert_eq!(
        (syn.header.flags, syn.seq.wrapping_sub(syn.header.seq)),
        (SYN, 0u32.wrapping_sub(s.theirs))
    );
    (s.theirs, s.local) = (syn.header.seq, syn.header.src_port);
    (handle, syn)
}

/// A client that has learnt a cookie.
fn client() -> Script {
    let mut s = Script::new();
    let (handle, syn) = connecting(&mut s, b"GET /");
    assert_eq!(syn.header.options.fast_open, Some(Cookie::REQUEST));
    assert!(syn.payload.is_empty());
    s.options = Options { mss: Some(92), ..with(Cookie::new(&COOKIE).unwrap()) };
    s.give(SYN | ACK, 0, 1, b"").unwrap();
    s.options = Options::NONE;
    assert_eq!(s.take().unwrap().payload, b"GET /");
    s.ep.abort(handle).unwrap();
    s.take_all();
    s
}

//= rfc7413#4.1.3-1
#[test]
fn with_a_cookie_the_data_goes_with_the_syn() {
    let mut s = client();
    let (handle, syn) = connecting(&mut s, b"GET /");
    assert_eq!(syn.header.options.fast_open, Cookie::new(&COOKIE));
    assert_eq!(syn.payload, b"GET /");
    s.give(SYN | ACK, 0, 6, b"200 OK").unwrap();
    assert_eq!(s.read(handle), b"200 OK");
    let info = s.ep.info(handle).unwrap();
    assert_eq!((info.bytes_acked, info.bytes_in_flight), (5, 0));
    let ack = s.take().unwrap();
    assert_eq!((ack.header.flags, ack.seq, ack.ack), (ACK, 6, 7));
    s.silent();
    s.ep.abort(handle).unwrap();
    s.take_all();
    // The cookie stays valid.
    assert_eq!(connecting(&mut s, b"x").1.payload, b"x");
}

//= rfc7413#4.2.2-5
#[test]
fn the_data_of_a_syn_fits_the_servers_mss_with_all_options() {
    let mut s = client();
    let (handle, syn) = connecting(&mut s, &[7; 300]);
    // The options are MSS, window scale and the cookie.
    assert_eq!((syn.header.options.len(), syn.payload.len()), (20, 92 - 20));
    s.give(SYN | ACK, 0, 73, b"").unwrap();
    // Nagle's algorithm keeps the last 28 octets back.
    assert_eq!(seqs(&s.take_all()), [73, 173]);
    assert_eq!(s.ep.info(handle).unwrap().bytes_acked, 72);
}

//= rfc7413#4.2.2-5 rfc7413#4.2.2-6
#[test]
fn data_that_the_syn_ack_does_not_acknowledge_are_retransmitted_at_once() {
    for taken in [0, 2] {
        let mut s = client();
        let (handle, _) = connecting(&mut s, b"GET /");
        s.options = with(Cookie::new(&[9; 16]).unwrap());
        s.give(SYN | ACK, 0, 1 + taken, b"").unwrap();
        s.options = Options::NONE;
        let again = s.take().unwrap();
        assert_eq!((again.seq, &again.payload[..]), (1 + taken, &b"GET /"[taken as usize..]));
        s.silent();
        s.give(ACK, 1, 6, b"").unwrap();
        let info = s.ep.info(handle).unwrap();
        assert_eq!((info.bytes_acked, info.counters.timeouts), (5, 0));
        s.ep.abort(handle).unwrap();
        s.take_all();
        assert_eq!(connecting(&mut s, b"").1.header.options.fast_open, Cookie::new(&[9; 16]));
    }
}

/// RFC 7413 §4.1.3.1.
//= rfc7413#4.1.3.1-1 rfc7413#4.1.3.1-2
#[test]
fn a_server_that_does_not_take_the_data_is_left_alone_for_a_while() {
    let mut s = client();
    let (handle, _) = connecting(&mut s, b"GET /");
    s.give(SYN | ACK, 0, 1, b"").unwrap();
    assert_eq!(s.take().unwrap().payload, b"GET /");
    s.ep.abort(handle).unwrap();
    s.take_all();
    let (handle, syn) = connecting(&mut s, b"GET /");
    assert!(syn.payload.is_empty() && syn.header.options.fast_open.is_none());
    s.ep.abort(handle).unwrap();
    s.now += Duration::from_secs(601);
    assert_eq!(connecting(&mut s, b"GET /").1.payload, b"GET /");
}

//= rfc7413#4.2.1-3
#[test]
fn a_server_without_cookies_is_not_asked_again_for_a_while() {
    let mut s = Script::new();
    let (handle, _) = connecting(&mut s, b"");
    s.give(SYN | ACK, 0, 1, b"").unwrap();
    s.ep.abort(handle).unwrap();
    s.take_all();
    assert_eq!(connecting(&mut s, b"").1.header.options.fast_open, None);
}

/// Opens a connection whose SYN with data is lost, with a plain SYN.
fn lose_syn(s: &mut Script) {
    let (handle, syn) = connecting(s, b"GET /");
    assert_eq!(syn.payload, b"GET /");
    let again = s.wait(Duration::from_millis(1100));
    assert_eq!((again.len(), again[0].header.flags, again[0].seq), (1, SYN, 0));
    assert!(again[0].payload.is_empty() && again[0].header.options.fast_open.is_none());
    s.give(SYN | ACK, 0, 1, b"").unwrap();
    assert_eq!(s.take().unwrap().payload, b"GET /");
    s.ep.abort(handle).unwrap();
    s.take_all();
}

/// RFC 7413 §4.1.3.1; Linux: `tcp_fastopen_cookie_check`.
//= rfc7413#4.1.3.1-1 rfc7413#4.1.3.1-2 rfc7413#4.2.1-3 rfc7413#4.2.2-2
#[test]
fn a_path_that_swallows_such_syns_twice_in_a_row_gets_plain_ones_for_ever_longer() {
    let mut s = client();
    lose_syn(&mut s);
    for minutes in [4, 8, 16, 32, 64, 64] {
        lose_syn(&mut s);
        for wait in [0, minutes * 60 - 5] {
            s.now += Duration::from_secs(wait);
            let (handle, syn) = connecting(&mut s, b"GET /");
            assert_eq!(syn.header.options.fast_open, None, "not again within {minutes} min");
            s.ep.abort(handle).unwrap();
            s.take_all();
        }
        s.now += Duration::from_secs(5);
    }
    // After a SYN that is answered, the next loss counts as the first.
    let (handle, _) = connecting(&mut s, b"GET /");
    s.give(SYN | ACK, 0, 6, b"").unwrap();
    s.ep.abort(handle).unwrap();
    s.take_all();
    lose_syn(&mut s);
    lose_syn(&mut s);
    assert_eq!(connecting(&mut s, b"x").1.header.options.fast_open, None);
}

#[test]
fn a_syn_that_the_link_has_lost_goes_again_with_its_data() {
    for answered in [false, true] {
        let mut s = client();
        s.remote = 80;
        let handle = s.ep.connect(s.now, s.peer, 80, wants()).unwrap();
        s.ep.send(handle, b"GET /").unwrap();
        let syn = s.ep.poll_packet(s.now).unwrap();
        s.ep.notify_lost(s.now, syn.payload);
        let header = Segment::parse(&syn.header).unwrap().header;
        (s.theirs, s.local) = (header.seq, header.src_port);
        if answered {
            // Only the link's acknowledgement was lost.
            s.give(SYN | ACK, 0, 6, b"").unwrap();
        } else {
            let again = s.take().unwrap();
            assert_eq!((again.header.flags, again.seq), (SYN, 0));
            assert_eq!(again.header.options.fast_open, Cookie::new(&COOKIE));
            assert_eq!(again.payload, b"GET /");
            s.silent();
            s.give(SYN | ACK, 0, 6, b"").unwrap();
        }
        let info = s.ep.info(handle).unwrap();
        assert_eq!((info.bytes_acked, info.bytes_in_flight, info.fast_open), (5, 0, true));
    }
    // So does the request for a cookie.
    let mut s = Script::new();
    s.ep.connect(s.now, s.peer, 80, wants()).unwrap();
    let syn = s.ep.poll_packet(s.now).unwrap();
    s.ep.notify_lost(s.now, syn.payload);
    assert_eq!(s.take().unwrap().header.options.fast_open, Some(Cookie::REQUEST));
}

#[test]
fn the_answer_to_a_syn_that_was_only_slow_is_taken() {
    let mut s = client();
    let (handle, _) = connecting(&mut s, b"GET /");
    s.wait(Duration::from_millis(1100));
    s.give(SYN | ACK, 0, 6, b"").unwrap();
    assert_eq!(s.ep.info(handle).unwrap().bytes_acked, 5);
    s.ep.abort(handle).unwrap();
    s.take_all();
    assert_eq!(connecting(&mut s, b"GET /").1.payload, b"GET /", "the path is proven");
}

//= rfc7413#4.1.3.1-1 rfc7413#4.1.3.1-2
#[test]
fn a_refused_or_unreachable_service_is_left_alone() {
    let mut s = client();
    let (_, syn) = connecting(&mut s, b"GET /");
    s.ep.notify_network_error(&s.peer, (s.local, 80), syn.header.seq, SoftError::Unreachable);
    s.silent();
    assert_eq!(connecting(&mut s, b"").1.header.options.fast_open, None);
}

#[test]
fn a_simultaneous_open_keeps_the_data() {
    let mut s = client();
    let (handle, _) = connecting(&mut s, b"GET /");
    s.give(SYN, 0, 0, b"").unwrap();
    let syn_ack = s.take().unwrap();
    assert_eq!((syn_ack.header.flags, syn_ack.seq), (SYN | ACK, 0));
    s.give(ACK, 1, 1, b"").unwrap();
    assert_eq!(s.ep.state(handle), Some(State::Established));
    assert_eq!(s.take().unwrap().payload, b"GET /");
}

/// RFC 7413 §4.1.1: in a simultaneous open the peer's acknowledgment is no SYN-ACK, and its option
/// replaces no cookie.
//= rfc7413#4.1.1-3
#[test]
fn a_cookie_without_syn_is_not_remembered() {
    let mut s = client();
    let (handle, _) = connecting(&mut s, b"GET /");
    s.give(SYN, 0, 0, b"").unwrap();
    s.take_all();
    s.options = with(Cookie::new(&[9; 8]).unwrap());
    s.give(ACK, 1, 6, b"").unwrap();
    s.options = Options::NONE;
    assert_eq!(s.ep.state(handle), Some(State::Established));
    s.ep.abort(handle).unwrap();
    s.take_all();
    let (_, syn) = connecting(&mut s, &[7; 300]);
    assert_eq!(syn.header.options.fast_open, Cookie::new(&COOKIE));
    assert_eq!(syn.payload.len(), 92 - 20, "the MSS is remembered too");
}

#[test]
fn the_oldest_server_makes_room_for_a_new_one() {
    let mut s = client();
    for id in [3, 4] {
        s.peer = Pair(1, id);
        let (_, syn) = connecting(&mut s, b"");
        assert_eq!(syn.header.options.fast_open, Some(Cookie::REQUEST));
        s.options = with(Cookie::new(&[id; 4]).unwrap());
        s.give(SYN | ACK, 0, 1, b"").unwrap();
        s.options = Options::NONE;
        s.take_all();
    }
    let known = |s: &mut Script, id| {
        let peer = Pair(1, id);
        let handle = s.ep.connect(s.now, peer, 80, wants()).unwrap();
        let cookie = s.take().unwrap().header.options.fast_open;
        s.ep.abort(handle).unwrap();
        cookie
    };
    assert_eq!(known(&mut s, 4), Cookie::new(&[4; 4]));
    assert_eq!(known(&mut s, 2), Some(Cookie::REQUEST));
}

/// Requests and responses over links of every quality, each over its own connection.
#[test]
fn every_request_gets_its_answer_over_any_link() {
    let mut early = 0;
    for seed in 0..30 {
        let loss = [0, 100, 250][seed as usize % 3];
        let mut net = Net::new(Link { loss, duplicate: 20, reorder: 50, ..PERFECT }, seed);
        let (syn_retries, syn_ack_retries) = (20, 20);
        let connection =
            ConnectionConfig { syn_retries, syn_ack_retries, ..ConnectionConfig::DEFAULT };
        net.ends[1].listen(80, ListenConfig { fast_open: 2, ..listening(3, connection) }).unwrap();
        let client = ConnectionConfig { fast_open: true, ..connection };
        for round in 0..5_usize {
            let request: Vec<u8> = (0..200 + round * 400).map(|i| octet(round, i)).collect();
            let handle = net.ends[0].connect(net.now, Net::pair(0), 80, client).unwrap();
            assert_eq!(net.ends[0].send(handle, &request), Ok(request.len()));
            let mut got = Vec::new();
            let mut serving = Vec::new();
            let ok = net.run_until(Duration::from_secs(600), |n| {
                // A SYN that the link has duplicated may open a connection of its own.
                serving.extend(n.ends[1].accept(80));
                serving.retain(|handle| {
                    let mut buf = [0; 64];
                    match n.ends[1].recv(*handle, &mut buf) {
                        Ok(count @ 1..) => n.ends[1].send(*handle, &buf[..count]) == Ok(count),
                        Err(RecvError::WouldBlock) => true,
                        _ => {
                            let _ = n.ends[1].close(*handle);
                            false
                        }
                    }
                });
                let mut buf = [0; 64];
                while let Ok(count @ 1..) = n.ends[0].recv(handle, &mut buf) {
                    got.extend_from_slice(&buf[..count]);
                }
                got.len() >= request.len()
            });
            assert!(ok, "seed {seed}, round {round}: {} octets", got.len());
            assert_eq!(got, request, "seed {seed}, round {round}");
            net.ends[0].close(handle).unwrap();
            for handle in serving {
                let _ = net.ends[1].close(handle);
            }
            net.run_for(Duration::from_secs(700));
        }
        early += net.ends[1].stats().fast_opens;
    }
    assert!(early > 30, "only {early} connections were early");
}
