//! Packets for neighbours whose link address neighbour discovery has to find out (RFC 4861, 7.2.2).

use crate::common::{LIMITS, NOW, Pattern, global, local, packet, plain, route};
use core::net::Ipv6Addr;
use kinglet_net::{
    Child, Discard, Discovery, FrameIn, InterfaceAddress, Iphc, Neighbour, Net, NetConfig, NextHop,
    Parked, Partial, Queued, Resolution, Rfc4944, Route, SendError, Sizes, Slot, UdpHandle,
    UdpSocket, Unresolved,
};
use kinglet_time::Instant;
use kinglet_wire::icmpv6::{Kind, unreachable};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::protocol;
use kinglet_wire::sixlowpan::Context;

/// Discovery whose knowledge the test sets. It records its calls.
struct Fake {
    /// Neighbours with their link addresses.
    known: Vec<(Ipv6Addr, Address)>,
    attached: Option<(Ipv6Addr, Address)>,
    router: Option<Ipv6Addr>,
    /// An own address to which others are preferred.
    deprecated: Option<Ipv6Addr>,
    /// An address on the link of this router from which no link address follows.
    solicited: Option<Ipv6Addr>,
    /// True if it cannot resolve any more neighbours.
    is_full: bool,
    /// Contexts with identifiers from this one on do not compress headers.
    contexts: u8,
    wanted: Vec<Ipv6Addr>,
    used: Vec<Ipv6Addr>,
    progressed: Vec<Ipv6Addr>,
    unknown_contexts: u32,
}

impl Discovery for Fake {
    const NONE: Self = Fake {
        known: Vec::new(),
        attached: None,
        router: None,
        deprecated: None,
        solicited: None,
        is_full: false,
        contexts: u8::MAX,
        wanted: Vec::new(),
        used: Vec::new(),
        progressed: Vec::new(),
        unknown_contexts: 0,
    };
    const PRESENT: bool = true;
    const SERVES: bool = true;
    const ICMPV6: &'static [u8] = &[133, 134, 135, 136];
    type Unresolved = [Option<Unresolved>; 2];

    fn resolve(&self, neighbour: Ipv6Addr) -> Resolution {
        let known = self.known.iter().chain(&self.attached).find(|it| it.0 == neighbour);
        known.map_or(Resolution::Unknown, |it| Resolution::To(it.1))
    }

    fn attached(&self, address: Ipv6Addr) -> Option<Address> {
        self.attached.filter(|it| it.0 == address).map(|it| it.1)
    }

    fn want(&mut self, _: Instant, neighbour: Ipv6Addr) -> bool {
        self.wanted.push(neighbour);
        !self.is_full
    }

    fn handle_use(&mut self, _: Instant, neighbour: Ipv6Addr) {
        self.used.push(neighbour);
    }

    fn handle_progress(&mut self, _: Instant, neighbour: Ipv6Addr) {
        self.progressed.push(neighbour);
    }

    fn router(&self) -> Option<Ipv6Addr> {
        self.router
    }

    fn is_deprecated(&self, address: Ipv6Addr) -> bool {
        self.deprecated == Some(address)
    }

    fn solicits(&self, address: Ipv6Addr) -> bool {
        self.solicited == Some(address)
    }

    fn compresses(&self, context: u8) -> bool {
        context < self.contexts
    }

    fn handle_unknown_context(&mut self, _: Instant) {
        self.unknown_contexts += 1;
    }
}

struct Plan;

impl Sizes for Plan {
    type Storage = [u8; 1280];
    type Packets = [Slot<Self::Storage>; 8];
    type Reassembly = [Option<Partial>; 1];
    type Output = [Option<Queued>; 4];
    type Host = [Option<Queued>; 0];
    type Children = [Option<Child>; 0];
    type Indirect = [Option<Parked>; 0];
    type Addresses = [Option<InterfaceAddress>; 2];
    type Groups = [Option<Ipv6Addr>; 1];
    type Routes = [Option<Route>; 2];
    type Neighbours = [Option<Neighbour>; 1];
    type Contexts = [Option<Context>; 2];
    type Routing = ();
    type Discovery = Fake;
    type Fragmentation = Rfc4944;
    type Border = ();
    type Ipv6Fragments = ();
    type Headers = Iphc;
    type UdpSockets = [UdpSocket; 1];
}

type Node = Net<Plan, u32>;

