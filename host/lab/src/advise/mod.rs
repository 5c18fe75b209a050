//! Which settings serve a scenario best, and what each of them is worth.
//!
//! 1. A race (`race.rs`) on some seeds: combinations of settings meet the same seeds, those that
//!    are certainly worse than the best one leave, and the next ones are drawn near those that
//!    stay.
//! 2. What is worth less than [`WORTH_IT`] by itself, or not [surely](SURE_ENOUGH), is taken back.
//! 3. Seeds that the race has not seen confirm what is left, as a whole and setting by setting.
//!
//! ```
//! use kinglet_lab::advise::{Config, Objective, advise};
//! use kinglet_lab::sweep::Base;
//! let text = "
//!     duration_s = 20
//!     topology = { line = { hops = 2 } }
//!     mac = { max_frame_retries = 0 }
//!     medium = { frame_loss = 0.1 }
//!     flow = [{ kind = 'tcp-bulk', from = 2, to = 0 }]
//! ";
//! let base = Base::from_table("two.toml".as_ref(), text.parse().unwrap());
//! let config = Config { runs: 120, confirmations: 4, ..Config::new(Objective::Goodput) };
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

use crate::sweep::Base;
use error::Stopped;
use outcome::{Candidate, mean};
use race::Race;
use serde::Serialize;
use simplify::simplified;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use trials::Trials;

/// Seeds that confirm come after those of the race by this much.
const HELD_OUT: u64 = 1_000_000;
/// Seeds by which settings are taken back.
const SECOND_LOOKS: u64 = 8;

/// How advice is sought.
#[derive(Clone, Copy)]
pub struct Config<'a> {
    /// What is to become better.
    pub objective: Objective,
    /// Octets that the buffers of one node's connections may take; `None`: any number.
    pub budget: Option<usize>,
    /// Simulations of the race, at the most; what follows it needs some more.
    pub runs: usize,
    /// Seeds that confirm, at least 2.
    pub confirmations: u64,
    /// Threads; 0 = one per core. The advice does not depend on it.
    pub jobs: usize,
    /// Where what was measured is kept, and where it is looked for.
    pub kept: Option<&'a Mutex<Kept>>,
    /// Nothing more is simulated when this becomes true.
    pub cancel: &'a AtomicBool,
    /// Called with (finished, planned) simulations.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

impl Config<'_> {
    /// The defaults: 600 simulations, ten seeds that confirm.
    pub fn new(objective: Objective) -> Self {
        static NEVER: AtomicBool = AtomicBool::new(false);
        Config {
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

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// What was to become better.
    pub objective: Objective,
    /// Its unit.
    pub unit: &'static str,
    /// Its mean with the scenario's own settings, by the seeds that confirm.
    pub before: f64,
    /// Its mean with the advice.
    pub after: f64,
    /// What all settings together are worth, as a share of what there is without them.
    pub gain: Verdict,
    /// Share of what was sent that arrived, 0 to 1, before and after.
    pub arrived: [f64; 2],
    /// Octets of the buffers of the busiest node's connections, before and after.
    pub buffers: [usize; 2],
    /// Settings that are to be changed, the one that is worth most first.
    pub changes: Vec<Change>,
    /// Simulations that it took.
    pub runs: usize,
    /// The seeds that confirm: the first one and how many.
    pub confirmed_by: (u64, u64),
    /// The changes as a part of a scenario.
    pub toml: String,
    /// What the scenario's nodes have then as Rust code: a profile and what its node is told.
    pub rust: String,
}

/// One setting that is to be changed.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// Its name: that of its key, or of the first of several.
    pub name: &'static str,
    /// What it says in the scenario.
    pub before: String,
    /// What it is to say.
    pub after: String,
    /// What it is worth by itself: how much is lost, as a share, if it alone is taken back; `None`
    /// if the others are impossible without it.
    pub worth: Option<Verdict>,
}

/// Settings for the scenario `base`; `None` if that was cancelled.
///
/// # Errors
/// [`AdviseError`]
pub fn advise(base: &Base, config: &Config<'_>) -> Result<Option<Advice>, AdviseError> {
    let mut trials = Trials::new(base, config)?;
    match sought(&mut trials, config) {
        Ok(advice) => Ok(Some(advice)),
        Err(Stopped::Cancelled) => Ok(None),
        Err(Stopped::Failed(error)) => Err(error),
    }
}

fn sought(trials: &mut Trials<'_>, config: &Config<'_>) -> Result<Advice, Stopped> {
    let first = trials.base().seed;
    let plain = Candidate::plain(trials.choices().len());
    if trials.outcomes(&plain, first..first + 1)?.is_empty() {
        let why = format!(
            "the scenario has nothing to measure {} by: it has no flow of a kind that has it",
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
