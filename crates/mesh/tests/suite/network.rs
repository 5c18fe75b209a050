//! Whole meshes over a lossy medium: they find the cheapest routes, and routes around failed nodes.

use kinglet_mesh::{
    Change, Destination, Leaf, MAX_LEN, Mesh, MeshConfig, Neighbour, Role, Route, Sizes,
};
use kinglet_time::{Duration, Instant};
use proptest::prelude::*;
use rand_core::Rng;
use rand_pcg::Pcg32;
use std::collections::BTreeMap;

pub(crate) struct Plan;
impl Sizes for Plan {
    type Neighbours = [Option<Neighbour>; 32];
    type Routes = [Option<Route>; 64];
    type Leaves = [Option<Leaf>; 8];
    type Data = [u8; 32];
}

const NONE: u32 = 16;
/// Attempts of a MAC.
const ATTEMPTS: u32 = 4;
/// Interval between checks for loops.
const LOOK: Duration = Duration::from_millis(100);

/// Nodes have the short addresses 1, 2, …; the first is the border router.
pub(crate) struct Net {
    pub(crate) nodes: Vec<Mesh<Plan>>,
    pub(crate) alive: Vec<bool>,
    /// Received power, by sender and receiver; the two directions may differ.
    rssi: BTreeMap<(usize, usize), i8>,
    /// Percentage of frames that are lost.
    loss: u32,
    random: Pcg32,
    pub(crate) now: Instant,
    pub(crate) changes: Vec<(usize, Change)>,
    /// Start of a loop, by node and destination.
    looping: BTreeMap<(usize, u16), Instant>,
    longest_loop: Duration,
}

pub(crate) fn short(node: usize) -> u16 {
    node as u16 + 1
}

impl Net {
    pub(crate) fn new(roles: &[Role], seed: u64, loss: u32) -> Self {
        let node = |(n, &role): (usize, &Role)| {
            Mesh::new(MeshConfig::new(short(n), role, seed << 8 | n as u64))
        };
        Net {
            nodes: roles.iter().enumerate().map(node).collect(),
            alive: vec![true; roles.len()],
            rssi: BTreeMap::new(),
            loss,
            random: Pcg32::new(seed, 1),
            now: Instant::ZERO,
            changes: Vec::new(),
            looping: BTreeMap::new(),
            longest_loop: Duration::ZERO,
        }
    }

    pub(crate) fn link(&mut self, a: usize, b: usize, there: i8, back: i8) {
        self.rssi.insert((a, b), there);
        self.rssi.insert((b, a), back);
    }

    /// A connected graph with links of all qualities in both directions.
    pub(crate) fn random(routers: usize, more: usize, seed: u64, loss: u32) -> Self {
        let mut roles = vec![Role::Router; routers];
        roles[0] = Role::BorderRouter;
        let mut net = Net::new(&roles, seed, loss);
        for node in 1..routers {
            let to = net.random.next_u32() as usize % node;
            net.random_link(node, to);
        }
        for _ in 0..more {
            let a = net.random.next_u32() as usize % routers;
            let b = net.random.next_u32() as usize % routers;
            if a != b {
                net.random_link(a, b);
            }
        }
        net
    }

    fn random_link(&mut self, a: usize, b: usize) {
        // Margins well inside the classes 1, 2 and 3.
        let [there, back, ..] =
            self.random.next_u32().to_le_bytes().map(|dice| [-92, -84, -70][usize::from(dice % 3)]);
        self.link(a, b, there, back);
    }

    fn cost(&self, a: usize, b: usize) -> u32 {
        let class = |rssi: i8| [4, 2, 1][usize::from(rssi > -88) + usize::from(rssi > -79)];
        match (self.rssi.get(&(a, b)), self.rssi.get(&(b, a))) {
            (Some(&there), Some(&back)) if self.alive[a] && self.alive[b] => {
                class(there).max(class(back))
            }
            _ => NONE,
        }
    }

    /// Returns the least costs, by Floyd and Warshall.
    fn costs(&self) -> Vec<Vec<u32>> {
        let n = self.nodes.len();
        let mut cost: Vec<Vec<u32>> =
            (0..n).map(|a| (0..n).map(|b| self.cost(a, b)).collect()).collect();
        for via in 0..n {
            for a in 0..n {
                for b in 0..n {
                    cost[a][b] = cost[a][b].min(cost[a][via] + cost[via][b]).min(NONE);
                }
            }
        }
        cost
    }

