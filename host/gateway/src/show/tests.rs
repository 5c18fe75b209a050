use super::*;
use crate::status::Link;
use kinglet_lab::scenario::Scenario;

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
    let tun = TunConfig { name: "tun7".to_owned(), address, prefix_len: 48 };
    let text = announcement("a line", &mesh(), &tun);
    for needle in [
        "a line: 4 nodes",
        "device tun7",
        "fd6b:696e:676c:7401::1/48",
        "   2     2  fd6b:696e:676c:7400:0:ff:fe00:3   ping, HTTP on port 80\n",
        "   3     3  fd6b:696e:676c:7400:0:ff:fe00:4   ping, HTTP on port 8080, \
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

/// A node with this number, role and count of frames.
fn row(node: u32, role: Role, frames: u64) -> Row {
    let counters = NodeCounters { node, frames, ..NodeCounters::default() };
    let sleeps = role == Role::Leaf;
    let status = Status {
        address: kinglet_lab::build::address_of(kinglet_lab::scenario::Prefix::DEFAULT, node),
        role,
        parent: Some(6),
        hops: Some(3),
        radio: Some(if sleeps { Activity::Asleep } else { Activity::Listening }),
        duty_cycle: if sleeps { 0.0061 } else { 1.0 },
        duty_cycle_overall: if sleeps { 0.01234 } else { 1.0 },
        polled_s_ago: sleeps.then_some(0.4),
        next_poll_s: sleeps.then_some(0.6),
        waiting: sleeps.then_some(2),
        link: Some(Link { rssi_dbm: Some(-77), etx: Some(1.03) }),
    };
    Row { counters, status }
}

#[test]
fn the_table_shows_sleepers_and_the_busiest_nodes_in_order_and_counts_the_rest() {
    let nodes = [5, 100, 0, 70].into_iter();
    let mut nodes: Vec<Row> = (0..).zip(nodes).map(|(n, f)| row(n, Role::Router, f)).collect();
    nodes[2].status.role = Role::Leaf;
    let stats = BridgeStats { packets_in: 12, lag_ms_max: 34, ..BridgeStats::default() };
    let text = table(&nodes, &stats, 2);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("host to mesh 12 packets") && lines[0].contains("at most 34 ms"));
    assert!(lines[1].starts_with("frames 175, retries 0"), "{}", lines[1]);
    assert!(lines[3].starts_with("   1 router") && lines[4].starts_with("   2 leaf"), "{text}");
    assert_eq!(lines[5], "… and 2 quieter nodes");
    assert_eq!(table(&nodes, &stats, 9).lines().count(), 3 + 4);
}

#[test]
fn a_row_says_what_a_node_does_under_the_right_headings() {
    let nodes = [row(11, Role::Leaf, 321)];
    let text = table(&nodes, &BridgeStats::default(), 9);
    let [_, sums, head, row] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
    assert!(sums.ends_with("1 of 1 leaves asleep, radio on 0.61 %, 2 packets wait for them"));
    let columns = "11 leaf 6 3 asleep 0.61 % 1.23 % 0.40 s 0.60 s 2 -77 1.03 321 0 0 \
        fd6b:696e:676c:7400:0:ff:fe00:c";
    assert_eq!(row.split_whitespace().collect::<Vec<_>>().join(" "), columns);
    // Numbers end where their headings end.
    for (heading, value) in [
        ("parent", "6"),
        ("hops", "3"),
        ("minute", "0.61 %"),
        ("overall", "1.23 %"),
        ("polled", "0.40 s"),
        ("next", "0.60 s"),
        ("waits", "2"),
        ("dBm", "-77"),
        ("etx", "1.03"),
        ("frames", "321"),
        ("served", "0"),
    ] {
        let end = head.find(heading).unwrap() + heading.len();
        assert!(row[..end].ends_with(value), "{heading}\n{head}\n{row}");
    }
}

#[test]
fn a_network_without_leaves_says_nothing_of_sleep() {
    let nodes = [row(1, Role::Router, 1)];
    assert!(!totals(&nodes, &BridgeStats::default()).contains("asleep"));
}

#[test]
fn a_json_line_has_the_counters_of_bridge_and_nodes() {
    let mut nodes = [row(3, Role::Leaf, 0)];
    nodes[0].counters.retries = 9;
    let bridge = &BridgeStats { packets_out: 8, ..BridgeStats::default() };
    let line = Line { event: "counters", seconds: 1.5, bridge, nodes: &nodes };
    let value = serde_json::to_value(&line).unwrap();
    assert_eq!(value["event"], "counters");
    assert_eq!(value["packets_out"], 8);
    let node = &value["nodes"][0];
    assert_eq!(node["retries"], 9);
    assert_eq!((&node["role"], &node["radio"]), (&"leaf".into(), &"asleep".into()));
    assert_eq!((&node["duty_cycle"], &node["waiting"]), (&0.0061.into(), &2.into()));
    assert_eq!(node["link"]["rssi_dbm"], -77);
}
