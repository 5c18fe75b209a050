//! Multicast groups are reported to routers in response to queries, and when they are new; the rate
//! is limited regardless of the queries.

use crate::common::Plan;
use kinglet_nd::{Discard, Discovery, MAX_LEN, NdConfig};
use kinglet_time::{Duration, Instant};
use kinglet_wire::ieee802154::Address;
use kinglet_wire::ipv6::{Header, protocol};
use kinglet_wire::mld::{self, QUERY};
use std::net::Ipv6Addr;

type Nd = Discovery<Plan>;

const NEW: Instant = Instant::from_secs(5);
const NOW: Instant = Instant::from_secs(100);
const ROUTER: Ipv6Addr = Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 9);
const ALL: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);

fn group(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xFF05, 0, 0, 0, 0, 0, 0, n)
}

/// Returns a node that has reported its new groups.
fn nd(reports: bool) -> Nd {
    let config = NdConfig::new(Address::Short(1), [1; 8], 0xABCD, 1);
    let mut nd = Discovery::new(NdConfig { reports, ..config });
    nd.handle_join();
    assert_eq!(said(&mut nd, NEW, NOW).len(), if reports { 2 } else { 0 });
    nd
}

fn ask(nd: &mut Nd, now: Instant, about: Ipv6Addr, hop_limit: u8, kind: u8) -> Result<(), Discard> {
    // Maximum response time of two seconds.
    let octets = [&[QUERY, 0, 0, 0, 7, 208, 0, 0], &about.octets()[..], &[2, 125, 0, 0]].concat();
    let payload_len = octets.len() as u16;
    let (traffic_class, flow_label, next_header) = (0, 0, kind);
    let (src, dst) = (ROUTER, ALL);
    let header =
        Header { traffic_class, flow_label, payload_len, next_header, hop_limit, src, dst };
    nd.handle_message(now, Address::Short(9), &header, &octets, |_| false)
}

/// Returns the reports sent between two instants: time, record type and number of groups.
fn said(nd: &mut Nd, from: Instant, until: Instant) -> Vec<(Instant, u8, u8)> {
    let (mut now, mut said, mut buf) = (from, Vec::new(), [0; MAX_LEN]);
    loop {
        nd.handle_deadline(now);
        let groups = || (1..=3).map(group).chain([group(1)]);
        while let Some(out) = nd.poll_report(now, &mut groups(), &mut buf) {
            assert_eq!(
                (out.dst, out.hop_limit, out.via),
                (mld::ROUTERS, 1, Some(Address::BROADCAST))
            );
            assert_eq!(out.len, 8 + 20 * usize::from(buf[7]));
            said.push((now, buf[8], buf[7]));
        }
        match nd.deadline().map(|next| next.max(now)) {
            Some(next) if next < until => now = next,
            _ => return said,
        }
    }
}

#[test]
fn a_new_group_is_reported_twice_and_never_by_a_node_that_does_not_report() {
    let mut nd = nd(true);
    nd.handle_join();
    let messages = said(&mut nd, NOW, NOW + Duration::from_secs(100));
    let [(first, 4, 3), (second, 4, 3)] = messages[..] else { panic!("{messages:?}") };
    assert!(first <= NOW + Duration::from_secs(1) && second == first + Duration::from_secs(1));
    let mut silent = self::nd(false);
    assert_eq!(ask(&mut silent, NOW, Ipv6Addr::UNSPECIFIED, 1, 0), Err(Discard::Malformed));
    assert_eq!(silent.deadline(), None);
}

#[test]
fn a_query_is_answered_once_at_any_time_that_it_allows() {
    let mut times = Vec::new();
    let mut nd = nd(true);
    for (n, at) in (0..20).map(|n| (n, NOW + Duration::from_secs(n * 10))) {
        let (about, groups) = if n % 2 == 0 { (Ipv6Addr::UNSPECIFIED, 3) } else { (group(2), 1) };
        ask(&mut nd, at, about, 1, protocol::HOP_BY_HOP).unwrap();
        let messages = said(&mut nd, at, at + Duration::from_secs(9));
        let [(when, 2, count)] = messages[..] else { panic!("{messages:?}") };
        assert_eq!(count, groups);
        times.push(when - at);
    }
    assert!(times.iter().all(|time| *time <= Duration::from_secs(2)));
    assert!(times.iter().any(|time| *time > Duration::from_secs(1)));
    assert!(times.iter().any(|time| *time < Duration::from_secs(1)));
    // A query for a group that this node is not in has no response.
    ask(&mut nd, Instant::from_secs(500), group(9), 1, protocol::HOP_BY_HOP).unwrap();
    let (from, until) = (Instant::from_secs(500), Instant::from_secs(600));
    assert_eq!(said(&mut nd, from, until), []);
}

#[test]
fn a_flood_of_queries_costs_a_report_a_second() {
    let mut nd = nd(true);
    let mut messages = 0;
    for n in 0..1_000 {
        let at = NOW + Duration::from_millis(n * 10);
        ask(&mut nd, at, group(n as u16 % 4), 1, protocol::HOP_BY_HOP).unwrap();
        messages += said(&mut nd, at, at + Duration::from_millis(10)).len();
    }
    assert!((4..=11).contains(&messages), "{messages}");
}

#[test]
fn only_a_neighbours_query_with_its_alert_counts() {
    let mut nd = nd(true);
    let all = Ipv6Addr::UNSPECIFIED;
    assert_eq!(ask(&mut nd, NOW, all, 255, protocol::HOP_BY_HOP), Err(Discard::Invalid));
    assert_eq!(ask(&mut nd, NOW, all, 1, protocol::ICMPV6), Err(Discard::Invalid));
    assert_eq!(ask(&mut nd, NOW, ROUTER, 1, protocol::HOP_BY_HOP), Err(Discard::Malformed));
    assert_eq!(nd.deadline(), None);
    let counts = [Discard::Invalid, Discard::Malformed].map(|why| nd.stats().discarded(why));
    assert_eq!(counts, [2, 1]);
}
