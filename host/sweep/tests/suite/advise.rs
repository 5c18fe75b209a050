//! Advice: it is right where the answer is known, and its output is complete.

use kinglet_sweep::advise::{Advice, AdviceConfig, AdviseError, Kept, Objective, advise, code};
use kinglet_sweep::sweep::{Base, Journal};
use std::path::Path;
use std::sync::Mutex;

/// Advised settings of each kind as code, which must compile.
#[allow(dead_code, unreachable_pub, reason = "a device would use it")]
mod advised {
    include!("advised/all.rs");
}

const LINE: &str = "duration_s = 20\ntopology = { line = { hops = 2 } }\n";
const FLOW: &str = "[[flow]]\nkind = 'tcp-bulk'\nfrom = 2\nto = 0\n";

fn base(text: &str) -> Base {
    Base::from_table("s.toml".as_ref(), text.parse().expect("valid TOML")).expect("new names")
}

fn of(text: &str, config: AdviceConfig<'_>) -> Result<Advice, AdviseError> {
    let config = AdviceConfig { confirmations: 4, ..config };
    advise(&base(text), &config).map(|advice| advice.expect("nobody cancels it"))
}

fn goodput(runs: usize) -> AdviceConfig<'static> {
    AdviceConfig { runs, ..AdviceConfig::new(Objective::Goodput) }
}

/// A fifth of the frames is lost, and none is retransmitted.
#[test]
fn a_plainly_wrong_setting_is_corrected() {
    let text =
        format!("{LINE}medium = {{ frame_loss = 0.2 }}\nmac = {{ max_frame_retries = 0 }}\n{FLOW}");
    let advice = of(&text, goodput(120)).expect("advice");
    let retries = advice.changes.iter().find(|it| it.name == "mac.max_frame_retries");
    let retries = retries.expect("that is what is wrong");
    assert_eq!(retries.before, "0");
    let worth = retries.worth.expect("it is possible without");
    assert!(worth.mean > 0.5 && worth.sure > 0.95, "{worth:?}");
    assert!(advice.gain.mean > 1.0 && advice.after > advice.before, "{:?}", advice.gain);
    assert!(advice.toml.contains("max_frame_retries = "), "{}", advice.toml);
}

#[test]
fn the_same_question_has_the_same_answer_whatever_the_threads() {
    let text = format!("{LINE}mac = {{ retry_delay_ms = 0 }}\n{FLOW}");
    let [one, two] =
        [1, 2].map(|jobs| of(&text, AdviceConfig { jobs, ..goodput(60) }).expect("advice"));
    assert_eq!(format!("{one:?}"), format!("{two:?}"));
}

#[test]
fn buffers_stay_within_the_budget_or_there_is_no_advice() {
    let text = format!("{LINE}tcp = {{ mss_frames = 8 }}\n{FLOW}");
    let within = |budget| of(&text, AdviceConfig { budget: Some(budget), ..goodput(60) });
    let advice = within(1_500).expect("advice");
    assert!(advice.buffers[0] > 1_500 && advice.buffers[1] <= 1_500, "{:?}", advice.buffers);
    let error = within(10).expect_err("no segment is that small");
    assert_eq!(error.to_string(), "nothing that was tried fits into 10 octets of buffers");
}

#[test]
fn nothing_is_chosen_with_seeds_of_results_or_of_confirmations() {
    for (seed, range) in [(101, "report"), (1_000_000, "test")] {
        let error = of(&format!("seed = {seed}\n{LINE}{FLOW}"), goodput(60)).expect_err(range);
        let why =
            format!("`seed` {seed} is a {range} seed: settings are chosen with seeds 0 to 100");
        assert_eq!(error.to_string(), why);
    }
    assert!(of(&format!("seed = 100\n{LINE}{FLOW}"), goodput(60)).is_ok());
}

