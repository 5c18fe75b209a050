//! What races, and what comes of it.

/// A combination of settings: for each its place among its values, 0 for what the scenario says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate(pub(super) Vec<usize>);

impl Candidate {
    /// The scenario as it is.
    pub(super) fn plain(settings: usize) -> Self {
        Candidate(vec![0; settings])
    }

    /// How many settings there are.
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Each place that is changed, and the same combination without that change.
    pub(super) fn without_one(&self) -> impl Iterator<Item = (usize, Candidate)> + '_ {
        let changed = self.0.iter().enumerate().filter(|(_, value)| **value != 0);
        changed.map(|(place, _)| {
            let mut fewer = self.clone();
            fewer.0[place] = 0;
            (place, fewer)
        })
    }
}

/// What came of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outcome {
    /// What is measured, in its unit.
    pub value: f64,
    /// Share of what was sent that arrived, 0 to 1.
    pub arrived: f64,
    /// Whether more of it is better.
    pub higher_is_better: bool,
}

impl Outcome {
    /// What is measured with its sign such that more is better.
    pub(super) const fn score(&self) -> f64 {
        if self.higher_is_better { self.value } else { -self.value }
    }
}

/// A combination may lose this much more of what is sent than the scenario as it is.
const MORE_LOST: f64 = 0.01;

/// The mean of something over runs.
pub(super) fn mean(outcomes: &[Outcome], of: impl Fn(&Outcome) -> f64) -> f64 {
    outcomes.iter().map(of).sum::<f64>() / outcomes.len() as f64
}

/// Whether too much more is lost than in the runs of the scenario as it is, `usual`.
pub(super) fn loses_too_much(outcomes: &[Outcome], usual: &[Outcome]) -> bool {
    mean(outcomes, |it| it.arrived) < mean(usual, |it| it.arrived) - MORE_LOST
}
