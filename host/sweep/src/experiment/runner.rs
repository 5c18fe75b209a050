//! Runs plans: every (point, seed) is a job. Jobs run in parallel; results keep the plan's order.

use super::defaults;
use crate::experiment::{Effort, Experiment, ExperimentResult, Point, Rows};
use crate::metric::Metric;
use crate::row::Row;
use crate::stats::Estimate;
use crate::threads;
use kinglet_network::run::{self, Options, RunError, RunResult};
use rayon::prelude::*;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Parameters of a run.
#[derive(Clone, Copy)]
pub struct ExperimentConfig<'a> {
    /// Length of the simulations.
    pub effort: Effort,
    /// Seeds per point, at least 1.
    pub seeds: u32,
    /// The first seed; the others are consecutive.
    pub first_seed: u32,
    /// Threads; 0 = one per core.
    pub jobs: usize,
    /// Jobs that have not begun when this becomes true are skipped.
    pub cancel: &'a AtomicBool,
    /// Called with (finished, planned) jobs, from any thread.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// Result of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Results in the order of the arguments.
    pub experiments: Vec<ExperimentResult>,
    /// True if the run was cancelled before the end; points without a finished seed are missing.
    pub interrupted: bool,
}

/// Results by experiment, for the checks of claims.
pub type Results<'a> = &'a [ExperimentResult];

/// A simulation failed.
#[derive(Debug)]
pub struct LabError {
    /// Experiment that failed.
    pub experiment: &'static str,
    /// Label of the point that failed.
    pub label: String,
    /// Seed that failed.
    pub seed: u64,
    /// Cause of the failure.
    pub error: RunError,
}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LabError { experiment, label, seed, error } = self;
        write!(f, "{experiment}, point {label}, seed {seed}: {error}")
    }
}

impl std::error::Error for LabError {}

/// Experiment, point and seed of a job, the first two by index.
type Job = (usize, usize, u64);

