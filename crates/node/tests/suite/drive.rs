//! The loop around a node and its radio, as one call.

use crate::common::*;
use kinglet::mac::{CcmStar, PeerCounter, Tabled};
use kinglet::radio::{Ack, Busy, Capabilities, Command, Driver, Event, Filter, MAX_FRAME};
use kinglet::tcp::{ConnectionConfig, ListenConfig, State, WithPolicies};
use kinglet::time::{Duration, Instant};
use kinglet::{Config, Mote, Node, Polling};
use std::collections::VecDeque;

/// A radio that reports given events and records its commands.
#[derive(Default)]
struct Radio {
    events: VecDeque<(Event, Vec<u8>)>,
    commands: Vec<(Command, Vec<u8>)>,
    refuses: bool,
}

impl Driver for Radio {
    fn capabilities(&self) -> Capabilities {
        usual()
    }

    fn set_filter(&mut self, _: Filter) {}

    fn submit(&mut self, _: Instant, command: Command, frame: &[u8]) -> Result<(), Busy> {
        if self.refuses && matches!(command, Command::Transmit { .. }) {
            self.refuses = false;
            return Err(Busy);
        }
        self.commands.push((command, frame.to_vec()));
        Ok(())
    }

    fn poll_event(&mut self, _: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event> {
        let (event, octets) = self.events.pop_front()?;
        frame[..octets.len()].copy_from_slice(&octets);
        Some(event)
    }
}

kinglet::profile! {
    /// A plan with a place for late acknowledgments.
    struct Late {
        features: WithPolicies,
        security: CcmStar<Tabled, [PeerCounter; 4]>,
    }
}

/// Two nodes and their radios. Each receives what the other transmits a millisecond later.
struct Two<P: Plan = Mote> {
    now: Instant,
    nodes: [Box<Node<P>>; 2],
    radios: [Radio; 2],
    /// True if the second radio withholds the events of its transmissions.
    slow: bool,
    withheld: Vec<Event>,
    /// Number of frames that each has transmitted.
    transmitted: [usize; 2],
}

impl<P: Plan> Two<P> {
    fn new() -> Self {
        let nodes = [1, 2].map(|n| node::<P>(n, 1, 2, usual()));
        Two {
            now: Instant::from_secs(1),
            nodes,
            radios: Default::default(),
            slow: false,
            withheld: Vec::new(),
            transmitted: [0; 2],
        }
    }

