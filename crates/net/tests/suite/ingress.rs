//! The border policy: packets that may cross the host interface of a border router, and counters.

use crate::common::*;
use core::net::Ipv6Addr;
use kinglet_net::{Discard, FROM_HOST, NetConfig, NextHop, TO_HOST};
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::protocol;
use kinglet_wire::sixlowpan::Context;

const OUTSIDE: &str = "2001:db9::1";

fn ip(text: &str) -> Ipv6Addr {
    text.parse().unwrap()
}

/// Returns node 1, whose neighbours are the mesh; all other addresses are behind the host.
fn border() -> Node {
    let mut node = bare(NetConfig { forward: true, ..NetConfig::new(Address::Short(1)) }, 1);
    node.add_route(route(global(0), 64, NextHop::OnLink)).unwrap();
    node.add_route(route("::".parse().unwrap(), 0, NextHop::Host)).unwrap();
    node
}

/// Returns the reason for which a packet of the host is dropped, if it is.
fn dropped(node: &mut Node, octets: &[u8]) -> Option<Discard> {
    let before = (node.info(), node.pending());
    let reason = node.handle_host_packet(NOW, octets).err()?;
    assert_eq!(node.stats().discarded(reason), 1, "counted by its own reason");
    assert_eq!((node.info(), node.pending()), before, "without a word");
    Some(reason)
}

/// Returns Hop-by-Hop Options with the RPL option of this type (RFC 6553, 3), before TCP.
fn rpl_option(kind: u8) -> Vec<u8> {
    [&[protocol::TCP, 0, kind, 4, 0x40, 0, 1, 0], &[0; 20][..]].concat()
}

/// Returns a Routing header of this type with so many segments left, before TCP.
fn routing(kind: u8, left: u8) -> Vec<u8> {
    [&[protocol::TCP, 2, kind, left, 0, 0, 0, 0], &global(4).octets()[..], &[0; 20]].concat()
}

#[test]
fn each_rule_for_packets_of_the_host_has_its_counter() {
    let tcp = [0; 20];
    let whole = |src: &str, dst: Ipv6Addr, kind, body: &[u8]| packet(ip(src), dst, kind, body);
    let inner = whole("fe80::ff:fe00:9", local(3), protocol::ICMPV6, &[155, 1, 0, 0]);
    let behind_options = [&[protocol::IPV6, 0, 1, 4, 0, 0, 0, 0], &inner[..]].concat();
    let group = |scope: u16| Ipv6Addr::new(0xFF00 | scope, 0, 0, 0, 0, 0, 0, 1);
    let cases = [
        (whole(OUTSIDE, global(3), protocol::IPV6, &inner), Discard::BorderTunnel),
        (whole(OUTSIDE, global(1), protocol::IPV6, &inner), Discard::BorderTunnel),
        (whole(OUTSIDE, global(3), protocol::DESTINATION, &behind_options), Discard::BorderTunnel),
        (
            whole(OUTSIDE, global(3), protocol::ROUTING, &routing(3, 1)),
            Discard::BorderRoutingHeader,
        ),
        (
            whole(OUTSIDE, global(3), protocol::ROUTING, &routing(3, 0)),
            Discard::BorderRoutingHeader,
        ),
        (
            whole(OUTSIDE, global(1), protocol::ROUTING, &routing(0, 1)),
            Discard::BorderRoutingHeader,
        ),
        (whole(OUTSIDE, global(3), 0, &rpl_option(0x63)), Discard::BorderRplOption),
        (whole(OUTSIDE, global(3), 0, &rpl_option(0x23)), Discard::BorderRplOption),
        (packet(global(9), global(3), protocol::TCP, &tcp), Discard::BorderSourceInside),
        (packet(global(0x77), global(3), protocol::TCP, &tcp), Discard::BorderSourceInside),
        (packet(global(1), global(3), protocol::TCP, &tcp), Discard::BorderSourceInside),
        (whole("fe80::9", global(3), protocol::TCP, &tcp), Discard::BorderLinkLocal),
        (whole(OUTSIDE, local(1), protocol::TCP, &tcp), Discard::BorderLinkLocal),
        (whole("ff02::1", global(3), protocol::TCP, &tcp), Discard::BorderMulticastSource),
        (whole("::", global(3), protocol::TCP, &tcp), Discard::BorderUnspecified),
        (whole("::1", global(3), protocol::TCP, &tcp), Discard::BorderUnspecified),
        (whole(OUTSIDE, group(1), protocol::UDP, &tcp), Discard::BorderScope),
        (whole(OUTSIDE, group(2), protocol::UDP, &tcp), Discard::BorderScope),
        (whole(OUTSIDE, group(3), protocol::UDP, &tcp), Discard::BorderScope),
        (
            whole(OUTSIDE, global(3), protocol::ROUTING, &[6, 9, 0, 0, 0, 0, 0, 0]),
            Discard::Extensions,
        ),
    ];
    for (octets, reason) in cases {
        assert_eq!(dropped(&mut border(), &octets), Some(reason), "{octets:02x?}");
    }
    let named: Vec<_> = FROM_HOST.iter().chain(TO_HOST).map(|rule| rule.reason).collect();
    for (at, reason) in named.iter().enumerate() {
        assert!(!named[..at].contains(reason), "{reason:?} counts for one rule");
    }
}

