//! Unslotted CSMA-CA, IEEE 802.15.4-2015, 6.2.5.1.

use kinglet_radio::{CsmaParams, UNIT_BACKOFF};
use kinglet_random::Random;
use kinglet_time::Duration;

/// NB and BE of one attempt to win the channel.
#[derive(Clone, Copy)]
pub(crate) struct Attempt {
    nb: u8,
    be: u8,
}

impl Attempt {
    /// Step 1: NB = 0, BE = macMinBE.
    pub(crate) const fn new(params: &CsmaParams) -> Self {
        Attempt { nb: 0, be: params.min_be }
    }

    /// Step 2: 0 to 2^BE - 1 unit backoff periods.
    pub(crate) fn backoff(&self, random: &mut Random) -> Duration {
        UNIT_BACKOFF * random.bits(self.be)
    }

    /// Step 4, the channel was busy: one more backoff with a greater exponent, or `None` after
    /// macMaxCsmaBackoffs of them.
    pub(crate) fn busy(self, params: &CsmaParams) -> Option<Self> {
        let nb = self.nb.saturating_add(1);
        let be = self.be.saturating_add(1).min(params.max_be);
        (nb <= params.max_backoffs).then_some(Attempt { nb, be })
    }
}
