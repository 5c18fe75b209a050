//! Pauses after attempts that have failed.

use crate::shared::now;
use embassy_time::Duration;
use kinglet_time::{self as time, BackOff};

/// Pauses between attempts to reach a server, so that one that cannot be reached does not drain the
/// battery: 4 s after the first failure, then twice as long each time, at most two minutes. In an
/// hour without a success that is at most 35 attempts.
///
/// Each pause is longer by up to a quarter, a part that depends on the microsecond in which the
/// attempt has failed. So devices that a server has disconnected together do not come back
/// together.
///
/// An attempt needs an end of its own, such as by `embassy_time::with_timeout`: a server that
/// accepts a connection and does not answer would end no attempt.
///
/// ```
/// # use core::net::Ipv6Addr;
/// # use embassy_time::{Duration, Timer, with_timeout};
/// # use kinglet::Mote;
/// # use kinglet_embassy::{Error, Retry, Stack};
/// # async fn publish(stack: Stack<'_, Mote>) -> Result<(), Error> { Ok(()) }
/// async fn publish_each_minute(stack: Stack<'_, Mote>) {
///     let mut retry = Retry::new();
///     loop {
///         let attempt = with_timeout(Duration::from_secs(30), publish(stack)).await;
///         let pause = retry.pause(matches!(attempt, Ok(Ok(()))));
///         Timer::after(pause.unwrap_or(Duration::from_secs(60))).await;
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Retry(BackOff);

impl Retry {
    const LEAST: time::Duration = time::Duration::from_secs(4);
    const MOST: time::Duration = time::Duration::from_secs(120);

    /// Returns the state before any attempt.
    pub const fn new() -> Self {
        Retry(BackOff::between(Self::LEAST, Self::MOST))
    }

    /// Takes the result of an attempt that has just ended. Returns the pause before the next one if
    /// it has failed; `None` if it was a success. A success is the end of all that the attempt was
    /// for: a connection that breaks before is a failure.
    pub fn pause(&mut self, is_success: bool) -> Option<Duration> {
        if is_success {
            self.0.succeeded();
            return None;
        }
        let now = now();
        self.0.failed(now);
        let pause = self.0.at().checked_since(now).unwrap_or_default().as_micros();
        // Knuth's multiplicative hash: its upper eight bits depend on the lower bits of the time.
        let part = (now.as_micros() as u32).wrapping_mul(2_654_435_769) >> 24;
        let longer = (pause >> 10).saturating_mul(part.into());
        Some(Duration::from_micros(pause.saturating_add(longer)))
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self::new()
    }
}
