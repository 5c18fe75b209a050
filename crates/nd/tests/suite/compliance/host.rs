//! A host: its search for routers, and its use of their advertisements (RFC 6775, 5; RFC 8505, 5
//! and 6).

use super::{
    ALL_NODES, ALL_ROUTERS, Lone, MINUTE, OWN, SECOND, Sent, asks, context, eui, host, local,
    of_type,
};
use super::{config, prefix, source};
use crate::common::Plan;
use core::net::Ipv6Addr;
use kinglet_nd::{Configured, Discovery, NdConfig};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::nd::{
    Advertisement, Capabilities, Kind, NdOption, Registration, RouterAdvertisement, Servers, status,
};

const EXTENDED: NdOption<'static> = NdOption::Capabilities(Capabilities(Capabilities::EXTENDED));

/// Returns the solicitations that register an address.
fn registering(sent: &[Sent]) -> Vec<Sent> {
    of_type(sent, 135).into_iter().filter(|sent| sent.registration().is_some()).collect()
}

fn target(sent: &Sent) -> Ipv6Addr {
    let Kind::NeighbourSolicitation(target) = sent.kind() else { panic!("a solicitation") };
    target
}

/// Sends router `n`'s response to a registration.
fn answer(lone: &mut Lone<Plan>, n: u16, asked: &Sent, status: u8) {
    let registration = Registration { status, ..asked.registration().unwrap() };
    let (router, solicited, overriding) = (true, true, false);
    let target = target(asked);
    let kind = Advertisement { router, solicited, overriding, target };
    let options = [NdOption::Registration(registration)];
    lone.hear(local(n), local(1), Kind::NeighbourAdvertisement(kind), &options).unwrap();
}

/// Returns a host that has received router `n`, which knows RFC 8505, and its registrations there.
fn registered(n: u16, status: u8) -> (Lone<Plan>, Vec<Sent>) {
    let mut lone = host();
    lone.advertises(n, &[EXTENDED, NdOption::Prefix(prefix(false))]).unwrap();
    assert_eq!(lone.configured(), [Configured::Address(OWN)]);
    let mut all = Vec::new();
    for verdict in [0, status] {
        let asked = registering(&lone.sent());
        asked.iter().for_each(|asked| answer(&mut lone, n, asked, verdict));
        all.extend(asked);
    }
    (lone, all)
}

//= rfc6775#5.3-1 rfc6775#5.3-2 rfc8505#6.1-1 type=test
#[test]
fn a_solicitation_of_routers_says_who_asks() {
    let mut lone = host();
    let asked = of_type(&lone.run(MINUTE), 133);
    assert!(asked.len() >= 3);
    for sent in &asked {
        assert_eq!((sent.message.dst, sent.options()), (ALL_ROUTERS, vec![source(1), EXTENDED]));
        // The usual address of the node, which is link-local, and not the unspecified one.
        assert_eq!(sent.message.src, None);
    }
}

//= rfc6775#4.1-1 rfc6775#4.1-2 rfc6775#5.5.1-1 rfc8505#4.1-1 rfc8505#4.1-2 rfc8505#5.1-1 type=test
//= rfc8505#5.6-1 rfc8505#5.6-3 rfc8505#5.6-4 rfc8505#5.6-5 rfc8505#6-2 type=test
#[test]
fn an_address_is_registered_from_the_link_local_one_which_is_registered_first() {
    let (_, asked) = registered(9, 0);
    let targets: Vec<_> = asked.iter().map(target).collect();
    assert_eq!(targets, [local(1), OWN]);
    for sent in &asked {
        assert_eq!((sent.message.src, sent.message.dst), (Some(local(1)), local(9)));
        assert!(sent.has(&source(1)));
        let it = sent.registration().unwrap();
        assert_eq!((it.status, it.opaque, it.tid, it.rovr), (0, (0, 0), Some(240), eui(1)));
        assert!(it.lifetime_min > 0);
    }
}

//= rfc8505#5.6-5 type=test
#[test]
fn nothing_is_registered_before_the_link_local_address_is() {
    let mut lone = host();
    lone.advertises(9, &[EXTENDED, NdOption::Prefix(prefix(false))]).unwrap();
    let asked = registering(&lone.run(SECOND));
    assert!(!asked.is_empty() && asked.iter().all(|asked| target(asked) == local(1)));
}

