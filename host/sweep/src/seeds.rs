//! Seeds by purpose: three disjoint ranges, so that a figure does not come from seeds by which a
//! setting was chosen.
//!
//! | range | seeds | use |
//! |---|---|---|
//! | [`TUNING`] | 0 to 100 | settings and models are chosen with these |
//! | [`REPORT`] | 101 to 999,999 | published results |
//! | [`TEST`] | from 1,000,000 on | confirmation of what was chosen; nothing is chosen with these |

use core::ops::RangeInclusive;

/// Seeds with which settings are chosen.
pub const TUNING: RangeInclusive<u64> = 0..=100;
/// Seeds of published results.
pub const REPORT: RangeInclusive<u64> = 101..=999_999;
/// Seeds with which nothing is chosen.
pub const TEST: RangeInclusive<u64> = 1_000_000..=u64::MAX;

/// Name of the range of `seed`.
pub fn purpose(seed: u64) -> &'static str {
    match seed {
        seed if TEST.contains(&seed) => "test",
        seed if REPORT.contains(&seed) => "report",
        _ => "tuning",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_disjoint_and_complete() {
        for (seed, name) in [
            (0, "tuning"),
            (1, "tuning"),
            (100, "tuning"),
            (101, "report"),
            (999_999, "report"),
            (1_000_000, "test"),
            (u64::MAX, "test"),
        ] {
            assert_eq!(purpose(seed), name, "{seed}");
            let ranges =
                [TUNING, REPORT, TEST].iter().filter(|range| range.contains(&seed)).count();
            assert_eq!(ranges, 1, "{seed}");
        }
    }
}
