//! Networks of nodes without radios: every message arrives at once at all neighbours of its sender.

use kinglet_aodv::{
    Aodv, AodvConfig, Destination, Discard, Link, MAX_LEN, Metric, NET_DIAMETER, OUTSIDE, Request,
    Role, Route, Search, Sizes, Stats,
};
use kinglet_time::{Duration, Instant};
use kinglet_wire::aodv::{Message, RerrWriter, Rrep, Rreq, Unreachable};

struct Plan;
impl Sizes for Plan {
    type Routes = [Option<Route>; 16];
    type Requests = [Option<Request>; 8];
    type Searches = [Option<Search>; 2];
    type Links = [Option<Link>; 12];
}

/// Nodes 1 to n, and the link quality of each pair: an LQI, or 0 for no link.
struct Network {
    now: Instant,
    nodes: Vec<Aodv<Plan>>,
    /// LQI by sender and receiver.
    lqi: Vec<Vec<u8>>,
    /// Messages sent: sender and first octet of each.
    sent: Vec<(u16, u8)>,
}

impl Network {
    fn new(count: usize, metric: Metric) -> Self {
        let config = |n: u16| {
            let role = if n == 1 { Role::BorderRouter } else { Role::Router };
            AodvConfig { metric, ..AodvConfig::new(n, role, n.into()) }
        };
        let nodes = (1..=count as u16).map(|n| Aodv::new(config(n))).collect();
        let lqi = vec![vec![0; count]; count];
        Network { now: Instant::from_secs(1), nodes, lqi, sent: Vec::new() }
    }

    fn line(count: usize, metric: Metric) -> Self {
        let mut network = Network::new(count, metric);
        (1..count as u16).for_each(|n| network.join(n, n + 1, 255));
        network
    }

    /// Creates a grid in which each node has links to the adjacent ones.
    fn grid(columns: u16, rows: u16) -> Self {
        let mut network = Network::new(usize::from(columns * rows), Metric::PathDr);
        for n in 1..=columns * rows {
            if n % columns != 0 {
                network.join(n, n + 1, 255);
            }
            if n + columns <= columns * rows {
                network.join(n, n + columns, 255);
            }
        }
        network
    }

    fn join(&mut self, a: u16, b: u16, lqi: u8) {
        for (from, to) in [(a, b), (b, a)] {
            self.lqi[usize::from(from) - 1][usize::from(to) - 1] = lqi;
        }
    }

    fn node(&mut self, n: u16) -> &mut Aodv<Plan> {
        &mut self.nodes[usize::from(n) - 1]
    }

    fn stats(&self, n: u16) -> &Stats {
        self.nodes[usize::from(n) - 1].stats()
    }

    /// Returns the sum of a counter over all nodes.
    fn total(&self, of: impl Fn(&Stats) -> u32) -> u32 {
        self.nodes.iter().map(|node| of(node.stats())).sum()
    }

    /// Delivers a message of `from` to `to` at this instant.
    fn deliver(&mut self, from: u16, to: u16, message: &[u8]) -> Result<(), Discard> {
        let now = self.now;
        self.node(to).handle_heard(now, from, 255);
        self.node(to).handle_message(now, from, message)
    }

    /// Delivers messages until no node has one to send.
    fn exchange(&mut self) {
        loop {
            let mut quiet = true;
            for from in 0..self.nodes.len() {
                let (mut buf, now) = ([0; MAX_LEN], self.now);
                while let Some(out) = self.nodes[from].poll_message(now, &mut buf) {
                    quiet = false;
                    self.sent.push((from as u16 + 1, buf[0]));
                    self.carry(from, out.to, &buf[..out.len]);
                }
            }
            if quiet {
                return;
            }
        }
    }

