//! Results that are recorded in `experiments/`, for the tests of this crate and of the experiments.

use super::{ExperimentResult, Row};
use std::fs;
use std::path::Path;

/// The folder of all experiments.
pub(super) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");

/// The rows of `results.csv`, which were recorded with all points.
pub(super) fn recorded(id: &'static str) -> ExperimentResult {
    let text = fs::read_to_string(Path::new(ROOT).join(id).join("results.csv")).expect("results");
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    let heads = reader.headers().expect("a head").clone();
    let rows = reader.records().map(|record| {
        let record = record.expect("a row");
        let at = |head: &str| {
            let place = heads.iter().position(|it| it == head).expect("a column");
            record.get(place).expect("a cell").to_owned()
        };
        let number = |head: &str| at(head).parse().ok();
        Row {
            label: at("point"),
            x: 0.0,
            metric: at("column"),
            unit: at("unit"),
            mean: number("mean").expect("a number"),
            ci95: number("ci95"),
            bound: number("bound"),
            paper: number("paper"),
            series: "",
        }
    });
    let (_, seeds) = text.split_once("seeds ").expect("seeds in the head");
    let mut seeds = seeds.split([' ', ',', '\n']);
    let [first, last] = [seeds.next(), seeds.nth(1)].map(|it| it?.parse::<u32>().ok());
    let seeds = last.expect("the last seed") - first.expect("the first seed") + 1;
    ExperimentResult { id, rows: rows.collect(), samples: Vec::new(), seeds }
}
