//! Links between nodes, their strength, and the effect of overlapping frames.
//!
//! The links of each node are one range of a shared array (compressed sparse rows), so a
//! transmission touches only the nodes in range.

use crate::ber::mw_from_dbm;
use crate::fading::Fades;
use crate::interference::Interferer;
pub use crate::place::{Fading, PathLoss, Position};
use crate::profile::NOISE_FLOOR_DBM;

/// Source of the links.
#[derive(Clone, Debug, PartialEq)]
pub enum Connectivity {
    /// Every node within `range_m` is in range, with equal strength and independent of output
    /// power.
    UnitDisc {
        /// Radius of reception in metres.
        range_m: f64,
        /// Radius within which a frame interferes without being received or sensed, in metres;
        /// `None`, or less than `range_m`, means `range_m`.
        interference_range_m: Option<f64>,
        /// Received power of every signal, in dBm.
        rssi_dbm: f64,
    },
    /// Exactly these directed links between different nodes of the run.
    LinkMatrix(Vec<MatrixLink>),
    /// Log-distance path loss with log-normal shadowing, differences between nodes, and fading.
    PathLoss(PathLoss),
}

/// One directed link of [`Connectivity::LinkMatrix`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatrixLink {
    /// Sender.
    pub from: usize,
    /// Receiver.
    pub to: usize,
    /// Packet reception ratio without interference, 0 to 1.
    pub prr: f64,
    /// Received power in dBm, independent of output power.
    pub rssi_dbm: f64,
}

/// Effect of frames that overlap at a receiver. Simulators differ here, so every experiment states
/// its choice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Overlap {
    /// Any overlap loses all frames involved (Cooja's unit disc).
    Strict,
    /// The receiver stays with the frame it locked on; each interval of constant interference has
    /// the bit error rate of its SINR (ns-3).
    SinrBer,
    /// The frame under reception survives each interferer that is weaker by at least the threshold.
    Capture {
        /// Threshold in dB.
        threshold_db: f64,
        /// Makes the receiver switch from the frame it locked on to one that is stronger by at
        /// least the threshold.
        relock: bool,
    },
}

/// The channel model of a run.
///
/// Without [`Overlap::SinrBer`] there are no bit errors by noise: a frame at or above the
/// receiver's sensitivity is received unless it overlaps or the link loses it.
#[derive(Clone, Debug, PartialEq)]
pub struct MediumConfig {
    /// Source of the links.
    pub connectivity: Connectivity,
    /// Effect of overlapping frames.
    pub overlap: Overlap,
    /// Noise power in dBm; used by [`Overlap::SinrBer`] only. Thermal noise in 2 MHz is -111 dBm; a
    /// receiver adds its noise figure (AT86RF231: 6 dB).
    pub noise_floor_dbm: f64,
    /// Probability of an additional random loss of a frame at a receiver, on every link.
    pub frame_loss: f64,
    /// `false` is a control experiment without hidden terminals: carrier sense detects every sender
    /// of the network.
    pub hidden_terminals: bool,
    /// Other users of the band. Carrier sense measures their energy; they affect receptions with
    /// [`Overlap::SinrBer`] only.
    pub interferers: Vec<Interferer>,
    /// Microseconds from midnight to the start of the run.
    pub start_us: u64,
}

impl MediumConfig {
    /// A unit disc of `range_m` metres at -60 dBm with strict overlap and no additional losses.
    pub fn unit_disc(range_m: f64) -> Self {
        MediumConfig {
            connectivity: Connectivity::UnitDisc {
                range_m,
                interference_range_m: None,
                rssi_dbm: -60.0,
            },
            overlap: Overlap::Strict,
            noise_floor_dbm: NOISE_FLOOR_DBM,
            frame_loss: 0.0,
            hidden_terminals: true,
            interferers: Vec::new(),
            start_us: 0,
        }
    }
}

