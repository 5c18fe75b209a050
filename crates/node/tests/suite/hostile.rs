//! Arbitrary octets, events and calls in any order: a node neither panics nor stops working.

use crate::common::*;
use kinglet::net::{NextHop, Route};
use kinglet::radio::{Ack, Capabilities, Event};
use kinglet::tcp::{ConnectionConfig, KeepAlive, ListenConfig};
use kinglet::time::{Duration, Instant};
use kinglet::{BorderRouter, Mote, Node};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Call {
    /// An MPDU to this node with this payload.
    Frame(Vec<u8>),
    Noise(Vec<u8>),
    HostPacket(Vec<u8>),
    Transmitted(u8),
    Busy,
    Missed,
    Deadline,
    Refuse,
    Drain,
    Connect(u16, u16, bool),
    Accept,
    Send(usize),
    Receive(usize),
    Close,
    Abort,
    Datagram(usize),
    Ping(usize),
    Wait(u64),
}

fn octets(most: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..most)
}

/// Octets that a layer parses beyond the first one: a 6LoWPAN dispatch, then anything.
fn lowpan() -> impl Strategy<Value = Vec<u8>> {
    let dispatch = prop_oneof![
        Just(vec![0x41, 0x60, 0, 0, 0]),
        Just(vec![0x7a, 0x33, 0x06]),
        Just(vec![0x7e, 0x33, 0xf0]),
        Just(vec![0xc1, 0x00, 0, 1, 0x7a, 0x33, 0x06]),
        Just(vec![0xe1, 0x00, 0, 1, 8]),
    ];
    (dispatch, octets(90)).prop_map(|(head, tail)| [head, tail].concat())
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        6 => lowpan().prop_map(Call::Frame),
        1 => octets(140).prop_map(Call::Noise),
        2 => octets(1_400).prop_map(Call::HostPacket),
        4 => (0..3u8).prop_map(Call::Transmitted),
        1 => Just(Call::Busy),
        1 => Just(Call::Missed),
        4 => Just(Call::Deadline),
        1 => Just(Call::Refuse),
        4 => Just(Call::Drain),
        1 => any::<(u16, u16, bool)>().prop_map(|(a, b, c)| Call::Connect(a, b, c)),
        1 => Just(Call::Accept),
        2 => (0..3_000usize).prop_map(Call::Send),
        1 => (0..3_000usize).prop_map(Call::Receive),
        1 => Just(Call::Close),
        1 => Just(Call::Abort),
        2 => (0..1_400usize).prop_map(Call::Datagram),
        1 => (0..1_400usize).prop_map(Call::Ping),
        4 => any::<u64>().prop_map(Call::Wait),
    ]
}

/// More than any sequence of polls can return at one instant: see the contract test.
const DRAIN_BOUND: usize = 400;

fn drain<P: Plan>(now: Instant, node: &mut Node<P>) {
    let mut buf = [0; 1280];
    let mut rounds = 0;
    while node.poll_radio(now).is_some() || node.poll_host_packet(now, &mut buf).is_some() {
        rounds += 1;
        assert!(rounds < DRAIN_BOUND);
    }
}

fn settings(mss: u16, buffers: u16) -> ConnectionConfig {
    let (idle, interval) = (Duration::from_secs(1), Duration::from_millis(u64::from(mss)));
    ConnectionConfig {
        mss,
        send_buffer: usize::from(buffers) % 5_000,
        receive_buffer: usize::from(buffers) % 3_000,
        timestamps: mss.is_multiple_of(2),
        sack: mss.is_multiple_of(3),
        keepalive: Some(KeepAlive { idle, interval, probes: mss as u8 }),
        ..ConnectionConfig::DEFAULT
    }
}

