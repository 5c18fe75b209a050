//! Many nodes over lossy links, without a MAC: a frame takes no time and up to four attempts.

use core::net::Ipv6Addr;
use kinglet_rpl::{
    Candidate, Discard, INFINITE_RANK, MAX_LEN, Mode, NextHop, Onward, Out, Probing, Refusal, Role,
    Root, Route, Rpl, RplConfig, Sizes, Standard,
};
use kinglet_time::{Duration, Instant};
use kinglet_wire::rpl::{ControlOption, Dio, Message, Writer};
use rand_core::Rng;
use rand_pcg::Pcg32;
use std::collections::{BTreeMap, VecDeque};

pub(crate) const CANDIDATES: usize = 12;
pub(crate) const ROUTES: usize = 64;

pub(crate) struct Plan;
impl Sizes for Plan {
    type Objective = Standard;
    type Candidates = [Option<Candidate>; CANDIDATES];
    type Routes = [Option<Route>; ROUTES];
}

/// Code of a DAO (RFC 6550, 6.4).
const DAO: u8 = 2;
/// Attempts of a MAC.
const ATTEMPTS: u8 = 4;
/// Time between two checks for loops.
const LOOK: Duration = Duration::from_millis(100);
/// Hops after which a packet is dropped.
pub(crate) const HOP_LIMIT: u8 = 64;

pub(crate) fn address(node: usize) -> Ipv6Addr {
    Ipv6Addr::new(0xFD00, 0, 0, 0, 0, 0, 0, node as u16 + 1)
}

pub(crate) fn near(node: usize) -> Ipv6Addr {
    Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, node as u16 + 1)
}

pub(crate) fn node_of(address: Ipv6Addr) -> usize {
    usize::from(address.segments()[7]) - 1
}

/// Result of a packet, and its number of hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Delivered(u8),
    /// A frame was given up.
    Lost,
    Refused(Refusal),
    HopLimit,
}

pub(crate) struct Net {
    pub(crate) nodes: Vec<Rpl<Plan>>,
    pub(crate) alive: Vec<bool>,
    /// Percentage of frames that arrive, by sender and receiver.
    pub(crate) links: BTreeMap<(usize, usize), u32>,
    pub(crate) random: Pcg32,
    pub(crate) now: Instant,
    /// Sender, receiver and size: larger DAOs arrive as frames, but not as messages.
    pub(crate) daos_lost: Option<(usize, usize, usize)>,
    /// Sender and receiver: multicasts of the one do not arrive at the other.
    pub(crate) multicasts_lost: Option<(usize, usize)>,
    /// Messages in flight to one node, in the order of sending.
    unicasts: VecDeque<(usize, usize, Out, Vec<u8>)>,
    /// Time since which a node has been on a routing loop.
    looping: BTreeMap<usize, Instant>,
    pub(crate) longest_loop: Duration,
    pub(crate) messages: usize,
}

impl Net {
    pub(crate) fn new(roles: Vec<Role>, probing: Probing, seed: u64) -> Self {
        let node = |(n, role): (usize, &Role)| {
            let config = RplConfig::new(*role, n as u64 + 1, seed << 8 | n as u64);
            Rpl::new(RplConfig { probing, ..config })
        };
        Net {
            nodes: roles.iter().enumerate().map(node).collect(),
            alive: vec![true; roles.len()],
            links: BTreeMap::new(),
            random: Pcg32::new(seed, 1),
            now: Instant::ZERO,
            daos_lost: None,
            multicasts_lost: None,
            unicasts: VecDeque::new(),
            looping: BTreeMap::new(),
            longest_loop: Duration::ZERO,
            messages: 0,
        }
    }

