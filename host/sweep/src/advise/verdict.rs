//! Gain of a change, from pairs of runs with the same seed.

use super::outcome::Outcome;
use crate::stats::Estimate;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Relative gain of a change: 0.1 is a tenth more of what should increase, or a tenth less of what
/// should decrease.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Mean gain.
    pub mean: f64,
    /// Half-width of the 95 % interval.
    pub ci95: f64,
    /// Probability of a positive gain, 0 to 1, by Student's t.
    pub sure: f64,
}

impl Verdict {
    /// Gain from pairs of outcomes without and with the change.
    pub(super) fn of(without: &[Outcome], with: &[Outcome]) -> Self {
        let usual = without.iter().map(Outcome::score).sum::<f64>().abs() / without.len() as f64;
        let pairs = without.iter().zip(with);
        let gains: Vec<f64> = pairs.map(|(a, b)| (b.score() - a.score()) / usual).collect();
        let nothing = Estimate { mean: 0.0, ci95: None };
        let estimate = Estimate::from_values(&gains).unwrap_or(nothing);
        let mean = if estimate.mean.is_finite() { estimate.mean } else { 0.0 };
        let ci95 = estimate.ci95.filter(|ci95| ci95.is_finite()).unwrap_or(f64::INFINITY);
        Verdict { mean, ci95, sure: sure(&gains, mean) }
    }
}

/// Share of Student's t distribution on the side of a gain.
fn sure(gains: &[f64], mean: f64) -> f64 {
    let count = gains.len() as f64;
    let squares: f64 = gains.iter().map(|gain| (gain - mean).powi(2)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    if error == 0.0 {
        return match mean.total_cmp(&0.0) {
            std::cmp::Ordering::Greater => 1.0,
            std::cmp::Ordering::Equal => 0.5,
            std::cmp::Ordering::Less => 0.0,
        };
    }
    // Fewer than two pairs allow no statement.
    StudentsT::new(0.0, 1.0, count - 1.0).map_or(0.5, |t| t.cdf(mean / error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64], higher_is_better: bool) -> Vec<Outcome> {
        values.iter().map(|&value| Outcome { value, arrived: 1.0, higher_is_better }).collect()
    }

    #[test]
    fn worth_is_a_share_with_an_interval_and_a_probability() {
        let without = of(&[10.0, 20.0, 30.0], true);
        let verdict = Verdict::of(&without, &of(&[12.0, 22.0, 32.0], true));
        assert!((verdict.mean - 0.1).abs() < 1e-12 && verdict.ci95 < 1e-12, "{verdict:?}");
        assert_eq!(verdict.sure, 1.0);
        // An outcome that should decrease.
        let less = Verdict::of(&of(&[10.0, 10.0], false), &of(&[5.0, 5.0], false));
        assert_eq!((less.mean, less.sure), (0.5, 1.0));
        // t = 1 with two degrees of freedom: 0.7887.
        let verdict = Verdict::of(&of(&[1.0; 3], true), &of(&[1.0, 1.0, 4.0], true));
        assert!((verdict.sure - 0.7887).abs() < 1e-4, "{verdict:?}");
        let nothing = Verdict::of(&without, &without);
        assert_eq!((nothing.mean, nothing.sure), (0.0, 0.5));
    }
}
