//! Networks under attack from outside: checks of tables, flows, radio time and buffers.

#[path = "../../examples/soak/attacked.rs"]
mod lives;

use rayon::prelude::*;

#[test]
fn no_attacker_without_the_key_changes_a_network() {
    let seeds: Vec<u64> = (0..SEEDS).chain(ONCE_WRONG).collect();
    seeds.into_par_iter().for_each(|seed| {
        if let Err(what) = lives::live(seed) {
            panic!("soak -- attacked {seed} 1: {what}");
        }
    });
}

/// Each seed takes some tenths of a second.
const SEEDS: u64 = 48;
/// Seeds of the soak that have shown a fault, which is mended.
const ONCE_WRONG: [u64; 5] = [31_061, 31_251, 31_704, 40_472, 41_064];
