//! A border router with nodes as processes: Linux reaches them, whatever happens to the TUN device.

mod common;
use common::*;
use kinglet_testkit::namespace::in_namespace;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Time within which a network has formed, or a device is healed, on a loaded machine.
const LIMIT: Duration = Duration::from_secs(30);
/// Octets that the echo server of a node returns.
const OCTETS: usize = 20_000;
/// The nodes, by the last octet of their EUI-64.
const NODES: [u8; 2] = [0xb, 0xc];

/// A border router on an air with nodes.
struct Network {
    file: Scratch,
    _nodes: Vec<External>,
}

impl Network {
    /// Starts the nodes; `more` are lines of their settings, and of the router's network.
    fn new(more: &str, node: &str) -> Self {
        run(Command::new("ip").args(["link", "set", "lo", "up"]));
        let ends = air(1 + NODES.len());
        let nodes = NODES.iter().zip(&ends[1..]).map(|(number, (own, air))| {
            let text = format!(
                "extended = \"02:12:4b:00:00:00:00:{number:02x}\"\nack_wait_ms = 40\n{node}\n"
            );
            let file = Scratch::new(text.as_bytes());
            let external = External::start(&file.0, &format!("{own},{air}"));
            // It has read the file when it is on the air.
            thread::sleep(Duration::from_millis(500));
            external
        });
        let nodes = nodes.collect();
        let (own, air) = ends[0];
        let text = format!(
            "radio = \"zep://{own},{air}\"\nack_wait_ms = 40\n[network]\n\
             eui64 = \"02:12:4b:00:00:00:00:0a\"\nprefix = \"fd00:5::/64\"\n{more}\n\
             [tun]\nname = \"kltest0\"\naddress = \"fd00:5:0:1::1/64\"\n"
        );
        Network { file: Scratch::new(text.as_bytes()), _nodes: nodes }
    }

    /// Replaces a part of the configuration, and lets the router read it again.
    fn reload(&self, router: &Gateway, old: &str, new: &str) {
        let text = std::fs::read_to_string(&self.file.0).unwrap();
        assert!(text.contains(old), "{text}");
        std::fs::write(&self.file.0, text.replace(old, new)).unwrap();
        router.send("HUP");
        // Two signals at once are one.
        thread::sleep(Duration::from_millis(300));
    }

    fn start(&self) -> Gateway {
        let router = Gateway::start_as("router", &self.file.0, &[], Stdio::piped());
        let formed = until(LIMIT, || NODES.iter().all(|node| answers(&address(*node))));
        eprintln!("formed after {formed:.1?}");
        router
    }
}

fn address(node: u8) -> String {
    format!("fd00:5::12:4b00:0:{node:x}")
}

fn ip(words: &str) {
    run(Command::new("ip").args(words.split(' ')));
}

/// Returns true if the device has this address.
fn has_address(text: &str) -> bool {
    let shown = run(Command::new("ip").args(["-6", "address", "show", "dev", "kltest0"])).stdout;
    String::from_utf8_lossy(&shown).contains(text)
}

