//! The office: fifteen nodes on one floor, as in TCPlp's testbed (Fig. 1, §8).
//!
//! The paper shows its floor as a drawing without measures. This one is a floor of 68 m by 20 m
//! with two rows of rooms. Path loss: 3GPP TR 38.901 indoor hotspot without line of sight at 2.44
//! GHz (17.3 + 38.3 log10 d + 24.9 log10 f), without shadowing, so that hop counts are those of the
//! plan. At -8 dBm, TCPlp's output power, neighbours in a row (12.8 to 13 m, -77 dBm) and across
//! the corridor (11.7 m, -76 dBm) have links of Thread's quality 3. One room further (-86 dBm) it
//! is quality 2, two rooms further 1. The border router is at the western end, and leaves are three
//! and five hops away.

use super::{Fading, Interferer, NodeId, NodePlace, Propagation, Role, Scenario, Wire};
use kinglet_sim::profile::NOISE_FLOOR_DBM;

/// Metres east and north. Node numbers are those of the paper minus one.
const ROUTERS: [(f64, f64); 11] = [
    // The border router, and the southern row.
    (2.0, 4.0),
    (14.8, 4.0),
    (27.6, 4.0),
    (40.4, 4.0),
    (53.2, 4.0),
    // The northern row, half a room further east.
    (8.0, 14.0),
    (21.0, 14.0),
    (34.0, 14.0),
    (47.0, 14.0),
    (60.0, 14.0),
    // The eastern end.
    (66.0, 6.0),
];

/// Position and first hop of the leaves: two pairs of adjacent ones, "the same first hop" (§8.2.3).
const LEAVES: [((f64, f64), NodeId); 4] =
    [((18.0, 18.5), 6), ((24.0, 18.5), 6), ((50.0, 0.5), 4), ((56.4, 0.5), 4)];

impl Scenario {
    /// The office at night, without interference and applications. The host is behind the border
    /// router with a round-trip time of 12 ms (§8).
    pub fn office() -> Self {
        let place = |(x_m, y_m), role, parent| NodePlace { x_m, y_m, role, parent };
        let routers = ROUTERS.into_iter().map(|at| place(at, Role::Router, None));
        let leaves = LEAVES.into_iter().map(|(at, first)| place(at, Role::Leaf, Some(first)));
        let mut scenario = Scenario { name: "office".to_owned(), ..Scenario::default() };
        scenario.nodes = routers.chain(leaves).collect();
        scenario.nodes[0].role = Role::BorderRouter;
        scenario.radio.tx_power_dbm = -8.0;
        scenario.medium.propagation = Propagation::PathLoss {
            exponent: 3.83,
            reference_loss_db: 26.77,
            shadowing_db: 0.0,
            asymmetry_db: 0.0,
            fading: Fading::NONE,
            noise_floor_dbm: NOISE_FLOOR_DBM,
        };
        scenario.wire = Some(Wire::PERFECT);
        scenario
    }

    /// The same in working hours: Wi-Fi, Bluetooth and a microwave oven, by hour of the day.
    #[must_use]
    pub fn by_day(mut self) -> Self {
        self.interference = Interferer::office();
        self
    }

    /// The same with routers in place of leaves, for networks in which all nodes are duty-cycled.
    #[must_use]
    pub fn without_leaves(mut self) -> Self {
        for place in self.nodes.iter_mut().filter(|place| place.role == Role::Leaf) {
            (place.role, place.parent) = (Role::Router, None);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flow, Route};

    /// Hops of a node's path.
    fn hops(scenario: &Scenario, from: NodeId, to: NodeId) -> usize {
        let routes = scenario.routes();
        let mut path = vec![from];
        while let Some(&node) = path.last().filter(|node| **node != to) {
            let next = |r: &&Route| (r.node, r.destination) == (node, to);
            path.push(routes.iter().find(next).expect("a route").next_hop);
            assert!(path.len() <= scenario.nodes.len(), "a loop: {path:?}");
        }
        println!("{path:?}");
        path.len() - 1
    }

    #[test]
    fn leaves_are_three_and_five_hops_away_and_pairs_share_their_first_hop() {
        let mut scenario = Scenario::office();
        let host = scenario.host();
        scenario.flows = (1..15).map(|node| Flow::bulk(node, host)).collect();
        let up: Vec<usize> = (1..15).map(|node| hops(&scenario, node, 0)).collect();
        let down: Vec<usize> = (1..15).map(|node| hops(&scenario, 0, node)).collect();
        assert_eq!(up, [1, 2, 3, 4, 1, 2, 3, 4, 5, 5, 3, 3, 5, 5]);
        assert_eq!(up, down);
        let first = |node| scenario.routes().iter().find(|r| r.node == node).map(|r| r.next_hop);
        assert_eq!([11, 12, 13, 14].map(first), [Some(6), Some(6), Some(4), Some(4)]);
    }

    #[test]
    fn no_route_leads_through_a_leaf() {
        let mut scenario = Scenario::office();
        let pairs = (0..15).flat_map(|a| (0..15).map(move |b| (a, b))).filter(|(a, b)| a != b);
        scenario.flows = pairs.map(|(a, b)| Flow::bulk(a, b)).collect();
        for route in scenario.routes() {
            let next = &scenario.nodes[route.next_hop as usize];
            assert!(next.role != Role::Leaf || route.next_hop == route.destination, "{route:?}");
        }
    }
}