    /// Drives both, and carries their frames. Returns the times of their next calls.
    fn step(&mut self) -> [Option<Instant>; 2] {
        let mut wishes = [None; 2];
        for (side, wish) in wishes.iter_mut().enumerate() {
            *wish = self.nodes[side].drive(self.now, &mut self.radios[side]);
            for (command, frame) in std::mem::take(&mut self.radios[side].commands) {
                let Command::Transmit { ack, .. } = command else { continue };
                let (sfd, len) = (self.now, frame.len() as u8);
                let heard = Event::Received { sfd, len, rssi_dbm: -60, lqi: 255, acked: ack };
                self.radios[1 - side].events.push_back((heard, frame));
                let ack =
                    if ack { Ack::Received { frame_pending: false } } else { Ack::NotAwaited };
                self.transmitted[side] += 1;
                let event = Event::Transmitted { sfd, ack };
                if side == 1 && self.slow {
                    self.withheld.push(event);
                } else {
                    self.radios[side].events.push_back((event, Vec::new()));
                }
            }
        }
        self.now += Duration::from_millis(1);
        wishes
    }
}

#[test]
fn an_application_needs_no_other_call_than_drive() {
    let mut two = Two::<Mote>::new();
    let config = ListenConfig { backlog: 1, ..ListenConfig::default() };
    two.nodes[1].streams().listen(80, config).unwrap();
    let default = ConnectionConfig::DEFAULT;
    let client = two.nodes[0].streams().connect(two.now, global(2), 80, default).unwrap();
    for _ in 0..50 {
        two.step();
    }
    assert_eq!(two.nodes[0].tcp().state(client), Some(State::Established));
    let server = two.nodes[1].streams().accept(80).unwrap();
    two.nodes[0].streams().send(client, &[7; 1500]).unwrap();
    let (mut received, mut buffer) = (0, [0; 512]);
    for _ in 0..2000 {
        two.step();
        received += two.nodes[1].streams().recv(server, &mut buffer).unwrap_or(0);
    }
    assert_eq!(received, 1500);
}

#[test]
fn it_asks_for_another_look_at_the_sockets_where_something_happened_and_else_for_a_time() {
    let mut two = Two::<Mote>::new();
    let default = ConnectionConfig::DEFAULT;
    assert_eq!(two.step(), [None, None], "nothing to do");
    two.nodes[0].streams().connect(two.now, global(2), 80, default).unwrap();
    let start = two.now;
    let [first, second] = two.step();
    assert!(first.is_some_and(|at| at > start), "a transmission that may get lost: {first:?}");
    assert_eq!(second, None);
    let heard = two.now;
    assert_eq!(two.step(), [Some(heard), Some(heard)], "transmitted, and received");
}

#[test]
fn it_asks_for_another_look_at_a_connection_that_lost_its_route() {
    let mut two = Two::<Mote>::new();
    let default = ConnectionConfig::DEFAULT;
    let client = two.nodes[0].streams().connect(two.now, global(2), 80, default).unwrap();
    assert!(two.nodes[0].interface().remove_route(global(2), 128));
    let step = two.now;
    let [wish, _] = two.step();
    assert_eq!(two.nodes[0].tcp().state(client), Some(State::Closed), "found while sending");
    let soon = step + Duration::from_micros(1);
    assert_eq!(wish, Some(soon), "its application is not called else");
    let step = two.now;
    assert_eq!(two.step(), [Some(step), None]);
    assert_eq!(two.step(), [None, None], "once");
}

#[test]
fn a_refused_transmission_is_reported_and_comes_again() {
    let mut two = Two::<Mote>::new();
    two.radios[0].refuses = true;
    let default = ConnectionConfig::DEFAULT;
    two.nodes[0].streams().connect(two.now, global(2), 80, default).unwrap();
    let heard = |two: &mut Two| (0..50).filter(|_| two.step()[1].is_some()).count();
    assert!(heard(&mut two) > 0, "the SYN");
    assert_eq!(two.nodes[0].stats().refused_commands, 1);
}

#[test]
fn with_nothing_to_do_no_command_is_given_and_nothing_changes() {
    let mut two = Two::<Mote>::new();
    two.nodes[1].streams().listen(80, ListenConfig::default()).unwrap();
    let default = ConnectionConfig::DEFAULT;
    let client = two.nodes[0].streams().connect(two.now, global(2), 80, default).unwrap();
    for _ in 0..50 {
        two.step();
    }
    two.nodes[0].streams().send(client, &[7; 500]).unwrap();
    let mut idle = 0;
    for _ in 0..2_000 {
        two.step();
        let Two { now, nodes, radios, .. } = &mut two;
        for (node, radio) in nodes.iter_mut().zip(radios) {
            let due = node.deadline();
            if !radio.events.is_empty() || due.is_some_and(|at| at <= *now) {
                continue;
            }
            let seen = |node: &Node<Mote>| {
                let layers = (*node.mac().stats(), *node.net().stats(), *node.tcp().stats());
                (node.info(), *node.stats(), layers, node.tcp().info(client))
            };
            let before = seen(node);
            assert_eq!(node.drive(*now, radio), due);
            assert!(radio.commands.is_empty() && seen(node) == before);
            idle += 1;
        }
    }
    assert!(idle > 2_000, "{idle} of 4,000 turns had nothing to do");
}

#[test]
fn acknowledgments_become_one_while_an_earlier_one_has_not_left() {
    let mut two = Two::<Late>::new();
    let config = ConnectionConfig {
        mss: 64,
        initial_window: 10,
        pacing: false,
        delayed_ack: Duration::ZERO,
        ack_every: 1,
        ..ConnectionConfig::DEFAULT
    };
    let listening = ListenConfig { connection: config, ..ListenConfig::default() };
    two.nodes[1].streams().listen(80, listening).unwrap();
    let client = two.nodes[0].streams().connect(two.now, global(2), 80, config).unwrap();
    for _ in 0..50 {
        two.step();
    }
    two.slow = true;
    let before = two.transmitted[1];
    two.nodes[0].streams().send(client, &[7; 640]).unwrap();
    for _ in 0..60 {
        two.step();
    }
    assert_eq!(two.transmitted[1] - before, 1, "the radio has the first");
    two.slow = false;
    let event = two.withheld.drain(..).map(|event| (event, Vec::new()));
    two.radios[1].events.extend(event);
    for _ in 0..15 {
        two.step();
    }
    assert_eq!(two.transmitted[1] - before, 2, "and one for the rest");
    assert_eq!(two.nodes[0].tcp().info(client).unwrap().bytes_in_flight, 0);
}

#[test]
fn a_leaf_polls_again_after_a_poll_that_found_nothing() {
    let base = Duration::from_secs(60);
    let mut config = Config::repeatable(2, [0; 8], 2, [2; 16]);
    config.mac.rx_on_when_idle = false;
    config.polling = Polling::Predictive { base };
    let mut leaf = Box::new(Node::<Mote>::new(config, usual()));
    let (mut radio, mut now) = (Radio::default(), Instant::from_secs(1));
    leaf.set_parent(now, Some(1)).unwrap();
    for poll in 1..=3 {
        // The channel access takes a few turns.
        let sent = (0..50).any(|_| {
            let due = leaf.drive(now, &mut radio);
            let sends = |(command, _): &_| matches!(command, Command::Transmit { .. });
            let sent = radio.commands.drain(..).any(|it| sends(&it));
            now = if sent { now } else { due.expect("a poll is due some time") };
            sent
        });
        assert!(sent, "a data request");
        let ack = Ack::Received { frame_pending: false };
        radio.events.push_back((Event::Transmitted { sfd: now, ack }, Vec::new()));
        assert_eq!(leaf.drive(now, &mut radio), Some(now));
        assert_eq!(leaf.stats().data_requests, poll);
        assert!(leaf.deadline() > Some(now), "the next poll: {:?}", leaf.deadline());
    }
}
