//! Neighbours: how well they are heard, and what they may cause.

use crate::params::{BLACKLIST_TIMEOUT, FLOODS, SECOND};
use kinglet_time::{Instant, Limit};

/// A neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub(crate) short: u16,
    /// The average link quality indication of its frames in 1/16, the newest one with a weight of
    /// 1/8: single ones vary a lot, their mean goes with what is delivered (Srinivasan and Levis,
    /// "RSSI is under appreciated", 2006).
    lqi_x16: u16,
    pub(crate) heard: Instant,
    /// A reply was sent to it, and not acknowledged yet.
    is_replied_to: bool,
    /// Until then what it relays is of no use: replies do not reach it (RFC 3561, 6.8).
    blacklisted: Option<Instant>,
    floods: Limit,
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

    /// How a frame to it ended.
    pub(crate) fn sent(&mut self, now: Instant, acked: bool) {
        if core::mem::take(&mut self.is_replied_to) && !acked {
            self.blacklisted = Some(now + BLACKLIST_TIMEOUT);
        }
    }

    pub(crate) fn is_blacklisted(&self, now: Instant) -> bool {
        self.blacklisted.is_some_and(|until| until > now)
    }

    /// Whether one more flood that it brings is passed on.
    pub(crate) fn may_flood(&mut self, now: Instant) -> bool {
        self.floods.allows(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn who_gets_no_reply_is_not_believed_for_a_while() {
        let (mut link, at) = (Link::new(Instant::ZERO, 1, 100), Instant::from_secs(9));
        link.sent(at, false);
        assert!(!link.is_blacklisted(at));
        link.reply();
        link.sent(at, true);
        link.sent(at, false);
        assert!(!link.is_blacklisted(at));
        link.reply();
        link.sent(at, false);
        assert!(link.is_blacklisted(at) && !link.is_blacklisted(at + BLACKLIST_TIMEOUT));
    }
}
