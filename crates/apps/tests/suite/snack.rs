//! Files over UDP over a path that loses, repeats and reorders datagrams.

use crate::common::{World, global, usual};
use kinglet::net::UdpHandle;
use kinglet::time::{Duration, Instant};
use kinglet::{BorderRouter, Mote, Node};
use kinglet_apps::App;
use kinglet_apps::snack::{MAX_PIECE, Sending, Sink, Source};
use rand_core::Rng;
use rand_pcg::Pcg32;

const PORT: u16 = 7_001;
const BETWEEN: u16 = 7_000;
const MINUTE: Duration = Duration::from_secs(60);

fn sending(to: (core::net::Ipv6Addr, u16), octets: u32, piece: u16) -> Sending {
    Sending { to, start: Instant::from_secs(2), octets, piece, pause: Duration::from_millis(5) }
}

/// Runs both sides at the ends of the path until both have ended, or for `limit`.
fn run<const N: usize>(
    world: &mut World<BorderRouter>,
    source: &mut Source<N>,
    sink: &mut Sink<N>,
    limit: Duration,
    mut between: impl FnMut(Instant, &mut Node<BorderRouter>),
) -> bool {
    world.run(limit, |now, nodes| {
        while source.poll(now, &mut nodes[0]) {}
        let last = nodes.len() - 1;
        if last > 1 {
            between(now, &mut nodes[1]);
        }
        while sink.poll(now, &mut nodes[last]) {}
        for due in [source.deadline(), sink.deadline()] {
            assert!(due.is_none_or(|at| at > now), "what is due is done");
        }
        source.finished_at().is_some() && sink.parted()
    })
}

fn direct(octets: u32, piece: u16, loss: u32) -> (Source<64>, Sink<64>, bool) {
    let mut world = World::new(2, usual(), loss, 3);
    let mut source = Source::new(sending((global(2), PORT), octets, piece));
    let mut sink = Sink::new(PORT);
    let over = run(&mut world, &mut source, &mut sink, MINUTE * 10, |_, _| {});
    (source, sink, over)
}

#[test]
fn a_file_arrives_whole_and_both_sides_know() {
    for octets in [0, 1, 79, 80, 81, 20_000] {
        let (source, sink, over) = direct(octets, 80, 0);
        assert!(over && sink.intact(), "{octets}: {source:?} {sink:?}");
        assert_eq!(sink.received(), octets.into());
        assert_eq!((source.sent(), source.rounds()), (octets.div_ceil(80), 0));
        assert!(sink.finished_at() <= source.finished_at());
    }
}

#[test]
fn a_stack_that_has_no_room_is_tried_again_and_loses_nothing() {
    let (source, sink, over) = direct(30_000, 80, 0);
    assert!(over && source.refused() > 0, "{source:?}");
    assert_eq!((sink.duplicates(), source.rounds()), (0, 0));
}

#[test]
fn large_datagrams_go_in_fragments() {
    let (source, sink, over) = direct(60_000, MAX_PIECE as u16, 5);
    assert!(over && sink.intact() && sink.received() == 60_000, "{source:?} {sink:?}");
}

#[test]
fn a_file_is_as_long_as_the_table_has_room_for() {
    let (source, sink, over) = direct(1_000_000, 10, 0);
    assert!(over && sink.intact());
    assert_eq!((sink.received(), source.sent()), (64 * 8 * 10, 64 * 8));
    // A piece has at least one octet, and fits into a datagram.
    for piece in [0, u16::MAX] {
        let (_, sink, over) = direct(300, piece, 0);
        assert!(over && sink.intact() && sink.received() == 300);
    }
}

#[test]
fn a_sink_without_room_for_the_file_says_nothing() {
    let mut world = World::<BorderRouter>::new(2, usual(), 0, 3);
    let mut source = Source::<64>::new(sending((global(2), PORT), 5_000, 10));
    let mut sink = Sink::<8>::new(PORT);
    let over = world.run(MINUTE, |now, nodes| {
        while source.poll(now, &mut nodes[0]) {}
        while sink.poll(now, &mut nodes[1]) {}
        source.finished_at().is_some() || sink.finished_at().is_some()
    });
    assert!(!over && sink.intact() && sink.received() == 640);
}

#[test]
fn a_sink_that_is_late_gets_the_file_in_a_later_round() {
    let mut world = World::<BorderRouter>::new(2, usual(), 0, 3);
    let mut source = Source::<64>::new(sending((global(2), PORT), 5_000, 80));
    world.run(Duration::from_secs(20), |now, nodes| {
        while source.poll(now, &mut nodes[0]) {}
        false
    });
    assert!(source.finished_at().is_none());
    let mut sink = Sink::new(PORT);
    assert!(run(&mut world, &mut source, &mut sink, MINUTE, |_, _| {}));
    assert!(sink.intact() && sink.received() == 5_000 && source.rounds() == 1);
}

#[test]
fn a_mote_can_be_either_side() {
    let mut world = World::<Mote>::new(2, usual(), 10, 3);
    let mut source = Source::<8>::new(sending((global(2), PORT), 4_000, 70));
    let mut sink = Sink::<8>::new(PORT);
    let over = world.run(MINUTE, |now, nodes| {
        while source.poll(now, &mut nodes[0]) {}
        while sink.poll(now, &mut nodes[1]) {}
        source.finished_at().is_some() && sink.parted()
    });
    assert!(over && sink.intact() && sink.received() == 4_000);
}

/// Number of copies of a datagram, by its kind (the first octet) and the number of earlier ones of
/// that kind.
type Fate = fn(u8, u32, &mut Pcg32) -> u32;

