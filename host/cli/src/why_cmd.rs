//! `kinglet why`: which packets of a trace were lost or late, where and why.

use crate::exit::{Code, Failure, note, say};
use crate::outputs::{Files, Input};
use kinglet_network::trace::{Case, Fate, Trace, TraceError, Wanted, read, why};
use std::collections::BTreeMap;
use std::path::Path;

#[derive(clap::Args)]
#[command(after_help = "\
Examples, from the project's root:
  kinglet sim host/lab/scenarios/lossy.toml --trace run.jsonl
  kinglet why run.jsonl
  kinglet why run.jsonl --flow 0 --lost
  kinglet why run.jsonl --packet 12

A packet is lost if it did not arrive and its data were sent again, or it was
given up. It is late if it arrived after its data had been sent again. A summary
with a line for each cause comes last.")]
pub(crate) struct Args {
    /// The trace, written by `kinglet sim --trace`
    #[arg(value_name = "FILE")]
    trace: Input,
    /// Only packets of this flow, counted from 0 in the order
    /// of the scenario
    #[arg(long, value_name = "N", verbatim_doc_comment)]
    flow: Option<u64>,
    /// Only this packet, whatever its fate
    #[arg(long, value_name = "N", conflicts_with_all = ["flow", "lost", "acks"])]
    packet: Option<u64>,
    /// Only lost packets, without late ones
    #[arg(long)]
    lost: bool,
    /// Also segments without data: bare acknowledgments
    #[arg(long)]
    acks: bool,
    /// Print the packets as JSON
    #[arg(long)]
    json: bool,
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        let code = if error.io { Code::Io } else { Code::Usage };
        Failure { code, message: error.to_string() }
    }
}

pub(crate) fn run(args: &Args) -> Result<Code, Failure> {
    let mut files = Files::default();
    let path = files.reads("the trace", &args.trace);
    let wanted =
        Wanted { flow: args.flow, packet: args.packet, lost_only: args.lost, acks: args.acks };
    let mut trace = read(path)?;
    let cases = why(&mut trace, &wanted);
    note_end(path, &trace);
    let cases =
        cases.map_err(|message| Failure::usage(format!("{}: {message}", path.display())))?;
    if args.json {
        let text = serde_json::to_string_pretty(&cases)
            .map_err(|e| Failure { code: Code::Io, message: e.to_string() })?;
        say(&format!("{text}\n"));
        return Ok(Code::Success);
    }
    for case in &cases {
        say(&format!("{}\n\n", filled(&case.text)));
    }
    if args.packet.is_none() {
        say(&summary(&trace, &cases));
    }
    Ok(Code::Success)
}

/// Notes that a trace is truncated: the cases are those of its beginning.
fn note_end(path: &Path, trace: &Trace) {
    if let Some(why) = trace.cut_short() {
        let path = path.display();
        note(&format!("{path} was cut short: {why}. The part before that is used"));
    }
}

/// Width of a paragraph in columns.
const WIDTH: usize = 80;

/// The text, broken into lines.
fn filled(text: &str) -> String {
    let (mut out, mut width) = (String::new(), 0);
    for word in text.split(' ') {
        let len = word.chars().count();
        if width > 0 && width + 1 + len > WIDTH {
            out.push('\n');
            width = 0;
        } else if width > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += len;
    }
    out
}

/// Counts of lost and late packets, by flow and cause.
fn summary(trace: &Trace, cases: &[Case]) -> String {
    let mut counts: BTreeMap<(u64, &str, String), u64> = BTreeMap::new();
    for case in cases {
        let fate = if case.fate == Fate::Lost { "lost" } else { "late" };
        let at = match (case.node, case.next) {
            (Some(node), Some(next)) => format!(" from node {node} to node {next}"),
            (Some(node), None) => format!(" at node {node}"),
            _ => String::new(),
        };
        let flow = case.flow.unwrap_or(u64::MAX);
        *counts.entry((flow, fate, format!("{}{at}", case.cause))).or_default() += 1;
    }
    if cases.is_empty() {
        return "No packet was lost or late.\n".to_owned();
    }
    let mut text = String::new();
    let mut last = None;
    for ((flow, fate, cause), count) in counts {
        if last != Some(flow) {
            let kind = trace.names.flows.get(flow as usize).map_or("", |it| it.kind.as_str());
            text.push_str(&format!("Flow {flow} ({kind}):\n"));
            last = Some(flow);
        }
        text.push_str(&format!("  {count:>5} {fate}: {cause}\n"));
    }
    text
}
