//! Experiments: plans of points, their runs, and rows with the paper's figures and bounds.
//!
//! A *plan* lists points: a label, an abscissa and a scenario. Every point is simulated with
//! several seeds ([`run`]). Each metric becomes a [`Row`] with mean and 95 % interval. `refine`
//! then adds computed rows: bounds, model predictions, the paper's figures. [`folder`] makes
//! experiments of files.

mod defaults;
pub mod folder;
mod models;
mod runner;

pub use defaults::SERIES as DEFAULTS;
pub use models::Model;
pub use runner::{ExperimentConfig, LabError, Outcome, Results, run};

use crate::chart::Figure;
use crate::metric::Metric;
use crate::row::Row;
use kinglet::time::Duration;
use kinglet_network::run::RunResult;
use kinglet_scenario::{Scenario, tcplp};

/// Amount of simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Short simulations for a first look.
    Quick,
    /// Complete simulations for the record.
    Full,
}

impl Effort {
    /// Default number of seeds per point: enough for 95 % intervals of about one per cent in
    /// goodput.
    pub const fn default_seeds(self) -> u32 {
        5
    }

    /// Simulated seconds of a bulk transfer. Two minutes are a thousand segments even over four
    /// hops.
    pub const fn seconds(self) -> f64 {
        match self {
            Effort::Quick => 120.0,
            Effort::Full => 300.0,
        }
    }
}

/// A published result and its reproduction.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// Name on the command line and of the folder under `experiments/`.
    pub id: &'static str,
    /// Title for readers.
    pub title: &'static str,
    /// Section or figure of the paper.
    pub source: &'static str,
    /// Question that the experiment answers.
    pub question: &'static str,
    /// Method.
    pub method: &'static str,
    /// Reasons why the result could be wrong or not transferable.
    pub threats: &'static [&'static str],
    /// Label of the point with the main result; empty for pure calculation, which is represented by
    /// a plain transfer over one hop. `experiments/<id>/plan.toml` has it as a scenario file.
    pub main: &'static str,
    /// Simulated points; empty for pure calculation.
    pub plan: fn(Effort) -> Vec<Point>,
    /// Adds computed rows, bounds and the paper's figures to the measured ones.
    pub refine: fn(&mut Rows),
    /// Figures of the result.
    pub figures: fn(&ExperimentResult) -> Vec<Figure>,
}

impl Experiment {
    /// All simulated points: the plan and the defaults.
    pub fn points(&self, effort: Effort) -> Vec<Point> {
        let mut points = (self.plan)(effort);
        points.extend(defaults::beside(self, &points));
        points
    }

    /// Scenario of the main point.
    pub fn main_scenario(&self, effort: Effort) -> Scenario {
        let point = self.points(effort).into_iter().find(|point| point.label == self.main);
        point.map_or_else(|| line_scenario(effort, 1, 0), |point| point.scenario)
    }
}

/// A point of the plan, simulated once per seed.
#[derive(Clone, Debug)]
pub struct Point {
    /// Unique in its experiment, such as `d_ms=40` or `d_ms=40 hops=1`.
    pub label: String,
    /// Curve of the point.
    pub series: &'static str,
    /// Abscissa on that curve.
    pub x: f64,
    /// Simulated scenario.
    pub scenario: Scenario,
    /// Metrics of the point.
    pub metrics: &'static [Metric],
    /// Interval (seconds) in which the first seed's run records radio activity.
    pub timeline_s: Option<(f64, f64)>,
}

/// Rows of an experiment during their completion.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// All rows.
    pub all: Vec<Row>,
    /// First seed of their runs.
    pub first_seed: u64,
}

impl Rows {
    /// Row with this label and metric.
    pub fn get(&self, label: &str, metric: &str) -> Option<&Row> {
        self.all.iter().find(|r| r.label == label && r.metric == metric)
    }

    /// Mean of the row with this label and metric.
    pub fn mean(&self, label: &str, metric: &str) -> Option<f64> {
        self.get(label, metric).map(|r| r.mean)
    }

    /// Adds a computed value.
    pub fn compute(
        &mut self,
        label: &str,
        series: &'static str,
        x: f64,
        (metric, unit): (&str, &str),
        value: f64,
    ) -> &mut Row {
        self.all.push(Row {
            label: label.to_owned(),
            x,
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            mean: value,
            ci95: None,
            bound: None,
            paper: None,
            series,
        });
        let last = self.all.len() - 1;
        &mut self.all[last]
    }

    /// Sets the paper's figure of a row if the row exists.
    pub fn paper(&mut self, label: &str, metric: &str, value: f64) {
        let row = self.all.iter_mut().find(|r| r.label == label && r.metric == metric);
        if let Some(row) = row {
            row.paper = Some(value);
        }
    }

    /// Sets the bound of every row of `metric` for which `bound` returns one.
    pub fn bound(&mut self, metric: &str, bound: impl Fn(&Row) -> Option<f64>) {
        for row in self.all.iter_mut().filter(|r| r.metric == metric) {
            row.bound = bound(row);
        }
    }
}

/// Result of an experiment.
#[derive(Clone, Debug)]
pub struct ExperimentResult {
    /// Id of the experiment.
    pub id: &'static str,
    /// Measured and computed rows, in the order of the plan.
    pub rows: Vec<Row>,
    /// Run of every point with the first seed, for traces and timelines.
    pub samples: Vec<(Point, RunResult)>,
    /// Number of seeds that were completed for every point.
    pub seeds: u32,
}

/// Received signal strength of the links of a line, dBm; far above the noise.
const RSSI_DBM: f64 = -60.0;

/// A bulk transfer along a line of `hops`, with TCPlp's parameters of §7 and the given retry delay.
pub fn line_scenario(effort: Effort, hops: u32, retry_delay_ms: u32) -> Scenario {
    let mut scenario =
        Scenario::default().on_line(hops, kinglet_scenario::LINE_SPACING_M).as_tcplp();
    scenario.name = format!("{hops} hops, d = {retry_delay_ms} ms");
    scenario.duration_s = effort.seconds();
    scenario.mac = tcplp::MAC;
    scenario.mac.retry_delay_max = Duration::from_millis(retry_delay_ms.into());
    scenario.tcp.mss = kinglet_scenario::Mss::Bytes(462);
    scenario.flows = vec![kinglet_scenario::Flow::bulk(hops, 0)];
    scenario
}
