//! Search for the settings that suit a scenario best, with the gain of each.
//!
//! 1. A race (`race.rs`) on some seeds: combinations of settings run with the same seeds, those
//!    that are certainly worse than the best are eliminated, and new ones are drawn close to those
//!    that remain.
//! 2. Changes that gain less than [`WORTH_IT`] on their own, or not [surely](SURE_ENOUGH), are
//!    undone.
//! 3. New seeds confirm the remaining changes, together and one by one.
//!
//! ```
//! use kinglet_sweep::advise::{AdviceConfig, Objective, advise};
//! use kinglet_sweep::sweep::Base;
//! let text = "
//!     duration_s = 20
//!     topology = { line = { hops = 2 } }
//!     mac = { max_frame_retries = 0 }
//!     medium = { frame_loss = 0.1 }
//!     flow = [{ kind = 'tcp-bulk', from = 2, to = 0 }]
//! ";
//! let base = Base::from_table("two.toml".as_ref(), text.parse().unwrap()).unwrap();
//! let usual = AdviceConfig::new(Objective::Goodput);
//! let config = AdviceConfig { runs: 120, confirmations: 4, ..usual };
//! let advice = advise(&base, &config).unwrap().unwrap();
//! assert!(advice.gain.mean > 0.0);
//! ```

mod code;
mod error;
mod kept;
mod objective;
mod outcome;
mod race;
mod settings;
mod simplify;
mod trials;
mod verdict;

pub use code::code;
pub use error::AdviseError;
pub use kept::Kept;
pub use objective::Objective;
pub use simplify::{SURE_ENOUGH, WORTH_IT};
pub use verdict::Verdict;

use crate::seeds;
use crate::sweep::Base;
use error::Stopped;
use outcome::{Candidate, mean};
use race::Race;
use serde::Serialize;
use simplify::simplified;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use trials::Trials;

/// Distance of the seeds for confirmation from those of the race.
const HELD_OUT: u64 = *seeds::TEST.start();
/// Number of seeds with which changes are undone.
const SECOND_LOOKS: u64 = 8;

/// Parameters of the search.
#[derive(Clone, Copy)]
pub struct AdviceConfig<'a> {
    /// Quantity to improve.
    pub objective: Objective,
    /// Maximum octets of the buffers of one node's connections; `None` means no limit.
    pub budget: Option<usize>,
    /// Maximum number of simulations in the race; the later steps need some more.
    pub runs: usize,
    /// Number of seeds for confirmation, at least 2.
    pub confirmations: u64,
    /// Threads; 0 = one per core. The advice does not depend on it.
    pub jobs: usize,
    /// Storage of results; stored results are used instead of simulations.
    pub kept: Option<&'a Mutex<Kept>>,
    /// Stops further simulations when it becomes true.
    pub cancel: &'a AtomicBool,
    /// Called with (finished, planned) simulations.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

impl AdviceConfig<'_> {
    /// The defaults: 600 simulations and ten seeds for confirmation.
    pub fn new(objective: Objective) -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        AdviceConfig {
            objective,
            budget: None,
            runs: 600,
            confirmations: 10,
            jobs: 0,
            kept: None,
            cancel: &NEVER,
            progress: &|_, _| (),
        }
    }
}

/// Result of the search.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// Quantity to improve.
    pub objective: Objective,
    /// Unit of that quantity.
    pub unit: &'static str,
    /// Mean of the quantity with the scenario's settings, over the seeds for confirmation.
    pub before: f64,
    /// Mean of the quantity with the advised settings.
    pub after: f64,
    /// Gain of all changes together.
    pub gain: Verdict,
    /// Share of sent data that was received, 0 to 1, before and after.
    pub arrived: [f64; 2],
    /// Octets of the buffers at the node whose connections have most, before and after.
    pub buffers: [usize; 2],
    /// Advised changes, the one with the highest gain first.
    pub changes: Vec<Change>,
    /// Number of simulations.
    pub runs: usize,
    /// Seeds for confirmation: the first one and their number.
    pub confirmed_by: (u64, u64),
    /// The changes as a fragment of a scenario file.
    pub toml: String,
    /// The settings of the scenario's nodes with the changes as Rust code: a profile and the
    /// configuration of its node.
    pub rust: String,
}

