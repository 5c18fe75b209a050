//! Sleepy leaves that have lost their parent: their searches, and what stays at a former parent.

use kinglet::time::{Duration, Instant};
use kinglet_network::build::{Network, network};
use kinglet_scenario::Scenario;
use kinglet_sim::Fault;

/// A parent that returns is found within so many seconds, of which the leaf polls once.
const FOUND: Duration = Duration::from_secs(35);

/// The leaf is the last node.
fn leaf(network: &Network) -> usize {
    network.nodes() - 1
}

/// A border router, a router and a leaf in a line.
fn line(settings: &str, loss: f64, seed: u64) -> Network {
    let text = format!(
        "[medium]\nframe_loss = {loss}\n[[node]]\nrole = \"border-router\"\n[[node]]\nx_m = 8\n\
         [[node]]\nx_m = 16\nrole = \"leaf\"\n[leaf]\nsleep_interval_s = 5\n{settings}"
    );
    let scenario = Scenario::from_toml("line.toml", &text).expect("a scenario");
    network(&scenario, seed).0
}

fn parent(network: &Network) -> Option<u16> {
    network.device(leaf(network)).node().parent()
}

/// Runs until the leaf has a parent or has none; returns the time that took.
fn run_until_parent(network: &mut Network, is_there: bool) -> Duration {
    let since = network.now();
    while parent(network).is_some() != is_there {
        assert!(network.now() - since < Duration::from_secs(300), "{is_there}");
        network.run_until(network.now() + Duration::from_millis(100));
    }
    network.now() - since
}

const ROUTINGS: [&str; 3] = [
    "[net]\nrouting = \"mesh\"\n",
    "[net]\nrouting = \"rpl\"\n",
    "[net]\nrouting = \"rpl\"\nrpl_mode = \"non-storing\"\n",
];

#[test]
fn a_leaf_without_a_parent_sleeps_between_searches_and_finds_one_that_returns() {
    let mut worst = (0.0, Duration::ZERO);
    for settings in ROUTINGS {
        for (loss, seed) in [(0.0, 1), (0.0, 2), (0.1, 3), (0.1, 4)] {
            let mut network = line(settings, loss, seed);
            network.run_until(Instant::from_secs(100));
            assert!(parent(&network).is_some(), "{settings}, seed {seed}");
            network.schedule_fault(network.now(), Fault::Partition(vec![leaf(&network)]));
            run_until_parent(&mut network, false);
            let on = |network: &Network| network.energy(leaf(network)).ledger.total();
            let (before, hour) = (on(&network), Duration::from_secs(3_600));
            network.run_until(network.now() + hour);
            let share = (on(&network) - before) as f64 / hour.as_micros() as f64;
            network.schedule_fault(network.now(), Fault::Partition(Vec::new()));
            let took = run_until_parent(&mut network, true);
            assert!(share < 0.12 && took < FOUND, "{settings}, seed {seed}: {share}, {took:?}");
            worst = (share.max(worst.0), took.max(worst.1));
        }
    }
    println!(
        "worst: radio on for {:.1} % of the time, parent found after {:?}",
        worst.0 * 100.0,
        worst.1
    );
}

/// A border router, two routers and a leaf that hears both; datagrams of the host for the leaf.
const DIAMOND: &str = r#"
[[node]]
role = "border-router"
[[node]]
x_m = 8
[[node]]
y_m = 8
[[node]]
x_m = 8
y_m = 8
role = "leaf"

[leaf]
sleep_interval_s = 20

[net]
routing = "rpl"

[wire]
delay_ms = 5

[[flow]]
kind = "udp-periodic"
from = 4
to = 3
period_ms = 3_000
start_s = 60
"#;

/// Packets for a leaf that wait at its parent when it moves to another one would wait for data
/// requests that never come, for as long as packets live.
#[test]
fn packets_for_a_leaf_do_not_wait_at_its_former_parent() {
    for seed in 1..=4 {
        let scenario = Scenario::from_toml("diamond.toml", DIAMOND).expect("a scenario");
        let mut network = network(&scenario, seed).0;
        network.run_until(Instant::from_secs(100));
        let first = usize::from(parent(&network).expect("there is one")) - 1;
        let waiting = |network: &Network| network.device(first).node().info().net.indirect;
        // The link fails for a moment, as on a busy channel: the leaf leaves, and the former parent
        // receives its notice.
        for (from, to) in [(3, first), (first, 3)] {
            network.schedule_fault(network.now(), Fault::LinkLoss { from, to, loss: 1.0 });
        }
        run_until_parent(&mut network, false);
        let most = waiting(&network);
        run_until_parent(&mut network, true);
        for (from, to) in [(3, first), (first, 3)] {
            network.schedule_fault(network.now(), Fault::LinkLoss { from, to, loss: 0.0 });
        }
        let second = usize::from(parent(&network).expect("there is one")) - 1;
        network.run_until(network.now() + Duration::from_secs(10));
        assert!(second != first && most > 1, "seed {seed}: {first} {second} {most}");
        assert_eq!(waiting(&network), 0, "seed {seed}");
    }
}
