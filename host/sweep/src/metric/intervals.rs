//! Goodput of sensors in intervals of 40 s: amount and fairness (TCPlp §8.3).

use crate::stats;
use kinglet_network::apps::sense::INTERVAL;
use kinglet_network::run::RunResult;

/// Goodput of each sensor's flow in each whole interval except the first, in which they start;
/// kb/s.
fn goodputs(run: &RunResult) -> Vec<Vec<f64>> {
    let whole = (run.sim_seconds / INTERVAL.as_micros() as f64 * 1e6) as usize;
    let readings = run.flows.iter().filter_map(|flow| flow.readings.as_ref());
    // An interval at the end without data is not listed.
    let rate = |rates: &[f64], interval| rates.get(interval).copied().unwrap_or(0.0);
    readings.map(|r| (1..whole).map(|i| rate(&r.intervals_kbps, i)).collect()).collect()
}

/// Goodput that this share of flows and intervals does not reach.
pub(super) fn quantile(run: &RunResult, share: f64) -> Option<f64> {
    let rates: Vec<f64> = goodputs(run).into_iter().flatten().collect();
    stats::quantile(&rates, share)
}

/// Jain's index, (Σx)² / (n Σx²): 1 if all flows get the same, 1/n if one flow gets everything, and
/// `None` if all get nothing.
pub(super) fn jain(rates: impl Iterator<Item = f64>) -> Option<f64> {
    let sums = |(n, sum, squares), rate| (n + 1.0, sum + rate, squares + rate * rate);
    let (n, sum, squares) = rates.fold((0.0, 0.0, 0.0), sums);
    (squares > 0.0).then(|| sum * sum / (n * squares))
}

/// Jain's index within groups of `together` consecutive flows; mean over groups and intervals.
pub(super) fn fairness(run: &RunResult, together: usize) -> Option<f64> {
    let flows = goodputs(run);
    let at = |flows: &[Vec<f64>], interval: usize| jain(flows.iter().map(|rates| rates[interval]));
    let intervals = 0..flows.first()?.len();
    let groups = flows.chunks(together.max(1));
    let indices = groups.flat_map(|group| intervals.clone().filter_map(|i| at(group, i)));
    let indices: Vec<f64> = indices.collect();
    (!indices.is_empty()).then(|| indices.iter().sum::<f64>() / indices.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_network::run::{FlowResult, Readings};

    fn run(flows: &[&[f64]]) -> RunResult {
        let flow = |intervals: &&[f64]| {
            let readings = Readings { intervals_kbps: intervals.to_vec(), ..Readings::default() };
            FlowResult { readings: Some(readings), ..FlowResult::default() }
        };
        let flows = flows.iter().map(flow).collect();
        RunResult { flows, sim_seconds: 170.0, ..RunResult::default() }
    }

    #[test]
    fn quartiles_are_those_of_whole_intervals_after_the_first() {
        // Four whole intervals; in the last of them the second flow receives nothing.
        let run = run(&[&[9.0, 4.0, 1.0, 1.0, 7.0], &[9.0, 4.0, 3.0]]);
        // 0, 1, 1, 3, 4, 4.
        assert_eq!(
            [0.25, 0.5, 0.75].map(|share| quantile(&run, share).expect("sensors")),
            [1.0, 2.0, 3.75]
        );
        assert_eq!(quantile(&RunResult::default(), 0.5), None);
    }

    #[test]
    fn fairness_is_judged_within_each_interval_and_group() {
        let two = run(&[&[0.0, 4.0, 1.0, 1.0], &[0.0, 4.0, 3.0]]);
        // 64/64, 16/20, 1/2.
        assert!((fairness(&two, 2).expect("sensors") - 2.3 / 3.0).abs() < 1e-12);
        let four = run(&[
            &[0.0, 6.0, 6.0, 6.0],
            &[0.0, 6.0, 6.0, 6.0],
            &[0.0, 2.0, 2.0, 2.0],
            &[0.0, 2.0, 2.0, 2.0],
        ]);
        // 16²/(4·80); neighbours get the same.
        assert!((fairness(&four, 4).expect("sensors") - 0.8).abs() < 1e-12);
        assert!((fairness(&four, 2).expect("sensors") - 1.0).abs() < 1e-12);
        assert_eq!(fairness(&RunResult::default(), 2), None);
    }
}
