//! Results as JSON, CSV and text tables.

use crate::number::{short, with_interval};
use crate::verdict::{Outcome, Verdict};
use kinglet_sweep::experiment::folder::definition;
use kinglet_sweep::experiment::{Effort, Experiment, ExperimentResult};
use kinglet_sweep::row::Row;
use serde::Serialize;
use std::fmt::Write;

/// The results file: experiments with their rows, claims with their outcomes.
#[derive(Serialize)]
pub struct Document<'a> {
    experiments: Vec<ExperimentRows<'a>>,
    claims: &'a [Verdict],
}

#[derive(Serialize)]
struct ExperimentRows<'a> {
    id: &'a str,
    rows: &'a [Row],
}

/// JSON of all results, indented, ending in a newline. Values that are not numbers become null.
pub fn json(results: &[ExperimentResult], claims: &[Verdict]) -> String {
    let experiments = results.iter().map(|r| ExperimentRows { id: r.id, rows: &r.rows }).collect();
    let document = Document { experiments, claims };
    // Plain structs of strings and numbers always serialise.
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

/// One CSV line per row.
pub fn csv(results: &[ExperimentResult]) -> String {
    let mut text = "experiment,label,x,metric,unit,mean,ci95,bound,paper\n".to_owned();
    let optional = |v: Option<f64>| v.map(|v| v.to_string()).unwrap_or_default();
    for result in results {
        for row in &result.rows {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{},{},{},{},{},{},{},{},{}",
                result.id,
                quote(&row.label),
                row.x,
                row.metric,
                row.unit,
                row.mean,
                optional(row.ci95),
                optional(row.bound),
                optional(row.paper)
            );
        }
    }
    text
}

/// One CSV line per row of an experiment that is a folder, with the values of its fields; the first
/// line is a comment with the origin. `None` for other experiments.
pub fn table_csv(result: &ExperimentResult, command: &str, conditions: &str) -> Option<String> {
    let points = definition(result.id)?.planned(Effort::Full);
    let names = points.first()?.fields().map(|(name, _)| name);
    let rest = ["column", "unit", "mean", "ci95", "bound", "paper"];
    let head: Vec<&str> = ["point"].into_iter().chain(names).chain(rest).collect();
    let mut text = format!("# Written by `{command}`: {conditions}\n{}\n", head.join(","));
    let optional = |v: Option<f64>| v.map(|v| v.to_string()).unwrap_or_default();
    for row in &result.rows {
        let Some(point) = points.iter().find(|point| point.name == row.label) else { continue };
        let mut cells = vec![row.label.clone()];
        cells.extend(point.fields().map(|(_, value)| value));
        cells.extend([row.metric.clone(), row.unit.clone(), row.mean.to_string()]);
        cells.extend([row.ci95, row.bound, row.paper].map(optional));
        let cells: Vec<String> = cells.iter().map(|cell| quote(cell)).collect();
        let _ = writeln!(text, "{}", cells.join(","));
    }
    Some(text)
}