    fn lost(&mut self) -> bool {
        self.random.next_u32() % 100 < self.loss
    }

    /// Sends a frame to one device. Returns whether it was acknowledged.
    fn unicast(&mut self, from: usize, to: usize, message: Option<&[u8]>) -> bool {
        if !self.alive[from] {
            return false;
        }
        let there = self.rssi.get(&(from, to)).copied().filter(|_| self.alive[to]);
        let back = self.rssi.contains_key(&(to, from));
        let arrived = (0..ATTEMPTS).any(|_| !self.lost());
        let Some(rssi) = there.filter(|_| arrived) else {
            self.nodes[from].handle_sent(self.now, short(to), false);
            return false;
        };
        self.nodes[to].handle_heard(self.now, short(from), rssi);
        if let Some(message) = message {
            let _ = self.nodes[to].handle_message(self.now, short(from), rssi, message);
        }
        self.nodes[from].handle_sent(self.now, short(to), back);
        back
    }

    fn step(&mut self, end: Instant) {
        let due = (0..self.nodes.len()).filter(|&n| self.alive[n]);
        let at = due.filter_map(|n| self.nodes[n].deadline()).min().expect("routers have one");
        self.now = self.now.max(at.min(end));
        for from in 0..self.nodes.len() {
            if !self.alive[from] {
                continue;
            }
            self.nodes[from].handle_deadline(self.now);
            let mut buf = [0; MAX_LEN];
            while let Some(out) = self.nodes[from].poll_message(self.now, &mut buf) {
                let message = buf[..out.len].to_vec();
                match out.to {
                    Destination::Short(to) => {
                        self.unicast(from, usize::from(to) - 1, Some(&message));
                    }
                    Destination::Broadcast => self.broadcast(from, &message),
                }
            }
        }
        for node in 0..self.nodes.len() {
            while let Some(change) = self.nodes[node].poll_change() {
                self.changes.push((node, change));
            }
        }
    }

    fn broadcast(&mut self, from: usize, message: &[u8]) {
        for to in 0..self.nodes.len() {
            let Some(&rssi) = self.rssi.get(&(from, to)) else { continue };
            if self.alive[to] && !self.lost() {
                self.nodes[to].handle_heard(self.now, short(from), rssi);
                let taken = self.nodes[to].handle_message(self.now, short(from), rssi, message);
                assert!(!matches!(taken, Err(kinglet_mesh::Discard::Malformed(_))), "{taken:?}");
            }
        }
    }

    /// Advances the time and checks for loops.
    pub(crate) fn run(&mut self, span: Duration) {
        let end = self.now + span;
        let mut look = self.now;
        while self.now < end {
            self.step(end);
            if self.now >= look {
                self.look_for_loops();
                look = self.now + LOOK;
            }
        }
    }

    fn look_for_loops(&mut self) {
        for from in 0..self.nodes.len() {
            for to in 0..self.nodes.len() {
                let key = (from, short(to));
                if self.alive[from] && self.walk(from, short(to)) == Walk::Loop {
                    let since = *self.looping.entry(key).or_insert(self.now);
                    self.longest_loop = self.longest_loop.max(self.now - since);
                } else {
                    self.looping.remove(&key);
                }
            }
        }
    }

    pub(crate) fn walk(&self, from: usize, to: u16) -> Walk {
        let mut at = from;
        for hops in 0..=self.nodes.len() {
            if short(at) == to {
                return Walk::Arrived(hops);
            }
            let next = self.nodes[at].next_hop(to).map(|next| usize::from(next) - 1);
            match next {
                Some(next) if self.alive[next] => at = next,
                _ => return Walk::Stopped,
            }
        }
        Walk::Loop
    }

    /// Runs until the cheapest routes are known; with loss they may be unknown at some instants.
    fn run_until_settled(&mut self, longest: Duration) {
        let end = self.now + longest;
        while self.now < end && self.check_routes().is_err() {
            self.run(Duration::from_secs(5));
        }
        self.check_routes().expect("settled");
    }

