//! The layer's dice.

use kinglet_time::Duration;
use rand_core::Rng;
use rand_pcg::Pcg32;

/// A generator that is made on its first use, because its crate cannot make one in a constant.
pub(crate) struct Random {
    seed: u64,
    generator: Option<Pcg32>,
}

impl Random {
    /// Any fixed stream that is not the MAC's.
    const STREAM: u64 = 0x636f_6170;

    pub(crate) const fn new(seed: u64) -> Self {
        Random { seed, generator: None }
    }

    pub(crate) fn next_u32(&mut self) -> u32 {
        let seed = self.seed;
        self.generator.get_or_insert_with(|| Pcg32::new(seed, Self::STREAM)).next_u32()
    }

    /// Uniform in 0..=`max`, which is less than an hour (up to an error of 2^-32 of the range).
    pub(crate) fn up_to(&mut self, max: Duration) -> Duration {
        let choices = max.as_micros().saturating_add(1).min(u64::from(u32::MAX));
        Duration::from_micros(choices.saturating_mul(u64::from(self.next_u32())) >> 32)
    }
}
