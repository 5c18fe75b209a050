//! Claims of recorded results.

use kinglet_lab::claims;
use kinglet_lab::experiment::all;
use kinglet_report::markdown;
use kinglet_report::verdict::Outcome;
use kinglet_sweep::experiment::ExperimentResult;
use kinglet_sweep::experiment::folder::definition;
use kinglet_sweep::row::Row;
use rows::{ROOT, recorded};
use std::fs;
use std::path::Path;

#[path = "../../../sweep/src/experiment/folder/recorded.rs"]
mod rows;

/// The recorded results lead to the recorded verdicts: so no bound and no expression can change
/// unnoticed.
#[test]
fn recorded_results_are_judged_as_recorded() {
    let in_folders = all().iter().filter(|it| definition(it.id).is_some());
    for id in in_folders.map(|it| it.id) {
        let path = Path::new(ROOT).join(id).join("results.md");
        let text = fs::read_to_string(&path).expect("results");
        let result = recorded(id);
        let tables =
            markdown::results(&result, &[], &claims::check(std::slice::from_ref(&result)), "", "");
        let (_, verdicts) = tables.split_once("| claim |").expect("a table of claims");
        let (_, written) = text.split_once("| claim |").expect("a table of claims");
        assert_eq!(verdicts, written, "{path:?}");
    }
}

#[test]
fn a_claim_depends_on_the_model_if_it_fails_under_one() {
    let mut result = recorded("tcplp-hops");
    let row =
        |row: &&mut Row| row.label == "hops=2 overlap=strict" && row.metric == "share_of_bound";
    result.rows.iter_mut().find(row).expect("it is recorded").mean = 102.0;
    let verdicts = claims::check(std::slice::from_ref(&result));
    let verdict = verdicts.iter().find(|it| it.id == "tcplp.sec7.2.bound").expect("a claim");
    assert_eq!(verdict.outcome(), Outcome::DependsOnModel);
    assert!(verdict.failed.iter().all(|failed| failed.starts_with("strict overlap: ")));
}