    /// Checks that every router knows a cheapest route to every other, and that it ends there.
    fn check_routes(&self) -> Result<(), String> {
        let costs = self.costs();
        for from in (0..self.nodes.len()).filter(|&n| self.alive[n]) {
            let routes: Vec<_> = self.nodes[from].routes().collect();
            let cost_to = |to| {
                let route = routes.iter().find(|route| route.destination == Some(short(to)));
                route.map_or(NONE, |route| route.cost.into())
            };
            for to in (0..self.nodes.len()).filter(|&n| n != from) {
                let arrives = matches!(self.walk(from, short(to)), Walk::Arrived(_));
                let (cost, cheapest) = (cost_to(to), costs[from][to]);
                if cost != cheapest || arrives != (cheapest < NONE) {
                    return Err(format!("{from} to {to}: {cost}, not {cheapest}: {arrives}"));
                }
            }
            let outside = u32::from(self.nodes[from].cost_outside());
            if outside != if from == 0 { 0 } else { costs[from][0] } {
                return Err(format!("{from} to the outside: {outside}"));
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    Arrived(usize),
    Stopped,
    Loop,
}

/// Time in which a mesh that has been switched on learns its routes.
const FORMING: Duration = Duration::from_secs(60);
/// Longer than the ageing of neighbours, a hold and the advertisement interval, even with losses.
const REPAIR: Duration = Duration::from_secs(400);

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

    /// Advertisements take two or three frames, and leave out what has not changed.
    #[test]
    fn the_cheapest_routes_are_found_even_if_they_take_several_frames(
        routers in 40usize..60,
        seed in any::<u32>(),
        dies in any::<prop::sample::Index>(),
    ) {
        let mut net = Net::random(routers, routers / 2, seed.into(), 0);
        net.run(FORMING);
        net.check_routes().expect("the cheapest ways");
        let dies = 1 + dies.index(routers - 1);
        net.alive[dies] = false;
        net.run(REPAIR);
        net.check_routes().expect("the cheapest ways");
        prop_assert_eq!(net.longest_loop, Duration::ZERO);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Without loss of advertisements no loop is found.
    #[test]
    fn the_cheapest_routes_are_found_and_found_again(
        routers in 3usize..14,
        more in 0usize..20,
        seed in any::<u32>(),
        dies in any::<prop::sample::Index>(),
    ) {
        let mut net = Net::random(routers, more, seed.into(), 0);
        net.run(FORMING);
        net.check_routes().expect("the cheapest ways");
        let dies = 1 + dies.index(routers - 1);
        net.alive[dies] = false;
        net.run(REPAIR);
        net.check_routes().expect("the cheapest ways");
        prop_assert_eq!(net.longest_loop, Duration::ZERO);
    }

    /// With a loss of up to 20 % a loop can form, but lasts no longer than 30 s.
    #[test]
    fn loss_delays_but_does_not_prevent(
        routers in 3usize..14,
        more in 0usize..20,
        seed in any::<u32>(),
        loss in 1u32..21,
        dies in any::<prop::sample::Index>(),
    ) {
        let mut net = Net::random(routers, more, seed.into(), loss);
        net.run_until_settled(FORMING * 5);
        let dies = 1 + dies.index(routers - 1);
        net.alive[dies] = false;
        net.run_until_settled(REPAIR * 2);
        prop_assert!(net.longest_loop <= Duration::from_secs(30), "{:?}", net.longest_loop);
    }
}

/// A line of routers, with two leaves in range of the last two routers.
fn line_with_leaves(loss: u32) -> Net {
    let mut roles = vec![Role::Router; 5];
    roles[0] = Role::BorderRouter;
    roles.extend([Role::Leaf; 2]);
    let mut net = Net::new(&roles, 7, loss);
    for n in 1..5 {
        net.link(n - 1, n, -60, -60);
    }
    for leaf in [5, 6] {
        net.link(4, leaf, -70, -70);
        net.link(3, leaf, -75, -75);
    }
    // A path around the last router but one.
    net.link(2, 4, -90, -90);
    net
}

/// Leaves send a frame every second.
fn run_with_traffic(net: &mut Net, seconds: u64) {
    for _ in 0..seconds {
        net.run(Duration::from_secs(1));
        for leaf in [5, 6] {
            if let Some(parent) = net.nodes[leaf].parent() {
                net.unicast(leaf, usize::from(parent) - 1, None);
            }
        }
    }
}

#[test]
fn a_leaf_is_found_through_its_parent_wherever_that_is() {
    for loss in [0, 20] {
        let mut net = line_with_leaves(loss);
        run_with_traffic(&mut net, 90);
        // Both links have quality 3; the leaf selects the router nearer to the border router.
        for leaf in [5, 6] {
            assert_eq!(net.nodes[leaf].parent(), Some(short(3)), "with loss {loss}");
            assert_eq!(net.nodes[leaf].default_next_hop(), Some(short(3)));
            assert_eq!(net.walk(0, short(leaf)), Walk::Arrived(4));
            assert!(
                net.changes
                    .contains(&(3, Change::ChildAdded { child: short(leaf), sleeps: false }))
            );
        }
        // The parent fails: the leaves attach to the other router, and all routes follow.
        net.alive[3] = false;
        net.changes.clear();
        run_with_traffic(&mut net, 200);
        for leaf in [5, 6] {
            assert_eq!(net.nodes[leaf].parent(), Some(short(4)), "with loss {loss}");
            assert_eq!(net.walk(0, short(leaf)), Walk::Arrived(4));
        }
        // The old parent comes back with its old state.
        net.alive[3] = true;
        run_with_traffic(&mut net, 60);
        assert_eq!(net.nodes[3].children().count(), 0);
        assert!(net.changes.contains(&(3, Change::ChildRemoved(short(5)))));
        assert!(matches!(net.walk(0, short(5)), Walk::Arrived(_)));
    }
}

#[test]
fn a_parent_that_has_forgotten_its_child_learns_of_it_again() {
    let mut net = line_with_leaves(0);
    run_with_traffic(&mut net, 90);
    net.nodes[3] = Mesh::new(MeshConfig::new(short(3), Role::Router, 99));
    run_with_traffic(&mut net, 250);
    assert_eq!(net.nodes[3].children().count(), 2);
    assert_eq!(net.walk(0, short(5)), Walk::Arrived(4));
}

#[test]
fn a_leaf_that_falls_silent_is_forgotten_everywhere() {
    let mut net = line_with_leaves(0);
    run_with_traffic(&mut net, 90);
    net.alive[5] = false;
    run_with_traffic(&mut net, 300);
    assert!(net.changes.contains(&(3, Change::ChildRemoved(short(5)))));
    assert_eq!(net.nodes[0].next_hop(short(5)), None);
    assert_eq!(net.nodes[0].next_hop(short(6)), Some(short(1)));
}

#[test]
fn four_lost_frames_move_a_route_long_before_the_neighbour_is_too_old() {
    // 0 - 1 - 3 and 0 - 2 - 3; the first route is cheaper.
    let mut net = Net::new(&[Role::BorderRouter, Role::Router, Role::Router, Role::Router], 3, 0);
    net.link(0, 1, -60, -60);
    net.link(1, 3, -60, -60);
    net.link(0, 2, -60, -60);
    net.link(2, 3, -84, -84);
    net.run(FORMING);
    assert_eq!(net.nodes[3].default_next_hop(), Some(short(1)));
    net.alive[1] = false;
    let died = net.now;
    while net.nodes[3].default_next_hop() != Some(short(2)) {
        if net.nodes[3].default_next_hop() == Some(short(1)) {
            net.unicast(3, 1, None);
        }
        net.run(Duration::from_millis(500));
        assert!(net.now - died < Duration::from_secs(12), "{:?}", net.now - died);
    }
    assert_eq!(net.longest_loop, Duration::ZERO);
}

#[test]
fn a_link_that_works_in_one_direction_only_is_not_used() {
    let mut net = Net::new(&[Role::BorderRouter, Role::Router, Role::Router], 3, 0);
    net.link(0, 1, -60, -60);
    net.link(1, 2, -60, -60);
    net.rssi.insert((0, 2), -60);
    net.run(FORMING);
    assert_eq!(net.nodes[2].default_next_hop(), Some(short(1)));
    assert_eq!(net.nodes[0].next_hop(short(2)), Some(short(1)));
    let known = net.nodes[2].neighbours().find(|n| n.short == short(0)).expect("heard");
    assert_eq!((known.quality_in, known.quality_out, known.cost), (3, 0, 16));
}

#[test]
fn a_table_too_large_for_a_frame_is_advertised_in_several() {
    struct Large;
    impl Sizes for Large {
        type Neighbours = [Option<Neighbour>; 2];
        type Routes = [Option<Route>; 64];
        type Leaves = [Option<Leaf>; 32];
        type Data = [u8; 32];
    }
    let mut sender: Mesh<Large> = Mesh::new(MeshConfig::new(1, Role::Router, 1));
    let mut now = Instant::from_secs(1);
    // A neighbour that knows 50 destinations, in two frames, and receives this node.
    for first in [100u8, 125] {
        let mut octets = vec![0x11, 25];
        octets.extend((first..first + 25).flat_map(|n| [0, n, 1]));
        octets.truncate(2 + 3 * 24);
        octets.extend([0, 1, 0xF1]);
        sender.handle_message(now, 2, -60, &octets).unwrap();
    }
    for child in 200..230 {
        sender.handle_message(now, child, -60, &[0x14, 1, 0]).unwrap();
        let mut buf = [0; MAX_LEN];
        sender.poll_message(now, &mut buf).expect("an answer");
    }
    let mut receiver: Mesh<Large> = Mesh::new(MeshConfig::new(3, Role::Router, 1));
    let mut frames = 0;
    while frames == 0 {
        now = sender.deadline().unwrap().max(now);
        sender.handle_deadline(now);
        let mut buf = [0; MAX_LEN];
        while let Some(out) = sender.poll_message(now, &mut buf) {
            assert_eq!(sender.poll_message(now, &mut []), None);
            receiver.handle_message(now, 1, -60, &buf[..out.len]).unwrap();
            frames += 1;
        }
    }
    // 49 destinations and 30 leaves: 297 octets.
    assert_eq!((frames, sender.stats().advertisements), (4, 4));
    // The link is not bidirectional yet: the receiver takes only the leaves that the sender serves.
    assert_eq!(receiver.info().leaves, 30);
}

#[test]
fn unchanged_routes_are_left_out_of_a_large_advertisement_until_all_are_due() {
    let mut sender: Mesh<Plan> = Mesh::new(MeshConfig::new(1, Role::Router, 1));
    let mut now = Instant::from_secs(1);
    let deliver = |sender: &mut Mesh<Plan>, now, destinations: std::ops::Range<u8>, cost: u8| {
        let mut octets = vec![0x11, 1 + destinations.len() as u8, 0, 1, 0xF1];
        octets.extend(destinations.flat_map(|n| [0, n, cost]));
        sender.handle_message(now, 2, -60, &octets).unwrap();
    };
    deliver(&mut sender, now, 100..125, 1);
    deliver(&mut sender, now, 125..150, 1);
    // Times of its advertisements, and their numbers of destinations.
    let mut spoken = Vec::new();
    let mut speak_until = |sender: &mut Mesh<Plan>, now: &mut Instant, end| {
        spoken.clear();
        while sender.deadline().is_some_and(|at| at < end) {
            *now = sender.deadline().unwrap().max(*now);
            sender.handle_deadline(*now);
            let (mut buf, mut named, mut frames) = ([0; MAX_LEN], 0, 0);
            while let Some(out) = sender.poll_message(*now, &mut buf) {
                (named, frames) = (named + (out.len - 2) / 3, frames + 1);
            }
            if frames > 0 {
                spoken.push((*now, named));
            }
        }
        spoken.clone()
    };
    // A route to each, and to the neighbour: at once, again, then in the full advertisement.
    let spoken = speak_until(&mut sender, &mut now, Instant::from_secs(60));
    let named: Vec<_> = spoken.iter().map(|(_, named)| *named).collect();
    assert_eq!(named[..3], [51, 51, 0], "{spoken:?}");
    let wholes: Vec<_> = spoken.iter().skip(2).filter(|(_, named)| *named > 0).collect();
    assert!(wholes.len() == 1 && wholes[0].1 == 51, "{spoken:?}");
    // A risen cost is advertised twice within the hold, and nothing else.
    deliver(&mut sender, now, 100..103, 3);
    let end = now + kinglet_mesh::HOLD;
    let spoken = speak_until(&mut sender, &mut now, end);
    let named: Vec<_> = spoken.iter().map(|(_, named)| *named).collect();
    assert_eq!(named[..2], [3, 3], "{spoken:?}");
    // A loss is advertised twice, and again when a route from any neighbour would be accepted.
    let lost = now;
    deliver(&mut sender, now, 103..104, 0);
    let spoken = speak_until(&mut sender, &mut now, lost + kinglet_mesh::HOLD);
    let named: Vec<_> = spoken.iter().map(|(_, named)| *named).collect();
    assert_eq!(named[..2], [1, 1], "{spoken:?}");
    let end = lost + kinglet_mesh::HOLD + Duration::from_secs(1);
    let spoken = speak_until(&mut sender, &mut now, end);
    assert!(spoken.iter().any(|(_, named)| *named == 1), "{spoken:?}");
}
