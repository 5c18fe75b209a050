//! Membership of a DODAG version: rank, and the ranks that limit it (RFC 6550, 8.2).

use crate::config::{Mode, Root, Sequence};
use crate::lollipop::Counter;
use crate::rank::{INFINITE_RANK, dag_rank};
use core::net::Ipv6Addr;
use kinglet_time::{Duration, Instant};
use kinglet_trickle::Parameters;
use kinglet_wire::rpl::{Configuration, Dio, PrefixInformation, RouteInformation};

/// Number of DIOs with a risen rank that Trickle does not suppress.
const ANNOUNCEMENTS: u8 = 2;
/// The preference of a route that RFC 4191, 2.1 reserves.
const RESERVED_PREFERENCE: u8 = 2;
/// Minimum time for which a risen rank is announced before all neighbours count as informed.
const SHORTEST_HOLD: Duration = Duration::from_secs(1);
/// The least Imin in multicast transmissions (RFC 6206, 5: a multiple of the link layer's latency;
/// 6.6: with less, nodes that reset their timers together fill the channel).
const BROADCASTS: u32 = 4;
/// Lower limit of Imin, the RFC's default of 2^3 ms: with less, a single DIO could make nodes fill
/// the channel.
const LEAST_INTERVAL_MIN: u8 = 3;

/// The DODAG of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dodag {
    pub(crate) id: Ipv6Addr,
    /// RPLInstanceID.
    pub(crate) instance: u8,
    pub(crate) mode: Mode,
    /// Mode of Operation as the root announces it.
    pub(crate) operation: u8,
    pub(crate) grounded: bool,
    pub(crate) preference: u8,
    pub(crate) version: Counter,
    pub(crate) dtsn: Counter,
    pub(crate) configuration: Configuration,
    pub(crate) prefix: Option<PrefixInformation>,
    /// Time at which the prefix expires, unless it is announced again; `None`: never.
    pub(crate) prefix_expires: Option<Instant>,
    pub(crate) route: Option<RouteInformation>,
    /// The most preferred parent; none at a root and after it was lost.
    pub(crate) preferred: Option<Ipv6Addr>,
    rank: u16,
    /// L of RFC 6550, 8.2.2.4: the lowest rank in this version.
    lowest: u16,
    /// The lowest rank that neighbours may still assume for this node: parents have lower ones.
    believed: u16,
    /// Rank in the last multicast DIO.
    advertised: u16,
    /// Time at which all neighbours count as informed of a risen rank.
    pub(crate) hold: Option<Instant>,
    /// Number of DIOs in which a risen rank is still to be announced.
    pub(crate) announcements_left: u8,
    /// Number of multicast DIOs that it has sent, up to 255.
    dios: u8,
}

/// Number of DIOs after which a router without routes changes its DTSN.
const DIOS_WITHOUT_ROUTES: u8 = 2;

impl Dodag {
    //= rfc6550#6.3.1-2 rfc6550#8.1-2 rfc6550#8.2.2.2-1 rfc6550#8.2.2.2-2
    pub(crate) const fn of_root(root: &Root, instance: u8) -> Self {
        let rank = root.configuration.min_hop_rank_increase;
        let (version, dtsn) = match root.sequence {
            Some(Sequence { version, dtsn }) => (Counter::new(version), Counter::new(dtsn)),
            None => (Counter::FIRST, Counter::FIRST),
        };
        Dodag {
            id: root.dodag_id,
            instance,
            mode: root.mode,
            operation: root.mode.value(),
            grounded: root.grounded,
            preference: root.preference,
            version,
            dtsn,
            configuration: root.configuration,
            prefix: root.prefix,
            prefix_expires: None,
            route: match root.route {
                Some(route) => valid(route),
                None => None,
            },
            preferred: None,
            rank,
            lowest: rank,
            believed: rank,
            advertised: rank,
            hold: None,
            announcements_left: 0,
            dios: 0,
        }
    }

    /// Returns the DODAG of `dio`, with this initial DTSN.
    pub(crate) fn joined(
        dio: &Dio,
        mode: Mode,
        configuration: Configuration,
        dtsn: Counter,
    ) -> Self {
        Dodag {
            id: dio.dodag_id,
            instance: dio.instance,
            mode,
            operation: dio.mode,
            grounded: dio.grounded,
            preference: dio.preference,
            version: Counter::new(dio.version),
            dtsn,
            configuration,
            prefix: None,
            prefix_expires: None,
            route: None,
            preferred: None,
            rank: INFINITE_RANK,
            lowest: INFINITE_RANK,
            believed: INFINITE_RANK,
            advertised: INFINITE_RANK,
            hold: None,
            announcements_left: 0,
            dios: 0,
        }
    }

