//! Combinations of settings and their outcomes.

/// A combination of settings: the index of each setting's value; 0 means the scenario's value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate(pub(super) Vec<usize>);

impl Candidate {
    /// Combination of the unchanged scenario.
    pub(super) fn plain(settings: usize) -> Self {
        Candidate(vec![0; settings])
    }

    /// Number of settings.
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Index of each changed setting, with the same combination without that change.
    pub(super) fn without_one(&self) -> impl Iterator<Item = (usize, Candidate)> + '_ {
        let changed = self.0.iter().enumerate().filter(|(_, value)| **value != 0);
        changed.map(|(place, _)| {
            let mut fewer = self.clone();
            fewer.0[place] = 0;
            (place, fewer)
        })
    }
}

/// Outcome of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outcome {
    /// Value in the objective's unit.
    pub value: f64,
    /// Share of sent data that was received, 0 to 1.
    pub arrived: f64,
    /// True if a higher value is better.
    pub higher_is_better: bool,
}

impl Outcome {
    /// Value with the sign for which higher is better.
    pub(super) const fn score(&self) -> f64 {
        if self.higher_is_better { self.value } else { -self.value }
    }
}

/// Allowed additional share of lost data, compared with the unchanged scenario.
const MORE_LOST: f64 = 0.01;

/// Mean of a quantity over runs.
pub(super) fn mean(outcomes: &[Outcome], of: impl Fn(&Outcome) -> f64) -> f64 {
    outcomes.iter().map(of).sum::<f64>() / outcomes.len() as f64
}

/// True if these runs lose too much more than `usual`, the runs of the unchanged scenario.
pub(super) fn loses_too_much(outcomes: &[Outcome], usual: &[Outcome]) -> bool {
    mean(outcomes, |it| it.arrived) < mean(usual, |it| it.arrived) - MORE_LOST
}