fn quote(field: &str) -> String {
    if field.contains([',', '"', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// The rows that can be compared with a bound or the paper (all rows, if there are none), as a text
/// table for each; `experiments` has their titles.
pub fn comparison(results: &[ExperimentResult], experiments: &[Experiment]) -> String {
    let mut text = String::new();
    for result in results {
        let experiment = experiments.iter().find(|it| it.id == result.id);
        let title = experiment.map_or("", |it| it.title);
        let _ = writeln!(text, "\n{} — {title}", result.id);
        let comparable = |row: &&Row| row.paper.is_some() || row.bound.is_some();
        let compared: Vec<&Row> = result.rows.iter().filter(comparable).collect();
        let all = || result.rows.iter().collect();
        text.push_str(&rows_table(if compared.is_empty() { all() } else { compared }));
    }
    text
}

fn rows_table(rows: Vec<&Row>) -> String {
    let head = ["point", "metric", "paper", "bound", "ours"];
    let optional = |v: Option<f64>| v.map_or_else(|| "–".to_owned(), short);
    let body = rows
        .into_iter()
        .map(|row| {
            vec![
                row.label.clone(),
                format!("{}, {}", row.metric.replace('_', " "), row.unit),
                optional(row.paper),
                optional(row.bound),
                with_interval(row),
            ]
        })
        .collect();
    table(&head, body, 2)
}

/// Published value, measured value and outcome of every claim as a text table.
pub fn verdicts(verdicts: &[Verdict]) -> String {
    let head = ["claim", "unit", "paper", "ours", "holds?", ""];
    let optional = |v: Option<f64>| v.map_or_else(|| "–".to_owned(), short);
    let body = verdicts
        .iter()
        .map(|v| {
            let holds = match (v.outcome(), v.expected) {
                (_, false) if v.is_failure() => "OUT OF ITS KNOWN RANGE",
                (Outcome::Holds, _) => "yes",
                (Outcome::DependsOnModel, true) => "DEPENDS ON THE MODEL",
                (Outcome::DependsOnModel, false) => "depends on the model (known)",
                (Outcome::Fails, true) => "NO",
                (Outcome::Fails, false) => "no (known)",
                (Outcome::NotTested, true) => "NOT TESTED",
                (Outcome::NotTested, false) => "not tested",
            };
            let row = [&v.id, &v.unit, &optional(v.paper), &optional(v.ours)];
            let mut row: Vec<String> = row.into_iter().cloned().collect();
            row.push(holds.to_owned());
            row.push(v.reason.clone());
            row
        })
        .collect();
    table(&head, body, 2)
}

/// A text table. Columns from `numbers_from` on are right-aligned, except a last one without a
/// head.
pub(crate) fn table(head: &[&str], body: Vec<Vec<String>>, numbers_from: usize) -> String {
    let mut widths: Vec<usize> = head.iter().map(|h| h.chars().count()).collect();
    for row in &body {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    let head: Vec<String> = head.iter().map(|h| (*h).to_owned()).collect();
    let rule: Vec<String> = widths
        .iter()
        .zip(&head)
        .map(|(w, h)| "─".repeat(if h.is_empty() { 0 } else { *w }))
        .collect();
    for row in [&head, &rule].into_iter().chain(&body) {
        let mut line = String::from(" ");
        for (index, cell) in row.iter().enumerate() {
            let free = head[index].is_empty();
            let pad = if free { 0 } else { widths[index].saturating_sub(cell.chars().count()) };
            let (left, right) = if index >= numbers_from && !free { (pad, 0) } else { (0, pad) };
            line.extend([&" ".repeat(1 + left), cell.as_str(), &" ".repeat(right)]);
            line.push(' ');
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_sweep::experiment::folder;
    use serde_json::Value;

    fn result() -> ExperimentResult {
        let row = Row {
            label: "hops=3, \"a\"".to_owned(),
            x: 3.0,
            metric: "goodput".to_owned(),
            unit: "kb/s".to_owned(),
            mean: 19.5,
            ci95: Some(0.25),
            bound: None,
            paper: Some(19.5),
            series: "measured",
        };
        ExperimentResult { id: "tcplp-hops", rows: vec![row], samples: Vec::new(), seeds: 2 }
    }

    fn claim() -> Verdict {
        Verdict {
            id: "a.b".to_owned(),
            experiment: "tcplp-hops".to_owned(),
            paper: None,
            ours: Some(1.0),
            unit: "ratio".to_owned(),
            holds: Some(false),
            depends_on_model: false,
            failed: vec!["a 1.00, not 2.00 or more".to_owned()],
            reason: "because".to_owned(),
            statement: "hidden".to_owned(),
            place: "§1".to_owned(),
            expected: true,
            known: None,
        }
    }

    #[test]
    fn the_json_has_exactly_the_agreed_keys_in_order() {
        let text = json(&[result()], &[claim()]);
        let value: Value = serde_json::from_str(&text).expect("valid JSON");
        let keys = |v: &Value| v.as_object().expect("object").keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&value), ["experiments", "claims"]);
        assert_eq!(keys(&value["experiments"][0]), ["id", "rows"]);
        let row = ["label", "x", "metric", "unit", "mean", "ci95", "bound", "paper"];
        assert_eq!(keys(&value["experiments"][0]["rows"][0]), row);
        assert!(value["experiments"][0]["rows"][0]["bound"].is_null());
        let claim = [
            "id",
            "experiment",
            "paper",
            "ours",
            "unit",
            "holds",
            "depends_on_model",
            "failed",
            "reason",
        ];
        assert_eq!(keys(&value["claims"][0]), claim);
        assert_eq!(value["claims"][0]["holds"], Value::Bool(false));
    }

    #[test]
    fn a_comparison_has_the_title_of_its_experiment() {
        let experiments: Vec<Experiment> = folder::experiments().collect();
        let title = experiments.iter().find(|it| it.id == "tcplp-hops").expect("listed").title;
        let text = comparison(&[result()], &experiments);
        assert!(text.starts_with(&format!("\ntcplp-hops — {title}\n")), "{text}");
    }

    #[test]
    fn a_table_of_a_folder_has_the_values_of_the_fields_of_each_point() {
        let point = &definition("tcplp-hops").expect("a folder").planned(Effort::Full)[0];
        let mut result = result();
        result.rows[0].label.clone_from(&point.name);
        let text = table_csv(&result, "", "").expect("a folder");
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        let (head, row) = (&lines[1], &lines[2]);
        for (name, value) in point.fields() {
            let place = head.iter().position(|it| *it == name).expect("a column");
            assert_eq!(row[place], value, "{name}");
        }
        assert_eq!((head.len(), row.len()), (point.fields().count() + 7, head.len()));
    }

    #[test]
    fn csv_quotes_what_needs_it() {
        let text = csv(&[result()]);
        assert!(text.contains("tcplp-hops,\"hops=3, \"\"a\"\"\",3,goodput,kb/s,19.5,0.25,,19.5\n"));
    }

    #[test]
    fn a_failed_claim_stands_out_in_the_table() {
        let text = verdicts(&[claim()]);
        assert!(text.contains("NO") && text.contains("because"));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        let depends = Verdict { depends_on_model: true, ..claim() };
        assert!(verdicts(&[depends]).contains("DEPENDS ON THE MODEL"));
    }
}
