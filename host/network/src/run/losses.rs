//! Losses of the relations of nodes in a network: parents, DODAGs, registrations, children,
//! neighbours.

use kinglet::time::{Duration, Instant};
use kinglet_scenario::{NodeId, Scenario};
use kinglet_sim::trace::{Loss, Losses};
use kinglet_sim::{Device, World};
use schemars::JsonSchema;
use serde::Serialize;

/// Interval between checks of the nodes, in simulated time. A check every second would take a tenth
/// of the time of a run with little traffic.
const PERIOD: Duration = Duration::from_secs(5);
/// Largest number of losses in the record of a run; the first ones are kept.
const MOST: usize = 1_000;

/// A relation that a node has lost.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct LossResult {
    /// Time of detection in seconds; nodes are checked every five seconds.
    pub at_s: f64,
    /// The node.
    pub node: NodeId,
    /// Relation, other end and reasons.
    #[serde(flatten)]
    pub loss: Loss,
}

/// Checks the relations of all nodes every five seconds.
#[derive(Debug)]
pub struct Watch {
    /// State of each node; `None` before the first check, and if its stack cannot be read.
    nodes: Vec<Option<Losses>>,
    next: Instant,
}

impl Watch {
    /// Creates the state for a network of `scenario`; `None` if its nodes keep no relations.
    pub fn new(scenario: &Scenario) -> Option<Self> {
        let routed = scenario.routing.facts().is_some_and(|facts| facts.keeps_relations);
        let nodes = vec![None; scenario.nodes.len()];
        let discovers = scenario.discovery || scenario.registration;
        (routed || discovers).then_some(Watch { nodes, next: Instant::ZERO })
    }

    /// Returns the time of the next check.
    pub const fn next(&self) -> Instant {
        self.next
    }

    /// Returns the losses since the last check, if a check is due; a trace gets them as well.
    pub fn look<D: Device>(&mut self, world: &mut World<D>) -> Vec<LossResult> {
        let now = world.now();
        if now < self.next {
            return Vec::new();
        }
        self.next = now + PERIOD;
        let mut all = Vec::new();
        for (node, losses) in self.nodes.iter_mut().enumerate() {
            let Some(device) = world.device(node).look() else { continue };
            let Some(losses) = losses else {
                *losses = Some(Losses::new(now, device));
                continue;
            };
            for loss in losses.look(now, device) {
                world.trace_loss(node, &loss);
                let at_s = now.as_micros() as f64 / 1e6;
                all.push(LossResult { at_s, node: node as NodeId, loss });
            }
        }
        all
    }
}

/// The losses of a run, and the number of those that are not kept.
#[derive(Debug)]
pub(super) struct Lost {
    watch: Watch,
    found: Vec<LossResult>,
    left_out: u64,
}

impl Lost {
    pub(super) fn new(scenario: &Scenario) -> Option<Self> {
        Watch::new(scenario).map(|watch| Lost { watch, found: Vec::new(), left_out: 0 })
    }

    pub(super) const fn next(&self) -> Instant {
        self.watch.next()
    }

    pub(super) fn look<D: Device>(&mut self, world: &mut World<D>) {
        for loss in self.watch.look(world) {
            match self.found.len() < MOST {
                true => self.found.push(loss),
                false => self.left_out += 1,
            }
        }
    }

    pub(super) fn finish(self) -> (Vec<LossResult>, u64) {
        (self.found, self.left_out)
    }
}
