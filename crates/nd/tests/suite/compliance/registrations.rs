//! A router and the hosts that register with it (RFC 6775, 6; RFC 8505, 5 to 7).

use super::{
    ALL_NODES, ALL_ROUTERS, OWN, ROOT, asks, eui, global, inner, local, of_type, root, router,
};
use super::{MINUTE, border, source};
use core::net::Ipv6Addr;
use kinglet_nd::{Border, Resolution};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::nd::{Capabilities, Kind, NdOption, Registration, solicited_node, status};

//= rfc6775#6.5.3-1 rfc8505#4.1-6 type=test
#[test]
fn a_registration_for_no_time_ends_it_and_is_answered() {
    let mut lone = root();
    assert_eq!(lone.status(7, global(7), 240, 60), Some(status::SUCCESS));
    assert_eq!(lone.nd.resolution(global(7)), Resolution::To(Address::Short(7)));
    assert_eq!(lone.status(7, global(7), 241, 0), Some(status::SUCCESS));
    assert_eq!(lone.nd.resolution(global(7)), Resolution::Unknown);
    // In the form of RFC 6775.
    for (lifetime_min, resolution) in
        [(60, Resolution::To(Address::Short(8))), (0, Resolution::Unknown)]
    {
        let asked = asks(8, None, lifetime_min);
        lone.registers(8, (global(8), local(1)), asked).unwrap();
        assert_eq!(
            (of_type(&lone.sent(), 136).len(), lone.nd.resolution(global(8))),
            (1, resolution)
        );
    }
}

//= rfc6775#6.5.3-2 type=test
#[test]
fn a_registration_that_is_not_renewed_is_forgotten() {
    let mut lone = root();
    lone.status(7, global(7), 240, 5);
    lone.run(MINUTE * 5 - MINUTE / 60);
    assert_eq!(lone.nd.resolution(global(7)), Resolution::To(Address::Short(7)));
    lone.run(MINUTE / 60);
    assert_eq!(lone.nd.resolution(global(7)), Resolution::Unknown);
}

//= rfc6775#6.5.5-1 type=test
#[test]
fn a_router_answers_solicitations_of_its_group() {
    for mut lone in [root(), inner()] {
        let kind = Kind::NeighbourSolicitation(OWN);
        lone.hear(local(7), solicited_node(OWN), kind, &[source(7)]).unwrap();
        let answers = of_type(&lone.sent(), 136);
        assert_eq!(answers.len(), 1);
        assert_eq!((answers[0].message.dst, answers[0].octets[4] & 0xC0), (local(7), 0xC0));
    }
}

//= rfc6775#6.3-2 type=test
#[test]
fn a_solicitation_of_routers_changes_nothing_of_who_is_where() {
    let mut lone = root();
    assert_eq!(lone.status(7, global(7), 240, 60), Some(status::SUCCESS));
    for (src, resolution) in
        [(global(7), Resolution::To(Address::Short(7))), (global(8), Resolution::Unknown)]
    {
        lone.hear(src, ALL_ROUTERS, Kind::RouterSolicitation, &[source(66)]).unwrap();
        assert_eq!(lone.nd.resolution(src), resolution);
    }
}

//= rfc6775#5.4-1 rfc6775#6.1-1 rfc6775#6.3-3 rfc8505#4.3-1 rfc8505#6.1-2 type=test
#[test]
fn each_advertisement_says_its_link_address_its_capabilities_and_no_prefix_on_link() {
    for mut lone in [root(), inner(), router(Border::Absent)] {
        let mut sent = lone.run(MINUTE);
        for capabilities in [0, Capabilities::ROUTER] {
            let options = [source(7), NdOption::Capabilities(Capabilities(capabilities))];
            lone.hear(local(7), ALL_ROUTERS, Kind::RouterSolicitation, &options).unwrap();
            sent.extend(lone.sent());
        }
        let advertised = of_type(&sent, 134);
        assert!(advertised.len() >= 4);
        for sent in &advertised {
            assert!(sent.has(&source(1)));
            let mut prefixes = 0;
            for option in sent.options() {
                match option {
                    NdOption::Prefix(it) => {
                        assert!(!it.on_link);
                        prefixes += 1;
                    }
                    NdOption::Capabilities(it) => assert!(it.has(Capabilities::EXTENDED)),
                    _ => {}
                }
            }
            assert_eq!(prefixes, 1);
            assert!(sent.options().iter().any(|it| matches!(it, NdOption::Capabilities(_))));
        }
    }
}

//= rfc8505#6-4 rfc8505#6.2-1 rfc8505#6.2-3 type=test
#[test]
fn both_forms_of_registration_are_taken_and_answered_with_the_option() {
    let mut lone = root();
    for (n, tid, src, target) in
        [(7, None, global(7), local(1)), (8, Some(240), local(8), global(8))]
    {
        let asked = asks(n, tid, 60);
        lone.registers(n, (src, target), asked).unwrap();
        let answers = lone.sent();
        assert_eq!(answers[0].registration(), Some(Registration { status: 0, ..asked }));
        assert_eq!(lone.nd.resolution(global(n)), Resolution::To(Address::Short(n)));
    }
}

