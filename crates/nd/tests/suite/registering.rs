//! Registration of a host (RFC 6775, 5.5; RFC 8505, 5): selection of the router, and timing.

use crate::common::Plan;
use kinglet_nd::{Discard, Discovery, MAX_LEN, NdConfig};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::Header;
use kinglet_wire::nd::{Advertisement, Builder, Capabilities, Kind, Message, NdOption};
use kinglet_wire::nd::{PrefixInformation, Registration, RouterAdvertisement};
use std::net::Ipv6Addr;

type Nd = Discovery<Plan>;

const NOW: Instant = Instant::from_secs(100);
const SECOND: Duration = Duration::from_secs(1);
const OWN: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0xFF, 0xFE00, 1);
const ALL: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 2);

fn local(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0xFF, 0xFE00, n)
}

fn hear(nd: &mut Nd, now: Instant, n: u16, kind: Kind, options: &[NdOption<'_>]) {
    let mut buf = [0; 256];
    let mut builder = Builder::new(&mut buf, &kind).unwrap();
    options.iter().for_each(|option| builder.option(option).unwrap());
    let len = builder.len();
    let header = Header {
        traffic_class: 0,
        flow_label: 0,
        payload_len: len as u16,
        next_header: 58,
        hop_limit: 255,
        src: local(n),
        dst: if matches!(kind, Kind::RouterAdvertisement(_)) { ALL } else { local(1) },
    };
    let owns = |it: &Ipv6Addr| [OWN, local(1)].contains(it);
    let heard = nd.handle_message(now, Address::Short(n), &header, &buf[..len], owns);
    assert_ne!(heard, Err(Discard::Malformed));
    while nd.poll_configured(now).is_some() {}
}

/// Processes an advertisement of router `n` with the prefix and support of RFC 8505.
fn advertise(nd: &mut Nd, now: Instant, n: u16, lifetime_s: u16) {
    let prefix = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0);
    let (len, on_link, autonomous) = (64, false, true);
    let (valid_s, preferred_s) = (u32::MAX, u32::MAX);
    let prefix = PrefixInformation { prefix, len, on_link, autonomous, valid_s, preferred_s };
    let options = [
        NdOption::SourceLinkAddress(Address::Short(n)),
        NdOption::Capabilities(Capabilities(Capabilities::EXTENDED)),
        NdOption::Prefix(prefix),
    ];
    let kind = Kind::RouterAdvertisement(RouterAdvertisement {
        lifetime_s,
        ..RouterAdvertisement::default()
    });
    hear(nd, now, n, kind, &options);
}

/// Returns the messages sent: destination, and the registered address and transaction, if any.
fn sent(nd: &mut Nd, now: Instant) -> Vec<(Ipv6Addr, Option<(Ipv6Addr, u8)>)> {
    let mut buf = [0; MAX_LEN];
    let mut all = Vec::new();
    while let Some(out) = nd.poll_message(now, &mut buf) {
        let message = Message::parse(&buf[..out.len]).unwrap();
        let asked = message.options().find_map(|option| match (message.kind(), option) {
            (Kind::NeighbourSolicitation(target), NdOption::Registration(it)) => {
                Some((target, it.tid.unwrap()))
            }
            _ => None,
        });
        all.push((out.dst, asked));
    }
    all
}

/// Answers both registrations as router `n`, one after the other.
fn registered(nd: &mut Nd, now: Instant, n: u16) -> Vec<(Ipv6Addr, u8)> {
    let mut all = Vec::new();
    for (dst, asked) in (0..2).flat_map(|_| sent_and_answered(nd, now, n)) {
        assert_eq!(dst, local(n));
        all.push(asked);
    }
    all
}

fn sent_and_answered(nd: &mut Nd, now: Instant, n: u16) -> Vec<(Ipv6Addr, (Ipv6Addr, u8))> {
    let all: Vec<_> =
        sent(nd, now).into_iter().filter_map(|(dst, asked)| Some((dst, asked?))).collect();
    for (_, (target, tid)) in &all {
        let (router, solicited, overriding) = (true, true, false);
        let advertisement = Advertisement { router, solicited, overriding, target: *target };
        let (opaque, routed, lifetime_min) = ((0, 0), true, 60);
        let (status, tid, rovr) = (0, Some(*tid), [1; 8]);
        let answer = Registration { status, opaque, routed, tid, lifetime_min, rovr };
        let options = [NdOption::Registration(answer)];
        hear(nd, now, n, Kind::NeighbourAdvertisement(advertisement), &options);
    }
    all
}

