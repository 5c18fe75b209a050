//! The start of a root. Other nodes may remember its DODAG from before a restart. The root solicits
//! their DIOs before it sends its own, and begins above their version (RFC 6550, 7.2 and 8.4).

use crate::lollipop::Counter;
use core::cmp::Ordering;
use kinglet_time::{Duration, Instant};

/// Upper limit of the Imin that sets the wait for answers.
const LONGEST_MIN: Duration = Duration::from_secs(2);

/// State of a root before it announces its DODAG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// The root does not know the time yet.
    New,
    /// The root waits until `until` for DIOs that answer its DIS. `heard` is the newest version
    /// received.
    Listening { until: Instant, heard: Option<Counter> },
    /// The root has started.
    Over,
}

/// A message that a root sends at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// A DIS.
    Solicitation,
    /// The first DIO, without delay, as new nodes wait for it.
    Information,
}

impl Start {
    pub(crate) const fn deadline(&self) -> Option<Instant> {
        match self {
            Start::New => Some(Instant::ZERO),
            Start::Listening { until, .. } => Some(*until),
            Start::Over => None,
        }
    }

    /// Returns the message to send now. `shortest` is Imin: neighbours answer within that.
    pub(crate) fn handle_deadline(&mut self, now: Instant, shortest: Duration) -> Option<First> {
        match *self {
            Start::New => {
                // A quarter more, as DIS and answers take time on the air.
                let until = now + shortest.min(LONGEST_MIN) / 4 * 5;
                *self = Start::Listening { until, heard: None };
                Some(First::Solicitation)
            }
            Start::Listening { until, .. } if until <= now => {
                *self = Start::Over;
                Some(First::Information)
            }
            Start::Listening { .. } | Start::Over => None,
        }
    }

    /// Processes a version that another node remembers. Returns the version to start with if it
    /// changes.
    pub(crate) fn hear(&mut self, version: Counter) -> Option<Counter> {
        let Start::Listening { heard, .. } = self else { return None };
        let newer = heard.is_none_or(|heard| version.compare(heard) == Some(Ordering::Greater));
        newer.then(|| {
            *heard = Some(version);
            version.next()
        })
    }

    pub(crate) const fn is_over(&self) -> bool {
        matches!(self, Start::Over)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_begins_above_the_newest_version_that_it_hears_and_changes_nothing_later() {
        let mut start = Start::New;
        let imin = Duration::from_millis(500);
        assert_eq!(start.hear(Counter::new(250)), None, "it listens only after its DIS");
        let first = start.handle_deadline(start.deadline().unwrap(), imin);
        assert_eq!(first, Some(First::Solicitation));
        let next = |version: u8| Some(Counter::new(version));
        assert_eq!(start.hear(Counter::new(250)), next(251));
        assert_eq!(start.hear(Counter::new(249)), None);
        assert_eq!(start.hear(Counter::new(250)), None);
        assert_eq!(start.hear(Counter::new(127)), None, "cannot be compared");
        assert_eq!(start.hear(Counter::new(255)), next(0));
        let over = start.deadline().unwrap();
        assert_eq!(over, Instant::ZERO + imin / 4 * 5);
        assert_eq!(start.handle_deadline(over - imin / 8, imin), None);
        assert_eq!(start.handle_deadline(over, imin), Some(First::Information));
        assert!(start.is_over() && start.handle_deadline(over, imin).is_none());
        assert_eq!((start.hear(Counter::new(1)), start.deadline()), (None, None));
    }
}
