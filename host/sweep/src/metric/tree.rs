//! Metrics of many flows that share one tree.

use super::intervals::jain;
use crate::stats::{quantile, rank_correlation};
use kinglet_network::run::{FlowResult, NodeResult, RunResult};
use kinglet_scenario::{NodeId, Role, Scenario};

/// Metric of a network with a tree. Its flows carry readings or datagrams between nodes and the
/// host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfTree {
    /// Received packets per minute, mean over nodes.
    Throughput,
    /// The same of the node with the lowest number.
    ThroughputMin,
    /// The same, mean over nodes at this number of hops.
    ThroughputAt(u8),
    /// Standard deviation of the throughput over nodes, % of the mean.
    Variation,
    /// Jain's index of the throughput over nodes, %.
    Fairness,
    /// Rank correlation of throughput and hops over nodes.
    ThroughputByHops,
    /// Rank correlation of throughput and round-trip time over nodes.
    ThroughputByRtt,
    /// Round-trip time measured by the sender, mean over nodes; ms.
    Rtt,
    /// Rank correlation of round-trip time and hops over nodes.
    RttByHops,
    /// Lost packets as a share of those sent, mean over nodes; %.
    Loss,
    /// Standard deviation of that over nodes, percentage points.
    LossSpread,
    /// Received packets as a share of those that TCP had accepted, without those in flight; %.
    Delivered,
    /// Connections opened by senders, mean over nodes.
    Connections,
    /// TCP segments sent per connection.
    SegmentsPerConnection,
    /// TCP segments sent in relation to those sent for the first time.
    TcpEtx,
    /// TCP segments sent per received packet.
    Overhead,
    /// Frames sent per acknowledged frame: median over nodes.
    LinkEtx,
    /// The same: the worst node.
    LinkEtxWorst,
    /// Packets dropped because a node's queue was full, mean over nodes except the border router;
    /// per hour.
    QueueLoss,
    /// Share of these drops at the three nodes with the most; %.
    QueueLossConcentrated,
    /// Queue drops of the border router, per hour.
    BorderLoss,
    /// Share of the border router in all queue drops; %.
    BorderShare,
    /// RPL messages per node and hour.
    Control,
    /// Parent changes per node and hour, without the first choice of a parent.
    ParentChanges,
    /// Hops of the farthest node, mean over time.
    Depth,
}

impl OfTree {
    /// Name in results and unit.
    pub const fn name(self) -> (&'static str, &'static str) {
        match self {
            OfTree::Throughput => ("throughput", "packets/min"),
            OfTree::ThroughputMin => ("throughput_min", "packets/min"),
            OfTree::ThroughputAt(1) => ("throughput_hops_1", "packets/min"),
            OfTree::ThroughputAt(2) => ("throughput_hops_2", "packets/min"),
            OfTree::ThroughputAt(3) => ("throughput_hops_3", "packets/min"),
            OfTree::ThroughputAt(4) => ("throughput_hops_4", "packets/min"),
            OfTree::ThroughputAt(5) => ("throughput_hops_5", "packets/min"),
            OfTree::ThroughputAt(6) => ("throughput_hops_6", "packets/min"),
            OfTree::ThroughputAt(_) => ("throughput_hops_7", "packets/min"),
            OfTree::Variation => ("variation", "%"),
            OfTree::Fairness => ("fairness", "%"),
            OfTree::ThroughputByHops => ("throughput_by_hops", "rho"),
            OfTree::ThroughputByRtt => ("throughput_by_rtt", "rho"),
            OfTree::Rtt => ("rtt", "ms"),
            OfTree::RttByHops => ("rtt_by_hops", "rho"),
            OfTree::Loss => ("loss", "%"),
            OfTree::LossSpread => ("loss_spread", "points"),
            OfTree::Delivered => ("delivered", "%"),
            OfTree::Connections => ("connections", "per node"),
            OfTree::SegmentsPerConnection => ("segments", "per connection"),
            OfTree::TcpEtx => ("tcp_etx", "per segment"),
            OfTree::Overhead => ("overhead", "per packet"),
            OfTree::LinkEtx => ("link_etx", "per frame"),
            OfTree::LinkEtxWorst => ("link_etx_worst", "per frame"),
            OfTree::QueueLoss => ("queue_loss", "per hour"),
            OfTree::QueueLossConcentrated => ("queue_loss_of_three", "%"),
            OfTree::BorderLoss => ("border_loss", "per hour"),
            OfTree::BorderShare => ("border_share", "%"),
            OfTree::Control => ("control", "per hour"),
            OfTree::ParentChanges => ("parent_changes", "per hour"),
            OfTree::Depth => ("depth", "hops"),
        }
    }

