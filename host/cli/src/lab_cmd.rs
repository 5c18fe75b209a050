//! `kinglet lab`: run experiments, list them, check claims.

use crate::exit::{Code, Failure, cancel_on_ctrl_c, cut_short, say};
use crate::outputs::{Files, Output, Outputs, Slot};
use crate::progress::Progress;
use clap::{Args, Subcommand};
use kinglet_lab::claims;
use kinglet_lab::experiment;
use kinglet_network::capture::write_profile;
use kinglet_network::run::{self, Options, RunError};
use kinglet_report::question::Question;
use kinglet_report::verdict::Verdict;
use kinglet_report::{markdown, output, page};
use kinglet_scenario::Role;
use kinglet_sweep::experiment::{
    Effort, Experiment, ExperimentConfig, Outcome, folder, run as simulate,
};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run experiments; write tables, a report and captures
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// List the experiments
    #[command(after_help = "Example:\n  kinglet lab list")]
    List,
    /// List the columns that an experiment can have
    #[command(after_help = COLUMNS_EXAMPLE)]
    Columns,
    /// Run experiments; print whether each claim passes
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
}

pub(crate) const EXAMPLES: &str = "\
Examples, from the project's root:
  kinglet lab list
  kinglet lab run tcplp-hops --quick
  kinglet lab check --quick";

const RUN_EXAMPLES: &str = "\
Examples, from the project's root:
  kinglet lab run tcplp-hops
  kinglet lab run tcplp-mss tcplp-buffer --seeds 10 --out results
  kinglet lab run tcplp-retry-delay --quick --json > results.json
  kinglet lab run all --first-seed 101 --tables experiments

DIR of --out gets report.html, results.json, results.csv, and a capture of the
main point of each experiment. The exit code is 1 if a claim fails that should
pass. Each experiment has its README in experiments/.";

const COLUMNS_EXAMPLE: &str = "\
Example:
  kinglet lab columns

An experiment names them in its file, such as
experiments/tcplp-mss/experiment.toml; host/lab/EXPERIMENTS.md has the form.";

const CHECK_EXAMPLES: &str = "\
Examples, from the project's root:
  kinglet lab check --quick
  kinglet lab check tcplp-hops tcplp-mss --seeds 10

The exit code is 1 if a claim fails that should pass. experiments/claims.md has
all claims.";

/// Seeds, threads and duration of the simulations.
#[derive(Args)]
struct Amount {
    /// Simulations per point, one per seed  [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    seeds: Option<u32>,
    /// The first of consecutive seeds. Settings are chosen
    /// with 0 to 100, the tables of experiments/ have those
    /// from 101 on; 1000000 and more are for tests
    #[arg(long, value_name = "N", default_value_t = 1, verbatim_doc_comment,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000_000))]
    first_seed: u32,
    /// Threads  [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    jobs: Option<u16>,
    /// Shorter simulations: transfers 2 minutes instead of
    /// 5, sensors 10 instead of 60 or more
    #[arg(long, verbatim_doc_comment)]
    quick: bool,
}

impl Amount {
    const fn effort(&self) -> Effort {
        if self.quick { Effort::Quick } else { Effort::Full }
    }
}

#[derive(Args)]
pub(crate) struct RunArgs {
    /// Experiments of `kinglet lab list`, or `all`
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    amount: Amount,
    /// Print the results as JSON, not as tables
    #[arg(long)]
    json: bool,
    /// Directory for report, results and captures
    /// [default: kinglet-out; none with --json]
    #[arg(long, value_name = "DIR", verbatim_doc_comment)]
    out: Option<Output>,
    /// Directory with a folder per experiment, for
    /// results.md and figures
    #[arg(long, value_name = "DIR", verbatim_doc_comment)]
    tables: Option<Output>,
    /// Commit of the program, for the tables
    #[arg(long, value_name = "HASH", requires = "tables")]
    commit: Option<String>,
}

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// Experiments of `kinglet lab list`  [default: all]
    #[arg(value_name = "ID")]
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    amount: Amount,
    /// Print the results as JSON, not as a table
    #[arg(long)]
    json: bool,
}