/// Runs `experiments` and completes their rows.
///
/// # Errors
/// The error of the first simulation (in plan order) that failed.
pub fn run(
    experiments: &[&'static Experiment],
    config: ExperimentConfig<'_>,
) -> Result<Outcome, LabError> {
    let plans: Vec<Vec<Point>> = experiments.iter().map(|e| e.points(config.effort)).collect();
    let jobs: Vec<Job> = plans
        .iter()
        .enumerate()
        .flat_map(|(e, plan)| {
            let first = u64::from(config.first_seed);
            let seeds = first..first + u64::from(config.seeds.max(1));
            let simulated = (0..plan.len()).filter(|p| simulated_as(plan, *p) == *p);
            simulated.flat_map(move |p| seeds.clone().map(move |s| (e, p, s)))
        })
        .collect();
    let finished = simulate(experiments, &plans, &jobs, config)?;
    let interrupted = finished.iter().any(Option::is_none);
    let mut runs: Vec<Vec<Vec<RunResult>>> =
        plans.iter().map(|plan| plan.iter().map(|_| Vec::new()).collect()).collect();
    for ((e, p, _), result) in jobs.into_iter().zip(finished) {
        runs[e][p].extend(result);
    }
    for (plan, runs) in plans.iter().zip(&mut runs) {
        for p in 0..plan.len() {
            let same = simulated_as(plan, p);
            if same != p {
                runs[p] = runs[same].clone();
            }
        }
    }
    let collected = experiments.iter().zip(plans).zip(runs);
    let experiments = collected.map(|((e, plan), runs)| complete(e, &config, plan, runs)).collect();
    Ok(Outcome { experiments, interrupted })
}

/// First point with the same simulation as point `p`; they differ only in their metrics.
fn simulated_as(plan: &[Point], p: usize) -> usize {
    let same = |a: &Point, b: &Point| {
        a.scenario == b.scenario && a.timeline_s == b.timeline_s && looks(a) == looks(b)
    };
    let (before, rest) = plan.split_at(p);
    before.iter().position(|point| same(point, &rest[0])).unwrap_or(p)
}

/// Returns whether the congestion window is recorded, and whether a sample is taken every second.
fn looks(point: &Point) -> (bool, bool) {
    (records(point), samples(point))
}

/// True if a metric needs a sample every second.
fn samples(point: &Point) -> bool {
    let needs = |metric: &Metric| matches!(metric, Metric::OfBursts(of) if of.needs_samples());
    point.metrics.iter().any(needs)
}

/// True if the congestion window is recorded.
fn records(point: &Point) -> bool {
    point.metrics.contains(&Metric::CwndFull)
}

fn simulate(
    experiments: &[&'static Experiment],
    plans: &[Vec<Point>],
    jobs: &[Job],
    config: ExperimentConfig<'_>,
) -> Result<Vec<Option<RunResult>>, LabError> {
    let done = std::sync::atomic::AtomicUsize::new(0);
    let one = |job: &Job| {
        if config.cancel.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let (e, p, seed) = *job;
        let point = &plans[e][p];
        let options = Options {
            timeline_s: point.timeline_s.filter(|_| seed == u64::from(config.first_seed)),
            cwnd: records(point),
            samples: samples(point),
            cancel: Some(config.cancel),
            ..Options::default()
        };
        let result = run::run(&point.scenario, seed, &options);
        (config.progress)(done.fetch_add(1, Ordering::Relaxed) + 1, jobs.len());
        match result {
            // A run that was cancelled has no result.
            Ok(_) if config.cancel.load(Ordering::Relaxed) => Ok(None),
            Ok(result) => Ok(Some(result)),
            Err(error) => Err(LabError {
                experiment: experiments[e].id,
                label: point.label.clone(),
                seed,
                error,
            }),
        }
    };
    // Jobs are distributed one at a time because some take a hundred times as long as others.
    let all = || jobs.par_iter().with_max_len(1).map(one).collect::<Vec<_>>();
    let results = threads::on(config.jobs, all);
    results.into_iter().collect()
}

fn complete(
    experiment: &'static Experiment,
    config: &ExperimentConfig<'_>,
    plan: Vec<Point>,
    runs: Vec<Vec<RunResult>>,
) -> ExperimentResult {
    let first_seed = config.first_seed.into();
    let (mut rows, mut beside) = (Rows { first_seed, ..Rows::default() }, Vec::new());
    let mut samples = Vec::new();
    // What is only computed is the same for all seeds.
    let seeds = runs.iter().map(Vec::len).min().unwrap_or(config.seeds as usize);
    for (point, runs) in plan.into_iter().zip(runs) {
        // Unnecessary retransmissions are reported for all transfers.
        let transfers =
            runs.iter().any(|run| run.flows.iter().any(|f| f.segments_received > Some(0)));
        let repeats = (transfers && !point.metrics.contains(&Metric::RetransmissionsPerLoss))
            .then_some(&Metric::RetransmissionsPerLoss);
        for metric in point.metrics.iter().chain(repeats) {
            let values: Vec<f64> =
                runs.iter().filter_map(|r| metric.value(&point.scenario, r)).collect();
            let Some(estimate) = Estimate::from_values(&values) else { continue };
            let rows = if point.series == defaults::SERIES { &mut beside } else { &mut rows.all };
            rows.push(measured(&point, *metric, estimate));
        }
        samples.extend(runs.into_iter().next().map(|run| (point, run)));
    }
    (experiment.refine)(&mut rows);
    rows.all.append(&mut beside);
    ExperimentResult { id: experiment.id, rows: rows.all, samples, seeds: seeds as u32 }
}

fn measured(point: &Point, metric: Metric, estimate: Estimate) -> Row {
    Row {
        label: point.label.clone(),
        x: point.x,
        metric: metric.name().to_owned(),
        unit: metric.unit().to_owned(),
        mean: estimate.mean,
        ci95: estimate.ci95,
        bound: None,
        paper: None,
        series: point.series,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::line_scenario;
    use std::sync::atomic::AtomicUsize;

    const BRIEF: Experiment = Experiment {
        id: "tcplp-hops",
        title: "",
        source: "",
        question: "",
        method: "",
        threats: &[],
        main: "",
        plan: brief_plan,
        refine: |_| (),
        figures: |_| Vec::new(),
    };

    static BRIEF_ONCE: Experiment = BRIEF;

    fn brief_plan(effort: Effort) -> Vec<Point> {
        let point = |hops: u32| {
            let mut scenario = line_scenario(effort, hops, 0);
            scenario.duration_s = 10.0;
            Point {
                label: format!("hops={hops}"),
                series: "",
                x: f64::from(hops),
                scenario,
                metrics: &[Metric::Goodput, Metric::Rtt, Metric::Frames, Metric::SegmentLoss],
                timeline_s: None,
            }
        };
        vec![point(1), point(3)]
    }

    #[test]
    fn a_point_that_is_planned_twice_is_simulated_once() {
        let mut plan = brief_plan(Effort::Quick);
        plan.push(Point { metrics: &[Metric::Timeouts], ..plan[1].clone() });
        assert_eq!([0, 1, 2].map(|p| simulated_as(&plan, p)), [0, 1, 1]);
        static TWICE: Experiment = Experiment {
            plan: |effort| {
                let mut plan = brief_plan(effort);
                plan.extend(plan.clone());
                plan
            },
            ..BRIEF
        };
        let (cancel, planned) = (&AtomicBool::new(false), AtomicUsize::new(0));
        let progress = |_, all| planned.store(all, Ordering::Relaxed);
        let config = ExperimentConfig {
            effort: Effort::Quick,
            seeds: 2,
            first_seed: 1,
            jobs: 1,
            cancel,
            progress: &progress,
        };
        let rows = run(&[&TWICE], config).expect("it can be simulated").experiments.remove(0).rows;
        assert_eq!(planned.load(Ordering::Relaxed), 4);
        assert_eq!(rows.len(), 20);
        assert_eq!(rows[..10], rows[10..]);
    }

    fn outcome(jobs: usize, cancelled: bool) -> Outcome {
        let cancel = &AtomicBool::new(cancelled);
        let config = ExperimentConfig {
            effort: Effort::Quick,
            seeds: 2,
            first_seed: 1,
            jobs,
            cancel,
            progress: &|_, _| (),
        };
        run(&[&BRIEF_ONCE], config).expect("it can be simulated")
    }

    #[test]
    fn the_same_plan_gives_the_same_bytes_with_any_number_of_threads() {
        let rows = |jobs| outcome(jobs, false).experiments.remove(0).rows;
        let bytes = |jobs| serde_json::to_string(&rows(jobs)).expect("numbers and text");
        let one = bytes(1);
        assert_eq!(one, bytes(1));
        assert_eq!(one, bytes(3));
        assert_eq!(one.matches("\"goodput\"").count(), 2);
    }

    #[test]
    fn a_cancelled_plan_says_so_and_has_no_rows() {
        let outcome = outcome(1, true);
        assert!(outcome.interrupted && outcome.experiments[0].rows.is_empty());
    }
}
