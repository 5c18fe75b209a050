//! A node among neighbours that know RFC 4861 only, that know 6LoWPAN's discovery, and both at
//! once: as a host, and as their router. The strangers are built from the RFCs.

use crate::common::*;
use crate::stranger::{Link, group, link_option};
use kinglet::nd::{self, Border, Offer, Serving};
use kinglet::net::{InterfaceAddress, NextHop, Route};
use kinglet::time::{Duration, Instant};
use kinglet::wire::ieee802154::Address;
use kinglet::wire::nd::{BorderRouter, PrefixInformation};
use kinglet::{Discovered, Node, Profile, mac};
use std::net::Ipv6Addr;

kinglet::profile! {
    struct Host {
        discovery: Discovered<Self>,
        security: mac::CcmStar<mac::Tabled, [mac::PeerCounter; 4]>,
        discovered: 4,
        default_routers: 2,
        autoconfigured: 2,
        packets: 8,
        addresses: 2,
    }
}

kinglet::profile! {
    struct Root {
        discovery: Discovered<Self>,
        serving: Serving<Self>,
        security: mac::CcmStar<mac::Tabled, [mac::PeerCounter; 8]>,
        discovered: 4,
        registrations: 4,
        prefixes: 1,
        forwards: true,
        packets: 8,
        addresses: 2,
    }
}

fn ip(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

const ALL: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);
/// A 6LR, or a node that registers.
const LOWPAN: (Address, &str) = (Address::Short(9), "fe80::ff:fe00:9");
/// A node that knows RFC 4861, with an identifier of RFC 7217.
const PLAIN: (Address, &str) =
    (Address::Extended([2, 0, 0, 0xFF, 0xFE, 0, 0, 7]), "fe80::a1b2:c3d4:e5f6:789");

/// Makes the stranger another node, with these addresses in addition to the link-local one.
fn be<P: Profile>(line: &mut Link<P>, peer: (Address, &str), more: &[&str]) {
    line.link = peer.0;
    line.addresses = [peer.1].iter().chain(more).map(|it| ip(it)).collect();
    line.heard.clear();
    line.frames.clear();
}

fn nd_config(config: &kinglet::Config) -> nd::NdConfig {
    nd::NdConfig::new(config.mac.source(), config.mac.extended, config.mac.pan_id.0, config.seed)
}

fn host() -> Link<Host> {
    let config = config(1, 1);
    let settings = nd::NdConfig { autoconfigures: true, ..nd_config(&config) };
    let node = Node::with_layers(config, (), Discovered::with(settings), usual());
    Link::new(Box::new(node), Address::Short(1), LOWPAN.0, &[ip(LOWPAN.1)])
}

/// Returns whether the node pings this address, and gets a reply within a few seconds.
fn reaches<P: Profile>(line: &mut Link<P>, to: &str) -> bool {
    for seq in 0..5 {
        let now = line.now;
        let _ = line.node.datagrams().ping(now, ip(to), 1, seq, &[1]);
        line.run(Duration::from_secs(1));
        if line.node.datagrams().poll_echo_reply().is_some() {
            return true;
        }
    }
    false
}

fn is_pinged<P: Profile>(line: &mut Link<P>, from: &str, to: &str) -> bool {
    line.ping(ip(from), ip(to));
    line.run(Duration::from_secs(1));
    !line.heard_of(129).is_empty()
}

#[test]
fn a_host_has_a_plain_neighbour_and_a_router_that_registers() {
    let mut line = host();
    (line.registers, line.extended) = (Some(0), true);
    let lives = [9_000_u32.to_be_bytes(), 9_000_u32.to_be_bytes()].concat();
    let prefix = [&[3, 4, 64, 0x40], &lives[..], &[0; 4], &ip("2001:db8::").octets()].concat();
    line.advertise_router(ALL, 9_000, std::slice::from_ref(&prefix));
    let own = "2001:db8::ff:fe00:1";
    assert_eq!(line.heard_of(135).len(), 2, "registered: both addresses");
    // From here the router is silent: multicast solicitations do not concern it.
    be(&mut line, PLAIN, &["2001:db8::77"]);
    assert!(reaches(&mut line, PLAIN.1) && is_pinged(&mut line, PLAIN.1, own));
    // It resolves the host's addresses, and detects duplicates of them.
    for target in [own, "fe80::ff:fe00:1"] {
        line.heard.clear();
        line.solicit(ip(target));
        assert_eq!(line.heard_of(136).len(), 1, "{target}");
        let upper = [&[135, 0, 0, 0, 0, 0, 0, 0], &ip(target).octets()[..]].concat();
        line.send(Ipv6Addr::UNSPECIFIED, group(ip(target)), 255, upper);
        assert_eq!(line.heard_of(136).len(), 1, "{target}");
    }
    // Both at once: packets to the outside go to the router, and the registration is kept.
    be(&mut line, LOWPAN, &["2001:db8:ffff::1"]);
    assert!(reaches(&mut line, "2001:db8:ffff::1"));
    line.run(Duration::from_secs(2_500));
    line.heard.clear();
    assert!(reaches(&mut line, "2001:db8:ffff::1"));
    let kept = line.heard_of(135).iter().filter(|it| it.3.len() > 32).count();
    assert_eq!(kept, 2);
    be(&mut line, PLAIN, &[]);
    assert!(reaches(&mut line, PLAIN.1) && is_pinged(&mut line, PLAIN.1, own));
}

