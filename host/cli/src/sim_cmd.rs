//! `kinglet sim`: one scenario, once.

use crate::exit::{Code, Failure, cancel_on_ctrl_c, code_of, say, writable, write};
use crate::progress::Progress;
use kinglet_lab::capture::write_profile;
use kinglet_lab::report::{self, Header};
use kinglet_lab::run::{self, Options, RunResult};
use kinglet_lab::scenario::Scenario;
use kinglet_lab::tables;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  kinglet sim host/lab/scenarios/annotated.toml
  kinglet sim mine.toml --seed 7 --pcap mine.pcap --trace mine.txt
  kinglet sim host/lab/scenarios/office.toml --report office.html --timeline 60..180
  kinglet sim host/lab/scenarios/office-asleep.toml --report asleep.html
  kinglet sim mine.toml --json | jq '.flows[0].goodput_kbps'

The keys of a scenario file are described in host/lab/SCENARIO.md.
The same file and seed give the same simulation, event by event.")]
pub(crate) struct Args {
    /// The scenario
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// Root of all randomness, instead of the file's
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Write every frame on the air to a capture file, and what tshark needs to read it beside it
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Write the event trace to a text file
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Write a page with timeline, energy ledgers and results
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// What of the run the page's timeline shows, in seconds
    #[arg(long, value_name = "FROM..TO", value_parser = range, default_value = "0..120")]
    #[arg(requires = "report")]
    timeline: (f64, f64),
    /// Results as JSON on standard output
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Code, Failure> {
    let clock = std::time::Instant::now();
    let scenario = Scenario::from_file(&args.file)?;
    let reading_seconds = clock.elapsed().as_secs_f64();
    warn(&args.file, &scenario);
    if let Some(path) = &args.report {
        // Before the simulation, which may take long.
        writable(path)?;
    }
    let cancel = cancel_on_ctrl_c();
    let progress = Progress::of_time();
    let update = |share| progress.update_share(share);
    let options = Options {
        pcap: args.pcap.clone(),
        trace: args.trace,
        timeline_s: args.report.as_ref().map(|_| args.timeline),
        tree: args.report.is_some(),
        cancel: Some(cancel),
        progress: Some(&update),
        ..Options::default()
    };
    let seed = args.seed.unwrap_or(scenario.seed);
    let scenario = run::drawn(&scenario, seed)
        .map_err(|e| Failure { code: code_of(&e), message: e.to_string() })?
        .into_owned();
    let mut result = run::run(&scenario, seed, &options)
        .map_err(|e| Failure { code: code_of(&e), message: e.to_string() })?;
    result.setup_seconds += reading_seconds;
    drop(progress);
    let stopped = cancel.load(Ordering::Relaxed);
    if let Some(path) = &args.report {
        let command = format!("kinglet sim {} --seed {seed}", args.file.display());
        let version = env!("CARGO_PKG_VERSION");
        let header = Header { command: &command, version, interrupted: stopped };
        write(path, &report::one_run(&header, &scenario, &result, args.timeline))?;
    }
    let reading = match &args.pcap {
        Some(path) => write_profile(&scenario, path).map_err(|e| Failure::io(path, &e))?,
        None => None,
    };
    if args.json {
        let text = serde_json::to_string_pretty(&result)
            .map_err(|e| Failure { code: Code::Io, message: e.to_string() })?;
        say(&format!("{text}\n"));
    } else {
        print(&scenario, seed, &result);
    }
    if let Some(command) = reading {
        // What has been asked for is on standard output.
        eprintln!("kinglet: to read the capture: {command}");
    }
    if !result.cut_short.is_empty() {
        let message = format!("cut short: {}", result.cut_short.join("; "));
        return Err(Failure { code: Code::Io, message });
    }
    Ok(if stopped { Code::Interrupted } else { Code::Success })
}

/// Says on standard error what will not work.
pub(crate) fn warn(file: &Path, scenario: &Scenario) {
    for warning in scenario.warnings() {
        eprintln!("kinglet: {}: {warning}", file.display());
    }
}

/// Two instants in seconds.
fn range(text: &str) -> Result<(f64, f64), String> {
    let (from, to) =
        text.split_once("..").ok_or("give two instants in seconds, such as 60..180")?;
    let number = |text: &str| text.trim().parse::<f64>().map_err(|e| format!("{text}: {e}"));
    let (from, to) = (number(from)?, number(to)?);
    if 0.0 <= from && from < to { Ok((from, to)) } else { Err(format!("{from}..{to} is empty")) }
}

fn print(scenario: &Scenario, seed: u64, result: &RunResult) {
    say(&format!("{}, seed {seed}\n", scenario.name));
    say(&format!(
        "{:.3} simulated seconds in {:.3} s ({:.0} times real time), {} events; \
         set up in {:.3} s, {:.1} KiB a node\n",
        result.sim_seconds,
        result.wall_seconds,
        result.sim_seconds / result.wall_seconds.max(1e-9),
        result.events,
        result.setup_seconds,
        result.node_bytes as f64 / 1024.0
    ));
    say(&tables::text(result));
}
