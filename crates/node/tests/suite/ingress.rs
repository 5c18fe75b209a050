//! Messages from outside change no internal state: forged messages of routing and discovery, in
//! tunnels and through the host interface.

use crate::common::*;
use crate::stranger::{Link, checksum, link_option};
use kinglet::net::{Discard, ExtendedIphc, NextHop, Route};
use kinglet::rpl::{self, Role};
use kinglet::time::{Duration, Instant};
use kinglet::wire::ieee802154::Address;
use kinglet::{Discovered, Node, Routing as _, Rpled, nd};
use kinglet_testkit::contract::{Subject, laws};
use rand_core::Rng;
use rand_pcg::Pcg32;
use std::net::Ipv6Addr;

kinglet::profile! {
    struct Router {
        routing: Rpled<Self>,
        discovery: Discovered<Self>,
        headers: ExtendedIphc,
        storage: 1392,
        discovered: 4,
        default_routers: 2,
        autoconfigured: 2,
        packets: 8,
        host: 4,
        addresses: 3,
        routes: 2,
        contexts: 4,
        groups: 2,
        forwards: true,
    }
}

impl rpl::Sizes for Router {
    type Objective = rpl::Standard;
    type Candidates = [Option<rpl::Candidate>; 4];
    type Routes = [Option<rpl::Route>; 8];
}

/// The neighbour, the parent of node 1, with the root's address.
const PARENT: u16 = 9;
const OUTSIDE: &str = "2001:db8:ffff::1";

