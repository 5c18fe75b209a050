//! Duplicate address detection (RFC 4862, 5.4): one solicitation. The address is used meanwhile
//! (RFC 4429).

use kinglet_random::Random;
use kinglet_time::{Duration, Instant};

/// MAX_RTR_SOLICITATION_DELAY (RFC 4861, 10): longest delay of the first message.
pub(crate) const DELAY: Duration = Duration::from_secs(1);

/// Progress of a detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detection {
    /// Not started.
    New,
    /// The solicitation is due at this time.
    At(Instant),
    /// The solicitation is to be sent now; repeated at this time if it could not be sent.
    Asks(Instant),
    /// The solicitation was sent; responses count until this time.
    Until(Instant),
    /// Complete: no other node uses the address.
    Over,
}

impl Detection {
    pub(crate) fn is_on(self) -> bool {
        self != Detection::Over
    }

    /// Returns whether a solicitation is to be sent now.
    pub(crate) fn poll(&mut self) -> bool {
        let Detection::Asks(until) = *self else { return false };
        *self = Detection::Until(until);
        true
    }

    pub(crate) const fn deadline(self) -> Option<Instant> {
        match self {
            Detection::New => Some(Instant::ZERO),
            Detection::At(at) | Detection::Asks(at) | Detection::Until(at) => Some(at),
            Detection::Over => None,
        }
    }

    pub(crate) fn handle_deadline(&mut self, now: Instant, retrans: Duration, random: &mut Random) {
        *self = match *self {
            Detection::New => Detection::At(now + random.between(Duration::from_millis(1), DELAY)),
            // DupAddrDetectTransmits is 1.
            Detection::At(at) if at <= now => Detection::Asks(now + retrans),
            // If it could not be sent in time, it is sent later.
            Detection::Asks(at) if at <= now => Detection::Asks(now + retrans),
            Detection::Until(at) if at <= now => Detection::Over,
            other => other,
        };
    }
}
