//! `kinglet` without arguments: three questions, answered in less than a minute.

use crate::exit::{Code, Failure, cancel_on_ctrl_c, say};
use crate::lab_cmd::{DEFAULT_OUT, report_files, run_plans};
use kinglet_lab::demonstration::{self, IDS, SEEDS};
use kinglet_lab::experiment;
use kinglet_sweep::experiment::{Effort, Experiment};
use std::path::Path;
use std::sync::atomic::Ordering;

pub(crate) fn run() -> Result<Code, Failure> {
    say(&format!(
        "Kinglet {}: TCP/IPv6 for IEEE 802.15.4, simulated frame by frame.\n\
         Three questions ({} s of network time and {SEEDS} seeds per point):\n\n",
        env!("CARGO_PKG_VERSION"),
        Effort::Quick.seconds()
    ));
    let dir = Path::new(DEFAULT_OUT);
    let experiments: Vec<&'static Experiment> =
        IDS.iter().filter_map(|id| experiment::find(id)).collect();
    let (files, outputs) = report_files(dir, &experiments)?;
    let (outcome, verdicts) = run_plans(&experiments, Effort::Quick, (1, SEEDS), 0)?;
    let questions = demonstration::questions(&outcome.experiments);
    let questions = questions.as_ref().map_or(&[][..], |questions| questions);
    say(&demonstration::text(questions));
    files.write(&outputs, "kinglet", questions, &outcome, &verdicts)?;
    let passed = verdicts.iter().filter(|verdict| verdict.holds == Some(true)).count();
    say(&format!(
        "Page      {}: the plots, methods, {} claims ({passed} pass)\n\
         Captures  {}/*.pcap, for Wireshark\n",
        outputs.path(files.page).display(),
        verdicts.len(),
        dir.display()
    ));
    if outcome.interrupted || cancel_on_ctrl_c().load(Ordering::Relaxed) {
        return Ok(Code::Interrupted);
    }
    say(&next(&called()));
    // The demonstration has no exit code for failures; `kinglet lab check` has.
    Ok(Code::Success)
}

/// The command by which the program was called, if it is short.
fn called() -> String {
    const LONGEST: usize = 24;
    let called = std::env::args().next().filter(|called| called.len() <= LONGEST);
    called.unwrap_or_else(|| "kinglet".to_owned())
}

fn next(kinglet: &str) -> String {
    format!(
        "\nNext: a network of your own, all experiments, curl to simulated motes\n  \
         {kinglet} sim host/lab/scenarios/annotated.toml\n  \
         {kinglet} lab list\n  \
         {kinglet} gateway --help\n"
    )
}
