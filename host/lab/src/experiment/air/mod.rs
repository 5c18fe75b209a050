//! The simulated medium against an independent model, formulas and another simulator.

mod hidden;
mod loss;
mod model;
mod polls;

use crate::audit::{Audit, audit};
use crate::experiment::{InRust, readme};
use kinglet::Polling;
use kinglet::mac::MacConfig;
use kinglet::time::Duration;
use kinglet_scenario::simulated::profile_of;
use kinglet_scenario::{
    Flow, FlowKind, Link, NodeId, NodePlace, Overlap, Propagation, RadioProfile, Role, SECURITY,
    Scenario,
};
use kinglet_sim::profile::RadioProfile as SimRadio;
use kinglet_sweep::chart::{Figure, curves, overlay};
use kinglet_sweep::experiment::{Effort, ExperimentResult, Point, Rows};
use kinglet_sweep::metric::Metric;
use rayon::prelude::*;

pub(super) const EXPERIMENT: InRust = InRust {
    id: "air-validation",
    readme: readme!("air-validation"),
    source: "own; IEEE 802.15.4-2015, 6.2 and 10.2; IEEE 802.15.4-2006, Annex E",
    main: "radio=standard psdu=60 n=5",
    plan,
    refine,
    figures,
};

const SENDERS: [u32; 7] = [1, 2, 3, 5, 10, 15, 20];
const PSDUS: [u16; 2] = [60, 120];
/// Octets of a datagram's frame in addition to its payload: link header and FCS 11, IPHC 2,
/// compressed UDP header 6.
const OVERHEAD: u16 = 19;
/// Difference in dB between the two hidden senders, and the frames per second of each in ns-3.37
/// (ideal receiver).
const HIDDEN: [(u32, f64, f64); 3] = [(0, 70.5, 69.6), (2, 59.5, 16.5), (6, 94.2, 0.0)];
/// ns-3.37 with its error model switched to strict overlap: n, psdu, frames per second.
const NS3_STRICT: [(u32, u16, f64); 14] = [
    (1, 60, 211.1),
    (2, 60, 199.8),
    (3, 60, 189.4),
    (5, 60, 163.5),
    (10, 60, 104.3),
    (15, 60, 65.0),
    (20, 60, 40.7),
    (1, 120, 150.3),
    (2, 120, 139.4),
    (3, 120, 129.3),
    (5, 120, 109.8),
    (10, 120, 71.5),
    (15, 120, 46.3),
    (20, 120, 29.2),
];
const CSMA_METRICS: &[Metric] = &[
    Metric::FramesAcked,
    Metric::Unacknowledged,
    Metric::AccessFailures,
    Metric::AttemptsPerFrame,
    Metric::FrameCycle,
];
/// Ratios of signal to noise for the ideal receiver, in dB, around its waterfall.
const RATIOS_DB: [f64; 8] = [-3.0, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0];
const FRAMES: u32 = 10_000;
/// Interval between two data requests, in seconds.
const POLL_S: u64 = 1;

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for radio in RadioProfile::CLOSED {
        for psdu in PSDUS {
            for n in SENDERS {
                points.push(Point {
                    label: csma_label(radio, psdu, n),
                    series: series(radio, psdu),
                    x: f64::from(n),
                    scenario: saturated(effort, radio, psdu, n),
                    metrics: CSMA_METRICS,
                    timeline_s: None,
                });
            }
        }
    }
    for radio in RadioProfile::CLOSED {
        for (gap_db, ..) in HIDDEN {
            points.push(Point {
                label: hidden_label(radio, gap_db),
                series: "hidden",
                x: f64::from(gap_db),
                scenario: hidden_pair(effort, radio, gap_db),
                metrics: &[Metric::FramesAcked, Metric::FramesAckedOfSecond],
                timeline_s: None,
            });
        }
    }
    for (radio, secured) in POLLS {
        points.push(Point {
            label: poll_label(radio, secured),
            series: "polls",
            x: 0.0,
            scenario: asking(radio, secured),
            metrics: &[Metric::RadioOnPerPoll, Metric::EnergyPerPoll],
            timeline_s: None,
        });
    }
    points
}

const POLLS: [(RadioProfile, bool); 4] = [
    (RadioProfile::At86rf233, false),
    (RadioProfile::At86rf233, true),
    (RadioProfile::Nrf52840, false),
    (RadioProfile::Nrf52840, true),
];

fn csma_label(radio: RadioProfile, psdu: u16, n: u32) -> String {
    format!("radio={} psdu={psdu} n={n}", radio.name())
}

