//! `kinglet advise`: which settings serve a scenario best.

use crate::exit::{Code, Failure, cancel_on_ctrl_c, say};
use crate::progress::Progress;
use crate::sweep_cmd::{beside_here, program};
use kinglet_lab::advise::{Advice, AdviseError, Change, Config, Kept, Objective, Verdict, advise};
use kinglet_lab::sweep::{Base, Journal};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Mutex;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  kinglet advise host/lab/scenarios/lossy.toml
  kinglet advise mine.toml --objective energy --budget 4096
  kinglet advise mine.toml --runs 2000 --json | jq -r .rust

What is tried: segment size, buffers, window, acknowledgements, timeouts, link retries and their
delays, back-off, queues; routing, if nodes find their ways themselves; how often nodes wake, if
they sleep. Combinations race on some seeds; others, which the race has not seen, then say what
all settings together and each of them is worth. \"Sure\" is how probable it is that a setting is
worth more than nothing (Student's t, pairs of runs with the same seed). What loses 1 % more of what
is sent than the scenario as it is, in the race, is not advised. Advice is for the network that the
scenario describes: if its losses or lengths are not known, describe the worst that is expected.
Finished simulations are in the journal: after Ctrl-C, or with another objective, the same command
goes on from there. The same file, options and program give the same advice, with any number of
threads.")]
pub(crate) struct Args {
    /// The scenario, with the settings that are in use
    #[arg(value_name = "SCENARIO.toml")]
    file: PathBuf,
    /// What is to become better
    #[arg(long, value_enum, default_value_t = Wanted::Goodput)]
    objective: Wanted,
    /// Octets of RAM that the buffers of one node's connections may take  [default: any number]
    #[arg(long, value_name = "RAM", value_parser = clap::value_parser!(u32).range(1..))]
    budget: Option<u32>,
    /// Simulations of the race; the seeds that confirm need some more
    #[arg(long, value_name = "N", default_value_t = 600)]
    #[arg(value_parser = clap::value_parser!(u32).range(60..=1_000_000))]
    runs: u32,
    /// Seeds that confirm
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u16).range(2..=10_000))]
    confirm: u16,
    /// Where finished simulations are kept  [default: SCENARIO.advice, in this directory]
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Threads  [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    jobs: Option<u16>,
    /// Everything as JSON on standard output
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Wanted {
    /// Mean of what flows carry, kb/s
    Goodput,
    /// Energy of nodes without mains for what arrives, mJ/kB
    Energy,
    /// What 95 % of requests take at most; of datagrams their delay, else round trips; ms
    Latency,
    /// Share of what is sent that arrives, %
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
    let base = Base::from_file(&args.file)?;
    let journal = args.journal.clone().unwrap_or_else(|| beside_here(&args.file, "advice"));
    let (journal, finished) = Journal::open(&journal, &program()?)?;
    let kept_in = journal.path().display().to_string();
    let kept = Mutex::new(Kept::new(journal, finished));
    let progress = Progress::of_simulations();
    let config = Config {
        budget: args.budget.map(|octets| octets as usize),
        runs: args.runs as usize,
        confirmations: args.confirm.into(),
        jobs: args.jobs.map_or(0, usize::from),
        kept: Some(&kept),
        cancel: cancel_on_ctrl_c(),
        progress: &|done, planned| progress.update(done, planned),
        ..Config::new(args.objective.into())
    };
    let Some(advice) = advise(&base, &config)? else {
        drop(progress);
        let done = kept.lock().map_or(0, |kept| kept.len());
        eprintln!("kinglet: {done} simulations are kept in {kept_in}; the same command goes on");
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
            "Nothing that was tried is worth a change: {before:.3} {unit} with seeds {first} to \
             {last}; {} simulations.",
            advice.runs
        );
        return text;
    }
    let _ = writeln!(
        text,
        "The {}: {before:.3} {unit} as it is, {after:.3} {unit} with what follows: {} (sure: {}).",
        advice.objective.name(),
        worth(gain),
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
        "Found in {} simulations; confirmed by seeds {first} to {last}, on which nothing was \
         chosen.\n",
        advice.runs
    );
    text.push_str(&table(&advice.changes));
    let _ = write!(text, "\n# In the scenario:\n{}", advice.toml);
    let _ = write!(text, "\n// In a device:\n{}", advice.rust);
    text
}

fn table(changes: &[Change]) -> String {
    let head = ["setting", "as it is", "advised", "worth by itself", "sure"].map(str::to_owned);
    let rows = changes.iter().map(|change| {
        let (worth, sure) = change.worth.as_ref().map_or_else(
            || ("the others need it".to_owned(), String::new()),
            |verdict| (worth(verdict), sure(verdict)),
        );
        [change.name.to_owned(), change.before.clone(), change.after.clone(), worth, sure]
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

fn worth(verdict: &Verdict) -> String {
    let Verdict { mean, ci95, .. } = verdict;
    format!("{:+.1} % ± {:.1}", mean * 100.0, ci95 * 100.0)
}

fn sure(verdict: &Verdict) -> String {
    match verdict.sure * 100.0 {
        sure if sure > 99.9 => "> 99.9 %".to_owned(),
        sure => format!("{sure:.1} %"),
    }
}
