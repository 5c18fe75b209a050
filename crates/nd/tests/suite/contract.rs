//! Neighbour discovery satisfies the layer contract, with any message.

use crate::common::{NEIGHBOURS, Plan, REGISTRATIONS, Serves};
use kinglet_nd::{Border, Discovery, MAX_LEN, NdConfig, Offer, Serving, Sizes};
use kinglet_testkit::contract::{Subject, check};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::Header;
use kinglet_wire::nd::{BorderRouter, PrefixInformation};
use rand_core::Rng;
use rand_pcg::Pcg32;
use std::net::Ipv6Addr;

struct Device<S: Sizes>(Discovery<S>);

/// A host or a router.
trait Made: Sizes + Sized {
    /// Maximum additional messages of a router: responses of two parts, requests, advertisements.
    const MORE: usize;

    fn make(config: NdConfig, seed: u64) -> Discovery<Self>;
    /// Returns the number of registrations.
    fn registered(of: &Discovery<Self>) -> usize;
}

impl Made for Plan {
    const MORE: usize = 0;

    fn make(config: NdConfig, _: u64) -> Discovery<Self> {
        Discovery::new(config)
    }

    fn registered(_: &Discovery<Self>) -> usize {
        0
    }
}

impl Made for Serves {
    const MORE: usize = 4 * 2 + 4 + 2;

    fn make(config: NdConfig, seed: u64) -> Discovery<Self> {
        let border = BorderRouter { version: 1, valid_min: 1, address: address(0x17) };
        let border = match seed & 3 {
            0 => Border::This(border),
            1 => Border::Other(border),
            2 => Border::Learnt,
            _ => Border::Absent,
        };
        let mut role = Serving::new(Offer::new(border));
        let (prefix, on_link, autonomous) = (address(15), false, true);
        let (len, valid_s, preferred_s) = (64, 60, 30);
        let it = PrefixInformation { prefix, len, on_link, autonomous, valid_s, preferred_s };
        role.offer_prefix(Instant::ZERO, it).unwrap();
        Discovery::with_role(config, role)
    }

    fn registered(of: &Discovery<Self>) -> usize {
        of.role().registrations().count()
    }
}

/// Returns one of a few addresses of all kinds, so that messages concern each other.
fn address(dice: u32) -> Ipv6Addr {
    let n = (dice >> 4 & 7) as u16;
    match dice & 15 {
        0 => Ipv6Addr::UNSPECIFIED,
        1 => Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 1, 0xFF00, n),
        2 => Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1),
        3..6 => Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0xFF, 0xFE00, n),
        6..9 => Ipv6Addr::new(0xFE80, 0, 0, 0, 0x1234, 0x5678, 0x9ABC, n),
        _ => Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, n),
    }
}

fn link(dice: u32) -> Address {
    match dice & 3 {
        0 => Address::Extended([dice as u8 & 8; 8]),
        1 if dice & 0xFF == 1 => Address::BROADCAST,
        _ => Address::Short((dice >> 2 & 7) as u16),
    }
}

/// A message that is well-formed, damaged or noise.
fn some_message(random: &mut Pcg32) -> Vec<u8> {
    let dice = random.next_u32();
    let mut octets = vec![0; (dice >> 16) as usize % 80];
    random.fill_bytes(&mut octets);
    if dice & 7 == 0 || octets.len() < 24 {
        return octets;
    }
    octets[0] = [135, 136, 135, 158, 133, 134, 137, 157][(dice >> 3 & 7) as usize];
    octets[1] = 0;
    let target = address(random.next_u32());
    octets.truncate(24);
    if octets[0] == 134 {
        octets.truncate(16);
        // Lifetimes of all orders, down to zero.
        let dice = random.next_u32();
        (octets[6], octets[7]) = (dice as u8 & 1, (dice >> 1) as u8 & 0x7F);
        let life = [0, (dice >> 8) as u8 & 1, 0, (dice >> 9) as u8 & 0x7F];
        let prefix = address(random.next_u32() | 15).octets();
        octets.extend([&[3, 4, 64, 0x40], &life[..], &life, &[0; 4], &prefix].concat());
        octets.extend([34, 2, 64, (0x10 * (life[1] & 1)) | (life[3] & 3), 0, 0, 0, life[3] & 7]);
        octets.extend(&prefix[..8]);
        octets.extend([&[25, 3, 0, 0][..], &life, &prefix].concat());
        return octets;
    }
    if octets[0] >= 157 {
        // For the address of a host, with few verifiers.
        octets[1] = dice as u8 >> 6 & 1;
        (octets[4], octets[6], octets[7]) = (dice as u8 >> 5 & 1, 0, (dice >> 8) as u8 & 3);
        octets[8..16].fill((dice >> 12) as u8 & 3);
        octets.truncate(16);
        octets.extend(target.octets());
        return octets;
    }
    octets[8..24].copy_from_slice(&target.octets());
    match random.next_u32() & 3 {
        0 => {}
        3 => {
            let dice = random.next_u32();
            octets.extend([1, 1, 0, dice as u8 & 7, 0, 0, 0, 0]);
            let (tid, life) = ((dice >> 8) as u8, (dice >> 16) as u8 & 3);
            octets.extend([33, 2, 0, 0, (dice >> 3) as u8 & 1, tid, 0, life]);
            octets.extend([dice as u8 >> 6; 8]);
        }
        1 => octets.extend([random.next_u32() as u8 & 3, 1, 0, random.next_u32() as u8 & 7]),
        _ => octets.extend([random.next_u32() as u8 & 3, 1, 0, 3, 0, 0, 0, 0]),
    }
    octets
}