//= rfc8505#5.3-1 rfc8505#5.3-3 type=test
#[test]
fn the_verifier_is_compared_for_one_address_at_a_time() {
    let mut lone = root();
    let shared = |tid| Registration { rovr: eui(99), ..asks(0, Some(tid), 60) };
    // Two nodes with the same verifier have two addresses, each with a transaction of its own.
    for (n, tid) in [(7, 250), (8, 240)] {
        lone.registers(n, (local(n), global(n)), shared(tid)).unwrap();
        assert_eq!(lone.sent()[0].registration().unwrap().status, status::SUCCESS);
    }
    let resolutions = [7, 8].map(|n| lone.nd.resolution(global(n)));
    assert_eq!(resolutions, [7, 8].map(|n| Resolution::To(Address::Short(n))));
    // The end of one is not that of the other.
    let ends = Registration { lifetime_min: 0, ..shared(251) };
    lone.registers(7, (local(7), global(7)), ends).unwrap();
    assert_eq!(lone.nd.resolution(global(8)), Resolution::To(Address::Short(8)));
}

//= rfc8505#5.2.1-2 type=test
#[test]
fn the_later_transaction_is_the_last_word() {
    for (first, second, expected) in [
        (250, 249, status::MOVED),
        (250, 251, status::SUCCESS),
        (250, 2, status::SUCCESS),
        (2, 250, status::MOVED),
        (5, 240, status::SUCCESS),
    ] {
        let mut lone = root();
        assert_eq!(lone.status(7, global(7), first, 60), Some(status::SUCCESS));
        assert_eq!(lone.status(7, global(7), second, 60), Some(expected), "{first} {second}");
    }
}

//= rfc8505#7-1 type=test
#[test]
fn a_node_may_have_three_addresses_at_the_least() {
    let mut lone = root();
    for n in 0..3 {
        assert_eq!(lone.status(7, global(100 + n), 240, 60), Some(status::SUCCESS));
    }
}

//= rfc8505#6.1-3 type=test
#[test]
fn another_router_that_asks_learns_the_border_router() {
    for (mut lone, expected) in [(root(), border(OWN, 7)), (inner(), border(ROOT, 7))] {
        let options = [source(7), NdOption::Capabilities(Capabilities(Capabilities::ROUTER))];
        lone.hear(local(7), ALL_ROUTERS, Kind::RouterSolicitation, &options).unwrap();
        let messages = of_type(&lone.sent(), 134);
        assert_eq!(messages[0].border(), Some(expected));
        assert_ne!(messages[0].message.dst, ALL_NODES);
    }
}

//= rfc6775#6.5.4-1 rfc6775#8.2-1 type=test
#[test]
fn an_address_of_which_the_border_router_is_asked_is_nowhere_yet() {
    let mut lone = inner();
    let asked = asks(7, Some(240), 60);
    lone.registers(7, (local(7), global(7)), asked).unwrap();
    assert_eq!(lone.nd.resolution(global(7)), Resolution::Unknown);
    // The pending owner is remembered: a request of another node for the address is refused.
    let other = asks(8, Some(240), 60);
    let heard = lone.registers(8, (local(8), global(7)), other);
    assert!(heard.is_err());
    let requests: Vec<_> = of_type(&lone.sent(), 157).iter().map(|it| it.duplicate()).collect();
    assert_eq!(requests.iter().map(|it| it.rovr).collect::<Vec<[u8; 8]>>(), [eui(7)]);
    let address: Vec<Ipv6Addr> = requests.iter().map(|it| it.address).collect();
    assert_eq!(address, [global(7)]);
}

//= rfc6775#14-4 type=test
#[test]
fn a_host_with_a_link_address_of_64_bits_is_registered_under_it() {
    let mut lone = root();
    let link = Address::Extended(eui(7));
    let options =
        [NdOption::SourceLinkAddress(link), NdOption::Registration(asks(7, Some(240), 60))];
    let kind = Kind::NeighbourSolicitation(global(7));
    lone.hear(local(7), local(1), kind, &options).unwrap();
    let sent = lone.sent();
    assert_eq!(sent[0].registration().unwrap().status, status::SUCCESS);
    assert_eq!(
        (sent[0].message.via, lone.nd.resolution(global(7))),
        (Some(link), Resolution::To(link))
    );
}

/// RFC 8505, 6.3.
#[test]
fn a_registration_without_transaction_updates_none_that_has_one() {
    let mut lone = root();
    let claim = |lone: &mut super::Lone<crate::common::Serves>, tid: Option<u8>, lifetime_min| {
        let ends = if tid.is_some() { (local(7), global(7)) } else { (global(7), local(1)) };
        lone.registers(7, ends, asks(7, tid, lifetime_min)).unwrap();
        of_type(&lone.sent(), 136)[0].registration().unwrap().status
    };
    assert_eq!(claim(&mut lone, None, 60), status::SUCCESS);
    assert_eq!(claim(&mut lone, Some(5), 60), status::SUCCESS);
    for lifetime_min in [60, 0] {
        assert_eq!(claim(&mut lone, None, lifetime_min), status::MOVED);
    }
    // Nor does a request of another router in that form.
    for lifetime_min in [60, 0] {
        let (confirmation, status, tid, rovr) = (false, 0, None, super::eui(7));
        let address = global(7);
        let asked = super::Duplicate { confirmation, status, tid, lifetime_min, rovr, address };
        lone.hear(global(66), super::OWN, Kind::Duplicate(asked), &[]).unwrap();
        assert_eq!(lone.sent()[0].duplicate().status, status::MOVED);
    }
    assert_eq!(lone.nd.role().registrations().count(), 1);
}