//= rfc8505#5.1-2 type=test
#[test]
fn a_host_that_does_not_make_itself_known_asks_its_router_to() {
    for routed in [true, false] {
        let mut lone = host();
        lone.nd = Discovery::new(NdConfig { autoconfigures: true, routed, ..config() });
        lone.advertises(9, &[EXTENDED, NdOption::Prefix(prefix(false))]).unwrap();
        let asked = registering(&lone.sent());
        assert!(asked.iter().all(|asked| asked.registration().unwrap().routed == routed));
    }
    assert!(config().routed, "by default");
}

//= rfc6775#4.1-1 rfc6775#5.5.1-1 rfc8505#4.1-7 rfc8505#6-1 rfc8505#6.3-1 type=test
#[test]
fn a_router_of_rfc_6775_is_asked_from_the_address_that_is_registered() {
    let mut lone = host();
    lone.advertises(9, &[NdOption::Prefix(prefix(false))]).unwrap();
    let asked = registering(&lone.run(SECOND / 2));
    let [asked] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!((asked.message.src, target(asked)), (Some(OWN), local(9)));
    assert!(asked.has(&source(1)));
    let expected = Registration { routed: false, lifetime_min: 60, ..asks(1, None, 60) };
    assert_eq!(asked.registration(), Some(expected));
    assert_eq!(asked.octets[33], 2, "a verifier of 64 bits");
}

#[test]
fn a_router_that_says_no_hop_limit_leaves_the_own() {
    let mut lone = host();
    for (hop_limit, reported) in [(0, None), (33, Some(33)), (0, None), (33, None), (34, Some(34))]
    {
        let router =
            RouterAdvertisement { lifetime_s: 9_000, hop_limit, ..RouterAdvertisement::default() };
        lone.hear(local(9), ALL_NODES, Kind::RouterAdvertisement(router), &[source(9)]).unwrap();
        let expected: Vec<_> = reported.map(Configured::HopLimit).into_iter().collect();
        assert_eq!(lone.configured(), expected, "{hop_limit}");
    }
}

#[test]
fn a_registration_is_renewed_within_the_time_it_was_asked_for_whatever_is_granted() {
    let (mut lone, asked) = registered(9, status::FULL);
    let rest = lone.run(SECOND * 61);
    let again = registering(&rest);
    let again = again.last().expect("after a minute");
    let registration = Registration { lifetime_min: u16::MAX, ..again.registration().unwrap() };
    let (router, solicited, overriding) = (true, true, false);
    let target = target(again);
    let kind = Advertisement { router, solicited, overriding, target };
    let options = [NdOption::Registration(registration)];
    lone.hear(local(9), local(1), Kind::NeighbourAdvertisement(kind), &options).unwrap();
    assert_eq!((asked[0].registration().unwrap().lifetime_min, target), (60, OWN));
    let renewed = registering(&lone.run(MINUTE * 60));
    assert!(renewed.iter().any(|sent| self::target(sent) == OWN));
}

//= rfc6775#5.5.3-1 type=test
#[test]
fn an_address_that_is_another_nodes_is_not_used() {
    let (mut lone, _) = registered(9, status::DUPLICATE);
    assert_eq!(lone.configured(), [Configured::NoAddress(OWN)]);
    lone.advertises(9, &[EXTENDED, NdOption::Prefix(prefix(false))]).unwrap();
    assert_eq!((lone.configured(), registering(&lone.run(MINUTE)).len()), (vec![], 0));
}

//= rfc6775#4.2-2 rfc6775#5.4.2-1 type=test
#[test]
fn a_context_without_its_flag_or_after_its_time_is_not_compressed_with() {
    let mut lone = host();
    let says = |lone: &mut Lone<Plan>, compress, valid_min| {
        let options = [NdOption::Context(context(compress, valid_min))];
        lone.advertises(9, &options).unwrap();
        lone.configured();
        lone.nd.compresses(3)
    };
    assert_eq!([(false, 60), (true, 60)].map(|(c, min)| says(&mut lone, c, min)), [false, true]);
    lone.run(MINUTE * 61);
    assert!(!lone.nd.compresses(3), "it is over, and only understood");
    assert!(!lone.configured().iter().any(is_forgotten));
}

