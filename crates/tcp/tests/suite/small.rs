//! The small TCP: New Reno without records of segments, and no extensions. It is tested against
//! hand-made segments, against itself, and against the full TCP.

use crate::common::script::*;
use crate::common::*;
use kinglet_tcp::congestion::NewReno;
use kinglet_tcp::*;
use kinglet_time::{Duration, Instant, earliest};
use kinglet_wire::tcp::{Cookie, Options, SackBlock, Segment, Timestamps};
use std::collections::VecDeque;

plan!(Little {
    congestion: NewReno,
    send: 4096,
    receive: 4096,
    pieces: 0,
    features: Small,
    segments: (),
    connections: 1,
    servers: 1,
});

type Alone = Scripted<Little>;

/// Four segments of 100 octets in flight to a peer with SACK; a round trip was 20 ms.
fn in_flight() -> (Alone, Handle) {
    let config = ConnectionConfig { mss: 100, sack: true, rto_min: MS * 200, ..plain() };
    let options = Options { mss: Some(100), sack_permitted: true, ..Options::NONE };
    let (mut s, handle) = Alone::server(config, options);
    s.ep.send(handle, &[1; 100]).unwrap();
    assert_eq!(seqs(&s.take_all()), [1]);
    s.wait(MS * 20);
    s.give(ACK, 1, 101, b"").unwrap();
    s.ep.send(handle, &[2; 400]).unwrap();
    assert_eq!(seqs(&s.take_all()), [101, 201, 301, 401]);
    (s, handle)
}

fn info(s: &Alone, handle: Handle) -> Info {
    s.ep.info(handle).unwrap()
}

//= rfc6582#3.2-5
#[test]
fn three_duplicates_have_the_first_segment_sent_again_and_a_partial_ack_the_next() {
    let (mut s, handle) = in_flight();
    s.ep.send(handle, &[3; 300]).unwrap();
    s.wait(MS * 20);
    // Limited transmit (RFC 3042): the first two duplicates let new data leave.
    s.give(ACK, 1, 101, b"").unwrap();
    s.give(ACK, 1, 101, b"").unwrap();
    let fresh = seqs(&s.take_all());
    s.give(ACK, 1, 101, b"").unwrap();
    assert_eq!((fresh, seqs(&s.take_all())), (vec![501, 601], vec![101]));
    let in_recovery = info(&s, handle);
    assert_eq!((in_recovery.repair, in_recovery.ssthresh), (Repair::Fast, 200));
    // 201 is lost as well: partial acknowledgment (RFC 6582 §3.2 step 3).
    s.give(ACK, 1, 201, b"").unwrap();
    assert_eq!(seqs(&s.take_all())[..1], [201]);
    s.give(ACK, 1, 701, b"").unwrap();
    let after = info(&s, handle);
    assert_eq!((after.repair, after.counters.fast_recoveries), (Repair::None, 1));
    assert_eq!((after.counters.timeouts, after.counters.fast_retransmits), (0, 2));
    assert!(after.cwnd <= 200 + 100, "no burst: {}", after.cwnd);
}

/// RFC 6582 §3.2 step 3: by the octets acknowledged, less one segment.
//= rfc6582#3.2-7
#[test]
fn a_partial_acknowledgment_deflates_the_window() {
    let (mut s, handle) = in_flight();
    s.ep.send(handle, &[3; 1000]).unwrap();
    for sent in [&[501][..], &[601], &[101], &[], &[701]] {
        s.give(ACK, 1, 101, b"").unwrap();
        assert_eq!(seqs(&s.take_all()), sent);
    }
    // cwnd is 200 and a segment for each of five duplicates: 700 - 200 + 100, and 500 in flight.
    s.give(ACK, 1, 301, b"").unwrap();
    assert_eq!(seqs(&s.take_all()), [301, 801]);
}

#[test]
fn two_duplicates_are_reordering() {
    let (mut s, handle) = in_flight();
    s.give(ACK, 1, 101, b"").unwrap();
    s.give(ACK, 1, 101, b"").unwrap();
    s.give(ACK, 1, 501, b"").unwrap();
    assert_eq!(s.take_all().len(), 0);
    assert_eq!(info(&s, handle).counters.retransmits(), 0);
}

