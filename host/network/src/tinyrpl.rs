//! Emulates TinyRPL's fault (Kim et al., "TCP over RPL", III-B) in a table alongside a router whose
//! RPL does not have it. The timer that removes a downward route starts when the route is created,
//! and no DAO restarts it. The route is then missing from its expiry until the next DAO, which
//! creates it again.

use core::net::Ipv6Addr;
use core::ops::{Deref, DerefMut};
use kinglet::routing::{Icmpv6In, Learnt, NextHop, Refusal};
use kinglet::time::{Duration, Instant, earliest};
use kinglet::wire::ipv6::Header;
use kinglet::wire::rpl::{ControlOption, Message};
use kinglet::{Routing, Rpled, rpl};
use std::collections::BTreeMap;

/// Default of TinyRPL's RemoveTimer (III-B).
const LIFETIME: Duration = Duration::from_secs(20 * 60);
/// Octets of an ICMPv6 message before RPL's: type, code, checksum.
const HEAD: usize = 4;

/// RPL, with TinyRPL's timers if its fault is enabled: a pointer to RPL whose own methods precede
/// RPL's ([`kinglet::routing_choice!`]).
pub struct TinyRpl<S: rpl::Sizes> {
    rpl: Box<Rpled<S>>,
    timers: Option<RemoveTimers>,
}

impl<S: rpl::Sizes> TinyRpl<S> {
    /// Creates it, with the timers of the fault if there are any.
    pub fn new(rpl: Rpled<S>, timers: Option<RemoveTimers>) -> Self {
        TinyRpl { rpl: Box::new(rpl), timers }
    }

    /// Returns true if the fault has removed the route to `dst`.
    fn has_removed(&self, dst: Ipv6Addr) -> bool {
        self.timers.as_ref().is_some_and(|timers| timers.has_removed(dst))
    }

    /// As [`Routing::route`].
    pub fn route(&self, dst: Ipv6Addr) -> Option<Learnt> {
        let learnt = self.rpl.route(dst)?;
        Some(if self.has_removed(dst) { Learnt { via: None, ..learnt } } else { learnt })
    }

    /// As [`Routing::relay`].
    ///
    /// # Errors
    /// As of [`Routing::relay`].
    pub fn relay(
        &mut self,
        now: Instant,
        packet: &Header,
        option: &mut [u8],
    ) -> Result<Option<NextHop>, Refusal> {
        if self.has_removed(packet.dst) {
            return Err(Refusal::NoRoute);
        }
        self.rpl.relay(now, packet, option)
    }

    /// As [`Routing::handle_icmpv6`].
    pub fn handle_icmpv6(&mut self, now: Instant, rssi_dbm: i8, message: Icmpv6In<'_>) {
        self.rpl.handle_icmpv6(now, rssi_dbm, message);
        if let Some(timers) = &mut self.timers {
            timers.handle_icmpv6(now, message, self.rpl.rpl());
        }
    }

    /// As [`Routing::deadline`].
    pub fn deadline(&self) -> Option<Instant> {
        earliest(self.rpl.deadline(), self.timers.as_ref().and_then(RemoveTimers::deadline))
    }

    /// As [`Routing::handle_deadline`].
    pub fn handle_deadline(&mut self, now: Instant) {
        self.rpl.handle_deadline(now);
        if let Some(timers) = &mut self.timers {
            timers.handle_deadline(now);
        }
    }
}

impl<S: rpl::Sizes> Deref for TinyRpl<S> {
    type Target = Rpled<S>;

    fn deref(&self) -> &Rpled<S> {
        &self.rpl
    }
}

impl<S: rpl::Sizes> DerefMut for TinyRpl<S> {
    fn deref_mut(&mut self) -> &mut Rpled<S> {
        &mut self.rpl
    }
}

/// The timers of the downward routes of one router.
#[derive(Default)]
pub struct RemoveTimers {
    /// Expiry of the route to a target; `None` if it has expired and no DAO has been received
    /// since.
    ends: BTreeMap<Ipv6Addr, Option<Instant>>,
}

impl RemoveTimers {
    /// Returns true if TinyRPL would have no route to this target.
    pub fn has_removed(&self, target: Ipv6Addr) -> bool {
        self.ends.get(&target).is_some_and(Option::is_none)
    }

    /// Handles a message that `rpl` has accepted.
    pub fn handle_icmpv6<S: rpl::Sizes>(
        &mut self,
        now: Instant,
        message: Icmpv6In<'_>,
        rpl: &rpl::Rpl<S>,
    ) {
        let Some((&[_, code, ..], body)) = message.octets.split_first_chunk::<HEAD>() else {
            return;
        };
        let Ok((Message::Dao(_), options)) = Message::parse(code, body) else { return };
        for option in options {
            let ControlOption::Target(target) = option else { continue };
            match rpl.routes().find(|route| route.target() == target) {
                Some(route) if is_next(route) => self.handle_target(now, target.prefix),
                Some(_) => {}
                // A DAO that withdraws the route: TinyRPL removes it as well.
                None => drop(self.ends.remove(&target.prefix)),
            }
        }
    }

    fn handle_target(&mut self, now: Instant, target: Ipv6Addr) {
        self.ends.entry(target).or_default().get_or_insert(now + LIFETIME);
    }

    /// Time at which [`RemoveTimers::handle_deadline`] is due.
    pub fn deadline(&self) -> Option<Instant> {
        self.ends.values().flatten().min().copied()
    }

    /// Removes routes that have expired.
    pub fn handle_deadline(&mut self, now: Instant) {
        for end in self.ends.values_mut() {
            let _ = end.take_if(|end| *end <= now);
        }
    }
}

/// Returns true if the route leads to a child as its target. In TinyRPL each DAO is forwarded to
/// the root within seconds, so that all routers above lose the route together with this one, and
/// one of them suffices. Kinglet's routers forward DAOs less often (docs/decisions/0038-meters.md).
fn is_next(route: &rpl::Route) -> bool {
    route.target().prefix.to_bits() as u64 == route.via().to_bits() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_ends_despite_its_refresh_and_is_back_with_the_next_dao() {
        let target = Ipv6Addr::LOCALHOST;
        let minutes = |count: u32| Instant::ZERO + Duration::from_secs(60) * count;
        let mut timers = RemoveTimers::default();
        assert!(!timers.has_removed(target), "nothing is known of it");
        timers.handle_target(minutes(0), target);
        timers.handle_target(minutes(15), target);
        timers.handle_deadline(minutes(19));
        assert!(!timers.has_removed(target));
        assert_eq!(timers.deadline(), Some(minutes(20)));
        timers.handle_deadline(minutes(20));
        assert!(timers.has_removed(target));
        assert_eq!(timers.deadline(), None);
        timers.handle_target(minutes(33), target);
        assert!(!timers.has_removed(target));
        assert_eq!(timers.deadline(), Some(minutes(53)));
    }
}