/// Returns a router's query for one group, or all.
fn some_query(dice: u32, src: Ipv6Addr) -> (Vec<u8>, Header) {
    let group = Ipv6Addr::new(0xFF05, 0, 0, 0, 0, 0, 0, (dice >> 20 & 3) as u16);
    let group = if dice & 0x1000 == 0 { Ipv6Addr::UNSPECIFIED } else { group };
    let head = [130, 0, 0, 0, (dice >> 24) as u8, (dice >> 16) as u8, 0, 0];
    let octets = [&head[..], &group.octets(), &[2, 125, 0, 0]].concat();
    let (traffic_class, flow_label, next_header, hop_limit) = (0, 0, 0, 1);
    let payload_len = octets.len() as u16;
    let dst = address(2);
    let header =
        Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
    (octets, header)
}

impl<S: Made> Subject for Device<S> {
    /// Four responses, a solicitation and a change for each neighbour, a Router Solicitation, the
    /// settings of routers, and a report of groups.
    const DRAIN_BOUND: usize = 4 + 2 * NEIGHBOURS + 1 + 2 + 2 + 1 + S::MORE;

    fn fresh(seed: u64) -> Self {
        let mut config = NdConfig::new(Address::Short(1), [1; 8], 0xABCD, seed);
        config.autoconfigures = seed.is_multiple_of(2);
        config.reports = !seed.is_multiple_of(3);
        config.on = !seed.is_multiple_of(7);
        config.retrans = Duration::from_millis(seed % 3 * 500 + 1);
        Device(S::make(config, seed / 2))
    }

    fn operate(&mut self, now: Instant, random: &mut Pcg32) -> String {
        let dice = random.next_u32();
        let (from, other) = (link(dice >> 8), address(dice >> 16));
        match dice & 15 {
            0 => format!("way {:?}", self.0.resolution(other)),
            1..4 => format!("want {other}: {}", self.0.want(now, other)),
            4 | 5 => {
                self.0.handle_use(now, other);
                format!("use {other}")
            }
            6 => {
                self.0.handle_progress(now, other);
                format!("progress {other}")
            }
            9 if dice & 0x400 != 0 => {
                self.0.handle_join();
                "join".to_owned()
            }
            9 => {
                let (octets, header) = some_query(dice, other);
                let result = self.0.handle_message(now, from, &header, &octets, |_| false);
                format!("{from:?} {header:?}: {octets:x?}: {result:?}")
            }
            7..9 => {
                self.0.handle_sent(now, from, dice & 0x80 != 0);
                format!("sent to {from:?}")
            }
            _ => {
                let octets = some_message(random);
                let header = Header {
                    traffic_class: 0,
                    flow_label: 0,
                    payload_len: octets.len() as u16,
                    next_header: 58,
                    hop_limit: if dice & 0xF0 == 0 { 64 } else { 255 },
                    src: other,
                    dst: address(random.next_u32()),
                };
                let owns = |it: &Ipv6Addr| it.octets()[15] == 1;
                let result = self.0.handle_message(now, from, &header, &octets, owns);
                format!("{from:?} {header:?}: {octets:x?}: {result:?}")
            }
        }
    }

    fn poll(&mut self, now: Instant) -> Option<String> {
        let mut buf = [0; MAX_LEN];
        if let Some(out) = self.0.poll_message(now, &mut buf) {
            return Some(format!("{out:?} {:x?}", &buf[..out.len]));
        }
        if let Some(change) = self.0.poll_change() {
            return Some(format!("{change:?}"));
        }
        let mut groups = (0..3).map(|n| Ipv6Addr::new(0xFF05, 0, 0, 0, 0, 0, 0, n));
        if let Some(out) = self.0.poll_report(now, &mut groups, &mut buf) {
            return Some(format!("{out:?} {:x?}", &buf[..out.len]));
        }
        self.0.poll_configured(now).map(|change| format!("{change:?}"))
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.deadline()
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.0.handle_deadline(now);
    }

    fn observe(&self) -> String {
        let neighbours: Vec<_> = self.0.neighbours().collect();
        format!("{neighbours:?} {:?}", self.0.stats())
    }

    fn occupancy(&self) -> Vec<(usize, usize)> {
        vec![(self.0.neighbours().count(), NEIGHBOURS), (S::registered(&self.0), REGISTRATIONS)]
    }
}

#[test]
fn discovery_keeps_the_laws() {
    check::<Device<Plan>>(0..60, 300);
}

#[test]
fn a_router_keeps_the_laws() {
    check::<Device<Serves>>(0..60, 300);
}
