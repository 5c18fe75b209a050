//! Race of combinations: all run with the same seeds, and certainly worse ones are eliminated.
//!
//! After López-Ibáñez et al., "The irace package: iterated racing for automatic algorithm
//! configuration" (2016). The test is paired because pairs of runs have the same seed, and settings
//! are drawn uniformly instead of from a distribution for each.

use super::error::Stopped;
use super::outcome::{Candidate, Outcome, loses_too_much, mean};
use crate::stats::Estimate;
use kinglet_sim::rng::Stream;
use std::collections::BTreeSet;

/// Number of rounds; each draws new combinations close to the best of the previous one.
const ROUNDS: usize = 3;
/// Share of the simulations in these rounds. The rest compares each value of each setting with the
/// winner's, because single changes are seldom drawn.
const DRAWN: f64 = 0.4;
/// Number of seeds before a combination may be eliminated, and minimum number in each round; with
/// fewer seeds the result would be random.
const FIRST_TEST: u64 = 3;
/// Maximum number of combinations that enter the next round.
const ELITE: usize = 3;
/// Maximum number of seeds in a round.
const MOST_SEEDS: u64 = 8;
/// Approximate number of simulations per combination in a round; some are eliminated early.
const RUNS_EACH: usize = 5;
/// Number of draws after which all new combinations are assumed to be exhausted.
const DRAWS: usize = 200;

/// Outcomes of combinations with one seed; `None` for impossible ones.
type Measure<'a> = dyn FnMut(&[Candidate], u64) -> Result<Vec<Option<Outcome>>, Stopped> + 'a;

/// State of a race.
pub(super) struct Race {
    /// Number of values of each setting, including the scenario's.
    choices: Vec<usize>,
    first: u64,
    /// Number of simulations left.
    left: usize,
    random: Stream,
    known: BTreeSet<Candidate>,
    /// Combinations and seeds that were measured; measuring them again costs nothing.
    measured: BTreeSet<(Candidate, u64)>,
}

/// A combination in the race, with its outcomes by seed.
struct Runner {
    candidate: Candidate,
    outcomes: Vec<Outcome>,
}

impl Runner {
    fn score(&self) -> f64 {
        mean(&self.outcomes, Outcome::score)
    }

    /// True if `self` is certainly worse than `best` on the seeds of both.
    fn loses_to(&self, best: &Runner) -> bool {
        let both = self.outcomes.iter().zip(&best.outcomes);
        let behind: Vec<f64> = both.map(|(own, best)| best.score() - own.score()).collect();
        let behind = Estimate::from_values(&behind);
        behind.is_some_and(|it| it.ci95.is_some_and(|ci95| it.mean > ci95))
    }
}

impl Race {
    /// A race of `runs` simulations, between combinations of settings with these numbers of values,
    /// with seeds from `first` on.
    pub(super) fn new(choices: Vec<usize>, first: u64, runs: usize) -> Self {
        let random = Stream::from_seed(first);
        let (known, measured) = (BTreeSet::new(), BTreeSet::new());
        Race { choices, first, left: runs, random, known, measured }
    }

    /// Returns the winner; `None` if all combinations are impossible. `begin` are the first
    /// candidates.
    ///
    /// # Errors
    /// Errors of `measure`.
    pub(super) fn run(
        &mut self,
        begin: Vec<Candidate>,
        measure: &mut Measure<'_>,
    ) -> Result<Option<Candidate>, Stopped> {
        let plain = Candidate::plain(self.choices.len());
        self.known.insert(plain.clone());
        self.known.extend(begin.iter().cloned());
        let mut elite = begin;
        let drawn = (self.left as f64 * DRAWN) as usize;
        for round in 0..ROUNDS {
            let share = drawn / ROUNDS;
            let count = (share / RUNS_EACH).max(ELITE + 1);
            let mut field = elite.clone();
            for number in field.len()..count {
                let parent = elite.get(number % elite.len().max(1)).unwrap_or(&plain);
                let Some(new) = self.draw(parent, round) else { break };
                field.push(new);
            }
            elite = self.round(field, share, measure)?;
        }
        // Each of the best may be close to another local optimum.
        let mut refined = Vec::new();
        for (done, winner) in elite.iter().enumerate() {
            let share = self.left / (elite.len() - done);
            refined.push(self.refined(winner.clone(), share, measure)?);
        }
        refined.dedup();
        Ok(self.round(refined, usize::MAX, measure)?.into_iter().next())
    }

    /// Improves `winner`: for each setting in turn it takes the best value with the other settings
    /// unchanged, until no value is better or `share` simulations were made.
    fn refined(
        &mut self,
        mut winner: Candidate,
        share: usize,
        measure: &mut Measure<'_>,
    ) -> Result<Candidate, Stopped> {
        let until = self.left - share;
        let mut unchanged = 0;
        for place in (0..self.choices.len()).cycle() {
            if unchanged == self.choices.len() || self.left <= until {
                break;
            }
            let with = |value| {
                let mut other = winner.clone();
                other.0[place] = value;
                other
            };
            let field = (0..self.choices[place]).map(with).collect();
            let best = self.round(field, self.left - until, measure)?.into_iter().next();
            let best = best.unwrap_or_else(|| winner.clone());
            unchanged = if best == winner { unchanged + 1 } else { 0 };
            winner = best;
        }
        Ok(winner)
    }

