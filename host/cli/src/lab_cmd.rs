//! `kinglet lab`: run experiments, list them, check claims.

use crate::exit::{Code, Failure, cancel_on_ctrl_c, code_of, say, writable, write};
use crate::progress::Progress;
use clap::{Args, Subcommand};
use kinglet_lab::capture::write_profile;
use kinglet_lab::claims::{self, Verdict};
use kinglet_lab::demonstration::Question;
use kinglet_lab::experiment::{self, Config, Effort, Experiment, Outcome};
use kinglet_lab::run::{self, Options};
use kinglet_lab::scenario::Role;
use kinglet_lab::{markdown, output, report};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run experiments, compare with paper and bound, write a report
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// List the experiments
    List,
    /// Run experiments and print what holds; fails if a claim that should hold does not
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
}

const RUN_EXAMPLES: &str = "\
Examples:
  kinglet lab run tcplp-hops
  kinglet lab run tcplp-mss tcplp-buffer --seeds 10 --out results
  kinglet lab run tcplp-retry-delay --quick --json > results.json
  kinglet lab run all --first-seed 101 --tables experiments

Without --json, DIR (kinglet-out) receives report.html, results.json, results.csv and a capture of
each experiment's main point. With --json, results go to standard output, and files are written only
if --out is given.";

const CHECK_EXAMPLES: &str = "\
Examples:
  kinglet lab check                  every experiment, in full
  kinglet lab check --quick          a first look
  kinglet lab check tcplp-hops tcplp-mss --seeds 10";

/// How much, and how.
#[derive(Args)]
struct Amount {
    /// Simulations per point, each with a seed of its own  [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    seeds: Option<u32>,
    /// The first seed; the others follow it. The tables of the project's experiments are of 101 to
    /// 105, as settings were chosen with lower ones
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    first_seed: u32,
    /// Threads  [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    jobs: Option<u16>,
    /// Shorter simulations: transfers 2 minutes instead of 5, sensors 10 instead of 60 or more
    #[arg(long)]
    quick: bool,
}

impl Amount {
    const fn effort(&self) -> Effort {
        if self.quick { Effort::Quick } else { Effort::Full }
    }
}

#[derive(Args)]
pub(crate) struct RunArgs {
    /// Which experiments (see `kinglet lab list`), or `all`
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    amount: Amount,
    /// Results as JSON on standard output instead of tables
    #[arg(long)]
    json: bool,
    /// Directory for report, results and captures
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Directory with a folder for each experiment, whose results.md and pictures are written anew
    #[arg(long, value_name = "DIR")]
    tables: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// Which experiments  [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    amount: Amount,
    /// Results as JSON on standard output instead of a table
    #[arg(long)]
    json: bool,
}

/// Simulated seconds of a capture: some thousand frames, …
const CAPTURE_S: f64 = 10.0;
/// … also where leaves sleep, and speak about once a minute.
const SLEEPY_CAPTURE_S: f64 = 150.0;
/// Where files go unless told otherwise.
pub(crate) const DEFAULT_OUT: &str = "kinglet-out";

pub(crate) fn run(command: Command) -> Result<Code, Failure> {
    match command {
        Command::List => Ok(list()),
        Command::Run(args) => run_experiments(&args),
        Command::Check(args) => check(&args),
    }
}

fn list() -> Code {
    let width = experiment::all().iter().map(|e| e.id.len()).max().unwrap_or(0);
    for experiment in experiment::all() {
        say(&format!("{:<width$}  {} ({})\n", experiment.id, experiment.title, experiment.source));
    }
    Code::Success
}

fn run_experiments(args: &RunArgs) -> Result<Code, Failure> {
    let experiments = select(&args.ids)?;
    let default = (!args.json).then(|| PathBuf::from(DEFAULT_OUT));
    let out = args.out.clone().or(default);
    if let Some(dir) = &out {
        // Before the simulations, which may take long.
        prepare(dir)?;
    }
    if let Some(dir) = &args.tables {
        for experiment in &experiments {
            let file = table_file(dir, experiment.id);
            let folder = dir.join(experiment.id);
            std::fs::create_dir_all(&folder).map_err(|e| Failure::io(&folder, &e))?;
            writable(&file)?;
        }
    }
    let (outcome, verdicts) = measure(&experiments, &args.amount)?;
    if args.json {
        say(&output::json(&outcome.experiments, &verdicts));
    } else {
        print_tables(&outcome, &verdicts);
    }
    // What was cut short is not worth keeping.
    if let Some(dir) = args.tables.as_ref().filter(|_| !outcome.interrupted) {
        write_tables(dir, &args.amount, &outcome, &verdicts)?;
    }
    if let Some(dir) = out {
        let command = repeat_command(&args.ids, &args.amount);
        let page = write_files(&dir, &command, &[], &outcome, &verdicts)?;
        eprintln!("report: {}", page.display());
    }
    Ok(verdict_code(&outcome, &verdicts))
}

