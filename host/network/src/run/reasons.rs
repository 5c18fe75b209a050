//! Reasons for losses of frames and packets: counts by layer and reason.

use kinglet_apps::SnakeCase;
use kinglet_sim::stats::{Counters, Fate};
use kinglet_sim::trace::Look;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Counts by layer and reason. Layers are those of the stack, and `air`: frames for the node that
/// its radio did not receive.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(transparent)]
pub struct Reasons(BTreeMap<String, BTreeMap<String, u64>>);

impl Reasons {
    /// All reasons of a node and its applications, also those that did not occur; with `radio`,
    /// also those of the layer `air`.
    pub fn of(station: &impl Look, radio: Option<&Counters>) -> Self {
        let mut all = Reasons::default();
        station.reasons(&mut |layer, reason, count| {
            all.add(layer, SnakeCase(reason).to_string(), count.into())
        });
        if let Some(radio) = radio {
            let lost = |fate: &Fate| !matches!(fate, Fate::Delivered | Fate::Filtered);
            for fate in Fate::ALL.into_iter().filter(lost) {
                all.add("air", fate.name().replace('-', "_"), radio.mine.of(fate));
            }
            all.add("air", "host_queue_full".to_owned(), radio.host_dropped);
        }
        all
    }

    fn add(&mut self, layer: &str, reason: String, count: u64) {
        let of_layer = self.0.entry(layer.to_owned()).or_default();
        *of_layer.entry(reason).or_default() += count;
    }

    /// Adds the counts of another node.
    pub fn merge(&mut self, other: &Reasons) {
        for (layer, reason, count) in other.iter() {
            self.add(layer, reason.to_owned(), count);
        }
    }

    /// Only the reasons that occurred.
    #[must_use]
    pub fn occurred(&self) -> Self {
        let mut found = Reasons::default();
        for (layer, reason, count) in self.iter().filter(|(.., count)| *count > 0) {
            found.add(layer, reason.to_owned(), count);
        }
        found
    }

    /// Layer, reason and count, in order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, u64)> {
        self.0.iter().flat_map(|(layer, reasons)| {
            reasons.iter().map(move |(reason, count)| (layer.as_str(), reason.as_str(), *count))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Options, run};
    use kinglet_scenario::{Flow, FlowKind, Routing, Scenario};

    #[test]
    fn names_of_variants_and_counters_look_alike() {
        for (name, expected) in [
            ("NoRoute", "no_route"),
            ("Ipv6Fragment", "ipv6_fragment"),
            ("evicted_reassemblies", "evicted_reassemblies"),
        ] {
            assert_eq!(SnakeCase(name).to_string(), expected);
        }
    }

    #[test]
    fn every_reason_of_every_layer_is_in_the_result() {
        fn check<const N: usize>(reasons: &Reasons, layer: &str, names: [&str; N]) {
            let shown: Vec<_> = reasons.iter().filter(|(of, ..)| *of == layer).collect();
            for name in names.map(|name| SnakeCase(name).to_string()) {
                assert!(shown.iter().any(|(_, reason, _)| *reason == name), "{layer}: {name}");
            }
        }
        for routing in [Routing::Mesh, Routing::Rpl, Routing::Aodv] {
            let discovery = true;
            let mut scenario =
                Scenario { duration_s: 5.0, routing, discovery, ..Scenario::default() }
                    .on_line(2, kinglet_scenario::LINE_SPACING_M);
            let coap = FlowKind::CoapServer { node: 1, port: 5_683, block_bytes: 64 };
            scenario.flows = vec![Flow::bulk(2, 0), Flow::new(0.0, coap)];
            let result = run(&scenario, 1, &Options::default()).expect("it can be simulated");
            let reasons = &result.reasons;
            check(reasons, "mac", kinglet_mac::Discard::NAMES);
            check(reasons, "net", kinglet::net::Discard::NAMES);
            check(reasons, "nd", kinglet::nd::Discard::NAMES);
            check(reasons, "tcp", kinglet::tcp::Discard::NAMES);
            check(reasons, "coap", kinglet_coap::Discard::NAMES);
            match routing {
                Routing::Mesh => check(reasons, "mesh", kinglet::mesh::Discard::NAMES),
                Routing::Rpl => check(reasons, "rpl", kinglet::rpl::Discard::NAMES),
                _ => check(reasons, "aodv", kinglet::aodv::Discard::NAMES),
            }
        }
    }

    #[test]
    fn those_that_did_not_occur_can_be_left_out() {
        let mut all = Reasons::default();
        all.add("net", "no_route".to_owned(), 2);
        all.add("net", "too_big".to_owned(), 0);
        let mut twice = all.occurred();
        assert_eq!(twice.iter().collect::<Vec<_>>(), [("net", "no_route", 2)]);
        twice.merge(&all);
        let merged: Vec<_> = twice.iter().collect();
        assert_eq!(merged, [("net", "no_route", 4), ("net", "too_big", 0)]);
    }
}