/// The report of an invalid extension header would go to a forged source, by radio.
#[test]
fn addresses_are_checked_although_extension_headers_are_invalid() {
    let too_long = |kind: u8| (kind, vec![protocol::TCP, 9, 0, 1, 0, 0, 0, 0]);
    let missing = [&[protocol::FRAGMENT, 2, 253, 1, 0, 0, 0, 0][..], &[0; 16]].concat();
    let chains = [
        too_long(protocol::ROUTING),
        too_long(protocol::DESTINATION),
        too_long(protocol::HOP_BY_HOP),
        (protocol::FRAGMENT, vec![protocol::TCP, 0]),
        (protocol::ROUTING, missing),
    ];
    let sources = [
        (ip("fe80::9"), Discard::BorderLinkLocal),
        (global(9), Discard::BorderSourceInside),
        (global(1), Discard::BorderSourceInside),
        (ip("ff02::1"), Discard::BorderMulticastSource),
        (ip("::"), Discard::BorderUnspecified),
    ];
    for (kind, chain) in &chains {
        for (src, reason) in sources {
            for dst in [global(1), global(3)] {
                let octets = packet(src, dst, *kind, chain);
                assert_eq!(dropped(&mut border(), &octets), Some(reason), "{octets:02x?}");
            }
        }
    }
    let outside = packet(ip(OUTSIDE), global(1), protocol::ROUTING, &chains[0].1);
    assert_eq!(dropped(&mut border(), &outside), Some(Discard::Extensions));
}

#[test]
fn harmless_packets_of_the_host_are_accepted() {
    let passes = |node: &mut Node, octets: &[u8]| {
        assert_eq!(dropped(node, octets), None, "{octets:02x?}");
    };
    let mut node = border();
    assert_eq!(dropped(&mut node, &[0x60; 30]), Some(Discard::Malformed));
    passes(&mut node, &packet(ip(OUTSIDE), global(3), protocol::TCP, &[0; 20]));
    // Unknown options, and a later fragment, whose upper layer is unknown.
    passes(&mut node, &packet(ip(OUTSIDE), global(3), 0, &[6, 0, 1, 4, 0, 0, 0, 0]));
    let later = [protocol::IPV6, 0, 0, 8, 0, 0, 0, 1, 0x60, 0, 0, 0, 0, 0, 0, 0];
    passes(&mut node, &packet(ip(OUTSIDE), global(3), protocol::FRAGMENT, &later));
    // A group that is larger than the mesh and has this node as a member.
    node.join_group(ip("ff05::99")).unwrap();
    passes(&mut node, &packet(ip(OUTSIDE), ip("ff05::99"), protocol::NONE, &[]));
    // A computer behind the host interface with an address of the mesh: the far end of a tunnel.
    node.add_route(route(global(0x42), 128, NextHop::Host)).unwrap();
    passes(&mut node, &packet(global(0x42), global(3), protocol::TCP, &[0; 20]));
}

#[test]
fn packets_to_the_host_have_a_source_in_the_mesh_or_behind_a_route() {
    let sends = |node: &mut Node, octets: &[u8]| {
        hear(node, NOW, 9, Address::Short(1), &plain(octets)).err()
    };
    let to = ip(OUTSIDE);
    let mut node = border();
    let outside = packet(ip("2001:db8:5::5"), to, protocol::TCP, &[0; 20]);
    assert_eq!(sends(&mut node, &outside), Some(Discard::BorderSourceOutside));
    let left = packet(global(9), to, protocol::ROUTING, &routing(3, 1));
    assert_eq!(sends(&mut node, &left), Some(Discard::BorderRouteLeft));
    assert_eq!(node.info().host_queued, 0);
    // A used-up header is harmless.
    let used = packet(global(9), to, protocol::ROUTING, &routing(3, 0));
    assert_eq!(sends(&mut node, &used), None);
    assert_eq!(sends(&mut node, &packet(global(9), to, protocol::TCP, &[0; 20])), None);
    assert_eq!(node.info().host_queued, 2);
    // A prefix in the configuration.
    let mut node = border();
    let via = NextHop::Link(Address::Short(9));
    node.add_route(route(ip("2001:db8:5::"), 48, via)).unwrap();
    assert_eq!(sends(&mut node, &outside), None);
}