fn hidden_label(radio: RadioProfile, gap_db: u32) -> String {
    format!("radio={} hidden gap_db={gap_db}", radio.name())
}

fn poll_label(radio: RadioProfile, secured: bool) -> String {
    let security = if secured { "secured" } else { "plain" };
    format!("radio={} poll {security}", radio.name())
}

const fn series(radio: RadioProfile, psdu: u16) -> &'static str {
    match (radio, psdu) {
        (RadioProfile::Standard, 60) => "standard, 60 octets",
        (RadioProfile::Standard, _) => "standard, 120 octets",
        (RadioProfile::At86rf233, 60) => "at86rf233, 60 octets",
        (RadioProfile::At86rf233, _) => "at86rf233, 120 octets",
        (RadioProfile::Nrf52840, 60) => "nrf52840, 60 octets",
        (RadioProfile::Nrf52840, _) => "nrf52840, 120 octets",
        (RadioProfile::Cc2420, _) => "cc2420",
        (RadioProfile::Cc2420Contiki, _) => "cc2420-contiki",
    }
}

/// A node on a line, 10 cm from the next.
fn place(index: u32, role: Role) -> NodePlace {
    NodePlace { x_m: f64::from(index) / 10.0, y_m: 0.0, role, parent: None }
}

/// A sink and `n` senders that always have a frame of `psdu` octets to send.
fn saturated(effort: Effort, radio: RadioProfile, psdu: u16, n: u32) -> Scenario {
    let mut scenario = Scenario {
        name: format!("{n} saturated senders"),
        duration_s: effort.seconds() / 2.0,
        ..Scenario::default().as_tcplp()
    };
    // The standard's retries, with nothing but CSMA-CA between them.
    scenario.mac = MacConfig {
        max_frame_retries: 3,
        retry_delay_max: Duration::ZERO,
        security: None,
        ..scenario.mac
    };
    scenario.radio.profile = radio;
    scenario.medium.overlap = Overlap::Strict;
    let router = (1..=n).map(|index| place(index, Role::Router));
    scenario.nodes = std::iter::once(place(0, Role::BorderRouter)).chain(router).collect();
    let flow = |from: NodeId| {
        let kind = FlowKind::datagrams(from, 0, 1, psdu - OVERHEAD);
        Flow::new(0.0, kind)
    };
    scenario.flows = (1..=n).map(flow).collect();
    scenario
}

/// Two saturated senders out of each other's range.
fn hidden_pair(effort: Effort, radio: RadioProfile, gap_db: u32) -> Scenario {
    let mut scenario = saturated(effort, radio, 120, 2);
    scenario.duration_s = effort.seconds();
    let link = |from: NodeId, rssi_dbm| Link { from, to: 0, loss: 0.0, rssi_dbm, symmetric: true };
    let links = vec![link(1, -60.0), link(2, -60.0 - f64::from(gap_db))];
    scenario.medium.propagation = Propagation::LinkMatrix { links };
    scenario.medium.overlap = Overlap::SinrBer;
    scenario
}

/// A leaf that polls each second and receives no data.
fn asking(radio: RadioProfile, secured: bool) -> Scenario {
    let mut scenario = saturated(Effort::Quick, radio, 60, 1);
    scenario.name = "a leaf that polls and receives no data".to_owned();
    scenario.nodes[1].role = Role::Leaf;
    scenario.mac.security = secured.then_some(SECURITY);
    scenario.polling = Polling::Predictive { base: Duration::from_secs(POLL_S) };
    // No datagram is sent before the end.
    scenario.flows[0].start_s = scenario.duration_s;
    scenario
}

fn refine(rows: &mut Rows) {
    compare_with_model(rows);
    compare_hidden(rows);
    compare_polls(rows);
    compare_losses(rows);
    check_everything(rows);
}

/// The same senders in the independent model.
fn compare_with_model(rows: &mut Rows) {
    for radio in RadioProfile::CLOSED {
        for psdu in PSDUS {
            let results: Vec<_> =
                SENDERS.par_iter().map(|n| (*n, modelled(radio, psdu, *n))).collect();
            for (n, values) in results {
                let (label, series) = (csma_label(radio, psdu, n), series(radio, psdu));
                for (metric, value) in CSMA_METRICS.iter().zip(values) {
                    let name = format!("{}_model", metric.name());
                    rows.compute(&label, series, f64::from(n), (&name, metric.unit()), value);
                }
            }
        }
    }
    for (n, psdu, rate) in NS3_STRICT {
        rows.paper(&csma_label(RadioProfile::Standard, psdu, n), "frames_acked", rate);
    }
}

