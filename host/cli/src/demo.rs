//! `kinglet` without arguments: a first look that takes less than a minute.

use crate::exit::{Code, Failure, cancel_on_ctrl_c, say};
use crate::lab_cmd::{DEFAULT_OUT, prepare, print_tables, run_plans, write_files};
use kinglet_lab::experiment::{self, Effort, Experiment};
use std::path::Path;
use std::sync::atomic::Ordering;

const IDS: [&str; 3] = ["tcplp-hops", "tcplp-mss", "tcplp-retry-delay"];
/// Fewer than for the record: a first look should take less than a minute on two cores.
const SEEDS: u32 = 3;

pub(crate) fn run() -> Result<Code, Failure> {
    let effort = Effort::Quick;
    eprintln!(
        "Kinglet repeats three experiments of \"Performant TCP for Low-Power Wireless Networks\"\n\
         in quick form: {} s of network time, {} seeds per point.",
        effort.seconds(),
        SEEDS
    );
    let dir = Path::new(DEFAULT_OUT);
    prepare(dir)?;
    let experiments: Vec<&'static Experiment> =
        IDS.iter().filter_map(|id| experiment::find(id)).collect();
    let (outcome, verdicts) = run_plans(&experiments, effort, (1, SEEDS), 0)?;
    print_tables(&outcome, &verdicts);
    let page = write_files(dir, "kinglet", &outcome, &verdicts)?;
    say(&format!("\nreport    {}\n", page.display()));
    say(&format!(
        "captures  {}/*.pcap (WIRESHARK_CONFIG_DIR=FILE.pcap.profile wireshark FILE.pcap)\n",
        dir.display()
    ));
    if outcome.interrupted || cancel_on_ctrl_c().load(Ordering::Relaxed) {
        return Ok(Code::Interrupted);
    }
    say("\nNext:\n  \
         kinglet lab run all                                  every experiment, in full\n  \
         kinglet sim host/lab/scenarios/annotated.toml        a scenario of your own\n  \
         kinglet gateway examples/gateway-office.toml         curl motes that sleep\n");
    // The demonstration shows; `lab check` judges.
    Ok(Code::Success)
}