fn is_forgotten(change: &Configured) -> bool {
    matches!(change, Configured::Context { id: 3, context: None })
}

//= rfc6775#4.2-4 type=test
#[test]
fn a_context_with_a_lifetime_of_zero_is_forgotten_at_once() {
    let mut lone = host();
    for (valid_min, forgotten) in [(60, false), (0, true)] {
        lone.advertises(9, &[NdOption::Context(context(true, valid_min))]).unwrap();
        assert_eq!(lone.configured().iter().any(is_forgotten), forgotten);
    }
}

/// RFC 8106, 5.1: a lifetime of zero means that the address must no longer be used.
#[test]
fn a_name_server_is_forgotten_when_its_lifetime_is_over_or_zero() {
    let server = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0x53);
    let says = |lone: &mut Lone<Plan>, lifetime_s| {
        let servers = server.octets();
        let servers = Servers::new(&servers);
        lone.advertises(9, &[NdOption::RecursiveDns { lifetime_s, servers }]).unwrap();
        lone.nd.servers().collect::<Vec<_>>()
    };
    let mut lone = host();
    assert!(says(&mut lone, 0).is_empty());
    for lifetime_s in [60, u32::MAX] {
        assert_eq!(says(&mut lone, lifetime_s), [server]);
        assert!(says(&mut lone, 0).is_empty(), "{lifetime_s}");
    }
    for (lifetime_s, after) in [(u32::MAX, vec![server]), (60, vec![])] {
        assert_eq!(says(&mut lone, lifetime_s), [server]);
        lone.run(SECOND * 59);
        assert_eq!(lone.nd.servers().collect::<Vec<_>>(), [server]);
        lone.run(SECOND * 2);
        assert_eq!(lone.nd.servers().collect::<Vec<_>>(), after);
    }
}

//= rfc6775#14-2 type=test
#[test]
fn a_link_address_of_64_bits_makes_an_address_of_its_eui_64() {
    let link = Address::Extended([2, 0, 0, 0, 0, 0, 0, 7]);
    let config = NdConfig { link, autoconfigures: true, ..config() };
    let mut lone = Lone::<Plan> { nd: Discovery::new(config), now: host().now };
    lone.advertises(9, &[NdOption::Prefix(prefix(false))]).unwrap();
    let made = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 7);
    assert_eq!(lone.configured(), [Configured::Address(made)]);
}

#[test]
fn solicitations_of_several_own_addresses_by_one_node_are_all_answered_and_repeated_ones_once() {
    let mut lone = host();
    for asked in [OWN, local(1), OWN] {
        let kind = Kind::NeighbourSolicitation(asked);
        lone.hear(local(7), asked, kind, &[source(7)]).unwrap();
    }
    let targets: Vec<_> = of_type(&lone.sent(), 136)
        .iter()
        .map(|sent| match sent.kind() {
            Kind::NeighbourAdvertisement(it) => it.target,
            kind => panic!("{kind:?}"),
        })
        .collect();
    assert_eq!(targets, [OWN, local(1)]);
}

//= rfc8505#5.2.1-1 type=test
#[test]
fn each_registration_is_a_later_transaction_and_the_circle_begins_after_255() {
    let (mut lone, first) = registered(9, 0);
    let mut tids = vec![first[1].registration().unwrap().tid.unwrap()];
    while tids.len() < 20 {
        lone.advertises(9, &[EXTENDED, NdOption::Prefix(prefix(false))]).unwrap();
        lone.now = lone.nd.deadline().unwrap();
        lone.nd.handle_deadline(lone.now);
        // First the link-local address, then the address that is registered from it.
        for _ in 0..2 {
            for asked in registering(&lone.sent()) {
                answer(&mut lone, 9, &asked, 0);
                if target(&asked) == OWN {
                    tids.push(asked.registration().unwrap().tid.unwrap());
                }
            }
        }
    }
    let expected: Vec<u8> = (240..=255).chain(0..4).collect();
    assert_eq!(tids, expected);
}
