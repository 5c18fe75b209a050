//! Reports the multicast groups of this node (MLDv2, RFC 3810) to routers that forward multicast on
//! the link: when a group is new, and in response to queries.
//!
//! There is one report at a time, of all groups, and at most one a second, however many queries
//! come. The end of a membership is not reported: a router detects it by a query.

use core::net::Ipv6Addr;
use kinglet_random::Random;
use kinglet_time::{Duration, Instant};
use kinglet_wire::mld::{self, Query};

/// Reports of a new group: Robustness Variable (RFC 3810, 9.1).
const ROBUSTNESS: u8 = 2;
/// Period for the first of them: Unsolicited Report Interval (RFC 3810, 9.11). It is also the
/// minimum time between two reports, which is this implementation's rule.
const INTERVAL: Duration = Duration::from_secs(1);

/// Groups to be reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    All,
    One(Ipv6Addr),
}

/// Reports of multicast groups: none (`()`), or [`Reporting`].
pub trait Listener {
    /// The initial state.
    const NEW: Self;
    /// True if it ever sends reports; if false, the program contains none of it.
    const REPORTS: bool;

    /// Processes a new group.
    fn handle_join(&mut self);

    /// Processes a router's query (RFC 3810, 6.2).
    fn handle_query(&mut self, now: Instant, query: &Query, random: &mut Random);

    /// Returns the time of the next call of [`Listener::handle_deadline`].
    fn deadline(&self) -> Option<Instant>;

    /// Runs the timers that are due.
    fn handle_deadline(&mut self, now: Instant, random: &mut Random);

    /// Writes a report, if one is due. Returns its length.
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

/// The minimum of MLDv2.
#[derive(Debug)]
pub struct Reporting {
    /// True if a group is new and no timer is set for it yet.
    joined: bool,
    /// Reports of the new group that are still to be sent.
    left: u8,
    asked: Asked,
    /// Time of the next report.
    due: Option<Instant>,
    /// True if a report is to be sent now.
    ready: bool,
    /// Earliest time of the next report.
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
