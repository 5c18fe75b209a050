//! Means and 95 % confidence intervals over seeds; quantiles.

/// Mean and half-width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half-width by Student's t; `None` with fewer than two values.
    pub ci95: Option<f64>,
}

impl Estimate {
    /// The estimate from one value per seed; `None` without values.
    pub fn from_values(values: &[f64]) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        if values.len() < 2 {
            return Some(Estimate { mean, ci95: None });
        }
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let standard_error = (squares / (count - 1.0) / count).sqrt();
        Some(Estimate { mean, ci95: Some(student_t975(values.len() - 1) * standard_error) })
    }
}

/// The quantile of `values` for this share, interpolated between the two nearest values; `None`
/// without values.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = sorted.len().checked_sub(1)? as f64 * share;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(low + (high - low) * place.fract())
}

/// Spearman's rank correlation of pairs, -1 to 1; `None` if one of the two is constant.
pub fn rank_correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let xs = ranks(pairs.iter().map(|pair| pair.0).collect());
    let ys = ranks(pairs.iter().map(|pair| pair.1).collect());
    // The mean of all ranks is the middle, with or without ties.
    let middle = (pairs.len() as f64 - 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| {
        a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle)).sum::<f64>()
    };
    let scale = (product(&xs, &xs) * product(&ys, &ys)).sqrt();
    (scale > 0.0).then(|| product(&xs, &ys) / scale)
}

/// Rank of each value, from 0; equal values share the mean of their ranks.
fn ranks(values: Vec<f64>) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        below as f64 + (equal as f64 - 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

/// The 0.975 quantile of Student's t distribution; standard table. Beyond 30 degrees of freedom it
/// is a step function, rounded up to the safe side.
fn student_t975(degrees_of_freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    match degrees_of_freedom {
        0 => f64::INFINITY,
        1..=30 => TABLE[degrees_of_freedom - 1],
        31..=60 => 2.042,
        61..=120 => 2.000,
        _ => 1.980,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_not_values_are_correlated() {
        let of = |pairs: &[(f64, f64)]| rank_correlation(pairs);
        assert_eq!(of(&[(1.0, 1.0), (2.0, 10.0), (3.0, 100.0)]), Some(1.0));
        assert_eq!(of(&[(1.0, 5.0), (2.0, 3.0), (9.0, -7.0)]), Some(-1.0));
        // Ranks 0, 1.5, 1.5, 3 and 0, 2, 1, 3.
        let tied = of(&[(1.0, 1.0), (2.0, 3.0), (2.0, 2.0), (3.0, 4.0)]).expect("a value");
        assert!((tied - 4.5 / 22.5f64.sqrt()).abs() < 1e-9, "{tied}");
        assert_eq!(of(&[(1.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn the_interval_of_five_values_matches_a_worked_example() {
        // Mean 10, sample standard deviation sqrt(2.5), t(4) = 2.776.
        let e = Estimate::from_values(&[8.0, 9.0, 10.0, 11.0, 12.0]).expect("values");
        assert_eq!(e.mean, 10.0);
        let expected = 2.776 * (2.5f64 / 5.0).sqrt();
        assert!((e.ci95.expect("five values") - expected).abs() < 1e-12);
    }

    #[test]
    fn one_value_has_no_interval_and_none_no_mean() {
        assert_eq!(Estimate::from_values(&[3.0]), Some(Estimate { mean: 3.0, ci95: None }));
        assert_eq!(Estimate::from_values(&[]), None);
    }

    #[test]
    fn equal_values_have_an_interval_of_zero_width() {
        assert_eq!(Estimate::from_values(&[2.0, 2.0, 2.0]).and_then(|e| e.ci95), Some(0.0));
    }

    #[test]
    fn quantiles_lie_between_values() {
        let of = |share| quantile(&[4.0, 1.0, 3.0, 2.0], share);
        assert_eq!([0.0, 0.25, 0.5, 1.0].map(of), [1.0, 1.75, 2.5, 4.0].map(Some));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn the_quantile_falls_with_the_degrees_of_freedom() {
        let all: Vec<f64> = (0..=130).map(student_t975).collect();
        assert!(all.windows(2).all(|w| w[0] >= w[1]));
    }
}
