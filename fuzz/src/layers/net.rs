//! The network layer: frames, host packets, sockets and time in any order.

use crate::input::Input;
use kinglet_net::{
    Body, BodySource, FrameIn, FrameLimits, InterfaceAddress, Iphc, Ipv6Reassembly, Neighbour, Net,
    NetConfig, NextHop, Outgoing, PacketHandle, Partial, Queued, Rfc4944, Route, Sizes, Slot,
    Stale, UdpHandle, UdpSocket,
};
use kinglet_time::Duration;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::sixlowpan::Context;
use std::net::Ipv6Addr;

const PREFIX: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 0);
const OWN: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0xff, 0xfe00, 1);
const UDP_PORT: u16 = 0xf0b1;
const TCP: u8 = 6;
/// Octets of the longest packet that is reassembled.
const LONGEST: usize = 1500;
/// Frames of the longest packet when each carries the least that the fuzzer allows.
const DRAIN: usize = 1_000;

/// Small tables, but with reassembly of IPv6 fragments.
struct Plan;

impl Sizes for Plan {
    type Storage = [u8; LONGEST];
    type Packets = [Slot<Self::Storage>; 6];
    type Reassembly = [Option<Partial>; 2];
    type Output = [Option<Queued>; 4];
    type Host = [Option<Queued>; 2];
    type Children = [Option<kinglet_net::Child>; 0];
    type Indirect = [Option<kinglet_net::Parked>; 0];
    type Addresses = [Option<InterfaceAddress>; 2];
    type Groups = [Option<Ipv6Addr>; 1];
    type Routes = [Option<Route>; 4];
    type Neighbours = [Option<Neighbour>; 2];
    type Contexts = [Option<Context>; 2];
    type Routing = ();
    type Discovery = ();
    type Fragmentation = Rfc4944;
    type Border = ();
    type Ipv6Fragments = Ipv6Reassembly<2>;
    type Headers = Iphc;
    type UdpSockets = [UdpSocket; 2];
}

type Router = Net<Plan, u8>;

/// Payload that is still present, or stale.
struct Source {
    stale: bool,
}

impl BodySource<u8> for Source {
    fn read(&self, key: u8, _offset: usize, out: &mut [u8]) -> Result<(), Stale> {
        out.fill(key);
        if self.stale { Err(Stale) } else { Ok(()) }
    }
}

/// A router with an address, a context, a route to its host, and a socket.
fn router() -> (Router, UdpHandle) {
    let config = NetConfig { forward: true, ..NetConfig::new(Address::Short(1)) };
    let mut net = Router::new(config);
    net.add_address(InterfaceAddress { address: OWN, prefix_len: 64 }).expect("a free place");
    let route = Route { prefix: Ipv6Addr::UNSPECIFIED, prefix_len: 0, via: NextHop::Host };
    net.add_route(route).expect("a free place");
    net.set_context(0, Some(Context { prefix: PREFIX, len: 64 })).expect("a free place");
    let socket = net.udp_bind(UDP_PORT).expect("a free socket");
    net.udp_accept_long(socket);
    (net, socket)
}

/// The network layer: after any sequence of calls every packet slot is free again.
pub fn net_frames(data: &[u8]) {
    let (mut net, socket) = router();
    let slots = net.info().free_packets;
    let mut input = Input::new(data);
    let mut held: Vec<PacketHandle> = Vec::new();
    while let Some(call) = input.octet() {
        let now = input.now();
        let peer = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, u16::from(call >> 5));
        let dst = if call & 16 == 0 { peer } else { OWN };
        match call % 8 {
            0 => {
                let src = Address::Short(u16::from(call >> 5));
                let dst = if call & 8 == 0 { Address::Short(1) } else { Address::BROADCAST };
                let payload = input.octets();
                if let Ok(Some(delivery)) = net.handle_frame(now, FrameIn { src, dst, payload }) {
                    assert!(net.packet(delivery.packet).get(delivery.upper).is_some());
                    held.push(delivery.packet);
                }
            }
            1 => {
                if let Ok(Some(delivery)) = net.handle_host_packet(now, input.octets()) {
                    held.push(delivery.packet);
                }
            }
            2 if call & 8 != 0 => {
                let data = &[0; LONGEST][..usize::from(input.word()) % LONGEST];
                let _ = net.udp_send(now, socket, dst, UDP_PORT, data);
            }
            2 => {
                let _ = net.udp_send(now, socket, dst, UDP_PORT, input.octets());
            }
            3 if call & 8 == 0 => {
                let _ = net.ping(now, dst, 1, 2, input.octets());
            }
            3 => submit(&mut net, &mut input, call, dst),
            4 => {
                write_frame(&mut net, &mut input, call);
            }
            5 if call & 8 == 0 => held.drain(..).for_each(|packet| net.release(packet)),
            5 => {
                let mut buf = [0; 64];
                std::hint::black_box(net.udp_recv(socket, &mut buf).is_ok());
            }
            6 if call & 8 == 0 => {
                let now = input.skip_to(net.deadline().unwrap_or(now));
                net.handle_deadline(now);
                assert!(net.deadline().is_none_or(|next| next > now), "no stale deadline");
            }
            6 => {
                let source = Source { stale: call & 16 != 0 };
                let _ = net.poll_host_packet(now, &source, &mut [0; 1280]);
                std::hint::black_box((net.poll_echo_reply(), net.poll_error()));
            }
            _ => {
                input.later();
            }
        }
    }
    held.drain(..).for_each(|packet| net.release(packet));
    settle(&mut net, socket, &input);
    assert_eq!(net.info().free_packets, slots, "a packet slot is lost");
}

/// Submits a packet of an upper layer, with or without external payload.
fn submit(net: &mut Router, input: &mut Input<'_>, call: u8, dst: Ipv6Addr) {
    let (upper, len) = (input.octets(), input.word());
    let body = if len == 0 { Body::None } else { Body::External { key: 7, len } };
    let (hop_limit, traffic_class, flow_label) = (call, call, u32::from(len));
    let (src, protocol) = (OWN, TCP);
    let packet = Outgoing { src, dst, hop_limit, traffic_class, flow_label, protocol, upper, body };
    let _ = net.submit(input.now(), packet);
}

/// Writes one frame and reports an outcome, as a MAC would.
fn write_frame(net: &mut Router, input: &mut Input<'_>, call: u8) {
    let now = input.now();
    let limits = FrameLimits { max_payload: usize::from(input.octet().unwrap_or(0) % 126) };
    let source = Source { stale: call & 8 != 0 };
    if let Some(frame) = net.poll_frame(now, limits, &source, &mut [0; 125]) {
        assert!(frame.len <= limits.max_payload);
        net.handle_outcome(now, frame.token, call & 16 == 0);
    }
}

/// Lets every reassembly time out and empties every queue.
fn settle(net: &mut Router, socket: UdpHandle, input: &Input<'_>) {
    let (now, source) = (input.now(), Source { stale: false });
    let limits = FrameLimits { max_payload: 100 };
    // Sources of incomplete packets are notified.
    net.handle_deadline(now + Duration::from_secs(3_600));
    let more = |net: &Router| net.pending().is_some();
    let frames = (0..DRAIN).take_while(|_| {
        let _ = net.poll_frame(now, limits, &source, &mut [0; 125]);
        more(net)
    });
    assert!(frames.count() < DRAIN, "draining ends");
    while net.poll_host_packet(now, &source, &mut [0; 1280]).is_some() {}
    while let Ok(Some(_)) = net.udp_recv(socket, &mut [0; LONGEST]) {}
    assert_eq!(net.deadline(), None);
}
