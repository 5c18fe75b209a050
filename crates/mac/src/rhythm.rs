//! Periodic instants: samples of the channel, and wake-ups.

use kinglet_time::{Duration, Instant};

/// Returns the first instant at or after `not_before` that is a whole number of periods after
/// `from`.
#[inline(never)]
pub(crate) fn next_after(from: Instant, period: Duration, not_before: Instant) -> Instant {
    let late = (not_before - from).as_micros();
    match late.checked_rem(period.as_micros()) {
        Some(0) | None => from.max(not_before),
        Some(rest) => not_before + (period - Duration::from_micros(rest)),
    }
}
