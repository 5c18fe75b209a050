//! A relay that forwards fragments (RFC 8930): fragments of several neighbours with any size,
//! offset and tag, in any order, among frames that are sent, lost, or forgotten.

use crate::input::Input;
use kinglet_net::{
    BodySource, FrameIn, FrameLimits, FrameOut, InterfaceAddress, Iphc, Neighbour, Net, NetConfig,
    NextHop, Partial, Queued, Rfc8930, Route, Sizes, Slot, Stale, UdpSocket, Virtual,
};
use kinglet_store::{Frame, Ram};
use kinglet_time::Duration;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::sixlowpan::{Context, FragmentHeader};
use std::collections::BTreeMap;
use std::net::Ipv6Addr;

/// Octets of payload in a frame.
const ROOM: usize = 102;
const FRAMES: usize = 10;
const PACKETS: usize = 5;
/// Limit of the frames of all waiting packets.
const DRAIN: usize = 1_000;

struct Plan;

impl Sizes for Plan {
    type Storage = [u8; 1280];
    type Packets = [Slot<Self::Storage>; PACKETS];
    type Reassembly = [Option<Partial>; 2];
    type Output = [Option<Queued>; 4];
    type Host = [Option<Queued>; 0];
    type Children = [Option<kinglet_net::Child>; 0];
    type Indirect = [Option<kinglet_net::Parked>; 0];
    type Addresses = [Option<InterfaceAddress>; 2];
    type Groups = [Option<Ipv6Addr>; 1];
    type Routes = [Option<Route>; 6];
    type Neighbours = [Option<Neighbour>; 2];
    type Contexts = [Option<Context>; 1];
    type Routing = ();
    type Discovery = ();
    type Fragmentation = Rfc8930<[Option<Virtual>; 3], Ram<[Frame; FRAMES]>>;
    type Border = ();
    type Ipv6Fragments = ();
    type Headers = Iphc;
    type UdpSockets = [UdpSocket; 1];
}

type Relay = Net<Plan, u8>;

struct Nothing;

impl BodySource<u8> for Nothing {
    fn read(&self, _: u8, _: usize, _: &mut [u8]) -> Result<(), Stale> {
        Err(Stale)
    }
}

fn address(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0xff, 0xfe00, n)
}

/// Node 1, with another node behind each of its neighbours.
fn relay() -> Relay {
    let mut net = Relay::new(NetConfig { forward: true, ..NetConfig::new(Address::Short(1)) });
    net.add_address(InterfaceAddress { address: address(1), prefix_len: 64 }).expect("room");
    net.set_context(0, Some(Context { prefix: address(0), len: 64 })).expect("room");
    for n in 2..8 {
        let via = NextHop::Link(Address::Short(n));
        net.add_route(Route { prefix: address(n + 8), prefix_len: 128, via }).expect("room");
    }
    net.relay_frames(Some(ROOM));
    net
}

/// Datagrams at next hops, by their tags there: the offset of the next octet, if it is known.
type Onward = BTreeMap<(u16, u16), Option<u16>>;

/// Datagrams sent by neighbours, by their tags: the size, and the offset of the next octet.
type Sent = BTreeMap<(u16, u16), (u16, u16)>;

/// Checks frames in and frames out.
pub fn relay_fragments(data: &[u8]) {
    let mut input = Input::new(data);
    let mut net = relay();
    let (mut sent, mut onward) = (Sent::new(), Onward::new());
    while let Some(call) = input.octet() {
        let now = input.now();
        let src = 2 + u16::from(call >> 3 & 3);
        match call & 7 {
            0 => {
                let payload = input.octets();
                hear(&mut net, &input, src, payload);
            }
            1..=3 => {
                let fragment = fragment(&mut input, call, src, &mut sent);
                hear(&mut net, &input, src, &fragment);
            }
            4 | 5 => {
                send(&mut net, &mut onward, &input, call & 0x60 != 0);
            }
            6 if call & 0x80 == 0 => {
                let now = input.skip_to(net.deadline().unwrap_or(now));
                net.handle_deadline(now);
                assert!(net.deadline().is_none_or(|next| next > now), "no stale deadline");
            }
            _ => {
                input.later();
            }
        }
        let room = net.relay_room().expect("it relays");
        assert_eq!(room + net.relayed_waiting(), FRAMES, "every place is free or taken");
    }
    let drained = (0..DRAIN).take_while(|_| send(&mut net, &mut onward, &input, true));
    assert!(drained.count() < DRAIN, "draining ends");
    net.handle_deadline(input.now() + Duration::from_secs(3_600));
    while send(&mut net, &mut onward, &input, true) {}
    assert_eq!((net.info().free_packets, net.deadline()), (PACKETS, None), "nothing is kept");
}

