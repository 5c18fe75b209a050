//! Models of the medium under which claims about hops and about d are checked.
//!
//! The goodput of several hops depends on the interference between nodes, which is unknown for the
//! papers' buildings. So such a claim passes only if it passes under all these models.

use super::{Effort, RSSI_DBM, Rows, line_scenario};
use crate::conflict::sharing;
use crate::scenario::{Link, NodeId, Overlap, Propagation, Scenario};

/// Medium of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// Each node is in range of its neighbours, all at the same strength; overlaps are resolved by
    /// the ratio of signal to interference and noise. The default.
    Sinr,
    /// The same, but all frames that overlap at a receiver are lost.
    Strict,
    /// Each link is 1 dB weaker than the previous one, counted from the receiver's end: a relay
    /// receives a node hidden from its predecessor 1 dB stronger than the predecessor.
    Louder,
    /// Frames interfere up to twice the distance at which they are received and sensed: two hops.
    Farther,
}

/// Range of interference under [`Model::Farther`], and the usual range of the disc, in metres.
const FAR_M: f64 = 20.0;
const RANGE_M: f64 = 10.0;

impl Model {
    /// All models, the default first.
    pub(crate) const ALL: [Model; 4] = [Model::Sinr, Model::Strict, Model::Louder, Model::Farther];

    /// Name for readers and of the curve.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Model::Sinr => "sinr-ber",
            Model::Strict => "strict overlap",
            Model::Louder => "hidden node 1 dB stronger",
            Model::Farther => "interference over two hops",
        }
    }

    /// Its name in files.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Model::Sinr => "sinr-ber",
            Model::Strict => "strict",
            Model::Louder => "louder",
            Model::Farther => "farther",
        }
    }

    /// End of the points' labels; a point may add more.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Model::Sinr => "",
            Model::Strict => " overlap=strict",
            Model::Louder => " slope_db=1",
            Model::Farther => " interference_m=20",
        }
    }

    /// Number of links of such a line that exclude each other: the divisor of B.
    pub(crate) fn sharing(self, hops: u32) -> f64 {
        let mut scenario = line_scenario(Effort::Quick, hops, 0);
        self.apply(&mut scenario);
        sharing(&scenario).map_or(f64::NAN, f64::from)
    }

    /// Sets the medium of a line and leaves the rest of the scenario unchanged.
    pub(crate) fn apply(self, scenario: &mut Scenario) {
        let medium = &mut scenario.medium;
        medium.overlap = Overlap::SinrBer;
        match self {
            Model::Sinr => {}
            Model::Strict => medium.overlap = Overlap::Strict,
            Model::Louder => {
                let links = slope(scenario.nodes.len() as NodeId, 1);
                scenario.medium.propagation = Propagation::LinkMatrix { links };
            }
            Model::Farther => {
                medium.propagation = Propagation::UnitDisc {
                    range_m: RANGE_M,
                    interference_range_m: FAR_M,
                    rssi_dbm: RSSI_DBM,
                };
            }
        }
    }
}

