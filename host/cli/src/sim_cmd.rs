//! `kinglet sim`: one scenario, once.

use crate::exit::{Code, Failure, cancel_on_ctrl_c, code_of, say, write};
use kinglet_lab::report::{self, Header};
use kinglet_lab::run::{self, Options, RunResult};
use kinglet_lab::scenario::Scenario;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  kinglet sim host/lab/scenarios/annotated.toml
  kinglet sim mine.toml --seed 7 --pcap mine.pcap --trace mine.txt
  kinglet sim host/lab/scenarios/office.toml --report office.html --timeline 60..180
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
    /// Write every frame on the air to a capture file
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
    timeline: (f64, f64),
    /// Results as JSON on standard output
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> Result<Code, Failure> {
    let scenario = Scenario::from_file(&args.file)?;
    let cancel = cancel_on_ctrl_c();
    let options = Options {
        pcap: args.pcap,
        trace: args.trace,
        timeline_s: args.report.as_ref().map(|_| args.timeline),
        cancel: Some(cancel),
        ..Options::default()
    };
    let seed = args.seed.unwrap_or(scenario.seed);
    let result = run::run(&scenario, seed, &options)
        .map_err(|e| Failure { code: code_of(&e), message: e.to_string() })?;
    let stopped = cancel.load(Ordering::Relaxed);
    if let Some(path) = &args.report {
        let command = format!("kinglet sim {} --seed {seed}", args.file.display());
        let version = env!("CARGO_PKG_VERSION");
        let header = Header { command: &command, version, interrupted: stopped };
        write(path, &report::one_run(&header, &scenario, &result, args.timeline))?;
    }
    if args.json {
        let text = serde_json::to_string_pretty(&result)
            .map_err(|e| Failure { code: Code::Io, message: e.to_string() })?;
        say(&format!("{text}\n"));
    } else {
        print(&scenario, seed, &result);
    }
    Ok(if stopped { Code::Interrupted } else { Code::Success })
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
        "{:.3} simulated seconds in {:.3} s ({:.0} times real time), {} events\n\n",
        result.sim_seconds,
        result.wall_seconds,
        result.sim_seconds / result.wall_seconds.max(1e-9),
        result.events
    ));
    say("flow            from    to   kb/s     bytes  retrans  loss %  RTT ms  intact\n");
    for flow in &result.flows {
        let rtt = flow.rtt_ms.map_or_else(|| "–".to_owned(), |ms| format!("{ms:.1}"));
        say(&format!(
            "{:<14} {:>5} {:>5} {:>6.1} {:>9} {:>8} {:>7.2} {rtt:>7}  {}\n",
            flow.kind,
            flow.from,
            flow.to,
            flow.goodput_kbps,
            flow.bytes,
            flow.retransmissions,
            flow.segment_loss * 100.0,
            if flow.intact { "yes" } else { "NO" }
        ));
    }
    say("\nnode    frames  failed  queue drops  radio on %  radio mJ   CPU %  CPU mJ\n");
    for node in &result.nodes {
        say(&format!(
            "{:>4} {:>9} {:>7} {:>12} {:>11.2} {:>9.1} {:>7.3} {:>7.1}\n",
            node.id,
            node.frames_sent,
            node.frames_failed,
            node.queue_drops,
            node.duty_cycle * 100.0,
            node.energy_mj,
            node.cpu_duty_cycle * 100.0,
            node.cpu_mj
        ));
    }
    print_ledger(result);
}

/// What radios were on for.
fn print_ledger(result: &RunResult) {
    say("\nradio on, % of the time, for\nnode ");
    let Some(first) = result.nodes.first() else { return };
    first.radio_s.parts().iter().for_each(|(name, _)| say(&format!("{name:>9}")));
    say("      sum\n");
    for node in &result.nodes {
        say(&format!("{:>4} ", node.id));
        let share = |seconds: f64| 100.0 * seconds / result.sim_seconds.max(1e-9);
        let parts = node.radio_s.parts();
        parts.iter().for_each(|(_, seconds)| say(&format!("{:>9.3}", share(*seconds))));
        let sum: f64 = parts.iter().map(|(_, seconds)| seconds).sum();
        say(&format!("{:>9.3}\n", share(sum)));
    }
}
