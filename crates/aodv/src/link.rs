//! Neighbours: their link quality, their acknowledgements, and the limit of their floods.

use crate::params::{FLOODS, LATELY, SECOND, Times};
use kinglet_time::{Instant, Limit};

/// A neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub(crate) short: u16,
    /// Average link quality indication of its frames in 1/16, the newest one with a weight of 1/8.
    /// Single values vary a lot; their mean goes with the delivery ratio (Srinivasan and Levis,
    /// "RSSI is under appreciated", 2006).
    lqi_x16: u16,
    pub(crate) heard: Instant,
    /// True if a reply was sent to it that is not acknowledged yet.
    is_replied_to: bool,
    /// Time until which its requests are ignored, because replies do not reach it (RFC 3561, 6.8).
    blacklisted: Option<Instant>,
    /// Time of its last acknowledgement.
    acked: Option<Instant>,
    doubt: Doubt,
    floods: Limit,
}

/// State of a link over which a frame was given up though it had worked shortly before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    None,
    /// A probe of the neighbour is due.
    Asking,
    /// The neighbour was probed: one more frame that is given up breaks the link.
    Asked,
}

impl Link {
    pub(crate) const fn new(now: Instant, short: u16, lqi: u8) -> Self {
        Link {
            short,
            // At most 4080.
            lqi_x16: (lqi as u16) << 4,
            heard: now,
            is_replied_to: false,
            blacklisted: None,
            acked: None,
            doubt: Doubt::None,
            floods: Limit::new(FLOODS, SECOND),
        }
    }

    pub(crate) fn hear(&mut self, now: Instant, lqi: u8) {
        self.heard = now;
        let (old, sample) = (self.lqi_x16, u16::from(lqi) << 4);
        self.lqi_x16 = if sample >= old {
            old.saturating_add(sample.saturating_sub(old) / 8)
        } else {
            old.saturating_sub(old.saturating_sub(sample) / 8)
        };
    }

    pub(crate) fn lqi(&self) -> u8 {
        u8::try_from(self.lqi_x16 >> 4).unwrap_or(u8::MAX)
    }

    pub(crate) const fn reply(&mut self) {
        self.is_replied_to = true;
    }

    /// Handles the result of a frame to it. Returns whether the link is broken now. Without
    /// `probes` every frame that is given up breaks it. With `probes` a link that had worked
    /// shortly before is probed first.
    pub(crate) fn sent(&mut self, now: Instant, acked: bool, probes: bool, times: Times) -> bool {
        if core::mem::take(&mut self.is_replied_to) && !acked {
            self.blacklisted = Some(now + times.blacklist());
        }
        if acked {
            (self.acked, self.doubt) = (Some(now), Doubt::None);
            return false;
        }
        let lately = self.acked.is_some_and(|at| now - at < LATELY);
        let is_broken = match self.doubt {
            Doubt::None => !(probes && lately),
            Doubt::Asking => false,
            Doubt::Asked => true,
        };
        self.doubt = match self.doubt {
            _ if is_broken => Doubt::None,
            Doubt::None => Doubt::Asking,
            as_before => as_before,
        };
        is_broken
    }

    /// Returns whether a probe is due.
    pub(crate) fn is_to_be_asked(&self) -> bool {
        self.doubt == Doubt::Asking
    }

    /// Marks it as probed.
    pub(crate) const fn ask(&mut self) {
        self.doubt = Doubt::Asked;
    }

    pub(crate) fn is_blacklisted(&self, now: Instant) -> bool {
        self.blacklisted.is_some_and(|until| until > now)
    }

    /// Returns whether one more flood from it is within the limit.
    pub(crate) fn may_flood(&mut self, now: Instant) -> bool {
        self.floods.allows(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_time::Duration;

    const TIMES: Times = Times::new(Duration::ZERO);

    #[test]
    fn quality_is_averaged_with_a_weight_of_an_eighth() {
        let mut link = Link::new(Instant::ZERO, 1, 100);
        link.hear(Instant::from_secs(1), 180);
        assert_eq!(link.lqi(), 110);
        link.hear(Instant::from_secs(2), 30);
        assert_eq!(link.lqi(), 100);
        (3..90).for_each(|n| link.hear(Instant::from_secs(n), 255));
        assert_eq!(link.lqi(), 254);
        (3..90).for_each(|n| link.hear(Instant::from_secs(n), 0));
        assert_eq!(link.lqi(), 0);
    }

    #[test]
    fn a_neighbour_without_a_reply_is_not_accepted_for_a_while() {
        let (mut link, at) = (Link::new(Instant::ZERO, 1, 100), Instant::from_secs(9));
        link.sent(at, false, false, TIMES);
        assert!(!link.is_blacklisted(at));
        link.reply();
        link.sent(at, true, false, TIMES);
        link.sent(at, false, false, TIMES);
        assert!(!link.is_blacklisted(at));
        link.reply();
        link.sent(at, false, false, TIMES);
        assert!(link.is_blacklisted(at) && !link.is_blacklisted(at + TIMES.blacklist()));
    }

    #[test]
    fn a_link_that_has_worked_lately_is_asked_before_it_counts_as_broken() {
        let (mut link, at) = (Link::new(Instant::ZERO, 1, 100), Instant::from_secs(9));
        // No frame was acknowledged, or none recently.
        assert!(link.sent(at, false, true, TIMES));
        link.sent(at, true, true, TIMES);
        assert!(link.sent(at + LATELY, false, true, TIMES));
        // Without probes it breaks at once.
        link.sent(at, true, false, TIMES);
        assert!(link.sent(at, false, false, TIMES) && !link.is_to_be_asked());
        // It is probed, and acknowledges.
        link.sent(at, true, true, TIMES);
        assert!(!link.sent(at, false, true, TIMES) && link.is_to_be_asked());
        assert!(
            !link.sent(at, false, true, TIMES),
            "what was on its way already tells nothing new"
        );
        link.ask();
        assert!(!link.is_to_be_asked() && !link.sent(at, true, true, TIMES));
        // It is probed, and does not acknowledge.
        assert!(!link.sent(at, false, true, TIMES));
        link.ask();
        assert!(link.sent(at, false, true, TIMES) && !link.is_to_be_asked());
    }
}
