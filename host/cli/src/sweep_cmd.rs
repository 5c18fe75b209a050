//! `kinglet sweep`: a scenario with fields varied, on all cores.

use crate::columns;
use crate::exit::{Code, Failure, cancel_on_ctrl_c, note, say};
use crate::outputs::{Files, Input, Output, Outputs, Slot};
use crate::progress::Progress;
use crate::sim_cmd::warn_renamed;
use kinglet_network::table::{self, Format, Table};
use kinglet_report::page::picture;
use kinglet_sweep::sweep::{self, Finished, Journal, JournalError, Plan, SweepConfig};
use kinglet_sweep::sweep::{FieldEffect, FieldEffects, Sweep, SweepError};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

#[derive(clap::Args)]
#[command(after_help = "\
Examples, from the project's root:
  kinglet sweep host/lab/sweeps/window.toml
  kinglet sweep host/lab/sweeps/window.toml --out a.csv --out a.parquet --jobs 4
  kinglet sweep host/lab/sweeps/window.toml --json > window.json
  kinglet sweep host/lab/sweeps/window.toml --effects goodput_kbps --plot a.svg

host/lab/SWEEPS.md describes sweep files and the columns of the table.
The journal has every finished run: after Ctrl-C, a crash or a full disk the
same command continues. The same sweep and program give the same rows in the
same order, with any number of threads.")]
pub(crate) struct Args {
    /// The sweep: a scenario, and fields of it with lists of values
    #[arg(value_name = "FILE.toml")]
    file: Input,
    /// Write the table as .csv or .parquet; repeatable
    /// [default: FILE.csv here; none with --json]
    #[arg(long, value_name = "FILE", verbatim_doc_comment)]
    out: Vec<Output>,
    /// Keep finished runs in this file
    /// [default: FILE.journal here]
    #[arg(long, value_name = "FILE", verbatim_doc_comment)]
    journal: Option<Output>,
    /// Threads  [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    jobs: Option<u16>,
    /// Print the effect of each field, and of each pair, on
    /// this column, and the best combinations
    #[arg(long, value_name = "COLUMN", verbatim_doc_comment)]
    effects: Option<String>,
    /// Print them also for each rounded value of this
    /// column, such as `hops`
    #[arg(long, value_name = "COLUMN", requires = "effects", verbatim_doc_comment)]
    by: Option<String>,
    /// Draw the effects
    #[arg(long, value_name = "FILE.svg", requires = "effects")]
    plot: Option<Output>,
    /// Print rows and effects as JSON
    #[arg(long)]
    json: bool,
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        let code = match error {
            JournalError::Unreadable { .. } | JournalError::Io { .. } => Code::Io,
            _ => Code::Usage,
        };
        Failure { code, message: error.to_string() }
    }
}

