//! Whole lives of connections, from opening to silence (`kinglet_testkit::pair`): a draw of what
//! `cargo run --release -p kinglet-lab --example soak` does for 10,000 seeds.

use kinglet_tcp::congestion::NewReno;
use kinglet_testkit::pair::{Octets, Report, Seeded, run};
use proptest::prelude::*;

#[test]
fn five_hundred_connections_live_and_end_as_they_should() {
    let mut total = Report::default();
    for seed in 0..500 {
        // On failure: `cargo run --release -p kinglet-lab --example soak -- replay SEED`.
        println!("seed {seed}");
        total += run::<NewReno>(&mut Seeded::new(seed), false);
    }
    // The draw must be of lives worth judging.
    assert!(total.whole * 2 > total.connections, "{total:?}");
    assert!(total.fast_opens > 5, "{total:?}");
    assert!(total.reboots > 50 && total.errors > 50 && total.timeouts > 500, "{total:?}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        // One in some hundreds is what a rare state takes to be met.
        cases: 20_000,
        ..Default::default()
    })]

    /// As above, but a failure shrinks to few choices.
    #[test]
    fn any_choices_make_a_life_that_ends_as_it_should(
        choices in proptest::collection::vec(any::<u8>(), 0..1500),
    ) {
        run::<NewReno>(&mut Octets(&choices), false);
    }
}
