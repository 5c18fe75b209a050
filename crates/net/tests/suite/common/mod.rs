//! Nodes with numbered addresses, and frames carried between them.
#![allow(unreachable_pub, reason = "a module of test files")]

use core::marker::PhantomData;
use core::net::Ipv6Addr;
use kinglet_mem::Array;
use kinglet_net::{
    BodySource, Child, Delivery, Discard, FrameIn, FrameLimits, FrameOut, InterfaceAddress, Iphc,
    Ipv6Reassembly, Net, NetConfig, NextHop, Parked, Partial, Queued, Rfc4944, Route, Sizes, Slot,
    Stale, UdpSocket,
};
use kinglet_routing::Routing;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::Header;
use kinglet_wire::sixlowpan::Context;

/// Like a router's plan, with the routing protocol `R`.
pub struct Plan<R = ()>(PhantomData<R>);
impl<R: Routing> Sizes for Plan<R> {
    type Storage = [u8; 1500];
    type Packets = [Slot<Self::Storage>; 8];
    type Reassembly = [Option<Partial>; 2];
    type Output = [Option<Queued>; 4];
    type Host = [Option<Queued>; 2];
    type Children = [Option<Child>; 3];
    type Indirect = [Option<Parked>; 4];
    type Addresses = [Option<InterfaceAddress>; 2];
    type Groups = [Option<Ipv6Addr>; 2];
    type Routes = [Option<Route>; 6];
    type Neighbours = [Option<kinglet_net::Neighbour>; 2];
    type Contexts = [Option<Context>; 2];
    type Routing = R;
    type Discovery = ();
    type Fragmentation = Rfc4944;
    type Border = ();
    type Ipv6Fragments = Ipv6Reassembly<2>;
    type Headers = Iphc;
    type UdpSockets = [UdpSocket; 2];
}

pub const PACKETS: usize = <<Plan as Sizes>::Packets as Array<Slot<[u8; 1500]>>>::LEN;

pub type Node = Net<Plan, u32>;
/// The payload of 802.15.4 frames with extended addresses and no security: 104 octets.
pub const LIMITS: FrameLimits = FrameLimits { max_payload: 104 };
pub const NOW: Instant = Instant::from_secs(10);

/// Returns 2001:db8::ff:fe00:n, whose IID contains the short link address n.
pub const fn global(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0xFF, 0xFE00, n)
}

/// Returns fe80::ff:fe00:n.
pub fn local(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0xFF, 0xFE00, n)
}

pub fn route(prefix: Ipv6Addr, prefix_len: u8, via: NextHop) -> Route {
    Route { prefix, prefix_len, via }
}

/// Returns node `n` with its global address, a context for the prefix, and all neighbours on-link.
pub fn node(n: u16) -> Node {
    let mut node = bare(NetConfig::new(Address::Short(n)), n);
    node.add_route(route(global(0), 64, NextHop::OnLink)).unwrap();
    node
}

/// Returns node `n` without routes.
pub fn bare(config: NetConfig, n: u16) -> Node {
    let mut node = Node::new(config);
    node.add_address(InterfaceAddress { address: global(n), prefix_len: 64 }).unwrap();
    let prefix = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0);
    node.set_context(0, Some(Context { prefix, len: 64 })).unwrap();
    node
}

pub fn router(n: u16) -> Node {
    bare(NetConfig { forward: true, ..NetConfig::new(Address::Short(n)) }, n)
}

/// Payload that encodes its offset: octet i of key k is (i + k) mod 251.
pub struct Pattern;

pub fn pattern(key: u32, len: usize) -> Vec<u8> {
    (0..len).map(|i| ((i + key as usize) % 251) as u8).collect()
}

impl BodySource<u32> for Pattern {
    fn read(&self, key: u32, offset: usize, out: &mut [u8]) -> Result<(), Stale> {
        for (i, octet) in out.iter_mut().enumerate() {
            *octet = ((i + offset + key as usize) % 251) as u8;
        }
        Ok(())
    }
}

/// Returns the next frame's payload; skips stale datagrams.
pub fn poll(node: &mut Node, limits: FrameLimits) -> Option<(FrameOut, Vec<u8>)> {
    let mut buf = [0; 128];
    while let Some(pending) = node.pending() {
        if let Some(out) = node.poll_frame(NOW, limits, &Pattern, &mut buf) {
            assert_eq!((pending.dst, pending.token), (out.dst, out.token));
            assert!(out.len <= limits.max_payload);
            return Some((out, buf[..out.len].to_vec()));
        }
    }
    None
}

/// Returns all frames that a node has to send.
pub fn frames(node: &mut Node, limits: FrameLimits) -> Vec<(Address, Vec<u8>)> {
    std::iter::from_fn(|| poll(node, limits).map(|(out, payload)| (out.dst, payload))).collect()
}

pub fn hear(
    node: &mut Node,
    now: Instant,
    src: u16,
    dst: Address,
    payload: &[u8],
) -> Result<Option<Delivery>, Discard> {
    let frame = FrameIn { src: Address::Short(src), dst, payload };
    let waits = |node: &Node| (node.deadline(), node.info(), node.pending().map(|it| it.token));
    let before = waits(node);
    if node.keep_fragment(now, &frame) {
        assert_eq!(waits(node), before, "nothing else changes");
        return Ok(None);
    }
    node.handle_frame(now, frame)
}

/// Carries all frames from one node to another. Returns the deliveries there.
pub fn carry(from: &mut Node, src: u16, to: &mut Node) -> Vec<Delivery> {
    let sent = frames(from, LIMITS);
    let heard = sent.iter().filter_map(|(dst, payload)| hear(to, NOW, src, *dst, payload).ok()?);
    heard.collect()
}

/// Returns a whole IPv6 packet.
pub fn packet(src: Ipv6Addr, dst: Ipv6Addr, next_header: u8, payload: &[u8]) -> Vec<u8> {
    let payload_len = payload.len() as u16;
    let (traffic_class, flow_label, hop_limit) = (0, 0, 64);
    let header =
        Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
    let mut octets = vec![0; 40];
    header.emit(&mut octets).unwrap();
    octets.extend_from_slice(payload);
    octets
}

/// Returns the payload of a frame with the uncompressed packet behind the dispatch octet.
pub fn plain(packet: &[u8]) -> Vec<u8> {
    [&[0x41], packet].concat()
}
