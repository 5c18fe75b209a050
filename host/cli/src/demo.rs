//! `kinglet` without arguments: a first look that takes about a minute.

use crate::exit::{Code, Failure, cancel_on_ctrl_c, code_of, say};
use crate::lab_cmd::{DEFAULT_OUT, print_tables, run_plans, write_files};
use kinglet_lab::experiment::{self, Effort, Experiment};
use kinglet_lab::run::{self, Options};
use std::path::Path;
use std::sync::atomic::Ordering;

const IDS: [&str; 3] = ["tcplp-hops", "tcplp-mss", "tcplp-retry-delay"];

pub(crate) fn run() -> Result<Code, Failure> {
    eprintln!(
        "Kinglet repeats three experiments of \"Performant TCP for Low-Power Wireless Networks\"\n\
         in quick form (60 s of network time, 2 seeds per point)."
    );
    let experiments: Vec<&'static Experiment> =
        IDS.iter().filter_map(|id| experiment::find(id)).collect();
    let effort = Effort::Quick;
    let (outcome, verdicts) = run_plans(&experiments, effort, effort.default_seeds(), 0)?;
    print_tables(&outcome, &verdicts);
    let dir = Path::new(DEFAULT_OUT);
    let page = write_files(dir, "kinglet", &outcome, &verdicts)?;
    say(&format!("\nreport   {}\n", page.display()));
    if outcome.interrupted || cancel_on_ctrl_c().load(Ordering::Relaxed) {
        return Ok(Code::Interrupted);
    }
    let pcap = dir.join("three-hops.pcap");
    capture(&experiments, &pcap)?;
    say(&format!("capture  {} (opens in Wireshark)\n", pcap.display()));
    say("\nNext:\n  \
         kinglet lab run all                                  every experiment, in full\n  \
         kinglet sim host/lab/scenarios/annotated.toml        a scenario of your own\n  \
         kinglet gateway host/lab/scenarios/web.toml          curl a mote from this machine\n");
    // The demonstration shows; `lab check` judges.
    Ok(Code::Success)
}

/// Ten seconds of the transfer over three hops.
fn capture(experiments: &[&'static Experiment], path: &Path) -> Result<(), Failure> {
    let hops = experiments.iter().find(|e| e.id == "tcplp-hops");
    let points = hops.map(|e| (e.plan)(Effort::Quick)).unwrap_or_default();
    let Some(point) = points.into_iter().find(|p| p.label == "hops=3") else { return Ok(()) };
    let mut scenario = point.scenario;
    scenario.duration_s = 10.0;
    let options = Options { pcap: Some(path.to_path_buf()), ..Options::default() };
    match run::run(&scenario, 1, &options) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure { code: code_of(&error), message: error.to_string() }),
    }
}