fn check(args: &CheckArgs) -> Result<Code, Failure> {
    let experiments = select(&args.ids)?;
    let (outcome, verdicts) = measure(&experiments, &args.amount)?;
    if args.json {
        say(&output::json(&outcome.experiments, &verdicts));
    } else {
        say_verdicts(&outcome, &verdicts);
    }
    Ok(verdict_code(&outcome, &verdicts))
}

/// The experiments with these ids, each once; all of them for none or `all`.
fn select(ids: &[String]) -> Result<Vec<&'static Experiment>, Failure> {
    if ids.is_empty() || ids.iter().any(|id| id == "all") {
        return Ok(experiment::all().iter().collect());
    }
    let mut selected: Vec<&'static Experiment> = Vec::new();
    for id in ids {
        let Some(found) = experiment::find(id) else {
            let known: Vec<&str> = experiment::all().iter().map(|e| e.id).collect();
            let hint = match kinglet_lab::scenario::nearest(id, &known) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("known are {}", known.join(", ")),
            };
            return Err(Failure::usage(format!("no experiment is called {id}; {hint}")));
        };
        if !selected.iter().any(|e| e.id == found.id) {
            selected.push(found);
        }
    }
    Ok(selected)
}

fn measure(
    experiments: &[&'static Experiment],
    amount: &Amount,
) -> Result<(Outcome, Vec<Verdict>), Failure> {
    let effort = amount.effort();
    let seeds = amount.seeds.unwrap_or(effort.default_seeds());
    let jobs = amount.jobs.map_or(0, usize::from);
    run_plans(experiments, effort, (amount.first_seed, seeds), jobs)
}

/// Runs plans with a progress bar and checks the claims.
pub(crate) fn run_plans(
    experiments: &[&'static Experiment],
    effort: Effort,
    (first_seed, seeds): (u32, u32),
    jobs: usize,
) -> Result<(Outcome, Vec<Verdict>), Failure> {
    let progress = Progress::of_simulations();
    let update = |done, planned| progress.update(done, planned);
    let cancel = cancel_on_ctrl_c();
    let config = Config { effort, seeds, first_seed, jobs, cancel, progress: &update };
    let outcome = experiment::run(experiments, config)
        .map_err(|e| Failure { code: code_of(&e.error), message: e.to_string() })?;
    drop(progress);
    let verdicts = claims::check(&outcome.experiments);
    Ok((outcome, verdicts))
}

pub(crate) fn print_tables(outcome: &Outcome, verdicts: &[Verdict]) {
    say(&output::comparison(&outcome.experiments));
    say("\n");
    say_verdicts(outcome, verdicts);
}

fn say_verdicts(outcome: &Outcome, verdicts: &[Verdict]) {
    say(&output::verdicts(verdicts));
    say(&format!("\n{}\n", summary(verdicts)));
    if outcome.interrupted {
        say("stopped before the end: this is about the points that were finished\n");
    }
}

fn summary(verdicts: &[Verdict]) -> String {
    let held = verdicts.iter().filter(|v| v.holds == Some(true)).count();
    let failed = verdicts.iter().filter(|v| v.is_failure()).count();
    let known = verdicts.len() - held - failed;
    format!("{held} claims hold, {failed} do not and should, {known} known not to or not tested")
}

/// The page among the files of a run.
const PAGE: &str = "report.html";

/// Makes sure that files can be written to this directory later on.
pub(crate) fn prepare(dir: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(dir).map_err(|e| Failure::io(dir, &e))?;
    writable(&dir.join(PAGE))
}

/// Writes report.html (`questions` first), results.json, results.csv and the captures to a directory
/// that has been prepared; gives the report's path.
pub(crate) fn write_files(
    dir: &Path,
    command: &str,
    questions: &[Question],
    outcome: &Outcome,
    verdicts: &[Verdict],
) -> Result<PathBuf, Failure> {
    write(&dir.join("results.json"), &output::json(&outcome.experiments, verdicts))?;
    write(&dir.join("results.csv"), &output::csv(&outcome.experiments))?;
    let header = report::Header {
        command,
        version: env!("CARGO_PKG_VERSION"),
        interrupted: outcome.interrupted,
    };
    let page = dir.join(PAGE);
    write(&page, &report::html(&header, questions, &outcome.experiments, verdicts))?;
    for experiment in outcome.experiments.iter().filter_map(|e| experiment::find(e.id)) {
        capture(experiment, &dir.join(format!("{}.pcap", experiment.id)))?;
    }
    Ok(page)
}

/// The tables in the folder of an experiment.
fn table_file(dir: &Path, id: &str) -> PathBuf {
    dir.join(id).join("results.md")
}

fn write_tables(
    dir: &Path,
    amount: &Amount,
    outcome: &Outcome,
    verdicts: &[Verdict],
) -> Result<(), Failure> {
    for result in &outcome.experiments {
        let command = repeat_command(&[result.id.to_owned()], amount);
        let command = format!("{command} --tables {}", dir.display());
        let last = amount.first_seed + result.seeds.max(1) - 1;
        let seeds = format!("seeds {} to {last}", amount.first_seed);
        let drawn = experiment::find(result.id).map(|e| (e.figures)(result)).unwrap_or_default();
        let text = markdown::results(result, &drawn, verdicts, &command, &seeds);
        write(&table_file(dir, result.id), &text)?;
        for (index, figure) in drawn.iter().enumerate() {
            let file = dir.join(result.id).join(markdown::picture_name(index));
            write(&file, &report::picture(figure))?;
        }
    }
    write(&dir.join("claims.md"), &index_of(dir))
}

/// Every claim of the experiments that have a folder in `dir`.
fn index_of(dir: &Path) -> String {
    let results = experiment::all().iter().filter_map(|experiment| {
        Some((experiment.id, std::fs::read_to_string(table_file(dir, experiment.id)).ok()?))
    });
    let folders: Vec<_> = results.collect();
    markdown::index(folders.iter().map(|(id, text)| (*id, text.as_str())))
}

/// Captures the first seconds of an experiment's main point, with the settings to read that with.
fn capture(experiment: &Experiment, path: &Path) -> Result<(), Failure> {
    let mut scenario = experiment.main_scenario(Effort::Quick);
    let sleepy = scenario.nodes.iter().any(|place| place.role == Role::Leaf);
    scenario.duration_s = if sleepy { SLEEPY_CAPTURE_S } else { CAPTURE_S };
    let options = Options { pcap: Some(path.to_path_buf()), ..Options::default() };
    match run::run(&scenario, scenario.seed, &options) {
        Ok(result) => match result.cut_short.first() {
            None => match write_profile(&scenario, path) {
                Ok(_) => Ok(()),
                Err(error) => Err(Failure::io(path, &error)),
            },
            Some(what) => Err(Failure { code: Code::Io, message: format!("cut short: {what}") }),
        },
        Err(error) => Err(Failure { code: code_of(&error), message: error.to_string() }),
    }
}

fn repeat_command(ids: &[String], amount: &Amount) -> String {
    let mut command = format!("kinglet lab run {}", ids.join(" "));
    if amount.quick {
        command.push_str(" --quick");
    }
    if let Some(seeds) = amount.seeds {
        command.push_str(&format!(" --seeds {seeds}"));
    }
    if amount.first_seed != 1 {
        command.push_str(&format!(" --first-seed {}", amount.first_seed));
    }
    command
}

/// Claims are judged only on complete runs.
pub(crate) fn verdict_code(outcome: &Outcome, verdicts: &[Verdict]) -> Code {
    if outcome.interrupted || cancel_on_ctrl_c().load(Ordering::Relaxed) {
        Code::Interrupted
    } else if verdicts.iter().any(Verdict::is_failure) {
        Code::ClaimFailed
    } else {
        Code::Success
    }
}