/// Simulated seconds of a capture: some thousand frames, …
const CAPTURE_S: f64 = 10.0;
/// … also with sleeping leaves, which send about once a minute.
const SLEEPY_CAPTURE_S: f64 = 150.0;
/// Default directory of the files.
pub(crate) const DEFAULT_OUT: &str = "kinglet-out";

pub(crate) fn run(command: Command) -> Result<Code, Failure> {
    match command {
        Command::List => list(),
        Command::Columns => Ok(columns()),
        Command::Run(args) => run_experiments(&args),
        Command::Check(args) => check(&args),
    }
}

fn list() -> Result<Code, Failure> {
    folder::check(&[])?;
    let width = experiment::all().iter().map(|e| e.id.len()).max().unwrap_or(0);
    for experiment in experiment::all() {
        say(&format!("{:<width$}  {} ({})\n", experiment.id, experiment.title, experiment.source));
    }
    Ok(Code::Success)
}

fn columns() -> Code {
    let width = folder::columns().map(|(key, ..)| key.len()).max().unwrap_or(0);
    for (key, unit, meaning) in folder::columns() {
        say(&format!("{key:<width$}  {meaning}, {unit}\n"));
    }
    Code::Success
}

fn run_experiments(args: &RunArgs) -> Result<Code, Failure> {
    let experiments = select(&args.ids)?;
    let default = (!args.json).then(|| Output::at(DEFAULT_OUT));
    let mut files = Files::default();
    let out = args.out.as_ref().or(default.as_ref());
    let out = out.map(|dir| ReportFiles::declare(&mut files, dir, &experiments));
    let tables = args.tables.as_ref().map(|dir| TableFiles::declare(&mut files, dir, &experiments));
    let mut outputs = files.check()?;
    let (outcome, verdicts) = measure(&experiments, &args.amount)?;
    if args.json {
        say(&output::json(&outcome.experiments, &verdicts));
    } else {
        print_tables(&outcome, &verdicts);
    }
    // The tables of an interrupted run would replace complete ones.
    if let Some(tables) = tables.filter(|_| !outcome.interrupted) {
        tables.write(&mut outputs, args, &outcome, &verdicts);
    }
    if let Some(out) = out {
        let command = repeat_command(&args.ids, &args.amount);
        if out.write(&outputs, &command, &[], &outcome, &verdicts)? {
            let _ = writeln!(std::io::stderr(), "report: {}", outputs.path(out.page).display());
        }
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
pub(crate) fn select(ids: &[String]) -> Result<Vec<&'static Experiment>, Failure> {
    if ids.is_empty() || ids.iter().any(|id| id == "all") {
        return checked(experiment::all().iter().collect());
    }
    let mut selected: Vec<&'static Experiment> = Vec::new();
    for id in ids {
        let Some(found) = experiment::find(id) else {
            let known: Vec<&str> = experiment::all().iter().map(|e| e.id).collect();
            let hint = match kinglet_scenario::nearest(id, &known) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("known are {}", known.join(", ")),
            };
            return Err(Failure::usage(format!("{id}: no experiment has this ID; {hint}")));
        };
        if !selected.iter().any(|e| e.id == found.id) {
            selected.push(found);
        }
    }
    checked(selected)
}

