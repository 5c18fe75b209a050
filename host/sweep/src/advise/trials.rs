//! Simulation of combinations of settings, once per seed.

use super::AdviceConfig;
use super::error::{AdviseError, Stopped};
use super::kept::Kept;
use super::objective::{Objective, buffers_of, measured};
use super::outcome::{Candidate, Outcome};
use super::settings::{self, Offered, offered, with};
use crate::sweep::{Base, JournalError, keys_of};
use crate::threads;
use kinglet_network::run::{self, Options, RunError};
use kinglet_network::table::Record;
use kinglet_scenario::{Scenario, ScenarioError};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{MutexGuard, PoisonError};

/// Settings of the scenario, and the outcomes of their combinations.
pub(super) struct Trials<'a> {
    base: &'a Base,
    config: &'a AdviceConfig<'a>,
    plain: Scenario,
    settings: Vec<Offered>,
    scenarios: BTreeMap<Candidate, Option<Scenario>>,
    outcomes: BTreeMap<(Candidate, u64), Outcome>,
}

impl<'a> Trials<'a> {
    pub(super) fn new(base: &'a Base, config: &'a AdviceConfig<'a>) -> Result<Self, AdviseError> {
        let plain =
            base.read(base.table()).map_err(|error| AdviseError::Scenario(base.placed(error)))?;
        let impossible =
            |error: RunError| ScenarioError::nowhere(base.file(), "", error.to_string());
        run::check_alone(&plain).map_err(impossible).map_err(AdviseError::Scenario)?;
        let settings = offered(base, &plain);
        if settings.is_empty() {
            let why = "none of the varied settings has an effect in this scenario";
            return Err(AdviseError::Pointless(why.to_owned()));
        }
        let (scenarios, outcomes) = (BTreeMap::new(), BTreeMap::new());
        Ok(Trials { base, config, plain, settings, scenarios, outcomes })
    }

    pub(super) const fn base(&self) -> &Scenario {
        &self.plain
    }

    pub(super) const fn objective(&self) -> Objective {
        self.config.objective
    }

    pub(super) fn setting(&self, place: usize) -> &Offered {
        &self.settings[place]
    }

    /// Number of simulations made.
    pub(super) fn done(&self) -> usize {
        self.outcomes.len()
    }

    /// Number of values of each setting, including the scenario's.
    pub(super) fn choices(&self) -> Vec<usize> {
        self.settings.iter().map(|setting| setting.values.len() + 1).collect()
    }

    fn changes(&self, candidate: &Candidate) -> Vec<&settings::Value> {
        let chosen = self.settings.iter().zip(&candidate.0);
        chosen.filter_map(|(setting, value)| setting.values.get(value.checked_sub(1)?)).collect()
    }

    /// Scenario file with the settings of `candidate`.
    pub(super) fn file_of(&self, candidate: &Candidate) -> toml::Table {
        with(self.base, &self.changes(candidate))
    }

    /// Settings of `candidate` alone as TOML.
    pub(super) fn fragment(&self, candidate: &Candidate) -> String {
        settings::fragment(&self.changes(candidate))
    }

    /// Combination of Kinglet's defaults.
    pub(super) fn usual(&self) -> Candidate {
        Candidate(self.settings.iter().map(|setting| setting.usual).collect())
    }

    /// Scenario of `candidate`, if it is valid.
    pub(super) fn scenario_of(&mut self, candidate: &Candidate) -> Option<Scenario> {
        if let Some(known) = self.scenarios.get(candidate) {
            return known.clone();
        }
        let scenario = self.base.read(&self.file_of(candidate)).ok();
        let scenario = scenario.filter(|scenario| run::check_alone(scenario).is_ok());
        self.scenarios.insert(candidate.clone(), scenario.clone());
        scenario
    }

    /// True if `candidate` is possible and its buffers fit the budget.
    pub(super) fn fits(&mut self, candidate: &Candidate) -> bool {
        let most = self.config.budget.unwrap_or(usize::MAX);
        self.scenario_of(candidate).is_some_and(|scenario| buffers_of(&scenario) <= most)
    }

