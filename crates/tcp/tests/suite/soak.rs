//! Whole lives of connections, from opening to silence (`kinglet_testkit::pair`): a sample of what
//! `cargo run --release -p kinglet-network --example soak` does for 10,000 seeds.

use kinglet_tcp::congestion::NewReno;
use kinglet_testkit::pair::{Octets, Report, Seeded, run};
use proptest::prelude::*;

#[test]
fn five_hundred_connections_live_and_end_as_they_should() {
    let mut total = Report::default();
    for seed in 0..500 {
        // On failure: `cargo run --release -p kinglet-network --example soak -- replay SEED`.
        println!("seed {seed}");
        total += run::<NewReno>(&mut Seeded::new(seed), false);
    }
    // The sample must contain enough events.
    assert!(total.whole * 2 > total.connections, "{total:?}");
    assert!(total.fast_opens > 5, "{total:?}");
    assert!(total.reboots > 50 && total.errors > 50 && total.timeouts > 500, "{total:?}");
}

/// Where each segment had its own acknowledgment, a FIN acknowledged no more than the next segment
/// of these. The remaining acknowledgments were lost, and the peer, which sent the last segments
/// again, got a reset.
#[test]
fn a_fin_says_all_that_has_come() {
    #[rustfmt::skip]
    let choices = [
        0, 0, 0, 73, 27, 0, 192, 2, 0, 0, 0, 0, 0, 105, 92, 0, 0, 0, 0, 0, 0, 156, 0, 0, 11, 0,
        232, 0, 76, 17, 0, 0, 0, 192, 1, 0, 26, 0, 0, 76, 59, 156, 42, 0, 0, 0, 0, 26, 0, 0, 83,
        53, 0, 0, 1, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 196, 128, 0, 0, 0, 1, 148, 1, 192, 0, 0, 0, 192, 87, 57, 0, 0, 0, 0, 109, 124,
        0, 0, 0, 0, 0, 0, 0, 0, 176, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 176, 196, 0, 7, 2, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 197, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 197, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        239,
    ];
    run::<NewReno>(&mut Octets(&choices), false);
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        // A rare state occurs once in some hundreds of cases.
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