    fn carry(&mut self, from: usize, to: Destination, message: &[u8]) {
        let now = self.now;
        for near in 0..self.nodes.len() {
            let lqi = self.lqi[from][near];
            let hears = lqi > 0
                && match to {
                    Destination::Broadcast => true,
                    Destination::Short(to) => usize::from(to) == near + 1,
                };
            if hears {
                self.nodes[near].handle_heard(now, from as u16 + 1, lqi);
                // Most copies of a flood are discarded.
                let _ = self.nodes[near].handle_message(now, from as u16 + 1, message);
            }
        }
        if let Destination::Short(to) = to {
            let there = usize::from(to) - 1;
            let acked = self.lqi[from][there] > 0 && self.lqi[there][from] > 0;
            self.nodes[from].handle_sent(now, to, acked);
        }
    }

    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            self.exchange();
            let next = self.nodes.iter().filter_map(Aodv::deadline).min();
            let Some(next) = next.filter(|next| *next < end) else { break };
            self.now = self.now.max(next);
            let now = self.now;
            self.nodes.iter_mut().for_each(|node| node.handle_deadline(now));
        }
        self.now = end;
        self.nodes.iter_mut().for_each(|node| node.handle_deadline(end));
        self.exchange();
    }

    /// Starts a search, and runs until it has had time to end.
    fn discover(&mut self, from: u16, to: u16) -> bool {
        let now = self.now;
        assert!(self.node(from).discover(now, to));
        self.run(Duration::from_secs(2));
        self.node(from).next_hop(to).is_some()
    }

    /// Sends a packet from one node to another. Returns the last node that it reaches, and whether
    /// that is its destination.
    fn send(&mut self, from: u16, to: u16) -> (u16, bool) {
        let (mut at, mut before, now) = (from, None, self.now);
        for _ in 0..=NET_DIAMETER {
            if at == to || to == OUTSIDE && at == 1 {
                return (at, true);
            }
            let Some(next) = self.node(at).next_hop(to) else {
                if let Some(before) = before {
                    self.node(at).handle_stray(now, to, before);
                }
                return (at, false);
            };
            self.node(at).handle_use(now, Some(from), Some(to), before);
            let reached = self.lqi[usize::from(at) - 1][usize::from(next) - 1] > 0;
            self.node(at).handle_sent(now, next, reached);
            if !reached {
                return (at, false);
            }
            (before, at) = (Some(at), next);
        }
        panic!("a loop from {from} to {to}");
    }
}

const METRICS: [Metric; 2] = [Metric::HopCount, Metric::PathDr];

#[test]
fn a_route_over_five_hops_is_found_in_both_directions() {
    for metric in METRICS {
        let mut network = Network::line(6, metric);
        assert!(network.discover(2, 6) && network.node(2).poll_change());
        assert_eq!(network.send(2, 6), (6, true));
        assert_eq!(network.send(6, 2), (2, true), "the request has left a way back");
        assert!(network.discover(1, 6));
        let route = network.node(1).routes().find(|route| route.destination == Some(6)).unwrap();
        assert_eq!((route.hops, route.next_hop, route.is_valid), (5, 2, true));
        assert_eq!(route.path_dr.is_some(), metric == Metric::PathDr);
        // Two floods: each node except the destination sends a request once.
        assert_eq!(network.total(|stats| stats.requests + stats.relayed_requests), 5 + 5);
    }
}

#[test]
fn the_border_router_answers_for_what_lies_outside() {
    let mut network = Network::line(4, Metric::PathDr);
    assert!(network.discover(4, OUTSIDE));
    assert_eq!(network.send(4, OUTSIDE), (1, true));
    let now = network.now;
    assert!(!network.node(1).discover(now, OUTSIDE), "it has ways of its own");
    assert!(!network.node(4).discover(now, 4) && !network.node(4).discover(now, 0xFFFF));
}

/// The direct link between 1 and 4 is weak; all links over 2 and 3 are good.
#[test]
fn path_dr_goes_round_a_bad_link_and_hop_count_does_not() {
    for (metric, next) in [(Metric::HopCount, 4), (Metric::PathDr, 2)] {
        let mut network = Network::line(4, metric);
        network.join(1, 4, 60);
        assert!(network.discover(1, 4));
        assert_eq!(network.node(1).next_hop(4), Some(next), "{metric:?}");
    }
}

