//! Tests of the claims about models of goodput (TCPlp §7.4 and App. C).

use super::bounds::{Bounds, under_every_model};
use super::{Finding, Table};
use crate::experiment::{Host, Model};

/// Largest error of a prediction that counts as a fit, in per cent.
const FIT: f64 = 20.0;
const DELAYS_MS: [u32; 5] = [0, 10, 20, 40, 100];

/// Values of `metric` over all d of one curve.
fn over_d(t: &Table<'_>, suffix: &str, metric: &str) -> Option<Vec<f64>> {
    DELAYS_MS.iter().map(|d| t.mean(&format!("d_ms={d}{suffix}"), metric)).collect()
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

pub(super) fn equation_1(t: &Table<'_>) -> Option<Finding> {
    let mut hosts = Vec::new();
    for host in Host::ALL {
        let at = |hops: &str| {
            let suffix = format!("{hops}{}", host.suffix());
            Some(most(&over_d(t, &suffix, "error_eq1")?))
        };
        hosts.push(format!("{} {:.0} and {:.0} %", host.name(), at(" hops=1")?, at("")?));
    }
    let one = most(&over_d(t, " hops=1", "error_eq1")?);
    let finding = under_every_model(|model| {
        let three = over_d(t, model.suffix(), "error_eq1")?;
        let buffered = most(&over_d(t, model.suffix(), "error_eq1_time_in_buffer")?);
        let each: Vec<String> = three.iter().map(|error| format!("{error:.0}")).collect();
        let compared = format!(
            "{} % over three hops at d = 0 to 100 ms, with the time in the send buffer \
             {buffered:.0} at most",
            each.join(", ")
        );
        let three = most(&three);
        Bounds::default().below("largest error over three hops", three, FIT).found(three, compared)
    })?;
    let compared = format!(
        "{}; largest over one and three hops by host: {}",
        finding.compared,
        hosts.join(", ")
    );
    let besides = Bounds::default().below("largest error over one hop", one, FIT);
    Some(Finding { compared, ours: finding.ours.max(one), ..finding.and(besides) })
}

/// Uses the points with at least half a per cent of loss: without losses Equation 2 has no bound.
pub(super) fn equation_2(t: &Table<'_>) -> Option<Finding> {
    under_every_model(|model| {
        let label = |d: &u32| format!("d_ms={d}{}", model.suffix());
        let both = |d: &u32| {
            let at = |metric| t.mean(&label(d), metric);
            Some((at("error_eq1")?, at("error_eq2")?))
        };
        let errors: Vec<(f64, f64)> = DELAYS_MS.iter().filter_map(both).collect();
        if errors.is_empty() {
            return None;
        }
        let count = errors.len() as f64;
        let one = errors.iter().map(|error| error.0).sum::<f64>() / count;
        let two = errors.iter().map(|error| error.1).sum::<f64>() / count;
        let compared = format!("{count} points, mean error {two:.0} %, Equation 1 {one:.0} %");
        // "Much worse": at least twice.
        Bounds::default().at_least("error by Equation 1's", two / one, 2.0).found(two, compared)
    })
}

/// Uses the d whose loss is closest to the paper's six per cent, because the approximation is for
/// small p.
pub(super) fn equation_4(t: &Table<'_>) -> Option<Finding> {
    under_every_model(|model: Model| {
        let at = |d: u32, metric| t.mean(&format!("d_ms={d}{}", model.suffix()), metric);
        let far = |d: &u32| (at(*d, "segment_loss").unwrap_or(f64::INFINITY) - 6.0).abs();
        let with_l = DELAYS_MS.into_iter().filter(|d| at(*d, "eq4_l").is_some());
        let d = with_l.min_by(|a, b| far(a).total_cmp(&far(b)))?;
        let (l, loss) = (at(d, "eq4_l")?, at(d, "segment_loss")?);
        Bounds::default()
            .within("l", l, (1.0, 3.0))
            .found(l, format!("{l:.2} at d = {d} ms, where {loss:.1} % are lost"))
    })
}
