//! A network layer that forwards single fragments satisfies the layer contract, with any fragments
//! of several neighbours and any order of calls.

use crate::common::*;
use core::net::Ipv6Addr;
use kinglet_net::{
    Child, InterfaceAddress, Iphc, Ipv6Reassembly, Net, NetConfig, NextHop, Parked, Partial,
    Queued, Rfc8930, Route, Sizes, Slot, Token, UdpSocket, Virtual,
};
use kinglet_store::{Frame, Ram};
use kinglet_testkit::contract::{Subject, check};
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::protocol;
use kinglet_wire::sixlowpan::{Context, FragmentHeader};
use rand_core::Rng;
use rand_pcg::Pcg32;

const FRAMES: usize = 12;
const DATAGRAMS: usize = 3;
const SLOTS: usize = 4;

struct Relays;
impl Sizes for Relays {
    type Storage = [u8; 1500];
    type Packets = [Slot<Self::Storage>; SLOTS];
    type Reassembly = [Option<Partial>; 2];
    type Output = [Option<Queued>; 4];
    type Host = [Option<Queued>; 0];
    type Children = [Option<Child>; 0];
    type Indirect = [Option<Parked>; 0];
    type Addresses = [Option<InterfaceAddress>; 2];
    type Groups = [Option<Ipv6Addr>; 1];
    type Routes = [Option<Route>; 4];
    type Neighbours = [Option<kinglet_net::Neighbour>; 2];
    type Contexts = [Option<Context>; 1];
    type Routing = ();
    type Discovery = ();
    type Fragmentation = Rfc8930<[Option<Virtual>; DATAGRAMS], Ram<[Frame; FRAMES]>>;
    type Border = ();
    type Ipv6Fragments = Ipv6Reassembly<1>;
    type Headers = Iphc;
    type UdpSockets = [UdpSocket; 1];
}

struct Device {
    net: Net<Relays, u32>,
    /// Tokens of the last frames given to the MAC.
    tokens: Vec<Token>,
    room: usize,
}

/// Returns a fragment of one of a few datagrams that a neighbour sends, well-formed or damaged.
fn some_fragment(random: &mut Pcg32) -> Vec<u8> {
    let [tag, part, dst, noise] = random.next_u32().to_le_bytes();
    let dst = [global(3), global(4), global(1), global(9)][usize::from(dst & 3)];
    let whole = packet(global(8), dst, protocol::UDP, &[tag; 200]);
    let (size, tag) = (whole.len() as u16, u16::from(tag & 3));
    let offset = u16::from(part % 5) * 48;
    let header = FragmentHeader { size, tag, offset: Some(offset).filter(|at| *at > 0) };
    let mut fragment = vec![0; FragmentHeader::NEXT_LEN];
    let len = header.emit(&mut fragment).unwrap();
    fragment.truncate(len);
    if offset == 0 {
        fragment.push(0x41);
    }
    let from = usize::from(offset);
    fragment.extend(&whole[from..(from + 48).min(whole.len())]);
    if noise & 15 == 0 {
        let at = usize::from(noise >> 4) % fragment.len();
        fragment[at] = random.next_u32() as u8;
    }
    fragment
}

impl Device {
    fn hear(&mut self, now: Instant, src: u16, payload: &[u8]) -> String {
        let (src, dst) = (Address::Short(src), Address::Short(1));
        let frame = kinglet_net::FrameIn { src, dst, payload };
        if self.net.keep_fragment(now, &frame) {
            return "kept".to_owned();
        }
        let heard = self.net.handle_frame(now, frame);
        if let Ok(Some(delivery)) = &heard {
            self.net.release(delivery.packet);
        }
        format!("{heard:?}")
    }
}

impl Subject for Device {
    /// All frames in the store, the queued packets in frames of 80 octets, and the reports.
    const DRAIN_BOUND: usize = FRAMES + SLOTS * 24 + 4;