#[test]
fn duplicates_with_sack_blocks_count_as_any() {
    let (mut s, _) = in_flight();
    for right in [301, 401, 501] {
        let at = |offset: u32| s.theirs.wrapping_add(offset);
        s.options.sack.push(SackBlock { left: at(201), right: at(right) });
        s.give(ACK, 1, 101, b"").unwrap();
        s.options.sack = Default::default();
    }
    assert_eq!(seqs(&s.take_all()), [101]);
}

#[test]
fn after_a_timeout_what_was_in_flight_goes_again_but_for_what_is_acknowledged() {
    let (mut s, handle) = in_flight();
    let rto = info(&s, handle).rto;
    assert_eq!(seqs(&s.wait(rto)), [101]);
    let after = info(&s, handle);
    assert_eq!((after.repair, after.cwnd, after.ssthresh), (Repair::Timeout, 100, 200));
    // The second had arrived.
    s.give(ACK, 1, 301, b"").unwrap();
    assert_eq!(seqs(&s.take_all()), [301, 401]);
    s.give(ACK, 1, 501, b"").unwrap();
    assert_eq!(info(&s, handle).repair, Repair::None);
    s.silent();
}

//= rfc6298#3-1
#[test]
fn a_retransmitted_segment_gives_no_sample_and_the_timer_stays_doubled_until_the_next() {
    let (mut s, handle) = in_flight();
    let before = info(&s, handle);
    s.wait(before.rto);
    // Karn's algorithm (RFC 6298 §3, §5.5).
    s.give(ACK, 1, 501, b"").unwrap();
    let after = info(&s, handle);
    assert_eq!((after.last_rtt, after.rto), (before.last_rtt, before.rto * 2));
    s.ep.send(handle, &[5; 100]).unwrap();
    s.take_all();
    s.wait(MS * 32);
    s.give(ACK, 1, 601, b"").unwrap();
    assert_eq!((info(&s, handle).last_rtt, info(&s, handle).backoff), (MS * 32, 0));
}

/// The back-off keeps at most eight times the RTO, unless an acknowledgment shows it to be too
/// short.
#[test]
fn an_acknowledgment_an_rto_after_the_last_transmission_keeps_every_doubling() {
    for late in [false, true] {
        let (mut s, handle) = in_flight();
        let rto = info(&s, handle).rto;
        s.wait(rto * 31);
        assert_eq!(info(&s, handle).backoff, 5);
        s.wait(if late { rto } else { rto / 2 });
        s.give(ACK, 1, 501, b"").unwrap();
        assert_eq!(info(&s, handle).backoff, if late { 5 } else { 3 });
    }
}

#[test]
fn a_segment_lost_by_the_link_is_retransmitted_at_once() {
    let (mut s, handle) = in_flight();
    s.ep.send(handle, &[3; 100]).unwrap();
    s.give(ACK, 1, 201, b"").unwrap();
    let packet = s.ep.poll_packet(s.now).unwrap();
    s.ep.notify_lost(s.now, packet.payload);
    assert_eq!(seqs(&s.take_all()), [501]);
    assert_eq!(info(&s, handle).cwnd, info(&s, handle).cwnd.max(200), "it costs no window");
}

#[test]
fn a_silent_peer_ends_the_connection_in_time() {
    let (mut s, handle) = in_flight();
    let config = ConnectionConfig { max_retransmits: 3, ..ConnectionConfig::DEFAULT };
    s.ep.configure(s.now, handle, &config).unwrap();
    let again = s.wait(MS * 60_000);
    assert_eq!(again.iter().filter(|got| got.seq == 101).count(), 3);
    assert_eq!(info(&s, handle).error, Some(ConnectionError::TimedOut));
}

#[test]
fn a_closed_window_is_probed() {
    let (mut s, handle) = in_flight();
    s.window = 0;
    s.give(ACK, 1, 501, b"").unwrap();
    s.ep.send(handle, &[6; 50]).unwrap();
    s.silent();
    let probes = s.wait(MS * 2_000);
    assert!(!probes.is_empty() && probes.iter().all(|p| p.seq == 501 && p.payload.len() == 1));
    s.window = 1000;
    s.give(ACK, 1, 501, b"").unwrap();
    assert_eq!(s.take().map(|got| (got.seq, got.payload.len())), Some((501, 50)));
}

