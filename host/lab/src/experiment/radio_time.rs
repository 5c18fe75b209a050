//! Differences between our radio time and that of Table 7: parts that only the paper's driver
//! counts, and effects of single parameters.

use super::sense::{COAP, IDEAL, NON, Settings, TCP, metrics, office, seconds};
use kinglet::mac::Csma;
use kinglet::time::Duration;
use kinglet_network::radio::driver_us;
use kinglet_scenario::{Carrier, Cca, HostCost, Scenario};
use kinglet_sim::ledger::Cause;
use kinglet_sweep::experiment::{Effort, Point, Rows};
use kinglet_sweep::metric::Metric;

/// An hour without interference and a busy one.
const HOURS: [(&str, f64); 2] = [("night", 2.0), ("work", 11.0)];

/// Sets one parameter of the paper's system to another known value.
type Change = fn(&mut Scenario);

/// Names and changes.
const CHANGES: [(&str, Change); 8] = [
    ("", |_| ()),
    // The radio performs the backoffs of leaves: an earlier `platform_radio.c` of the authors'
    // RIOT.
    (" csma=hardware", |scenario| scenario.mac.csma = Csma::Hardware),
    // `kDataPollTimeout` in the `mac.hpp` of their OpenThread. §8.2.3 says that it was decreased.
    (" data_request_timeout_ms=300", |scenario| {
        scenario.mac.data_request_timeout = Duration::from_millis(300);
    }),
    // The two bounds are swapped in their `platform_radio.c`.
    (" indirect_delay_ms=40", |scenario| {
        scenario.mac.indirect.retry_delay_max = Duration::from_millis(40);
    }),
    // Time per frame that explains the difference between the paper's goodput and its bound (§6.3).
    (" cpu=fitted", |scenario| scenario.radio.host_cost = HostCost::FittedTcplp),
    (" cpu=none", |scenario| scenario.radio.host_cost = HostCost::Micros(0)),
    // The radio senses energy from -80 dBm on; signals from two offices away are weaker.
    (" cca=carrier", |scenario| scenario.radio.cca = Cca::Carrier),
    (" interference=double", |scenario| {
        scenario.interference.iter_mut().for_each(|source| source.share *= 2.0);
    }),
];

/// Points for an hour by night and one by day with the paper's settings: TCP and CoAP together,
/// non-confirmable messages and the ideal protocol each alone. By day also with Kinglet's settings.
pub(super) fn points(effort: Effort) -> Vec<Point> {
    let mut points = alone(effort);
    points.extend(own(effort));
    for ((hour, start), (change, apply)) in
        HOURS.into_iter().flat_map(|hour| CHANGES.map(|change| (hour, change)))
    {
        let mut scenario = office(Settings::Paper, 3, [TCP, COAP, COAP, TCP], 64).by_day();
        scenario.start_hour = start;
        scenario.duration_s = seconds(effort);
        apply(&mut scenario);
        for carrier in [TCP, COAP] {
            let series = Settings::Paper.series(carrier);
            points.push(Point {
                label: format!("{series} at={hour}{change}"),
                series,
                x: start,
                scenario: scenario.clone(),
                metrics: parts(carrier),
                timeline_s: None,
            });
        }
    }
    points
}

/// Kinglet's settings by day, with the radio's channel assessment and with carrier sense.
fn own(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (suffix, cca) in [("", Cca::Either), (" cca=carrier", Cca::Carrier)] {
        let mut scenario = office(Settings::Kinglet, 5, [TCP, COAP, COAP, TCP], 64).by_day();
        scenario.start_hour = HOURS[1].1;
        scenario.duration_s = seconds(effort);
        scenario.radio.cca = cca;
        for carrier in [TCP, COAP] {
            let series = Settings::Kinglet.series(carrier);
            points.push(Point {
                label: format!("{series} at=work{suffix}"),
                series,
                x: HOURS[1].1,
                scenario: scenario.clone(),
                metrics: parts(carrier),
                timeline_s: None,
            });
        }
    }
    points
}

fn alone(effort: Effort) -> Vec<Point> {
    let point = |((hour, start), (carrier, batch)): ((&str, f64), (Carrier, u16))| {
        let mut scenario = office(Settings::Paper, 3, [carrier; 4], batch).by_day();
        scenario.start_hour = start;
        scenario.duration_s = seconds(effort);
        let series = Settings::Paper.series(carrier);
        Point {
            label: format!("{series} batch={batch} at={hour}"),
            series,
            x: start,
            scenario,
            metrics: parts(carrier),
            timeline_s: None,
        }
    };
    let carriers = [(NON, 1), (NON, 64), (IDEAL, 64)];
    HOURS.into_iter().flat_map(|hour| carriers.map(|carrier| (hour, carrier))).map(point).collect()
}

/// Parts that the paper's driver counts in addition.
pub(super) const fn counted(carrier: Carrier) -> [Metric; 3] {
    [
        Metric::RadioStarting(carrier),
        Metric::RadioBetweenAttempts(carrier),
        Metric::FramesSent(carrier),
    ]
}

fn parts(carrier: Carrier) -> &'static [Metric] {
    let ledger = Cause::ALL.map(|cause| Metric::RadioFor(carrier, cause));
    let retries = [Metric::IndirectRetries(carrier)];
    let all = [metrics(carrier), &counted(carrier), &ledger, &retries].concat();
    // Plans are made only a few times in a run of the program.
    Box::leak(all.into_boxed_slice())
}

/// Adds the radio's share of time as the driver of the paper's nodes counts it
/// (`RADIO_DUTYCYCLE_MONITOR` in `at86rf2xx_getset.c` of the authors' RIOT). It counts from the pin
/// that wakes the radio to the one that puts it to sleep. The radio sleeps after a frame, but not
/// between two attempts to send it (`mac.cpp` of their OpenThread), so these pauses count, and so
/// does the software that runs while a frame is sent.
pub(super) fn refine(rows: &mut Rows) {
    let driver_us = driver_us();
    let labels: Vec<_> =
        rows.all.iter().filter(|row| row.metric == "frames_sent").cloned().collect();
    for row in labels {
        let driver = row.mean / 3_600.0 * driver_us / 1e6 * 100.0;
        let parts = ["radio_duty_cycle", "radio_starting", "radio_between_attempts"];
        let parts: Option<Vec<f64>> =
            parts.into_iter().map(|metric| rows.mean(&row.label, metric)).collect();
        let Some(parts) = parts else { continue };
        let counted = parts.iter().sum::<f64>() + driver;
        for (metric, value) in [("radio_driver", driver), ("radio_as_counted", counted)] {
            rows.compute(&row.label, row.series, row.x, (metric, "%"), value);
        }
    }
}