/// Makes the calls, then lets the node communicate with a valid peer.
fn survive<P: Plan>(calls: Vec<Call>, capabilities: Capabilities) {
    let mut node = node::<P>(1, 1, 2, capabilities);
    let prefix = core::net::Ipv6Addr::UNSPECIFIED;
    node.interface().add_route(Route { prefix, prefix_len: 0, via: NextHop::Host }).unwrap();
    let socket = node.datagrams().bind(7).unwrap();
    node.streams().listen(80, ListenConfig::default()).unwrap();
    let outside = "2001:db8:1::1".parse().unwrap();
    let (mut now, mut handle) = (Instant::from_secs(1), None);
    let receive = |node: &mut Node<P>, now, frame: &[u8]| {
        let len = frame.len() as u8;
        let event = Event::Received { sfd: now, len, rssi_dbm: 1, lqi: 1, acked: false };
        node.handle_radio(now, event, &mut frame.to_vec());
    };
    for call in calls {
        match call {
            Call::Frame(octets) => {
                // Intra-PAN, short addresses, acknowledgement requested: from 2 to 1.
                let head = [0x61, 0x88, now.as_micros() as u8, 0xcd, 0xab, 1, 0, 2, 0];
                receive(&mut node, now, &[&head[..], &octets].concat());
            }
            Call::Noise(octets) => receive(&mut node, now, &octets),
            Call::HostPacket(octets) => node.handle_host_packet(now, &octets),
            Call::Transmitted(ack) => {
                let acks = [Ack::NotAwaited, Ack::Missing, Ack::Received { frame_pending: true }];
                let event = Event::Transmitted { sfd: now, ack: acks[usize::from(ack)] };
                node.handle_radio(now, event, &mut []);
            }
            Call::Busy => node.handle_radio(now, Event::ChannelBusy, &mut []),
            Call::Missed => node.handle_radio(now, Event::Missed, &mut []),
            Call::Deadline => {
                now = now.max(node.deadline().unwrap_or(now));
                node.handle_deadline(now);
            }
            Call::Refuse => node.radio_refused(now),
            Call::Drain => drain(now, &mut node),
            Call::Connect(mss, buffers, far) => {
                let to = if far { outside } else { global(2) };
                handle =
                    node.streams().connect(now, to, 80, settings(mss, buffers)).ok().or(handle);
            }
            Call::Accept => handle = node.streams().accept(80).or(handle),
            Call::Send(len) => drop(handle.map(|h| node.streams().send(h, &vec![1; len]))),
            Call::Receive(len) => drop(handle.map(|h| node.streams().recv(h, &mut vec![0; len]))),
            Call::Close => drop(handle.map(|h| node.streams().close(h))),
            Call::Abort => drop(handle.map(|h| node.streams().abort(h))),
            Call::Datagram(len) => {
                let _ = node.datagrams().send(now, socket, global(2), 7, &vec![0; len]);
                let _ = node.datagrams().recv(socket, &mut vec![0; len]);
            }
            Call::Ping(len) => drop(node.datagrams().ping(now, outside, 1, 1, &vec![0; len])),
            // Seldom minutes, mostly less than a frame's time.
            Call::Wait(time) if time.is_multiple_of(8) => {
                now += Duration::from_micros(time % 100_000_000);
            }
            Call::Wait(time) => now += Duration::from_micros(time % 3_000),
        }
    }
    recovers(now, node, capabilities);
}

/// Checks that a ping is answered again after the noise.
fn recovers<P: Plan>(now: Instant, node: Box<Node<P>>, capabilities: Capabilities) {
    let mut world = World::<P>::new(2, capabilities, 0, 1);
    world.now = now;
    world.nodes[0] = node;
    // The radio here has no record of a command; one may be outstanding.
    world.nodes[0].handle_radio(now, Event::Missed, &mut []);
    world.air.listen(0);
    let answered = world.run(Duration::from_secs(600), |now, nodes| {
        while let Some(reply) = nodes[1].datagrams().poll_echo_reply() {
            if (reply.ident, reply.seq) == (77, 78) {
                return true;
            }
        }
        if nodes[1].info().mac.slots_used == 0 {
            nodes[1].datagrams().ping(now, global(1), 77, 78, &[]).unwrap();
        }
        false
    });
    assert!(answered, "{:?}", world.nodes[0].info());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 500, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn a_mote_survives_anything(calls in prop::collection::vec(call(), 1..150)) {
        survive::<Mote>(calls, usual());
    }

    #[test]
    fn a_border_router_survives_anything(calls in prop::collection::vec(call(), 1..150)) {
        survive::<BorderRouter>(calls, Capabilities::NONE);
    }
}