#[test]
fn a_source_is_notified_of_a_broken_link_and_finds_another_route() {
    let mut network = Network::grid(4, 3);
    assert!(network.discover(2, 12));
    assert_eq!(network.send(2, 12), (12, true));
    // The last node before the destination loses its link.
    let mut last = 2;
    while let Some(next) = network.node(last).next_hop(12).filter(|next| *next != 12) {
        last = next;
    }
    network.join(last, 12, 0);
    assert_eq!(network.send(2, 12), (last, false));
    network.run(Duration::from_millis(10));
    assert_eq!((network.stats(last).probes, network.stats(last).broken_links), (1, 1));
    assert_eq!(network.node(2).next_hop(12), None, "it was told");
    assert!(network.node(2).poll_change());
    let message = network.sent.iter().filter(|(_, kind)| *kind == 3).count();
    assert!((1..=3).contains(&message), "one for each hop back: {message}");
    assert!(network.discover(2, 12));
    assert_eq!(network.send(2, 12), (12, true));
    assert_eq!(network.total(|stats| stats.no_route), 0);
}

#[test]
fn a_frame_given_up_over_a_link_that_works_costs_a_question() {
    let mut network = Network::line(3, Metric::PathDr);
    assert!(network.discover(1, 3));
    for _ in 0..5 {
        assert_eq!(network.send(1, 3), (3, true));
        let now = network.now;
        network.node(2).handle_sent(now, 3, false);
        network.run(Duration::from_millis(10));
    }
    assert_eq!((network.stats(2).probes, network.stats(2).broken_links), (5, 0));
    assert_eq!(network.node(2).next_hop(3), Some(3));
}

/// The error gets lost; the next packet causes another one.
#[test]
fn a_sender_without_a_route_gets_an_error() {
    let mut network = Network::line(4, Metric::PathDr);
    assert!(network.discover(1, 4));
    network.run(Duration::from_secs(60));
    assert!(network.discover(1, 4));
    // 3 restarts with empty tables.
    network.nodes[2] = Aodv::new(AodvConfig::new(3, Role::Router, 33));
    assert_eq!(network.send(1, 4), (3, false));
    network.run(Duration::from_millis(10));
    assert_eq!((network.node(2).next_hop(4), network.node(1).next_hop(4)), (None, None));
    assert!(network.discover(1, 4));
    assert_eq!(network.send(1, 4), (4, true));
}

#[test]
fn a_node_that_restarts_is_accepted_again() {
    let mut network = Network::line(4, Metric::PathDr);
    for _ in 0..3 {
        assert!(network.discover(1, 4));
        network.join(1, 2, 0);
        assert!(!network.send(1, 4).1);
        network.join(1, 2, 255);
    }
    network.nodes[0] = Aodv::new(AodvConfig::new(1, Role::Router, 11));
    let now = network.now;
    assert!(network.node(1).discover(now, 4));
    network.run(Duration::from_secs(9));
    assert_eq!(network.send(1, 4), (4, true));
}

#[test]
fn a_network_in_two_is_searched_three_times_and_no_more() {
    let mut network = Network::grid(4, 4);
    for (a, b) in [(5, 9), (6, 10), (7, 11), (8, 12)] {
        network.join(a, b, 0);
    }
    let now = network.now;
    assert!(network.node(1).discover(now, 16) && network.node(1).is_discovering(16));
    network.run(Duration::from_secs(20));
    assert!(!network.node(1).is_discovering(16) && network.node(1).poll_change());
    assert_eq!(network.node(1).next_hop(16), None);
    assert_eq!((network.stats(1).requests, network.stats(1).failed_discoveries), (3, 1));
    // Each of the eight nodes on this side sends each request once; no other node sends a message.
    assert_eq!(network.sent.len(), 3 * 8);
    let quiet: Vec<_> = network.nodes.iter().filter_map(Aodv::deadline).collect();
    assert_eq!(quiet, [], "nobody has anything to do any more");
}