const PACKETS: usize = 8;
const LINK: Address = Address::Short(77);
const OUTSIDE: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB9, 0, 0, 0, 0, 0, 1);

/// Returns a forwarding node with its prefix on-link, and its socket.
fn node() -> (Node, UdpHandle) {
    let mut node = Node::new(NetConfig { forward: true, ..NetConfig::new(Address::Short(2)) });
    node.add_address(InterfaceAddress { address: global(2), prefix_len: 64 }).unwrap();
    node.add_route(route(global(0), 64, NextHop::OnLink)).unwrap();
    let socket = node.udp_bind(7).unwrap();
    (node, socket)
}

/// Returns link destination and payload of each frame that is sent.
fn frames(node: &mut Node) -> Vec<(Address, Vec<u8>)> {
    let mut buf = [0; 128];
    std::iter::from_fn(|| {
        let out = node.poll_frame(NOW, LIMITS, &Pattern, &mut buf)?;
        Some((out.dst, buf[..out.len].to_vec()))
    })
    .collect()
}

/// Processes a packet from neighbour 1.
fn hear(node: &mut Node, octets: &[u8]) -> Result<(), Discard> {
    let payload = &plain(octets);
    node.handle_frame(NOW, FrameIn { src: Address::Short(1), dst: Address::Short(2), payload })?;
    Ok(())
}

fn found(node: &mut Node, neighbour: Ipv6Addr, link: Address) {
    node.discovery_mut().known.push((neighbour, link));
    node.handle_resolution(NOW, neighbour, true);
}

#[test]
fn packets_wait_for_the_link_address_of_their_neighbour_and_keep_their_order() {
    let (mut node, socket) = node();
    for (dst, text) in [(5, b"one"), (6, b"two"), (5, b"six")] {
        node.udp_send(NOW, socket, global(dst), 7, text).unwrap();
        if text == b"two" {
            // A neighbour without a waiting packet changes nothing.
            found(&mut node, global(9), LINK);
            assert!(frames(&mut node).is_empty());
            found(&mut node, global(6), Address::Short(66));
            let sent = frames(&mut node);
            assert!(
                matches!(&sent[..], [(to, it)] if *to == Address::Short(66) && it.ends_with(text))
            );
        }
    }
    assert_eq!(node.discovery().wanted, [global(5), global(6), global(5)]);
    assert!(frames(&mut node).is_empty());
    found(&mut node, global(5), LINK);
    let sent = frames(&mut node);
    let texts: Vec<_> = sent.iter().map(|(to, it)| (*to, &it[it.len() - 3..])).collect();
    assert_eq!(texts, [(LINK, &b"one"[..]), (LINK, &b"six"[..])]);
    assert_eq!(node.info().free_packets, PACKETS);
}

#[test]
fn a_packet_for_a_neighbour_that_is_not_found_is_reported_to_its_sender() {
    let (mut node, socket) = node();
    node.discovery_mut().known.push((global(1), Address::Short(1)));
    hear(&mut node, &packet(global(1), global(9), protocol::TCP, &[0; 20])).unwrap();
    assert!(frames(&mut node).is_empty());
    node.handle_resolution(NOW, global(9), false);
    let sent = frames(&mut node);
    let [(to, error)] = &sent[..] else { panic!("one error: {sent:?}") };
    let mut message = [0; 8];
    Kind::DestinationUnreachable { code: unreachable::ADDRESS }.emit(&mut message).unwrap();
    assert_eq!(*to, Address::Short(1));
    assert!(error.windows(2).any(|octets| octets == &message[..2]));
    assert_eq!((node.stats().errors_out, node.stats().discarded(Discard::NoRoute)), (1, 1));
    // An own packet is only dropped.
    node.udp_send(NOW, socket, global(9), 7, b"own").unwrap();
    node.handle_resolution(NOW, global(9), false);
    assert_eq!((frames(&mut node), node.info().free_packets), (vec![], PACKETS));
    assert_eq!((node.stats().errors_out, node.stats().discarded(Discard::NoRoute)), (1, 2));
}

