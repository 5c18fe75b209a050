//! The order of notifications.

use crate::message::Message;
use crate::option::OBSERVE;
use kinglet_time::{Duration, Instant};

/// Time after which a notification is newer whatever its number is: no server exhausts the number
/// space within it.
const AGE: Duration = Duration::from_secs(128);
/// Half of the number space.
const HALF: u32 = 1 << 23;

/// Newest notification of an observation (RFC 7641 §3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Newest(Option<(u32, Instant)>);

impl Newest {
    /// State before the first notification.
    pub const NONE: Self = Newest(None);

    /// Handles a response. Returns whether it is newer than all before. One without a number is.
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
