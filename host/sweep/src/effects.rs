//! Effects of the factors of a multi-factor design: main effects and pairwise interactions.
//!
//! Values are analysed as logarithms, so that effects are ratios and not differences. The design is
//! balanced: levels of any two factors occur together about equally often. Means over levels are
//! therefore the effects.

/// A run: the level of each factor, and its result.
#[derive(Clone, Debug)]
pub struct Run {
    /// The level of each factor, from 0.
    pub levels: Vec<usize>,
    /// Its result, above zero.
    pub value: f64,
}

/// Means over the runs of a design.
pub struct Effects {
    runs: Vec<Run>,
    mean: f64,
    /// For each factor and level: difference of the mean logarithm from the overall mean.
    main: Vec<Vec<f64>>,
    /// Residual standard deviation after the main effects.
    residual: f64,
}

impl Effects {
    /// Computes the effects. Runs without a positive value are ignored. `None` with too few runs.
    pub fn of(runs: &[Run], levels: &[usize]) -> Option<Effects> {
        let logarithm =
            |run: &Run| (run.value > 0.0).then(|| Run { value: run.value.ln(), ..run.clone() });
        let runs: Vec<Run> = runs.iter().filter_map(logarithm).collect();
        let parameters = 1 + levels.iter().map(|count| count - 1).sum::<usize>();
        if runs.len() <= parameters {
            return None;
        }
        let mean = runs.iter().map(|run| run.value).sum::<f64>() / runs.len() as f64;
        let effect = |factor: usize, level: usize| {
            average(runs.iter().filter(|run| run.levels[factor] == level)).map_or(0.0, |m| m - mean)
        };
        let main: Vec<Vec<f64>> = levels
            .iter()
            .enumerate()
            .map(|(factor, count)| (0..*count).map(|level| effect(factor, level)).collect())
            .collect();
        let left = |run: &Run| {
            let explained = run.levels.iter().zip(&main).map(|(level, main)| main[*level]);
            run.value - mean - explained.sum::<f64>()
        };
        let squares: f64 = runs.iter().map(|run| left(run).powi(2)).sum();
        let residual = (squares / (runs.len() - parameters) as f64).sqrt();
        Some(Effects { runs, mean, main, residual })
    }

    /// Number of runs with a level.
    pub fn count(&self, factor: usize, level: usize) -> usize {
        self.runs.iter().filter(|run| run.levels[factor] == level).count()
    }

    /// Difference of a level from the overall mean, in per cent, and half of its 95 % interval.
    pub fn main(&self, factor: usize, level: usize) -> (f64, f64) {
        let count = self.count(factor, level).max(1);
        let effect = self.main[factor][level];
        let half = 1.96 * self.residual / (count as f64).sqrt();
        (percent(effect), percent(effect + half) - percent(effect))
    }

    /// The level of a factor with the highest mean.
    pub fn best(&self, factor: usize) -> usize {
        let levels = self.main[factor].iter().enumerate();
        levels.max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(level, _)| level)
    }

    /// Share of the variance that a factor explains alone, in per cent.
    pub fn share(&self, factor: usize) -> f64 {
        let explained: f64 =
            self.runs.iter().map(|run| self.main[factor][run.levels[factor]].powi(2)).sum();
        explained / self.total() * 100.0
    }

    /// Share of the variance that two factors explain together, beyond their main effects.
    pub fn shared(&self, (a, b): (usize, usize)) -> f64 {
        let mut explained = 0.0;
        for level_a in 0..self.main[a].len() {
            for level_b in 0..self.main[b].len() {
                let here = |run: &&Run| (run.levels[a], run.levels[b]) == (level_a, level_b);
                let count = self.runs.iter().filter(here).count() as f64;
                let Some(mean) = average(self.runs.iter().filter(here)) else { continue };
                let alone = self.mean + self.main[a][level_a] + self.main[b][level_b];
                explained += count * (mean - alone).powi(2);
            }
        }
        explained / self.total() * 100.0
    }

    fn total(&self) -> f64 {
        self.runs
            .iter()
            .map(|run| (run.value - self.mean).powi(2))
            .sum::<f64>()
            .max(f64::MIN_POSITIVE)
    }
}

fn percent(logarithm: f64) -> f64 {
    logarithm.exp_m1() * 100.0
}

fn average<'a>(runs: impl Iterator<Item = &'a Run>) -> Option<f64> {
    let (sum, count) = runs.fold((0.0, 0.0), |(sum, count), run| (sum + run.value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three factors with two levels each: the first doubles the value; the second and the third
    /// triple it only together.
    fn design() -> Vec<Run> {
        let mut runs = Vec::new();
        for (a, b, c) in (0..8).map(|i| (i & 1, i >> 1 & 1, i >> 2)) {
            for noise in [0.99, 1.01] {
                let value =
                    noise * if a == 1 { 2.0 } else { 1.0 } * if b * c == 1 { 3.0 } else { 1.0 };
                runs.push(Run { levels: vec![a, b, c], value });
            }
        }
        runs
    }

    #[test]
    fn effects_are_factors_and_their_shares_add_up() {
        let effects = Effects::of(&design(), &[2, 2, 2]).expect("enough runs");
        let ratio = |factor| {
            (1.0 + effects.main(factor, 1).0 / 100.0) / (1.0 + effects.main(factor, 0).0 / 100.0)
        };
        assert!((ratio(0) - 2.0).abs() < 1e-9, "{}", ratio(0));
        assert!((ratio(1) - 3f64.sqrt()).abs() < 1e-9, "{}", ratio(1));
        assert_eq!([0, 1, 2].map(|factor| effects.best(factor)), [1, 1, 1]);
        assert!(effects.shared((1, 2)) > 15.0 && effects.shared((0, 1)) < 1e-6);
        let alone: f64 = (0..3).map(|factor| effects.share(factor)).sum();
        let all = alone + effects.shared((1, 2));
        assert!((99.0..=100.0).contains(&all), "noise is the rest: {all}");
        assert!(effects.main(0, 1).1 > 0.0);
    }

    #[test]
    fn too_few_runs_say_nothing() {
        assert!(Effects::of(&design()[..4], &[2, 2, 2]).is_none());
        let none: Vec<_> = design().into_iter().map(|run| Run { value: 0.0, ..run }).collect();
        assert!(Effects::of(&none, &[2, 2, 2]).is_none());
    }
}
