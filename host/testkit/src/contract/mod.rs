//! The contract of a sans-IO layer as a kit of twelve checks.
//!
//! A layer is adapted once, as a [`Subject`]; [`check`] then drives it with random call sequences
//! and panics with the law, the seed and the step of the first violation. Each law is a function in
//! [`laws`], so that a failure can be replayed alone.
//!
//! 1. *Time is monotone*: without inputs, each deadline of a layer is later than the one before.
//! 2. *Draining ends*: after any call at most [`Subject::DRAIN_BOUND`] outputs follow.
//! 3. *No stale deadline*: after `handle_deadline(now)` the next deadline is after `now`.
//! 4. *Early is a no-op*: a twin that is also woken before its deadlines behaves the same.
//! 5. *Late is safe*: after a call an hour late there is one ordinary burst, and nothing left over.
//! 6. *Deterministic*: the same seed and calls give the same outputs and deadlines.
//! 7. *Nothing is lost by refusal*: work that a layer owes stays owed and is offered again.
//! 8. *Bounded*: no table ever holds more than its size.
//! 9. *Control proceeds*: data can never fill a layer so that control traffic is refused.
//! 10. *Nothing panics*: arbitrary bytes, events and call orders, at arbitrary times.
//! 11. *Rest is free*: called with nothing to do, a layer returns nothing, changes nothing, and
//!     does not call its inner layers again.
//! 12. *Outside changes nothing*: input from the host interface or from a tunnel changes no table
//!     of discovery, routing, contexts or groups.
//!
//! A thirteenth law, *what is not chosen is not there*, concerns images, and continuous integration
//! checks it: `tools/size-table --without` searches an image for code that its profile has not
//! chosen.

pub mod laws;
mod run;
#[cfg(test)]
mod tests;

use core::fmt;
use kinglet_time::Instant;
use rand_pcg::Pcg32;

/// A layer under test. Outputs and states are compared as text, which makes failures readable:
/// `format!("{:?}", …)` of everything that a caller could see suffices.
pub trait Subject {
    /// Largest number of outputs that may follow one call. Derived from the layer's tables.
    const DRAIN_BOUND: usize;

    /// Creates a layer. The same seed gives the same layer.
    fn fresh(seed: u64) -> Self;

    /// Makes one input, chosen at random: an API call, a packet (well-formed, damaged or noise), or
    /// an event, even if it makes no sense at the time. Returns the layer's result.
    fn operate(&mut self, now: Instant, random: &mut Pcg32) -> String;

    /// Returns the next output of any kind, or `None` when drained.
    fn poll(&mut self, now: Instant) -> Option<String>;

    /// Calls the layer's `deadline`.
    fn deadline(&self) -> Option<Instant>;

    /// Calls the layer's `handle_deadline`.
    fn handle_deadline(&mut self, now: Instant);

    /// Returns the layer's visible state: info, stats.
    fn observe(&self) -> String;

    /// Polls an output and refuses it: with a buffer that is too small, or as a busy driver.
    /// Returns whether there was an output that the layer must not lose. Layers whose outputs
    /// cannot be refused keep this default.
    fn refuse(&mut self, _now: Instant) -> bool {
        false
    }

    /// Returns the number of units of work that the layer has accepted and not yet finished.
    fn owed(&self) -> usize {
        0
    }

    /// Returns how often the layer has called its inner layers, as far as the subject can count
    /// that; for [`laws::rest_is_free`]. Layers without inner layers keep this default.
    fn work(&self) -> u64 {
        0
    }

    /// Returns entries in use and size of each table.
    fn occupancy(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    /// Makes one input from outside, chosen at random: through the host interface, or in a tunnel.
    /// Returns its description; `None` if there are no inputs from outside.
    fn intrude(&mut self, _now: Instant, _random: &mut Pcg32) -> Option<String> {
        None
    }

    /// Returns the tables of neighbours, routes, contexts and groups, as values, without counters
    /// and timers.
    fn tables(&self) -> String {
        String::new()
    }

    /// Offers one unit of ordinary traffic and returns whether it was accepted; `None` if the layer
    /// has no classes of traffic.
    fn offer_data(&mut self, _now: Instant) -> Option<bool> {
        None
    }

    /// Offers one unit of control traffic; see [`Subject::offer_data`].
    fn offer_control(&mut self, _now: Instant) -> Option<bool> {
        None
    }
}

/// A violated law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Its number, 1 to 12.
    pub law: u8,
    /// Its name.
    pub name: &'static str,
    /// The seed of the call sequence.
    pub seed: u64,
    /// The step of the call sequence.
    pub step: u32,
    /// Description of the violation.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { law, name, seed, step, what } = self;
        write!(f, "law {law} ({name}) is broken with seed {seed} at step {step}: {what}")
    }
}

/// Checks all laws with the call sequences of these seeds, of `steps` steps each.
///
/// # Errors
/// The first violation. A panic of the layer is one of law 10, whichever law was being checked.
pub fn examine<S: Subject>(
    seeds: impl IntoIterator<Item = u64>,
    steps: u32,
) -> Result<(), Violation> {
    for seed in seeds {
        for law in laws::ALL {
            laws::without_panic::<S>(law, seed, steps)?;
        }
    }
    Ok(())
}

/// [`examine`] for use in a test.
///
/// # Panics
/// With the first violation.
pub fn check<S: Subject>(seeds: impl IntoIterator<Item = u64>, steps: u32) {
    if let Err(violation) = examine::<S>(seeds, steps) {
        panic!("{violation}");
    }
}