/// A directed link in the form needed during a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// Received power at an output power of 0 dBm, in milliwatts.
    pub(crate) gain_mw: f64,
    /// The same in dBm.
    pub(crate) gain_dbm: f32,
    /// Receiver.
    pub(crate) to: u32,
    /// Loss probability in units of 2^-32; `u32::MAX` means always.
    pub(crate) loss: u32,
    /// Interferes, but can be neither received nor sensed.
    pub(crate) interference_only: bool,
    /// Cut by a fault: no signal arrives.
    pub(crate) cut: bool,
}

/// All links.
pub(crate) struct Links {
    offsets: Vec<u32>,
    links: Vec<Link>,
    /// True if the output power affects reception.
    pub(crate) power_matters: bool,
    fades: Option<Fades>,
}

/// A probability in units of 2^-32.
fn threshold(probability: f64) -> u32 {
    // A float-to-integer cast saturates, so 1.0 becomes `u32::MAX`.
    (probability.clamp(0.0, 1.0) * 4_294_967_296.0) as u32
}

impl Links {
    /// Links of nodes at `positions`. Panics if a link matrix contains an unknown node or a link
    /// from a node to itself. A path-loss link is kept if it is within 10 dB of the receiver's
    /// sensitivity at the highest output power: weaker signals have less than a tenth of the power
    /// of the weakest receivable frame and are ignored as interference.
    pub(crate) fn build(
        config: &MediumConfig,
        seed: u64,
        positions: &[Position],
        sensitivity_dbm: f64,
        max_power_dbm: f64,
    ) -> Links {
        let mut directed: Vec<(u32, Link)> = Vec::new();
        let loss = |prr: f64| threshold(1.0 - prr * (1.0 - config.frame_loss));
        let link = |to: usize, dbm: f64, prr: f64, interference_only: bool| Link {
            gain_mw: mw_from_dbm(dbm),
            gain_dbm: dbm as f32,
            to: to as u32,
            loss: loss(prr),
            interference_only,
            cut: false,
        };
        match &config.connectivity {
            Connectivity::UnitDisc { range_m, interference_range_m, rssi_dbm } => {
                let outer = interference_range_m.unwrap_or(*range_m).max(*range_m);
                for_pairs(positions, outer, |a, b, distance| {
                    let far = distance > *range_m;
                    directed.push((a as u32, link(b, *rssi_dbm, 1.0, far)));
                    directed.push((b as u32, link(a, *rssi_dbm, 1.0, far)));
                });
            }
            Connectivity::LinkMatrix(matrix) => {
                for entry in matrix {
                    let known = entry.from.max(entry.to) < positions.len();
                    assert!(known && entry.from != entry.to, "not a link of this run: {entry:?}");
                    let one = link(entry.to, entry.rssi_dbm, entry.prr, false);
                    directed.push((entry.from as u32, one));
                }
            }
            Connectivity::PathLoss(model) => {
                let weakest = sensitivity_dbm - 10.0;
                // Random values are limited to four sigma, which bounds the distance of the search.
                let sigmas = model.shadowing_sigma_db + 2.0 * model.asymmetry_sigma_db;
                let budget = max_power_dbm - weakest + 4.0 * sigmas;
                let exponent = (budget - model.reference_loss_db) / (10.0 * model.exponent);
                let outer = libm::pow(10.0, exponent).max(1.0);
                let hardware = |node| model.hardware_db(seed, node);
                let hardware: Vec<_> = (0..positions.len()).map(hardware).collect();
                for_pairs(positions, outer, |a, b, distance| {
                    let gain = -model.loss_db(seed, (a, b), distance);
                    for (from, to) in [(a, b), (b, a)] {
                        let gain = gain + hardware[from].0 + hardware[to].1;
                        if gain + max_power_dbm >= weakest {
                            directed.push((from as u32, link(to, gain, 1.0, false)));
                        }
                    }
                });
                let mut links = Links::from_directed(positions.len(), &mut directed, true);
                let ends = directed.iter().map(|(from, link)| (*from, link.to, link.gain_dbm));
                let ends: Vec<_> = ends.collect();
                links.fades = Fades::new(model.fading, seed, &ends, positions.len());
                return links;
            }
        }
        Links::from_directed(positions.len(), &mut directed, false)
    }