#[test]
fn no_setting_requests_an_extension_that_is_not_there() {
    let config = ConnectionConfig { ecn: true, fast_open: true, pacing: true, ..plain() };
    let mut s = Alone::new();
    s.remote = 80;
    s.ep.connect(s.now, s.peer, 80, config).unwrap();
    let syn = s.take().unwrap();
    assert_eq!(syn.header.flags, SYN);
    assert_eq!(syn.header.options.fast_open, None);
    assert!(!s.ep.has_fast_open_cookie(s.now, &s.peer, 80));
    // A peer that requests extensions gets a connection without them.
    let mut s = Alone::new();
    let listen = ListenConfig { fast_open: 2, ..listening(2, config) };
    s.ep.listen(80, listen).unwrap();
    s.options.fast_open = Some(Cookie::REQUEST);
    let asks = SYN | kinglet_wire::tcp::Flags::ECE | kinglet_wire::tcp::Flags::CWR;
    s.give(asks, 0, 0, b"").unwrap();
    let syn_ack = s.take().unwrap();
    assert_eq!(syn_ack.header.flags, SYN | ACK);
    assert_eq!(syn_ack.header.options.fast_open, None);
}

#[test]
fn without_cookies_a_syn_for_which_there_is_no_room_is_dropped() {
    let mut s = Alone::new();
    s.ep.listen(80, listening(4, plain())).unwrap();
    for remote in 4000..4003 {
        s.remote = remote;
        s.give(SYN, 0, 0, b"").unwrap();
        assert!(s.take().is_some());
    }
    s.remote = 4003;
    assert_eq!(s.give(SYN, 0, 0, b""), Err(Discard::BacklogFull));
    s.silent();
    // No segment is taken for the acknowledgment of a cookie either.
    assert_eq!(s.give(ACK, 1, 1, b""), Err(Discard::NoConnection));
}

#[test]
fn gaps_are_reported_by_sack_and_timestamps_echoed() {
    let config = ConnectionConfig { sack: true, timestamps: true, ..plain() };
    let timestamps = Some(Timestamps { val: 7, ecr: 0 });
    let options = Options { mss: Some(100), sack_permitted: true, timestamps, ..Options::NONE };
    let (mut s, _) = Alone::server(config, options);
    s.give(ACK, 101, 1, &[1; 50]).unwrap();
    let ack = s.take().unwrap();
    let block = ack.header.options.sack.as_slice()[0];
    let isn = s.isn;
    assert_eq!((block.left.wrapping_sub(isn), block.right.wrapping_sub(isn)), (101, 151));
    assert_eq!((ack.ack, ack.header.options.timestamps.unwrap().ecr), (1, 7));
}

#[test]
fn both_ends_small_repair_whatever_a_link_does() {
    for seed in 0..4 {
        for (sack, timestamps) in [(true, true), (true, false), (false, false)] {
            let link = Link { loss: 100, duplicate: 20, reorder: 50, ..PERFECT };
            let mut net = Network::<Little>::new(link, seed);
            let c = ConnectionConfig { mss: 474, sack, timestamps, ..ConnectionConfig::DEFAULT };
            transfer(&mut net, [c; 2], [40_000, 3_000], Duration::from_secs(1000));
        }
    }
}

#[test]
fn a_perfect_link_is_never_sent_anything_twice() {
    let mut net = Network::<Little>::new(PERFECT, 1);
    let c = ConnectionConfig { mss: 474, ..ConnectionConfig::DEFAULT };
    let handles = transfer(&mut net, [c; 2], [40_000, 20_000], Duration::from_secs(100));
    for (end, handle) in net.ends.iter().zip(handles) {
        let counters = end.info(handle).unwrap().counters;
        assert_eq!((counters.timeouts, counters.retransmits(), counters.probes), (0, 0, 0));
    }
}

/// Segments in flight from one end to the other, each with its time of arrival.
type Flying = VecDeque<(Instant, Vec<u8>)>;

