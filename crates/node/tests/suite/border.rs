//! The host interface of a border router.

use crate::common::stream::{Sink, Source};
use crate::common::*;
use crate::stranger::checksum;
use core::net::Ipv6Addr;
use kinglet::net::{InterfaceAddress, NextHop, Route};
use kinglet::tcp::{ConnectionConfig, Handle, ListenConfig, SoftError, State};
use kinglet::time::{Duration, Instant};
use kinglet::{BorderRouter, Node};

const MINUTE: Duration = Duration::from_secs(60);
const PORT: u16 = 80;

fn outside() -> Ipv6Addr {
    "2001:db8:1::1".parse().unwrap()
}

/// A host with the same stack and no radio, at the other end of the border router's interface.
fn host() -> Box<Node<BorderRouter>> {
    let mut host = Box::new(Node::new(config(99, 1), usual()));
    let everywhere = Route { prefix: Ipv6Addr::UNSPECIFIED, prefix_len: 0, via: NextHop::Host };
    host.interface().add_address(InterfaceAddress { address: outside(), prefix_len: 64 }).unwrap();
    host.interface().add_route(everywhere).unwrap();
    host
}

/// Node 1 is a mote, node 2 the border router.
fn network(loss: u32) -> World<BorderRouter> {
    let mut world = World::<BorderRouter>::new(2, usual(), loss, 3);
    let default = |via| Route { prefix: Ipv6Addr::UNSPECIFIED, prefix_len: 0, via };
    let via = NextHop::Link(kinglet::wire::ieee802154::Address::Short(2));
    world.nodes[0].interface().add_route(default(via)).unwrap();
    world.nodes[1].interface().add_route(default(NextHop::Host)).unwrap();
    world
}

/// Moves packets between border router and host. Returns whether there were any.
fn exchange(now: Instant, router: &mut Node<BorderRouter>, host: &mut Node<BorderRouter>) -> bool {
    exchange_through(now, router, host, |_| {})
}

/// As `exchange`, with a closure that may change the packets.
fn exchange_through(
    now: Instant,
    router: &mut Node<BorderRouter>,
    host: &mut Node<BorderRouter>,
    mut between: impl FnMut(&mut [u8]),
) -> bool {
    if host.deadline().is_some_and(|at| at <= now) {
        host.handle_deadline(now);
    }
    let mut buf = [0; 1280];
    let mut moved = false;
    while let Some(len) = router.poll_host_packet(now, &mut buf) {
        between(&mut buf[..len]);
        host.handle_host_packet(now, &buf[..len]);
        moved = true;
    }
    while let Some(len) = host.poll_host_packet(now, &mut buf) {
        between(&mut buf[..len]);
        router.handle_host_packet(now, &buf[..len]);
        moved = true;
    }
    moved
}

#[test]
fn a_mote_and_a_host_talk_tcp_through_the_border_router() {
    for loss in [0, 15] {
        let (mut world, mut host) = (network(loss), host());
        world.hosts_up = false;
        host.streams().listen(PORT, ListenConfig::default()).unwrap();
        let mote = world.nodes[0]
            .streams()
            .connect(world.now, outside(), PORT, Default::default())
            .unwrap();
        let mut server = None;
        let mut sources = [Source::new(1, 20_000), Source::new(2, 20_000)];
        let mut sinks = [Sink::new(1), Sink::new(2)];
        assert!(world.run(MINUTE * 10, |now, nodes| {
            while exchange(now, &mut nodes[1], &mut host) {}
            server = server.or_else(|| host.streams().accept(PORT));
            let Some(server) = server else { return false };
            sources[0].step(&mut nodes[0], mote);
            sources[1].step(&mut host, server);
            let ended = sinks[0].step(&mut host, server).unwrap();
            sinks[1].step(&mut nodes[0], mote).unwrap() && ended
        }));
        assert_eq!(sinks.map(|sink| sink.received), [20_000; 2]);
    }
}

/// RFC 3168 §5: a router marks packets, and all forwarders keep the mark, compressed or not.
#[test]
fn marks_behind_the_border_router_reach_both_ends() {
    let (mut world, mut host) = (network(0), host());
    world.hosts_up = false;
    host.streams().listen(PORT, ListenConfig::default()).unwrap();
    let ecn = ConnectionConfig { ecn: true, ..ConnectionConfig::DEFAULT };
    let mote = world.nodes[0].streams().connect(world.now, outside(), PORT, ecn).unwrap();
    let mut server = None;
    let mut sources = [Source::new(1, 20_000), Source::new(2, 20_000)];
    let mut sinks = [Sink::new(1), Sink::new(2)];
    let (mut capable, mut marks) = ([0; 2], [0; 2]);
    assert!(world.run(MINUTE * 10, |now, nodes| {
        while exchange_through(now, &mut nodes[1], &mut host, |packet| {
            // Every fourth of each sender: ECT(0) and CE are the lower bits of the Traffic Class.
            if packet[1] & 0x30 == 0x20 {
                let count = &mut capable[usize::from(packet[8..24] == outside().octets())];
                *count += 1;
                packet[1] |= if *count % 4 == 0 { 0x10 } else { 0 };
            }
        }) {}
        server = server.or_else(|| host.streams().accept(PORT));
        let Some(server) = server else { return false };
        sources[0].step(&mut nodes[0], mote);
        sources[1].step(&mut host, server);
        let infos = [nodes[0].tcp().info(mote), host.tcp().info(server)];
        for (count, info) in marks.iter_mut().zip(infos.into_iter().flatten()) {
            *count = info.counters.marks.max(*count);
        }
        let ended = sinks[0].step(&mut host, server).unwrap();
        sinks[1].step(&mut nodes[0], mote).unwrap() && ended
    }));
    assert_eq!(sinks.map(|sink| sink.received), [20_000; 2]);
    assert!(marks.iter().all(|count| *count > 1), "{marks:?} of {capable:?}");
}

