//! A border router and a node on its link that knows RFC 4861 and registers with no router, as
//! Linux does: it is found, and a sender to an absent address gets an ICMPv6 error.

use crate::common::*;
use crate::stranger::{Link, checksum};
use kinglet::nd::{self, Border, Offer, Serving};
use kinglet::net::{InterfaceAddress, NextHop, Route};
use kinglet::rpl::{self, Mode, Role};
use kinglet::time::{Duration, Instant};
use kinglet::wire::ieee802154::Address;
use kinglet::wire::nd::{BorderRouter, PrefixInformation};
use kinglet::{Discovered, Node, Rpled};
use std::net::Ipv6Addr;

kinglet::profile! {
    struct Gateway {
        routing: Rpled<Self>,
        discovery: Discovered<Self>,
        serving: Serving<Self>,
        storage: 1392,
        discovered: 4,
        registrations: 4,
        prefixes: 1,
        forwards: true,
        packets: 8,
        host: 4,
        addresses: 2,
        routes: 2,
    }
}

impl rpl::Sizes for Gateway {
    type Objective = rpl::Standard;
    type Candidates = [Option<rpl::Candidate>; 4];
    type Routes = [Option<rpl::Route>; 8];
}

const ROOT: &str = "2001:db8::ff:fe00:1";
const OUTSIDE: &str = "2001:db8:ffff::1";
const PLAIN: &str = "2001:db8::a1b2:c3d4:e5f6:789";
const ABSENT: &str = "2001:db8::a1b2:c3d4:e5f6:78a";

fn ip(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

/// Returns the root of a DODAG without members, and a node with an address of its prefix.
fn gateway(mode: Mode) -> Link<Gateway> {
    let mut config = config(1, 1);
    config.net.forward = true;
    let border = BorderRouter { version: 1, valid_min: 60, address: ip(ROOT) };
    let mut role = Serving::new(Offer::new(Border::This(border)));
    let (prefix, len, valid_s, preferred_s) = (ip("2001:db8::"), 64, 86_400, 14_400);
    let (on_link, autonomous) = (false, true);
    let offered = PrefixInformation { prefix, len, on_link, autonomous, valid_s, preferred_s };
    role.offer_prefix(Instant::ZERO, offered).unwrap();
    let message = nd::NdConfig::new(
        config.mac.source(),
        config.mac.extended,
        config.mac.pan_id.0,
        config.seed,
    );
    let discovery = Discovered::serving(message, role);
    let rpl = rpl::RplConfig::new(Role::Root(rpl::Root::new(ip(ROOT), mode)), 0, 0);
    let routing = Rpled::new(config.identity(), rpl);
    let mut node: Box<Node<Gateway>> =
        Box::new(Node::with_layers(config.unsecured(), routing, discovery, usual()));
    let mut interface = node.interface();
    interface.add_address(InterfaceAddress { address: ip(ROOT), prefix_len: 64 }).unwrap();
    let everything = Route { prefix: Ipv6Addr::UNSPECIFIED, prefix_len: 0, via: NextHop::Host };
    interface.add_route(everything).unwrap();
    let stranger = Address::Extended([2, 0, 0, 0xFF, 0xFE, 0, 0, 7]);
    let addresses = [ip("fe80::a1b2:c3d4:e5f6:789"), ip(PLAIN)];
    let mut link = Link::new(node, Address::Short(1), stranger, &addresses);
    link.run(Duration::from_secs(1));
    link
}

/// Sends an echo request from outside.
fn from_outside(line: &mut Link<Gateway>, to: Ipv6Addr) {
    let mut upper = vec![128, 0, 0, 0, 0, 7, 0, 1];
    let sum = checksum(ip(OUTSIDE), to, 58, &upper).to_be_bytes();
    upper[2..4].copy_from_slice(&sum);
    let head = [0x60, 0, 0, 0, 0, 8, 58, 64];
    let packet = [&head[..], &ip(OUTSIDE).octets(), &to.octets(), &upper].concat();
    line.node.handle_host_packet(line.now, &packet);
}

/// Returns type and code of the messages for the host.
fn to_host(line: &mut Link<Gateway>) -> Vec<(u8, u8)> {
    let mut buf = [0; 1392];
    let mut all = Vec::new();
    while let Some(len) = line.node.poll_host_packet(line.now, &mut buf) {
        assert!(len > 42 && buf[6] == 58, "{:x?}", &buf[..len]);
        all.push((buf[40], buf[41]));
    }
    all
}

#[test]
fn a_node_that_does_not_register_is_answered_and_reached_from_outside() {
    for mode in [Mode::Storing, Mode::NonStoring] {
        let mut line = gateway(mode);
        line.ping(ip(PLAIN), ip(ROOT));
        line.run(Duration::from_secs(1));
        assert_eq!(line.heard_of(129).len(), 1, "{mode:?}");
        from_outside(&mut line, ip(PLAIN));
        line.run(Duration::from_secs(1));
        assert_eq!(line.heard_of(128).len(), 1, "{mode:?}");
        assert_eq!(to_host(&mut line), [(129, 0)]);
    }
}

#[test]
fn an_address_that_no_node_has_is_reported_unreachable() {
    let mut line = gateway(Mode::Storing);
    from_outside(&mut line, ip(ABSENT));
    line.run(Duration::from_secs(2));
    assert_eq!(to_host(&mut line), []);
    line.run(Duration::from_secs(2));
    assert_eq!(to_host(&mut line), [(1, 3)]);
    // An address that contains its link address is not resolved: no route leads to it.
    line.frames.clear();
    from_outside(&mut line, ip("2001:db8::ff:fe00:9"));
    line.run(Duration::from_secs(4));
    assert!(!line.frames.contains(&Address::Short(9)));
    assert_eq!(to_host(&mut line).len(), 1);
}

#[test]
fn a_scan_from_outside_costs_few_solicitations_and_is_answered_at_once() {
    let mut line = gateway(Mode::Storing);
    // A packet to it: it is in use.
    from_outside(&mut line, ip(PLAIN));
    line.run(Duration::from_secs(1));
    line.frames.clear();
    let mut reports = 0;
    for n in 0..1_000 {
        from_outside(&mut line, Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0xA, 0xB, 0xC, n));
        line.run(Duration::from_millis(20));
        reports += to_host(&mut line).iter().filter(|it| **it == (1, 3)).count();
    }
    let asked = line.frames.iter().filter(|it| **it == Address::BROADCAST).count();
    assert!(asked <= 50, "{asked} in 20 s");
    assert!(reports > 20, "{reports}");
    line.heard.clear();
    from_outside(&mut line, ip(PLAIN));
    line.run(Duration::from_secs(1));
    assert_eq!(line.heard_of(128).len(), 1, "the node in use keeps its place");
}