/// Part of an assessment's 128 us that may hold a signal of -60 dBm before the average reaches the
/// threshold. All signals here have that power.
fn unheard_us(radio: &SimRadio) -> u64 {
    (128.0 * 10f64.powf((radio.cca.threshold_dbm + 60.0) / 10.0)).floor() as u64
}

/// Predictions of the model for [`CSMA_METRICS`].
fn modelled(radio: RadioProfile, psdu: u16, n: u32) -> [f64; 5] {
    let profile = profile_of(radio);
    let load_us = profile.load_time(psdu.into()).as_micros();
    let mut sum = model::Outcome::default();
    let (seeds, seconds) = (20, 60);
    for seed in 1..=seeds {
        let one = model::run(&model::AirConfig {
            senders: n as usize,
            psdu: psdu.into(),
            prepare_us: profile.prepare_us + load_us + profile.start_us,
            turnaround_us: profile.cca_to_air_us,
            unheard_us: unheard_us(&profile),
            seconds,
            seed,
            ..model::AirConfig::default()
        });
        sum.delivered += one.delivered;
        sum.dropped += one.dropped;
        sum.attempts += one.attempts;
        sum.transmissions += one.transmissions;
        sum.unacknowledged += one.unacknowledged;
        sum.access_failures += one.access_failures;
        sum.mean_cycle_us += one.mean_cycle_us / seeds as f64;
    }
    let of = |part: u64, whole: u64| part as f64 / whole as f64;
    [
        of(sum.delivered, seeds * seconds),
        of(sum.unacknowledged, sum.transmissions) * 100.0,
        of(sum.access_failures, sum.attempts) * 100.0,
        of(sum.attempts, sum.delivered),
        sum.mean_cycle_us / 1e3,
    ]
}

fn compare_hidden(rows: &mut Rows) {
    for radio in RadioProfile::CLOSED {
        for (gap_db, strong, weak) in HIDDEN {
            let (label, x) = (hidden_label(radio, gap_db), f64::from(gap_db));
            let mean = |metric| rows.mean(&label, metric);
            let (Some(all), Some(second)) = (mean("frames_acked"), mean("frames_acked_of_second"))
            else {
                continue;
            };
            let first = ("frames_acked_of_first", "frames/s");
            rows.compute(&label, "hidden", x, first, all - second);
            let [model_first, model_second] = modelled_pair(radio, gap_db);
            for (name, value) in [("first", model_first), ("second", model_second)] {
                let metric = format!("frames_acked_of_{name}_model");
                rows.compute(&label, "hidden", x, (&metric, "frames/s"), value);
            }
            if radio == RadioProfile::Standard {
                rows.paper(&label, "frames_acked_of_first", strong);
                rows.paper(&label, "frames_acked_of_second", weak);
            }
        }
    }
}

