//! Finds the links of a path that can never be used at the same time, and so the number of links
//! that share the channel.
//!
//! TCPlp §7.2 considers a line on which a node disturbs its neighbours: any three consecutive links
//! exclude each other, so that paths of three or more hops carry B/3. This module applies that
//! argument to any medium whose links are listed or follow from distances. Two links *conflict* if
//! they share a node, or if a transmission by an end of one is sensed or disturbs a reception at an
//! end of the other. Both ends count, because data and acknowledgements travel in opposite
//! directions. A path then carries at most B divided by the size of its largest set of pairwise
//! conflicting links.

use kinglet_scenario::{FlowKind, NodeId, Propagation, Scenario};

/// Number of links of the first flow's path that exclude each other: the divisor of B. `None`
/// without a path of one to 64 links, or if signal strengths are drawn at random (path loss).
pub(crate) fn sharing(scenario: &Scenario) -> Option<u32> {
    let path = path(scenario)?;
    let links: Vec<(NodeId, NodeId)> = path.windows(2).map(|ends| (ends[0], ends[1])).collect();
    if links.is_empty() || links.len() > 64 {
        return None;
    }
    let mut conflicts = vec![0_u64; links.len()];
    for (i, one) in links.iter().enumerate() {
        for (j, other) in links.iter().enumerate() {
            if i != j && conflict(scenario, *one, *other)? {
                conflicts[i] |= 1 << j;
            }
        }
    }
    Some(largest_clique(&conflicts))
}

/// The nodes of the first flow's path, from its sender to its receiver.
fn path(scenario: &Scenario) -> Option<Vec<NodeId>> {
    let (from, to) = scenario.flows.first().map(|flow| &flow.kind).map(FlowKind::ends)?;
    let routes = scenario.routes();
    let next = |at: &NodeId| {
        let here =
            |route: &&kinglet_scenario::Route| (route.node, Some(route.destination)) == (*at, to);
        routes.iter().find(here).map(|route| route.next_hop)
    };
    // A routing loop ends here.
    let path: Vec<_> = std::iter::successors(Some(from), next).take(scenario.nodes.len()).collect();
    (path.last().copied() == to).then_some(path)
}

type Ends = (NodeId, NodeId);

fn conflict(scenario: &Scenario, one: Ends, other: Ends) -> Option<bool> {
    for a in [one.0, one.1] {
        for b in [other.0, other.1] {
            if a == b || reaches(scenario, a, b)? || reaches(scenario, b, a)? {
                return Some(true);
            }
        }
    }
    Some(false)
}

/// Returns true if a transmission by `from` is sensed at `to`, or disturbs a reception there.
fn reaches(scenario: &Scenario, from: NodeId, to: NodeId) -> Option<bool> {
    if !scenario.medium.hidden_terminals {
        return Some(true);
    }
    match &scenario.medium.propagation {
        Propagation::UnitDisc { range_m, interference_range_m, .. } => {
            let place = |node: NodeId| scenario.nodes.get(node as usize);
            let (a, b) = (place(from)?, place(to)?);
            let distance = (a.x_m - b.x_m).hypot(a.y_m - b.y_m);
            Some(distance <= range_m.max(*interference_range_m))
        }
        Propagation::LinkMatrix { links } => Some(links.iter().any(|link| {
            (link.from, link.to) == (from, to)
                || (link.symmetric && (link.to, link.from) == (from, to))
        })),
        Propagation::PathLoss { .. } => None,
    }
}

/// Size of the largest clique. Bit j of `joined[i]` is set if vertices i and j are joined.
fn largest_clique(joined: &[u64]) -> u32 {
    let all = u64::MAX >> (64 - joined.len().clamp(1, 64));
    // Size of a clique, and the vertices that are joined to all of it and have not been tried.
    let mut open = vec![(0_u32, all)];
    let mut best = 0;
    while let Some((size, candidates)) = open.pop() {
        best = best.max(size);
        if candidates == 0 || size + candidates.count_ones() <= best {
            continue;
        }
        let first = candidates.trailing_zeros();
        open.push((size, candidates & !(1 << first)));
        let neighbours = joined.get(first as usize).copied().unwrap_or(0);
        open.push((size + 1, candidates & neighbours & !(1 << first)));
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_scenario::{Flow, LINE_SPACING_M, Link};

    fn line(hops: u32) -> Scenario {
        let mut scenario = Scenario::default().on_line(hops, LINE_SPACING_M);
        scenario.flows = vec![Flow::bulk(hops, 0)];
        scenario
    }

    fn sharing_of(hops: u32, change: impl Fn(&mut Scenario)) -> Option<u32> {
        let mut scenario = line(hops);
        change(&mut scenario);
        sharing(&scenario)
    }

    fn disc(interference_range_m: f64) -> impl Fn(&mut Scenario) {
        move |scenario| {
            scenario.medium.propagation =
                Propagation::UnitDisc { range_m: 10.0, interference_range_m, rssi_dbm: -60.0 };
        }
    }

    #[test]
    fn three_links_in_a_row_share_the_channel_of_the_papers_line() {
        let shared = [1, 2, 3, 4, 5, 8].map(|hops| sharing_of(hops, |_| ()));
        assert_eq!(shared, [1, 2, 3, 3, 3, 3].map(Some));
    }

    #[test]
    fn with_interference_from_two_hops_away_four_do() {
        let shared = [1, 2, 3, 4, 5, 8].map(|hops| sharing_of(hops, disc(20.0)));
        assert_eq!(shared, [1, 2, 3, 4, 4, 4].map(Some));
        assert_eq!(sharing_of(8, disc(25.0)), Some(5), "24 m are three hops");
    }

    #[test]
    fn without_hidden_nodes_all_do() {
        let all = |scenario: &mut Scenario| scenario.medium.hidden_terminals = false;
        assert_eq!([1, 4, 8, 20].map(|hops| sharing_of(hops, all)), [1, 4, 8, 20].map(Some));
    }

    #[test]
    fn a_link_of_a_matrix_joins_those_that_it_leads_to_in_either_direction() {
        let matrix = |extra: Option<Link>| {
            move |scenario: &mut Scenario| {
                let link =
                    |from| Link { from, to: from + 1, loss: 0.0, rssi_dbm: -60.0, symmetric: true };
                let links = (0..5).map(link).chain(extra.clone()).collect();
                scenario.medium.propagation = Propagation::LinkMatrix { links };
            }
        };
        assert_eq!(sharing_of(5, matrix(None)), Some(3));
        // Node 3 disturbs node 1: links 0-1 and 3-4 conflict as well.
        let one_way = Link { from: 3, to: 1, loss: 1.0, rssi_dbm: -80.0, symmetric: false };
        assert_eq!(sharing_of(5, matrix(Some(one_way))), Some(4));
    }

    #[test]
    fn nothing_is_said_where_strengths_are_drawn() {
        let office = Scenario::office();
        assert_eq!(sharing(&office), None);
        assert_eq!(sharing(&Scenario::default()), None, "no flow");
    }

    #[test]
    fn the_largest_clique_is_found() {
        // A ring of five: pairs only.
        assert_eq!(largest_clique(&[0b10010, 0b00101, 0b01010, 0b10100, 0b01001]), 2);
        // The same with a hub that is joined to all.
        assert_eq!(
            largest_clique(&[0b110010, 0b100101, 0b101010, 0b110100, 0b101001, 0b011111]),
            3
        );
        assert_eq!(largest_clique(&[0]), 1);
    }
}
