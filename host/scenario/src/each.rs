//! Flows that exist once for each node.

use super::error::Result;
use super::read::Reader;
use super::{Datagrams, Flow, FlowKind, NodeId, Pace, Role, Scenario, Sensor};
use kinglet_sim::rng::{Purpose, stream};

/// The end of a flow that is each node in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Each {
    From,
    To,
}

impl Each {
    /// Reads the key `each`.
    ///
    /// # Errors
    /// Another value than the name of an end.
    pub(super) fn read(t: &mut Reader<'_>) -> Result<Option<Self>> {
        t.choice_opt("each", &[("from", Each::From), ("to", Each::To)])
    }

    /// Both ends of a flow; that of each node is any node for now.
    ///
    /// # Errors
    /// A node that does not exist; two equal ends.
    pub(super) fn ends(
        each: Option<Self>,
        t: &mut Reader<'_>,
        nodes: usize,
    ) -> Result<(NodeId, NodeId)> {
        let any = |other: NodeId| NodeId::from(other == 0);
        match each {
            None => ends(t, nodes),
            Some(Each::From) => t.node("to", nodes).map(|to| (any(to), to)),
            Some(Each::To) => t.node("from", nodes).map(|from| (from, any(from))),
        }
    }

    /// The flow of each node except the other end and the border router. Periodic datagrams start
    /// at a random time in a period, in whole milliseconds, so that no nodes are in phase.
    pub(super) fn flows(self, flow: &Flow, scenario: &Scenario) -> Vec<Flow> {
        let (from, to) = flow.kind.ends();
        let other = if self == Each::From { to } else { Some(from) };
        let is_end = |place: Role| matches!(place, Role::Router | Role::Leaf | Role::Host);
        let nodes = (0..).zip(&scenario.nodes).filter(|(_, place)| is_end(place.role));
        let of = |node: NodeId| {
            let mut flow = flow.clone();
            if let FlowKind::Udp(Datagrams { pace: Pace::Every(ms), .. }) = flow.kind {
                let phase = stream(scenario.seed, node.into(), Purpose::Application).unit();
                flow.start_s += (phase * f64::from(ms)).floor() / 1e3;
            }
            match &mut flow.kind {
                FlowKind::TcpBulk { from, to, .. }
                | FlowKind::Udp(Datagrams { from, to, .. })
                | FlowKind::Anemometer(Sensor { from, to, .. }) => {
                    *if self == Each::From { from } else { to } = node;
                }
                _ => {}
            }
            flow
        };
        nodes.map(|(node, _)| node).filter(|node| Some(*node) != other).map(of).collect()
    }
}

/// Two different nodes.
///
/// # Errors
/// A node that does not exist; two equal ends.
pub(super) fn ends(t: &mut Reader<'_>, nodes: usize) -> Result<(NodeId, NodeId)> {
    let from = t.node("from", nodes)?;
    let to = t.node("to", nodes)?;
    if from == to {
        return Err(t.error_at("to", "a flow needs two different nodes".to_owned()));
    }
    Ok((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flows(flow: &str) -> std::result::Result<Vec<Flow>, String> {
        let text =
            format!("duration_s = 60\n[topology]\nline = {{ hops = 3 }}\n[wire]\n[[flow]]\n{flow}");
        let scenario = Scenario::from_toml("test", &text).map_err(|error| error.to_string())?;
        Ok(scenario.flows)
    }

    #[test]
    fn each_node_but_the_border_router_and_the_other_end_has_a_flow() {
        let ends = |flow: &str| -> Vec<_> {
            flows(flow).expect("a scenario").iter().map(|flow| flow.kind.ends()).collect()
        };
        let up = ends("kind = \"anemometer\"\neach = \"from\"\nto = 4");
        assert_eq!(up, [1, 2, 3].map(|node| (node, Some(4))));
        let down = ends("kind = \"tcp-bulk\"\neach = \"to\"\nfrom = 2");
        assert_eq!(down, [1, 3].map(|node| (2, Some(node))));
    }

    #[test]
    fn datagrams_start_at_random_times_of_a_period() {
        let text =
            "kind = \"udp-periodic\"\neach = \"from\"\nto = 4\nperiod_ms = 5000\nstart_s = 2";
        let starts: Vec<f64> =
            flows(text).expect("a scenario").iter().map(|flow| flow.start_s).collect();
        assert!(starts.iter().all(|start| (2.0..7.0).contains(start)), "{starts:?}");
        assert!(starts[0] != starts[1] && starts[1] != starts[2], "{starts:?}");
    }

    #[test]
    fn only_flows_with_two_ends_of_one_kind_exist_for_each_node() {
        let error = |flow: &str| flows(flow).expect_err("refused");
        let unknown = error("kind = \"tcp-bulk\"\neach = \"both\"\nto = 4");
        assert!(
            unknown.contains("\"both\" is not known; allowed are \"from\", \"to\""),
            "{unknown}"
        );
        let server = error("kind = \"http-server\"\neach = \"from\"\nnode = 1");
        assert!(server.contains("each"), "{server}");
    }
}