const ROOT: &str = "2001:db8::ff:fe00:1";

fn root() -> Link<Root> {
    let config = config(1, 1);
    let border = BorderRouter { version: 1, valid_min: 60, address: ip(ROOT) };
    let mut role = Serving::new(Offer::new(Border::This(border)));
    let (on_link, autonomous) = (false, true);
    let (prefix, len, valid_s, preferred_s) = (ip("2001:db8::"), 64, 86_400, 14_400);
    let offered = PrefixInformation { prefix, len, on_link, autonomous, valid_s, preferred_s };
    role.offer_prefix(Instant::ZERO, offered).unwrap();
    let discovery = Discovered::serving(nd_config(&config), role);
    let mut node = Box::new(Node::with_layers(config, (), discovery, usual()));
    let address = ip(ROOT);
    let mut interface = node.interface();
    interface.add_address(InterfaceAddress { address, prefix_len: 64 }).unwrap();
    interface.add_route(Route { prefix, prefix_len: 64, via: NextHop::OnLink }).unwrap();
    Link::new(node, Address::Short(1), PLAIN.0, &[ip(PLAIN.1)])
}

/// Registers an address of the 6LoWPAN node in the form of RFC 8505. Returns the status.
fn register(line: &mut Link<Root>, target: &str, (tid, lifetime_min): (u8, u8), eui: u8) -> u8 {
    let option = [&[33, 2, 0, 0, 3, tid, 0, lifetime_min][..], &[2, 2, 2, 2, 2, 2, 2, eui]];
    let head = [&[135, 0, 0, 0, 0, 0, 0, 0], &ip(target).octets()[..]].concat();
    let upper = [&head[..], &link_option(1, line.link), &option.concat()].concat();
    line.send(line.addresses[0], ip("fe80::ff:fe00:1"), 255, upper);
    let heard = line.heard_of(136);
    let [(255, _, _, upper)] = &heard[..] else { panic!("{heard:?}") };
    assert_eq!((upper[4], &upper[8..24]), (0xC0, &ip(target).octets()[..]));
    upper[26]
}

#[test]
fn a_router_serves_plain_hosts_and_those_that_register() {
    let mut line = root();
    line.run(Duration::from_secs(40));
    // As in Linux: solicit a router from the link-local address, form an address, detect duplicates
    // of it, and send.
    be(&mut line, PLAIN, &["2001:db8::77"]);
    let upper = [&[133, 0, 0, 0, 0, 0, 0, 0], &link_option(1, line.link)[..]].concat();
    line.send(ip(PLAIN.1), ip("ff02::2"), 255, upper);
    let heard = line.heard_of(134);
    let [(255, src, dst, upper)] = &heard[..] else { panic!("{heard:?}") };
    assert_eq!((*src, *dst), (ip("fe80::ff:fe00:1"), ip(PLAIN.1)));
    // Its link address, then among others its prefix, from which an address may be formed.
    assert_eq!(upper[16..24], link_option(1, Address::Short(1)));
    let mut options = &upper[16..];
    let mut kinds = Vec::new();
    while let [kind, units, ..] = *options {
        if kind == 3 {
            assert_eq!((options[2], options[3]), (64, 0x40));
        }
        kinds.push(kind);
        options = &options[usize::from(units) * 8..];
    }
    assert_eq!(kinds, [1, 35, 36, 3]);
    let upper = [&[135, 0, 0, 0, 0, 0, 0, 0], &ip("2001:db8::77").octets()[..]].concat();
    line.send(Ipv6Addr::UNSPECIFIED, group(ip("2001:db8::77")), 255, upper);
    assert_eq!(line.heard_of(136), [], "nobody has it");
    assert!(is_pinged(&mut line, "2001:db8::77", ROOT));
    // A node that registers is never solicited for its link address.
    be(&mut line, LOWPAN, &["2001:db8::99"]);
    assert_eq!(register(&mut line, "2001:db8::99", (240, 60), 9), 0);
    line.answers = false;
    assert!(is_pinged(&mut line, "2001:db8::99", ROOT));
    assert_eq!(line.heard_of(135), []);
    // No other node may have its address, and messages of other nodes about it change nothing.
    assert_eq!(register(&mut line, "2001:db8::99", (240, 60), 8), 1);
    be(&mut line, PLAIN, &["2001:db8::77"]);
    let upper = [&[136, 0, 0, 0, 0x20, 0, 0, 0], &ip("2001:db8::99").octets()[..]].concat();
    let upper = [&upper[..], &link_option(2, line.link)].concat();
    line.send(ip(PLAIN.1), ALL, 255, upper);
    let nd = line.node.net().discovery().nd();
    assert_eq!(nd.resolution(ip("2001:db8::99")), nd::Resolution::To(LOWPAN.0));
    line.answers = true;
    assert!(reaches(&mut line, "2001:db8::77"), "and the plain one is there as before");
    // After its registration has expired, it is solicited like any other node.
    line.run(Duration::from_secs(3_600));
    let nd = line.node.net().discovery().nd();
    assert_eq!(
        (nd.resolution(ip("2001:db8::99")), nd.role().registrations().count()),
        (nd::Resolution::Unknown, 0)
    );
}