    /// Value in one run.
    pub fn value(self, scenario: &Scenario, run: &RunResult) -> Option<f64> {
        let tree = Tree { scenario, run };
        let rates = || run.flows.iter().map(throughput);
        let losses = || run.flows.iter().map(loss).collect::<Vec<_>>();
        match self {
            OfTree::Throughput => mean(rates()),
            OfTree::ThroughputMin => rates().reduce(f64::min),
            OfTree::ThroughputAt(hops) => {
                let at = |(away, rate)| (f64::round(away) as u8 == hops).then_some(rate);
                mean(tree.over_hops(|flow| Some(throughput(flow))).into_iter().filter_map(at))
            }
            OfTree::Variation => {
                Some(deviation(&rates().collect::<Vec<_>>())? / mean(rates())? * 1e2)
            }
            OfTree::Fairness => Some(jain(rates())? * 100.0),
            OfTree::ThroughputByHops => {
                rank_correlation(&tree.over_hops(|flow| Some(throughput(flow))))
            }
            OfTree::RttByHops => rank_correlation(&tree.over_hops(|flow| flow.rtt_ms)),
            OfTree::ThroughputByRtt => {
                let both = |flow: &FlowResult| Some((flow.rtt_ms?, throughput(flow)));
                rank_correlation(&run.flows.iter().filter_map(both).collect::<Vec<_>>())
            }
            OfTree::Rtt => mean(run.flows.iter().filter_map(|flow| flow.rtt_ms)),
            OfTree::Loss => mean(losses().into_iter()),
            OfTree::LossSpread => deviation(&losses()),
            OfTree::Delivered => delivered(run),
            OfTree::Connections => mean(run.flows.iter().filter_map(connections)),
            OfTree::TcpEtx | OfTree::Overhead | OfTree::SegmentsPerConnection => {
                let sum = |count: &dyn Fn(&FlowResult) -> Option<f64>| {
                    run.flows.iter().filter_map(count).sum::<f64>()
                };
                let sent = sum(&|flow| Some(flow.segments_sent? as f64));
                let per = match self {
                    OfTree::SegmentsPerConnection => sum(&connections),
                    OfTree::TcpEtx => sent - sum(&|flow| Some(flow.retransmissions? as f64)),
                    _ => sum(&|flow| Some(arrived(flow))),
                };
                (per > 0.0).then(|| sent / per)
            }
            _ => tree.of_nodes(self),
        }
    }
}

/// A run and its scenario.
struct Tree<'a> {
    scenario: &'a Scenario,
    run: &'a RunResult,
}

impl Tree<'_> {
    fn is_border(&self, node: &NodeResult) -> bool {
        self.scenario.nodes[node.id as usize].role == Role::BorderRouter
    }

    fn hops(&self, node: NodeId) -> Option<f64> {
        self.run.nodes.get(node as usize)?.rpl?.hops
    }

    /// Hops of each flow's end that is a node, with a value of the flow.
    fn over_hops(&self, value: impl Fn(&FlowResult) -> Option<f64>) -> Vec<(f64, f64)> {
        let host = self.scenario.host();
        let flows = self.run.flows.iter();
        let both = |flow: &FlowResult| {
            let node = if flow.from == host { flow.to? } else { flow.from };
            Some((self.hops(node)?, value(flow)?))
        };
        flows.filter_map(both).collect()
    }

    fn of_nodes(&self, metric: OfTree) -> Option<f64> {
        let nodes = || self.run.nodes.iter().filter(|node| !self.is_border(node));
        let per_hour = |count: f64| count * 3_600.0 / self.run.sim_seconds;
        let drops = |node: &NodeResult| node.queue_drops.unwrap_or(0) as f64;
        let at_border =
            || self.run.nodes.iter().filter(|n| self.is_border(n)).map(drops).sum::<f64>();
        let elsewhere = || nodes().map(drops).sum::<f64>();
        let etx = || {
            let of = |node: &NodeResult| {
                Some(node.frames_sent as f64 / node.frames_acked?.max(1) as f64)
            };
            nodes().filter_map(of).collect::<Vec<_>>()
        };
        match metric {
            OfTree::LinkEtx => quantile(&etx(), 0.5),
            OfTree::LinkEtxWorst => quantile(&etx(), 1.0),
            OfTree::QueueLoss => mean(nodes().map(|node| per_hour(drops(node)))),
            OfTree::QueueLossConcentrated => {
                let mut all: Vec<_> = nodes().map(drops).collect();
                all.sort_by(|a, b| b.total_cmp(a));
                let most: f64 = all.iter().take(3).sum();
                (elsewhere() > 0.0).then(|| most / elsewhere() * 100.0)
            }
            OfTree::BorderLoss => Some(per_hour(at_border())),
            OfTree::BorderShare => {
                let all = at_border() + elsewhere();
                (all > 0.0).then(|| at_border() / all * 100.0)
            }
            OfTree::Control => {
                mean(nodes().filter_map(|node| Some(per_hour(f64::from(node.rpl?.messages)))))
            }
            OfTree::ParentChanges => mean(nodes().filter_map(|node| {
                Some(per_hour(f64::from(node.rpl?.parent_changes.saturating_sub(1))))
            })),
            OfTree::Depth => nodes().filter_map(|node| node.rpl?.hops).reduce(f64::max),
            _ => None,
        }
    }
}

