//! Tests of the claims about other stacks.

use super::bounds::Bounds;
use super::{Finding, Table, Test};
use crate::experiment::table_9;

/// Test of the claim with this id.
pub(super) fn test_of(id: &str) -> Option<Test> {
    Some(match id {
        "tcplp.table6.vs-prior" => prior,
        "tcplp.table9.features" => features,
        "tcplp.appA4.platforms" => platforms,
        _ => return None,
    })
}

/// Range stated in the abstract.
const TIMES: core::ops::RangeInclusive<f64> = 5.0..=40.0;

fn prior(t: &Table<'_>) -> Option<Finding> {
    let all: Vec<_> = t.all("times_slower").map(|row| (row.mean, row.label.as_str())).collect();
    let least = all.iter().copied().reduce(|a, b| if b.0 < a.0 { b } else { a })?;
    let most = all.iter().copied().reduce(|a, b| if b.0 > a.0 { b } else { a })?;
    let within = all.iter().filter(|(times, _)| TIMES.contains(times)).count();
    let compared = format!(
        "{within} of {} within 5 to 40; least {:.1} ({}), most {:.1} ({})",
        all.len(),
        least.0,
        least.1,
        most.0,
        most.1
    );
    let met = within == all.len();
    Bounds::default().is(met, "not every ratio is 5 to 40").found(least.0, compared)
}

fn features(t: &Table<'_>) -> Option<Finding> {
    t.mean("features of uip", "mss_option")?;
    let (mut agree, mut differ) = (0_u32, Vec::new());
    for (stack, feature, said) in table_9() {
        let seen = t.mean(&format!("features of {stack}"), feature).map(|has| has > 0.5);
        if seen == said {
            agree += 1;
        } else {
            differ.push(format!("{feature} of {stack}"));
        }
    }
    let compared = format!("answers of 32 that agree; others: {}", differ.join(", "));
    Bounds::default()
        .is(differ.is_empty(), "not every answer agrees")
        .found(f64::from(agree), compared)
}

fn platforms(t: &Table<'_>) -> Option<Finding> {
    let rate = |name| t.mean(&format!("platform={name}"), "goodput");
    let ratio = rate("gnrc")? / rate("openthread")?;
    // The paper's ratio is 0.84. Longer headers can only reduce the goodput.
    let compared = "12 octets more in each frame".to_owned();
    Bounds::default()
        .at_least("ratio", ratio, 0.8)
        .below("ratio", ratio, 1.0)
        .found(ratio, compared)
}

#[cfg(test)]
mod tests {
    use super::super::sample::row;
    use super::*;
    use kinglet_sweep::experiment::ExperimentResult;
    use kinglet_sweep::row::Row;

    fn holds(test: fn(&Table<'_>) -> Option<Finding>, rows: Vec<Row>) -> Option<bool> {
        let result = ExperimentResult { id: "tcplp-stacks", rows, samples: Vec::new(), seeds: 1 };
        test(&Table(&result)).map(|finding| finding.holds)
    }

    #[test]
    fn every_ratio_has_to_be_within_the_range() {
        let at = |a, b| vec![row("a", "times_slower", a), row("b", "times_slower", b)];
        assert_eq!(holds(prior, at(5.0, 40.0)), Some(true));
        assert_eq!(holds(prior, at(4.9, 30.0)), Some(false));
        assert_eq!(holds(prior, at(5.0, 41.0)), Some(false));
        assert_eq!(holds(prior, Vec::new()), None);
    }

    #[test]
    fn one_answer_that_differs_is_enough() {
        let answers = |wrong: Option<(&str, &str)>| {
            let row_of = |(stack, feature, said): (&str, &str, Option<bool>)| {
                let has = said? ^ (wrong == Some((stack, feature)));
                let value = if has { 1.0 } else { 0.0 };
                Some(row(&format!("features of {stack}"), feature, value))
            };
            table_9().filter_map(row_of).collect::<Vec<_>>()
        };
        assert_eq!(holds(features, answers(None)), Some(true));
        assert_eq!(holds(features, answers(Some(("blip", "selective_acks")))), Some(false));
    }

    #[test]
    fn a_platform_may_cost_a_fifth() {
        let at = |gnrc| {
            vec![
                row("platform=openthread", "goodput", 100.0),
                row("platform=gnrc", "goodput", gnrc),
            ]
        };
        assert_eq!(holds(platforms, at(84.0)), Some(true));
        assert_eq!(holds(platforms, at(79.0)), Some(false));
        assert_eq!(holds(platforms, at(101.0)), Some(false));
    }
}