const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;

/// Delivers all waiting packets to child 3.
fn fetch(node: &mut Node, now: Instant) {
    while node.handle_data_request(now, 3) {
        let Some((out, _)) = poll(node, LIMITS) else { return };
        node.handle_outcome(now, out.token, true);
    }
}

/// Returns a TCP segment between ports with these flags, or a UDP datagram if there are none.
fn flow(src: Ipv6Addr, dst: Ipv6Addr, ports: [u8; 2], flags: Option<u8>) -> Vec<u8> {
    let mut upper =
        vec![0, ports[0], 0, ports[1], 0, 20, 0, 0, 0, 0, 0, 0, 0x50, 0, 0, 0, 0, 0, 0, 0];
    upper[13] = flags.unwrap_or(0);
    packet(src, dst, if flags.is_some() { protocol::TCP } else { protocol::UDP }, &upper)
}

#[test]
fn strangers_pay_for_what_a_sleeping_child_has_not_asked_for() {
    let (stranger, child) = (ip(OUTSIDE), global(3));
    let sleeping = || {
        let mut node = border();
        node.add_child(3).unwrap();
        node
    };
    // Returns how many of twenty such packets of the host are accepted at once.
    let passed = |node: &mut Node, octets: &[u8]| {
        (0..20)
            .filter(|_| {
                let taken = node.handle_host_packet(NOW, octets);
                assert!(matches!(taken, Ok(None) | Err(Discard::Unsolicited)), "{taken:?}");
                fetch(node, NOW);
                taken.is_ok()
            })
            .count()
    };
    let from_child = |node: &mut Node, octets: &[u8]| {
        hear(node, NOW, 3, Address::Short(1), &plain(octets)).unwrap();
        while node.poll_host_packet(NOW, &Pattern, &mut [0; 1280]).is_some() {}
    };
    let segment = |flags| flow(stranger, child, [9, 80], Some(flags));
    let answer = |flags| flow(child, stranger, [80, 9], Some(flags));
    let mut node = sleeping();
    assert_eq!(passed(&mut node, &segment(ACK)), 11);
    assert_eq!(node.stats().discarded(Discard::Unsolicited), 9);
    // Neither a refusal nor the second step of a handshake makes it a connection of the child.
    for flags in [RST | ACK, SYN | ACK] {
        let mut node = sleeping();
        from_child(&mut node, &answer(flags));
        assert!(passed(&mut node, &segment(ACK)) < 11, "and it has paid for the answer");
    }
    // An acknowledgement shows a connection of the child, but a SYN would open another one.
    let mut node = sleeping();
    from_child(&mut node, &answer(ACK));
    assert_eq!(passed(&mut node, &segment(ACK)), 20);
    assert_eq!(passed(&mut node, &segment(SYN)), 11);
    // It has requested the responses from the peer to which it has sent first, and no others.
    let mut node = sleeping();
    from_child(&mut node, &flow(child, stranger, [80, 9], None));
    assert_eq!(passed(&mut node, &flow(stranger, child, [9, 80], None)), 20);
    assert_eq!(passed(&mut node, &flow(stranger, child, [9, 81], None)), 11);
    let mut node = sleeping();
    assert_eq!(passed(&mut node, &flow(stranger, child, [9, 80], None)), 11);
    from_child(&mut node, &flow(child, stranger, [80, 9], None));
    assert_eq!(passed(&mut node, &flow(stranger, child, [9, 80], None)), 0);
    // A host that a context names is no stranger, and nodes of the mesh are none.
    let mut node = sleeping();
    node.set_context(1, Some(Context { prefix: stranger, len: 128 })).unwrap();
    assert_eq!(passed(&mut node, &segment(SYN)), 20);
    let near = (0..20).filter(|_| {
        let octets = flow(global(9), child, [9, 80], Some(SYN));
        let taken = hear(&mut node, NOW, 9, Address::Short(1), &plain(&octets));
        fetch(&mut node, NOW);
        taken.is_ok()
    });
    assert_eq!(near.count(), 20);
}