    /// Returns a root and routers at connected places: each is in range of an earlier one. With
    /// `ideal`, links in range have no loss; otherwise loss grows with distance.
    pub(crate) fn placed(count: usize, mode: Mode, ideal: bool, seed: u64) -> Self {
        let mut roles = vec![Role::Router; count];
        roles[0] = Role::Root(Root::new(address(0), mode));
        let mut net = Net::new(roles, Probing::After(Duration::from_secs(30)), seed);
        let mut places = vec![(0i32, 0i32)];
        while places.len() < count {
            let by = places[net.random.next_u32() as usize % places.len()];
            let mut step = || (net.random.next_u32() % 161) as i32 - 80;
            let (x, y) = (by.0 + step(), by.1 + step());
            if (2_000..6_400).contains(&((x - by.0).pow(2) + (y - by.1).pow(2))) {
                places.push((x, y));
            }
        }
        for (a, from) in places.iter().enumerate() {
            for (b, to) in places.iter().enumerate() {
                let far = (from.0 - to.0).pow(2) + (from.1 - to.1).pow(2);
                if a != b && far < 6_400 {
                    let arrives = if ideal { 100 } else { 100 - far as u32 * 30 / 6_400 };
                    net.links.insert((a, b), arrives);
                }
            }
        }
        net
    }

    pub(crate) fn link(&mut self, a: usize, b: usize, arrives: u32) {
        self.links.insert((a, b), arrives);
        self.links.insert((b, a), arrives);
    }

    fn arrives(&mut self, from: usize, to: usize) -> bool {
        let chance = self.links.get(&(from, to)).copied().unwrap_or(0);
        self.alive[from] && self.alive[to] && self.random.next_u32() % 100 < chance
    }

    /// Sends a frame to one node, with its acknowledgement. Returns whether it arrived.
    pub(crate) fn frame(&mut self, from: usize, to: usize) -> bool {
        let mut arrived = false;
        if to >= self.nodes.len() {
            // There is no such node.
            self.nodes[from].handle_sent(self.now, near(to), ATTEMPTS, false);
            return false;
        }
        for attempt in 1..=ATTEMPTS {
            let here = self.arrives(from, to);
            arrived |= here;
            if here && self.arrives(to, from) {
                self.nodes[from].handle_sent(self.now, near(to), attempt, true);
                return true;
            }
        }
        self.nodes[from].handle_sent(self.now, near(to), ATTEMPTS, false);
        arrived
    }

    /// Sends a packet from one node to an address, hop by hop, with the RPL option or a source
    /// route.
    pub(crate) fn packet(&mut self, from: usize, destination: Ipv6Addr) -> Fate {
        let mut at = from;
        let mut information = self.nodes[from].originate(destination);
        let mut next_hop = self.nodes[from].route(destination);
        for hop in 1..=HOP_LIMIT {
            let next = match next_hop {
                NextHop::Neighbour(next) => node_of(next),
                NextHop::SourceRoute => return self.source_routed(at, destination, hop),
                NextHop::Outside => return Fate::Delivered(hop - 1),
                NextHop::Unreachable => return Fate::Refused(Refusal::NoRoute),
            };
            if !self.frame(at, next) {
                return Fate::Lost;
            }
            if address(next) == destination {
                return Fate::Delivered(hop);
            }
            if !information.down {
                self.nodes[next].note_source(self.now, near(at), address(from));
            }
            let relayed =
                self.nodes[next].relay(self.now, near(at), destination, Some(information));
            match relayed {
                Ok(onward) => Onward { next_hop, information } = onward,
                Err(refusal) => return Fate::Refused(refusal),
            }
            at = next;
        }
        Fate::HopLimit
    }

    fn source_routed(&mut self, from: usize, destination: Ipv6Addr, hops: u8) -> Fate {
        let mut route = [Ipv6Addr::UNSPECIFIED; 32];
        let Some(len) = self.nodes[from].source_route(destination, &mut route) else {
            return Fate::Refused(Refusal::NoRoute);
        };
        let mut at = from;
        for hop in &route[..len] {
            if !self.frame(at, node_of(*hop)) {
                return Fate::Lost;
            }
            at = node_of(*hop);
        }
        Fate::Delivered(hops + len as u8 - 1)
    }