/// Forwards the datagrams of the ends, with the number of copies of its `fate`, and out of order.
struct Unruly {
    fate: Fate,
    shuffles: bool,
    random: Pcg32,
    socket: Option<UdpHandle>,
    source: Option<(core::net::Ipv6Addr, u16)>,
    seen: [u32; 5],
    held: Vec<(core::net::Ipv6Addr, u16, Vec<u8>)>,
}

impl Unruly {
    fn new(fate: Fate, shuffles: bool) -> Self {
        let random = Pcg32::new(7, 1);
        let (socket, source, held) = Default::default();
        Unruly { fate, shuffles, random, socket, source, seen: [0; 5], held }
    }

    fn step(&mut self, now: Instant, node: &mut Node<BorderRouter>) {
        let Self { fate, random, source, seen, held, .. } = self;
        let mut datagrams = node.datagrams();
        let socket =
            *self.socket.get_or_insert_with(|| datagrams.bind(BETWEEN).expect("a free socket"));
        let mut buf = [0; 1_232];
        while let Ok(Some(came)) = datagrams.recv(socket, &mut buf) {
            let (address, port) = if came.src == global(3) {
                source.expect("it has asked")
            } else {
                *source = Some((came.src, came.src_port));
                (global(3), PORT)
            };
            let kind = buf[0];
            let times = fate(kind, seen[usize::from(kind)], random);
            seen[usize::from(kind)] += 1;
            for _ in 0..times {
                held.push((address, port, buf[..came.len].to_vec()));
            }
        }
        // Two are held back, so that those behind them overtake, but not for long.
        let holds = !(now.as_millis() / 100).is_multiple_of(4);
        let stays = if self.shuffles && holds { 2 } else { 0 };
        while held.len() > stays {
            let at = if self.shuffles { random.next_u32() as usize % held.len() } else { 0 };
            let (address, port, octets) = &held[at];
            if datagrams.send(now, socket, *address, *port, octets).is_err() {
                break;
            }
            held.remove(at);
        }
    }
}

fn through(fate: Fate, shuffles: bool) -> (Source<64>, Sink<64>, bool) {
    let mut world = World::new(3, usual(), 0, 3);
    let mut source = Source::new(sending((global(2), BETWEEN), 10_000, 80));
    let mut sink = Sink::new(PORT);
    let mut unruly = Unruly::new(fate, shuffles);
    let between = |now: Instant, node: &mut Node<BorderRouter>| unruly.step(now, node);
    let over = run(&mut world, &mut source, &mut sink, MINUTE * 10, between);
    (source, sink, over)
}

fn assert_whole((source, sink, over): &(Source<64>, Sink<64>, bool)) {
    let whole = sink.intact() && sink.received() == 10_000 && sink.finished_at().is_some();
    assert!(*over && whole && source.finished_at().is_some(), "{source:?} {sink:?}");
}

#[test]
fn lost_pieces_are_sent_again() {
    let outcome = through(|_, _, random| u32::from(random.next_u32() % 10 >= 3), false);
    assert_whole(&outcome);
    let (source, sink, _) = outcome;
    assert!(source.rounds() > 1 && source.sent() > 125);
    assert_eq!(sink.duplicates(), 0, "what has arrived is not asked for");
}

#[test]
fn duplicate_and_reordered_pieces_count_once() {
    let outcome = through(|_, _, random| random.next_u32() % 4, true);
    assert_whole(&outcome);
    assert!(outcome.1.duplicates() > 20);
}

#[test]
fn lost_answers_are_asked_for_again() {
    let outcome = through(|kind, before, _| u32::from(kind != 3 || before >= 4), false);
    assert_whole(&outcome);
    assert_eq!(outcome.0.rounds(), 0, "nothing was missing");
}

#[test]
fn lost_questions_are_asked_again() {
    let outcome = through(|kind, before, _| u32::from(kind != 2 || before >= 3), false);
    assert_whole(&outcome);
    assert_eq!(outcome.0.rounds(), 0);
}

#[test]
fn the_last_datagram_alone_can_be_missing() {
    // Number 124 of 125, the first time.
    let outcome = through(|kind, before, _| u32::from(kind != 1 || before != 124), false);
    assert_whole(&outcome);
    assert_eq!((outcome.0.rounds(), outcome.0.sent()), (1, 126));
}

#[test]
fn lost_goodbyes_are_asked_for() {
    let outcome = through(|kind, before, _| u32::from(kind != 4 || before >= 3), false);
    assert_whole(&outcome);
}

#[test]
fn a_sink_that_hears_no_goodbye_stops_asking() {
    let (source, sink, over) = through(|kind, _, _| u32::from(kind != 4), false);
    assert!(!over && source.finished_at().is_some());
    assert!(!sink.parted() && sink.deadline().is_none() && source.deadline().is_none());
}

#[test]
fn unwritten_octets_are_noticed() {
    let mut world = World::<BorderRouter>::new(2, usual(), 0, 3);
    let mut sink = Sink::<64>::new(PORT);
    let mut socket = None;
    let heard = world.run(MINUTE, |now, nodes| {
        while sink.poll(now, &mut nodes[1]) {}
        let mut datagrams = nodes[0].datagrams();
        if socket.is_none() {
            let bound = *socket.insert(datagrams.bind(0).expect("a free socket"));
            // Data 1 of pieces of 4 octets, which are 4, 5, 6 and 7, and unknown datagrams.
            for octets in [&[1, 0, 4, 0, 1, 4, 5, 6, 8][..], &[], &[9; 40], &[3, 0, 0, 0, 1]] {
                datagrams.send(now, bound, global(2), PORT, octets).expect("room");
            }
        }
        sink.received() > 0
    });
    assert!(heard && !sink.intact() && sink.finished_at().is_none());
}
