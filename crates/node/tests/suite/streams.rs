//! TCP between nodes, through every layer.

use crate::common::stream::{Sink, Source};
use crate::common::*;
use kinglet::radio::Capabilities;
use kinglet::tcp::{
    ConnectionConfig, ConnectionError, Handle, ListenConfig, RecvError, SendError, State,
};
use kinglet::time::{Duration, Instant};
use kinglet::{BorderRouter, Mote, Router, StreamConnectError};

const HOUR: Duration = Duration::from_secs(3_600);
const PORT: u16 = 80;

/// An MSS of about five frames.
fn connection() -> ConnectionConfig {
    ConnectionConfig { mss: 460, ..ConnectionConfig::DEFAULT }
}

fn listen() -> ListenConfig {
    ListenConfig { backlog: 2, connection: connection(), ..ListenConfig::default() }
}

/// Opens a connection from the first node to the last.
fn open<P: Plan>(world: &mut World<P>) -> (Handle, Handle) {
    let last = world.nodes.len() - 1;
    let _ = world.nodes[last].streams().listen(PORT, listen());
    let to = global(last as u16 + 1);
    let client = world.nodes[0].streams().connect(world.now, to, PORT, connection()).unwrap();
    let mut server = None;
    assert!(world.run(HOUR, |_, nodes| {
        server = server.or_else(|| nodes[last].streams().accept(PORT));
        server.is_some() && nodes[0].tcp().state(client) == Some(State::Established)
    }));
    (client, server.unwrap())
}

/// Sends `up` octets from first to last and `down` back, and closes both ends. Returns the
/// duration.
fn transfer<P: Plan>(world: &mut World<P>, up: usize, down: usize) -> Duration {
    let last = world.nodes.len() - 1;
    let start = world.now;
    let (client, server) = open(world);
    let mut sources = [Source::new(1, up), Source::new(2, down)];
    let mut sinks = [Sink::new(2), Sink::new(1)];
    let done = world.run(HOUR, |_, nodes| {
        sources[0].step(&mut nodes[0], client);
        sources[1].step(&mut nodes[last], server);
        let ended = sinks[0].step(&mut nodes[0], client).unwrap();
        sinks[1].step(&mut nodes[last], server).unwrap() && ended
    });
    assert!(done, "{sources:?} {sinks:?}");
    assert_eq!((sinks[0].received, sinks[1].received), (down, up));
    if up == 0 {
        world.nodes[0].streams().close(client).unwrap();
    }
    world.now - start
}

fn streams_flow_on<P: Plan>() {
    for loss in [0, 10, 20, 30] {
        let took = transfer(&mut World::<P>::new(2, usual(), loss, 11), 20_000, 20_000);
        // 40 kB at the 75 kb/s of one hop (TCPlp, 6.3) take 4.3 s; the return path halves that.
        assert!(loss > 0 || took < Duration::from_secs(10), "{took:?}");
    }
}

#[test]
fn streams_flow_in_both_directions_under_loss_between_motes() {
    streams_flow_on::<Mote>();
}

#[test]
fn a_stream_survives_events_that_drivers_lose() {
    for capabilities in [Capabilities::NONE, usual()] {
        let mut world = World::<Mote>::new(3, capabilities, 0, 11);
        world.air.lose_events(60);
        transfer(&mut world, 10_000, 10_000);
        let silent = world.nodes.iter().map(|node| node.mac().stats().radio_silent);
        assert!(silent.sum::<u32>() >= 5, "that were lost");
    }
}

#[test]
fn streams_flow_in_both_directions_under_loss_between_routers() {
    streams_flow_on::<Router>();
}

#[test]
fn streams_flow_in_both_directions_under_loss_between_border_routers() {
    streams_flow_on::<BorderRouter>();
}

#[test]
fn streams_cross_middle_nodes() {
    for (count, loss) in [(3, 0), (3, 10), (4, 5)] {
        let mut world = World::<Router>::new(count, usual(), loss, 5);
        for node in &mut world.nodes {
            // Against hidden terminals: the ends of three nodes are hidden from each other (TCPlp,
            // 7.1).
            node.set_retry_delay(Duration::from_millis(40));
        }
        transfer(&mut world, 12_000, 12_000);
        assert!(world.nodes[1].net().stats().forwarded > 50);
    }
}