fn host() -> Nd {
    let config = NdConfig::new(Address::Short(1), [1; 8], 0xABCD, 1);
    Discovery::new(NdConfig { autoconfigures: true, ..config })
}

fn wait(nd: &mut Nd, until: Instant) {
    while let Some(at) = nd.deadline().filter(|at| *at <= until) {
        nd.handle_deadline(at);
    }
}

#[test]
fn registrations_follow_the_parent() {
    let mut nd = host();
    for n in [5, 6, 7] {
        advertise(&mut nd, NOW, n, 9_000);
    }
    assert_eq!(registered(&mut nd, NOW, 5), [(local(1), 240), (OWN, 240)]);
    // Routing has selected another router that this host knows: a later transaction there.
    nd.prefer(NOW, Some(Address::Short(6)));
    assert_eq!(nd.router(), Some(local(6)));
    assert_eq!(registered(&mut nd, NOW, 6), [(local(1), 241), (OWN, 241)]);
    // A router that did not fit into the table is searched for, and evicts another.
    nd.prefer(NOW, Some(Address::Short(7)));
    assert_eq!((nd.router(), sent(&mut nd, NOW)), (None, vec![(local(7), None)]));
    let mut again = Vec::new();
    while let Some(at) = nd.deadline().filter(|at| *at <= NOW + SECOND * 15) {
        nd.handle_deadline(at);
        again.extend(sent(&mut nd, at));
    }
    assert_eq!(again, [(ALL_ROUTERS, None)], "it may be another's now");
    advertise(&mut nd, NOW, 5, 9_000);
    assert_eq!((nd.router(), sent(&mut nd, NOW)), (None, vec![]));
    advertise(&mut nd, NOW, 7, 9_000);
    assert_eq!(registered(&mut nd, NOW, 7), [(local(1), 242), (OWN, 242)]);
    nd.prefer(NOW, None);
    assert!(nd.router().is_some());
}

#[test]
fn one_who_did_not_answer_is_asked_again_when_the_node_is_awake() {
    let mut nd = host();
    advertise(&mut nd, NOW, 5, 9_000);
    let mut tries = sent(&mut nd, NOW).len();
    while let Some(at) = nd.deadline().filter(|at| *at <= NOW + SECOND * 5) {
        nd.handle_deadline(at);
        tries += sent(&mut nd, at).len();
    }
    assert_eq!((tries, nd.listens()), (3, false), "three times, and it sleeps");
    let later = NOW + SECOND * 60;
    wait(&mut nd, later);
    nd.handle_sent(later, Address::Short(5), true);
    assert!(nd.deadline().is_none_or(|at| at >= later));
    assert_eq!(sent(&mut nd, later), [(local(5), Some((local(1), 241)))]);
    assert!(nd.listens());
    // If the node is never awake, it wakes up after five minutes.
    let mut at = Vec::new();
    while let Some(due) = nd.deadline().filter(|due| *due <= later + SECOND * 303) {
        nd.handle_deadline(due);
        at.extend(sent(&mut nd, due).into_iter().map(|_| (due - later).as_millis() / 1_000));
    }
    assert_eq!(at, [1, 2, 303]);
}

#[test]
fn one_who_never_sleeps_asks_before_it_is_over_and_listens_while_it_waits() {
    let mut nd = host();
    advertise(&mut nd, NOW, 5, 9_000);
    assert_eq!(registered(&mut nd, NOW, 5).len(), 2);
    assert!(!nd.listens());
    let due = nd.deadline().unwrap();
    assert_eq!(due, NOW + SECOND * 3_300);
    // Two thirds are over: any frame to its router triggers the renewal.
    let early = NOW + SECOND * 2_401;
    nd.handle_sent(early, Address::Short(6), true);
    assert_eq!(sent(&mut nd, early), [], "not what it sends others");
    nd.handle_sent(early, Address::Short(5), true);
    assert_eq!(registered(&mut nd, early, 5), [(local(1), 241), (OWN, 241)]);
}
