//! Source of the choices of a run: a seed, or octets that a fuzzer or a property test supplies.

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

/// Makes choices. Zero is always the harmless one, so that a source that is used up results in a
/// faultless link and applications that finish.
pub trait Source {
    /// Returns a number from 0 to `bound` - 1; `bound` is at least 1.
    fn below(&mut self, bound: u32) -> u32;

    /// Returns true with this probability, in 1/256.
    fn chance(&mut self, of_256: u32) -> bool {
        of_256 > 0 && self.below(256) >= 256_u32.saturating_sub(of_256)
    }

    /// Returns a number from `low` to `high`.
    fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    /// Returns the number of segments for which there are choices.
    fn segments(&self) -> usize {
        usize::MAX
    }
}

/// The choices of a seed.
pub struct Seeded(Pcg64Mcg);

impl Seeded {
    /// Creates a source; different seeds make unrelated choices.
    pub fn new(seed: u64) -> Seeded {
        // The generator's first outputs resemble those of neighbouring states.
        let mut random = Pcg64Mcg::new((u128::from(seed) << 64 | 0x9e37_79b9_7f4a_7c15) | 1);
        random.fill_bytes(&mut [0; 64]);
        Seeded(random)
    }
}

impl Source for Seeded {
    fn below(&mut self, bound: u32) -> u32 {
        self.0.next_u32() % bound.max(1)
    }
}

/// Choices read from octets; zeros when they have been used up.
pub struct Octets<'a>(pub &'a [u8]);

impl Source for Octets<'_> {
    fn below(&mut self, bound: u32) -> u32 {
        let mut value = 0;
        let mut span = 1_u32;
        while span < bound {
            let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
            self.0 = rest;
            value = value << 8 | u32::from(*first);
            span = span.saturating_mul(256);
        }
        value % bound.max(1)
    }

    fn segments(&self) -> usize {
        self.0.len() / CHOICES
    }
}

/// Octets that are read for a segment, or a few more.
const CHOICES: usize = 16;