    fn from_directed(nodes: usize, directed: &mut Vec<(u32, Link)>, power_matters: bool) -> Links {
        directed.sort_by_key(|(from, link)| (*from, link.to));
        directed.dedup_by_key(|(from, link)| (*from, link.to));
        let mut offsets = vec![0u32; nodes + 1];
        for (from, _) in directed.iter() {
            offsets[*from as usize + 1] += 1;
        }
        for i in 0..nodes {
            offsets[i + 1] += offsets[i];
        }
        let links = directed.iter().map(|(_, link)| *link).collect();
        Links { offsets, links, power_matters, fades: None }
    }

    /// Updates the links that start at `from` to `now`, in microseconds.
    pub(crate) fn refresh(&mut self, from: usize, now: u64) {
        let range = self.range(from);
        let Links { links, fades, .. } = self;
        if let Some(fades) = fades {
            fades.refresh(now, from, range, |index, db| {
                (links[index].gain_dbm, links[index].gain_mw) = (db as f32, mw_from_dbm(db));
            });
        }
    }

    /// Indices of the links that start at `from`.
    pub(crate) fn range(&self, from: usize) -> core::ops::Range<usize> {
        self.offsets[from] as usize..self.offsets[from + 1] as usize
    }

    pub(crate) fn at(&self, index: usize) -> &Link {
        &self.links[index]
    }

    /// Link from `from` to `to`, if there is one.
    pub(crate) fn find(&mut self, from: usize, to: usize) -> Option<&mut Link> {
        let place = self.place(from, to)?;
        self.links.get_mut(place)
    }

    /// True if `to` is affected by the signals of `from`.
    pub(crate) fn notices(&self, from: usize, to: usize) -> bool {
        self.place(from, to).is_some_and(|place| !self.links[place].cut)
    }

    fn place(&self, from: usize, to: usize) -> Option<usize> {
        let range = self.range(from);
        let row = &self.links[range.clone()];
        let place = row.binary_search_by_key(&(to as u32), |link| link.to).ok()?;
        Some(range.start + place)
    }

    /// True if `to` can receive frames that `from` sends with `power_dbm`, without interference and
    /// cuts.
    pub(crate) fn reaches(
        &self,
        from: usize,
        to: usize,
        power_dbm: f64,
        sensitivity_dbm: f64,
    ) -> bool {
        let row = &self.links[self.range(from)];
        let Ok(place) = row.binary_search_by_key(&(to as u32), |link| link.to) else {
            return false;
        };
        let link = row[place];
        let power_dbm = if self.power_matters { power_dbm } else { 0.0 };
        let heard = f64::from(link.gain_dbm) + power_dbm >= sensitivity_dbm;
        heard && !link.interference_only && link.loss < u32::MAX
    }

    /// Cuts every link between a node for which `inside` is true and another node, and restores all
    /// others.
    pub(crate) fn partition(&mut self, inside: impl Fn(usize) -> bool) {
        for from in 0..self.offsets.len() - 1 {
            for link in
                &mut self.links[self.offsets[from] as usize..self.offsets[from + 1] as usize]
            {
                link.cut = inside(from) != inside(link.to as usize);
            }
        }
    }
}

impl Link {
    pub(crate) fn set_loss(&mut self, probability: f64) {
        self.loss = threshold(probability);
    }
}

