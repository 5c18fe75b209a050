//! Removal of changes with little gain.

use super::error::Stopped;
use super::outcome::{Candidate, Outcome, loses_too_much};
use super::verdict::Verdict;

/// Minimum relative gain of an advised change on its own.
pub const WORTH_IT: f64 = 0.01;
/// Minimum probability of that gain.
pub const SURE_ENOUGH: f64 = 0.9;

/// Outcomes of a combination with a few seeds; empty if it is impossible.
type Look<'a> = dyn FnMut(&Candidate) -> Result<Vec<Outcome>, Stopped> + 'a;

/// `winner` without changes of little gain, as long as their removal loses no more data than
/// `usual`, the runs of the unchanged scenario. The change with the lowest gain is removed first,
/// because the gains of others may depend on it.
pub(super) fn simplified(
    mut winner: Candidate,
    usual: &[Outcome],
    look: &mut Look<'_>,
) -> Result<Candidate, Stopped> {
    loop {
        let with = look(&winner)?;
        let mut least: Option<(f64, Candidate)> = None;
        for (_, fewer) in winner.without_one() {
            let without = look(&fewer)?;
            if without.is_empty() || loses_too_much(&without, usual) {
                continue;
            }
            let Verdict { mean: worth, sure, .. } = Verdict::of(&without, &with);
            let pays = worth >= WORTH_IT && sure >= SURE_ENOUGH;
            if !pays && least.as_ref().is_none_or(|(least, _)| worth < *least) {
                least = Some((worth, fewer));
            }
        }
        match least {
            Some((_, fewer)) => winner = fewer,
            None => return Ok(winner),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_stays_if_it_gains_avoids_losses_or_enables_others() {
        // The first change gains a tenth and loses data; the second avoids the loss and costs a
        // little; the third has no effect; without the fourth no combination is possible.
        let mut look = |candidate: &Candidate| {
            let &[gains, saves, _, needed] = candidate.0.as_slice() else { panic!() };
            let value = 10.0 + gains as f64 - 0.01 * saves as f64;
            let arrived = if gains > saves { 0.9 } else { 1.0 };
            let outcome = Outcome { value, arrived, higher_is_better: true };
            Ok(if needed == 1 { vec![outcome; 4] } else { Vec::new() })
        };
        let usual = [Outcome { value: 10.0, arrived: 1.0, higher_is_better: true }];
        let winner = simplified(Candidate(vec![1; 4]), &usual, &mut look).expect("nothing fails");
        assert_eq!(winner.0, [1, 1, 0, 1]);
    }
}