#[test]
fn a_link_retry_delay_parts_ends_that_would_retransmit_in_step() {
    // Without it these two time out: both have backed off to the same RTO, so that their segments
    // collide at the middle node every time, with all retries within CSMA-CA's few milliseconds.
    let mut world = World::<Router>::new(3, usual(), 15, 114);
    world.nodes.iter_mut().for_each(|node| node.set_retry_delay(Duration::from_millis(40)));
    assert!(transfer(&mut world, 8_000, 8_000) < Duration::from_secs(60));
}

#[test]
fn a_middle_node_has_streams_of_its_own_while_it_forwards() {
    let mut world = World::<Router>::new(3, usual(), 2, 6);
    world.nodes.iter_mut().for_each(|node| node.set_retry_delay(Duration::from_millis(40)));
    let (through, server) = open(&mut world);
    let own = world.nodes[1].streams().connect(world.now, global(3), PORT, connection()).unwrap();
    let mut own_server = None;
    let mut sources = [Source::new(1, 15_000), Source::new(2, 15_000)];
    let mut sinks = [Sink::new(1), Sink::new(2)];
    let mut through_when_own_is_done = None;
    assert!(world.run(HOUR, |_, nodes| {
        own_server = own_server.or_else(|| nodes[2].streams().accept(PORT));
        sources[0].step(&mut nodes[0], through);
        sources[1].step(&mut nodes[1], own);
        let through_done = sinks[0].step(&mut nodes[2], server).unwrap();
        let own_done = own_server.is_some_and(|own| sinks[1].step(&mut nodes[2], own).unwrap());
        if own_done {
            through_when_own_is_done.get_or_insert(sinks[0].received);
        }
        through_done && own_done
    }));
    // Half the hops give an advantage, and no monopoly.
    assert!(through_when_own_is_done > Some(1_500), "{through_when_own_is_done:?}");
    assert_eq!((sinks[0].received, sinks[1].received), (15_000, 15_000));
}

#[test]
fn one_side_can_close_and_still_receive() {
    let mut world = World::<Mote>::new(2, usual(), 10, 7);
    let (client, server) = open(&mut world);
    world.nodes[0].streams().close(client).unwrap();
    let (mut end, mut reply, mut back) = (Sink::new(0), Source::new(3, 9_000), Sink::new(3));
    assert!(world.run(HOUR, |_, nodes| {
        if end.step(&mut nodes[1], server).unwrap() {
            reply.step(&mut nodes[1], server);
        }
        back.step(&mut nodes[0], client).unwrap()
    }));
    assert_eq!((end.received, back.received), (0, 9_000));
    assert_eq!(world.nodes[0].streams().send(client, b"x"), Err(SendError::Closed));
}

#[test]
fn octets_parts_and_constant_data_arrive_in_the_order_in_which_they_were_queued() {
    let mut world = World::<Mote>::new(2, usual(), 0, 7);
    let (client, server) = open(&mut world);
    let mut streams = world.nodes[0].streams();
    assert_eq!(streams.send(client, b"one "), Ok(4));
    assert_eq!(streams.send_vectored(client, &[b"two ", b"", b"three "]), Ok(10));
    assert_eq!(streams.send_static(client, b"four"), Ok(4));
    let mut received = Vec::new();
    assert!(world.run(HOUR, |_, nodes| {
        let mut buf = [0; 32];
        let count = nodes[1].streams().recv(server, &mut buf).unwrap_or(0);
        received.extend_from_slice(&buf[..count]);
        received.len() == 18
    }));
    assert_eq!(received, b"one two three four");
}

#[test]
fn a_port_that_no_longer_listens_accepts_no_further_connection() {
    let mut world = World::<Mote>::new(2, usual(), 0, 7);
    open(&mut world);
    world.nodes[1].streams().unlisten(PORT);
    let config = connection();
    let second = world.nodes[0].streams().connect(world.now, global(2), PORT, config).unwrap();
    assert!(world.run(HOUR, |_, nodes| nodes[0].tcp().state(second) != Some(State::SynSent)));
    assert_eq!(world.nodes[0].tcp().state(second), Some(State::Closed));
    assert_eq!(world.nodes[1].streams().accept(PORT), None);
}

