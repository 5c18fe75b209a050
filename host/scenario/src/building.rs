//! A building: thirty nodes and a border router, as in Kim et al., "TCP over RPL" (III-A).
//!
//! The paper shows its floor as a drawing without measures, and gives the depth of RPL's tree: five
//! hops at -22 dBm, and seven at -17 dBm from another border router. The building here has two rows
//! of equal rooms, with a node anywhere in each room except the last. Path loss is that of 3GPP TR
//! 38.901 for an indoor hotspot without line of sight at 2.44 GHz (17.3 + 38.3 log10 d + 24.9 log10
//! f), with its shadowing of 8.03 dB, minus 5 dB of antenna gain at either end (III-A).
//!
//! Each seed has another building. The size of the rooms, the node of each room and its position
//! are drawn until the links make a tree of the paper's depth from both of its border routers.
//! Links have at least -96 dBm, where half of all full frames arrive. The first border router is in
//! the middle, the second at the end: seven hops of 1.35 times the length are twice the distance of
//! five.

use super::{Fading, NodeId, NodePlace, Propagation, RadioProfile, Role, Scenario, Wire};
use kinglet_sim::place::{PathLoss, Position};
use kinglet_sim::rng::{Purpose, Stream, stream};
use std::borrow::Cow;
use std::ops::Range;

/// Selects the border router, and the transmit power of all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Building {
    /// Border router in the middle, -22 dBm: five hops.
    Middle,
    /// Border router at the end, -17 dBm: seven hops.
    End,
}

/// Number of nodes, including the border router.
const NODES: usize = 31;
/// Columns of the two rows.
const COLUMNS: usize = 16;
/// Width of a room along the building, in metres.
const ROOM_M: Range<f64> = 8.0..24.0;
/// Depth of a room, and width of the corridor between the rows, in metres.
const DEPTH_M: f64 = 6.0;
const CORRIDOR_M: f64 = 2.0;
/// The weakest signal of a link, in dBm.
const LINK_DBM: f64 = -96.0;
/// Gain of both antennas, in dB.
const ANTENNAS_DB: f64 = 10.0;
/// 115,200 baud, ten bits an octet: the UART between border router and host.
const UART_KBPS: f64 = 92.16;

const LOSS: PathLoss = PathLoss {
    reference_loss_db: PathLoss::INDOOR_NLOS.reference_loss_db - ANTENNAS_DB,
    ..PathLoss::INDOOR_NLOS
};

impl Building {
    /// Both variants.
    pub const ALL: [Building; 2] = [Building::Middle, Building::End];

    /// Number of the border router, and of its room. Rooms are numbered along the building.
    pub const fn root(self) -> NodeId {
        match self {
            Building::Middle => NODES as NodeId / 2,
            Building::End => NODES as NodeId - 1,
        }
    }

    const fn power_dbm(self) -> f64 {
        match self {
            Building::Middle => -22.0,
            Building::End => -17.0,
        }
    }

    /// Hops of RPL's tree in the paper.
    pub const fn hops(self) -> u32 {
        match self {
            Building::Middle => 5,
            Building::End => 7,
        }
    }

    /// Nodes that links still connect to the border router of the building that `seed` draws,
    /// without node `dead`.
    pub fn survivors(self, seed: u64, dead: NodeId) -> Vec<NodeId> {
        let at = |place: &NodePlace| Position { x_m: place.x_m, y_m: place.y_m };
        let at: Vec<_> = self.places(seed).iter().map(at).collect();
        let hops = hops(seed, &at, self, Some(dead as usize));
        (0..).zip(hops).filter_map(|(node, hops)| hops.map(|_| node)).collect()
    }

    /// The places of the nodes of the building that `seed` draws.
    fn places(self, seed: u64) -> Vec<NodePlace> {
        let fits = |at: &[Position]| {
            Building::ALL.iter().all(|of| depth(seed, at, *of) == Some(of.hops()))
        };
        // About one attempt in some hundred succeeds.
        let mut attempt = 0;
        let mut positions = positions(seed, attempt);
        while !fits(&positions) {
            attempt += 1;
            positions = self::positions(seed, attempt);
        }
        let place = |(node, at): (NodeId, Position)| {
            let role = if node == self.root() { Role::BorderRouter } else { Role::Router };
            NodePlace { x_m: at.x_m, y_m: at.y_m, role, parent: None }
        };
        (0..).zip(positions).map(place).collect()
    }
}