fn connections(flow: &FlowResult) -> Option<f64> {
    flow.connections.map(f64::from)
}

/// Received packets.
fn arrived(flow: &FlowResult) -> f64 {
    match &flow.readings {
        Some(readings) => f64::from(readings.delivered),
        None => flow.segments_received.unwrap_or(0) as f64,
    }
}

/// The same per minute.
fn throughput(flow: &FlowResult) -> f64 {
    arrived(flow) * 60.0 / flow.seconds.unwrap_or(0.0).max(1.0)
}

/// Lost packets, %.
fn loss(flow: &FlowResult) -> f64 {
    (1.0 - arrived(flow) / flow.segments_sent.unwrap_or(0).max(1) as f64) * 100.0
}

/// Share of received readings among those that TCP had accepted; readings dropped earlier never
/// reached TCP.
fn delivered(run: &RunResult) -> Option<f64> {
    let readings = || run.flows.iter().filter_map(|flow| flow.readings.as_ref());
    let arrived: f64 = readings().map(|r| f64::from(r.delivered)).sum();
    let lost: f64 = readings().map(|r| f64::from(r.lost.saturating_sub(r.dropped))).sum();
    (arrived > 0.0).then(|| arrived / (arrived + lost) * 100.0)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values.iter().copied())?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / values.len() as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_network::run::{Readings, RplResult};
    use kinglet_scenario::Building;

    /// Four flows from nodes one to four hops away, of 60, 30, 30 and 0 packets in a minute.
    fn run() -> RunResult {
        let flow = |(from, delivered, rtt_ms)| FlowResult {
            from,
            to: Some(31),
            seconds: Some(60.0),
            segments_sent: Some(60),
            retransmissions: Some(20),
            rtt_ms: Some(rtt_ms),
            readings: Some(Readings { delivered, lost: 10, dropped: 10, ..Readings::default() }),
            ..FlowResult::default()
        };
        let node = |(id, queue_drops)| NodeResult {
            id,
            queue_drops: Some(queue_drops),
            frames_sent: 100 + u64::from(id),
            frames_acked: Some(100),
            rpl: Some(RplResult {
                hops: Some(f64::from(id) + 1.0),
                messages: 5,
                parent_changes: 2,
                ..RplResult::default()
            }),
            ..NodeResult::default()
        };
        RunResult {
            flows: [(0, 60, 10.0), (1, 30, 20.0), (2, 30, 30.0), (3, 0, 40.0)].map(flow).into(),
            nodes: [(0, 4), (1, 3), (2, 2), (3, 1)].map(node).into(),
            sim_seconds: 3_600.0,
            ..RunResult::default()
        }
    }

    #[test]
    fn flows_are_compared_with_the_hops_of_their_nodes() {
        let (scenario, run) = (Scenario::building(Building::Middle, 1), run());
        for (metric, value) in [
            (OfTree::Throughput, 30.0),
            (OfTree::ThroughputMin, 0.0),
            (OfTree::ThroughputAt(2), 30.0),
            // 120² / (4 × 5400).
            (OfTree::Fairness, 200.0 / 3.0),
            (OfTree::TcpEtx, 1.5),
            (OfTree::Overhead, 2.0),
            (OfTree::RttByHops, 1.0),
            (OfTree::Delivered, 100.0),
            (OfTree::Depth, 4.0),
            (OfTree::QueueLoss, 2.5),
            (OfTree::QueueLossConcentrated, 90.0),
            (OfTree::Control, 5.0),
            (OfTree::ParentChanges, 1.0),
            (OfTree::LinkEtxWorst, 1.03),
        ] {
            let found = metric.value(&scenario, &run).expect("it is measured");
            assert!((found - value).abs() < 1e-9, "{metric:?} {found}");
        }
        let falls = OfTree::ThroughputByHops.value(&scenario, &run).expect("it is measured");
        assert!((-1.0..-0.9).contains(&falls), "{falls}");
    }
}
