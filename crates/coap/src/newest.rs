//! The order of notifications.

use crate::message::Message;
use crate::option::OBSERVE;
use kinglet_time::{Duration, Instant};

/// After so long a notification is newer whatever its number is: within it no server sends as many
/// as there are numbers.
const AGE: Duration = Duration::from_secs(128);
/// Half of the numbers.
const HALF: u32 = 1 << 23;

/// Which notification of an observation is the newest (RFC 7641 §3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Newest(Option<(u32, Instant)>);

impl Newest {
    /// Before the first.
    pub const NONE: Self = Newest(None);

    /// Takes a response; whether it is newer than all before. One without a number is.
    pub fn take(&mut self, now: Instant, response: &Message<'_>) -> bool {
        let Some(number) = response.uint(OBSERVE) else { return true };
        let is_newer = self.0.is_none_or(|(last, at)| {
            let ahead = number.wrapping_sub(last) & (2 * HALF - 1);
            (ahead > 0 && ahead < HALF) || now > at + AGE
        });
        if is_newer {
            self.0 = Some((number, now));
        }
        is_newer
    }
}