/// The same experiments, if their files have no error.
fn checked(experiments: Vec<&'static Experiment>) -> Result<Vec<&'static Experiment>, Failure> {
    let ids: Vec<&str> = experiments.iter().map(|it| it.id).collect();
    folder::check(&ids)?;
    Ok(experiments)
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
    let config = ExperimentConfig { effort, seeds, first_seed, jobs, cancel, progress: &update };
    let outcome = simulate(experiments, config)
        .map_err(|e| Failure { message: e.to_string(), ..e.error.into() })?;
    drop(progress);
    let verdicts = claims::check(&outcome.experiments);
    Ok((outcome, verdicts))
}

pub(crate) fn print_tables(outcome: &Outcome, verdicts: &[Verdict]) {
    say(&output::comparison(&outcome.experiments, experiment::all()));
    say("\n");
    say_verdicts(outcome, verdicts);
}

fn say_verdicts(outcome: &Outcome, verdicts: &[Verdict]) {
    say(&output::verdicts(verdicts));
    say(&format!("\n{}\n", summary(verdicts)));
    if outcome.interrupted {
        say("stopped before the end: only the finished points are in it\n");
    }
}

fn summary(verdicts: &[Verdict]) -> String {
    let held = verdicts.iter().filter(|v| v.holds == Some(true)).count();
    let failed = verdicts.iter().filter(|v| v.is_failure()).count();
    let known = verdicts.len() - held - failed;
    format!("{held} claims pass, {failed} fail, {known} are known failures or not tested")
}

/// Declares and checks the files of the demonstration.
pub(crate) fn report_files(
    dir: &Path,
    experiments: &[&'static Experiment],
) -> Result<(ReportFiles, Outputs), Failure> {
    let mut files = Files::default();
    let report = ReportFiles::declare(&mut files, &Output::at(dir), experiments);
    Ok((report, files.check()?))
}

/// The files in the directory of `--out`.
pub(crate) struct ReportFiles {
    pub(crate) page: Slot,
    json: Slot,
    csv: Slot,
    captures: Vec<(&'static Experiment, Slot)>,
}

impl ReportFiles {
    fn declare(files: &mut Files, dir: &Output, experiments: &[&'static Experiment]) -> Self {
        let dir = files.directory("--out", dir);
        let [page, json, csv] =
            ["report.html", "results.json", "results.csv"].map(|name| files.inside(dir, name));
        let name = |experiment: &Experiment| format!("{}.pcap", experiment.id);
        let captures = experiments.iter().map(|&it| (it, files.capture_inside(dir, &name(it))));
        let captures = captures.collect();
        ReportFiles { page, json, csv, captures }
    }

    /// Writes them, with the answers to `questions` first in the page; returns true if the page is
    /// complete.
    pub(crate) fn write(
        &self,
        outputs: &Outputs,
        command: &str,
        questions: &[Question],
        outcome: &Outcome,
        verdicts: &[Verdict],
    ) -> Result<bool, Failure> {
        outputs.write(self.json, &output::json(&outcome.experiments, verdicts));
        outputs.write(self.csv, &output::csv(&outcome.experiments));
        let version = env!("CARGO_PKG_VERSION");
        let header = page::Header { command, version, interrupted: outcome.interrupted };
        let page =
            page::html(&header, experiment::all(), questions, &outcome.experiments, verdicts);
        let written = outputs.write(self.page, &page);
        for (experiment, file) in &self.captures {
            if outcome.experiments.iter().any(|result| result.id == experiment.id) {
                capture(experiment, outputs.path(*file))?;
            }
        }
        Ok(written)
    }
}

/// The files in the directory of `--tables`.
struct TableFiles {
    dir: Slot,
    claims: Slot,
    experiments: Vec<TablesOf>,
}

/// The files of an experiment in its folder.
struct TablesOf {
    id: &'static str,
    folder: Slot,
    tables: Slot,
    /// Only of an experiment whose points have fields.
    rows: Option<Slot>,
}

impl TableFiles {
    fn declare(files: &mut Files, dir: &Output, experiments: &[&'static Experiment]) -> Self {
        let dir = files.directory("--tables", dir);
        let mut of = |id: &'static str| {
            let folder = files.folder(dir, id);
            let rows = folder::definition(id).is_some().then(|| files.inside(folder, ROWS));
            TablesOf { id, folder, tables: files.inside(folder, RESULTS), rows }
        };
        let tables = experiments.iter().map(|experiment| of(experiment.id)).collect();
        // The index has the claims of all experiments.
        let others = experiment::all().iter().map(|experiment| experiment.id);
        for id in others.filter(|id| experiments.iter().all(|experiment| experiment.id != *id)) {
            let file = Path::new(id).join(RESULTS);
            files.reads_inside("the results of another experiment", dir, &file);
        }
        let claims = files.inside(dir, "claims.md");
        TableFiles { dir, claims, experiments: tables }
    }

    fn write(
        &self,
        outputs: &mut Outputs,
        RunArgs { amount, commit, .. }: &RunArgs,
        outcome: &Outcome,
        verdicts: &[Verdict],
    ) {
        let dir = outputs.path(self.dir).to_path_buf();
        for result in &outcome.experiments {
            let mut slots = self.experiments.iter();
            let Some(TablesOf { id, folder, tables, rows }) = slots.find(|it| it.id == result.id)
            else {
                continue;
            };
            let command = repeat_command(&[result.id.to_owned()], amount);
            let command = format!("{command} --tables {}", dir.display());
            let last = amount.first_seed + result.seeds.max(1) - 1;
            let mut conditions = format!("seeds {} to {last}", amount.first_seed);
            if let Some(commit) = commit {
                conditions.push_str(&format!(", commit {commit}"));
            }
            let drawn = experiment::find(id).map(|e| (e.figures)(result)).unwrap_or_default();
            let text = markdown::results(result, &drawn, verdicts, &command, &conditions);
            outputs.write(*tables, &text);
            let csv = output::table_csv(result, &command, &conditions);
            if let (Some(file), Some(text)) = (rows, csv) {
                outputs.write(*file, &text);
            }
            for (index, figure) in drawn.iter().enumerate() {
                let name = markdown::picture_name(index);
                outputs.write_inside(*folder, &name, &page::picture(figure));
            }
        }
        outputs.write(self.claims, &index_of(&dir));
    }
}

/// The file of an experiment's tables, in its folder.
const RESULTS: &str = "results.md";
/// All of its numbers.
const ROWS: &str = "results.csv";

/// Every claim of the experiments that have a folder in `dir`.
fn index_of(dir: &Path) -> String {
    let results = experiment::all().iter().filter_map(|experiment| {
        let file = dir.join(experiment.id).join(RESULTS);
        Some((experiment.id, std::fs::read_to_string(file).ok()?))
    });
    let folders: Vec<_> = results.collect();
    markdown::index(folders.iter().map(|(id, text)| (*id, text.as_str())))
}

/// Captures the first seconds of an experiment's main point, with the settings for reading the
/// capture.
fn capture(experiment: &Experiment, path: &Path) -> Result<(), Failure> {
    let mut scenario = experiment.main_scenario(Effort::Quick);
    let sleepy = scenario.nodes.iter().any(|place| place.role == Role::Leaf);
    scenario.duration_s = if sleepy { SLEEPY_CAPTURE_S } else { CAPTURE_S };
    let options = Options { pcap: Some(path.to_path_buf()), ..Options::default() };
    match run::run(&scenario, scenario.seed, &options) {
        Ok(result) => cut_short(&result.cut_short),
        Err(RunError::Output { path, error }) => {
            cut_short(&[format!("{}: {error}", path.display())]);
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    }
    if let Err(files) = write_profile(&scenario, path) {
        cut_short(&files);
    }
    Ok(())
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

/// The claims of an interrupted run have no outcome.
pub(crate) fn verdict_code(outcome: &Outcome, verdicts: &[Verdict]) -> Code {
    if outcome.interrupted || cancel_on_ctrl_c().load(Ordering::Relaxed) {
        Code::Interrupted
    } else if verdicts.iter().any(Verdict::is_failure) {
        Code::CheckFailed
    } else {
        Code::Success
    }
}
