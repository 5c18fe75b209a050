//! Links to neighbours that do not respond, or whose clock is inaccurate.

use kinglet_network::run::{Options, RunResult, run};
use kinglet_scenario::Scenario;

/// Goodput in kb/s of a transfer from the host to one mote from `start_s` on, for 100 seconds plus
/// `more_s`. If `dead`, two datagrams a second go to another mote, which is off.
fn goodput(settings: &str, dead: bool, more_s: u32, seed: u64) -> f64 {
    let result = beside(settings, dead, 160 + more_s, None, seed);
    result.flows[0].goodput_kbps.expect("octets arrive")
}

/// Runs the network of [`goodput`] with a mote that is off until `back_s`.
fn beside(
    settings: &str,
    dead: bool,
    duration_s: u32,
    back_s: Option<u32>,
    seed: u64,
) -> RunResult {
    let back = back_s.map_or(String::new(), |at| format!("to_s = {at}\n"));
    let datagrams = "[[flow]]\nkind = \"udp-periodic\"\nfrom = 3\nto = 2\nperiod_ms = 500\n\
                     start_s = 60\n";
    let text = format!(
        "duration_s = {duration_s}\n{settings}[[node]]\nrole = \"border-router\"\n[[node]]\n\
         x_m = 5\n[[node]]\ny_m = 5\n[wire]\ndelay_ms = 5\n[[flow]]\n\
         kind = \"tcp-bulk\"\nfrom = 3\nto = 1\n\
         start_s = 60\n{}[[fault]]\nkind = \"partition\"\nnodes = [2]\nfrom_s = 59\n{back}",
        if dead { datagrams } else { "" },
    );
    let scenario = Scenario::from_toml("dead.toml", &text).expect("a scenario");
    run(&scenario, seed, &Options::default()).expect("it can be simulated")
}

#[test]
fn a_mote_that_is_off_costs_others_no_more_than_a_tenth() {
    for routing in ["static", "mesh", "rpl", "aodv"] {
        let settings = format!("[net]\nrouting = \"{routing}\"\n");
        for seed in [6, 7] {
            let [alone, beside] = [false, true].map(|dead| goodput(&settings, dead, 0, seed));
            assert!(beside > 0.9 * alone, "{routing}, seed {seed}: {beside} instead of {alone}");
        }
    }
}

#[test]
fn a_silent_mote_among_sleeping_nodes_costs_a_fifth_of_the_goodput_at_most() {
    let settings = "[radio]\nprofile = \"nrf52840\"\n[wake]\n";
    let [alone, beside] = [false, true].map(|dead| goodput(settings, dead, 240, 6));
    assert!(beside > 0.8 * alone, "{beside} instead of {alone}");
}

#[test]
fn a_mote_that_is_back_and_only_listens_gets_its_packets_again() {
    let asleep = "[radio]\nprofile = \"nrf52840\"\n[wake]\n";
    // Of a hundred in 50 seconds; if all nodes are duty-cycled, it is probed every few seconds.
    for (settings, least) in [("", 98), (asleep, 70)] {
        for seed in [41, 42] {
            let result = beside(settings, true, 160, Some(110), seed);
            let received = result.flows[1].segments_received;
            assert!(received >= Some(least), "{settings:?}, seed {seed}: {received:?}");
        }
    }
}

#[test]
fn a_leaf_whose_clock_is_less_exact_than_it_allows_for_gets_its_packets_at_samples() {
    for drift_ppm in [0, 40, 100, 200, 250] {
        for seed in [14, 15, 16] {
            let text = format!(
                "duration_s = 600\n[radio]\nprofile = \"nrf52840\"\ndrift_ppm = {drift_ppm}\n\
                 [[node]]\n[[node]]\nx_m = 5\nrole = \"leaf\"\n[leaf]\ncsl_period_ms = 1_000\n\
                 [[flow]]\nkind = \"udp-periodic\"\nfrom = 0\nto = 1\nperiod_ms = 10_000\n"
            );
            let scenario = Scenario::from_toml("clocks.toml", &text).expect("a scenario");
            let result = run(&scenario, seed, &Options::default()).expect("it can be simulated");
            let received = result.flows[0].segments_received;
            assert!(received >= Some(59), "{drift_ppm} ppm, seed {seed}: {received:?} of 60");
        }
    }
}

/// Relays that search for each other on eleven channels are deaf for ten seconds, so that the
/// source takes its next hop for silent.
#[test]
fn a_transfer_over_relays_that_search_for_each_other_is_only_delayed() {
    let plan = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/bf-cross/plan.toml");
    let text = std::fs::read_to_string(plan).expect("the plan of the experiment");
    let scenario = Scenario::from_toml(plan, &text).expect("a scenario");
    for seed in [1_000_001, 1_000_003, 1_000_005, 1_000_009, 1_000_017, 1_000_019] {
        let result = run(&scenario, seed, &Options::default()).expect("it can be simulated");
        let received = result.flows[0].segments_received;
        assert!(received >= Some(2_310), "seed {seed}: {received:?} of 2,331");
    }
}
