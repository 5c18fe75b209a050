//! Tells which multicast groups this node is in (MLDv2, RFC 3810), where somebody who forwards
//! multicast on the link wants to know: when a group is new, and when a router asks.
//!
//! There is one report at a time, of all groups, and no more than one a second, however often it is
//! asked for. A group that was left is not told of: a router finds that out by asking.

use core::net::Ipv6Addr;
use kinglet_random::Random;
use kinglet_time::{Duration, Instant};
use kinglet_wire::mld::{self, Query};

/// How often a group that is new is told: Robustness Variable (RFC 3810, 9.1).
const ROBUSTNESS: u8 = 2;
/// Within this it is: Unsolicited Report Interval (RFC 3810, 9.11). Between two reports it is ours.
const INTERVAL: Duration = Duration::from_secs(1);

/// What is to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    All,
    One(Ipv6Addr),
}

/// Who tells of multicast groups: nobody (`()`), or [`Reporting`].
pub trait Listener {
    /// One to which nothing has happened yet.
    const NEW: Self;
    /// Whether it ever tells anybody; if not, nothing of it is in the program.
    const REPORTS: bool;

    /// A group is new.
    fn handle_join(&mut self);

    /// A router asks (RFC 3810, 6.2).
    fn handle_query(&mut self, now: Instant, query: &Query, random: &mut Random);

    /// When [`Listener::handle_deadline`] wants to be called.
    fn deadline(&self) -> Option<Instant>;

    /// Does what is due.
    fn handle_deadline(&mut self, now: Instant, random: &mut Random);

    /// Writes a report, if it is time; how long it is.
    fn poll(
        &mut self,
        now: Instant,
        groups: &mut dyn Iterator<Item = Ipv6Addr>,
        buf: &mut [u8],
    ) -> Option<usize>;
}

impl Listener for () {
    const NEW: Self = ();
    const REPORTS: bool = false;

    fn handle_join(&mut self) {}

    fn handle_query(&mut self, _: Instant, _: &Query, _: &mut Random) {}

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn handle_deadline(&mut self, _: Instant, _: &mut Random) {}

    fn poll(
        &mut self,
        _: Instant,
        _: &mut dyn Iterator<Item = Ipv6Addr>,
        _: &mut [u8],
    ) -> Option<usize> {
        None
    }
}

/// MLDv2's least.
#[derive(Debug)]
pub struct Reporting {
    /// A group is new, and nobody has looked at the clock since.
    joined: bool,
    /// How often that is still to be told.
    left: u8,
    asked: Asked,
    /// When a report is due.
    due: Option<Instant>,
    /// One is to be sent.
    ready: bool,
    /// None is sent before.
    not_before: Instant,
}

impl Listener for Reporting {
    const NEW: Self = Reporting {
        joined: false,
        left: 0,
        asked: Asked::All,
        due: None,
        ready: false,
        not_before: Instant::ZERO,
    };
    const REPORTS: bool = true;

    fn handle_join(&mut self) {
        self.joined = true;
    }

    fn handle_query(&mut self, now: Instant, query: &Query, random: &mut Random) {
        let asked = query.group.map_or(Asked::All, Asked::One);
        let within = Duration::from_millis(query.max_response_ms.into());
        let at = (now + random.between(Duration::ZERO, within)).max(self.not_before);
        let pending = self.ready || self.due.is_some();
        self.asked = if pending && self.asked != asked { Asked::All } else { asked };
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    fn deadline(&self) -> Option<Instant> {
        if self.joined { Some(Instant::ZERO) } else { self.due }
    }

    fn handle_deadline(&mut self, now: Instant, random: &mut Random) {
        if core::mem::take(&mut self.joined) {
            (self.left, self.asked) = (ROBUSTNESS, Asked::All);
            let at = now + random.between(Duration::ZERO, INTERVAL);
            let at = at.max(self.not_before);
            self.due = Some(self.due.map_or(at, |due| due.min(at)));
        }
        if self.due.take_if(|due| *due <= now).is_some() {
            self.ready = true;
        }
    }

    fn poll(
        &mut self,
        now: Instant,
        groups: &mut dyn Iterator<Item = Ipv6Addr>,
        buf: &mut [u8],
    ) -> Option<usize> {
        if !core::mem::take(&mut self.ready) {
            return None;
        }
        self.not_before = now + INTERVAL;
        let changed = self.left > 0;
        self.left = self.left.saturating_sub(1);
        if self.left > 0 {
            let at = self.not_before;
            self.due = Some(self.due.map_or(at, |due| due.min(at)));
        }
        let asked = core::mem::replace(&mut self.asked, Asked::All);
        let is_asked = |group: &Ipv6Addr| asked == Asked::All || asked == Asked::One(*group);
        mld::write_report(changed, groups.filter(is_asked), buf)
    }
}
