//! When neighbours listen: a parent's end of coordinated sampled listening (see `csl.rs`).

use crate::csl::AHEAD;
use crate::rhythm::next_after;
use crate::sleepers::Schedule;
use kinglet_time::{Duration, Instant};

/// Without a word for so long, a leaf does not sample any more (OpenThread's CSL timeout,
/// `mac.hpp`).
const TIMEOUT: Duration = Duration::from_secs(100);

/// When a neighbour samples the channel, if it has said so.
#[derive(Clone, Copy, Debug)]
pub struct Samples(Option<Listener>);

#[derive(Clone, Copy, Debug)]
struct Listener {
    /// When it said so.
    heard: Instant,
    /// The next one.
    sample: Instant,
    period: Duration,
    /// For the next one the user has been asked for a frame.
    asked: bool,
    /// And has to be told so yet.
    due: bool,
}

impl Schedule for Samples {
    const UNKNOWN: Self = Samples(None);
    const ANY: bool = true;

    fn is_known(&self) -> bool {
        self.0.is_some()
    }

    fn learn(&mut self, now: Instant, sample: Instant, period: Duration) {
        self.0 = Some(Listener { heard: now, sample, period, asked: false, due: false });
    }

    fn next(&self) -> Option<Instant> {
        self.0.map(|listener| listener.sample)
    }

    fn take_due(&mut self) -> bool {
        self.0.as_mut().is_some_and(|listener| core::mem::take(&mut listener.due))
    }

    fn deadline(&self) -> Option<Instant> {
        let Listener { sample, asked, .. } = self.0?;
        Some(if asked { sample } else { sample - AHEAD })
    }

    fn handle_deadline(&mut self, now: Instant, pending: bool) {
        if self.0.is_some_and(|listener| now - listener.heard > TIMEOUT) {
            self.0 = None;
        }
        if let Some(listener) = self.0.as_mut().filter(|_| pending) {
            listener.handle_deadline(now);
        }
    }
}

impl Listener {
    /// Goes on to the sample after `now`, and asks for a frame in time.
    fn handle_deadline(&mut self, now: Instant) {
        if now >= self.sample {
            self.sample = next_after(self.sample, self.period, now + Duration::from_micros(1));
            self.asked = false;
            self.due = false;
        }
        if !self.asked && now >= self.sample - AHEAD {
            self.asked = true;
            self.due = true;
        }
    }
}
