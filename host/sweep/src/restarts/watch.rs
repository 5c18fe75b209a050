//! A network in which one node restarts, and the pairs of nodes that communicate in it.

use super::board::{Board, Chatter};
use super::cells::Cell;
use super::network::{addresses, changed, control_messages, scenario};
use super::{RESTART, USUAL, Verdict};
use kinglet::time::{Duration, Instant};
use kinglet_network::build::{self, Network};
use kinglet_scenario::{NodeId, Scenario};
use kinglet_sim::Fault;
use std::sync::{Arc, Mutex, MutexGuard};

/// Interval at which addresses are looked up.
const LOOK: Duration = Duration::from_millis(100);

pub(super) struct Watch<'a> {
    cell: &'a Cell,
    scenario: Scenario,
    world: Network,
    board: Arc<Mutex<Board>>,
    /// Control messages that all nodes had sent, at each look.
    control: Vec<(Instant, f64)>,
    /// Control messages a second of all nodes before the restart.
    usual: f64,
}

impl<'a> Watch<'a> {
    /// Builds the network at time zero. All pairs communicate.
    pub(super) fn new(cell: &'a Cell, seed: u64) -> Self {
        let scenario = scenario(cell);
        let (world, _) = build::network(&scenario, seed);
        let board = Arc::new(Mutex::new(Board::new(world.nodes())));
        let mut watch = Watch { cell, scenario, world, board, control: Vec::new(), usual: 0.0 };
        (0..watch.world.nodes()).for_each(|node| watch.add_chatter(node));
        watch.speak(true);
        watch
    }

    fn add_chatter(&mut self, node: usize) {
        let chatter = Chatter::new(node as NodeId, self.cell, Arc::clone(&self.board));
        self.world.with_device(node, |site, _| site.add_app(Box::new(chatter)));
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().expect("applications do not panic")
    }

    /// Switches datagrams on or off from now on. Earlier datagrams do not count.
    pub(super) fn speak(&self, speaks: bool) {
        self.board().speak(speaks);
    }

    pub(super) fn advance(&mut self, until: Instant) {
        while self.world.now() < until {
            self.world.run_until((self.world.now() + LOOK).min(until));
            let addressing = self.scenario.addressing();
            let (now, addresses) = (self.world.now(), addresses(&self.world, addressing));
            self.board().look(now, addresses);
            self.control.push((now, self.control_of(|_| true)));
        }
    }

    /// Switches the node of the cell off until `back`. Then it starts with its changed setting.
    pub(super) fn restart(&mut self, back: Instant, seed: u64) {
        let node = self.cell.node();
        // Its counters, which are in this, are lost with it.
        self.usual = self.control_between(RESTART - USUAL, RESTART) / secs(USUAL);
        self.world.schedule_fault(self.world.now(), Fault::Partition(vec![node as usize]));
        self.advance(back);
        self.world.schedule_fault(self.world.now(), Fault::Partition(Vec::new()));
        let changed = changed(self.cell, &self.scenario);
        // The node's own counters start at zero again.
        self.control.pop();
        self.control.push((back, self.control_of(|other| other != node as usize)));
        build::restart(&mut self.world, &changed, node, seed);
        self.add_chatter(node as usize);
    }

    /// Returns the pairs without a recent datagram.
    pub(super) fn silent(&self) -> Vec<(NodeId, NodeId)> {
        let window = self.cell.window();
        self.board().silent(RESTART - window - window)
    }

    /// Returns the time since which all pairs have communicated without a gap.
    pub(super) fn well_since(&self) -> Option<Instant> {
        self.board().well_since(self.cell.window())
    }

    /// Returns the control messages that these nodes have sent so far.
    fn control_of(&self, counts: impl Fn(usize) -> bool) -> f64 {
        let nodes = (0..self.world.nodes()).filter(|node| counts(*node));
        nodes.map(|node| control_messages(&self.world, node)).sum()
    }

    /// Returns the control messages that all nodes have sent between two instants.
    fn control_between(&self, from: Instant, until: Instant) -> f64 {
        let at = |instant| {
            let place = self.control.partition_point(|(at, _)| *at < instant);
            self.control.get(place).or(self.control.last()).map_or(0.0, |(_, count)| *count)
        };
        at(until) - at(from)
    }

    /// Returns the cost of the restart: the node was back at `back`, and all pairs have
    /// communicated since `well`.
    pub(super) fn verdict(&self, back: Instant, well: Option<Instant>) -> Verdict {
        let end = well.unwrap_or(self.world.now());
        let count = self.control_between(back, end) - self.usual * secs(end - back);
        let control = count.max(0.0) / self.world.nodes() as f64;
        let seconds = well.map(|well| secs(well - back));
        let limit = back + Duration::from_millis((self.cell.limit_s() * 1e3) as u64);
        let board = self.board();
        let (sent, heard) = board.totals();
        Verdict {
            pairs: board.pairs(),
            seconds,
            control,
            lost: sent.saturating_sub(heard),
            sent,
            late: board.late(self.cell.window(), limit),
        }
    }
}

fn secs(span: Duration) -> f64 {
    span.as_micros() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages of a node that is back at once must not be missing in the count before.
    #[test]
    fn the_usual_rate_has_the_messages_of_the_node_that_restarts() {
        for cell in Cell::pairwise().iter().filter(|cell| cell.off == Duration::ZERO) {
            let mut watch = Watch::new(cell, 1);
            watch.advance(RESTART);
            watch.restart(RESTART, 2);
            assert!((0.0..1.0).contains(&watch.usual), "{cell:?}: {} a second", watch.usual);
        }
    }
}
