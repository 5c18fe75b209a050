//! The dice: jitter of advertisements, responses and searches.

use kinglet_time::Duration;
use rand_core::Rng;
use rand_pcg::Pcg32;

/// A generator that is made on its first use, because its crate cannot make one in a constant.
pub(crate) struct Random {
    seed: u64,
    generator: Option<Pcg32>,
}

impl Random {
    /// Any stream but the one that the MAC of the same node uses with the same seed.
    const STREAM: u64 = 0x6d65_7368_6d65_7368;

    pub(crate) const fn new(seed: u64) -> Self {
        Random { seed, generator: None }
    }

    /// Uniform from `low` to `high` in microseconds (up to an error of 2^-32 of the range).
    pub(crate) fn between(&mut self, low: Duration, high: Duration) -> Duration {
        let seed = self.seed;
        let dice = self.generator.get_or_insert_with(|| Pcg32::new(seed, Self::STREAM)).next_u32();
        let choices = u128::from((high - low).as_micros()).saturating_add(1);
        let micros = choices.saturating_mul(u128::from(dice)) >> 32;
        low + Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }
}
