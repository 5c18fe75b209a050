//! A router resolves unregistered addresses (RFC 4861, 7.2), at a limited rate.

use crate::common::{NEIGHBOURS, Serves};
use kinglet_nd::{Border, Change, Discovery, MAX_LEN, NdConfig, Offer, Resolution, Serving};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::Header;
use kinglet_wire::nd::{Advertisement, Builder, Kind, NdOption};
use std::net::Ipv6Addr;

type Nd = Discovery<Serves>;

const NOW: Instant = Instant::from_secs(100);
const OWN: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0xFF, 0xFE00, 1);

fn router() -> Nd {
    let config = NdConfig::new(Address::Short(1), [1; 8], 0xABCD, 1);
    let mut nd = Discovery::with_role(config, Serving::new(Offer::new(Border::Absent)));
    // It has advertised its offer.
    drain(&mut nd, NOW);
    nd
}

fn stray(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0xA, 0xB, 0xC, n)
}

/// Returns the number of neighbour solicitations sent until then.
fn drain(nd: &mut Nd, until: Instant) -> usize {
    let (mut count, mut buf) = (0, [0; MAX_LEN]);
    loop {
        while nd.poll_message(until, &mut buf).is_some() {
            count += usize::from(buf[0] == 135);
        }
        while nd.poll_change().is_some() {}
        match nd.deadline().filter(|at| *at <= until) {
            Some(at) => nd.handle_deadline(at),
            None => return count,
        }
    }
}

fn answer(nd: &mut Nd, now: Instant, target: Ipv6Addr) {
    let (router, solicited, overriding) = (false, true, true);
    let advertisement = Advertisement { router, solicited, overriding, target };
    let mut buf = [0; 64];
    let mut out = Builder::new(&mut buf, &Kind::NeighbourAdvertisement(advertisement)).unwrap();
    out.option(&NdOption::TargetLinkAddress(Address::Short(7))).unwrap();
    let len = out.len();
    let (traffic_class, flow_label, next_header, hop_limit) = (0, 0, 58, 255);
    let (payload_len, src, dst) = (len as u16, target, OWN);
    let header =
        Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
    nd.handle_message(now, Address::Short(7), &header, &buf[..len], |it| *it == OWN).unwrap();
    assert_eq!(nd.poll_change(), Some(Change::Found(target)));
}

#[test]
fn a_scan_of_the_prefix_costs_two_solicitations_a_second() {
    let (mut nd, mut count) = (router(), 0);
    for n in 0..3_000 {
        let now = NOW + Duration::from_millis(u64::from(n) * 10);
        nd.want(now, stray(n));
        count += drain(&mut nd, now);
    }
    assert!((30..=60).contains(&count), "{count} in 30 s");
}

#[test]
fn a_scan_does_not_evict_neighbours_in_use() {
    let mut nd = router();
    assert!(nd.want(NOW, stray(0)));
    answer(&mut nd, NOW, stray(0));
    for n in 1..300 {
        let now = NOW + Duration::from_millis(u64::from(n) * 100);
        nd.want(now, stray(n));
        drain(&mut nd, now);
    }
    assert_eq!(nd.resolution(stray(0)), Resolution::To(Address::Short(7)));
    // One that has been idle for long is evicted.
    let late = NOW + Duration::from_secs(200);
    drain(&mut nd, late);
    for n in 0..2 * NEIGHBOURS as u16 {
        let now = late + Duration::from_secs(u64::from(n) * 2);
        assert!(nd.want(now, stray(1_000 + n)));
        answer(&mut nd, now, stray(1_000 + n));
        if n == 3 {
            assert_eq!(nd.resolution(stray(0)), Resolution::Unknown);
            return;
        }
    }
}

#[test]
fn nodes_that_answer_are_all_asked_for_at_once() {
    let mut nd = router();
    for n in 0..NEIGHBOURS as u16 {
        assert!(nd.want(NOW, stray(n)), "{n}");
        answer(&mut nd, NOW, stray(n));
    }
    assert_eq!(nd.neighbours().count(), NEIGHBOURS);
}

#[test]
fn an_address_that_contains_its_link_address_is_not_solicited() {
    let nd = router();
    assert!(nd.solicits(stray(1)));
    assert!(!nd.solicits(Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0xFF, 0xFE00, 9)));
}