#[test]
fn sequence_numbers_wrap() {
    let mut network = Network::grid(3, 3);
    // A neighbour reminds it of earlier sequence numbers.
    let own = |network: &mut Network, n: u16| network.node(n).info().sequence;
    for n in [1, 9] {
        let mut buf = [0; MAX_LEN];
        for sequence in [0x7FFF_FFFF, 0xFFFF_FFFD] {
            let rrep = reply(n, sequence, n);
            rrep.emit(&mut buf).unwrap();
            let near = if n == 1 { 2 } else { 8 };
            network.deliver(near, n, &buf[..rrep.buffer_len()]).unwrap();
            assert_eq!(own(&mut network, n), sequence);
        }
    }
    for round in 0..10 {
        assert!(network.discover(1, 9), "round {round}");
        assert_eq!(network.send(1, 9), (9, true), "round {round}");
        assert_eq!(network.send(9, 1), (1, true), "round {round}");
        // The link that it has just used breaks, and works again.
        let next = network.node(1).next_hop(9).unwrap();
        network.join(1, next, 0);
        assert!(!network.send(1, 9).1);
        network.join(1, next, 255);
    }
    assert!(own(&mut network, 1) < 20 && own(&mut network, 9) < 20, "both have wrapped");
}

fn reply(destination: u16, sequence: u32, originator: u16) -> Rrep {
    Rrep {
        hop_count: 0,
        destination,
        destination_sequence: sequence,
        originator,
        lifetime_ms: u32::MAX,
        path_dr: Some(u16::MAX),
    }
}

fn request(originator: u16, id: u32, destination: u16) -> Rreq {
    Rreq {
        destination_only: true,
        ttl: 16,
        hop_count: 0,
        id,
        destination,
        destination_sequence: None,
        originator,
        originator_sequence: id,
        path_dr: Some(u16::MAX),
    }
}

#[test]
fn unexpected_replies_are_not_accepted() {
    let mut network = Network::line(4, Metric::PathDr);
    let mut buf = [0; MAX_LEN];
    let forged = reply(4, 9, 1);
    forged.emit(&mut buf).unwrap();
    for (from, to) in [(2, 1), (3, 2)] {
        let message = network.deliver(from, to, &buf[..forged.buffer_len()]);
        assert_eq!(message, Err(Discard::NotAwaited), "{to}");
    }
    assert!(network.discover(1, 4));
    // After the search another reply changes nothing, however good its route is.
    let forged = reply(4, 0x7000_0000, 1);
    forged.emit(&mut buf).unwrap();
    assert_eq!(network.deliver(9, 1, &buf[..forged.buffer_len()]), Err(Discard::NotAwaited));
    assert_eq!(network.node(1).next_hop(4), Some(2));
    // A route does not last longer than MY_ROUTE_TIMEOUT, despite the lifetime in the reply.
    network.run(Duration::from_secs(110));
    assert_eq!(network.node(1).next_hop(4), Some(2));
    network.run(Duration::from_secs(12));
    assert_eq!(network.node(1).next_hop(4), None);
}

#[test]
fn errors_about_routes_over_other_nodes_are_not_accepted() {
    let mut network = Network::line(4, Metric::PathDr);
    assert!(network.discover(1, 4));
    let mut buf = [0; MAX_LEN];
    let mut writer = RerrWriter::new(&mut buf).unwrap();
    writer.entry(Unreachable { destination: 4, sequence: 0x7000_0000 }).unwrap();
    let len = writer.len();
    assert_eq!(network.deliver(9, 1, &buf[..len]), Err(Discard::NotOnWay));
    assert_eq!(network.node(1).next_hop(4), Some(2));
    assert_eq!(network.deliver(2, 1, &buf[..len]), Ok(()));
    assert_eq!(network.node(1).next_hop(4), None);
}