#[test]
fn unmeasurable_and_unreadable_input_is_reported() {
    let error = of(LINE, goodput(60)).expect_err("no flow");
    assert_eq!(
        error.to_string(),
        "the scenario has nothing to measure goodput by: no flow is of a kind that has this value"
    );
    let error =
        of(&format!("{LINE}mac = {{ max_be = 9 }}\n{FLOW}"), goodput(60)).expect_err("a typo");
    assert!(error.to_string().contains("mac.max_be: 9 is out of range"), "{error}");
}

/// Settings of every kind produce the code of `tests/suite/advised/all.rs`.
#[test]
fn settings_of_every_kind_come_as_code_that_compiles() {
    let text = format!(
        "{LINE}\
         radio = {{ profile = 'nrf52840' }}\n\
         mac = {{ max_frame_retries = 3, retry_delay_ms = 0, adaptive_retry_delay = false, \
         backoff = 'tinyos' }}\n\
         net = {{ routing = 'aodv', aodv_metric = 'hop-count', aodv_link_probes = false, \
         relays_yield = false, queue_packets = 7 }}\n\
         tcp = {{ mss_frames = 2, window_limit = 2, window_by_hops = true, acks = 'positive', \
         ack_every = 1, ack_rate_request = true, ack_delay_ms = 0, rto = 'static', \
         pacing = false, sack = false, \
         nagle = false, min_rto_ms = 500, initial_rto_ms = 500, recovery = 'timeout', \
         link_losses = false, initial_window = 1, max_retransmits = 8, ecn = true, \
         timestamps = true, adaptive_segments = true, congestion = 'westwood' }}\n\
         leaf = {{ polling = 'fixed', csl_period_ms = 250 }}\n{FLOW}"
    );
    let waking = "radio = { profile = 'nrf52840' }\n\
                  wake = { rate_hz = 4, burst_ms = 100, sleep_in_gaps = false, \
                  max_attempts = 5 }\n";
    let [all, wake] = [text, format!("{LINE}{waking}{FLOW}")].map(|text| {
        let base = base(&text);
        code(&base.read(base.table()).expect("a scenario"))
    });
    let (_, wake) = wake.split_once("\n/// For `Node::set_wake`").expect("they sleep");
    let code = format!("{all}\n/// For `Node::set_wake`{wake}");
    assert_eq!(
        code,
        include_str!("advised/all.rs"),
        "tests/suite/advised/all.rs should be\n{code}"
    );
}

/// Results in the journal are not simulated again, and do not change the advice.
#[test]
fn finished_runs_of_the_journal_are_not_repeated() {
    let file = std::env::temp_dir().join(format!("kinglet-advice-{}", std::process::id()));
    let text = format!("{LINE}{FLOW}");
    let with_journal = || {
        let (journal, finished) = Journal::open(&file, "this").expect("a journal");
        let kept = Mutex::new(Kept::new(journal, finished));
        let before = kept.lock().expect("one thread").len();
        let advice = of(&text, AdviceConfig { kept: Some(&kept), ..goodput(60) }).expect("advice");
        (before, kept.lock().expect("one thread").len(), format!("{advice:?}"))
    };
    let first = with_journal();
    let again = with_journal();
    std::fs::remove_file(&file).expect("it was there");
    assert!(first.0 == 0 && first.1 > 60, "{first:?}");
    assert_eq!((again.0, again.1, &again.2), (first.1, first.1, &first.2));
}

/// The main point of the paper's experiment, with the paper's settings.
#[test]
fn advice_on_the_scenario_of_a_paper_is_better_than_what_the_paper_had() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/tcplp-hops/plan.toml");
    let mut table = Base::from_file(&file).expect("it is there").table().clone();
    // A fifth of its duration suffices.
    table.insert("duration_s".to_owned(), 60.into());
    let base = Base::from_table(&file, table).expect("new names");
    let config = AdviceConfig { confirmations: 4, ..goodput(100) };
    let advice = advise(&base, &config).expect("advice").expect("nobody cancels it");
    assert!(advice.gain.mean > 0.0 && advice.gain.sure > 0.9, "{:?}", advice.gain);
}