/// Predictions of the model of two hidden senders for both, in frames per second.
fn modelled_pair(radio: RadioProfile, gap_db: u32) -> [f64; 2] {
    let profile = profile_of(radio);
    let (seeds, seconds) = (10, 120);
    let counts = (1..=seeds).into_par_iter().map(|seed| {
        hidden::run_pair(&hidden::Pair {
            prepare_us: profile.prepare_us + profile.load_time(120).as_micros() + profile.start_us,
            turnaround_us: profile.cca_to_air_us,
            unheard_us: unheard_us(&profile),
            dbm: [-60.0, -60.0 - f64::from(gap_db)],
            loss_db: profile.implementation_loss_db,
            seconds,
            seed,
            ..hidden::Pair::default()
        })
    });
    let [first, second] = counts.reduce(|| [0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
    [first, second].map(|count| count as f64 / (seeds * seconds) as f64)
}

fn compare_polls(rows: &mut Rows) {
    for (radio, secured) in POLLS {
        let label = poll_label(radio, secured);
        let (on, energy) =
            (polls::on_us(radio, secured), polls::energy_uj(radio, secured, POLL_S as f64));
        rows.compute(&label, "polls", 0.0, ("radio_on_per_poll_by_hand", "us"), on);
        rows.compute(&label, "polls", 0.0, ("energy_per_poll_by_hand", "uJ"), energy);
    }
}

fn compare_losses(rows: &mut Rows) {
    let radios = [(RadioProfile::Standard, "loss, standard"), (RadioProfile::At86rf233, "loss")];
    for (radio, series) in radios {
        let profile = profile_of(radio);
        let points: Vec<(usize, f64)> =
            [20, 127].iter().flat_map(|psdu| RATIOS_DB.map(|db| (*psdu, db))).collect();
        let losses: Vec<(f64, f64)> = points
            .par_iter()
            .map(|(psdu, db)| {
                let snr_db = db + profile.implementation_loss_db;
                let measured = loss::simulated(profile, *psdu, snr_db, FRAMES);
                let expected = loss::by_formula(*psdu, snr_db, profile.implementation_loss_db);
                (measured * 100.0, expected * 100.0)
            })
            .collect();
        for ((psdu, db), (measured, expected)) in points.into_iter().zip(losses) {
            let label = format!("radio={} psdu={psdu} ideal_snr_db={db}", radio.name());
            rows.compute(&label, series, db, ("frame_loss", "%"), measured);
            rows.compute(&label, series, db, ("frame_loss_by_formula", "%"), expected);
        }
    }
}

/// Seconds of each point of an experiment in which the rules are checked. The longer time is for
/// sleepy leaves: it includes a sensor's first batch.
const AUDITED_S: (f64, f64) = (10.0, 80.0);

/// Checks the rules of the medium on every point of every experiment.
fn check_everything(rows: &mut Rows) {
    for (x, experiment) in super::all().iter().enumerate() {
        let points = (experiment.plan)(Effort::Quick);
        if points.is_empty() {
            continue;
        }
        let found: Vec<Option<Audit>> = points
            .par_iter()
            .map(|Point { scenario, .. }| {
                let sleeps = scenario.nodes.iter().any(|place| place.role == Role::Leaf);
                let seconds = if sleeps { AUDITED_S.1 } else { AUDITED_S.0 };
                audit(scenario, 1, seconds).ok()
            })
            .collect();
        let label = format!("experiment={}", experiment.id);
        let mut count = |metric: &str, of: fn(&Audit) -> u64| {
            let sum: u64 = found.iter().flatten().map(of).sum();
            rows.compute(&label, "rules", x as f64, (metric, ""), sum as f64);
        };
        count("frames_checked", |audit| audit.frames);
        count("acks_checked", |audit| audit.acks);
        count("assessments_checked", |audit| audit.assessments);
        count("backoffs_checked", |audit| audit.backoffs);
        count("rules_broken", |audit| audit.violations);
        for broken in found.iter().flatten().filter_map(|audit| audit.first.as_ref()).take(1) {
            rows.compute(&format!("{label}: {broken}"), "rules", x as f64, ("example", ""), 1.0);
        }
    }
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let rows = |prefix: &str| -> Vec<_> {
        result.rows.iter().filter(|r| r.series.starts_with(prefix)).cloned().collect()
    };
    let standard = rows("standard");
    let mut rate = curves(&standard, "frames_acked", "Saturated senders", "senders");
    if let Some(figure) = &mut rate {
        overlay(figure, &standard, "frames_acked_model", "independent model");
    }
    let losses = rows("loss, standard");
    let mut loss = curves(&losses, "frame_loss", "Loss of frames, ideal receiver", "SNR, dB");
    if let Some(figure) = &mut loss {
        overlay(figure, &losses, "frame_loss_by_formula", "Annex E");
    }
    [rate, loss].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_network::run::{Options, prepare, run};
    use kinglet_time::Instant;

    #[test]
    fn five_senders_do_what_the_model_says() {
        for radio in RadioProfile::CLOSED {
            let scenario = saturated(Effort::Quick, radio, 60, 5);
            let runs = [1, 2, 3].map(|seed| run(&scenario, seed, &Options::default()));
            let runs = runs.map(|run| run.expect("it can be simulated"));
            for (metric, model) in CSMA_METRICS.iter().zip(modelled(radio, 60, 5)) {
                let values = runs.each_ref().map(|run| metric.value(&scenario, run));
                let mean = values.into_iter().flatten().sum::<f64>() / 3.0;
                assert!((mean / model - 1.0).abs() < 0.03, "{metric:?}: {mean} {model}");
            }
        }
    }

    #[test]
    fn the_frames_of_senders_have_the_length_that_is_said() {
        for psdu in PSDUS {
            let scenario = saturated(Effort::Quick, RadioProfile::Standard, psdu, 1);
            let (mut world, _) = prepare(&scenario, 1).expect("it can be simulated");
            world.run_until(Instant::from_secs(1));
            let sent = world.counters(1);
            assert!(sent.frames_sent > 100);
            assert_eq!(sent.octets_sent, sent.frames_sent * u64::from(psdu));
        }
    }
}
