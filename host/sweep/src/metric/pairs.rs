//! Metrics of transfers between pairs of nodes.

use super::intervals::jain;
use kinglet_network::run::{Activity, ActivityKind, FlowResult, NodeResult, RunResult};
use kinglet_scenario::Scenario;

/// Metric of consecutive transfers. Goodput and round-trip times are those of completed transfers,
/// as in the paper (II-C).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfPairs {
    /// Mean over transfers, kb/s.
    Goodput,
    /// The same over transfers whose routes have this number of hops.
    GoodputAt(u8),
    /// Mean over transfers of the mean round-trip time of their segments, ms.
    Rtt,
    /// Completed transfers, %.
    Success,
    /// Hops, mean over transfers.
    Hops,
    /// Standard deviation of the hops over transfers.
    HopsSpread,
    /// Transmissions without an acknowledgement, % of all.
    Failed,
    /// Frames given up, % of those given up or acknowledged.
    Dropped,
    /// Links that AODV considers broken, per transfer.
    Repairs,
    /// Expiries of the retransmission timer per transfer.
    Timeouts,
    /// Jain's index of the goodput of transfers that began together, mean over these groups, %.
    Fairness,
    /// Time from the death of a relay until the source has a route without it, mean over the
    /// transfers that lost a relay, s.
    Recovery,
    /// Data segments of a transfer without retransmissions.
    Segments,
    /// Transmissions that followed one of the same node, % of all; a high share means that the node
    /// that had the channel gets it again.
    WonAgain,
}

impl OfPairs {
    /// Name in results and unit.
    pub const fn name(self) -> (&'static str, &'static str) {
        match self {
            OfPairs::Goodput => ("goodput", "kb/s"),
            OfPairs::GoodputAt(1) => ("goodput_hops_1", "kb/s"),
            OfPairs::GoodputAt(2) => ("goodput_hops_2", "kb/s"),
            OfPairs::GoodputAt(3) => ("goodput_hops_3", "kb/s"),
            OfPairs::GoodputAt(4) => ("goodput_hops_4", "kb/s"),
            OfPairs::GoodputAt(5) => ("goodput_hops_5", "kb/s"),
            OfPairs::GoodputAt(_) => ("goodput_hops_6", "kb/s"),
            OfPairs::Rtt => ("rtt", "ms"),
            OfPairs::Success => ("success", "%"),
            OfPairs::Hops => ("hops", "hops"),
            OfPairs::HopsSpread => ("hops_spread", "hops"),
            OfPairs::Failed => ("failed_transmissions", "%"),
            OfPairs::Dropped => ("dropped_frames", "%"),
            OfPairs::Repairs => ("repairs", "per transfer"),
            OfPairs::Timeouts => ("timeouts", "per transfer"),
            OfPairs::Fairness => ("fairness", "%"),
            OfPairs::Recovery => ("recovery", "s"),
            OfPairs::Segments => ("segments", "per transfer"),
            OfPairs::WonAgain => ("won_again", "%"),
        }
    }

    /// Value in one run.
    pub fn value(self, scenario: &Scenario, run: &RunResult) -> Option<f64> {
        let ended = || run.flows.iter().filter(|flow| flow.is_complete());
        let per_transfer = |sum: u64| sum as f64 / run.flows.len().max(1) as f64;
        let of_nodes =
            |count: fn(&NodeResult) -> Option<u64>| run.nodes.iter().filter_map(count).sum::<u64>();
        let percent = |part: u64, all: u64| (all > 0).then(|| part as f64 * 100.0 / all as f64);
        match self {
            OfPairs::Goodput => mean(ended().filter_map(|flow| flow.goodput_kbps)),
            OfPairs::GoodputAt(hops) => {
                let at = |flow: &&FlowResult| flow.hops.map(f64::round) == Some(f64::from(hops));
                mean(ended().filter(at).filter_map(|flow| flow.goodput_kbps))
            }
            OfPairs::Rtt => mean(ended().filter_map(|flow| flow.rtt_ms)),
            OfPairs::Success => percent(ended().count() as u64, run.flows.len() as u64),
            OfPairs::Hops => mean(run.flows.iter().filter_map(|flow| flow.hops)),
            OfPairs::HopsSpread => {
                let hops: Vec<_> = run.flows.iter().filter_map(|flow| flow.hops).collect();
                let middle = mean(hops.iter().copied())?;
                mean(hops.iter().map(|hops| (hops - middle).powi(2))).map(f64::sqrt)
            }
            OfPairs::Failed => {
                percent(of_nodes(|node| node.acks_missing), of_nodes(|node| Some(node.frames_sent)))
            }
            OfPairs::Dropped => {
                let all = of_nodes(|node| Some(node.frames_failed? + node.frames_acked?));
                percent(of_nodes(|node| node.frames_failed), all)
            }
            OfPairs::Repairs => Some(per_transfer(of_nodes(|n| Some(n.aodv?.broken_links.into())))),
            OfPairs::Timeouts => {
                Some(per_transfer(run.flows.iter().filter_map(|flow| flow.timeouts).sum()))
            }
            OfPairs::Fairness => {
                let concurrent = scenario.pairs.map_or(1, |pairs| pairs.concurrent) as usize;
                let groups = run.flows.chunks(concurrent);
                let index =
                    |flows: &[FlowResult]| jain(flows.iter().filter_map(|it| it.goodput_kbps));
                mean(groups.filter_map(index)).map(|share| share * 100.0)
            }
            OfPairs::Recovery => mean(run.flows.iter().filter_map(|flow| flow.recovery_s)),
            OfPairs::Segments => {
                let new = |flow: &FlowResult| Some(flow.segments_sent? - flow.retransmissions?);
                mean(ended().filter_map(new).map(|count| count as f64))
            }
            OfPairs::WonAgain => {
                let sent = |it: &&Activity| it.kind == ActivityKind::Transmit;
                let mut sent: Vec<_> = run.timeline.iter().filter(sent).collect();
                sent.sort_by_key(|it| it.from_us);
                let again = sent.windows(2).filter(|two| two[0].node == two[1].node).count();
                percent(again as u64, sent.len().saturating_sub(1) as u64)
            }
        }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}
