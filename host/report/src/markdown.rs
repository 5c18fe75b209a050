//! Results as the Markdown tables of an experiment's folder.

use crate::number::{short, with_interval};
use crate::verdict::{Outcome, Verdict};
use kinglet_sweep::chart::Figure;
use kinglet_sweep::experiment::ExperimentResult;
use kinglet_sweep::row::Row;
use std::fmt::Write;

/// The file `results.md` of an experiment: every row, and every claim that it tests. `command`
/// reproduces it, `conditions` gives the seeds and the commit, and the pictures of `figures` are in
/// the same folder.
pub fn results(
    result: &ExperimentResult,
    figures: &[Figure],
    verdicts: &[Verdict],
    command: &str,
    conditions: &str,
) -> String {
    let mut text = format!("# Results of {}\n\n", result.id);
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "Written by `{command}`, not by hand: {conditions}, means with 95 % intervals. `bound` is \
         what cannot be exceeded or what is predicted, `paper` what the paper gives.\n"
    );
    for (index, figure) in figures.iter().enumerate() {
        let _ = writeln!(text, "![{}]({})\n", figure.title(), picture_name(index));
    }
    for points in alike(&points(result)) {
        text.push_str(&measured(&points));
        text.push('\n');
    }
    let own = verdicts.iter().filter(|verdict| verdict.experiment == result.id);
    text.push_str(&claims(own));
    text
}

/// The file `claims.md` next to the folders of the experiments: every claim of their `results.md`.
/// Takes name and text of each experiment, in alphabetical order.
pub fn index<'a>(folders: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut rows: Vec<String> =
        folders.flat_map(|(id, text)| claims_in(text).map(move |row| indexed(id, &row))).collect();
    rows.sort();
    let head = line(["claim", "experiment", "unit", "paper", "ours", "holds"].into_iter());
    format!(
        "# Claims\n\nWritten by `kinglet lab run ID --tables DIR` from the folders' results, not \
         by hand. The compared values and the unmet bounds stand there.\n\n\
         {head}|---|---|---|--:|--:|---|\n{}",
        rows.concat()
    )
}

/// The rows of the table of claims, cell by cell.
fn claims_in(results: &str) -> impl Iterator<Item = Vec<&str>> {
    let rows = results.lines().skip_while(|line| !line.starts_with(CLAIM)).skip(2);
    rows.map(|row| row.split(" | ").collect())
}

fn indexed(experiment: &str, row: &[&str]) -> String {
    let cell = |place: usize| row.get(place).map_or("", |cell| cell.trim_start_matches("| "));
    let link = format!("[{experiment}]({experiment}/results.md)");
    line([cell(0), &link, cell(1), cell(2), cell(3), cell(4)].into_iter())
}

/// File name of an experiment's figure, in the folder of its results.
pub fn picture_name(index: usize) -> String {
    format!("figure-{}.svg", index + 1)
}

/// A point's label with its rows.
type Point<'a> = (&'a str, Vec<&'a Row>);

/// Rows by point, in the order of the plan.
fn points(result: &ExperimentResult) -> Vec<Point<'_>> {
    let mut points: Vec<Point<'_>> = Vec::new();
    for row in &result.rows {
        match points.iter_mut().find(|(label, _)| *label == row.label) {
            Some((_, rows)) => rows.push(row),
            None => points.push((&row.label, vec![row])),
        }
    }
    points
}

/// Heading of a column: the metric.
fn heading(row: &Row) -> String {
    format!("{}, {}", row.metric.replace('_', " "), row.unit)
}

/// Groups points with the same metrics.
fn alike<'a>(points: &[Point<'a>]) -> Vec<Vec<Point<'a>>> {
    let mut tables: Vec<(Vec<String>, Vec<Point<'a>>)> = Vec::new();
    for point in points {
        let heads: Vec<String> = point.1.iter().map(|row| heading(row)).collect();
        let fits = |table: &&mut (Vec<String>, _)| is_part(&heads, &table.0);
        match tables.iter_mut().find(fits) {
            Some((_, table)) => table.push(point.clone()),
            None => tables.push((heads, vec![point.clone()])),
        }
    }
    tables.into_iter().map(|(_, points)| points).collect()
}

/// Returns true if a table with the columns `of` has a column for each head, and few empty cells.
fn is_part(heads: &[String], of: &[String]) -> bool {
    heads.iter().all(|head| of.contains(head)) && heads.len() * 2 > of.len()
}

