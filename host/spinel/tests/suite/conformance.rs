//! The conformance kit of radio drivers, over lines of a megabit a second.

use crate::wired::Wire;
use kinglet_chips::Coprocessor;
use kinglet_drivers::{Check, Setup};
use kinglet_time::Duration;

const BAUD: u32 = 1_000_000;
/// A command waits for one with a frame on the line, and a report for another one.
const SETUP: Setup = Setup {
    power_steps_dbm: Coprocessor::POWER_STEPS_DBM,
    latency: Duration::from_micros(3_500),
    accuracy: Duration::from_micros(2_000),
    reads_secured: true,
};

fn wire(seed: u64) -> Wire {
    let mut wire = Wire::new(seed, Some(BAUD));
    wire.until_ready();
    wire
}

#[test]
fn random_scenarios_break_no_rule() {
    let failed: Vec<String> = (0..1_000)
        .filter_map(|seed| {
            let result = kinglet_drivers::scenario(&mut wire(seed).board, SETUP, seed);
            result.err().map(|violation| format!("seed {seed}: {violation}"))
        })
        .collect();
    assert!(failed.is_empty(), "{} of 1000:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn directed_scenarios_break_no_rule() {
    for check in Check::ALL {
        // Spinel has no backoff exponents: the coprocessor uses its own.
        if check == Check::Backoff {
            continue;
        }
        for seed in 0..4 {
            if let Err(violation) = check.run(&mut wire(seed).board, SETUP) {
                panic!("{check}, coprocessor {seed}: {violation}");
            }
        }
    }
}
