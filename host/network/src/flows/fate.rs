//! State of a flow at the end of a simulation, and the reason if it is dead.

use crate::build::Stations;
use crate::run::{Death, FlowResult, Reason, State};
use crate::tree::NextHops;
use kinglet::Routing as _;
use kinglet::tcp::ConnectionError;
use kinglet_scenario::{Listening, NodeId, Role, Scenario};
use std::collections::BTreeSet;

/// State of a flow's application that is not in the record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// True if it has had data to send.
    pub(super) began: bool,
    /// True if its work has an end.
    pub(super) bounded: bool,
    /// Error that ended its connection for good.
    pub(super) ended: Option<ConnectionError>,
}

/// Determines for each flow of a finished simulation whether it is dead.
pub(super) struct Fates<'a> {
    world: &'a dyn Stations,
    scenario: &'a Scenario,
    next_hops: &'a NextHops,
    /// All ports of the scenario's receivers and servers.
    listening: BTreeSet<Listening>,
}

impl<'a> Fates<'a> {
    /// Prepares the flows of `scenario`, simulated in `world`, whose packets take these paths.
    pub(super) fn new(
        world: &'a dyn Stations,
        scenario: &'a Scenario,
        next_hops: &'a NextHops,
    ) -> Self {
        let flows = scenario.flows.iter().enumerate();
        let listening = flows.flat_map(|(place, flow)| flow.listening(place)).collect();
        Fates { world, scenario, next_hops, listening }
    }

    /// Adds the state to the `record` of flow number `index`. A server has none.
    pub(super) fn judge(&self, index: usize, record: FlowResult, known: Known) -> FlowResult {
        let Some(to) = record.to else { return record };
        let state = match record.bytes.unwrap_or(0) {
            _ if !known.began => State::Waiting,
            _ if known.bounded && record.is_complete() => State::Complete,
            0 => State::Dead,
            _ if known.ended.is_some() => State::Dead,
            _ => State::Open,
        };
        let death = (state == State::Dead).then(|| self.death(index, record.from, to, known.ended));
        record.ended(state, death)
    }

    /// Returns the first reason that applies if flow number `index` is dead.
    fn death(
        &self,
        index: usize,
        from: NodeId,
        to: NodeId,
        ended: Option<ConnectionError>,
    ) -> Death {
        let at = |reason, node| Death { reason, node };
        let by_error = |error| match error {
            ConnectionError::Reset => Reason::Reset,
            ConnectionError::Refused => Reason::Refused,
            ConnectionError::TimedOut => Reason::TimedOut,
            ConnectionError::Aborted => Reason::Aborted,
            ConnectionError::Unreachable => Reason::Unreachable,
        };
        let lacks = |reason, node: Option<NodeId>| node.map(|node| at(reason, node));
        lacks(Reason::NoServer, self.is_unserved(index).then_some(to))
            .or_else(|| lacks(Reason::NoRoute, self.without_route(from, to)))
            .or_else(|| lacks(Reason::NoRoute, self.without_route(to, from)))
            .or_else(|| lacks(Reason::NoLink, self.without_link(from)))
            .or_else(|| lacks(Reason::NoLink, self.without_link(to)))
            .unwrap_or_else(|| at(ended.map_or(Reason::NoAnswer, by_error), to))
    }

    /// Returns true if no flow of the scenario listens at the destination of flow number `index`.
    fn is_unserved(&self, index: usize) -> bool {
        let target = self.scenario.flows.get(index).and_then(|flow| flow.target(index));
        target.is_some_and(|target| !self.listening.contains(&target))
    }

    /// The node at which the path from `from` to `to` ends early, by the present routing state of
    /// the nodes. `None` if the path is complete, or if the next hop of a node cannot be read.
    fn without_route(&self, from: NodeId, to: NodeId) -> Option<NodeId> {
        let nodes = &self.scenario.nodes;
        let border = nodes.iter().position(|place| place.role == Role::BorderRouter);
        let place = |node: NodeId| {
            if (node as usize) < nodes.len() { Some(node) } else { border.map(|it| it as NodeId) }
        };
        let (mut at, end) = (place(from)?, place(to)?);
        for _ in nodes {
            if at == end {
                return None;
            }
            let stack = self.world.station(at)?.node();
            match self.next_hops.next_hop(Some(stack), at, end) {
                Some(next) => at = next,
                None if self.next_hops.are_static() => return Some(at),
                None => {
                    let address = self.scenario.addressing().address(end);
                    let learnt = stack.routing().route(address)?;
                    return learnt.via.is_none().then_some(at);
                }
            }
        }
        // The path is a loop.
        Some(at)
    }

    /// Returns `node` if it sent frames and none was acknowledged.
    fn without_link(&self, node: NodeId) -> Option<NodeId> {
        let mac = self.world.station(node)?.node().mac().stats();
        (mac.no_ack > 0 && mac.transmissions == mac.ack_missing).then_some(node)
    }
}
