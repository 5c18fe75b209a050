//! Deaths of relays during a transfer, and the time until its source has another route.

use super::pairs::path;
use crate::build::Network;
use kinglet::time::{Duration, Instant};
use kinglet_scenario::{NodeId, RelayDeath, Scenario};
use kinglet_sim::Fault;

/// Interval between checks for another route.
const LOOK: Duration = Duration::from_millis(20);

/// Carries out [`Scenario::relay_deaths`].
pub(super) struct Deaths<'a> {
    scenario: &'a Scenario,
    coming: &'a [RelayDeath],
    /// The death, the dead node of a flow's path, the time of its death, and the time of the next
    /// check.
    dead: Option<(RelayDeath, NodeId, Instant, Instant)>,
    /// Seconds until each flow had a route around its dead relay, if it lost one and found another.
    recovery_s: Vec<Option<f64>>,
}

fn instant(seconds: f64) -> Instant {
    Instant::from_micros((seconds * 1e6).round() as u64)
}

impl<'a> Deaths<'a> {
    pub(super) fn new(scenario: &'a Scenario) -> Option<Self> {
        let coming = scenario.relay_deaths.as_slice();
        let recovery_s = vec![None; scenario.flows.len()];
        (!coming.is_empty()).then_some(Deaths { scenario, coming, dead: None, recovery_s })
    }

    /// Time of the next check.
    pub(super) fn next(&self) -> Option<Instant> {
        let coming = self.coming.first().map(|death| instant(death.from_s));
        self.dead.map(|(.., next)| next).or(coming)
    }

    /// Carries out a due death, or checks for a route around the dead node. `lasts` returns whether
    /// a flow, by its number, is under way.
    pub(super) fn look(&mut self, world: &mut Network, lasts: impl Fn(&Network, usize) -> bool) {
        let now = world.now();
        if let Some((death, node, since, next)) = &mut self.dead {
            if now < *next {
                return;
            }
            *next = now + LOOK;
            let around =
                path_of(self.scenario, world, death.flow).is_some_and(|w| !w.contains(node));
            if around {
                self.recovery_s[death.flow] = Some((now - *since).as_micros() as f64 / 1e6);
            }
            if around || now >= instant(death.to_s) || !lasts(world, death.flow) {
                self.dead = None;
            }
        } else if let Some((death, rest)) = self.coming.split_first()
            && now >= instant(death.from_s)
        {
            self.coming = rest;
            let path =
                path_of(self.scenario, world, death.flow).filter(|_| lasts(world, death.flow));
            if let Some(node) = path.as_deref().and_then(middle) {
                world.schedule_fault(now, Fault::Partition(vec![node as usize]));
                world.schedule_fault(instant(death.to_s), Fault::Partition(Vec::new()));
                self.dead = Some((*death, node, now, now + LOOK));
            }
        }
    }

    /// Seconds from the death of a relay of this flow until its source had a route without it.
    pub(super) fn recovery_s(&self, flow: usize) -> Option<f64> {
        *self.recovery_s.get(flow)?
    }
}

/// The present path of a flow's frames, if its source has a route.
fn path_of(scenario: &Scenario, world: &Network, flow: usize) -> Option<Vec<NodeId>> {
    let (from, to) = scenario.flows.get(flow)?.kind.ends();
    path(world, from, to?)
}

/// The middle node of a path, if there is one between its ends.
fn middle(path: &[NodeId]) -> Option<NodeId> {
    let between = path.get(1..path.len().checked_sub(1)?)?;
    between.get(between.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Options, run};
    use kinglet_scenario::{Flow, FlowKind, Pairs, Routing};

    #[test]
    fn the_node_in_the_middle_is_between_the_ends() {
        assert_eq!([&[1][..], &[1, 2]].map(middle), [None, None]);
        assert_eq!([&[1, 2, 3][..], &[1, 2, 3, 4]].map(middle), [Some(2), Some(3)]);
    }

    #[test]
    fn a_transfer_goes_on_around_a_relay_that_dies() {
        let pairs = Pairs {
            count: 2,
            hops: Some(3),
            interval_s: 60.0,
            failure_after_s: 2.0,
            ..Pairs::USUAL
        };
        let base = Scenario::ceiling();
        let mut scenario = Scenario { routing: Routing::Aodv, pairs: Some(pairs), ..base };
        scenario.duration_s = 120.0;
        scenario.flows = vec![Flow::new(
            1.0,
            FlowKind::TcpBulk {
                from: 0,
                to: 1,
                bytes: Some(44_000),
                send_buffer: None,
                receive_buffer: None,
            },
        )];
        let result = run(&scenario, 1, &Options::default()).expect("it can be simulated");
        assert_eq!(result.flows.len(), 2);
        for flow in result.flows {
            assert!(flow.is_well(), "{flow:?}");
            assert!(flow.recovery_s.is_some_and(|s| (0.02..30.0).contains(&s)), "{flow:?}");
        }
    }
}
