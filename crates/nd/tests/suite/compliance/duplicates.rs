//! Duplicate address messages over several hops (RFC 6775, 8.2; RFC 8505, 5.6 and 5.7).

use super::{ALL_NODES, Lone, OWN, ROOT, asks, eui, global, inner, local, of_type, root};
use crate::common::Serves;
use core::net::Ipv6Addr;
use kinglet_nd::{Discard, Resolution};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::nd::{Builder, Duplicate, Kind, NdOption, status};

fn duplicate(confirmation: bool, n: u16, tid: Option<u8>, status: u8) -> Duplicate {
    let (lifetime_min, rovr, address) = (60, eui(n), global(n));
    Duplicate { confirmation, status, tid, lifetime_min, rovr, address }
}

fn hear(lone: &mut Lone<Serves>, from: Ipv6Addr, duplicate: Duplicate) -> Result<(), Discard> {
    lone.hear(from, OWN, Kind::Duplicate(duplicate), &[])
}

fn is_here(lone: &Lone<Serves>, n: u16) -> bool {
    lone.nd.resolution(global(n)) == Resolution::To(Address::Short(n))
}

/// A 6LR where host 7 is registered with this transaction.
fn registered(tid: u8) -> Lone<Serves> {
    let mut lone = inner();
    assert_eq!(lone.status(7, global(7), tid, 60), None, "the border router is asked");
    hear(&mut lone, ROOT, duplicate(true, 7, Some(tid), status::SUCCESS)).unwrap();
    assert_eq!(of_type(&lone.sent(), 136).len(), 1);
    assert!(is_here(&lone, 7));
    lone
}

//= rfc6775#8.2-1 rfc6775#8.2.3-1 rfc6775#4.4-3 rfc8505#5.6-6 rfc8505#6.2-2 rfc8505#6.4-2 type=test
#[test]
fn a_border_router_is_asked_in_the_form_of_the_host_with_status_zero() {
    for (tid, code) in [(None, 0), (Some(240), 1)] {
        let mut lone = inner();
        let ends = if tid.is_some() { (local(7), global(7)) } else { (global(7), local(1)) };
        lone.registers(7, ends, asks(7, tid, 60)).unwrap();
        let sent = lone.sent();
        let [request] = &of_type(&sent, 157)[..] else { panic!("{sent:?}") };
        assert_eq!((request.message.dst, request.octets[1]), (ROOT, code));
        assert_eq!(request.duplicate(), duplicate(false, 7, tid, 0));
        assert_eq!(of_type(&sent, 136).len(), 0, "the host waits");
        hear(&mut lone, ROOT, duplicate(true, 7, tid, status::SUCCESS)).unwrap();
        assert_eq!(lone.sent()[0].registration().unwrap().status, status::SUCCESS);
        assert!(is_here(&lone, 7));
    }
}

//= rfc6775#8.2.1-1 type=test
#[test]
fn duplicate_address_messages_that_are_not_valid_are_discarded() {
    let mut lone = root();
    let good = duplicate(false, 7, Some(240), 0);
    let group = Duplicate { address: ALL_NODES, ..good };
    for (from, duplicate) in [(ROOT, group), (Ipv6Addr::UNSPECIFIED, good), (ALL_NODES, good)] {
        assert_eq!(hear(&mut lone, from, duplicate), Err(Discard::Invalid));
    }
    let mut octets = [0; 48];
    let mut builder = Builder::new(&mut octets, &Kind::Duplicate(good)).unwrap();
    builder.option(&NdOption::Mtu(1280)).unwrap();
    let len = builder.len();
    assert_eq!(lone.hear_octets(ROOT, OWN, &octets[..31]), Err(Discard::Malformed));
    let mut endless = octets;
    endless[33] = 0;
    assert_eq!(lone.hear_octets(ROOT, OWN, &endless[..len]), Err(Discard::Malformed));
    assert_eq!((lone.sent().len(), lone.nd.role().registrations().count()), (0, 0));
    // An unknown option is no error.
    octets[32] = 77;
    lone.hear_octets(ROOT, OWN, &octets[..len]).unwrap();
    assert_eq!(of_type(&lone.sent(), 158).len(), 1);
}