#[test]
fn a_flood_of_requests_costs_ten_messages_a_second_and_no_route_in_use() {
    let mut network = Network::line(4, Metric::PathDr);
    assert!(network.discover(1, 4));
    assert_eq!(network.send(1, 4), (4, true));
    network.sent.clear();
    let mut buf = [0; MAX_LEN];
    // A hundred requests a second for ten seconds, from nodes that do not exist.
    for n in 0..1_000 {
        let forged = request(100 + n, 5, 200 + n);
        forged.emit(&mut buf).unwrap();
        let _ = network.deliver(90 + n % 4, 2, &buf[..forged.buffer_len()]);
        network.run(Duration::from_millis(10));
        assert_eq!(network.send(1, 4), (4, true), "after {n}");
    }
    // The table of floods of node 2 is the tighter limit here: eight in 2.56 s.
    let by_two = network.sent.iter().filter(|(from, _)| *from == 2).count();
    assert!((20..=120).contains(&by_two), "{by_two}");
    // The other nodes send only what node 2 passes on.
    assert!(network.sent.len() < 500, "{}", network.sent.len());
    assert!(
        network.stats(2).reasons().map(|(_, count)| count).sum::<u32>() > 800,
        "{:?}",
        network.stats(2)
    );
}

/// A neighbour that passes on one flood cannot receive the next one meanwhile.
#[test]
fn two_floods_of_a_node_are_apart_by_the_time_in_which_neighbours_pass_one_on() {
    let (broadcast, mut buf) = (Duration::from_millis(125), [0; MAX_LEN]);
    let mut node = Aodv::<Plan>::new(AodvConfig::new(1, Role::Router, 1));
    node.set_broadcast(broadcast);
    let begin = Instant::from_secs(1);
    // Two routes of its own, and a flood of another node to be passed on.
    assert!(node.discover(begin, 4) && node.discover(begin, 5));
    let rreq = request(7, 9, 3);
    rreq.emit(&mut buf).unwrap();
    node.handle_heard(begin, 2, 255);
    assert_eq!(node.handle_message(begin, 2, &buf[..rreq.buffer_len()]), Ok(()));
    let (mut now, mut floods) = (begin, Vec::new());
    while floods.len() < 3 {
        node.handle_deadline(now);
        if node.poll_message(now, &mut buf).is_some_and(|it| it.to == Destination::Broadcast) {
            floods.push(now);
        }
        assert_eq!(node.poll_message(now, &mut buf), None, "one at a time");
        now = node.deadline().expect("others wait");
    }
    // The jitter of a neighbour is up to two broadcasts and 30 ms.
    let apart = broadcast * 2 + Duration::from_millis(30) + broadcast;
    assert!(floods.windows(2).all(|pair| pair[1] == pair[0] + apart), "{floods:?}");
}

/// 2 receives from 1, but 1 does not receive from 2: replies over 2 get lost, and the next search
/// avoids it.
#[test]
fn a_node_without_a_reply_to_its_neighbour_tries_another_route() {
    let mut network = Network::new(4, Metric::PathDr);
    for (a, b, lqi) in [(1, 3, 100), (3, 4, 100), (2, 4, 255)] {
        network.join(a, b, lqi);
    }
    network.lqi[0][1] = 255;
    let now = network.now;
    assert!(network.node(1).discover(now, 4));
    network.run(Duration::from_secs(9));
    assert_eq!(network.send(1, 4), (4, true));
    assert_eq!(network.node(1).next_hop(4), Some(3));
    assert!(network.stats(2).discarded(Discard::Blacklisted) > 0);
}

