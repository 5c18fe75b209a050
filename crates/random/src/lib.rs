//! Random numbers of a layer: back-off, jitter, message identifiers.
//!
//! A layer is deterministic: its random numbers follow from its seed, and a repeated simulation
//! draws the same ones. They are not fit for secrets; for those there is a keyed hash,
//! [`SipHash24`].
//!
//! ```
//! use kinglet_random::Random;
//! use kinglet_time::Duration;
//!
//! let mut random = Random::new(7, 1);
//! assert!(random.bits(3) < 8);
//! assert!(random.up_to(Duration::from_millis(5)) <= Duration::from_millis(5));
//! ```

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod siphash;

pub use siphash::SipHash24;

use kinglet_time::Duration;
use rand_core::Rng;
use rand_pcg::Pcg32;

/// A generator (PCG32) that is initialised on its first use, because its crate cannot create one in
/// a constant.
pub struct Random {
    seed: u64,
    stream: u64,
    generator: Option<Pcg32>,
}

impl Random {
    /// Layers of one node with the same `seed` draw different numbers if their `stream` differs.
    #[must_use]
    pub const fn new(seed: u64, stream: u64) -> Self {
        Random { seed, stream, generator: None }
    }

    /// Returns a number uniform in all of `u32`.
    pub fn next_u32(&mut self) -> u32 {
        let (seed, stream) = (self.seed, self.stream);
        self.generator.get_or_insert_with(|| Pcg32::new(seed, stream)).next_u32()
    }

    /// Returns a number uniform in 0..2^`bits`; from 32 bits on, in all of `u32`.
    pub fn bits(&mut self, bits: u8) -> u32 {
        let mask = 1u32.checked_shl(u32::from(bits)).map_or(u32::MAX, |n| n.saturating_sub(1));
        self.next_u32() & mask
    }

    /// Returns a time uniform in 0..=`max` microseconds (up to an error of 2^-32 of the range).
    pub fn up_to(&mut self, max: Duration) -> Duration {
        let choices = u128::from(max.as_micros()).saturating_add(1);
        let micros = choices.saturating_mul(u128::from(self.next_u32())) >> 32;
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    /// Returns a time uniform from `low` to `high`, both included; `low` if `high` is less.
    pub fn between(&mut self, low: Duration, high: Duration) -> Duration {
        low + self.up_to(high - low)
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    #[test]
    fn a_constant_can_hold_one_and_it_draws_as_one_made_later() {
        const FRESH: Random = Random::new(3, 4);
        let (mut a, mut b) = (FRESH, Random::new(3, 4));
        (0..10).for_each(|_| assert_eq!(a.next_u32(), b.next_u32()));
    }

    #[test]
    fn seeds_and_streams_distinguish_generators() {
        let first = |seed, stream| Random::new(seed, stream).next_u32();
        assert_ne!(first(1, 1), first(1, 2));
        assert_ne!(first(1, 1), first(2, 1));
    }

    #[test]
    fn every_choice_of_a_small_range_is_drawn_and_none_beyond() {
        let mut random = Random::new(1, 1);
        let mut seen = [0; 8];
        for _ in 0..800 {
            seen[random.bits(3) as usize] += 1;
            seen[random.up_to(us(7)).as_micros() as usize] += 1;
        }
        assert!(seen.iter().all(|n| (140..260).contains(n)), "{seen:?}");
        assert_eq!(random.bits(0), 0);
        assert_eq!(random.up_to(Duration::ZERO), Duration::ZERO);
    }

    proptest! {
        #[test]
        fn a_draw_lies_between_its_limits(seed: u64, low in 0..1u64 << 40, range in 0..1u64 << 40) {
            let mut random = Random::new(seed, 0);
            let drawn = random.between(us(low), us(low + range));
            prop_assert!(us(low) <= drawn && drawn <= us(low + range));
            prop_assert!(random.up_to(Duration::from_micros(u64::MAX)) <= us(u64::MAX));
        }
    }
}
