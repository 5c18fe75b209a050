//! The office with sleepy leaves behind the gateway: web pages and CoAP resources of a leaf three
//! hops away or more, many at once, while its radio is off most of the time.

mod common;
use common::*;
use kinglet_testkit::namespace::in_namespace;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

const CLIENT: &str = "coap-client-notls";
/// Node 13: a leaf.
const LEAF: &str = "fd6b:696e:676c:7400:0:ff:fe00:e";
const OCTETS: usize = 10_000;

#[test]
fn linux_talks_to_a_leaf_that_sleeps() {
    let tools = [("kill", "-l"), ("curl", "-V"), ("which", CLIENT)];
    in_namespace("linux_talks_to_a_leaf_that_sleeps", &tools, talk);
}

fn talk() {
    run(Command::new("ip").args(["link", "set", "lo", "up"]));
    let office = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gateway-office.toml");
    let gateway = Gateway::start(&office);
    check(&gateway.announcement);
    step("a page", page);
    step("10,000 octets by HTTP", download);
    step("a text by CoAP", text);
    step("10,000 octets by CoAP", blocks);
    step("ten pages at once", || ten(page));
    step("ten texts at once", || ten(text));
    // There is no traffic to it.
    thread::sleep(Duration::from_secs(10));
    let (status, rest) = gateway.interrupt();
    assert_eq!(status.code(), Some(0), "{rest}");
    let (minute, overall) = radio_on(&rest);
    assert!(minute > 0.1 && minute < 15.0 && overall < 25.0, "{minute} %, {overall} %");
}

/// Checks that the announcement says which motes sleep: in its table, and in its proposals. The
/// farthest mote, one of the proposals, is a leaf or not: the mesh forms other routes each time.
fn check(announcement: &str) {
    let of = |node: &str| {
        let is_of = |line: &&str| line.split_whitespace().next() == Some(node);
        announcement.lines().find(is_of).expect("a row")
    };
    assert!(of("13").ends_with("HTTP on port 80, CoAP on port 5683 (sleeps)"), "{announcement}");
    let proposals = announcement.lines().filter_map(|line| line.trim().strip_prefix("# mote "));
    let proposals: Vec<_> = proposals.collect();
    assert!(!proposals.is_empty(), "{announcement}");
    for proposal in proposals {
        let node = proposal.split(',').next().unwrap_or_default();
        let sleeps = of(node).ends_with("(sleeps)");
        assert_eq!(proposal.ends_with(", which sleeps"), sleeps, "{announcement}");
    }
}

/// Radio-on share of the leaf in per cent, for the last minute and in total, from its row in the
/// summary.
fn radio_on(summary: &str) -> (f64, f64) {
    let row = summary.lines().find(|line| line.trim_start().starts_with("13 leaf "));
    let words: Vec<&str> = row.expect("the leaf's row").split_whitespace().collect();
    // Number, role, parent, radio state.
    let share = |at: usize| words[at].parse().expect("a share");
    (share(4), share(5))
}

fn ten(what: fn()) {
    let threads: Vec<_> = (0..10).map(|_| thread::spawn(what)).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// libcoap reports errors on standard error only.
fn coap(path: &str) -> Vec<u8> {
    let mut client = Command::new(CLIENT);
    client.args(["-B", "120", "-b", "512", "-o", "-"]).arg(format!("coap://[{LEAF}]{path}"));
    run(&mut client).stdout
}

fn page() {
    let page = String::from_utf8(curl(LEAF, "/", &[])).unwrap();
    assert!(page.contains("<h1>Mote 13</h1>"), "{page}");
}

fn text() {
    let text = String::from_utf8(coap("/")).unwrap();
    assert!(text.starts_with("Mote 13, up for "), "{text}");
}

fn download() {
    assert_pattern(&curl(LEAF, &format!("/bytes/{OCTETS}"), &[]), OCTETS);
}

fn blocks() {
    assert_pattern(&coap(&format!("/bytes/{OCTETS}")), OCTETS);
}
