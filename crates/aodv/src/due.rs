//! When something is to be done.

use kinglet_time::{Instant, Limit};

/// When something is to be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Due {
    /// Never, as far as is known.
    #[default]
    No,
    /// Then.
    At(Instant),
    /// As soon as somebody takes it.
    Now,
}

impl Due {
    /// At once, or as soon as a limit allows it.
    pub(crate) fn within(limit: &mut Limit, now: Instant) -> Self {
        if limit.allows(now) { Due::Now } else { Due::At(limit.next()) }
    }

    /// Whether its instant has come.
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
