//! MLDv2 (RFC 3810) for multicast listeners: parsing of queries, writing of reports.
//!
//! Sources are not distinguished: a listener of a group listens to all sources, so no record of a
//! report excludes any. Queries of version 1 (RFC 2710) are refused.

use crate::ipv6::ALL_NODES;
use crate::{Error, Field};
use core::net::Ipv6Addr;

/// ICMPv6 type of a query (RFC 3810, 5.1).
pub const QUERY: u8 = 130;
/// ICMPv6 type of a report of version 2 (RFC 3810, 5.2).
pub const REPORT: u8 = 143;
/// Destination of reports: all routers that know MLDv2 (RFC 3810, 5.2.14).
pub const ROUTERS: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 0x16);

/// A Hop-by-Hop Options header with the Router Alert of MLD (RFC 2711, 2.1) in front of ICMPv6: all
/// of its messages have it (RFC 3810, 5).
pub const ROUTER_ALERT: [u8; 8] = [crate::ipv6::protocol::ICMPV6, 0, 5, 2, 0, 0, 1, 0];

/// Octets of a query without sources.
const QUERY_LEN: usize = 28;
/// Octets of a report before its records, and of each record.
const REPORT_LEN: usize = 8;
const RECORD_LEN: usize = 20;

/// A query for the groups with listeners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// Maximum time until the report, in milliseconds (RFC 3810, 5.1.3).
    pub max_response_ms: u32,
    /// The group of the query; `None`: all groups.
    pub group: Option<Ipv6Addr>,
}

impl Query {
    /// Reads a query, from the type on.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for version 1, [`Error::Truncated`], [`Error::Invalid`] for another
    /// type or an address that is no group.
    pub fn parse(octets: &[u8]) -> Result<Self, Error> {
        let (head, _) = octets.split_first_chunk::<24>().ok_or(Error::Truncated(Field::Mld))?;
        let &[kind, _, _, _, high, low, _, _, ref group @ ..] = head;
        if kind != QUERY {
            return Err(Error::Invalid(Field::Mld));
        }
        match octets.len() {
            24 => return Err(Error::Unsupported(Field::Mld)),
            25..QUERY_LEN => return Err(Error::Truncated(Field::Mld)),
            _ => {}
        }
        let code = u32::from(u16::from_be_bytes([high, low]));
        let max_response_ms = match code {
            // A number with an exponent, (mant | 0x1000) << (exp + 3).
            0x8000.. => (code & 0xFFF | 0x1000) << (code >> 12 & 7).saturating_add(3),
            _ => code,
        };
        let group = Ipv6Addr::from(group.first_chunk::<16>().copied().unwrap_or_default());
        let group = (!group.is_unspecified()).then_some(group);
        if group.is_some_and(|group| !group.is_multicast()) {
            return Err(Error::Invalid(Field::Mld));
        }
        Ok(Query { max_response_ms, group })
    }
}

/// Returns whether a group is reported at all: its scope is wider than this node, and it is not the
/// all-nodes group (RFC 3810, 6).
pub fn is_reported(group: Ipv6Addr) -> bool {
    group.is_multicast()
        && group.octets().get(1).is_some_and(|it| it & 0xF > 1)
        && group != ALL_NODES
}

