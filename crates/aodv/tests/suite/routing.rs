//! As the routing of a node, AODV gets each call with the names of its addresses.

use crate::contract::{Plan, config, observe, some_message, someone};
use kinglet_aodv::{Aoded, Aodv, AodvConfig, Destination, OUTSIDE, Role};
use kinglet_routing::{Identity, Learnt, MAX_MESSAGE, Message, NextHop, Routing};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use std::net::Ipv6Addr;

const PREFIX: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0);

fn address(name: u16) -> Ipv6Addr {
    match name {
        OUTSIDE => Ipv6Addr::new(0x2001, 0xDB8, 1, 0, 0, 0, 0, 1),
        short => Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0xFF, 0xFE00, short),
    }
}

/// AODV itself, and the same as routing.
struct Pair(Aodv<Plan>, Aoded<Plan>);

impl Pair {
    fn operate(&mut self, now: Instant, random: &mut Pcg32) {
        let Pair(aodv, routing) = self;
        let [kind, a, b, lqi] = random.next_u32().to_le_bytes();
        let (from, to) = (u16::from(b & 7), someone(a));
        // A border router has routes of its own to the outside.
        let to = if aodv.config().role == Role::BorderRouter { to & 7 } else { to };
        match kind % 8 {
            0 => assert_eq!(routing.discover(now, address(to)), aodv.discover(now, to)),
            1 => {
                let before = (b & 0x80 != 0).then_some(u16::from(b >> 4 & 7));
                let link = before.map_or(Address::None, Address::Short);
                aodv.handle_use(now, Some(from), Some(to), before);
                routing.handle_use(now, address(from), address(to), link);
            }
            2 => {
                aodv.handle_stray(now, to, from);
                assert!(routing.handle_stray(now, address(to), Address::Short(from)));
            }
            3 => {
                aodv.handle_loop(now, to);
                routing.handle_loop(now, address(to));
            }
            4 => {
                aodv.handle_sent(now, from, lqi & 3 != 0);
                routing.handle_sent(now, Address::Short(from), 1, lqi & 3 != 0);
            }
            5 if lqi & 15 == 0 => {
                let time = Duration::from_millis(a.into());
                aodv.set_broadcast(time);
                routing.set_broadcast_time(time, 1 + u32::from(lqi >> 4));
            }
            _ => {
                aodv.handle_heard(now, from, lqi);
                routing.handle_heard(now, from, -60, lqi);
                let octets = some_message(random);
                let _ = aodv.handle_message(now, from, &octets);
                routing.handle_message(now, from, -60, &octets);
            }
        }
    }

    fn compare(&mut self, now: Instant) {
        let Pair(aodv, routing) = self;
        assert_eq!(routing.deadline(), aodv.deadline());
        aodv.handle_deadline(now);
        routing.handle_deadline(now);
        let (mut expected, mut octets) = ([0; MAX_MESSAGE], [0; MAX_MESSAGE]);
        loop {
            let sent = aodv.poll_message(now, &mut expected).map(|out| {
                let to = match out.to {
                    Destination::Broadcast => Address::BROADCAST,
                    Destination::Short(to) => Address::Short(to),
                };
                Message { to, len: out.len }
            });
            assert_eq!(routing.poll_message(now, &mut octets), sent);
            assert_eq!(octets, expected);
            if sent.is_none() {
                break;
            }
        }
        assert_eq!(routing.poll_change().is_some(), aodv.poll_change());
        assert_eq!(observe(routing.aodv()), observe(aodv));
        let is_router = aodv.config().role == Role::Router;
        for name in (0..8).chain([OUTSIDE].into_iter().filter(|_| is_router)) {
            let dst = address(name);
            assert_eq!(routing.is_discovering(dst), aodv.is_discovering(name));
            assert!(routing.discovers(dst));
            let prefix_len = if name == OUTSIDE { 0 } else { 64 };
            let via = aodv.next_hop(name).map(|next| NextHop::Link(Address::Short(next)));
            assert_eq!(routing.route(dst), Some(Learnt { prefix_len, via }));
        }
        // Neighbours on the link, groups, and what a border router has routes of its own to.
        let others = ["fe80::ff:fe00:2", "ff05::2"].map(|text| text.parse().unwrap());
        for dst in others.into_iter().chain((!is_router).then_some(address(OUTSIDE))) {
            assert!(!routing.discovers(dst) && routing.route(dst).is_none());
        }
    }
}

#[test]
fn each_call_of_a_node_reaches_aodv() {
    for seed in (0..16).filter(|seed| seed % 4 < 2) {
        let identity = Identity { link: Address::Short(1), short: 1, sleeps: false, seed };
        let others = AodvConfig { short: 9, seed: !seed, ..config(seed) };
        let routing = Aoded::new(identity, others, PREFIX);
        let mut pair = Pair(Aodv::new(config(seed)), routing);
        let (mut now, mut random) = (Instant::from_secs(1), Pcg32::seed_from_u64(seed));
        for _ in 0..300 {
            now += Duration::from_micros(u64::from(random.next_u32() >> 13));
            pair.operate(now, &mut random);
            pair.compare(now);
        }
    }
}