#[test]
fn messages_that_make_no_sense_are_refused_by_name() {
    let mut network = Network::line(2, Metric::PathDr);
    let mut buf = [0; MAX_LEN];
    let now = network.now;
    let mut say = |network: &mut Network, from, rreq: Rreq| {
        rreq.emit(&mut buf).unwrap();
        network.deliver(from, 1, &buf[..rreq.buffer_len()])
    };
    let fine = request(9, 1, 7);
    assert_eq!(say(&mut network, 1, fine), Err(Discard::BadSource));
    assert_eq!(say(&mut network, OUTSIDE, fine), Err(Discard::BadSource));
    let other = Rreq { path_dr: None, ..fine };
    assert_eq!(say(&mut network, 2, other), Err(Discard::OtherMetric));
    assert_eq!(say(&mut network, 2, request(1, 1, 7)), Err(Discard::Own));
    let far = Rreq { hop_count: NET_DIAMETER, ..fine };
    assert_eq!(say(&mut network, 2, far), Err(Discard::TooFar));
    assert_eq!(say(&mut network, 2, fine), Ok(()));
    assert_eq!(say(&mut network, 2, fine), Err(Discard::Duplicate));
    let old = Rreq { id: 2, originator_sequence: 0, ..fine };
    assert_eq!(say(&mut network, 2, old), Err(Discard::Stale));
    let mut off: Aodv<Plan> = Aodv::new(AodvConfig::OFF);
    off.handle_heard(now, 2, 255);
    assert_eq!(off.handle_message(now, 2, &[1]), Err(Discard::Off));
    assert!(!off.discover(now, 2));
}

#[test]
fn lost_routes_are_reported_to_one_by_unicast_and_to_many_by_broadcast() {
    let mut network = Network::line(5, Metric::PathDr);
    network.join(2, 4, 255);
    network.join(1, 4, 0);
    for (from, to) in [(1, 5), (2, 5)] {
        assert!(network.discover(from, to));
    }
    // 4 forwards packets of 2 (also for 1) and 3 to 5.
    assert!(network.discover(3, 5));
    for from in [1, 2, 3] {
        assert_eq!(network.send(from, 5), (5, true));
    }
    network.join(4, 5, 0);
    network.sent.clear();
    let now = network.now;
    network.node(4).handle_sent(now, 5, false);
    let mut buf = [0; MAX_LEN];
    // The link has worked at this instant, so 5 is probed first.
    let out = network.node(4).poll_message(now, &mut buf).unwrap();
    assert_eq!(
        (out.to, Message::parse(&buf[..out.len])),
        (Destination::Short(5), Ok(Message::RrepAck))
    );
    network.carry(3, out.to, &buf[..out.len]);
    let out = network.node(4).poll_message(now, &mut buf).unwrap();
    assert_eq!(out.to, Destination::Broadcast);
    let Ok(Message::Rerr(rerr)) = Message::parse(&buf[..out.len]) else { panic!() };
    assert_eq!(rerr.entries().map(|entry| entry.destination).collect::<Vec<_>>(), [5]);
    network.carry(3, out.to, &buf[..out.len]);
    // 2 has a precursor, 3 has none. Both have packets of their own and search for a route at once.
    let out = network.node(2).poll_message(now, &mut buf).unwrap();
    assert_eq!(out.to, Destination::Short(1));
    for node in [2, 3] {
        let out = network.node(node).poll_message(now, &mut buf).unwrap();
        assert_eq!(out.to, Destination::Broadcast);
        let Ok(Message::Rreq(rreq)) = Message::parse(&buf[..out.len]) else { panic!() };
        assert_eq!(rreq.destination, 5);
        assert_eq!(network.node(node).poll_message(now, &mut buf), None);
    }
    assert_eq!(network.node(3).next_hop(5), None);
}

/// Returns the errors that `node` sends now: the receivers and the destinations of each.
fn errors(node: &mut Aodv<Plan>, now: Instant) -> Vec<(Destination, Vec<u16>)> {
    let mut buf = [0; MAX_LEN];
    let mut errors = Vec::new();
    while let Some(out) = node.poll_message(now, &mut buf) {
        let Ok(Message::Rerr(rerr)) = Message::parse(&buf[..out.len]) else { panic!() };
        errors.push((out.to, rerr.entries().map(|entry| entry.destination).collect()));
    }
    errors
}

