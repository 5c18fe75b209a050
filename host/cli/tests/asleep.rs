//! The office with duty-cycled nodes behind the gateway: Linux communicates with a mote across five
//! relays whose radios are off most of the time, including the border router's.

mod common;
use common::*;
use kinglet_testkit::namespace::in_namespace;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Node 10, five hops away.
const FAR: &str = "fd6b:696e:676c:7400:0:ff:fe00:b";
const OCTETS: usize = 4_000;

#[test]
fn linux_talks_across_five_relays_that_all_sleep() {
    let tools = [("kill", "-l"), ("curl", "-V"), ("ping", "-V")];
    in_namespace("linux_talks_across_five_relays_that_all_sleep", &tools, talk);
}

fn talk() {
    run(Command::new("ip").args(["link", "set", "lo", "up"]));
    let office = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gateway-asleep.toml");
    let gateway = Gateway::start(&office);
    let row = gateway.announcement.lines().find(|line| line.contains(FAR)).expect("its row");
    assert!(row.trim_start().starts_with("10     5 "), "{row}");
    step("ping", || drop(run(Command::new("ping").args(["-6", "-c", "3", "-W", "10", FAR]))));
    step("a page", page);
    step("4,000 octets by HTTP", || {
        assert_pattern(&curl(FAR, &format!("/bytes/{OCTETS}"), &[]), OCTETS);
    });
    // There is no traffic to it.
    thread::sleep(Duration::from_secs(10));
    let (status, rest) = gateway.interrupt();
    assert_eq!(status.code(), Some(0), "{rest}");
    for node in [0, 1, 2, 3, 4, 10] {
        let on = radio_on(&rest, node);
        assert!(on > 0.2 && on < 25.0, "node {node}: {on} %");
    }
}

/// Share of the total time with the radio of a node on, in per cent, from its row in the summary.
/// Number, role, next hop, radio state, and the share of the last minute precede it.
fn radio_on(summary: &str, node: u32) -> f64 {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let is_row = |words: &Vec<String>| words.first() == Some(&node.to_string()) && words.len() > 6;
    let row = summary.lines().map(words).find(is_row).expect("the row of the node");
    row[5].parse().expect("a share")
}

fn page() {
    let page = String::from_utf8(curl(FAR, "/", &[])).unwrap();
    assert!(page.contains("<h1>Mote 10</h1>"), "{page}");
}