    pub(crate) const fn rank(&self) -> u16 {
        self.rank
    }

    pub(crate) const fn dag_rank(&self, rank: u16) -> u16 {
        dag_rank(rank, self.configuration.min_hop_rank_increase)
    }

    /// Returns the highest rank of this node in this version (8.2.2.4, rule 3).
    //= rfc6550#8.2.2.4-2
    pub(crate) const fn limit(&self) -> u16 {
        match self.configuration.max_rank_increase {
            0 => INFINITE_RANK,
            increase => self.lowest.saturating_add(increase),
        }
    }

    /// Returns whether a neighbour of this rank cannot have a route through this node.
    pub(crate) const fn is_above(&self, rank: u16) -> bool {
        self.dag_rank(rank) < self.dag_rank(self.believed)
    }

    /// Sets the rank. Returns whether neighbours must be informed soon. A rise to less than a hop
    /// above the advertised rank needs no announcement first: a node that has this one as parent is
    /// at least a hop below that.
    pub(crate) fn set_rank(&mut self, now: Instant, rank: u16) -> bool {
        let before = core::mem::replace(&mut self.rank, rank);
        self.lowest = self.lowest.min(rank);
        let far = rank.abs_diff(self.advertised) >= self.configuration.min_hop_rank_increase;
        if rank <= self.believed || !far && self.hold.is_none() {
            (self.believed, self.hold) = (rank, None);
        } else if far && rank > before {
            self.hold = Some(now + self.hold_time());
            self.announcements_left = ANNOUNCEMENTS;
        }
        far
    }

    /// Notes that a multicast DIO announces the rank. One of 128 lives begins with the DTSN of the
    /// life before, which children take for no request. So the DTSN changes once more if none of
    /// them has announced a target by then.
    pub(crate) fn advertise(&mut self, lacks_routes: bool) {
        self.advertised = self.rank;
        self.announcements_left = self.announcements_left.saturating_sub(1);
        self.dios = self.dios.saturating_add(1);
        if self.dios == DIOS_WITHOUT_ROUTES && lacks_routes {
            self.dtsn = self.dtsn.next();
        }
    }

    /// Ends the announcement of a risen rank if it is due: all neighbours count as informed.
    /// Returns whether it was due.
    pub(crate) fn end_hold(&mut self, now: Instant) -> bool {
        let over = self.hold.take_if(|until| *until <= now).is_some();
        if over {
            self.believed = self.rank;
        }
        over
    }

    /// Returns the time that two DIOs after a reset of Trickle take, plus another Imin.
    pub(crate) fn hold_time(&self) -> Duration {
        (self.pace().shortest * 4).max(SHORTEST_HOLD)
    }

    /// Moves to a new version, in which earlier ranks do not bind (8.2.2.4, rule 5).
    pub(crate) fn migrate(&mut self, version: Counter) {
        self.version = version;
        (self.lowest, self.believed, self.hold) = (INFINITE_RANK, INFINITE_RANK, None);
    }

    /// Returns whether this node has had no parent for so long that all nodes below are informed.
    /// Then its former rank excludes no parent (8.2.2.1: the old state is suppressed after a local
    /// timer), but its addresses stay.
    pub(crate) const fn is_forgotten(&self) -> bool {
        self.preferred.is_none() && self.hold.is_none()
    }

    pub(crate) fn is_storing(&self) -> bool {
        self.mode == Mode::Storing
    }

    /// Returns whether routers keep multicast routes in this DODAG, which this node does not.
    pub(crate) fn has_multicast(&self) -> bool {
        self.operation != self.mode.value()
    }

    /// Returns the Trickle parameters of DIOs (8.3.1).
    pub(crate) fn pace(&self) -> Parameters {
        let Configuration { interval_min, interval_doublings, redundancy, .. } = self.configuration;
        let power = |n: u8| 1u64.checked_shl(n.into()).unwrap_or(u64::MAX);
        let shortest = Duration::from_millis(power(interval_min.max(LEAST_INTERVAL_MIN)));
        let longest = shortest.as_micros().saturating_mul(power(interval_doublings));
        Parameters { shortest, longest: Duration::from_micros(longest), redundancy }
    }

