use super::*;
use crate::policy::Drops;
use crate::status::Link;
use kinglet_scenario::{Addressing, Scenario};

fn mesh() -> Mesh {
    let text = "[topology]\nline = { hops = 3 }\n\
        [[flow]]\nkind = \"http-server\"\nnode = 1\n\
        [[flow]]\nkind = \"http-server\"\nnode = 2\n\
        [[flow]]\nkind = \"http-server\"\nnode = 3\nport = 8080\n\
        [[flow]]\nkind = \"coap-server\"\nnode = 3\n";
    Mesh::new(&Scenario::from_toml("test.toml", text).unwrap()).unwrap()
}

#[test]
fn the_announcement_says_what_answers_where_and_ends_with_ready() {
    let address = "fd6b:696e:676c:7401::1".parse().unwrap();
    let tun =
        TunConfig { name: "tun7".to_owned(), address, prefix_len: 48, mesh: address, mtu: 1280 };
    let text = announcement("a line", &mesh(), Devices { border: &tun, far: None }, Some("tshark"));
    for needle in [
        "a line: 4 nodes",
        "device tun7",
        "fd6b:696e:676c:7401::1/48",
        "   2     2  fd6b:696e:676c:7400:0:ff:fe00:3   ping, services, HTTP on port 80\n",
        "   3     3  fd6b:696e:676c:7400:0:ff:fe00:4   ping, services, HTTP on port 8080, \
         CoAP on port 5683\n",
        "\n  ping -6 -c 3 fd6b:696e:676c:7400:0:ff:fe00:2\n",
        "\n  curl -g 'http://[fd6b:696e:676c:7400:0:ff:fe00:2]/'\n",
        "\n  curl -g 'http://[fd6b:696e:676c:7400:0:ff:fe00:4]:8080/'\n",
        "\n  coap-client 'coap://[fd6b:696e:676c:7400:0:ff:fe00:4]/'\n",
    ] {
        assert!(text.contains(needle), "{needle:?} is not in:\n{text}");
    }
    assert!(!text.contains("ping -6 -c 3 fd6b:696e:676c:7400:0:ff:fe00:3"), "two proposals do");
    assert!(text.ends_with("\nready\n"));
}

/// Returns a node with this number, role and count of frames.
fn row(node: u32, role: Role, frames: u64) -> Row {
    let counters = NodeCounters { node, frames, ..NodeCounters::default() };
    let sleeps = role == Role::Leaf;
    let status = Status {
        address: Some(Addressing::DEFAULT.address(node)),
        role,
        parent: Some(6),
        hops: Some(3),
        radio: Some(if sleeps { Activity::Asleep } else { Activity::Listening }),
        duty_cycle: Some(if sleeps { 0.0061 } else { 1.0 }),
        duty_cycle_overall: Some(if sleeps { 0.01234 } else { 1.0 }),
        polled_s_ago: sleeps.then_some(0.4),
        next_poll_s: sleeps.then_some(0.6),
        waiting: sleeps.then_some(2),
        link: Some(Link { rssi_dbm: Some(-77), etx: Some(1.03) }),
        policy: Drops::default(),
    };
    Row { counters, status, reasons: None }
}

/// Returns these nodes, and a queue at the border router with large counters.
fn look(nodes: impl Into<Vec<Row>>) -> Look {
    let (queued, dequeued, dropped) = (u32::MAX, u32::MAX - 9_999_999, 9_999_987);
    let queue =
        BorderResult { queued, dequeued, dropped, waiting: 12, peak: 32, longest_ms: 98_765.4 };
    Look::new(nodes.into(), Some(queue))
}

#[test]
fn the_table_shows_sleepers_and_the_busiest_nodes_in_order_and_counts_the_rest() {
    let nodes = [5, 100, 0, 70].into_iter();
    let mut nodes: Vec<Row> = (0..).zip(nodes).map(|(n, f)| row(n, Role::Router, f)).collect();
    nodes[2].status.role = Role::Leaf;
    let stats = BridgeStats { packets_in: 12, lag_ms_max: 34, ..BridgeStats::default() };
    let look = look(nodes);
    let text = table(&look, &stats, 2);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("to mesh 12 packets") && lines[1].contains("at most 34 ms"));
    assert!(lines[2].starts_with("frames 175, retries 0"), "{}", lines[2]);
    assert!(lines[6].starts_with("   2 leaf") && lines[7].starts_with("   1 router"), "{text}");
    assert_eq!(lines[8], "… and 2 quieter nodes");
    assert_eq!(table(&look, &stats, 9).lines().count(), 6 + 4);
}

