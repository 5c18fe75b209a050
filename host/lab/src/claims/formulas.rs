//! Claims of experiments that are folders: the expressions of `experiment.toml` judge them.

use super::bounds::{Bounds, under_every_model};
use super::{Claim, Finding, Table};
use kinglet_sweep::experiment::folder::{
    Absent, Compared, Comparison, Judged, Part, Statement, definition,
};
use std::cell::RefCell;

/// Claims of the experiment with this id, if it is a folder.
pub(super) fn claims(experiment: &'static str) -> impl Iterator<Item = Claim> {
    let claims = definition(experiment).into_iter().flat_map(|it| it.claims());
    claims.map(move |claim| {
        let Statement { id, place, statement, unit, paper, expected, tested, reason, seeds } =
            claim;
        Claim {
            id: id.to_owned(),
            experiment: experiment.to_owned(),
            place: place.to_owned(),
            statement: statement.to_owned(),
            unit: unit.to_owned(),
            paper,
            expected,
            tested,
            reason: reason.to_owned(),
            seeds,
        }
    })
}

/// Judges a claim; `None` if its experiment is no folder.
pub(super) fn judge(claim: &Claim, table: &Table<'_>) -> Option<Result<Finding, Absent>> {
    let (definition, id) = (definition(&claim.experiment)?, claim.id.as_str());
    let judge = |part| definition.judge(id, &table.0.rows, part);
    if !definition.is_for_every_model(id) {
        return Some(judge(Part::Whole).map(found));
    }
    let absent = RefCell::new(Absent::Missing);
    let finding = under_every_model(|model| match judge(Part::Under(model)) {
        Ok(judged) => Some(found(judged)),
        Err(reason) => {
            absent.replace(reason);
            None
        }
    });
    let Some(finding) = finding else { return Some(Err(absent.into_inner())) };
    if !definition.has_once(id) {
        return Some(Ok(finding));
    }
    Some(judge(Part::Once).map(|once| {
        let compared = format!("{}; {}", finding.compared, once.compared);
        Finding { compared, ..finding.and(compare(once.bounds)) }
    }))
}

fn found(Judged { ours, compared, bounds }: Judged) -> Finding {
    compare(bounds).finding(ours, compared)
}

fn compare(bounds: Vec<Compared>) -> Bounds {
    bounds.into_iter().fold(Bounds::default(), |met, (what, value, comparison)| {
        let what = &what;
        match comparison {
            Comparison::AtLeast(least) => met.at_least(what, value, least),
            Comparison::AtMost(most) => met.at_most(what, value, most),
            Comparison::Above(least) => met.above(what, value, least),
            Comparison::Below(most) => met.below(what, value, most),
            Comparison::Within(least, most) => met.within(what, value, (least, most)),
            Comparison::Holds => met.is(value == 1.0, what),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_is_met_on_its_side_of_the_bound() {
        use Comparison::*;
        let (t, f) = (true, false);
        let comparisons =
            [AtLeast(2.0), AtMost(2.0), Above(2.0), Below(2.0), Within(1.0, 2.0), Holds];
        for (value, expected) in [
            (0.0, [f, t, f, t, f, f]),
            (1.0, [f, t, f, t, t, t]),
            (2.0, [t, t, f, f, t, f]),
            (3.0, [t, f, t, f, f, f]),
        ] {
            for (comparison, met) in comparisons.into_iter().zip(expected) {
                let bounds = compare(vec![("it".to_owned(), value, comparison)]);
                let finding = bounds.finding(value, String::new());
                assert_eq!(finding.holds, met, "{value} {comparison:?}");
            }
        }
    }
}