    /// Returns the duration of a Path Lifetime; `None` if it never ends.
    pub(crate) fn lifetime(&self, units: u8) -> Option<Duration> {
        let unit = Duration::from_secs(self.configuration.lifetime_unit_secs.into());
        (units != u8::MAX).then(|| unit * units.into())
    }

    /// Returns the Path Lifetime of this duration, rounded up. A duration that no number of units
    /// covers never ends (6.7.8), until the route is withdrawn.
    pub(crate) fn units(&self, lifetime: Duration) -> u8 {
        let unit = u64::from(self.configuration.lifetime_unit_secs).saturating_mul(1_000_000);
        if lifetime == Duration::ZERO {
            return 0;
        }
        let units = lifetime.as_micros().checked_add(unit.saturating_sub(1));
        let units = units.and_then(|it| it.checked_div(unit)).unwrap_or(u64::MAX);
        u8::try_from(units).unwrap_or(u8::MAX)
    }

    /// Returns this node's address from the DODAG's prefix.
    pub(crate) fn address(&self, identifier: u64) -> Option<Ipv6Addr> {
        let made = |prefix: &PrefixInformation| {
            prefix.autonomous && prefix.prefix_len == 64 && prefix.valid_secs > 0
        };
        let prefix = self.prefix.filter(made)?.prefix;
        Some(with_identifier(prefix, identifier))
    }
}

/// Returns a configuration whose Imin is at least [`BROADCASTS`] times the duration of a multicast
/// transmission. Imax is the same.
pub(crate) fn spaced(of: &Configuration, broadcast: Duration) -> Configuration {
    let mut found = *of;
    let least = (broadcast * BROADCASTS).as_micros() / 1_000;
    while 1u64 << found.interval_min.min(63) < least && found.interval_doublings > 0 {
        found.interval_min = found.interval_min.saturating_add(1);
        found.interval_doublings = found.interval_doublings.saturating_sub(1);
    }
    found
}

/// Returns a route that may be used and advertised: one with the reserved preference is ignored.
//= rfc6550#6.7.5-1
pub(crate) const fn valid(route: RouteInformation) -> Option<RouteInformation> {
    if route.preference == RESERVED_PREFERENCE { None } else { Some(route) }
}

/// Returns a prefix without the bits after its length.
pub(crate) fn shared(prefix: &PrefixInformation) -> Ipv6Addr {
    let bits = u128::MAX.checked_shl(128u32.saturating_sub(prefix.prefix_len.into()));
    Ipv6Addr::from_bits(prefix.prefix.to_bits() & bits.unwrap_or(0))
}

/// Returns `prefix` with its last 64 bits replaced by `identifier`.
pub(crate) fn with_identifier(prefix: Ipv6Addr, identifier: u64) -> Ipv6Addr {
    Ipv6Addr::from_bits(prefix.to_bits() & !u128::from(u64::MAX) | u128::from(identifier))
}