/// Position of each node: each has a room of its own, and those of the border routers are fixed.
///
/// The medium's shadowing depends on the seed and on the two nodes. Each attempt assigns the rooms
/// to other nodes, so that the building has other walls.
fn positions(seed: u64, attempt: u64) -> Vec<Position> {
    let mut random = stream(seed, attempt, Purpose::Placement);
    let within = |random: &mut Stream, from: f64, to: f64| from + random.unit() * (to - from);
    let room_m = within(&mut random, ROOM_M.start, ROOM_M.end);
    let rooms = (0..COLUMNS).flat_map(|column| [(column, 0.0), (column, DEPTH_M + CORRIDOR_M)]);
    let mut rooms: Vec<_> = rooms.take(NODES).collect();
    let is_root = |node: usize| Building::ALL.iter().any(|of| of.root() as usize == node);
    let others: Vec<usize> = (0..NODES).filter(|node| !is_root(*node)).collect();
    for (last, node) in others.iter().enumerate().rev() {
        rooms.swap(*node, others[random.below(last as u32 + 1) as usize]);
    }
    let inside = |(column, south): (usize, f64)| {
        let west = column as f64 * room_m;
        let x_m = within(&mut random, west, west + room_m);
        Position { x_m, y_m: within(&mut random, south, south + DEPTH_M) }
    };
    rooms.into_iter().map(inside).collect()
}

/// Hops from the border router to the farthest node; `None` if links do not reach all nodes.
fn depth(seed: u64, at: &[Position], of: Building) -> Option<u32> {
    let hops = hops(seed, at, of, None);
    hops.into_iter().try_fold(0, |deepest, hops| Some(deepest.max(hops?)))
}

/// Hops from the border router to each node that links reach without node `dead`.
fn hops(seed: u64, at: &[Position], of: Building, dead: Option<usize>) -> Vec<Option<u32>> {
    let is_link = |a: usize, b: usize| {
        let loss = LOSS.loss_db(seed, (a.min(b), a.max(b)), at[a].distance_m(at[b]));
        of.power_dbm() - loss >= LINK_DBM
    };
    let mut hops: Vec<Option<u32>> = vec![None; at.len()];
    let root = of.root() as usize;
    hops[root] = Some(0);
    let mut reached = vec![root];
    let mut next = 0;
    while let Some(&from) = reached.get(next) {
        next += 1;
        for to in 0..at.len() {
            if hops[to].is_none() && to != from && Some(to) != dead && is_link(from, to) {
                hops[to] = hops[from].map(|hops| hops + 1);
                reached.push(to);
            }
        }
    }
    hops
}

impl Scenario {
    /// A building with its radios and the wire to its host, without applications.
    pub fn building(building: Building, seed: u64) -> Self {
        let mut scenario = Scenario { name: "building".to_owned(), seed, ..Scenario::default() };
        scenario.nodes = building.places(seed);
        scenario.building = Some(building);
        scenario.radio.profile = RadioProfile::Cc2420;
        scenario.radio.tx_power_dbm = building.power_dbm();
        scenario.medium.propagation = Propagation::PathLoss {
            exponent: LOSS.exponent,
            reference_loss_db: LOSS.reference_loss_db,
            shadowing_db: LOSS.shadowing_sigma_db,
            asymmetry_db: 0.0,
            fading: Fading::NONE,
            // Noise floor of the radio: see `kinglet_sim::profile::CC2420`.
            noise_floor_dbm: -100.0,
        };
        scenario.wire = Some(Wire { rate_kbps: Some(UART_KBPS), ..Wire::PERFECT });
        scenario
    }

    /// The same scenario in the building that `seed` draws, if it is in one.
    #[must_use]
    pub fn drawn(&self, seed: u64) -> Cow<'_, Self> {
        match self.building {
            Some(building) => Cow::Owned(Scenario { nodes: building.places(seed), ..self.clone() }),
            None => Cow::Borrowed(self),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_seed_draws_a_building_of_the_papers_depths() {
        let mut before = Vec::new();
        for seed in (1..=20).chain(101..=110) {
            let places = Building::Middle.places(seed);
            assert_eq!(places.len(), NODES);
            let at: Vec<_> = places.iter().map(|p| Position { x_m: p.x_m, y_m: p.y_m }).collect();
            for building in Building::ALL {
                assert_eq!(depth(seed, &at, building), Some(building.hops()));
                let others: Vec<_> = building.places(seed).iter().map(|p| (p.x_m, p.y_m)).collect();
                assert!(others.into_iter().eq(at.iter().map(|p| (p.x_m, p.y_m))), "same places");
            }
            assert_ne!(places, before);
            before = places;
        }
    }
}