/// Calls `visit(a, b, distance)` for every pair `a < b` within `outer` metres, in order. Nodes are
/// sorted into square cells of that size, so that only nearby ones are compared.
fn for_pairs(positions: &[Position], outer: f64, mut visit: impl FnMut(usize, usize, f64)) {
    if outer.is_nan() || outer <= 0.0 {
        return;
    }
    let cell = |p: Position| (libm::floor(p.x_m / outer) as i64, libm::floor(p.y_m / outer) as i64);
    let mut cells: Vec<((i64, i64), usize)> =
        positions.iter().enumerate().map(|(i, p)| (cell(*p), i)).collect();
    cells.sort_unstable();
    for (a, p) in positions.iter().enumerate() {
        let (cx, cy) = cell(*p);
        for dx in -1..=1 {
            // Cells of one column are adjacent in the sorted list.
            let low =
                cells.partition_point(|(c, _)| *c < (cx.saturating_add(dx), cy.saturating_sub(1)));
            let high =
                cells.partition_point(|(c, _)| *c <= (cx.saturating_add(dx), cy.saturating_add(1)));
            for &(_, b) in &cells[low..high] {
                let distance = p.distance_m(positions[b]);
                if b > a && distance <= outer {
                    visit(a, b, distance);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(n: usize, step_m: f64) -> Vec<Position> {
        (0..n).map(|i| Position { x_m: i as f64 * step_m, y_m: 0.0 }).collect()
    }

    fn heard(links: &Links, from: usize) -> Vec<u32> {
        links.range(from).map(|i| links.at(i).to).collect()
    }

    #[test]
    fn a_line_in_a_unit_disc_receives_its_neighbours_only() {
        let config = MediumConfig::unit_disc(10.0);
        let links = Links::build(&config, 1, &line(5, 9.0), -101.0, 4.0);
        assert_eq!(heard(&links, 0), [1]);
        assert_eq!(heard(&links, 2), [1, 3]);
    }

    #[test]
    fn interference_reaches_further_than_reception() {
        let mut config = MediumConfig::unit_disc(10.0);
        config.connectivity = Connectivity::UnitDisc {
            range_m: 10.0,
            interference_range_m: Some(20.0),
            rssi_dbm: -60.0,
        };
        let links = Links::build(&config, 1, &line(5, 9.0), -101.0, 4.0);
        assert_eq!(heard(&links, 0), [1, 2]);
        let only: Vec<bool> = links.range(0).map(|i| links.at(i).interference_only).collect();
        assert_eq!(only, [false, true]);
    }

    #[test]
    fn cells_find_the_same_pairs_as_comparing_all() {
        let mut random = crate::rng::Stream::from_seed(5);
        let positions: Vec<Position> = (0..200)
            .map(|_| Position { x_m: random.unit() * 100.0 - 50.0, y_m: random.unit() * 100.0 })
            .collect();
        let mut found = Vec::new();
        for_pairs(&positions, 13.0, |a, b, _| found.push((a, b)));
        found.sort_unstable();
        let mut expected = Vec::new();
        for a in 0..200 {
            for b in a + 1..200 {
                if positions[a].distance_m(positions[b]) <= 13.0 {
                    expected.push((a, b));
                }
            }
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn shadowing_of_a_pair_does_not_depend_on_other_nodes() {
        let mut config = MediumConfig::unit_disc(1.0);
        config.connectivity = Connectivity::PathLoss(PathLoss::INDOOR_NLOS);
        let small = Links::build(&config, 9, &line(3, 5.0), -101.0, 0.0);
        let large = Links::build(&config, 9, &line(6, 5.0), -101.0, 0.0);
        let gain = |l: &Links| l.range(0).map(|i| l.at(i).gain_dbm).take(2).collect::<Vec<_>>();
        assert_eq!(gain(&small), gain(&large));
    }

    #[test]
    fn differences_between_nodes_make_the_directions_of_a_link_differ() {
        let mut config = MediumConfig::unit_disc(1.0);
        let model = PathLoss { asymmetry_sigma_db: 1.0, ..PathLoss::constant(3.0, 40.0, 0.0) };
        config.connectivity = Connectivity::PathLoss(model);
        let mut links = Links::build(&config, 1, &line(2, 5.0), -95.0, 0.0);
        let mut gain = |from, to| links.find(from, to).map_or(0.0, |link| link.gain_dbm);
        assert!((gain(0, 1) - gain(1, 0)).abs() > 0.01);
    }

    #[test]
    fn a_partition_cuts_only_what_crosses_it() {
        let config = MediumConfig::unit_disc(10.0);
        let mut links = Links::build(&config, 1, &line(4, 9.0), -101.0, 4.0);
        links.partition(|n| n < 2);
        let cut = |l: &mut Links, a, b| l.find(a, b).is_some_and(|l| l.cut);
        assert!(cut(&mut links, 1, 2) && cut(&mut links, 2, 1) && !cut(&mut links, 0, 1));
        links.partition(|_| true);
        assert!(!cut(&mut links, 1, 2));
    }
}