/// RFC 9293 §3.9.2.2, SHLD-25: the application can read the ICMP errors about a segment.
#[test]
fn an_icmpv6_error_about_a_segment_is_a_soft_error_of_its_connection() {
    const TIME_EXCEEDED: u8 = 3;
    const PARAMETER_PROBLEM: u8 = 4;
    let router: Ipv6Addr = "2001:db8:2::9".parse().unwrap();
    for (kind, soft_error) in
        [(TIME_EXCEEDED, SoftError::TimeExceeded), (PARAMETER_PROBLEM, SoftError::ParameterProblem)]
    {
        let (mut host, now) = (host(), Instant::from_secs(1));
        let handle = host.streams().connect(now, global(1), PORT, Default::default()).unwrap();
        let mut quoted = [0; 1280];
        let len = host.poll_host_packet(now, &mut quoted).unwrap();
        let mut error = [&[kind, 0, 0, 0, 0, 0, 0, 0], &quoted[..len]].concat();
        let sum = checksum(router, outside(), 58, &error);
        error[2..4].copy_from_slice(&sum.to_be_bytes());
        let head = [0x60, 0, 0, 0, 0, error.len() as u8, 58, 64];
        let packet = [&head[..], &router.octets(), &outside().octets(), &error].concat();
        host.handle_host_packet(now, &packet);
        let info = host.tcp().info(handle).unwrap();
        assert_eq!((info.soft_error, info.state), (Some(soft_error), State::SynSent));
    }
}

fn open_to_both(world: &mut World<BorderRouter>, host: &mut Node<BorderRouter>) -> [Handle; 2] {
    let listen = ListenConfig::default();
    host.streams().listen(PORT, listen).unwrap();
    world.nodes[0].streams().listen(PORT, listen).unwrap();
    let quick = ConnectionConfig { nagle: false, pacing: false, ..ConnectionConfig::DEFAULT };
    let handles = [outside(), global(1)]
        .map(|to| world.nodes[1].streams().connect(world.now, to, PORT, quick).unwrap());
    assert!(world.run(MINUTE, |now, nodes| {
        while exchange(now, &mut nodes[1], host) {}
        handles.iter().all(|&handle| nodes[1].tcp().state(handle) == Some(State::Established))
    }));
    handles
}

#[test]
fn a_silent_host_does_not_stop_the_radio_nor_a_radio_without_answers_the_host() {
    let (mut world, mut host) = (network(0), host());
    world.hosts_up = false;
    let [to_host, to_mote] = open_to_both(&mut world, &mut host);
    // Both connections want to send; the host takes no packets for a while.
    for handle in [to_host, to_mote, to_host, to_mote] {
        assert_eq!(world.nodes[1].streams().send(handle, &[7; 900]), Ok(900));
    }
    let mut mote = None;
    assert!(
        world.run(MINUTE, |_, nodes| {
            mote = mote.or_else(|| nodes[0].streams().accept(PORT));
            mote.is_some_and(|handle| nodes[0].tcp().can_recv(handle) == 1_800)
        }),
        "the silent host keeps the radio waiting"
    );
    let server = host.streams().accept(PORT).unwrap();
    assert!(world.run(MINUTE, |now, nodes| {
        while exchange(now, &mut nodes[1], &mut host) {}
        host.tcp().can_recv(server) == 1_800
    }));
    // The radio reaches no node: one datagram at a time is tried and given up.
    world.air.set_loss(100);
    assert_eq!(world.nodes[1].streams().send(to_mote, &[7; 2_000]), Ok(2_000));
    world.run(Duration::from_millis(5), |_, _| false);
    assert_eq!(world.nodes[1].streams().send(to_host, &[7; 500]), Ok(500));
    assert!(world.run(Duration::from_secs(2), |now, nodes| {
        while exchange(now, &mut nodes[1], &mut host) {}
        host.tcp().can_recv(server) == 2_300
    }));
}

#[test]
fn a_drained_border_router_has_nothing_left() {
    let (mut world, mut host) = (network(0), host());
    world.hosts_up = false;
    let handles = open_to_both(&mut world, &mut host);
    let now = world.now;
    for handle in handles {
        world.nodes[1].streams().send(handle, &[7; 3_000]).unwrap();
    }
    let router = &mut world.nodes[1];
    let mut buf = [0; 1280];
    while router.poll_radio(now).is_some() {}
    assert!(router.poll_host_packet(now, &mut buf).is_some());
    while router.poll_host_packet(now, &mut buf).is_some() {}
    assert!(router.poll_radio(now).is_none() && router.poll_host_packet(now, &mut buf).is_none());
}

#[test]
fn a_short_buffer_changes_nothing() {
    let mut world = network(0);
    world.hosts_up = false;
    let now = world.now;
    world.nodes[1].datagrams().ping(now, outside(), 1, 1, &[0; 100]).unwrap();
    let mut buf = [0; 1280];
    assert_eq!(world.nodes[1].poll_host_packet(now, &mut buf[..147]), None);
    assert_eq!(world.nodes[1].poll_host_packet(now, &mut buf), Some(148));
}
