//! Registry of columns: each metric by the name that files use.

use super::super::Metric;
use super::super::timeout_cause::TimeoutCause;
use crate::scenario::Carrier;
use kinglet_coap::Rto;
use kinglet_sim::ledger::Cause;

/// A column: a metric, the name of it in `experiment.toml`, and its meaning.
pub(super) struct Column {
    /// Unique name.
    pub(super) key: &'static str,
    /// Meaning, for readers.
    pub(super) meaning: &'static str,
    of: Of,
}

/// A metric, or one for each carrier of readings.
enum Of {
    Run(Metric),
    Sensors(fn(Carrier) -> Metric),
}

const fn run(key: &'static str, metric: Metric, meaning: &'static str) -> Column {
    Column { key, meaning, of: Of::Run(metric) }
}

const fn sensors(key: &'static str, of: fn(Carrier) -> Metric, meaning: &'static str) -> Column {
    Column { key, meaning, of: Of::Sensors(of) }
}

/// All columns. Those of sensors are of the sensors with the point's `carrier`.
pub(super) static COLUMNS: &[Column] = &[
    run("goodput", Metric::Goodput, "received application octets of the first flow"),
    run("segment_loss", Metric::SegmentLoss, "segments lost in spite of link retries"),
    run("rtt", Metric::Rtt, "mean of the round-trip time samples"),
    run("mss", Metric::Mss, "largest segment"),
    run("frames", Metric::Frames, "data frames on the air, retries included"),
    run("frames_per_kb", Metric::FramesPerKb, "the same per received kilobyte"),
    run("timeouts", Metric::Timeouts, "expiries of the retransmission timer"),
    run("fast_retransmissions", Metric::FastRetransmissions, "entries into fast recovery"),
    run("cwnd_full", Metric::CwndFull, "time with the congestion window at the send buffer"),
    run("timeouts_handshake", Metric::TimeoutsOf(TimeoutCause::Handshake), "in the handshake"),
    run("timeouts_repair", Metric::TimeoutsOf(TimeoutCause::Repair), "while a loss was repaired"),
    run(
        "timeouts_single_segment",
        Metric::TimeoutsOf(TimeoutCause::SingleSegment),
        "with one segment in flight",
    ),
    run(
        "timeouts_no_feedback",
        Metric::TimeoutsOf(TimeoutCause::NoFeedback),
        "with several segments in flight, none of which had arrived",
    ),
    run(
        "timeouts_other",
        Metric::TimeoutsOf(TimeoutCause::Other),
        "with several segments in flight, some of which had arrived",
    ),
    run("timeouts_spurious", Metric::TimeoutsOf(TimeoutCause::Spurious), "without a loss"),
    run("unacknowledged", Metric::Unacknowledged, "transmissions without an acknowledgement"),
    run("access_failures", Metric::AccessFailures, "runs of CSMA-CA that found no idle channel"),
    run("leaf_radio_per_kb", Metric::LeafRadioPerKb, "radio time of the leaf by received data"),
    run("goodput_median", Metric::Median, "goodput of sensors in 40 s: median over all"),
    run("goodput_q1", Metric::LowerQuartile, "the same, lower quartile"),
    run("goodput_q3", Metric::UpperQuartile, "the same, upper quartile"),
    run("fairness", Metric::Fairness, "Jain's index of all sensors' goodput in 40 s"),
    run("fairness_of_pairs", Metric::FairnessOfPairs, "the same within pairs of sensors"),
    run("queue_drops", Metric::QueueDrops, "packets that a full queue or RED dropped"),
    run("frames_failed", Metric::FramesFailed, "frames given up after all retries"),
    sensors("reliability", Metric::Reliability, "received readings of those with a known fate"),
    sensors("reliability_min", Metric::ReliabilityMin, "the same of the sensor with the lowest"),
    sensors("radio_duty_cycle", Metric::RadioDutyCycle, "time with the sensor's radio on"),
    sensors("radio_listen", |it| Metric::RadioFor(it, Cause::Listen), "radio on while it waits"),
    sensors("cpu_duty_cycle", Metric::CpuDutyCycle, "time with the sensor's CPU working"),
    sensors("cpu_without_cipher", Metric::CpuWithoutCipher, "the same without the cipher"),
    sensors("retransmitted", Metric::Retransmitted, "messages or segments that were repeated"),
    sensors("by_timeout", Metric::RetransmittedByTimeout, "those that a timer repeated"),
    sensors(
        "retransmitted_share",
        Metric::RetransmittedShare,
        "repeated messages or segments by those sent once",
    ),
];

/// Name, unit and meaning of each column that an `experiment.toml` can have.
pub fn columns() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    COLUMNS.iter().map(|column| {
        // The unit is the same for all carriers.
        let unit = column.metric(Some(Carrier::Tcp)).map_or("", Metric::unit);
        (column.key, unit, column.meaning)
    })
}

impl Column {
    /// The column with this key.
    pub(super) fn find(key: &str) -> Option<&'static Column> {
        COLUMNS.iter().find(|column| column.key == key)
    }

    /// Its metric; `None` if it needs a carrier and there is none.
    pub(super) fn metric(&self, carrier: Option<Carrier>) -> Option<Metric> {
        match self.of {
            Of::Run(metric) => Some(metric),
            Of::Sensors(of) => carrier.map(of),
        }
    }
}

/// Carriers by their names in files.
pub(super) const CARRIERS: [(&str, Carrier); 5] = [
    ("tcp", Carrier::Tcp),
    ("coap", Carrier::Coap(Rto::Plain)),
    ("cocoa", Carrier::Coap(Rto::CocoaAsMeasured)),
    ("non-confirmable", Carrier::NonConfirmable),
    ("ideal", Carrier::Ideal),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_are_the_names_of_their_metrics() {
        for (index, column) in COLUMNS.iter().enumerate() {
            assert!(COLUMNS[..index].iter().all(|it| it.key != column.key), "{}", column.key);
            let metric = column.metric(Some(Carrier::Tcp)).expect("a carrier is given");
            assert_eq!(metric.name(), column.key);
        }
    }

    #[test]
    fn the_documentation_has_all_columns() {
        let text = include_str!("../../../EXPERIMENTS.md");
        for (key, unit, meaning) in columns() {
            let row = format!("| `{key}` | {unit} | {meaning} |");
            assert!(text.contains(&row), "EXPERIMENTS.md lacks: {row}");
        }
    }
}