/// The link does not repeat frames here, so that a segment is lost with any of its frames.
#[test]
fn segments_become_shorter_where_many_are_lost_if_the_connection_allows_it() {
    let segment_size = |loss, adaptive_mss| {
        let mut world = World::<Mote>::new(2, usual(), loss, 11);
        world.nodes = (1..=2)
            .map(|n| node_with(n, 1, 2, usual(), |config| config.mac.max_frame_retries = 0))
            .collect();
        let config = ConnectionConfig { adaptive_mss, ..ConnectionConfig::DEFAULT };
        world.nodes[1].streams().listen(PORT, ListenConfig::default()).unwrap();
        let client = world.nodes[0].streams().connect(world.now, global(2), PORT, config).unwrap();
        let (mut source, mut sink, mut server) = (Source::new(1, 30_000), Sink::new(1), None);
        let mut least = u32::MAX;
        assert!(world.run(HOUR, |_, nodes| {
            server = server.or_else(|| nodes[1].streams().accept(PORT));
            source.step(&mut nodes[0], client);
            least = least.min(nodes[0].tcp().info(client).map_or(least, |info| info.mss));
            server.is_some_and(|server| sink.step(&mut nodes[1], server).unwrap())
        }));
        least
    };
    let usual = segment_size(0, true);
    assert_eq!(segment_size(15, false), usual);
    assert!(segment_size(15, true) < usual);
}

#[test]
fn an_abort_resets_the_other_end() {
    let mut world = World::<Mote>::new(2, usual(), 0, 8);
    let (client, server) = open(&mut world);
    world.nodes[0].streams().abort(client).unwrap();
    let mut sink = Sink::new(0);
    let mut error = None;
    assert!(world.run(HOUR, |_, nodes| {
        error = sink.step(&mut nodes[1], server).err();
        error.is_some()
    }));
    assert_eq!(error, Some(RecvError::Ended(ConnectionError::Reset)));
    assert_eq!(world.nodes[0].tcp().state(client), None);
}

#[test]
fn connections_share_a_node() {
    let mut world = World::<BorderRouter>::new(2, usual(), 5, 9);
    let pairs: Vec<_> = (0..4).map(|_| open(&mut world)).collect();
    let mut sources: Vec<_> = (0..4).map(|id| Source::new(id, 8_000)).collect();
    let mut sinks: Vec<_> = (0..4).map(Sink::new).collect();
    assert!(world.run(HOUR, |_, nodes| {
        pairs.iter().zip(&mut sources).for_each(|(pair, source)| {
            source.step(&mut nodes[0], pair.0);
        });
        let sinks = pairs.iter().zip(&mut sinks);
        sinks.fold(true, |all, (pair, sink)| sink.step(&mut nodes[1], pair.1).unwrap() && all)
    }));
    assert!(sinks.iter().all(|sink| sink.received == 8_000));
}

#[test]
fn a_slot_serves_one_connection_after_the_other() {
    let mut world = World::<Mote>::new(2, usual(), 0, 10);
    for round in 0..6 {
        let took = transfer(&mut world, 1_000, 1_000);
        assert!(took < Duration::from_secs(200), "round {round} took {took:?}");
    }
}

#[test]
fn after_a_reboot_the_peer_learns_that_its_connection_is_gone_and_opens_another() {
    for loss in [0, 20] {
        let mut world = World::<Mote>::new(2, usual(), loss, 12);
        let (client, _) = open(&mut world);
        let mut source = Source { close: false, ..Source::new(1, 100_000) };
        world.run(Duration::from_secs(2), |_, nodes| source.step(&mut nodes[0], client));
        assert!(source.sent < source.total, "mid-transfer");
        world.reboot(1);
        assert!(world.run(HOUR, |_, nodes| nodes[0].tcp().state(client) == Some(State::Closed)));
        let error = world.nodes[0].tcp().info(client).unwrap().error;
        assert_eq!(error, Some(ConnectionError::Reset), "what the new life answers");
        let _ = world.nodes[0].streams().close(client);
        transfer(&mut world, 5_000, 5_000);
    }
}

#[test]
fn a_peer_that_falls_silent_is_given_up_in_bounded_time() {
    let mut world = World::<Mote>::new(2, usual(), 0, 13);
    let (client, _) = open(&mut world);
    world.air.set_loss(100);
    world.nodes[0].streams().send(client, b"anybody there?").unwrap();
    assert!(world.run(HOUR, |_, nodes| nodes[0].tcp().state(client) == Some(State::Closed)));
    let error = world.nodes[0].tcp().info(client).unwrap().error;
    assert_eq!(error, Some(ConnectionError::TimedOut));
}