/// Sets the bound of `goodput` for lines of 2 hops and more: B / `sharing(hops)`, where B is the
/// line's goodput over one hop. Adds the share of the bound that is reached. Labels are `hops=N`
/// and `suffix`.
pub(super) fn against_bound(
    rows: &mut Rows,
    (series, suffix): (&'static str, &str),
    hops: impl Iterator<Item = u32>,
    sharing: impl Fn(u32) -> f64,
) {
    let Some(one) = rows.mean(&format!("hops=1{suffix}"), "goodput") else { return };
    for hops in hops {
        let (label, x, links) = (format!("hops={hops}{suffix}"), f64::from(hops), sharing(hops));
        let row = rows.all.iter_mut().find(|r| r.label == label && r.metric == "goodput");
        let Some(row) = row else { continue };
        row.bound = Some(one / links);
        let share = row.mean / (one / links) * 100.0;
        rows.compute(&label, series, x, ("links_sharing", "links"), links);
        rows.compute(&label, series, x, ("share_of_bound", "%"), share);
    }
}

/// Links of a line with this number of nodes, each weaker by `slope_db` than the previous one,
/// counted from node 0.
pub(super) fn slope(nodes: NodeId, slope_db: i8) -> Vec<Link> {
    let link = |from: NodeId| Link {
        from,
        to: from + 1,
        loss: 0.0,
        rssi_dbm: RSSI_DBM - f64::from(slope_db) * f64::from(from),
        symmetric: true,
    };
    (1..nodes).map(|to| link(to - 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Options, run};

    fn line(model: Model, hops: u32) -> Scenario {
        let mut scenario = line_scenario(Effort::Quick, hops, 40);
        model.apply(&mut scenario);
        scenario
    }

    #[test]
    fn names_and_suffixes_are_different() {
        for (index, one) in Model::ALL.iter().enumerate() {
            for other in &Model::ALL[..index] {
                assert_ne!((one.name(), one.suffix()), (other.name(), other.suffix()));
                assert!(one.name() != other.name() && one.suffix() != other.suffix());
            }
        }
    }

    #[test]
    fn links_share_the_channel_as_far_as_a_model_disturbs() {
        let shared = Model::ALL.map(|model| sharing(&line(model, 6)));
        assert_eq!(shared, [3, 3, 3, 4].map(Some));
    }

    #[test]
    fn the_bound_is_one_hop_over_the_links_that_share() {
        let mut rows = Rows::default();
        for (label, kbps) in [("hops=1 overlap=strict", 90.0), ("hops=4 overlap=strict", 24.0)] {
            rows.compute(label, "", 0.0, ("goodput", "kb/s"), kbps);
        }
        let strict = Model::Strict;
        against_bound(&mut rows, ("", strict.suffix()), 2..=4, |hops| strict.sharing(hops));
        let four = rows.get("hops=4 overlap=strict", "goodput").expect("measured");
        assert_eq!(four.bound, Some(30.0));
        assert_eq!(rows.mean("hops=4 overlap=strict", "share_of_bound"), Some(80.0));
        assert_eq!(rows.mean("hops=2 overlap=strict", "share_of_bound"), None, "no such point");
    }

    #[test]
    fn a_node_that_only_interferes_is_neither_sensed_nor_received() {
        // Node 2 interferes with node 1, 16 m away; each node senses only its own partner.
        let losses = |interference_m: f64| {
            let text = format!(
                "duration_s = 20\n[medium]\ninterference_range_m = {interference_m}\n{}{}{}",
                [0, 8, 24, 32].map(|x| format!("[[node]]\nx_m = {x}\ny_m = 0\n")).concat(),
                "[[flow]]\nkind = \"tcp-bulk\"\nfrom = 0\nto = 1\n",
                "[[flow]]\nkind = \"tcp-bulk\"\nfrom = 2\nto = 3\n"
            );
            let scenario = Scenario::from_toml("test", &text).expect("a scenario");
            let result = run(&scenario, 11, &Options::default()).expect("it runs");
            [0, 2].map(|node| {
                let node = &result.nodes[node];
                let (Some(missing), Some(retries)) = (node.acks_missing, node.retries) else {
                    panic!("a node of Kinglet's counts both: {node:?}")
                };
                (missing as f64 / node.frames_sent as f64, retries.saturating_sub(missing))
            })
        };
        let (apart, disturbed) = (losses(10.0), losses(20.0));
        // Acknowledgments occasionally collide with data of the same flow.
        assert!(apart[0].0 < 0.1 && disturbed[0].0 > 0.3, "{apart:?} {disturbed:?}");
        // The channel was sensed busy no more often than the own partner makes it.
        assert!(disturbed[0].1 <= apart[0].1, "{apart:?} {disturbed:?}");
    }

    #[test]
    fn the_default_model_is_the_default() {
        assert_eq!(line(Model::Sinr, 3), line_scenario(Effort::Quick, 3, 40));
    }

    /// Goodput of a line whose only hidden senders are two hops apart.
    fn goodput(model: Model, hops: u32) -> f64 {
        let mut scenario = line(model, hops);
        scenario.duration_s = 30.0;
        let result = run(&scenario, 11, &Options::default()).expect("a plain scenario");
        result.flows[0].goodput_kbps.expect("it has begun")
    }

    #[test]
    fn interference_over_two_hops_costs_nothing_over_one_and_much_over_three() {
        assert_eq!(goodput(Model::Farther, 1), goodput(Model::Sinr, 1));
        assert!(goodput(Model::Farther, 3) < goodput(Model::Sinr, 3) * 0.9);
    }
}
