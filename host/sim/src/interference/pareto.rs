//! Heavy-tailed lengths with an upper bound.

/// A Pareto distribution truncated at both ends: density proportional to `x^-(shape + 1)` from
/// `least_us` to `most_us`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pareto {
    /// Exponent of the tail, above 1; a smaller one means a heavier tail.
    pub shape: f64,
    /// Shortest length in microseconds, above 0.
    pub least_us: f64,
    /// Longest length in microseconds, above the shortest.
    pub most_us: f64,
}

impl Pareto {
    /// Mean length in microseconds.
    pub fn mean_us(&self) -> f64 {
        let Pareto { shape, least_us, most_us } = *self;
        let ratio = least_us / most_us;
        let cut = |exponent: f64| 1.0 - libm::pow(ratio, exponent);
        least_us * shape / (shape - 1.0) * cut(shape - 1.0) / cut(shape)
    }

    /// Length that a share of `u` of all lengths does not exceed.
    pub fn quantile_us(&self, u: f64) -> f64 {
        self.quantile_of(self.shape, u)
    }

    /// The same for the length of the period at a random instant. The probability of a period is
    /// proportional to its length, which reduces the exponent by one.
    pub fn quantile_met_us(&self, u: f64) -> f64 {
        self.quantile_of(self.shape - 1.0, u)
    }

    fn quantile_of(&self, shape: f64, u: f64) -> f64 {
        let left = 1.0 - u * (1.0 - libm::pow(self.least_us / self.most_us, shape));
        self.least_us / libm::pow(left, 1.0 / shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_have_the_mean_of_the_closed_form_and_its_ends() {
        let on = Pareto { shape: 1.2, least_us: 10_000.0, most_us: 500_000.0 };
        let n = 100_000;
        let at = |i: i32| (f64::from(i) + 0.5) / f64::from(n);
        let mean = (0..n).map(|i| on.quantile_us(at(i))).sum::<f64>() / f64::from(n);
        assert!((mean / on.mean_us() - 1.0).abs() < 1e-3, "{mean} {}", on.mean_us());
        for quantile in [Pareto::quantile_us, Pareto::quantile_met_us] {
            assert!((quantile(&on, 0.0) - 10_000.0).abs() < 1e-6);
            assert!((quantile(&on, 1.0) - 500_000.0).abs() < 1e-3);
        }
        // The mean of 1/x over periods at random instants is the reciprocal of the mean.
        let met = (0..n).map(|i| 1.0 / on.quantile_met_us(at(i))).sum::<f64>() / f64::from(n);
        assert!((met * on.mean_us() - 1.0).abs() < 1e-3, "{met}");
    }
}
