//! Test of the claim of "design criteria" about all of its settings.

use super::bounds::Bounds;
use super::{Finding, Table, Test};

/// Test of the claim with this id.
pub(super) fn test_of(id: &str) -> Option<Test> {
    (id == "design.headline.defaults-not-best").then_some(headline)
}

/// The best settings by tuning seeds, on those of the report: the gain exceeds both intervals.
fn headline(t: &Table<'_>) -> Option<Finding> {
    let of = |directions: &str| {
        let row = |what: &str| t.row(&format!("{directions} {what}"), "goodput");
        let (tuned, paper) = (row("tuned")?, row("defaults of the paper")?);
        let noise = tuned.ci95.unwrap_or(0.0) + paper.ci95.unwrap_or(0.0);
        Some(((tuned.mean / paper.mean - 1.0) * 100.0, noise / paper.mean * 100.0))
    };
    let ((fixed, fixed_noise), (live, live_noise)) = (of("static")?, of("live")?);
    Bounds::default()
        .above("% gained on static routes", fixed, fixed_noise)
        .above("% gained on live routes", live, live_noise)
        .found(live, format!("on static routes {fixed:.0} %"))
}