    /// Draws a new combination close to `parent`. It differs in at most half of the settings in the
    /// first round, and in half as many in each later round, but at least in one.
    fn draw(&mut self, parent: &Candidate, round: usize) -> Option<Candidate> {
        let settings = self.choices.len();
        let most = (settings / 2).max(1) >> round;
        for _ in 0..DRAWS {
            let mut new = parent.clone();
            for _ in 0..most.max(1) {
                let place = self.random.below(settings as u32) as usize;
                let choices = *self.choices.get(place)?;
                new.0[place] = self.random.below(choices as u32) as usize;
            }
            if self.known.insert(new.clone()) {
                return Some(new);
            }
        }
        None
    }

    /// Runs a round of `field` with at most `share` simulations. Returns the remaining
    /// combinations, the best first.
    fn round(
        &mut self,
        field: Vec<Candidate>,
        share: usize,
        measure: &mut Measure<'_>,
    ) -> Result<Vec<Candidate>, Stopped> {
        let runner = |candidate| Runner { candidate, outcomes: Vec::new() };
        // The loss of the others is compared with that of the unchanged scenario.
        let mut usual = runner(Candidate::plain(self.choices.len()));
        let mut runners: Vec<Runner> = field.into_iter().map(runner).collect();
        let mut spent = 0_usize;
        for met in 0..MOST_SEEDS {
            if met >= FIRST_TEST
                && (spent.saturating_add(runners.len()) > share || runners.len() <= 1)
            {
                break;
            }
            let now = self.first + met;
            let keys = runners.iter().map(|it| (it.candidate.clone(), now));
            spent += keys.filter(|key| self.measured.insert(key.clone())).count();
            let all = runners.iter().chain([&usual]).map(|it| it.candidate.clone());
            let mut outcomes = measure(&all.collect::<Vec<_>>(), now)?;
            usual.outcomes.extend(outcomes.pop().flatten());
            let mut outcomes = outcomes.into_iter();
            runners.retain_mut(|runner| {
                let outcome = outcomes.next().flatten();
                runner.outcomes.extend(outcome);
                outcome.is_some()
            });
            if met + 1 >= FIRST_TEST {
                runners = survivors(runners, &usual.outcomes);
            }
        }
        self.left = self.left.saturating_sub(spent);
        runners.truncate(ELITE);
        Ok(runners.into_iter().map(|runner| runner.candidate).collect())
    }
}

/// Runners that neither lose too much data nor are certainly worse than the best one, which is
/// first.
fn survivors(mut runners: Vec<Runner>, usual: &[Outcome]) -> Vec<Runner> {
    runners.retain(|it| !loses_too_much(&it.outcomes, usual));
    runners.sort_by(|a, b| b.score().total_cmp(&a.score()));
    let Some((best, others)) = runners.split_first() else { return runners };
    let mut stays = others.iter().map(|it| !it.loses_to(best)).collect::<Vec<_>>().into_iter();
    let (mut left, rest) = (Vec::new(), runners);
    for (place, runner) in rest.into_iter().enumerate() {
        if place == 0 || stays.next().unwrap_or(false) {
            left.push(runner);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two of three settings help, the second one only with the first; the seed adds noise.
    fn measure(candidates: &[Candidate], seed: u64) -> Result<Vec<Option<Outcome>>, Stopped> {
        let one = |candidate: &Candidate| {
            let &[a, b, c] = candidate.0.as_slice() else { return None };
            let mut noise = Stream::from_seed(seed * 1_000 + (a * 100 + b * 10 + c) as u64);
            let value = 10.0 + a as f64 + if a == 3 { 2.0 * b as f64 } else { -(b as f64) };
            // One value of the third setting is impossible, and another one loses data.
            let arrived = if c == 2 { 0.5 } else { 1.0 };
            let value = if c == 2 { value + 50.0 } else { value };
            let value = value + noise.unit() - 0.5;
            (c != 1).then_some(Outcome { value, arrived, higher_is_better: true })
        };
        Ok(candidates.iter().map(one).collect())
    }

    #[test]
    fn the_best_combination_wins_that_loses_nothing() {
        for first in [1, 100, 200, 300, 400] {
            let mut race = Race::new(vec![4, 4, 3], first, 300);
            let begin = vec![Candidate::plain(3)];
            let winner = race.run(begin, &mut measure).expect("nothing fails").expect("a winner");
            assert_eq!(winner.0, [3, 3, 0], "seeds from {first}");
        }
    }

    #[test]
    fn a_race_measures_about_what_it_may() {
        for runs in [40, 200, 1_000] {
            let (mut count, mut known) = (0, BTreeSet::new());
            let mut counting = |candidates: &[Candidate], seed: u64| {
                // Measuring again costs nothing.
                let keys = candidates.iter().map(|it| (it.clone(), seed));
                count += keys.filter(|key| known.insert(key.clone())).count();
                measure(candidates, seed)
            };
            let mut race = Race::new(vec![6; 3], 1, runs);
            race.run(Vec::new(), &mut counting).expect("nothing fails");
            // Each round has at least four combinations and three seeds, and the last round of each
            // refinement is completed.
            assert!(count <= runs.max(ROUNDS * 4 * 3) + (ELITE + 1) * 6 * 8, "{count} of {runs}");
        }
    }
}
