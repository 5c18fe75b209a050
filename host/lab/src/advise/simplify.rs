//! What is not worth it is taken back.

use super::error::Stopped;
use super::outcome::{Candidate, Outcome, loses_too_much};
use super::verdict::Verdict;

/// What a setting must be worth by itself to be advised, as a share of what there is without it,
pub const WORTH_IT: f64 = 0.01;
/// and how sure that must be.
pub const SURE_ENOUGH: f64 = 0.9;

/// What comes of a combination with a few seeds; nothing if it is impossible.
type Look<'a> = dyn FnMut(&Candidate) -> Result<Vec<Outcome>, Stopped> + 'a;

/// `winner` without the changes that are not worth it and without which no more is lost than in
/// `usual`, the runs of the scenario as it is. The least one goes first, as what others are worth
/// may depend on it.
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
    fn what_pays_stays_and_so_does_what_keeps_losses_away_and_what_others_need() {
        // The first is worth a tenth and loses; the second makes up for that loss and costs a
        // little; the third does nothing; without the fourth nothing is possible.
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
