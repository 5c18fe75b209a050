//! The runs of a sweep, in order.

use super::record::Finished;
use super::spec::Sweep;
use kinglet_network::run::{self, RunError};
use kinglet_network::table::{Record, Table};
use kinglet_scenario::{Scenario, ScenarioError};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// A sweep with all points checked: each is a scenario that can be simulated.
#[derive(Clone, Debug)]
pub struct Plan {
    sweep: Sweep,
    runs: Vec<Run>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Index of its combination of values.
    pub point: usize,
    /// Its seed.
    pub seed: u64,
    /// Key of all inputs except the program: same key, same result.
    pub key: String,
}

impl Plan {
    /// Plans the runs of `sweep`: by point, and by seed in each.
    ///
    /// # Errors
    /// The first point that is not a scenario, or that cannot be simulated.
    pub fn new(sweep: Sweep) -> Result<Self, ScenarioError> {
        let mut runs = Vec::new();
        for point in 0..sweep.points() {
            let scenario = sweep.scenario(point)?;
            run::check_alone(&scenario).map_err(|error| refused(&sweep, point, &error))?;
            let key = keys_of(&scenario);
            runs.extend(sweep.seeds().iter().map(|&seed| Run { point, seed, key: key(seed) }));
        }
        Ok(Plan { sweep, runs })
    }

    /// The sweep.
    pub const fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// All runs, in order.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The scenario of `run`.
    ///
    /// # Errors
    /// None, if nothing that the scenario reads has changed since [`Plan::new`].
    pub fn scenario(&self, run: &Run) -> Result<Scenario, ScenarioError> {
        self.sweep.scenario(run.point)
    }

    /// Runs that are not among `finished`, each scenario with each seed once.
    pub fn pending(&self, finished: &Finished) -> Vec<&Run> {
        let mut met = BTreeSet::new();
        let mut runs: Vec<&Run> = self.runs.iter().collect();
        runs.retain(|run| !finished.contains_key(&run.key) && met.insert(&run.key));
        runs
    }

    /// Number of `finished` runs that do not belong to this sweep.
    pub fn strangers(&self, finished: &Finished) -> usize {
        let own: BTreeSet<_> = self.runs.iter().map(|run| &run.key).collect();
        finished.keys().filter(|key| !own.contains(key)).count()
    }

    /// The rows of the finished runs, in the order of the plan, whatever the order of completion.
    /// The fields and the seed come before the measured values.
    pub fn table(&self, finished: &Finished) -> Table {
        let mut rows = Vec::new();
        for run in &self.runs {
            let values = self.sweep.values(run.point);
            for measured in finished.get(&run.key).into_iter().flatten() {
                let mut row = Record::new();
                for (name, value) in self.sweep.fields().into_iter().zip(&values) {
                    // JSON can represent all TOML values.
                    row.insert(name, serde_json::to_value(value).unwrap_or(Json::Null));
                }
                row.insert("seed".to_owned(), run.seed.into());
                row.extend(measured.iter().map(|(name, value)| (name.clone(), value.clone())));
                rows.push(row);
            }
        }
        Table::of(&rows)
    }
}

/// Keys of the runs of `scenario`, for each seed: a digest of all inputs, including defaults and
/// recorded traces.
pub(crate) fn keys_of(scenario: &Scenario) -> impl Fn(u64) -> String + use<> {
    let whole = Sha256::new_with_prefix(format!("{scenario:?}"));
    move |seed| {
        let digest = whole.clone().chain_update(seed.to_le_bytes()).finalize();
        digest.iter().take(16).map(|octet| format!("{octet:02x}")).collect()
    }
}

fn refused(sweep: &Sweep, point: usize, error: &RunError) -> ScenarioError {
    let fields = sweep.fields().into_iter().zip(sweep.values(point));
    let with: Vec<String> = fields.map(|(name, value)| format!("{name} = {value}")).collect();
    let message = format!("{error} (with {})", with.join(", "));
    ScenarioError::nowhere(&sweep.file, "", message)
}