/// Writes a report of these groups to `out`, each of them once, as many as there is room for;
/// `changed` is set if some of them are new. The checksum is zero. Returns the length in octets;
/// `None` if there is no group to report.
pub fn write_report(
    changed: bool,
    groups: impl Iterator<Item = Ipv6Addr>,
    out: &mut [u8],
) -> Option<usize> {
    // MODE_IS_EXCLUDE and CHANGE_TO_EXCLUDE_MODE (RFC 3810, 5.2.12), no auxiliary data, no source.
    let kind = if changed { 4 } else { 2 };
    let (head, mut room) = out.split_first_chunk_mut::<REPORT_LEN>()?;
    let mut count = 0_u16;
    let mut written = [[0; 16]; 16];
    for group in groups.filter(|group| is_reported(*group)) {
        let octets = group.octets();
        let so_far = written.get(..usize::from(count)).unwrap_or_default();
        if so_far.contains(&octets) {
            continue;
        }
        let Some(place) = written.get_mut(usize::from(count)) else { break };
        let Some((record, rest)) = room.split_first_chunk_mut::<RECORD_LEN>() else { break };
        *place = octets;
        *record = [0; RECORD_LEN];
        kinglet_octets::copy(record, &[kind]);
        kinglet_octets::copy(record.get_mut(4..).unwrap_or_default(), &octets);
        (room, count) = (rest, count.saturating_add(1));
    }
    let [high, low] = count.to_be_bytes();
    *head = [REPORT, 0, 0, 0, 0, 0, high, low];
    let records = usize::from(count).saturating_mul(RECORD_LEN);
    (count > 0).then_some(records.saturating_add(REPORT_LEN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn query(code: u16, group: Ipv6Addr) -> Vec<u8> {
        let head = [&[QUERY, 0, 0, 0][..], &code.to_be_bytes(), &[0, 0]].concat();
        [&head[..], &group.octets(), &[2, 125, 0, 0]].concat()
    }

    const GROUP: Ipv6Addr = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 1, 0xFF00, 7);

    #[test]
    fn queries_say_how_soon_and_about_what() {
        let all = Query::parse(&query(10_000, Ipv6Addr::UNSPECIFIED));
        assert_eq!(all, Ok(Query { max_response_ms: 10_000, group: None }));
        let one = Query::parse(&query(0x8000, GROUP));
        assert_eq!(one, Ok(Query { max_response_ms: 32_768, group: Some(GROUP) }));
        let longest = Query::parse(&query(0xFFFF, GROUP)).unwrap();
        assert_eq!(longest.max_response_ms, 0x1FFF << 10);
        let first = &query(1, GROUP)[..24];
        assert_eq!(Query::parse(first), Err(Error::Unsupported(Field::Mld)));
        assert_eq!(Query::parse(&query(1, GROUP)[..26]), Err(Error::Truncated(Field::Mld)));
        assert_eq!(Query::parse(&query(1, Ipv6Addr::LOCALHOST)), Err(Error::Invalid(Field::Mld)));
    }

    #[test]
    fn a_report_has_each_group_once_and_no_more_than_fit() {
        let node = Ipv6Addr::new(0xFF01, 0, 0, 0, 0, 0, 0, 7);
        let all = Ipv6Addr::new(0xFF02, 0, 0, 0, 0, 0, 0, 1);
        let groups = || [GROUP, all, node, GROUP, ROUTERS].into_iter();
        let mut out = [0xFF; 64];
        assert_eq!(write_report(false, groups(), &mut out), Some(48));
        assert_eq!(out[..12], [143, 0, 0, 0, 0, 0, 0, 2, 2, 0, 0, 0]);
        assert_eq!((&out[12..28], &out[32..48]), (&GROUP.octets()[..], &ROUTERS.octets()[..]));
        assert_eq!(write_report(true, groups(), &mut out[..47]), Some(28));
        assert_eq!(out[..9], [143, 0, 0, 0, 0, 0, 0, 1, 4]);
        assert_eq!(write_report(true, [all].into_iter(), &mut out), None);
        assert_eq!(write_report(true, groups(), &mut out[..7]), None);
    }

    proptest! {
        #[test]
        fn no_octets_panic(octets in prop::collection::vec(any::<u8>(), 0..60), n in 0usize..40) {
            let _ = Query::parse(&octets);
            let mut out = [0; 200];
            let many = (0..n as u16).map(|n| Ipv6Addr::new(0xFF05, 0, 0, 0, 0, 0, 0, n));
            let len = write_report(true, many, &mut out);
            prop_assert_eq!(len, (n > 0).then_some(8 + 20 * n.min(9)));
        }
    }
}