#[test]
fn the_table_of_a_large_busy_network_fits_a_small_terminal_with_leaves_first() {
    let role = |n| if n % 5 == 4 { Role::Leaf } else { Role::Router };
    let mut nodes: Vec<Row> =
        (0..60).map(|n| row(9_000 + n, role(n), 1_234_567_890 * u64::from(n % 7))).collect();
    for row in &mut nodes {
        row.counters.lost = 9_876_543;
        row.counters.served = 12_345;
        row.status.polled_s_ago = Some(239.99);
        row.status.next_poll_s = Some(86_399.0);
        row.status.waiting = Some(24);
        row.status.link = Some(Link { rssi_dbm: Some(-100), etx: Some(11.52) });
    }
    let stats = BridgeStats {
        packets_in: 1_000_000,
        octets_in: 1_000_000_000,
        packets_out: 1_000_000,
        octets_out: 999_999_999,
        ..BridgeStats::default()
    };
    let text = table(&look(nodes), &stats, ROWS);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() < 24, "{} lines\n{text}", lines.len());
    for line in &lines {
        assert!(line.chars().count() < 80, "{} columns: {line}", line.chars().count());
    }
    let leaves = lines[6..18].iter().filter(|line| line.contains(" leaf ")).count();
    assert_eq!((leaves, lines[18].contains(" router ")), (12, true), "{text}");
}

#[test]
fn a_row_says_what_a_node_does_under_the_right_headings() {
    let text = table(&look([row(11, Role::Leaf, 321)]), &BridgeStats::default(), 9);
    let [_, _, _, _, sleep, head, row] = text.lines().collect::<Vec<_>>()[..] else {
        panic!("{text}")
    };
    assert_eq!(sleep, "1 of 1 leaves asleep, radio on 0.61 %, 2 packets wait for them");
    let columns = "11 leaf 6 asleep 0.61 1.23 0.40 0.60 2 -77 1.03 321 0";
    assert_eq!(row.split_whitespace().collect::<Vec<_>>().join(" "), columns);
    // Numbers are right-aligned with their headings.
    for (heading, value) in [
        ("via", "6"),
        ("min %", "0.61"),
        ("all %", "1.23"),
        ("asked", "0.40"),
        ("next", "0.60"),
        ("wait", "2"),
        ("dBm", "-77"),
        ("etx", "1.03"),
        ("frames", "321"),
        ("lost", "0"),
    ] {
        let end = head.find(heading).unwrap() + heading.len();
        assert!(row[..end].ends_with(value), "{heading}\n{head}\n{row}");
    }
}

#[test]
fn ports_of_this_machine_services_faults_and_the_capture_are_announced() {
    let text = "[wire]\n[topology]\nline = { hops = 3 }\n\
        [[flow]]\nkind = \"tcp-bulk\"\nfrom = 3\nto = 4\n\
        [[flow]]\nkind = \"udp-periodic\"\nfrom = 2\nto = 4\nport = 4242\n\
        [[flow]]\nkind = \"http-server\"\nnode = 1\nport = 9\n\
        [[fault]]\nkind = \"partition\"\nnodes = [2, 3]\nfrom_s = 20\n\
        [[fault]]\nkind = \"partition\"\nnodes = [1]\nfrom_s = 5\nto_s = 10\n";
    let mesh = Mesh::new(&Scenario::from_toml("test.toml", text).unwrap()).unwrap();
    let address = "fd6b:696e:676c:7401::1".parse().unwrap();
    let tun =
        TunConfig { name: "tun7".to_owned(), address, prefix_len: 48, mesh: address, mtu: 1280 };
    let devices = Devices { border: &tun, far: None };
    let text = announcement("a line", &mesh, devices, Some("tshark -r it"));
    assert!(!text.contains("second computer"), "{text}");
    for needle in [
        "\n  TCP port 5001: tcp-bulk of mote 3\n  UDP port 4242: udp-periodic of mote 2\n",
        "\nfrom 20 s to the end of this run, cut off: nodes 2, 3\n",
        "\nfrom 5 s to 10 s of this run, cut off: nodes 1\n",
        "\nservices: TCP port 7 echoes, 9 takes all it gets, 19 sends without end\n",
        "\n  echo hello | nc -N fd6b:696e:676c:7400:0:ff:fe00:4 7\n",
        // Its web server has a port of the services.
        "fe00:2   ping, HTTP on port 9\n",
        "fe00:1   ping, services (border router)\n",
        "\n  tshark -r it\n",
    ] {
        assert!(text.contains(needle), "{needle:?} is not in:\n{text}");
    }
}

