//! Whether another node has an address (RFC 4862, 5.4): all are asked once, by one who uses it
//! meanwhile (RFC 4429).

use kinglet_random::Random;
use kinglet_time::{Duration, Instant};

/// MAX_RTR_SOLICITATION_DELAY (RFC 4861, 10): the first message leaves within it.
pub(crate) const DELAY: Duration = Duration::from_secs(1);

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detection {
    /// It has not begun.
    New,
    /// All are to be asked then.
    At(Instant),
    /// They are to be asked now.
    Asks(Instant),
    /// They were, and may answer until then.
    Until(Instant),
    /// Nobody has said that he has it.
    Over,
}

impl Detection {
    pub(crate) fn is_on(self) -> bool {
        self != Detection::Over
    }

    /// Whether all are to be asked.
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
            // One that could not be sent in time will be.
            Detection::Asks(at) if at <= now => Detection::Asks(now + retrans),
            Detection::Until(at) if at <= now => Detection::Over,
            other => other,
        };
    }
}