#[test]
fn a_full_table_drops_the_oldest_packet_for_the_same_neighbour_or_else_of_all() {
    for (dsts, kept) in [([5, 6, 6], [5, 6]), ([5, 6, 5], [5, 6]), ([5, 6, 8], [6, 8])] {
        let (mut node, socket) = node();
        for (n, dst) in (0..).zip(dsts) {
            node.udp_send(NOW, socket, global(dst), 7, &[n; 5]).unwrap();
        }
        assert_eq!(node.stats().discarded(Discard::QueueFull), 1);
        assert_eq!(node.info().free_packets, PACKETS - 2);
        for dst in kept {
            found(&mut node, global(dst), Address::Short(dst));
            let sent = frames(&mut node);
            let last = dsts.iter().rposition(|it| *it == dst).unwrap() as u8;
            let [(to, octets)] = &sent[..] else { panic!("{dsts:?}: {sent:?}") };
            assert!(*to == Address::Short(dst) && octets.ends_with(&[last; 5]), "{dsts:?}");
        }
        assert_eq!(node.info().free_packets, PACKETS);
    }
}

#[test]
fn a_packet_that_cannot_wait_is_refused() {
    let (mut node, socket) = node();
    node.discovery_mut().is_full = true;
    let sent = node.udp_send(NOW, socket, global(5), 7, b"x");
    assert_eq!((sent, node.info().free_packets), (Err(SendError::QueueFull), PACKETS));
    assert_eq!(node.stats().discarded(Discard::NoRoute), 0, "its sender is told");
    // No default router is known either.
    node.discovery_mut().is_full = false;
    assert_eq!(node.udp_send(NOW, socket, OUTSIDE, 7, b"x"), Err(SendError::NoRoute));
    assert_eq!(node.discovery().wanted, [global(5)]);
}

#[test]
fn a_packet_without_a_route_waits_for_the_default_router() {
    let (mut node, socket) = node();
    node.discovery_mut().router = Some(local(9));
    node.udp_send(NOW, socket, OUTSIDE, 7, b"out").unwrap();
    assert!(frames(&mut node).is_empty());
    assert_eq!(node.discovery().wanted, [local(9)]);
    found(&mut node, local(9), LINK);
    assert_eq!(frames(&mut node)[0].0, LINK);
    node.udp_send(NOW, socket, OUTSIDE, 7, b"out").unwrap();
    assert_eq!(frames(&mut node)[0].0, LINK);
    assert_eq!(node.discovery().used, [local(9); 2]);
}

#[test]
fn discovery_learns_of_the_use_and_the_progress_of_the_neighbours_that_it_resolves() {
    let (mut node, socket) = node();
    let prefix = Ipv6Addr::new(0x2001, 0xDB9, 0, 0, 0, 0, 0, 0);
    node.add_route(route(prefix, 64, NextHop::Link(Address::Short(3)))).unwrap();
    node.add_neighbour(Neighbour { address: local(3), link: Address::Short(3) }).unwrap();
    let links = [(global(5), LINK), (local(5), LINK)];
    node.discovery_mut().known.extend(links);
    node.discovery_mut().attached = Some((global(8), Address::Short(8)));
    let group = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);
    for (dst, is_resolved) in [
        (global(5), true),
        (local(5), true),
        (local(3), false),  // static
        (OUTSIDE, false),   // by a static router
        (global(8), false), // registered here
        (group, false),
    ] {
        let expected: Vec<_> = is_resolved.then_some(dst).into_iter().collect();
        node.udp_send(NOW, socket, dst, 7, b"x").unwrap();
        assert_eq!(frames(&mut node).len(), 1, "{dst}");
        assert_eq!(std::mem::take(&mut node.discovery_mut().used), expected, "{dst}");
        node.note_progress(NOW, dst);
        assert_eq!(std::mem::take(&mut node.discovery_mut().progressed), expected, "{dst}");
    }
}

#[test]
fn a_registered_address_is_reached_regardless_of_routes() {
    let (mut node, socket) = node();
    node.discovery_mut().attached = Some((OUTSIDE, LINK));
    node.udp_send(NOW, socket, OUTSIDE, 7, b"x").unwrap();
    assert_eq!(frames(&mut node)[0].0, LINK);
}

/// Returns a node with its prefix and without routes.
fn without_routes() -> (Node, UdpHandle) {
    let mut node = Node::new(NetConfig { forward: true, ..NetConfig::new(Address::Short(2)) });
    node.add_address(InterfaceAddress { address: global(2), prefix_len: 64 }).unwrap();
    let socket = node.udp_bind(7).unwrap();
    (node, socket)
}