    fn fresh(seed: u64) -> Self {
        let mut net: Net<Relays, u32> =
            Net::new(NetConfig { forward: true, ..NetConfig::new(Address::Short(1)) });
        net.add_address(InterfaceAddress { address: global(1), prefix_len: 64 }).unwrap();
        let prefix = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0);
        net.set_context(0, Some(Context { prefix, len: 64 })).unwrap();
        for (far, next) in [(3, 2), (4, 5), (8, 6)] {
            net.add_route(route(global(far), 128, NextHop::Link(Address::Short(next)))).unwrap();
        }
        let room = 80 + (seed % 24) as usize;
        net.relay_frames(Some(room));
        Device { net, tokens: vec![Token(0)], room }
    }

    fn operate(&mut self, now: Instant, random: &mut Pcg32) -> String {
        let dice = random.next_u32();
        let src = [2, 5, 6][(dice >> 8) as usize % 3];
        match dice & 15 {
            0 => {
                let mut noise = vec![0; (dice >> 16 & 127) as usize];
                random.fill_bytes(&mut noise);
                self.hear(now, src, &noise)
            }
            1 => {
                let token = self.tokens[(dice >> 16) as usize % self.tokens.len()];
                format!("{:?}", self.net.handle_outcome(now, token, dice & 16 == 0))
            }
            2 => {
                let whole = packet(global(8), global(4), protocol::UDP, &[9; 20]);
                self.hear(now, src, &plain(&whole))
            }
            3 if dice & 0x7000 == 0 => {
                self.net.relay_frames(Some(self.room).filter(|_| dice & 16 != 0));
                "relay or not".to_owned()
            }
            _ => {
                let fragment = some_fragment(random);
                self.hear(now, src, &fragment)
            }
        }
    }

    fn poll(&mut self, now: Instant) -> Option<String> {
        let mut buf = [0; 128];
        let room = self.room;
        if let Some(pending) = self.net.pending() {
            let relayed = self.net.poll_relayed(now, &pending, &mut buf[..room]);
            let limits = kinglet_net::FrameLimits { max_payload: room };
            let out = relayed.or_else(|| self.net.poll_frame(now, limits, &Pattern, &mut buf));
            let out = out.expect("what is pending is given");
            self.tokens.insert(0, out.token);
            self.tokens.truncate(3);
            return Some(format!("{out:?} {:02x?}", &buf[..out.len]));
        }
        self.net.poll_error().map(|report| format!("{report:?}"))
    }

    fn deadline(&self) -> Option<Instant> {
        self.net.deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.net.handle_deadline(now);
    }

    fn observe(&self) -> String {
        let (room, admission) = (self.net.relay_room(), self.net.relay_admission(Instant::ZERO));
        let relay = self.net.relay_stats();
        format!("{:?} {:?} {relay:?} {room:?} {admission:?}", self.net.info(), self.net.stats())
    }

    fn refuse(&mut self, now: Instant) -> bool {
        let Some(pending) = self.net.pending() else { return false };
        let mut short = [0; 9];
        let limits = kinglet_net::FrameLimits { max_payload: self.room };
        assert_eq!(self.net.poll_relayed(now, &pending, &mut short), None);
        let waiting = self.net.relayed_waiting();
        if waiting == 0 {
            assert_eq!(self.net.poll_frame(now, limits, &Pattern, &mut short), None);
        }
        true
    }

    fn owed(&self) -> usize {
        let info = self.net.info();
        SLOTS - info.free_packets + usize::from(info.external) + self.net.relayed_waiting()
    }

    fn occupancy(&self) -> Vec<(usize, usize)> {
        let info = self.net.info();
        vec![
            (SLOTS - info.free_packets, SLOTS),
            (info.reassemblies, 2),
            (info.queued, 4 + 2),
            (self.net.relayed_waiting(), FRAMES),
        ]
    }

    /// Packets to forward.
    fn offer_data(&mut self, now: Instant) -> Option<bool> {
        let whole = packet(global(8), global(4), protocol::UDP, &[9; 20]);
        Some(!self.hear(now, 6, &plain(&whole)).starts_with("Err"))
    }

    /// A packet for this node.
    fn offer_control(&mut self, now: Instant) -> Option<bool> {
        let whole = packet(global(9), global(1), protocol::TCP, &[0; 20]);
        Some(self.hear(now, 6, &plain(&whole)).starts_with("Ok(Some"))
    }
}

#[test]
fn a_layer_that_relays_fragments_keeps_the_laws() {
    check::<Device>(0..96, 300);
}
