//! TinyRPL's fault (Kim et al., "TCP over RPL", III-B), in a table beside a router whose RPL does
//! not have it: the timer that removes a way down begins when the way is made, and no DAO restarts
//! it. So the way is gone from its end until the next DAO, in which it is made anew.

use core::net::Ipv6Addr;
use kinglet::net::Icmpv6In;
use kinglet::rpl;
use kinglet::time::{Duration, Instant};
use kinglet::wire::rpl::{ControlOption, Message};
use std::collections::BTreeMap;

/// TinyRPL's RemoveTimer by default (III-B).
const LIFETIME: Duration = Duration::from_secs(20 * 60);
/// Octets of an ICMPv6 message before RPL's: type, code, checksum.
const HEAD: usize = 4;

/// The timers of one router's ways down.
#[derive(Default)]
pub struct RemoveTimers {
    /// When the way to a target ends; `None` if it has ended and no DAO has come since.
    ends: BTreeMap<Ipv6Addr, Option<Instant>>,
}

impl RemoveTimers {
    /// Whether TinyRPL would have no way to this target.
    pub fn has_removed(&self, target: Ipv6Addr) -> bool {
        self.ends.get(&target).is_some_and(Option::is_none)
    }

    /// A message came, and `rpl` has taken it.
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
                // A DAO that takes the way back: TinyRPL has none either.
                None => drop(self.ends.remove(&target.prefix)),
            }
        }
    }

    fn handle_target(&mut self, now: Instant, target: Ipv6Addr) {
        self.ends.entry(target).or_default().get_or_insert(now + LIFETIME);
    }

    /// When [`RemoveTimers::handle_deadline`] wants to be called.
    pub fn deadline(&self) -> Option<Instant> {
        self.ends.values().flatten().min().copied()
    }

    /// Removes what has had its time.
    pub fn handle_deadline(&mut self, now: Instant) {
        for end in self.ends.values_mut() {
            let _ = end.take_if(|end| *end <= now);
        }
    }
}

/// Whether it is the way to the child that is next. In TinyRPL each DAO goes on to the root within
/// seconds, so that all routers above lose the way when this one does, and one of them is enough.
/// Kinglet's tell those above more rarely (docs/decisions/0038-meters.md).
fn is_next(route: &rpl::Route) -> bool {
    route.target().prefix.to_bits() as u64 == route.via().to_bits() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_ends_though_it_is_told_again_and_is_back_with_the_next_dao() {
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
