//! Duplicate address detection for an assigned address (RFC 4862, 5.4; RFC 4429).

use crate::common::Plan;
use kinglet_nd::{Configured, Discovery, MAX_LEN, NdConfig};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::Header;
use kinglet_wire::nd::{Advertisement, Builder, Kind, Message, NdOption, solicited_node};
use std::net::Ipv6Addr;

type Nd = Discovery<Plan>;

const GIVEN: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 1, 2, 3, 4);
const ALL: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);
const NOW: Instant = Instant::from_secs(100);

fn hear(nd: &mut Nd, now: Instant, (src, dst): (Ipv6Addr, Ipv6Addr), kind: Kind) {
    let mut buf = [0; 64];
    let mut builder = Builder::new(&mut buf, &kind).unwrap();
    if matches!(kind, Kind::NeighbourAdvertisement(_)) {
        builder.option(&NdOption::TargetLinkAddress(Address::Short(9))).unwrap();
    }
    let len = builder.len();
    let header = Header {
        traffic_class: 0,
        flow_label: 0,
        payload_len: len as u16,
        next_header: 58,
        hop_limit: 255,
        src,
        dst,
    };
    let _ = nd.handle_message(now, Address::Short(9), &header, &buf[..len], |it| *it == GIVEN);
}

/// Returns a node that has sent its solicitation, and the time; there is no response yet.
fn asked() -> (Nd, Instant) {
    let mut nd: Nd = Discovery::new(NdConfig::new(Address::Short(1), [1; 8], 0xABCD, 1));
    nd.add_address(GIVEN);
    nd.handle_deadline(NOW);
    let at = nd.deadline().expect("within a second");
    assert!(at <= NOW + Duration::from_secs(1));
    nd.handle_deadline(at);
    let mut buf = [0; MAX_LEN];
    let out = nd.poll_message(at, &mut buf).expect("it asks");
    assert_eq!((out.src, out.dst), (Some(Ipv6Addr::UNSPECIFIED), solicited_node(GIVEN)));
    let message = Message::parse(&buf[..out.len]).unwrap();
    assert_eq!(message.kind(), Kind::NeighbourSolicitation(GIVEN));
    assert_eq!(message.options().count(), 0, "RFC 4861, 4.3: nobody has no link address");
    assert!(nd.listens(), "one that sleeps waits for the answer");
    assert_eq!((nd.poll_message(at, &mut buf), nd.poll_configured(at)), (None, None));
    (nd, at)
}

fn advertisement() -> Kind {
    let (router, solicited, overriding) = (false, false, true);
    Kind::NeighbourAdvertisement(Advertisement { router, solicited, overriding, target: GIVEN })
}

#[test]
fn an_address_without_another_claim_is_kept_and_defended() {
    let (mut nd, at) = asked();
    // Meanwhile it responds, without the Override flag (RFC 4429, 3.3).
    let kind = Kind::NeighbourSolicitation(GIVEN);
    let from = Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0xFF, 0xFE00, 9);
    hear(&mut nd, at, (from, solicited_node(GIVEN)), kind);
    let mut buf = [0; MAX_LEN];
    assert!(nd.poll_message(at, &mut buf).is_some());
    assert_eq!(buf[4], 0x40);
    let later = at + Duration::from_secs(2);
    while let Some(due) = nd.deadline().filter(|due| *due <= later) {
        nd.handle_deadline(due);
    }
    assert_eq!((nd.deadline(), nd.listens()), (None, false));
    // A later claim is wrong, and a node that wants the address gets a response.
    hear(&mut nd, later, (GIVEN, ALL), advertisement());
    assert_eq!((nd.poll_configured(later), nd.stats().conflicts), (None, 1));
    hear(&mut nd, later, (Ipv6Addr::UNSPECIFIED, solicited_node(GIVEN)), kind);
    let out = nd.poll_message(later, &mut buf).expect("it defends");
    assert_eq!((out.dst, buf[0], buf[4]), (ALL, 136, 0x20));
}

#[test]
fn an_address_that_another_has_or_wants_too_is_given_up() {
    let wants = Kind::NeighbourSolicitation(GIVEN);
    let from = [(GIVEN, ALL), (Ipv6Addr::UNSPECIFIED, solicited_node(GIVEN))];
    for (ends, kind) in from.into_iter().zip([advertisement(), wants]) {
        let (mut nd, at) = asked();
        hear(&mut nd, at, ends, kind);
        assert_eq!(nd.poll_configured(at), Some(Configured::NoAddress(GIVEN)));
        assert_eq!(nd.poll_configured(at), None);
        assert_eq!(nd.poll_message(at, &mut [0; MAX_LEN]), None, "and is not defended");
    }
}

#[test]
fn an_address_that_follows_from_the_link_address_belongs_to_no_other_node() {
    let mut nd: Nd = Discovery::new(NdConfig::new(Address::Short(1), [1; 8], 0xABCD, 1));
    nd.add_address(Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0xFF, 0xFE00, 1));
    assert_eq!(nd.deadline(), None);
}