#[test]
fn a_port_without_a_listener_refuses() {
    let mut world = World::<Mote>::new(2, usual(), 0, 14);
    let client = world.nodes[0].streams().connect(world.now, global(2), 81, connection()).unwrap();
    let closed = |nodes: &mut [Box<kinglet::Node<Mote>>]| nodes[0].tcp().state(client);
    assert!(world.run(HOUR, |_, nodes| closed(nodes) == Some(State::Closed)));
    let error = world.nodes[0].tcp().info(client).unwrap().error;
    assert_eq!(error, Some(ConnectionError::Refused));
}

#[test]
fn without_a_route_no_connection_is_opened() {
    let mut world = World::<Mote>::new(2, usual(), 0, 15);
    let nowhere = "2001:db8:1::1".parse().unwrap();
    let connected = world.nodes[0].streams().connect(world.now, nowhere, PORT, connection());
    assert_eq!(connected, Err(StreamConnectError::NoRoute));
    world.nodes[0].set_parent(world.now, Some(2)).unwrap();
    let connected = world.nodes[0].streams().connect(world.now, nowhere, PORT, connection());
    assert!(connected.is_ok());
}

#[test]
fn a_connection_that_loses_its_route_ends_at_once() {
    let mut world = World::<Mote>::new(2, usual(), 0, 15);
    let client =
        world.nodes[0].streams().connect(world.now, global(2), PORT, connection()).unwrap();
    assert!(world.nodes[0].interface().remove_route(global(2), 128));
    let before = world.now;
    assert!(world.run(HOUR, |_, nodes| nodes[0].tcp().state(client) == Some(State::Closed)));
    assert!(world.now - before < Duration::from_secs(1));
    let error = world.nodes[0].tcp().info(client).unwrap().error;
    assert_eq!(error, Some(ConnectionError::Unreachable));
    assert_eq!(world.nodes[0].stats().unroutable_segments, 1);
}

#[test]
fn a_router_that_reports_no_route_ends_a_connection_that_is_being_opened() {
    let mut world = World::<Router>::new(3, usual(), 0, 16);
    assert!(world.nodes[1].interface().remove_route(global(3), 128));
    let client =
        world.nodes[0].streams().connect(world.now, global(3), PORT, connection()).unwrap();
    let before = world.now;
    assert!(world.run(HOUR, |_, nodes| nodes[0].tcp().state(client) == Some(State::Closed)));
    assert!(world.now - before < Duration::from_secs(1));
    let error = world.nodes[0].tcp().info(client).unwrap().error;
    assert_eq!(error, Some(ConnectionError::Unreachable));
    // TCP was notified; errors about other protocols stay for the application.
    assert_eq!(world.nodes[0].datagrams().poll_error(), None);
}

#[test]
fn a_node_without_an_address_cannot_connect() {
    let mut node = Box::new(kinglet::Node::<Mote>::new(config(1, 1), usual()));
    let connected = node.streams().connect(Instant::from_secs(1), global(2), PORT, connection());
    assert_eq!(connected, Err(StreamConnectError::NoSourceAddress));
}

//= rfc9293#MUST-16
#[test]
fn pitfalls_074_and_098_an_mss_above_the_mtu_is_bounded_on_both_sides() {
    let mut world = World::<Mote>::new(2, usual(), 0, 17);
    let huge = ConnectionConfig { mss: 9_000, ..ConnectionConfig::DEFAULT };
    world.nodes[1]
        .streams()
        .listen(PORT, ListenConfig { backlog: 1, connection: huge, ..ListenConfig::default() })
        .unwrap();
    let client = world.nodes[0].streams().connect(world.now, global(2), PORT, huge).unwrap();
    let (mut source, mut sink, mut server) = (Source::new(1, 20_000), Sink::new(1), None);
    assert!(world.run(HOUR, |_, nodes| {
        server = server.or_else(|| nodes[1].streams().accept(PORT));
        source.step(&mut nodes[0], client);
        server.is_some_and(|server| sink.step(&mut nodes[1], server).unwrap())
    }));
    assert_eq!(sink.received, 20_000);
    assert_eq!(world.nodes[0].stats().unroutable_segments, 0);
}

#[test]
fn csma_in_hardware_serves_as_well() {
    let capabilities = usual() | kinglet::radio::Capabilities::CSMA;
    let mut world = World::<Mote>::new(2, capabilities, 10, 18);
    transfer(&mut world, 10_000, 10_000);
    assert!(world.air.hardware_backoffs > 20);
}