fn ip(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

/// Returns a DIO of the parent's DODAG in this mode, from the type on.
fn dio(mode: u8, rank: u16, dodag: Ipv6Addr) -> Vec<u8> {
    let [high, low] = rank.to_be_bytes();
    let head = [155, 1, 0, 0, 0, 240, high, low, 0x80 | mode << 3, 240, 0, 0];
    [&head[..], &dodag.octets()].concat()
}

fn configuration() -> [u8; 16] {
    [4, 14, 0, 8, 9, 10, 14, 0, 0, 128, 0, 1, 0, 30, 0, 60]
}

/// Returns the mesh's prefix.
fn prefix() -> Vec<u8> {
    [
        &[8, 30, 64, 0x40, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0],
        &global(0).octets()[..],
    ]
    .concat()
}

/// Returns a DAO with a route to `target` through node 9, or in non-storing mode through its
/// parent.
fn dao(target: Ipv6Addr) -> Vec<u8> {
    let target = [&[5, 18, 0, 128], &target.octets()[..]].concat();
    [&[155, 2, 0, 0, 0, 0, 0, 241], &target[..], &[6, 4, 0, 0x80, 241, 255]].concat()
}

/// Returns a Router Advertisement with this option.
fn advertisement(option: &[u8]) -> Vec<u8> {
    [&[134, 0, 0, 0, 64, 0, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0], option].concat()
}

/// Returns an option that replaces context 0.
fn context() -> Vec<u8> {
    [&[34, 2, 64, 0x10, 0, 0, 5, 160], &ip("2001:db8:bad::").octets()[..8]].concat()
}

/// Returns a whole packet with an ICMPv6 message.
fn icmpv6(src: Ipv6Addr, dst: Ipv6Addr, hop_limit: u8, mut upper: Vec<u8>) -> Vec<u8> {
    let sum = checksum(src, dst, 58, &upper).to_be_bytes();
    upper[2..4].copy_from_slice(&sum);
    packet(src, dst, 58, hop_limit, &upper)
}

fn packet(src: Ipv6Addr, dst: Ipv6Addr, kind: u8, hop_limit: u8, body: &[u8]) -> Vec<u8> {
    let len = (body.len() as u16).to_be_bytes();
    let head = [0x60, 0, 0, 0, len[0], len[1], kind, hop_limit];
    [&head[..], &src.octets(), &dst.octets(), body].concat()
}

/// Returns a router that is attached to node 9 in this mode of RPL.
fn attached(mode: u8) -> Link<Router> {
    let mut config = config(1, 1);
    config.net.forward = true;
    let nd = nd::NdConfig::new(
        config.mac.source(),
        config.mac.extended,
        config.mac.pan_id.0,
        config.seed,
    );
    let discovery = Discovered::with(nd::NdConfig { autoconfigures: true, ..nd });
    let rpl = rpl::RplConfig { acknowledged: false, ..rpl::RplConfig::new(Role::Router, 0, 0) };
    let routing = Rpled::new(config.identity(), rpl);
    let mut node: Box<Node<Router>> =
        Box::new(Node::with_layers(config.unsecured(), routing, discovery, usual()));
    let everything = Route { prefix: ip("2001:db8:77::"), prefix_len: 48, via: NextHop::Host };
    node.interface().add_route(everything).unwrap();
    let addresses = [local(PARENT), global(PARENT)];
    let mut link = Link::new(node, Address::Short(1), Address::Short(PARENT), &addresses);
    // The neighbour cannot read the headers that RPL adds to packets.
    link.reads = false;
    let message = [dio(mode, 128, global(PARENT)), configuration().to_vec()].concat();
    link.send(local(PARENT), local(1), 255, message);
    let message = [dio(mode, 128, global(PARENT)), prefix()].concat();
    link.send(local(PARENT), local(1), 255, message);
    let known = context();
    let known = [&known[..8], &global(0).octets()[..8]].concat();
    link.advertise_router(local(1), 1_800, &[known]);
    link.run(Duration::from_secs(20));
    assert_eq!(link.node.routing().rpl().parent(), Some(local(PARENT)));
    assert!(link.node.is_own(global(1)), "by the prefix of the DODAG");
    link
}

/// RFC 9008, 7 and 8: the option inside the DODAG in storing mode, else an outer header with it.
/// The root is one hop away, so a source route has no further hop.
#[test]
fn segments_leave_room_for_the_headers_that_rpl_adds() {
    for (mode, inside) in [(1, 16), (2, 8)] {
        let link = attached(mode);
        let added = [global(7), ip("2001:db8:66::7")].map(|to| link.node.routing().added_len(to));
        assert_eq!(added, [inside, 16], "mode {mode}");
    }
}

/// Returns all neighbours, routes, contexts and groups, as values.
fn tables(node: &Node<Router>) -> String {
    let (rpl, net) = (node.routing().rpl(), node.net());
    let routes: Vec<_> = rpl.routes().map(|route| (route.target(), route.via())).collect();
    let candidates: Vec<_> = rpl.candidates().map(|it| (it.address, it.rank)).collect();
    let info = rpl.info();
    let own: Vec<_> = (0..8).filter_map(|index| net.own_address(index)).collect();
    let nd = node.net().discovery().nd();
    let near = [local(PARENT), global(PARENT), local(5)].map(|it| nd.resolution(it));
    let groups = ["ff02::1a", "ff05::1", "ff02::2"].map(|group| net.is_member(ip(group)));
    format!(
        "{:?} {} {} {:?} {routes:?} {candidates:?} {own:?} {near:?} {:?} {:?} {groups:?}",
        info.dodag_id,
        info.version,
        info.rank,
        info.parent,
        nd.router(),
        net.contexts()
    )
}

/// Returns the messages that an attacker puts into a tunnel or sends to the host interface.
fn forgeries(mode: u8) -> Vec<Vec<u8>> {
    let (near, me) = (local(PARENT), local(1));
    vec![
        icmpv6(near, me, 255, dio(mode, 0xFFFF, global(PARENT))),
        icmpv6(near, me, 255, dio(mode, 128, ip("2001:db8::666"))),
        icmpv6(local(5), me, 255, dio(mode, 128, global(PARENT))),
        icmpv6(near, global(1), 255, dao(global(7))),
        icmpv6(local(7), me, 255, dao(global(7))),
        icmpv6(global(7), global(1), 64, dao(global(7))),
        icmpv6(near, me, 255, advertisement(&context())),
        icmpv6(near, ip("ff02::1"), 255, advertisement(&link_option(1, Address::Short(5)))),
        icmpv6(near, me, 255, advertisement(&[])),
        icmpv6(local(5), me, 255, [&[135, 0, 0, 0, 0, 0, 0, 0], &local(1).octets()[..]].concat()),
    ]
}

#[test]
fn an_outer_header_of_a_stranger_is_not_removed() {
    for mode in [1, 2] {
        for inner in forgeries(mode) {
            let mut link = attached(mode);
            let before = tables(&link.node);
            let tunnel = packet(ip(OUTSIDE), global(1), 41, 64, &inner);
            link.frame(Address::Short(1), [&[0x41], &tunnel[..]].concat());
            assert_eq!(tables(&link.node), before, "{inner:02x?}");
            assert_eq!(link.node.net().stats().discarded(Discard::Tunnel), 1);
        }
    }
}

#[test]
fn packets_out_of_a_tunnel_of_the_domain_change_no_table() {
    for mode in [1, 2] {
        for inner in forgeries(mode) {
            let mut link = attached(mode);
            let before = tables(&link.node);
            let tunnel = packet(global(PARENT), global(1), 41, 64, &inner);
            link.frame(Address::Short(1), [&[0x41], &tunnel[..]].concat());
            assert_eq!(tables(&link.node), before, "{inner:02x?}");
            let stats = link.node.net().stats();
            assert_eq!(stats.discarded(Discard::Ingress), 1, "{inner:02x?}");
        }
    }
}

#[test]
fn an_outer_header_of_the_domain_is_removed_once() {
    let mut link = attached(1);
    let ping = icmpv6(global(PARENT), global(1), 64, vec![128, 0, 0, 0, 0, 7, 0, 1, 9]);
    let once = packet(global(PARENT), global(1), 41, 64, &ping);
    let before = link.node.net().stats().packets_out;
    link.frame(Address::Short(1), [&[0x41], &once[..]].concat());
    assert_eq!(link.node.net().stats().packets_out, before + 1, "the reply");
    let [short] = [packet(global(PARENT), global(1), 59, 64, &[])];
    let inner = packet(global(PARENT), global(1), 41, 64, &short);
    let twice = packet(global(PARENT), global(1), 41, 64, &inner);
    let frame = [&[0x41], &twice[..]].concat();
    // One frame has no room for three headers.
    let before = link.node.net().stats().discarded(Discard::Tunnel);
    let first = [&[0xC0, twice.len() as u8, 0, 1, 0x41], &twice[..80]].concat();
    let rest = [&[0xE0, twice.len() as u8, 0, 1, 10], &twice[80..]].concat();
    link.frame(Address::Short(1), first);
    link.frame(Address::Short(1), rest);
    assert_eq!(frame.len(), 121);
    assert_eq!(link.node.net().stats().discarded(Discard::Tunnel), before + 1);
}

#[test]
fn the_same_from_a_neighbour_is_taken() {
    // Otherwise the tests above would prove nothing.
    for (mode, n) in [(2, 0), (2, 2), (2, 4), (2, 6), (1, 6)] {
        let mut link = attached(mode);
        let before = tables(&link.node);
        let forged = forgeries(mode).remove(n);
        link.link = if [2, 4].contains(&n) { Address::Short([5, 7][n / 4]) } else { link.link };
        link.frame(Address::Short(1), [&[0x41], &forged[..]].concat());
        assert_ne!(tables(&link.node), before, "{n}");
    }
}

/// A router with a host interface, attached.
struct Attached(Link<Router>);

impl Subject for Attached {
    /// The radio's three, and the packets that wait for the host.
    const DRAIN_BOUND: usize = 64;

    fn fresh(seed: u64) -> Self {
        Attached(attached(1 + (seed % 2) as u8))
    }

    fn operate(&mut self, now: Instant, _: &mut Pcg32) -> String {
        self.0.now = now.max(self.0.now);
        String::new()
    }

    fn poll(&mut self, now: Instant) -> Option<String> {
        self.0.now = now.max(self.0.now);
        self.0.run(Duration::ZERO);
        let mut buf = [0; 1280];
        let len = self.0.node.poll_host_packet(self.0.now, &mut buf)?;
        Some(format!("{len} octets to the host"))
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.node.deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.0.node.handle_deadline(now);
    }

    fn observe(&self) -> String {
        String::new()
    }

    fn intrude(&mut self, now: Instant, random: &mut Pcg32) -> Option<String> {
        let dice = random.next_u32();
        let all = forgeries(1 + (dice >> 8 & 1) as u8);
        let mut inner = all[(dice >> 16) as usize % all.len()].clone();
        if dice & 3 == 0 {
            // Damaged, perhaps so that it has another meaning.
            let at = (dice >> 24) as usize % inner.len();
            inner[at] ^= (dice >> 4) as u8;
        }
        self.0.now = now.max(self.0.now);
        let outside = if dice & 4 == 0 { ip(OUTSIDE) } else { ip("2001:db8:77::1") };
        let inside = [global(PARENT), local(PARENT)][(dice >> 3 & 1) as usize];
        let tunnel = |src| packet(src, global(1), 41, 255, &inner);
        let sent = match dice >> 5 & 3 {
            0 => [&[0x41], &tunnel(outside)[..]].concat(),
            1 | 2 => [&[0x41], &tunnel(inside)[..]].concat(),
            _ => {
                let octets = if dice & 4 == 0 { inner } else { tunnel(outside) };
                self.0.node.handle_host_packet(self.0.now, &octets);
                return Some(format!("host {octets:02x?}"));
            }
        };
        self.0.frame(Address::Short(1), sent.clone());
        Some(format!("{sent:02x?}"))
    }

    fn tables(&self) -> String {
        tables(&self.0.node)
    }
}

#[test]
fn nothing_from_outside_changes_a_table() {
    for seed in 0..16 {
        if let Err(violation) = laws::outside_changes_nothing::<Attached>(seed, 60) {
            panic!("{violation}");
        }
    }
}
