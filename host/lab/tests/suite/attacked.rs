//! Networks that an attacker from outside hits: tables, flows, radio time and buffers are judged.

#[path = "../../examples/soak/attacked.rs"]
mod lives;

use rayon::prelude::*;

#[test]
fn no_attacker_without_the_key_changes_a_network() {
    (0..SEEDS).into_par_iter().for_each(|seed| {
        if let Err(what) = lives::live(seed) {
            panic!("soak -- attacked {seed} 1: {what}");
        }
    });
}

/// Some tenths of a second each.
const SEEDS: u64 = 48;
