//! The columns that the rows of a sweep can have, known before the first run.

use crate::exit::Failure;
use kinglet_network::run::{Options, Reasons, RunResult, renamed, run};
use kinglet_network::table::Record;
use kinglet_scenario::{Flow, FlowKind, Role, Routing, Scenario, nearest};
use kinglet_sweep::sweep::columns_of;
use serde_json::Value;

/// Parts of a result that are not columns.
const NOT_IN_ROWS: [&str; 6] =
    ["schema", "wall_seconds", "setup_seconds", "node_bytes", "flows", "nodes"];

/// Refuses a column that no run can have, or that has no numbers, with the nearest name. A run may
/// still lack the column: that depends on the scenario, and is known after the run.
pub(crate) fn check(option: &str, column: &str) -> Result<(), Failure> {
    let names = names();
    if names.iter().any(|name| name == column) {
        return Ok(());
    }
    if let Some(new) = renamed::column(column) {
        return Err(Failure::usage(format!("{option} {column}: its name is `{new}` now")));
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let hint = match nearest(column, &names) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "the table of a sweep lists the columns (host/lab/SWEEPS.md)".to_owned(),
    };
    Err(Failure::usage(format!(
        "{option} {column}: `{column}` is not a column with numbers; {hint}"
    )))
}

/// Names of all columns with numbers.
fn names() -> Vec<String> {
    // Plain structs of strings and numbers serialise without fail.
    let result = serde_json::to_value(RunResult::with_every_value()).unwrap_or_default();
    let first = |list: &str| result[list].get(0).cloned().unwrap_or_default();
    let numbers = |columns: Record| {
        let numbers = columns.into_iter().filter(|(_, value)| value.is_number());
        numbers.map(|(name, _)| name).collect::<Vec<_>>()
    };
    let without = |result: &Value, left_out: &dyn Fn(&str, &Value) -> bool| {
        let parts = result.as_object().into_iter().flatten();
        let parts = parts.filter(|(name, value)| !left_out(name, value));
        columns_of(&parts.map(|(name, value)| (name.clone(), value.clone())).collect())
    };
    let mut names = vec!["flow".to_owned()];
    names.extend(numbers(columns_of(&first("flows"))));
    names.extend(numbers(without(&result, &|name, _| NOT_IN_ROWS.contains(&name))));
    let nodes = without(&first("nodes"), &|name, value| {
        ["id", "reasons"].contains(&name) || value.is_array()
    });
    for name in numbers(nodes) {
        names.extend(["mean", "max"].map(|of| format!("nodes.{name}.{of}")));
    }
    names.extend(reasons());
    names
}

/// The columns of reasons, with each routing.
fn reasons() -> Vec<String> {
    let mut all = Reasons::default();
    for &routing in Routing::ALL {
        let scenario =
            Scenario { duration_s: 0.001, routing, registration: true, ..Scenario::default() };
        let mut scenario = scenario.on_line(1, 8.0);
        scenario.nodes[0].role = Role::BorderRouter;
        let servers = [
            FlowKind::HttpServer { node: 1, port: 80 },
            FlowKind::CoapServer { node: 1, port: 5_683, block_bytes: 64 },
        ];
        scenario.flows = servers.map(|kind| Flow::new(0.0, kind)).into();
        // A node that has started has every counter.
        if let Ok(result) = run(&scenario, 1, &Options::default()) {
            all.merge(&result.reasons);
        }
    }
    all.iter().map(|(layer, reason, _)| format!("reasons.{layer}.{reason}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_sweep::sweep::simulate;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn every_number_in_a_row_is_a_known_column() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/scenarios");
        let names = names();
        let mut met = 0;
        let files = ["annotated", "aodv", "cpu", "lossy", "office", "office-asleep", "web"];
        let read =
            |file: &str| Scenario::from_file(&root.join(file).with_extension("toml")).unwrap();
        let rpl = "[topology]\nline = { hops = 2 }\n[net]\nrouting = \"rpl\"\n\
                   [[flow]]\nkind = \"udp-periodic\"\nfrom = 2\nto = 0\nperiod_ms = 100\n";
        let scenarios = files.iter().map(|file| (*file, read(file)));
        let rpl = ("rpl", Scenario::from_toml("rpl.toml", rpl).unwrap());
        for (file, scenario) in scenarios.chain([rpl]) {
            let scenario = Scenario { duration_s: 20.0, ..scenario };
            for row in simulate(&scenario, 1, &AtomicBool::new(false)).unwrap().unwrap() {
                for (name, _) in row.iter().filter(|(_, value)| value.is_number()) {
                    assert!(names.contains(name), "{file}: {name}");
                    met += 1;
                }
            }
        }
        assert!(met > 500, "{met}");
    }

    #[test]
    fn a_misspelt_column_is_refused_with_the_nearest_name() {
        for (column, expected) in [
            ("goodput_kpbs", "did you mean `goodput_kbps`?"),
            ("nodes.rpl.dioss.mean", "did you mean `nodes.rpl.dios.mean`?"),
            ("wall_seconds", "did you mean `sim_seconds`?"),
            ("zebra", "SWEEPS.md"),
            ("nodes.aodv.strays.max", "its name is `nodes.aodv.no_route.max` now"),
            ("timeout_causes.lone", "its name is `timeout_causes.single_segment` now"),
            ("decided", "its name is `outcome_known` now"),
            ("kind", "not a column with numbers"),
        ] {
            let message = check("--effects", column).unwrap_err().message;
            assert!(message.contains(expected), "{column}: {message}");
        }
        for column in ["goodput_kbps", "hops", "latencies_ms.p95", "nodes.duty_cycle.max", "flow"] {
            assert!(check("--by", column).is_ok(), "{column}");
        }
    }
}
