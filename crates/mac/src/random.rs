//! The MAC's dice.

use kinglet_time::Duration;
use rand_core::Rng;
use rand_pcg::Pcg32;

/// A generator that is made on its first use, because its crate cannot make one in a constant.
pub(crate) struct Random {
    seed: u64,
    generator: Option<Pcg32>,
}

impl Random {
    /// The stream that the documentation of the generator's crate names as the usual one.
    const STREAM: u64 = 0x0a02_bdbf_7bb3_c0a7;

    pub(crate) const fn new(seed: u64) -> Self {
        Random { seed, generator: None }
    }

    fn next_u32(&mut self) -> u32 {
        let seed = self.seed;
        self.generator.get_or_insert_with(|| Pcg32::new(seed, Self::STREAM)).next_u32()
    }

    /// Uniform in 0..2^`bits`, for `bits` up to 31.
    pub(crate) fn bits(&mut self, bits: u8) -> u32 {
        let mask = 1u32.checked_shl(u32::from(bits)).map_or(u32::MAX, |n| n.saturating_sub(1));
        self.next_u32() & mask
    }

    /// Uniform in 0..=`max` microseconds (up to an error of 2^-32 of the range).
    pub(crate) fn up_to(&mut self, max: Duration) -> Duration {
        let choices = u128::from(max.as_micros()).saturating_add(1);
        let micros = choices.saturating_mul(u128::from(self.next_u32())) >> 32;
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }
}