/// An advised change of a setting.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// Name of the setting: its key, or the first of its keys.
    pub name: &'static str,
    /// Value in the scenario.
    pub before: String,
    /// Advised value.
    pub after: String,
    /// Gain of the change on its own: the relative loss if it alone is undone; `None` if the other
    /// changes are impossible without it.
    pub worth: Option<Verdict>,
}

/// Searches settings for the scenario `base`. Returns `None` if cancelled.
///
/// # Errors
/// [`AdviseError`]
pub fn advise(base: &Base, config: &AdviceConfig<'_>) -> Result<Option<Advice>, AdviseError> {
    let mut trials = Trials::new(base, config)?;
    match search(&mut trials, config) {
        Ok(advice) => Ok(Some(advice)),
        Err(Stopped::Cancelled) => Ok(None),
        Err(Stopped::Failed(error)) => Err(error),
    }
}

fn search(trials: &mut Trials<'_>, config: &AdviceConfig<'_>) -> Result<Advice, Stopped> {
    let first = trials.base().seed;
    if !seeds::TUNING.contains(&first) {
        let why = format!(
            "`seed` {first} is a {} seed: settings are chosen with seeds {} to {}",
            seeds::purpose(first),
            seeds::TUNING.start(),
            seeds::TUNING.end()
        );
        return Err(Stopped::Failed(AdviseError::Pointless(why)));
    }
    let plain = Candidate::plain(trials.choices().len());
    if trials.outcomes(&plain, first..first + 1)?.is_empty() {
        let why = format!(
            "the scenario has nothing to measure {} by: no flow is of a kind that has this value",
            config.objective.name()
        );
        return Err(Stopped::Failed(AdviseError::Pointless(why)));
    }
    let begin = [plain.clone(), trials.usual()];
    let begin = begin.into_iter().filter(|it| trials.fits(it)).collect();
    let mut race = Race::new(trials.choices(), first, config.runs);
    let winner = race.run(begin, &mut |candidates, seed| trials.measure(candidates, seed))?;
    let Some(winner) = winner else {
        let why = match config.budget {
            Some(most) => format!("nothing that was tried fits into {most} octets of buffers"),
            None => "no combination of settings that was tried can be simulated".to_owned(),
        };
        return Err(Stopped::Failed(AdviseError::Pointless(why)));
    };
    let seeds = first..first + SECOND_LOOKS;
    let usual = trials.outcomes(&plain, seeds.clone())?;
    let winner = simplified(winner, &usual, &mut |candidate| match trials.fits(candidate) {
        true => trials.outcomes(candidate, seeds.clone()),
        false => Ok(Vec::new()),
    })?;
    confirmed(trials, &winner, first + HELD_OUT, config.confirmations.max(2))
}

fn confirmed(
    trials: &mut Trials<'_>,
    winner: &Candidate,
    first: u64,
    count: u64,
) -> Result<Advice, Stopped> {
    let seeds = first..first + count;
    let plain = Candidate::plain(winner.len());
    let before = trials.outcomes(&plain, seeds.clone())?;
    let after = trials.outcomes(winner, seeds.clone())?;
    let mut changes = Vec::new();
    for (place, fewer) in winner.without_one() {
        let without = trials.outcomes(&fewer, seeds.clone())?;
        let setting = trials.setting(place);
        changes.push(Change {
            name: setting.name,
            before: setting.said_by(&trials.file_of(&plain)),
            after: setting.said_by(&trials.file_of(winner)),
            worth: (!without.is_empty()).then(|| Verdict::of(&without, &after)),
        });
    }
    let worth = |change: &Change| change.worth.map_or(f64::INFINITY, |worth| worth.mean);
    changes.sort_by(|a, b| worth(b).total_cmp(&worth(a)));
    let objective = trials.objective();
    let scenario = trials.scenario_of(winner).unwrap_or_else(|| trials.base().clone());
    Ok(Advice {
        objective,
        unit: objective.unit(),
        before: mean(&before, |it| it.value),
        after: mean(&after, |it| it.value),
        gain: Verdict::of(&before, &after),
        arrived: [&before, &after].map(|outcomes| mean(outcomes, |it| it.arrived)),
        buffers: [trials.base(), &scenario].map(objective::buffers_of),
        changes,
        runs: trials.done(),
        confirmed_by: (first, count),
        toml: trials.fragment(winner),
        rust: code(&scenario),
    })
}