fn launch<S: Sizes>(end: &mut Endpoint<Pair, S>, now: Instant, out: &mut Flying, count: &mut u32) {
    while let Some(packet) = end.poll_packet(now) {
        let mut octets = packet.header.to_vec();
        let start = octets.len();
        octets.resize(start + usize::from(packet.payload.len), 0);
        if packet.payload.len > 0 {
            end.read_payload(packet.payload, 0, &mut octets[start..]).unwrap();
        }
        assert!(Segment::parse(&octets).is_ok());
        *count += 1;
        // Every eleventh is lost, and every seventh overtaken.
        let late = if count.is_multiple_of(7) { 40 } else { 20 };
        if !count.is_multiple_of(11) {
            let at = now + MS * late;
            let place = out.partition_point(|(other, _)| *other <= at);
            out.insert(place, (at, octets));
        }
    }
}

fn arrive<S: Sizes>(end: &mut Endpoint<Pair, S>, now: Instant, peer: Pair, from: &mut Flying) {
    while from.front().is_some_and(|(at, _)| *at <= now) {
        let (_, octets) = from.pop_front().unwrap();
        let _ = end.handle_packet(now, peer, Ecn::NotEct, &octets);
    }
    if end.deadline().is_some_and(|at| at <= now) {
        end.handle_deadline(now);
    }
}

/// 30,000 octets from a client of plan `A` to a server of plan `B` over a link that loses and
/// reorders; all features are requested.
fn between<A: Sizes, B: Sizes>() {
    let config = ConnectionConfig {
        mss: 400,
        ecn: true,
        timestamps: true,
        fast_open: true,
        ..ConnectionConfig::DEFAULT
    };
    let mut now = Instant::from_secs(5);
    let mut client = Box::new(Endpoint::<Pair, A>::new(TcpConfig::new([1; 16])));
    let mut server = Box::new(Endpoint::<Pair, B>::new(TcpConfig::new([2; 16])));
    server.listen(80, ListenConfig { fast_open: 2, ..listening(2, config) }).unwrap();
    let c = client.connect(now, Pair(1, 2), 80, config).unwrap();
    let (mut up, mut down, mut count) = (Flying::new(), Flying::new(), 0);
    let (mut sent, mut got, mut accepted) = (0, 0, None);
    let end = now + Duration::from_secs(600);
    while now < end {
        while sent < 30_000 {
            let data: Vec<u8> = (sent..30_000.min(sent + 500)).map(|i| octet(0, i)).collect();
            match client.send(c, &data).unwrap() {
                0 => break,
                n => sent += n,
            }
        }
        accepted = accepted.or_else(|| server.accept(80));
        let mut buffer = [0; 300];
        while let Some(Ok(n @ 1..)) = accepted.map(|s| server.recv(s, &mut buffer)) {
            assert!(buffer[..n].iter().enumerate().all(|(i, o)| *o == octet(0, got + i)));
            got += n;
        }
        if got == 30_000 {
            return;
        }
        launch(&mut *client, now, &mut up, &mut count);
        launch(&mut *server, now, &mut down, &mut count);
        let timers = earliest(client.deadline(), server.deadline());
        let arrivals = up.front().into_iter().chain(down.front()).map(|(at, _)| *at).min();
        now = now.max(earliest(timers, arrivals).expect("something is to happen"));
        arrive(&mut *server, now, Pair(2, 1), &mut up);
        arrive(&mut *client, now, Pair(1, 2), &mut down);
        assert_eq!((client.check(), server.check()), (Ok(()), Ok(())));
    }
    panic!("{got} of 30,000 octets after ten minutes");
}

#[test]
fn a_small_and_a_full_one_understand_each_other() {
    between::<Little, Plan>();
    between::<Plan, Little>();
}

#[test]
fn segment_sizes_do_not_follow_losses() {
    let (mut s, handle) = in_flight();
    let config = ConnectionConfig { adaptive_mss: true, ..plain() };
    s.ep.configure(s.now, handle, &config).unwrap();
    for n in 1..=32 {
        assert_eq!(s.ep.segment_loss(handle), None);
        s.give(ACK, 1, 401 + 100 * n, b"").unwrap();
        s.ep.send(handle, &[1; 100]).unwrap();
        assert_eq!(s.take_all().len(), 1);
    }
}