    /// Returns whether a message to a routable address arrives.
    fn carried(&mut self, from: usize, to: Ipv6Addr) -> bool {
        if to.is_unicast_link_local() {
            return self.frame(from, node_of(to));
        }
        matches!(self.packet(from, to), Fate::Delivered(_))
    }

    fn step(&mut self, end: Instant) {
        let due = (0..self.nodes.len()).filter(|&n| self.alive[n]);
        let at = due.filter_map(|n| self.nodes[n].deadline()).min().unwrap_or(end);
        self.now = self.now.max(at.min(end));
        for node in 0..self.nodes.len() {
            if self.alive[node] {
                self.nodes[node].handle_deadline(self.now);
            }
        }
        self.drain();
    }

    pub(crate) fn drain(&mut self) {
        loop {
            let before = self.messages;
            for node in 0..self.nodes.len() {
                let mut buf = [0; MAX_LEN];
                while let Some(out) = self.nodes[node].poll_message(self.now, &mut buf) {
                    self.messages += 1;
                    if !self.alive[node] {
                        continue;
                    }
                    let message = buf[..out.len].to_vec();
                    if out.to.is_multicast() {
                        self.broadcast(node, &out, &message);
                    } else {
                        self.unicasts.push_back((node, node_of(out.to), out, message));
                    }
                }
                while self.nodes[node].poll_change().is_some() {}
            }
            while let Some((from, to, out, message)) = self.unicasts.pop_front() {
                let is_lost = |(a, b, longest)| (a, b) == (from, to) && out.len > longest;
                let lost = out.code == DAO && self.daos_lost.is_some_and(is_lost);
                if self.carried(from, out.to) && !lost {
                    let near_by = out.to.is_unicast_link_local();
                    let source = if near_by { near(from) } else { address(from) };
                    self.hear(to, source, &out, &message);
                }
            }
            if self.messages == before {
                return;
            }
        }
    }

    /// Returns a DIO of this DODAG's root.
    pub(crate) fn dio(mode: Mode) -> Dio {
        Dio {
            instance: 0,
            version: 240,
            rank: 128,
            grounded: true,
            mode: if mode == Mode::Storing { 2 } else { 1 },
            preference: 0,
            dtsn: 240,
            dodag_id: address(0),
        }
    }

    /// Delivers a message made by the test to a node, as if from another.
    pub(crate) fn say(
        &mut self,
        from: usize,
        to: usize,
        message: Message,
        options: &[ControlOption<'_>],
    ) -> Result<(), Discard> {
        let mut octets = [0; 200];
        let mut writer = Writer::new(&mut octets, &message).unwrap();
        for option in options {
            writer.option(option).unwrap();
        }
        let len = writer.len();
        let multicast = matches!(message, Message::Dio(_));
        let node = &mut self.nodes[to];
        node.handle_message(self.now, near(from), -60, multicast, message.code(), &octets[..len])
    }

    fn broadcast(&mut self, from: usize, out: &Out, message: &[u8]) {
        for to in 0..self.nodes.len() {
            if self.arrives(from, to) && self.multicasts_lost != Some((from, to)) {
                self.hear(to, near(from), out, message);
            }
        }
    }

    fn hear(&mut self, to: usize, from: Ipv6Addr, out: &Out, message: &[u8]) {
        let multicast = out.to.is_multicast();
        // Frames over a lossier link are received more weakly.
        let arrives = self.links.get(&(node_of(from), to)).copied().unwrap_or(0);
        let rssi_dbm = -100 + (arrives as i8 - 60).max(0);
        let node = &mut self.nodes[to];
        let heard = node.handle_message(self.now, from, rssi_dbm, multicast, out.code, message);
        assert!(!matches!(heard, Err(kinglet_rpl::Discard::Malformed(_))), "{heard:?}");
    }

    /// Advances the time, and checks for loops and the tables.
    pub(crate) fn run(&mut self, span: Duration) {
        let end = self.now + span;
        let mut look = self.now;
        while self.now < end {
            self.step(end);
            if self.now >= look {
                self.check();
                look = self.now + LOOK;
            }
        }
    }

    /// Advances the time, with a packet a second from every node to the root.
    pub(crate) fn run_with_traffic(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            for node in 1..self.nodes.len() {
                if self.alive[node] {
                    self.packet(node, address(0));
                }
            }
            self.run(Duration::from_secs(1).min(end - self.now));
        }
    }

