//! Times at which actions are due.

use kinglet_time::{Duration, Instant, Limit};

/// Time at which an action is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Due {
    /// Never, as far as is known.
    #[default]
    No,
    /// At this instant.
    At(Instant),
    /// At once: the next poll takes it.
    Now,
}

impl Due {
    /// Returns `Now`, or the instant from which a limit allows the action.
    pub(crate) fn within(limit: &mut Limit, now: Instant) -> Self {
        if limit.allows(now) { Due::Now } else { Due::At(limit.next()) }
    }

    /// Returns the same for a flood: this node begins or passes on at most one in a `spacing`.
    /// `next` is the earliest time of the next one.
    pub(crate) fn spaced(
        next: &mut Instant,
        spacing: Duration,
        limit: &mut Limit,
        now: Instant,
    ) -> Self {
        if now < *next {
            return Due::At(*next);
        }
        let due = Due::within(limit, now);
        if due == Due::Now {
            *next = now + spacing;
        }
        due
    }

    /// Returns whether its instant has come.
    pub(crate) fn has_come(self, now: Instant) -> bool {
        matches!(self, Due::At(at) if at <= now)
    }

    pub(crate) const fn at(self) -> Option<Instant> {
        match self {
            Due::At(at) => Some(at),
            Due::No | Due::Now => None,
        }
    }
}
