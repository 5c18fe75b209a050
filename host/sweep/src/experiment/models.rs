//! Models of the medium under which claims about hops and about d are checked.
//!
//! The goodput of several hops depends on the interference between nodes, which is unknown for the
//! papers' buildings. So such a claim passes only if it passes under all these models.

use crate::conflict::sharing;
use crate::experiment::{Effort, RSSI_DBM, line_scenario};
use kinglet_scenario::{Link, NodeId, Overlap, Propagation, Scenario};

/// Medium of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
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
    pub const ALL: [Model; 4] = [Model::Sinr, Model::Strict, Model::Louder, Model::Farther];

    /// Name for readers and of the curve.
    pub const fn name(self) -> &'static str {
        match self {
            Model::Sinr => "sinr-ber",
            Model::Strict => "strict overlap",
            Model::Louder => "hidden node 1 dB stronger",
            Model::Farther => "interference over two hops",
        }
    }

    /// Its name in files.
    pub const fn key(self) -> &'static str {
        match self {
            Model::Sinr => "sinr-ber",
            Model::Strict => "strict",
            Model::Louder => "louder",
            Model::Farther => "farther",
        }
    }

    /// End of the points' labels; a point may add more.
    pub const fn suffix(self) -> &'static str {
        match self {
            Model::Sinr => "",
            Model::Strict => " overlap=strict",
            Model::Louder => " slope_db=1",
            Model::Farther => " interference_m=20",
        }
    }

    /// Number of links of such a line that exclude each other: the divisor of B.
    pub fn sharing(self, hops: u32) -> f64 {
        let mut scenario = line_scenario(Effort::Quick, hops, 0);
        self.apply(&mut scenario);
        sharing(&scenario).map_or(f64::NAN, f64::from)
    }

    /// Sets the medium of a line and leaves the rest of the scenario unchanged.
    pub fn apply(self, scenario: &mut Scenario) {
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

/// Links of a line with this number of nodes, each weaker by `slope_db` than the previous one,
/// counted from node 0.
fn slope(nodes: NodeId, slope_db: i8) -> Vec<Link> {
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
    use kinglet_network::run::{Options, run};

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

    #[test]
    fn over_one_hop_nothing_is_lost_whenever_the_run_ends() {
        for seed in 1..=8 {
            let mut scenario = line_scenario(Effort::Quick, 1, 40);
            scenario.duration_s = 5.0 + seed as f64 * 0.13;
            let run = run(&scenario, seed, &Options::default()).expect("a plain scenario");
            let flow = &run.flows[0];
            assert!(flow.segments_sent > Some(80), "{flow:?}");
            assert_eq!(
                (flow.segments_sent, flow.segment_loss),
                (flow.segments_received, Some(0.0))
            );
        }
    }

    #[test]
    fn on_a_unit_disc_capture_is_strict() {
        let loss = |overlap| {
            let mut scenario = line_scenario(Effort::Quick, 3, 0);
            scenario.duration_s = 20.0;
            scenario.medium.overlap = overlap;
            let run = run(&scenario, 1, &Options::default()).expect("a plain scenario");
            (run.events, run.flows[0].bytes, run.flows[0].segments_sent)
        };
        assert_eq!(loss(Overlap::Capture), loss(Overlap::Strict));
        assert_ne!(loss(Overlap::SinrBer), loss(Overlap::Strict));
    }
}
