//! `kinglet sweep`: a scenario with fields varied, on all cores.

use crate::exit::{Code, Failure, cancel_on_ctrl_c, code_of, say, writable};
use crate::progress::Progress;
use kinglet_lab::report::picture;
use kinglet_lab::sweep::{self, Config, Finished, Format, Journal, JournalError, Plan};
use kinglet_lab::sweep::{FieldWorth, Sweep, SweepError, Table, Worth};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  kinglet sweep host/lab/sweeps/window.toml
  kinglet sweep mine.toml --out mine.csv --out mine.parquet --jobs 4
  kinglet sweep mine.toml --json | jq '.rows[].goodput_kbps'
  kinglet sweep mine.toml --effects goodput_kbps --by hops --plot effects.svg

What a sweep file says is described in host/lab/SWEEPS.md.
What is finished is in the journal: after Ctrl-C, a crash or a full disk the same command goes on.
The same file and program give the same rows in the same order, with any number of threads.")]
pub(crate) struct Args {
    /// What is varied
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// Where rows go, as CSV or Parquet by the name's end; may be given more than once
    /// [default: the sweep's name with .csv, in this directory; none with --json]
    #[arg(long, value_name = "FILE")]
    out: Vec<PathBuf>,
    /// Where finished runs are kept  [default: the sweep's name with .journal, in this directory]
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Threads  [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    jobs: Option<u16>,
    /// What each field is worth for this column, alone and with another, and the best combinations
    #[arg(long, value_name = "COLUMN")]
    effects: Option<String>,
    /// The same for the rows of each rounded value of this column, as `hops`
    #[arg(long, value_name = "COLUMN", requires = "effects")]
    by: Option<String>,
    /// A picture of what differences come from
    #[arg(long, value_name = "FILE.svg", requires = "effects")]
    plot: Option<PathBuf>,
    /// Rows as JSON on standard output, and effects with them
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
            SweepError::Run(error) => Failure { code: code_of(&error), message: error.to_string() },
            SweepError::Journal(error) => error.into(),
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<Code, Failure> {
    let outs = outs(args)?;
    let plan = Plan::new(Sweep::from_file(&args.file)?)?;
    let journal = args.journal.clone().unwrap_or_else(|| beside_here(&args.file, "journal"));
    let (mut journal, mut finished) = Journal::open(&journal, &program()?)?;
    tell(&plan, &finished, journal.path());
    let cancel = cancel_on_ctrl_c();
    complete(&plan, &mut finished, &mut journal, args.jobs, cancel)?;
    let left = plan.pending(&finished).len();
    if left > 0 {
        let journal = journal.path().display();
        let done = plan.runs().len() - left;
        eprintln!(
            "kinglet: {done} of {} runs are finished, and kept in {journal}; the same \
                   command goes on",
            plan.runs().len()
        );
        return Ok(Code::Interrupted);
    }
    let table = plan.table(&finished);
    // Before anything is written, as it may be told that there is no such column.
    let worth = worth(args, &plan, &finished)?;
    for (format, file) in &outs {
        sweep::write(&table, *format, file).map_err(|e| Failure::io(file, &e))?;
    }
    if args.json {
        say(&json(&table, worth.as_ref()));
    } else {
        let files: Vec<String> = outs.iter().map(|(_, file)| file.display().to_string()).collect();
        say(&format!(
            "{} runs, {} rows of {} columns: {}\n",
            plan.runs().len(),
            table.rows(),
            table.columns.len(),
            files.join(", ")
        ));
        worth.iter().for_each(|worth| say(&text(worth)));
    }
    Ok(Code::Success)
}

/// What is asked for with `--effects`, and its picture.
fn worth(args: &Args, plan: &Plan, finished: &Finished) -> Result<Option<Worth>, Failure> {
    let Some(column) = &args.effects else { return Ok(None) };
    let worth = Worth::of(plan, finished, column, args.by.as_deref()).map_err(Failure::usage)?;
    if let Some((file, figure)) = args.plot.as_ref().zip(worth.figure()) {
        std::fs::write(file, picture(&figure)).map_err(|e| Failure::io(file, &e))?;
    }
    Ok(Some(worth))
}

/// What fields are worth, for people.
fn text(worth: &Worth) -> String {
    let mut text = String::new();
    for group in &worth.groups {
        let of = group.of.as_ref().map_or(String::new(), |(by, kind)| format!(", {by} = {kind}"));
        let _ = writeln!(text, "\n{}{of} ({} runs)", worth.column, group.runs);
        for FieldWorth { field, share, values } in &group.fields {
            let _ = writeln!(text, "  {field}: {share:.1} % of the variance");
            for (value, effect, half) in values {
                let _ = writeln!(text, "    {value:12} {effect:+6.1} % ± {half:.1}");
            }
        }
        for (a, b, share) in group.pairs.iter().filter(|(.., share)| *share >= TOLD) {
            let _ = writeln!(text, "  {a} with {b}: {share:.1} % more");
        }
        let _ = writeln!(text, "  best:");
        for (values, mean) in &group.best {
            let said = values.iter().map(|(name, value)| format!("{name} = {value}"));
            let said = said.collect::<Vec<_>>().join(", ");
            let _ = writeln!(text, "    {mean:.3} {}: {said}", worth.unit);
        }
    }
    text
}

/// Pairs of fields that explain less than this, in per cent, are not told of.
const TOLD: f64 = 0.5;

/// Where rows go, all of which can be written.
fn outs(args: &Args) -> Result<Vec<(Format, PathBuf)>, Failure> {
    let mut files = args.out.clone();
    if files.is_empty() && !args.json {
        files.push(beside_here(&args.file, "csv"));
    }
    let mut outs = Vec::new();
    for file in files {
        let Some(format) = Format::of(&file) else {
            let message = format!("{}: rows go to a .csv or a .parquet", file.display());
            return Err(Failure::usage(message));
        };
        // Before the simulations, which may take long.
        writable(&file)?;
        outs.push((format, file));
    }
    Ok(outs)
}

/// A file in this directory that is called as the sweep, but for its end.
pub(crate) fn beside_here(sweep: &Path, extension: &str) -> PathBuf {
    Path::new(sweep.file_stem().unwrap_or("sweep".as_ref())).with_extension(extension)
}

/// What tells this build from others.
pub(crate) fn program() -> Result<String, Failure> {
    let path = std::env::current_exe().map_err(|e| Failure::io(Path::new("kinglet"), &e))?;
    sweep::digest(&path).map_err(|e| Failure::io(&path, &e))
}

/// Says on standard error what of earlier sweeps there is.
fn tell(plan: &Plan, finished: &Finished, journal: &Path) {
    let (strangers, journal) = (plan.strangers(finished), journal.display());
    let runs = plan.runs().len();
    let done = runs - plan.pending(finished).len();
    if strangers > 0 {
        eprintln!("kinglet: the sweep has changed: {strangers} runs in {journal} are not of it");
    }
    if !finished.is_empty() {
        eprintln!("kinglet: {done} of {runs} runs are in {journal} already");
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
    let config = Config { jobs: jobs.map_or(0, usize::from), cancel, progress: &update };
    Ok(sweep::run(plan, finished, Some(journal), config)?)
}

fn json(table: &Table, worth: Option<&Worth>) -> String {
    let rows: Vec<_> = (0..table.rows()).map(|row| table.row(row)).collect();
    let mut document = serde_json::json!({ "units": table.units(), "rows": rows });
    if let Some(worth) = worth {
        document["effects"] = serde_json::json!(worth);
    }
    format!("{document:#}\n")
}