//= rfc6775#4.4-1 type=test
#[test]
fn a_duplicate_address_message_may_have_come_over_many_hops() {
    // The hop limit of these messages on reception is 61.
    let mut lone = root();
    hear(&mut lone, ROOT, duplicate(false, 7, Some(240), 0)).unwrap();
    let answers = lone.sent();
    assert_eq!((answers[0].message.hop_limit, answers[0].message.dst), (64, ROOT));
}

//= rfc6775#3.4-2 rfc6775#8.2.3-2 type=test
#[test]
fn a_request_neither_adds_nor_removes_a_neighbour() {
    let mut lone = root();
    assert_eq!(lone.status(7, global(7), 240, 60), Some(status::SUCCESS));
    hear(&mut lone, ROOT, duplicate(false, 8, Some(240), 0)).unwrap();
    let taken = Duplicate { rovr: eui(8), ..duplicate(false, 7, Some(250), 0) };
    hear(&mut lone, ROOT, taken).unwrap();
    let verdicts: Vec<_> = lone.sent().iter().map(|it| it.duplicate().status).collect();
    assert_eq!(verdicts, [status::SUCCESS, status::DUPLICATE]);
    assert_eq!((is_here(&lone, 7), lone.nd.resolution(global(8))), (true, Resolution::Unknown));
    assert_eq!(lone.nd.neighbours().count(), 0);
}

//= rfc6775#3.4-2 rfc6775#8.2.5-1 type=test
#[test]
fn an_unexpected_confirmation_changes_nothing() {
    let mut lone = registered(240);
    for verdict in [status::SUCCESS, status::DUPLICATE] {
        for duplicate in [
            duplicate(true, 7, Some(240), verdict),
            duplicate(true, 8, Some(240), verdict),
            Duplicate { rovr: eui(8), ..duplicate(true, 7, Some(250), verdict) },
        ] {
            assert_eq!(hear(&mut lone, ROOT, duplicate), Err(Discard::NotConcerned));
        }
    }
    assert_eq!((is_here(&lone, 7), lone.nd.resolution(global(8))), (true, Resolution::Unknown));
}

//= rfc8505#5.7-1 type=test
#[test]
fn a_renewed_registration_is_reported_to_the_border_router() {
    let mut lone = registered(240);
    lone.registers(7, (local(7), global(7)), asks(7, Some(241), 60)).unwrap();
    let requests = of_type(&lone.sent(), 157);
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].duplicate(), duplicate(false, 7, Some(241), 0));
}

//= rfc8505#5.7-3 type=test
#[test]
fn a_registration_that_ends_is_reported_to_the_border_router() {
    let mut lone = registered(240);
    lone.registers(7, (local(7), global(7)), asks(7, Some(241), 0)).unwrap();
    let requests = of_type(&lone.sent(), 157);
    let expected = Duplicate { lifetime_min: 0, ..duplicate(false, 7, Some(241), 0) };
    assert_eq!(requests.iter().map(|it| it.duplicate()).collect::<Vec<_>>(), [expected]);
    assert_eq!(lone.nd.resolution(global(7)), Resolution::Unknown);
}

//= rfc8505#5.7-2 type=test
#[test]
fn a_host_that_has_moved_is_removed_from_its_former_router() {
    let mut lone = registered(240);
    hear(&mut lone, ROOT, duplicate(true, 7, Some(241), status::MOVED)).unwrap();
    assert_eq!(lone.nd.resolution(global(7)), Resolution::Unknown);
    assert_eq!(lone.nd.role().registrations().count(), 0);
}

//= rfc8505#5.6-6 type=test
#[test]
fn of_a_link_local_address_no_border_router_is_asked() {
    let mut lone = inner();
    let odd = Ipv6Addr::new(0xFE80, 0, 0, 0, 1, 2, 3, 4);
    lone.registers(7, (local(7), odd), asks(7, Some(240), 60)).unwrap();
    let sent = lone.sent();
    assert_eq!((of_type(&sent, 157).len(), of_type(&sent, 136).len()), (0, 1));
}