    fn parent(&self, node: usize) -> Option<usize> {
        self.nodes[node].parent().map(node_of).filter(|&up| up < self.nodes.len())
    }

    /// Returns whether parents lead from a node to the root.
    pub(crate) fn is_joined(&self, node: usize) -> bool {
        let mut at = node;
        for _ in 0..self.nodes.len() {
            if at == 0 {
                return true;
            }
            match self.parent(at).filter(|&up| self.alive[up] && self.links.contains_key(&(at, up)))
            {
                Some(parent) => at = parent,
                None => return false,
            }
        }
        false
    }

    pub(crate) fn all_joined(&self) -> bool {
        let reachable = self.reachable();
        (0..self.nodes.len()).all(|n| !reachable[n] || self.is_joined(n))
    }

    /// Returns which nodes have any path to the root.
    pub(crate) fn reachable(&self) -> Vec<bool> {
        let mut found = vec![false; self.nodes.len()];
        let mut open = vec![0];
        found[0] = true;
        while let Some(at) = open.pop() {
            for next in 0..self.nodes.len() {
                if self.alive[next] && !found[next] && self.links.contains_key(&(at, next)) {
                    found[next] = true;
                    open.push(next);
                }
            }
        }
        found
    }

    /// Returns the time until all reachable nodes have joined, in steps of 100 ms; at most
    /// `patience`.
    pub(crate) fn until_joined(&mut self, patience: Duration) -> Option<Duration> {
        let begin = self.now;
        while self.now < begin + patience {
            if self.all_joined() {
                return Some(self.now - begin);
            }
            self.run(LOOK);
        }
        None
    }

    fn on_a_loop(&self, node: usize) -> bool {
        let mut at = node;
        for _ in 0..self.nodes.len() {
            match self.parent(at).filter(|&up| self.alive[up]) {
                Some(parent) if parent == node => return true,
                Some(parent) => at = parent,
                None => return false,
            }
        }
        false
    }

    fn check(&mut self) {
        for node in 0..self.nodes.len() {
            let info = self.nodes[node].info();
            assert!(info.candidates <= CANDIDATES && info.routes <= ROUTES);
            assert_eq!(info.parent.is_none() && node > 0, info.rank == INFINITE_RANK && node > 0);
            if self.alive[node] && self.on_a_loop(node) {
                let since = *self.looping.entry(node).or_insert(self.now);
                self.longest_loop = self.longest_loop.max(self.now - since);
            } else {
                self.looping.remove(&node);
            }
        }
    }

    /// Returns whether ranks fall towards the root, by at least a hop.
    pub(crate) fn ranks_are_monotone(&self) -> bool {
        (1..self.nodes.len()).filter(|&n| self.alive[n]).all(|node| match self.parent(node) {
            Some(parent) => self.nodes[node].rank() >= self.nodes[parent].rank() + 128,
            None => true,
        })
    }

    /// Returns the node whose loss affects the most other nodes.
    pub(crate) fn busiest(&self) -> usize {
        let mut carried = vec![0; self.nodes.len()];
        for node in 1..self.nodes.len() {
            let mut at = self.parent(node);
            while let Some(up) = at.filter(|&up| up > 0) {
                carried[up] += 1;
                at = self.parent(up);
            }
        }
        (1..self.nodes.len()).max_by_key(|&n| carried[n]).unwrap()
    }
}