/// A fragment with any size, offset and tag, from a small range so that they coincide, or the one
/// that continues a datagram. The first one may begin with the headers of a packet that can be
/// forwarded.
fn fragment(input: &mut Input<'_>, call: u8, src: u16, sent: &mut Sent) -> Vec<u8> {
    let [choice, place] = [input.octet().unwrap_or(0), input.octet().unwrap_or(0)];
    let tag = u16::from(choice >> 2 & 7);
    let mut size = [96, 200, 1_000, u16::from(choice) << 3][usize::from(choice & 3)] & 0x7ff;
    let mut offset = (call & 0x20 != 0).then_some(u16::from(place) << 3);
    let known = sent.get(&(src, tag)).filter(|_| offset.is_some() && place & 0x80 == 0);
    if let Some(&(whole, next)) = known {
        (size, offset) = (whole, Some(next));
    }
    let mut fragment = vec![0; FragmentHeader::NEXT_LEN];
    let header = FragmentHeader { size, tag, offset };
    let Ok(len) = header.emit(&mut fragment) else { return fragment };
    fragment.truncate(len);
    let mut headers = 0;
    if offset.is_none() && call & 0x40 != 0 {
        // An uncompressed IPv6 header, to one of the nodes behind the neighbours, or to this node.
        let length = size.saturating_sub(40).to_be_bytes();
        fragment.push(0x41);
        fragment.extend([0x60, 0, 0, 0, length[0], length[1], 59, place]);
        fragment.extend(address(40).octets());
        fragment.extend(address([10, 11, 12, 1][usize::from(choice >> 5 & 3)]).octets());
        headers = 40;
    }
    let payload = input.octets();
    let rest = usize::from(size.saturating_sub(headers + offset.unwrap_or(0)));
    let payload = match payload.get(..rest) {
        Some(last) if place & 0x40 == 0 => last,
        None if place & 0x40 == 0 => &payload[..payload.len() & !7],
        _ => payload,
    };
    fragment.extend(payload);
    fragment.truncate(125);
    let octets = headers + payload.len() as u16;
    sent.insert((src, tag), (size, offset.unwrap_or(0).saturating_add(octets) & 0x7f8));
    fragment
}

fn hear(net: &mut Relay, input: &Input<'_>, src: u16, payload: &[u8]) {
    let frame = FrameIn { src: Address::Short(src), dst: Address::Short(1), payload };
    if net.keep_fragment(input.now(), &frame) {
        return;
    }
    if let Ok(Some(delivery)) = net.handle_frame(input.now(), frame) {
        net.release(delivery.packet);
    }
}

/// Sends the next frame with this outcome; returns false if there is none.
fn send(net: &mut Relay, onward: &mut Onward, input: &Input<'_>, delivered: bool) -> bool {
    let Some(pending) = net.pending() else { return false };
    let mut buf = [0; 125];
    let now = input.now();
    let relayed = net.poll_relayed(now, &pending, &mut buf[..ROOM]);
    if let Some(out) = &relayed {
        check(onward, out, &buf[..out.len]);
    }
    let limits = FrameLimits { max_payload: ROOM };
    if let Some(out) = relayed.or_else(|| net.poll_frame(now, limits, &Nothing, &mut buf)) {
        assert!(out.len <= ROOM);
        net.handle_outcome(now, out.token, delivered);
    }
    true
}

/// Checks that fragments of a datagram follow each other without gaps.
fn check(onward: &mut Onward, out: &FrameOut, payload: &[u8]) {
    let Ok((header, rest)) = FragmentHeader::parse(payload) else { return };
    let Address::Short(to) = out.dst else { panic!("{:?} is nobody's", out.dst) };
    let expected = onward.entry((to, header.tag)).or_default();
    let Some(offset) = header.offset else {
        *expected = None;
        return;
    };
    assert!(expected.is_none_or(|expected| expected == offset), "{header:?} after {expected:?}");
    let end = offset + rest.len() as u16;
    assert!(end <= header.size, "{header:?} is too long");
    *expected = Some(end);
}
