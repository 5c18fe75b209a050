//! Bounds of a claim, and the models of the medium under which it is checked.

use super::Finding;
use kinglet_report::number::short;
use kinglet_sweep::experiment::Model;

/// Bounds of a claim during their comparison with the results. Unmet bounds are kept as text. NaN
/// meets no bound.
#[derive(Default)]
pub(super) struct Bounds(Vec<String>);

impl Bounds {
    pub(super) fn at_least(self, what: &str, value: f64, least: f64) -> Self {
        self.demand(value >= least, what, value, &format!("not {} or more", short(least)))
    }

    pub(super) fn at_most(self, what: &str, value: f64, most: f64) -> Self {
        self.demand(value <= most, what, value, &format!("not {} or less", short(most)))
    }

    pub(super) fn above(self, what: &str, value: f64, least: f64) -> Self {
        self.demand(value > least, what, value, &format!("not more than {}", short(least)))
    }

    pub(super) fn below(self, what: &str, value: f64, most: f64) -> Self {
        self.demand(value < most, what, value, &format!("not less than {}", short(most)))
    }

    pub(super) fn within(self, what: &str, value: f64, (least, most): (f64, f64)) -> Self {
        let met = (least..=most).contains(&value);
        self.demand(met, what, value, &format!("not {} to {}", short(least), short(most)))
    }

    /// Checks a condition that is not a number; `what` is its text.
    pub(super) fn is(mut self, met: bool, what: &str) -> Self {
        if !met {
            self.0.push(what.to_owned());
        }
        self
    }

    fn demand(mut self, met: bool, what: &str, value: f64, but: &str) -> Self {
        if !met {
            self.0.push(format!("{what} {}, {but}", short(value)));
        }
        self
    }

    /// Result of the test: `ours` is the quantity compared with the paper's.
    pub(super) fn finding(self, ours: f64, compared: String) -> Finding {
        let holds = self.0.is_empty();
        Finding { ours, holds, failed: self.0, depends_on_model: false, compared }
    }

    /// The same for the end of a test, which may lack results.
    pub(super) fn found(self, ours: f64, compared: String) -> Option<Finding> {
        Some(self.finding(ours, compared))
    }
}

impl Finding {
    /// Adds bounds that must be met too, independent of the model.
    pub(super) fn and(mut self, bounds: Bounds) -> Finding {
        let met = bounds.0.is_empty();
        self.failed.extend(bounds.0);
        self.holds &= met;
        self.depends_on_model &= met;
        self
    }
}

/// A claim about hops or about d passes if it passes under every model. `ours` is the quantity
/// under the first model where it fails, or under the default if it passes. `None` if a model lacks
/// points.
pub(super) fn under_every_model(judge: impl Fn(Model) -> Option<Finding>) -> Option<Finding> {
    let (mut failed, mut compared) = (Vec::new(), Vec::new());
    let (mut kept, mut first, mut first_failed) = (0, None, None);
    for model in Model::ALL {
        let finding = judge(model)?;
        let name = model.name();
        compared.push(format!("{name}: {}", finding.compared));
        first = first.or(Some(finding.ours));
        if finding.holds {
            kept += 1;
        } else {
            first_failed = first_failed.or(Some(finding.ours));
        }
        failed.extend(finding.failed.into_iter().map(|bound| format!("{name}: {bound}")));
    }
    let holds = kept == Model::ALL.len();
    let depends_on_model = kept > 0 && !holds;
    let ours = first_failed.or(first)?;
    Some(Finding { ours, holds, failed, depends_on_model, compared: compared.join("; ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(value: f64) -> Option<Finding> {
        Bounds::default().at_least("share", value, 80.0).found(value, format!("{value} %"))
    }

    #[test]
    fn a_bound_that_is_not_met_is_described_in_words() {
        let bounds = Bounds::default()
            .at_least("a", 1.0, 2.0)
            .at_most("b", 3.0, 2.0)
            .above("c", 2.0, 2.0)
            .below("d", 2.0, 2.0)
            .within("e", 0.5, (0.6, 1.0));
        assert_eq!(
            bounds.found(0.0, String::new()).expect("always").failed,
            [
                "a 1.00, not 2.00 or more",
                "b 3.00, not 2.00 or less",
                "c 2.00, not more than 2.00",
                "d 2.00, not less than 2.00",
                "e 0.50, not 0.60 to 1.00"
            ]
        );
    }

    #[test]
    fn a_value_at_the_bound_meets_it_and_no_number_meets_none() {
        let met = Bounds::default()
            .at_least("", 2.0, 2.0)
            .at_most("", 2.0, 2.0)
            .above("", 2.1, 2.0)
            .below("", 1.9, 2.0)
            .within("", 1.0, (0.6, 1.0));
        assert!(met.found(0.0, String::new()).expect("always").holds);
        let nan = f64::NAN;
        let none = Bounds::default().at_least("", nan, 0.0).at_most("", nan, 0.0);
        let none = none.above("", nan, 0.0).below("", nan, 0.0).within("", nan, (0.0, 1.0));
        assert_eq!(none.0.len(), 5);
    }

    #[test]
    fn a_claim_holds_under_all_models_depends_on_them_or_fails() {
        let all = under_every_model(|_| finding(90.0)).expect("points");
        assert!(all.holds && !all.depends_on_model && all.failed.is_empty());
        let strict = |model| if model == Model::Strict { 70.0 } else { 90.0 };
        let some = under_every_model(|model| finding(strict(model))).expect("points");
        assert!(!some.holds && some.depends_on_model);
        assert_eq!(some.ours, 70.0, "where it fails");
        assert_eq!(some.failed, ["strict overlap: share 70.0, not 80.0 or more"]);
        let none = under_every_model(|_| finding(70.0)).expect("points");
        assert!(!none.holds && !none.depends_on_model && none.failed.len() == 4);
        let besides = |value| Bounds::default().at_least("besides", value, 80.0);
        let met = under_every_model(|model| finding(strict(model))).expect("points");
        assert!(met.and(besides(80.0)).depends_on_model);
        let not = under_every_model(|_| finding(90.0)).expect("points").and(besides(70.0));
        assert!(!not.holds && !not.depends_on_model);
        assert_eq!(not.failed, ["besides 70.0, not 80.0 or more"]);
        let missing = under_every_model(|m| finding(90.0).filter(|_| m != Model::Farther));
        assert!(missing.is_none(), "a model without points is not passed over");
    }
}
