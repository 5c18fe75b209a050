//! Backoff before the channel is assessed, and the limit of attempts: a type of the memory plan
//! ([`Sizes::Backoff`](crate::Sizes::Backoff)).
//!
//! | type | initial backoff | after each busy channel |
//! |---|---|---|
//! | [`Exponential`] | 0 to 2^macMinBE - 1 units of 20 symbols | twice as many, up to macMaxBE |
//! | [`TinyOs`] | 20 to 640 symbols | 20 to 140 symbols |
//!
//! A device that has just sent draws the initial backoff, and a device that has lost to it draws
//! the second. So an exponential backoff lets the last winner win again more often than the others,
//! and TinyOS's less often.

use kinglet_radio::{CsmaParams, SYMBOL, UNIT_BACKOFF};
use kinglet_random::Random;
use kinglet_time::Duration;

/// The backoffs of one attempt to win the channel.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no CSMA-CA backoff",
    note = "the `backoff` of a plan is `mac::Exponential` or `mac::TinyOs`"
)]
pub trait Backoff: Copy {
    /// No attempt has begun.
    const NEW: Self;

    /// Returns whether a radio with [`Capabilities::CSMA`](kinglet_radio::Capabilities::CSMA) does
    /// the same by itself. Otherwise the MAC does it in any case.
    fn is_by_radios(&self) -> bool;
    /// Begins an attempt.
    fn begin(&mut self, params: &CsmaParams);
    /// Returns the time to wait before the next assessment.
    fn wait(&self, random: &mut Random) -> Duration;
    /// Handles a busy channel. Returns whether another assessment follows; otherwise the attempt
    /// has failed.
    fn handle_busy(&mut self, params: &CsmaParams) -> bool;
}

/// Unslotted CSMA-CA, IEEE 802.15.4-2015, 6.2.5.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exponential {
    nb: u8,
    be: u8,
}

impl Backoff for Exponential {
    const NEW: Self = Exponential { nb: 0, be: 0 };

    fn is_by_radios(&self) -> bool {
        true
    }

    /// Step 1: NB = 0, BE = macMinBE.
    fn begin(&mut self, params: &CsmaParams) {
        *self = Exponential { nb: 0, be: params.min_be };
    }

    /// Step 2: 0 to 2^BE - 1 unit backoff periods.
    fn wait(&self, random: &mut Random) -> Duration {
        UNIT_BACKOFF * random.bits(self.be)
    }

    /// Step 4, the channel was busy: another backoff with a greater exponent, at most
    /// macMaxCsmaBackoffs of them.
    fn handle_busy(&mut self, params: &CsmaParams) -> bool {
        self.nb = self.nb.saturating_add(1);
        self.be = self.be.saturating_add(1).min(params.max_be);
        self.nb <= params.max_backoffs
    }
}

/// TinyOS's backoff for the CC2420 (`CC2420CsmaP.nc`, `CC2420TransmitP.nc`), as the paper on design
/// criteria has it (III-A1): uniform in whole symbols where TinyOS draws jiffies of 30.5 us, and
/// one assessment where TinyOS makes two in a row. It ignores exponents and macMaxCsmaBackoffs.
///
/// TinyOS assesses the channel for as long as it is busy. Here an attempt fails after
/// [`TinyOs::MOST_BUSY`] assessments, because every loop has a bound: those take 34 ms on average,
/// the time of seven of the longest frames one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TinyOs {
    busy: u8,
}

impl TinyOs {
    /// Number of busy assessments after which an attempt has failed.
    pub const MOST_BUSY: u8 = 24;
    /// Shortest backoff.
    const LEAST: Duration = UNIT_BACKOFF;
    /// Range above the shortest, in symbols: of the initial backoff, and of one after a busy
    /// channel.
    const FIRST: u32 = 620;
    const LATER: u32 = 120;
}

impl Backoff for TinyOs {
    const NEW: Self = TinyOs { busy: 0 };

    fn is_by_radios(&self) -> bool {
        false
    }

    fn begin(&mut self, _: &CsmaParams) {
        self.busy = 0;
    }

    #[inline(never)] // Not inlined, so that `tools/size-table --without` finds it.
    fn wait(&self, random: &mut Random) -> Duration {
        let most = if self.busy == 0 { Self::FIRST } else { Self::LATER };
        // The upper half of a product: uniform up to an error of 2^-22.
        let drawn = u64::from(random.next_u32()).saturating_mul(u64::from(most.saturating_add(1)));
        Self::LEAST + SYMBOL * u32::try_from(drawn >> 32).unwrap_or(most)
    }

    fn handle_busy(&mut self, _: &CsmaParams) -> bool {
        self.busy = self.busy.saturating_add(1);
        self.busy < Self::MOST_BUSY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two devices always have a frame, and one has just sent: counts in how many of `rounds` it
    /// also sends the next one. It draws an initial backoff; the other has found the channel busy
    /// once, and continues. The shorter backoff wins; equal ones collide and count for neither.
    fn wins_of_the_last_winner<B: Backoff>(seed: u64, rounds: u32) -> (u32, u32) {
        let (mut random, params) = (Random::new(seed, 1), CsmaParams::default());
        let (mut again, mut other) = (0, 0);
        for _ in 0..rounds {
            let (mut winner, mut loser) = (B::NEW, B::NEW);
            winner.begin(&params);
            loser.begin(&params);
            assert!(loser.handle_busy(&params));
            let drawn = winner.wait(&mut random).cmp(&loser.wait(&mut random));
            again += u32::from(drawn.is_lt());
            other += u32::from(drawn.is_gt());
        }
        (again, other)
    }

    proptest! {
        /// Paper on design criteria, III-A1: the exponential backoff tends "to increase the chances
        /// for the last winner of a channel contention to capture the channel again", and with
        /// TinyOS's "the probability for a winning node to capture the channel again is lower".
        #[test]
        fn the_last_winner_wins_again_more_often_by_the_exponential_one_alone(seed: u64) {
            let (again, other) = wins_of_the_last_winner::<Exponential>(seed, 2_000);
            // Of 8 x 16 pairs the smaller range wins 92, the other 28.
            prop_assert!(again > 2 * other, "{again} {other}");
            let (again, other) = wins_of_the_last_winner::<TinyOs>(seed, 2_000);
            prop_assert!(other > 5 * again, "{again} {other}");
        }

        #[test]
        fn tinyos_draws_from_20_to_640_symbols_and_then_to_140(seed: u64, busy in 0..24_u8) {
            let (mut random, mut backoff) = (Random::new(seed, 1), TinyOs { busy });
            let symbols = backoff.wait(&mut random).as_micros() / SYMBOL.as_micros();
            prop_assert!((20..=if busy == 0 { 640 } else { 140 }).contains(&symbols), "{symbols}");
            prop_assert_eq!(backoff.handle_busy(&CsmaParams::default()), busy + 1 < 24);
        }
    }
}
