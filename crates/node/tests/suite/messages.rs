//! ICMPv6 messages of a routing protocol, of types that the network layer does not know.

use crate::common::*;
use core::net::Ipv6Addr;
use kinglet::routing::{Icmpv6In, Icmpv6Out, Learnt, MAX_ICMPV6, NoHeaders};
use kinglet::time::{Duration, Instant};
use kinglet::wire::ieee802154::Address;
use kinglet::wire::ipv6::Header;
use kinglet::{Node, Routing, mac};
use std::fmt::Debug;

const GROUP: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 0x1A);

/// Sends one message to all nodes and replies to each such message, until it gets a reply.
struct Greeting {
    to: Option<Icmpv6Out>,
    heard: Vec<(Address, Header, Vec<u8>)>,
}

impl Routing for Greeting {
    const NONE: Self = Greeting { to: None, heard: Vec::new() };
    const ICMPV6: &'static [u8] = &[155];
    const GROUP: Option<Ipv6Addr> = Some(GROUP);
    type Additions = NoHeaders;
    type Waiting<H: Copy + Debug> = [Option<H>; 0];

    fn is_on(&self) -> bool {
        true
    }

    fn route(&self, _: Ipv6Addr) -> Option<Learnt> {
        None
    }

    fn listens(&self) -> bool {
        true
    }

    fn handle_icmpv6(&mut self, _: Instant, _: i8, message: Icmpv6In<'_>) {
        let Icmpv6In { from, header, octets } = message;
        if header.dst == GROUP {
            let (dst, via) = (header.src, Some(from));
            self.to = Some(Icmpv6Out { src: None, dst, via, hop_limit: 255, alert: false, len: 8 });
        }
        self.heard.push((from, header, octets.to_vec()));
    }

    fn poll_icmpv6(&mut self, _: Instant, buf: &mut [u8; MAX_ICMPV6]) -> Option<Icmpv6Out> {
        buf[..8].copy_from_slice(&[155, 1, 0, 0, 5, 6, 7, 8]);
        self.to.take()
    }
}

kinglet::profile! {
    struct Greeter { routing: Greeting, security: mac::CcmStar<mac::Tabled, [mac::PeerCounter; 4]> }
}

fn greeter(n: u16, to: Option<Icmpv6Out>) -> Box<Node<Greeter>> {
    let routing = |_: &kinglet::Config| Greeting { to, heard: Vec::new() };
    node_routed(n, 1, 2, usual(), |_| {}, routing)
}

#[test]
fn a_message_to_all_reaches_routing_and_so_does_its_answer() {
    let all = Address::BROADCAST;
    let hello =
        Icmpv6Out { src: None, dst: GROUP, via: Some(all), hop_limit: 255, alert: false, len: 8 };
    let mut world = World::<Greeter>::new(2, usual(), 0, 1);
    world.nodes = vec![greeter(1, Some(hello)), greeter(2, None)];
    let answered = |nodes: &mut [Box<Node<Greeter>>]| !nodes[0].routing().heard.is_empty();
    assert!(world.run(Duration::from_secs(1), |_, nodes| answered(nodes)));
    let heard = |n: usize| world.nodes[n].routing().heard[0].clone();
    let (from, header, octets) = heard(1);
    assert_eq!((from, header.src, header.dst), (Address::Short(1), local(1), GROUP));
    assert_eq!((header.hop_limit, &octets[4..]), (255, &[5, 6, 7, 8][..]));
    let (from, header, _) = heard(0);
    assert_eq!((from, header.src, header.dst), (Address::Short(2), local(2), local(1)));
}