/// Returns the link-local address with the same identifier.
pub(crate) fn link_local(address: Ipv6Addr) -> Ipv6Addr {
    let prefix = Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 0);
    with_identifier(prefix, (address.to_bits() & u128::from(u64::MAX)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::CONFIGURATION;

    fn dodag() -> Dodag {
        let mut root = Dodag::of_root(&Root::new(Ipv6Addr::LOCALHOST, Mode::Storing), 0);
        root.migrate(Counter::FIRST.next());
        root
    }

    #[test]
    fn an_address_needs_an_autonomous_prefix_of_64_bits_that_is_valid() {
        let mut dodag = dodag();
        let prefix = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 0);
        let (on_link, router_address, preferred_secs) = (false, false, 0);
        for (autonomous, prefix_len, valid_secs) in [
            (true, 64, 60),
            (true, 64, u32::MAX),
            (false, 64, 60),
            (true, 63, 60),
            (true, 65, 60),
            (true, 64, 0),
        ] {
            dodag.prefix = Some(PrefixInformation {
                prefix_len,
                on_link,
                autonomous,
                router_address,
                valid_secs,
                preferred_secs,
                prefix,
            });
            let made = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 7);
            let is_usable = autonomous && prefix_len == 64 && valid_secs > 0;
            assert_eq!(dodag.address(7), is_usable.then_some(made), "{:?}", dodag.prefix);
        }
    }

    #[test]
    fn a_risen_rank_is_accepted_after_its_announcement_and_a_fallen_one_at_once() {
        let (mut dodag, now) = (dodag(), Instant::ZERO);
        assert!(dodag.set_rank(now, 512));
        assert!(dodag.is_above(511) && !dodag.is_above(512));
        assert!(dodag.set_rank(now, 1024));
        assert!(!dodag.is_above(600) && dodag.announcements_left == 2);
        assert!(!dodag.end_hold(now + Duration::from_secs(2)));
        assert!(dodag.end_hold(dodag.hold.unwrap()) && dodag.is_above(600));
        assert!(dodag.set_rank(now, 400) && !dodag.is_above(400) && dodag.hold.is_none());
    }

    #[test]
    fn the_dtsn_changes_once_if_no_child_has_answered_two_dios() {
        for (lacks_routes, changes) in
            [([true; 4], 1), ([false; 4], 0), ([true, false, true, true], 0)]
        {
            let mut dodag = dodag();
            let mut dtsn = dodag.dtsn;
            let mut changed = 0;
            for lacks in lacks_routes {
                dodag.advertise(lacks);
                changed += u32::from(core::mem::replace(&mut dtsn, dodag.dtsn) != dodag.dtsn);
            }
            assert_eq!(changed, changes, "{lacks_routes:?}");
        }
    }

    #[test]
    fn a_rise_that_is_being_announced_applies_once_all_have_heard_of_it() {
        let (mut dodag, now) = (dodag(), Instant::ZERO);
        dodag.set_rank(now, 512);
        dodag.advertise(false);
        dodag.set_rank(now, 2048);
        let until = dodag.hold;
        assert!(until.is_some());
        // It falls to a rank that is still new to the neighbours: the announcement goes on.
        assert!(dodag.set_rank(now + Duration::from_millis(1), 1536));
        assert_eq!((dodag.hold, dodag.is_above(600)), (until, false));
        // It rises by less than a hop after a DIO, which not all may have received.
        dodag.advertise(false);
        assert!(!dodag.set_rank(now + Duration::from_millis(2), 1600));
        assert_eq!((dodag.hold, dodag.is_above(600)), (until, false));
        assert!(dodag.end_hold(until.unwrap()) && dodag.is_above(600));
        // Without an announcement such a rise applies at once.
        assert!(!dodag.set_rank(now, 1650) && dodag.hold.is_none());
    }

    #[test]
    fn a_rank_may_rise_so_far_in_a_version() {
        let (mut dodag, now) = (dodag(), Instant::ZERO);
        assert_eq!(dodag.limit(), INFINITE_RANK);
        dodag.set_rank(now, 300);
        dodag.set_rank(now, 900);
        assert_eq!(dodag.limit(), 300 + CONFIGURATION.max_rank_increase);
        dodag.migrate(dodag.version.next());
        assert_eq!(dodag.limit(), INFINITE_RANK);
    }

    #[test]
    fn an_interval_of_any_root_stays_possible() {
        let mut dodag = dodag();
        for (min, doublings) in [(0, 0), (3, 20), (255, 255)] {
            dodag.configuration.interval_min = min;
            dodag.configuration.interval_doublings = doublings;
            let pace = dodag.pace();
            assert!(pace.shortest >= Duration::from_millis(8) && pace.longest >= pace.shortest);
        }
    }

    #[test]
    fn intervals_leave_time_for_multicast_transmissions() {
        let intervals = |ms| {
            let mut dodag = dodag();
            dodag.configuration = spaced(&CONFIGURATION, Duration::from_millis(ms));
            (dodag.pace().shortest, dodag.pace().longest)
        };
        let longest = dodag().pace().longest;
        for (broadcast_ms, shortest_ms) in
            [(0, 512), (128, 512), (129, 1_024), (250, 1_024), (1_000, 4_096), (1_025, 8_192)]
        {
            let expected = (Duration::from_millis(shortest_ms), longest);
            assert_eq!(intervals(broadcast_ms), expected, "{broadcast_ms} ms");
        }
        assert_eq!(intervals(1_000_000), (longest, longest));
    }

    #[test]
    fn lifetimes_are_rounded_up_and_what_no_number_covers_does_not_end() {
        let mut dodag = dodag();
        let units = |dodag: &Dodag, secs| dodag.units(Duration::from_secs(secs));
        assert_eq!([0, 1, 60, 61, 254 * 60].map(|it| units(&dodag, it)), [0, 1, 1, 2, 254]);
        assert_eq!((units(&dodag, 254 * 60 + 1), dodag.lifetime(255)), (255, None));
        dodag.configuration.lifetime_unit_secs = 0;
        assert_eq!([0, 1].map(|it| units(&dodag, it)), [0, 255]);
    }
}