/// Returns true if the device has its MTU, its address and its route.
fn is_as_configured() -> bool {
    let says = |words: &str| {
        let output = run(Command::new("ip").args(words.split(' ')));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let right = says("link show kltest0").contains("mtu 1280")
        && has_address("fd00:5:0:1::1/64")
        && says("-6 route show dev kltest0").contains("fd00:5::/64");
    if !right {
        thread::sleep(Duration::from_millis(20));
    }
    right
}

#[test]
fn linux_reaches_nodes_through_a_border_router_whose_device_heals() {
    let name = "linux_reaches_nodes_through_a_border_router_whose_device_heals";
    in_namespace(name, &[("ping", "-V"), ("kill", "-l")], heals);
}

fn heals() {
    let network = Network::new("", "rpl = { role = \"router\" }");
    let router = network.start();
    assert!(router.announcement.contains("nodes have addresses of fd00:5::/64"));
    NODES.into_iter().for_each(|node| is_complete(&address(node), OCTETS));
    for (what, commands) in [
        ("down and up", &["link set kltest0 down", "link set kltest0 up"][..]),
        ("no address", &["address flush dev kltest0"]),
        ("no route", &["-6 route del fd00:5::/64 dev kltest0"]),
        ("another MTU", &["link set kltest0 mtu 1400"]),
        ("no IPv6", &["link set kltest0 mtu 1000"]),
    ] {
        commands.iter().for_each(|words| ip(words));
        let healed = until(LIMIT, is_as_configured);
        eprintln!("{what}: healed after {healed:.1?}");
        until(LIMIT, || answers(&address(NODES[1])));
    }
    is_complete(&address(NODES[0]), OCTETS);
    network.reload(&router, "fd00:5:0:1::1", "fd00:5:0:2::7");
    until(LIMIT, || has_address("fd00:5:0:2::7/64") && !has_address("fd00:5:0:1::1"));
    until(LIMIT, || answers(&address(NODES[0])));
    network.reload(&router, "eui64", "eui46");
    network.reload(&router, "eui46", "channel = 11\neui64");
    let (status, said) = router.signal("TERM");
    assert!(status.success() && said.contains("stopped after"), "{status}: {said}");
    let file = network.file.0.display();
    for part in [
        &format!("{file}: changed tun.address\n"),
        &format!("{file}:4:1: network.eui46: unknown key; did you mean `eui64`?; the former"),
        &format!("{file}: nothing has changed; needs another start: network.channel\n"),
        "kltest0 had lost its address fd00:5:0:1::1/64; it is added again\n",
        "the route to fd00:5::/64 by kltest0 was lost; it is added again\n",
        "kltest0 had an MTU of 1400; it is 1280 again\n",
        "kltest0 had an MTU of 1000; it is 1280 again\n",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}

#[test]
fn the_end_of_a_device_ends_the_router_with_its_name() {
    in_namespace("the_end_of_a_device_ends_the_router_with_its_name", &[("ping", "-V")], ends);
}

fn ends() {
    let network = Network::new("", "rpl = { role = \"router\" }");
    let router = network.start();
    ip("link delete kltest0");
    let (status, error, _) = router.end();
    assert_eq!(status.code(), Some(3), "{error}");
    assert!(error.starts_with("kinglet: the TUN device kltest0: it was deleted"), "{error}");
}

#[test]
fn the_device_of_a_simulated_network_heals_too() {
    let tools = [("ping", "-V"), ("kill", "-l")];
    in_namespace("the_device_of_a_simulated_network_heals_too", &tools, simulated);
}

fn simulated() {
    let gateway = Gateway::start(&example());
    until(LIMIT, || answers(THREE_HOPS));
    ip("link set kltest0 down");
    ip("link set kltest0 up");
    eprintln!("down and up: works after {:.1?}", until(LIMIT, || answers(THREE_HOPS)));
    let (status, said) = gateway.interrupt();
    let text = "kltest0 had lost its address fd6b:696e:676c:7401::1/48; it is added again";
    assert!(status.success() && said.contains(text), "{status}: {said}");
    let gateway = Gateway::start_as("gateway", &example(), &["--tun", "kltest0"], Stdio::piped());
    ip("link delete kltest0");
    let (status, error, _) = gateway.end();
    assert_eq!(status.code(), Some(3), "{error}");
    assert!(error.starts_with("kinglet: the TUN device kltest0: it was deleted"), "{error}");
}

#[test]
fn mistakes_in_the_configuration_are_reported_before_anything_starts() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/router.toml");
    let (code, said, error) = kinglet(&["router", example, "--check"]);
    assert_eq!((code, said, error.as_str()), (Some(0), format!("{example}: no mistakes\n"), ""));
    let text = std::fs::read_to_string(example).unwrap().replace("prefix =", "prefx =");
    let file = Scratch::new(text.as_bytes());
    let (code, _, error) = kinglet(&["router", file.0.to_str().unwrap()]);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("network.prefx: unknown key; did you mean `prefix`?"), "{error}");
    let (code, _, error) = kinglet(&["router", "no-such-file.toml", "--check"]);
    assert_eq!(code, Some(3), "{error}");
}
