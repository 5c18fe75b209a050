//! The defaults at the main point of an experiment that measures something else, and with a host
//! that runs Linux's TCP.
//!
//! These points are outside the plan: neither the paper's figures nor claims concern them.

use crate::experiment::{Experiment, Point};
use kinglet_scenario::{HostTcp, Wire};

/// Name of their curve.
pub const SERIES: &str = "beside the plan";

/// Points in addition to `plan`.
pub(super) fn beside(experiment: &Experiment, plan: &[Point]) -> Vec<Point> {
    let Some(main) = plan.iter().find(|point| point.label == experiment.main) else {
        return Vec::new();
    };
    let mut points = Vec::new();
    let own = own(main, plan).unwrap_or_else(|| {
        let label = format!("{} defaults", main.label);
        let scenario = main.scenario.clone().as_kinglet();
        points.push(Point { label, series: SERIES, scenario, timeline_s: None, ..main.clone() });
        points[0].clone()
    });
    let hosts = |point: &Point| point.scenario.wire.as_ref().map(|wire| wire.host);
    let has_linux = plan.iter().any(|point| hosts(point) == Some(HostTcp::Linux));
    if let (Some(wire), false) = (own.scenario.wire.clone(), has_linux) {
        let label = format!("{} host=linux", own.label);
        let mut scenario = own.scenario.clone();
        scenario.wire = Some(Wire { host: HostTcp::Linux, ..wire });
        points.push(Point { label, series: SERIES, scenario, timeline_s: None, ..own });
    }
    points
}

/// Point of the plan with the defaults; among several, the one closest to the main point.
fn own(main: &Point, plan: &[Point]) -> Option<Point> {
    let own = || plan.iter().filter(|point| point.scenario.has_defaults());
    own().find(|point| point.label.ends_with(&main.label)).or_else(|| own().next()).cloned()
}
