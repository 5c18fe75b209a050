//! `kinglet sim`: one scenario, once.

use crate::exit::{Code, Failure, cancel_on_ctrl_c, cut_short, note, say};
use crate::outputs::{Files, Input, Output};
use crate::progress::Progress;
use kinglet_network::capture::write_profile;
use kinglet_network::run::{self, FlowResult, Options, RunResult};
use kinglet_report::page::{self, Header};
use kinglet_report::tables;
use kinglet_scenario::Scenario;
use kinglet_scenario::renamed::Change;
use std::path::Path;
use std::sync::atomic::Ordering;

#[derive(clap::Args)]
#[command(after_help = "\
Examples, from the project's root:
  kinglet sim host/lab/scenarios/annotated.toml
  kinglet sim host/lab/scenarios/lossy.toml --seed 7 --pcap lossy.pcap
  kinglet sim host/lab/scenarios/office.toml --report office.html
  kinglet sim host/lab/scenarios/web.toml --trace web.jsonl --json > web.json
  kinglet why web.jsonl
  kinglet sim host/lab/scenarios/web.toml --pcap captures

host/lab/SCENARIO.md describes the keys of a scenario.
The same scenario and seed give the same simulation, event by event.")]
pub(crate) struct Args {
    /// The scenario
    #[arg(value_name = "FILE.toml", required_unless_present = "schema")]
    file: Option<Input>,
    /// Seed of all random numbers
    /// [default: the scenario's]
    #[arg(long, value_name = "N", allow_negative_numbers = true, verbatim_doc_comment)]
    seed: Option<u64>,
    /// Capture every frame on the air; a name without a
    /// dot is a directory: a capture for each node.
    /// FILE.profile has the settings for reading them
    #[arg(long, value_name = "FILE", verbatim_doc_comment)]
    pcap: Option<Output>,
    /// Write a trace of all layers for `kinglet why`:
    /// JSON lines, or Parquet for a name.parquet
    #[arg(long, value_name = "FILE", verbatim_doc_comment)]
    trace: Option<Output>,
    /// Write a page with timeline, energy and results
    #[arg(long, value_name = "FILE.html")]
    report: Option<Output>,
    /// Part of the run that the page's timeline shows, in
    /// seconds
    #[arg(long, value_name = "FROM..TO", value_parser = range, default_value = "0..120")]
    #[arg(requires = "report", verbatim_doc_comment)]
    timeline: (f64, f64),
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
    /// Print the JSON schema of the results, and exit
    #[arg(long, exclusive = true, verbatim_doc_comment)]
    schema: bool,
    /// Print the reasons for lost frames and packets of
    /// each node, and its lost parents and others
    #[arg(long, conflicts_with = "json", verbatim_doc_comment)]
    reasons: bool,
    /// Exit with 0 although a flow is dead: nothing of it
    /// arrived, or its connection ended with an error
    #[arg(long, verbatim_doc_comment)]
    allow_dead: bool,
}

pub(crate) fn run(args: &Args) -> Result<Code, Failure> {
    let Some(file) = &args.file else {
        say(&RunResult::schema_text());
        return Ok(Code::Success);
    };
    let clock = std::time::Instant::now();
    let mut files = Files::default();
    let file = files.reads("the scenario", file);
    let scenario = Scenario::from_file(file)?;
    let reading_seconds = clock.elapsed().as_secs_f64();
    warn(file, &scenario);
    let by_node = args.pcap.as_ref().is_some_and(Output::is_directory);
    let pcap = args.pcap.as_ref().map(|pcap| match by_node {
        true => files.new_directory("--pcap", pcap),
        false => files.captures("--pcap", pcap),
    });
    let trace = args.trace.as_ref().map(|trace| files.writes("--trace", trace));
    let page = args.report.as_ref().map(|report| files.writes("--report", report));
    let outputs = files.check()?;
    let cancel = cancel_on_ctrl_c();
    let progress = Progress::of_time();
    let update = |share| progress.update_share(share);
    let options = Options {
        pcap: pcap.filter(|_| !by_node).map(|pcap| outputs.path(pcap).to_path_buf()),
        captures: pcap.filter(|_| by_node).map(|pcap| outputs.path(pcap).to_path_buf()),
        trace: trace.map(|trace| outputs.path(trace).to_path_buf()),
        timeline_s: page.map(|_| args.timeline),
        tree: page.is_some(),
        cancel: Some(cancel),
        progress: Some(&update),
        ..Options::default()
    };
    let seed = args.seed.unwrap_or(scenario.seed);
    let scenario = run::drawn(&scenario, seed)?.into_owned();
    let mut result = run::run(&scenario, seed, &options)?;
    result.setup_seconds += reading_seconds;
    drop(progress);
    let stopped = cancel.load(Ordering::Relaxed);
    cut_short(&result.cut_short);
    if let Some(page) = page {
        let command = format!("kinglet sim {} --seed {seed}", file.display());
        let version = env!("CARGO_PKG_VERSION");
        let header = Header { command: &command, version, interrupted: stopped };
        outputs.write(page, &page::one_run(&header, &scenario, &result, args.timeline));
    }
    if args.json {
        let text = serde_json::to_string_pretty(&result)
            .map_err(|e| Failure { code: Code::Io, message: e.to_string() })?;
        say(&format!("{text}\n"));
    } else {
        print(&scenario, seed, &result, args.reasons);
    }
    if let Some(pcap) = pcap {
        match write_profile(&scenario, outputs.path(pcap)) {
            // On standard error: the results are on standard output.
            Ok(Some(command)) => note(&format!("to read the capture: {command}")),
            Ok(None) => {}
            Err(files) => cut_short(&files),
        }
    }
    if args.json {
        note_dead(&result);
    }
    Ok(match result.flows.iter().any(FlowResult::is_dead) {
        _ if stopped => Code::Interrupted,
        true if !args.allow_dead => Code::DeadFlow,
        _ => Code::Success,
    })
}

/// Prints the dead flows to standard error; without `--json` a table has them.
fn note_dead(result: &RunResult) {
    for (index, flow) in result.flows.iter().enumerate() {
        if let Some(explanation) = &flow.explanation {
            note(&format!("flow {index} ({}) is dead: {explanation}", flow.kind));
        }
    }
}

/// Prints the warnings about a scenario to standard error.
pub(crate) fn warn(file: &Path, scenario: &Scenario) {
    warn_renamed(&scenario.renamed);
    for warning in scenario.warnings() {
        note(&format!("{}: {warning}", file.display()));
    }
}

/// Prints the old names that were read to standard error.
pub(crate) fn warn_renamed<'a>(changes: impl IntoIterator<Item = &'a Change>) {
    changes.into_iter().for_each(|change| note(&change.to_string()));
}

/// Two instants in seconds.
fn range(text: &str) -> Result<(f64, f64), String> {
    let (from, to) =
        text.split_once("..").ok_or("give two instants in seconds, such as 60..180")?;
    let number = |text: &str| text.trim().parse::<f64>().map_err(|e| format!("{text}: {e}"));
    let (from, to) = (number(from)?, number(to)?);
    if 0.0 <= from && from < to { Ok((from, to)) } else { Err(format!("{from}..{to} is empty")) }
}

fn print(scenario: &Scenario, seed: u64, result: &RunResult, reasons: bool) {
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
    say(&tables::text(result, reasons));
}