fn measured(points: &[Point<'_>]) -> String {
    let Some((_, first)) = points.first() else { return String::new() };
    let heads: Vec<String> = first.iter().map(|row| heading(row)).collect();
    let mut text = line(std::iter::once("point").chain(heads.iter().map(String::as_str)));
    text.push_str(&format!("|---|{}\n", "--:|".repeat(heads.len())));
    for (label, rows) in points {
        let cell = |head: &String| {
            rows.iter().find(|row| heading(row) == *head).map_or_else(String::new, |row| cell(row))
        };
        let cells: Vec<String> = heads.iter().map(cell).collect();
        let label = format!("`{label}`");
        text.push_str(&line(
            std::iter::once(label.as_str()).chain(cells.iter().map(String::as_str)),
        ));
    }
    text
}

fn cell(row: &Row) -> String {
    let compared = [("bound", row.bound), ("paper", row.paper)];
    let known = compared.iter().filter_map(|(name, value)| Some((name, (*value)?)));
    let known: Vec<String> =
        known.map(|(name, value)| format!("{name} {}", short(value))).collect();
    let value = with_interval(row);
    if known.is_empty() { value } else { format!("{value} ({})", known.join(", ")) }
}

/// Beginning of the table of claims.
const CLAIM: &str = "| claim |";

fn claims<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> String {
    let mut text = line(["claim", "unit", "paper", "ours", "holds", "compared"].into_iter());
    text.push_str("|---|---|--:|--:|---|---|\n");
    let optional = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), short);
    for verdict in verdicts {
        let holds = match (verdict.outcome(), verdict.expected) {
            (Outcome::Holds, _) => "yes",
            (Outcome::DependsOnModel, true) => "**depends on the model**",
            (Outcome::DependsOnModel, false) => "depends on the model, known",
            (Outcome::Fails, true) => "**no**",
            (Outcome::Fails, false) => "no, known",
            (Outcome::NotTested, _) => "not tested",
        };
        let (id, paper, ours) =
            (format!("`{}`", verdict.id), optional(verdict.paper), optional(verdict.ours));
        let reason = verdict.reason.replace('|', "\\|");
        text.push_str(&line([&id, &verdict.unit, &paper, &ours, holds, &reason].into_iter()));
    }
    text
}

fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let cells: Vec<&str> = cells.collect();
    format!("| {} |\n", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_sweep::chart::curves;

    fn row(label: &str, metric: &str, mean: f64) -> Row {
        Row {
            label: label.to_owned(),
            x: 0.0,
            metric: metric.to_owned(),
            unit: "kb/s".to_owned(),
            mean,
            ci95: Some(0.5),
            bound: None,
            paper: None,
            series: "",
        }
    }

    fn verdict(holds: Option<bool>, expected: bool) -> Verdict {
        Verdict {
            id: "a.b".to_owned(),
            experiment: "tcplp-hops".to_owned(),
            paper: None,
            ours: Some(2.0),
            unit: "ratio".to_owned(),
            holds,
            depends_on_model: false,
            failed: Vec::new(),
            reason: "3 | 4".to_owned(),
            statement: String::new(),
            place: String::new(),
            expected,
            known: None,
        }
    }

    #[test]
    fn points_with_the_same_metrics_share_a_table_and_every_claim_is_in_it() {
        let bounded = Row { bound: Some(20.0), paper: Some(9.0), ..row("hops=1", "goodput", 12.0) };
        let rows = vec![
            bounded,
            row("hops=1", "share_of_bound", 0.6),
            row("bound", "cycle_time", 7.0),
            row("hops=2", "goodput", 8.0),
            row("hops=2", "share_of_bound", 0.5),
        ];
        let result = ExperimentResult { id: "tcplp-hops", rows, samples: Vec::new(), seeds: 5 };
        let other = Verdict { experiment: "tcplp-mss".to_owned(), ..verdict(Some(true), true) };
        let depends = Verdict { depends_on_model: true, ..verdict(Some(false), false) };
        let verdicts = [verdict(Some(false), true), verdict(None, false), depends, other];
        let figures = vec![curves(&result.rows, "goodput", "Goodput", "hops").expect("rows")];
        let (command, seeds) = ("kinglet lab run tcplp-hops", "seeds 1 to 5");
        let text = results(&result, &figures, &verdicts, command, seeds);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[2].contains("`kinglet lab run tcplp-hops`") && lines[2].contains("seeds 1 to 5")
        );
        assert_eq!(
            lines[4..],
            [
                "![Goodput](figure-1.svg)",
                "",
                "| point | goodput, kb/s | share of bound, kb/s |",
                "|---|--:|--:|",
                "| `hops=1` | 12.0 ± 0.50 (bound 20.0, paper 9.00) | 0.60 ± 0.50 |",
                "| `hops=2` | 8.00 ± 0.50 | 0.50 ± 0.50 |",
                "",
                "| point | cycle time, kb/s |",
                "|---|--:|",
                "| `bound` | 7.00 ± 0.50 |",
                "",
                "| claim | unit | paper | ours | holds | compared |",
                "|---|---|--:|--:|---|---|",
                "| `a.b` | ratio | – | 2.00 | **no** | 3 \\| 4 |",
                "| `a.b` | ratio | – | 2.00 | not tested | 3 \\| 4 |",
                "| `a.b` | ratio | – | 2.00 | depends on the model, known | 3 \\| 4 |",
            ]
        );
        let index = index([("tcplp-mss", text.as_str()), ("tcplp-hops", &text)].into_iter());
        let lines: Vec<&str> = index.lines().skip(6).collect();
        let row =
            |id, holds| format!("| `a.b` | [{id}]({id}/results.md) | ratio | – | 2.00 | {holds} |");
        let both = |id| ["**no**", "depends on the model, known", "not tested"].map(|h| row(id, h));
        assert_eq!(lines, [both("tcplp-hops"), both("tcplp-mss")].concat());
    }
}
