//! Results of one run: a row for each of its flows.

use crate::stats::quantile;
use kinglet_network::run::{self, Options, RunError, RunResult};
use kinglet_network::table::Record;
use kinglet_scenario::Scenario;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// The rows of each finished run, by its key.
pub type Finished = BTreeMap<String, Vec<Record>>;

/// Fields of the program and not of the run, and fields that are processed separately.
const LEFT_OUT: [&str; 8] = [
    "schema",
    "wall_seconds",
    "setup_seconds",
    "node_bytes",
    "flows",
    "nodes",
    "losses",
    "losses_omitted",
];
/// Fields left out of node columns: its number; and its reasons, whose sums are in the run.
const NOT_OF_NODES: [&str; 2] = ["id", "reasons"];

/// Simulates `scenario` with `seed`; `None` if `cancel` became true before the end.
///
/// # Errors
/// [`RunError`]
pub fn simulate(
    scenario: &Scenario,
    seed: u64,
    cancel: &AtomicBool,
) -> Result<Option<Vec<Record>>, RunError> {
    let options = Options { cancel: Some(cancel), ..Options::default() };
    let result = run::run(scenario, seed, &options)?;
    Ok((!cancel.load(Ordering::Relaxed)).then(|| records(&result)))
}

/// Returns a row for each flow, or one without a flow if there are none. A row has the values of
/// the flow in `kinglet sim --json`, then those of the run, then mean and maximum over the nodes.
fn records(result: &RunResult) -> Vec<Record> {
    // Plain structs of strings and numbers always serialise.
    let Ok(Value::Object(result)) = serde_json::to_value(result) else { return Vec::new() };
    let mut beside = Record::new();
    for (name, value) in result.iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str())) {
        flatten(name, value, &mut beside);
    }
    beside.extend(of_nodes(result.get("nodes")));
    let row = |(index, flow): (usize, &Value)| {
        let mut row = Record::new();
        row.insert("flow".to_owned(), index.into());
        row.extend(columns_of(flow));
        row.extend(beside.clone());
        row
    };
    match result.get("flows").and_then(Value::as_array).filter(|flows| !flows.is_empty()) {
        Some(flows) => flows.iter().enumerate().map(row).collect(),
        None => vec![beside],
    }
}

/// Returns the parts of a flow's or node's result, each under its own name.
pub fn columns_of(result: &Value) -> Record {
    let mut columns = Record::new();
    for (name, value) in result.as_object().into_iter().flatten() {
        flatten(name, value, &mut columns);
    }
    columns
}

/// Adds the parts of `value` under dotted names. A list of numbers yields its length, mean, median
/// and 95 % quantile.
fn flatten(name: &str, value: &Value, into: &mut Record) {
    let mut waiting = vec![(name.to_owned(), value)];
    while let Some((name, value)) = waiting.pop() {
        match value {
            Value::Object(parts) => {
                let parts = parts.iter().map(|(part, value)| (format!("{name}.{part}"), value));
                waiting.extend(parts.rev());
            }
            Value::Array(list) => {
                let numbers: Vec<f64> = list.iter().filter_map(Value::as_f64).collect();
                into.insert(format!("{name}.count"), list.len().into());
                let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
                into.insert(format!("{name}.mean"), mean.into());
                for (part, share) in [("median", 0.5), ("p95", 0.95)] {
                    into.insert(format!("{name}.{part}"), quantile(&numbers, share).into());
                }
            }
            value => {
                into.insert(name, value.clone());
            }
        }
    }
}

/// Returns mean and maximum of each number over the nodes that have it.
fn of_nodes(nodes: Option<&Value>) -> Record {
    let mut numbers: Map<String, Value> = Map::new();
    let nodes = nodes.and_then(Value::as_array);
    for node in nodes.into_iter().flatten() {
        let is_counted = |name: &String, part: &Value| {
            !part.is_array() && !NOT_OF_NODES.contains(&name.as_str())
        };
        let parts = node.as_object().into_iter().flatten();
        let parts = parts.filter(|(name, part)| is_counted(name, part));
        let parts: Record = parts.map(|(name, part)| (name.clone(), part.clone())).collect();
        for (name, value) in columns_of(&Value::Object(parts)) {
            if value.is_number() {
                let list = numbers.entry(name).or_insert_with(|| Value::Array(Vec::new()));
                list.as_array_mut().into_iter().for_each(|list| list.push(value.clone()));
            }
        }
    }
    let mut record = Record::new();
    for (name, list) in numbers {
        let list: Vec<f64> =
            list.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        let mean = list.iter().sum::<f64>() / list.len() as f64;
        record.insert(format!("nodes.{name}.mean"), mean.into());
        let highest = list.into_iter().fold(f64::NEG_INFINITY, f64::max);
        record.insert(format!("nodes.{name}.max"), highest.into());
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parts_have_dotted_names_and_lists_come_as_what_they_are_like() {
        let record = columns_of(&json!({"a": {"b": 1, "c": null}, "l": [1.0, 2.0, 6.0]}));
        let expected = json!({
            "a.b": 1, "a.c": null, "l.count": 3, "l.mean": 3.0, "l.median": 2.0, "l.p95": 5.6
        });
        assert_eq!(Value::Object(record), expected);
    }

    #[test]
    fn of_nodes_come_mean_and_highest() {
        let nodes = json!([{"id": 0, "frames_sent": 2}, {"id": 1, "frames_sent": 6}]);
        let expected = json!({"nodes.frames_sent.mean": 4.0, "nodes.frames_sent.max": 6.0});
        assert_eq!(Value::Object(of_nodes(Some(&nodes))), expected);
    }
}