    /// Outcomes of `candidate` with these seeds, even if its buffers exceed the budget; empty if it
    /// is impossible.
    pub(super) fn outcomes(
        &mut self,
        candidate: &Candidate,
        seeds: Range<u64>,
    ) -> Result<Vec<Outcome>, Stopped> {
        let Some(scenario) = self.scenario_of(candidate) else { return Ok(Vec::new()) };
        self.complete(seeds.clone().map(|seed| (candidate, &scenario, seed)).collect())?;
        Ok(seeds.filter_map(|seed| self.outcome(candidate, seed)).collect())
    }

    /// Outcomes of these combinations with this seed; `None` for those that are impossible, exceed
    /// the budget, or have nothing to measure. The unchanged scenario may exceed the budget.
    pub(super) fn measure(
        &mut self,
        candidates: &[Candidate],
        seed: u64,
    ) -> Result<Vec<Option<Outcome>>, Stopped> {
        let plain = Candidate::plain(self.settings.len());
        let mut possible = Vec::new();
        for candidate in candidates.iter().filter(|it| **it == plain || self.fits(it)) {
            possible.push(candidate);
        }
        let scenarios: Vec<Option<Scenario>> =
            possible.iter().map(|candidate| self.scenario_of(candidate)).collect();
        let runs = possible.iter().zip(&scenarios);
        self.complete(runs.filter_map(|(it, of)| Some((*it, of.as_ref()?, seed))).collect())?;
        Ok(candidates.iter().map(|candidate| self.outcome(candidate, seed)).collect())
    }

    fn outcome(&self, candidate: &Candidate, seed: u64) -> Option<Outcome> {
        self.outcomes.get(&(candidate.clone(), seed)).copied()
    }

    /// Simulates runs without a result.
    fn complete(&mut self, mut runs: Vec<(&Candidate, &Scenario, u64)>) -> Result<(), Stopped> {
        runs.retain(|(candidate, _, seed)| self.outcome(candidate, *seed).is_none());
        let AdviceConfig { progress, runs: planned, objective, .. } = *self.config;
        let counted = AtomicUsize::new(self.outcomes.len());
        let one = |(candidate, scenario, seed): (&Candidate, &Scenario, u64)| {
            let measured = self.simulated(scenario, seed)?;
            let done = counted.fetch_add(1, Ordering::Relaxed) + 1;
            progress(done, planned.max(done));
            Ok(objective.of(&measured).map(|outcome| ((candidate.clone(), seed), outcome)))
        };
        let all = || {
            let runs = runs.into_par_iter().with_max_len(1);
            runs.map(one).collect::<Result<Vec<_>, Stopped>>()
        };
        let new = threads::on(self.config.jobs, all);
        if let Some(mut kept) = self.kept() {
            kept.sync().map_err(lost)?;
        }
        // Impossible combinations have no outcome.
        self.outcomes.extend(new?.into_iter().flatten());
        Ok(())
    }

    fn kept(&self) -> Option<MutexGuard<'_, Kept>> {
        self.config.kept.map(|kept| kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Results of one run, stored or new; empty if the run is impossible.
    fn simulated(&self, scenario: &Scenario, seed: u64) -> Result<Record, Stopped> {
        let cancel = self.config.cancel;
        let key = self.config.kept.map(|_| keys_of(scenario)(seed));
        let known = self.kept().zip(key.as_ref()).and_then(|(kept, key)| kept.get(key));
        if let Some(known) = known {
            return Ok(known);
        }
        if cancel.load(Ordering::Relaxed) {
            return Err(Stopped::Cancelled);
        }
        let options = Options { cancel: Some(cancel), ..Options::default() };
        let result = run::run(scenario, seed, &options);
        // The run may have been cancelled.
        if cancel.load(Ordering::Relaxed) {
            return Err(Stopped::Cancelled);
        }
        let measured = result.map_or_else(|_| Record::new(), |result| measured(scenario, &result));
        if let Some((mut kept, key)) = self.kept().zip(key) {
            kept.put(key, &measured).map_err(lost)?;
        }
        Ok(measured)
    }
}

fn lost(error: JournalError) -> Stopped {
    Stopped::Failed(AdviseError::Journal(error))
}
