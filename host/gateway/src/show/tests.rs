use super::*;
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

#[test]
fn the_table_shows_the_busiest_nodes_in_order_and_counts_the_rest() {
    let frames = [5, 100, 0, 70];
    let node = |(node, frames)| NodeCounters { node, frames, ..NodeCounters::default() };
    let nodes: Vec<NodeCounters> = (0..).zip(frames).map(node).collect();
    let stats = BridgeStats { packets_in: 12, lag_ms_max: 34, ..BridgeStats::default() };
    let text = table(&nodes, &stats, 2);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("host to mesh 12 packets") && lines[0].contains("at most 34 ms"));
    assert!(lines[2].starts_with("   1      100") && lines[3].starts_with("   3       70"));
    assert_eq!(lines[4], "… and 2 quieter nodes");
    assert_eq!(table(&nodes, &stats, 9).lines().count(), 2 + 4);
}

#[test]
fn a_json_line_has_the_counters_of_bridge_and_nodes() {
    let nodes = vec![NodeCounters { node: 3, retries: 9, ..NodeCounters::default() }];
    let bridge = &BridgeStats { packets_out: 8, ..BridgeStats::default() };
    let line = Line { event: "counters", seconds: 1.5, bridge, nodes };
    let value = serde_json::to_value(&line).unwrap();
    assert_eq!(value["event"], "counters");
    assert_eq!(value["packets_out"], 8);
    assert_eq!(value["nodes"][0]["retries"], 9);
}