impl From<SweepError> for Failure {
    fn from(error: SweepError) -> Self {
        match error {
            SweepError::Scenario(error) => error.into(),
            SweepError::Run(error) => error.into(),
            SweepError::Journal(error) => error.into(),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<Code, Failure> {
    let mut files = Files::default();
    let file = files.reads("the sweep", &args.file);
    let outs = outs(args, file, &mut files)?;
    let journal = files.writes_or("--journal", args.journal.as_ref(), || here(file, "journal"));
    let plot = args.plot.as_ref().map(|plot| files.writes("--plot", plot));
    let sweep = Sweep::from_file(file)?;
    warn_renamed(sweep.renamed());
    let plan = Plan::new(sweep)?;
    for (option, column) in [("--effects", &args.effects), ("--by", &args.by)] {
        column.iter().try_for_each(|column| columns::check(option, column))?;
    }
    let outputs = files.check()?;
    let (mut journal, mut finished) = Journal::open(outputs.path(journal), &program()?)?;
    report_found(&plan, &finished, journal.path());
    let cancel = cancel_on_ctrl_c();
    complete(&plan, &mut finished, &mut journal, args.jobs, cancel)?;
    let left = plan.pending(&finished).len();
    if left > 0 {
        let (runs, kept) = (plan.runs().len(), journal.path().display());
        note(&match runs - left {
            0 => format!("none of {runs} runs has finished"),
            done => format!(
                "{done} of {runs} runs are finished and kept in {kept}; the same command continues"
            ),
        });
        return Ok(Code::Interrupted);
    }
    let table = plan.table(&finished);
    // Each is tried, whatever the result of the others.
    let mut whole = true;
    for (format, out) in &outs {
        whole &= outputs.write_by(*out, |file| table::write(&table, *format, file));
    }
    let effects = effects(args, &plan, &finished)?;
    if let Some((plot, figure)) = plot.zip(effects.as_ref().and_then(FieldEffects::figure)) {
        whole &= outputs.write(plot, &picture(&figure));
    }
    if !whole {
        let kept = journal.path().display();
        note(&format!("the runs are kept in {kept}; the same command writes the missing files"));
    }
    if args.json {
        say(&json(&table, effects.as_ref()));
    } else {
        say(&summary(&plan, &table, &outs, &outputs));
        effects.iter().for_each(|effects| say(&text(effects)));
    }
    Ok(Code::Success)
}

fn summary(plan: &Plan, table: &Table, outs: &[(Format, Slot)], outputs: &Outputs) -> String {
    let (runs, rows, columns) = (plan.runs().len(), table.rows(), table.columns.len());
    let files = outs.iter().map(|(_, out)| outputs.path(*out).display().to_string());
    let files: Vec<String> = files.collect();
    format!("{runs} runs, {rows} rows of {columns} columns: {}\n", files.join(", "))
}

/// The effects that `--effects` asks for.
fn effects(args: &Args, plan: &Plan, finished: &Finished) -> Result<Option<FieldEffects>, Failure> {
    let Some(column) = &args.effects else { return Ok(None) };
    let effects = FieldEffects::of(plan, finished, column, args.by.as_deref());
    effects.map(Some).map_err(|why| Failure::usage(format!("--effects: {why}")))
}

/// The effects as text.
fn text(effects: &FieldEffects) -> String {
    let mut text = String::new();
    for group in &effects.groups {
        let of = group.of.as_ref().map_or(String::new(), |(by, kind)| format!(", {by} = {kind}"));
        let _ = writeln!(text, "\n{}{of} ({} runs)", effects.column, group.runs);
        for FieldEffect { field, share, values } in &group.fields {
            let _ = writeln!(text, "  {field}: {share:.1} % of the variance");
            for (value, effect, half) in values {
                let _ = writeln!(text, "    {value:12} {effect:+6.1} % ± {half:.1}");
            }
        }
        for (a, b, share) in group.pairs.iter().filter(|(.., share)| *share >= SHOWN) {
            let _ = writeln!(text, "  {a} with {b}: {share:.1} % more");
        }
        let _ = writeln!(text, "  best:");
        for (values, mean) in &group.best {
            let said = values.iter().map(|(name, value)| format!("{name} = {value}"));
            let said = said.collect::<Vec<_>>().join(", ");
            let _ = writeln!(text, "    {mean:.3} {}: {said}", effects.unit);
        }
    }
    text
}

/// Pairs of fields that explain less than this, in per cent, are not printed.
const SHOWN: f64 = 0.5;

/// The files of the table, with their formats.
fn outs(args: &Args, file: &Path, files: &mut Files) -> Result<Vec<(Format, Slot)>, Failure> {
    if args.out.is_empty() && !args.json {
        return Ok(vec![(Format::Csv, files.writes_or("--out", None, || here(file, "csv")))]);
    }
    let declare = |out: &Output| Ok((out.format(Format::of)?, files.writes("--out", out)));
    args.out.iter().map(declare).collect()
}

/// A file in the working directory with the name of the sweep and another extension.
pub(crate) fn here(sweep: &Path, extension: &str) -> PathBuf {
    Path::new(sweep.file_stem().unwrap_or("sweep".as_ref())).with_extension(extension)
}

/// Identifier of this build.
pub(crate) fn program() -> Result<String, Failure> {
    let path = std::env::current_exe().map_err(|e| Failure::io(Path::new("kinglet"), &e))?;
    sweep::digest(&path).map_err(|e| Failure::io(&path, &e))
}

/// Prints the number of runs that are already in the journal to standard error.
fn report_found(plan: &Plan, finished: &Finished, journal: &Path) {
    let (strangers, journal) = (plan.strangers(finished), journal.display());
    let runs = plan.runs().len();
    let done = runs - plan.pending(finished).len();
    if strangers > 0 {
        note(&format!("the sweep has changed: {strangers} runs in {journal} are not part of it"));
    }
    if done > 0 {
        note(&format!("{done} of {runs} runs are in {journal} already"));
    }
}

fn complete(
    plan: &Plan,
    finished: &mut Finished,
    journal: &mut Journal,
    jobs: Option<u16>,
    cancel: &AtomicBool,
) -> Result<(), Failure> {
    let progress = Progress::of_simulations();
    let update = |done, planned| progress.update(done, planned);
    let config = SweepConfig { jobs: jobs.map_or(0, usize::from), cancel, progress: &update };
    Ok(sweep::run(plan, finished, Some(journal), config)?)
}

fn json(table: &Table, effects: Option<&FieldEffects>) -> String {
    let rows: Vec<_> = (0..table.rows()).map(|row| table.row(row)).collect();
    let mut document = serde_json::json!({ "units": table.units(), "rows": rows });
    if let Some(effects) = effects {
        document["effects"] = serde_json::json!(effects);
    }
    format!("{document:#}\n")
}