#[test]
fn an_address_of_an_own_prefix_that_did_not_register_is_resolved_unless_a_route_leads_there() {
    let shorter = route(global(0), 48, NextHop::Link(Address::Short(3)));
    let longer = route(global(0), 64, NextHop::Link(Address::Short(3)));
    for (solicited, dst, fixed, is_resolved) in [
        (global(5), global(5), None, true),
        (global(6), global(5), None, false),
        (OUTSIDE, OUTSIDE, None, false),
        (global(5), global(5), Some(shorter), true),
        (global(5), global(5), Some(longer), false),
    ] {
        let (mut node, socket) = without_routes();
        fixed.map_or(Ok(()), |it| node.add_route(it)).unwrap();
        node.discovery_mut().solicited = Some(solicited);
        let sent = node.udp_send(NOW, socket, dst, 7, b"x");
        assert_eq!(sent.is_ok(), is_resolved || fixed.is_some(), "{dst} {fixed:?}");
        assert_eq!(node.discovery().wanted.contains(&dst), is_resolved, "{dst} {fixed:?}");
        assert_eq!(frames(&mut node).len(), usize::from(sent.is_ok() && !is_resolved));
    }
}

/// RFC 6724, 5, rule 3.
#[test]
fn a_deprecated_address_is_the_source_only_if_there_is_no_other() {
    let (mut node, _) = without_routes();
    let other = Ipv6Addr::new(0x2001, 0xDB9, 0, 0, 0, 0, 0, 2);
    assert_eq!(node.source_for(global(5)), Some(global(2)));
    node.discovery_mut().deprecated = Some(global(2));
    assert_eq!(node.source_for(global(5)), Some(global(2)));
    node.add_address(InterfaceAddress { address: other, prefix_len: 64 }).unwrap();
    assert_eq!(node.source_for(global(5)), Some(other));
    node.discovery_mut().deprecated = None;
    assert_eq!(node.source_for(global(5)), Some(global(2)));
}

#[test]
fn a_context_compresses_only_if_discovery_allows_it_and_expands_in_any_case() {
    let context = Context { prefix: Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0), len: 64 };
    let sent = |contexts| {
        let (mut node, socket) = node();
        node.set_context(0, Some(context)).unwrap();
        node.discovery_mut().contexts = contexts;
        node.discovery_mut().known.push((global(5), Address::Short(5)));
        node.udp_send(NOW, socket, global(5), 7, b"text").unwrap();
        frames(&mut node).remove(0).1
    };
    let (long, short) = (sent(0), sent(1));
    assert_eq!(long.len(), short.len() + 2 * 16, "two addresses");
    for (knows, frame, unknown) in [(true, &short, 0), (false, &short, 1), (false, &long, 0)] {
        let mut node = Node::new(NetConfig::new(Address::Short(5)));
        node.add_address(InterfaceAddress { address: global(5), prefix_len: 64 }).unwrap();
        node.discovery_mut().contexts = 0;
        node.udp_bind(7).unwrap();
        node.set_context(0, Some(context).filter(|_| knows)).unwrap();
        let frame = FrameIn { src: Address::Short(2), dst: Address::Short(5), payload: frame };
        assert_eq!(node.handle_frame(NOW, frame).is_err(), unknown == 1);
        assert_eq!(node.discovery().unknown_contexts, unknown);
    }
}

/// RFC 4861, 7.2.1: the solicited-node group of each own address; RFC 6775, 6.5.5: a router is
/// also in the group of all routers.
//= rfc6775#6.5.5-2 type=test
#[test]
fn a_node_is_in_the_groups_by_which_discovery_finds_it() {
    let group = |text: &str| text.parse::<Ipv6Addr>().unwrap();
    for (forward, dst, is_in) in [
        (true, group("ff02::1:ff00:2"), true),
        (true, group("ff02::1:ff00:3"), false),
        (true, group("ff02::2"), true),
        (false, group("ff02::2"), false),
        (false, group("ff02::1:ff00:2"), true),
        (true, group("ff02::1"), true),
        (true, group("ff02::7"), false),
    ] {
        let mut node = Node::new(NetConfig { forward, ..NetConfig::new(Address::Short(2)) });
        node.add_address(InterfaceAddress { address: global(2), prefix_len: 64 }).unwrap();
        node.udp_bind(7).unwrap();
        let datagram = packet(local(1), dst, 0xFD, &[0; 8]);
        let why = hear(&mut node, &datagram).unwrap_err();
        assert_eq!(why == Discard::Protocol, is_in, "{forward} {dst}: {why:?}");
    }
}
