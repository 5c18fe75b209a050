//! `kinglet advise`: the settings with which a scenario has the best result.

use crate::exit::{Code, Failure, cancel_on_ctrl_c, note, say};
use crate::outputs::{Files, Input, Output};
use crate::progress::Progress;
use crate::sim_cmd::warn_renamed;
use crate::sweep_cmd::{here, program};
use kinglet_sweep::advise::{
    Advice, AdviceConfig, AdviseError, Change, Kept, Objective, Verdict, advise,
};
use kinglet_sweep::sweep::{Base, Journal};
use std::fmt::Write as _;
use std::sync::Mutex;

#[derive(clap::Args)]
#[command(after_help = "\
Examples, from the project's root:
  kinglet advise host/lab/scenarios/lossy.toml
  kinglet advise host/lab/scenarios/lossy.toml --objective energy --budget 4096
  kinglet advise host/lab/scenarios/web.toml --runs 100 --json > advice.json

Varied are the segment size, buffers, window, acknowledgements, timeouts, link
retries, backoff and queues, the routing, and the wake-up periods. Combinations
race on some seeds; other seeds confirm the gain of all settings together and of
each one. \"Sure\" is the probability that the gain is above zero (Student's t,
pairs of runs with the same seed). Settings are not advised if 1 % more of the
sent data is lost. The journal has every finished simulation: after Ctrl-C, or
with another objective, the same command continues.
docs/decisions/0048-advice.md describes the method.")]
pub(crate) struct Args {
    /// The scenario, with the settings in use
    #[arg(value_name = "SCENARIO.toml")]
    file: Input,
    /// goodput: mean of the flows, kb/s
    /// energy: of nodes on batteries, mJ per kB that arrives
    /// latency: 95th percentile of requests, else the delay
    /// of datagrams, else the round trip, ms
    /// reliability: share of sent data that arrives, %
    /// [default: goodput]
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Wanted::Goodput)]
    #[arg(hide_possible_values = true, hide_default_value = true, verbatim_doc_comment)]
    objective: Wanted,
    /// RAM for the buffers of one node's connections, in
    /// octets  [default: no limit]
    #[arg(long, value_name = "RAM", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(verbatim_doc_comment)]
    budget: Option<u32>,
    /// Simulations of the race
    #[arg(long, value_name = "N", default_value_t = 600)]
    #[arg(value_parser = clap::value_parser!(u32).range(60..=1_000_000))]
    runs: u32,
    /// Seeds that confirm the gain
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u16).range(2..=10_000))]
    confirm: u16,
    /// Keep finished simulations in this file
    /// [default: SCENARIO.advice here]
    #[arg(long, value_name = "FILE", verbatim_doc_comment)]
    journal: Option<Output>,
    /// Threads  [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    jobs: Option<u16>,
    /// Print the advice as JSON
    #[arg(long)]
    json: bool,
}

// Documented by `--objective`: clap would print each on lines of its own.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Wanted {
    Goodput,
    Energy,
    Latency,
    Reliability,
}

impl From<Wanted> for Objective {
    fn from(wanted: Wanted) -> Self {
        match wanted {
            Wanted::Goodput => Objective::Goodput,
            Wanted::Energy => Objective::Energy,
            Wanted::Latency => Objective::Latency,
            Wanted::Reliability => Objective::Reliability,
        }
    }
}

impl From<AdviseError> for Failure {
    fn from(error: AdviseError) -> Self {
        match error {
            AdviseError::Scenario(error) => error.into(),
            AdviseError::Journal(error) => error.into(),
            AdviseError::Pointless(why) => Failure::usage(why),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<Code, Failure> {
    let mut files = Files::default();
    let file = files.reads("the scenario", &args.file);
    let base = Base::from_file(file)?;
    warn_renamed(base.renamed());
    let journal = files.writes_or("--journal", args.journal.as_ref(), || here(file, "advice"));
    let outputs = files.check()?;
    let (journal, finished) = Journal::open(outputs.path(journal), &program()?)?;
    let kept_in = journal.path().display().to_string();
    let kept = Mutex::new(Kept::new(journal, finished));
    let progress = Progress::of_simulations();
    let config = AdviceConfig {
        budget: args.budget.map(|octets| octets as usize),
        runs: args.runs as usize,
        confirmations: args.confirm.into(),
        jobs: args.jobs.map_or(0, usize::from),
        kept: Some(&kept),
        cancel: cancel_on_ctrl_c(),
        progress: &|done, planned| progress.update(done, planned),
        ..AdviceConfig::new(args.objective.into())
    };
    let Some(advice) = advise(&base, &config)? else {
        drop(progress);
        let done = kept.lock().map_or(0, |kept| kept.len());
        note(&match done {
            0 => "no simulation has finished".to_owned(),
            _ => format!("{done} simulations are kept in {kept_in}; the same command continues"),
        });
        return Ok(Code::Interrupted);
    };
    drop(progress);
    if args.json {
        // Plain structs of strings and numbers serialise without fail.
        let document = serde_json::to_string_pretty(&advice).unwrap_or_default();
        say(&format!("{document}\n"));
    } else {
        say(&text(&advice));
    }
    Ok(Code::Success)
}

fn text(advice: &Advice) -> String {
    let mut text = String::new();
    let Advice { before, after, unit, gain, confirmed_by: (first, count), .. } = advice;
    let last = first + count - 1;
    if advice.changes.is_empty() {
        let _ = writeln!(
            text,
            "No change is advised: {before:.3} {unit} with seeds {first} to {last}; {} \
             simulations.",
            advice.runs
        );
        return text;
    }
    let _ = writeln!(
        text,
        "The {}: {before:.3} {unit} as it is, {after:.3} {unit} with these settings: {} (sure: \
         {}).",
        advice.objective.name(),
        self::gain(gain),
        sure(gain)
    );
    let [lost_before, lost_after] = advice.arrived.map(|arrived| (1.0 - arrived) * 100.0);
    let _ = writeln!(
        text,
        "Lost: {lost_before:.2} %, then {lost_after:.2} %. Buffers of a node's connections: {} \
         octets, then {}.",
        advice.buffers[0], advice.buffers[1]
    );
    let _ = writeln!(
        text,
        "Found in {} simulations; confirmed by seeds {first} to {last}, which the race did not \
         use.\n",
        advice.runs
    );
    text.push_str(&table(&advice.changes));
    let _ = write!(text, "\n# In the scenario:\n{}", advice.toml);
    let _ = write!(text, "\n// In a device:\n{}", advice.rust);
    text
}

fn table(changes: &[Change]) -> String {
    let head = ["setting", "as it is", "advised", "gain by itself", "sure"].map(str::to_owned);
    let rows = changes.iter().map(|change| {
        let (gain, sure) = change.worth.as_ref().map_or_else(
            || ("the others need it".to_owned(), String::new()),
            |verdict| (gain(verdict), sure(verdict)),
        );
        [change.name.to_owned(), change.before.clone(), change.after.clone(), gain, sure]
    });
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut table = String::new();
    for row in &rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        let _ = writeln!(table, "{}", line.trim_end());
    }
    table
}

fn gain(verdict: &Verdict) -> String {
    let Verdict { mean, ci95, .. } = verdict;
    format!("{:+.1} % ± {:.1}", mean * 100.0, ci95 * 100.0)
}

fn sure(verdict: &Verdict) -> String {
    match verdict.sure * 100.0 {
        sure if sure > 99.9 => "> 99.9 %".to_owned(),
        sure => format!("{sure:.1} %"),
    }
}
