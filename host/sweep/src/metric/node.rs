//! Metrics of a line: its first node has mains power, its last node is the end of the flows, and
//! the other nodes relay.

use kinglet_network::run::{NodeResult, RunResult};

/// Metric of the last node of a line or of its relays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfNode {
    /// Share of time in which the last node's radio is on or starting, %.
    EndRadio,
    /// Mean power of its radio, CPU and flash, mW.
    EndPower,
    /// Its energy for a kilobyte (1000 octets) of the first flow, mJ.
    EndEnergy,
    /// As [`OfNode::EndRadio`], mean of the relays.
    RelayRadio,
    /// As [`OfNode::EndPower`], mean of the relays.
    RelayPower,
    /// As [`OfNode::EndEnergy`], mean of the relays.
    RelayEnergy,
    /// Mean time from the dispatch of a request of the first flow to its complete response, ms.
    Latency,
}

impl OfNode {
    /// Name in results and unit.
    pub const fn name(self) -> (&'static str, &'static str) {
        match self {
            OfNode::EndRadio => ("radio_end", "%"),
            OfNode::EndPower => ("power_end", "mW"),
            OfNode::EndEnergy => ("energy_end", "mJ/kB"),
            OfNode::RelayRadio => ("radio_relays", "%"),
            OfNode::RelayPower => ("power_relays", "mW"),
            OfNode::RelayEnergy => ("energy_relays", "mJ/kB"),
            OfNode::Latency => ("latency_mean", "ms"),
        }
    }

    /// Value in one run; `None` without relays, requests or octets.
    pub fn value(self, run: &RunResult) -> Option<f64> {
        let (end, others) = run.nodes.split_last()?;
        let relays = others.get(1..)?;
        let flow = run.flows.first();
        match self {
            OfNode::EndRadio => Some(radio(end)),
            OfNode::EndPower => Some(end.whole_mj() / run.sim_seconds),
            OfNode::EndEnergy => per_kb(end.whole_mj(), flow?.bytes?),
            OfNode::RelayRadio => mean(relays.iter().map(radio)),
            OfNode::RelayPower => {
                Some(mean(relays.iter().map(NodeResult::whole_mj))? / run.sim_seconds)
            }
            OfNode::RelayEnergy => {
                per_kb(mean(relays.iter().map(NodeResult::whole_mj))?, flow?.bytes?)
            }
            OfNode::Latency => mean(flow?.latencies_ms().iter().copied()),
        }
    }
}

fn radio(node: &NodeResult) -> f64 {
    100.0 * (node.duty_cycle + node.starting)
}

fn per_kb(mj: f64, bytes: u64) -> Option<f64> {
    (bytes > 0).then(|| mj / (bytes as f64 / 1e3))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_network::run::FlowResult;

    #[test]
    fn the_last_node_and_the_relays_are_distinguished() {
        let node = |energy_mj, cpu_mj, duty_cycle, starting| NodeResult {
            energy_mj,
            cpu_mj: Some(cpu_mj),
            duty_cycle,
            starting,
            ..NodeResult::default()
        };
        let flow = FlowResult {
            bytes: Some(4_000),
            latencies_ms: Some(vec![1.0, 2.0, 6.0]),
            ..FlowResult::default()
        };
        let nodes = vec![
            node(900.0, 0.0, 1.0, 0.0),
            node(30.0, 10.0, 0.1, 0.02),
            node(60.0, 20.0, 0.3, 0.02),
            node(6.0, 2.0, 0.01, 0.0),
        ];
        let mut run =
            RunResult { flows: vec![flow], nodes, sim_seconds: 4.0, ..RunResult::default() };
        for (of, value) in [
            (OfNode::EndRadio, 1.0),
            (OfNode::EndPower, 2.0),
            (OfNode::EndEnergy, 2.0),
            (OfNode::RelayRadio, 22.0),
            (OfNode::RelayPower, 15.0),
            (OfNode::RelayEnergy, 15.0),
            (OfNode::Latency, 3.0),
        ] {
            let found = of.value(&run).expect("it is measured");
            assert!((found - value).abs() < 1e-9, "{of:?} {found}");
        }
        run.nodes.drain(1..3);
        assert_eq!(OfNode::RelayRadio.value(&run), None, "nobody relays");
    }
}
