//! Networks for pairwise tests of features: each possible pair of two features of a scenario occurs
//! in one of a few networks, and every flow of each is checked.
//!
//! All networks have the same places: border router 0, routers 1 to 4 in a line, and node 5, a
//! router or a leaf, next to router 3. A flow between the far router and the border router or its
//! host is an axis. Node 5 sends readings and receives datagrams, and router 2 answers requests.

mod axes;
mod cover;

use axes::{ALWAYS, AXES, FAR, LEAF, REFUSED};
use kinglet_network::run::{FlowResult, RunResult};
use kinglet_scenario::Scenario;
use std::collections::BTreeMap;

/// Flows begin at this time, in seconds. The network has formed by then.
pub const START_S: u32 = 300;
/// Readings of the last batch, which may be in flight at the end.
const LAST_BATCH: u32 = 12;

/// A network: the index of a value for each axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row(Vec<usize>);

impl Row {
    /// Returns a few rows that together contain each pair of values that is possible. Another
    /// `variant`, 0 to 100, combines the same pairs in other rows.
    pub fn pairwise(variant: usize) -> Vec<Row> {
        let sizes = AXES.map(|axis| axis.values.len());
        let is_possible = |row: &Vec<Option<usize>>| {
            let name = |axis: &str| {
                let at = AXES.iter().position(|it| it.name == axis).expect("an axis");
                row[at].map(|value| (value > 0, AXES[at].values[value].name))
            };
            !REFUSED.iter().any(|refused| refused.is_in(name))
        };
        cover::rows(&sizes, variant, is_possible).into_iter().map(Row).collect()
    }

    /// Returns each value as `axis=value`.
    pub fn values(&self) -> impl Iterator<Item = String> {
        let values = AXES.iter().zip(&self.0);
        values.map(|(axis, value)| format!("{}={}", axis.name, axis.values[*value].name))
    }

    /// Returns whether it has this value, written as `axis=value`.
    pub fn has(&self, value: &str) -> bool {
        self.values().any(|it| it == value)
    }

    /// Returns the network as a scenario file.
    pub fn to_toml(&self, duration_s: u32) -> String {
        let chosen = AXES.iter().zip(&self.0).flat_map(|(axis, value)| axis.values[*value].lines);
        let (mut sections, mut tables) = (BTreeMap::<&str, Vec<&str>>::new(), String::new());
        for (section, lines) in chosen.chain(ALWAYS) {
            if section.starts_with('[') {
                tables += &format!("[{section}]\n{lines}\n");
            } else {
                let of = sections.entry(section).or_default();
                for line in lines.lines() {
                    if !of.contains(&line) {
                        of.push(line);
                    }
                }
            }
        }
        let has_leaf = !self.has("leaf=none");
        let is_static = self.has("routing=static") || self.has("routing=discovery");
        let mut text = format!("name = \"features\"\nduration_s = {duration_s}\n");
        for node in 0..=LEAF {
            let (x, y) = if node == LEAF { (24, 6) } else { (node * 8, 0) };
            let role = match node {
                0 => "border-router",
                LEAF if has_leaf => "leaf",
                _ => "router",
            };
            text += &format!("[[node]]\nx_m = {x}\ny_m = {y}\nrole = \"{role}\"\n");
            if role == "leaf" && is_static {
                text += "parent = 3\n";
            }
        }
        for (section, lines) in sections {
            text += &format!("[{section}]\n{}\n", lines.join("\n"));
        }
        let top = if self.has("host=none") { 0 } else { LEAF + 1 };
        let names = [("FAR", FAR), ("TOP", top), ("START", START_S), ("LEAF", LEAF)];
        let named = names.into_iter().fold(tables, |text, (name, value)| {
            text.replace(&format!("= {name}"), &format!("= {value}"))
        });
        text + &named
    }

    /// Returns the network as a scenario.
    ///
    /// # Panics
    /// Never: each row is possible.
    pub fn scenario(&self, duration_s: u32) -> Scenario {
        Scenario::from_toml("features.toml", &self.to_toml(duration_s)).expect("a possible row")
    }
}

/// Returns the delivered share of a flow, 0 to 1: of readings, datagrams or answered requests. A
/// transfer without an end has delivered all if it still goes on. `None` for a server.
fn delivered(flow: &FlowResult) -> Option<f64> {
    if flow.is_dead() || !flow.is_intact() {
        return flow.to.map(|_| 0.0);
    }
    if let Some(readings) = &flow.readings {
        let due = readings.generated.saturating_sub(LAST_BATCH).max(1);
        return Some((f64::from(readings.delivered) / f64::from(due)).min(1.0));
    }
    if let Some(latencies) = &flow.latencies_ms {
        let answered = latencies.len() as f64;
        return Some(answered / (answered + f64::from(flow.failed.unwrap_or(0))).max(1.0));
    }
    match (flow.outcome_known, flow.segments_received) {
        (Some(outcome_known), Some(received)) if outcome_known > 0 => {
            Some(received as f64 / outcome_known as f64)
        }
        _ => flow.goodput_kbps.map(|_| 1.0),
    }
}

/// Returns the index of the flow with the lowest delivered share, and that share, 0 to 1.
pub fn worst(result: &RunResult) -> (usize, f64) {
    let shares = result.flows.iter().map(delivered).enumerate();
    let shares = shares.filter_map(|(place, share)| Some((place, share?)));
    shares.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0, 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axes::Refused;

    #[test]
    fn a_scenario_refuses_what_is_no_row_and_nothing_else() {
        let rows = [0, 1].map(Row::pairwise);
        assert!(rows.iter().all(|rows| rows.len() < 70) && rows[0] != rows[1], "{rows:?}");
        rows.iter()
            .flatten()
            .for_each(|row| assert!(!row.scenario(600).flows.is_empty(), "{row:?}"));
        let indices = |(axis, names): (&str, &[&str])| {
            let at = AXES.iter().position(|it| it.name == axis).expect(axis);
            let is_meant = |value: &usize| match names.is_empty() {
                true => *value > 0,
                false => names.contains(&AXES[at].values[*value].name),
            };
            let values: Vec<_> = (0..AXES[at].values.len()).filter(is_meant).collect();
            assert!(!values.is_empty(), "{axis}");
            values.into_iter().map(move |value| (at, value))
        };
        for Refused([one, other]) in REFUSED {
            for this in indices(one) {
                for that in indices(other) {
                    let mut row = Row(vec![0; AXES.len()]);
                    (row.0[this.0], row.0[that.0]) = (this.1, that.1);
                    let refused = Scenario::from_toml("f.toml", &row.to_toml(600));
                    assert!(refused.is_err(), "{row:?}");
                }
            }
        }
    }
}