/// RFC 3561, 6.11: an error by broadcast lists all lost routes, one by unicast those that only its
/// receiver needs.
#[test]
fn an_error_lists_all_losses_that_concern_its_receivers() {
    let now = Instant::from_secs(1);
    let (one, other) = (Destination::Short(7), Destination::Short(8));
    for (strays, expected) in [
        (vec![(20, 7), (21, 8), (22, 7)], vec![(one, vec![20, 22]), (other, vec![21])]),
        (vec![(20, 7), (20, 8), (21, 7)], vec![(Destination::Broadcast, vec![20, 21])]),
        (
            vec![(21, 7), (20, 7), (20, 8)],
            vec![(one, vec![21]), (Destination::Broadcast, vec![20])],
        ),
    ] {
        let mut node: Aodv<Plan> = Aodv::new(AodvConfig::new(3, Role::Router, 3));
        strays.into_iter().for_each(|(to, from)| node.handle_stray(now, to, from));
        assert_eq!(errors(&mut node, now), expected);
    }
}

/// RERR_RATELIMIT (RFC 3561, 6.11 and 10).
#[test]
fn ten_errors_are_sent_in_a_second_and_the_others_later() {
    let mut node: Aodv<Plan> = Aodv::new(AodvConfig::new(3, Role::Router, 3));
    let mut now = Instant::from_secs(1);
    (0..13).for_each(|n| node.handle_stray(now, 20 + n, 40 + n));
    assert_eq!(errors(&mut node, now).len(), 10);
    for _ in 10..13 {
        now += Duration::from_millis(100);
        assert_eq!(node.deadline(), Some(now));
        node.handle_deadline(now);
        assert_eq!(errors(&mut node, now).len(), 1);
    }
    assert_eq!((node.poll_message(now, &mut [0; MAX_LEN]), node.stats().errors), (None, 13));
}

/// RFC 3561, 6.3.
#[test]
fn each_request_of_a_search_waits_twice_as_long_for_a_reply() {
    let mut node: Aodv<Plan> = Aodv::new(AodvConfig::new(3, Role::Router, 3));
    let mut now = Instant::from_secs(1);
    let mut times = Vec::new();
    assert!(node.discover(now, 7));
    while node.is_discovering(7) {
        times.extend(node.poll_message(now, &mut [0; MAX_LEN]).map(|_| now));
        now = node.deadline().unwrap();
        node.handle_deadline(now);
    }
    times.push(now);
    let waits: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(waits, [1, 2, 4].map(|times| waits[0] * times));
}

/// A transport whose segments were lost with the route sends nothing before its timer expires. A
/// node that has sent nothing recently, or does not probe its neighbours, waits for a packet.
#[test]
fn a_node_that_loses_a_needed_route_starts_discovery_at_once() {
    let discovers = |link_probes, idle| {
        let mut network = Network::line(4, Metric::PathDr);
        for short in 1..=4 {
            let config =
                AodvConfig { link_probes, ..AodvConfig::new(short, Role::Router, short.into()) };
            *network.node(short) = Aodv::new(config);
        }
        assert!(network.discover(1, 4));
        assert_eq!(network.send(1, 4), (4, true));
        network.run(idle);
        network.join(3, 4, 0);
        let now = network.now;
        network.node(3).handle_sent(now, 4, false);
        network.run(Duration::from_millis(10));
        assert_eq!(network.node(1).next_hop(4), None);
        network.node(1).is_discovering(4)
    };
    let (soon, late) = (Duration::from_millis(100), Duration::from_millis(1_500));
    assert!(discovers(true, soon));
    assert!(!discovers(true, late));
    assert!(!discovers(false, soon));
}