#[test]
fn the_second_computer_gets_its_instructions() {
    let text = "[topology]\nline = { hops = 3 }\n[tunnel]\nnode = 3\n";
    let mesh = Mesh::new(&Scenario::from_toml("test.toml", text).unwrap()).unwrap();
    let config = |name: &str, address: &str| TunConfig {
        name: name.to_owned(),
        address: address.parse().unwrap(),
        prefix_len: 48,
        mesh: "fd6b:696e:676c:7400::".parse().unwrap(),
        mtu: 1280,
    };
    let border = config("tun7", "fd6b:696e:676c:7401::1");
    let far = config("tun7-far", "fd6b:696e:676c:7400:0:ff:fe00:4");
    let text = announcement("a line", &mesh, Devices { border: &border, far: Some(&far) }, None);
    for needle in [
        "fe00:3   ping, services\n",
        "fe00:4   the services of the second computer\n",
        "\na second computer is behind node 3, with the TUN device tun7-far and MTU 1280.",
        "\n  ip link set tun7-far netns far\n",
        "\n  ip -n far address add fd6b:696e:676c:7400:0:ff:fe00:4/48 dev tun7-far nodad\n",
        "\n  ip -n far link set tun7-far up\n",
        "\n  ip netns exec far ping -6 -c 3 fd6b:696e:676c:7401::1\n",
        "\n  curl -g 'http://[fd6b:696e:676c:7400:0:ff:fe00:4]:8000/'\n",
        // The farthest node with services is another one.
        "\n  echo hello | nc -N fd6b:696e:676c:7400:0:ff:fe00:3 7\n",
    ] {
        assert!(text.contains(needle), "{needle:?} is not in:\n{text}");
    }
    assert!(!text.contains("from another terminal"), "nobody serves: {text}");
}

#[test]
fn a_network_without_leaves_says_nothing_of_sleep() {
    let look = look([row(1, Role::Router, 1)]);
    assert!(!totals(&look, &BridgeStats::default()).contains("asleep"));
}

#[test]
fn the_queue_at_the_border_router_is_shown_where_there_is_one() {
    let mut look = look([row(1, Role::Router, 1)]);
    let stats = BridgeStats::default();
    let reported = "border queue: 12 wait, at most 32, 98765 ms; 4284M passed on, 9999k dropped";
    for text in [table(&look, &stats, 9), totals(&look, &stats)] {
        assert!(text.contains(reported), "{text}");
    }
    look.border_queue = None;
    for text in [table(&look, &stats, 9), totals(&look, &stats)] {
        assert!(!text.contains("border queue"), "{text}");
    }
}

#[test]
fn a_json_line_has_the_counters_of_bridge_and_nodes() {
    let mut nodes = [row(3, Role::Leaf, 0)];
    nodes[0].counters.retries = 9;
    let bridge = &BridgeStats { packets_out: 8, ..BridgeStats::default() };
    let look = &look(nodes);
    let line = Line { event: "counters", seconds: 1.5, bridge, look };
    let value = serde_json::to_value(&line).unwrap();
    assert_eq!(value["event"], "counters");
    assert_eq!(value["packets_out"], 8);
    let queue = &value["border_queue"];
    assert_eq!((&queue["dropped"], &queue["waiting"]), (&9_999_987.into(), &12.into()));
    let node = &value["nodes"][0];
    assert_eq!(node["retries"], 9);
    assert_eq!((&node["role"], &node["radio"]), (&"leaf".into(), &"asleep".into()));
    assert_eq!((&node["duty_cycle"], &node["waiting"]), (&0.0061.into(), &2.into()));
    assert_eq!(node["link"]["rssi_dbm"], -77);
}

#[test]
fn lines_of_flows_and_losses_have_the_form_of_a_simulation() {
    let flows = Flows { event: "flows", seconds: 2.0, flows: mesh().flows() };
    let value = serde_json::to_value(&flows).unwrap();
    assert_eq!(
        (&value["event"], &value["flows"][0]["kind"]),
        (&"flows".into(), &"http-server".into())
    );
    assert!(value["flows"][0]["goodput_kbps"].is_null(), "{value}");
    let loss = kinglet_sim::trace::Loss {
        relation: "parent",
        address: Ipv6Addr::LOCALHOST,
        reasons: [("mac", [("no_ack".to_owned(), 4)].into())].into(),
    };
    let lost = &LossResult { at_s: 7.0, node: 3, loss };
    let value = serde_json::to_value(Lost { event: "lost", lost }).unwrap();
    assert_eq!((&value["event"], &value["node"]), (&"lost".into(), &3.into()));
    assert_eq!((&value["relation"], &value["address"]), (&"parent".into(), &"::1".into()));
    assert_eq!(value["reasons"]["mac"]["no_ack"], 4);
}
