//! Common parts of the sense-and-send experiments (TCPlp §8.2): the office, the sensors and their
//! settings.

use kinglet_coap::Rto;
use kinglet_scenario::{Buffer, Carrier, Flow, FlowKind, HostCost, Mss, NodeId, Scenario, Sensor};
use kinglet_sweep::chart::{Bars, Figure};
use kinglet_sweep::experiment::Effort;
use kinglet_sweep::metric::Metric;
use kinglet_sweep::row::Row;

/// Nodes 12 to 15 of the paper.
const LEAVES: [NodeId; 4] = [11, 12, 13, 14];
/// Send and receive buffer of the paper's sensor: five segments of 462 octets plus one octet (its
/// published code).
const PAPER_BUFFER: u32 = 2_311;
/// Readings in its queue: in addition to TCP's buffers, and without them.
const PAPER_QUEUES: (u16, u16) = (64, 104);
/// Initial timeout of its CoAP: 3 s.
const PAPER_ACK_TIMEOUT_MS: u32 = 3_000;

/// Origin of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settings {
    /// The paper's settings.
    Paper,
    /// Kinglet's settings with the same RAM for queue and buffers together.
    Kinglet,
}

pub(super) const TCP: Carrier = Carrier::Tcp;
pub(super) const COAP: Carrier = Carrier::Coap(Rto::Plain);
pub(super) const COCOA: Carrier = Carrier::Coap(Rto::CocoaAsMeasured);
pub(super) const NON: Carrier = Carrier::NonConfirmable;
pub(super) const IDEAL: Carrier = Carrier::Ideal;

impl Settings {
    /// Name of the curve of `carrier`, and first part of its labels.
    pub(super) const fn series(self, carrier: Carrier) -> &'static str {
        match (self, carrier) {
            (Settings::Paper, Carrier::Tcp) => "tcp",
            (Settings::Paper, Carrier::Coap(Rto::Plain)) => "coap",
            (Settings::Paper, Carrier::Coap(_)) => "cocoa",
            (Settings::Paper, Carrier::NonConfirmable) => "non-confirmable",
            (Settings::Paper, Carrier::Ideal) => "ideal",
            (Settings::Kinglet, Carrier::Tcp) => "kinglet tcp",
            (Settings::Kinglet, Carrier::Coap(_)) => "kinglet coap",
            (Settings::Kinglet, Carrier::NonConfirmable) => "kinglet non-confirmable",
            (Settings::Kinglet, Carrier::Ideal) => "kinglet ideal",
        }
    }

    /// The sensor of a leaf that sends readings to the host.
    fn sensor(self, from: NodeId, to: NodeId, carrier: Carrier, batch: u16) -> Sensor {
        let (compared_with_tcp, alone) = match self {
            Settings::Paper => PAPER_QUEUES,
            Settings::Kinglet => (KINGLET_QUEUE, PAPER_QUEUES.1),
        };
        let queue = match carrier {
            Carrier::Tcp => compared_with_tcp,
            // "No application queue" except for the batch (§8.2.4).
            Carrier::NonConfirmable => batch,
            Carrier::Coap(_) | Carrier::Ideal => alone,
        };
        let ack_timeout_ms = match self {
            Settings::Paper => PAPER_ACK_TIMEOUT_MS,
            Settings::Kinglet => 2_000,
        };
        Sensor { batch, queue, ack_timeout_ms, ..Sensor::new(from, to, carrier) }
    }
}

/// Octets of send and receive buffer, and readings in the queue; together the paper's 9,870 octets.
/// The sensor receives no data.
const KINGLET_BUFFERS: (u32, u32) = (4_096, 64);
const KINGLET_QUEUE: u16 = 69;

/// The office at night with four sensors; `carriers` carry the leaves' readings.
pub(super) fn office(
    settings: Settings,
    frames: u8,
    carriers: [Carrier; 4],
    batch: u16,
) -> Scenario {
    let mut scenario = match settings {
        Settings::Paper => Scenario::office().as_tcplp(),
        Settings::Kinglet => Scenario::office(),
    };
    scenario.radio.host_cost = HostCost::Measured;
    scenario.tcp.mss = Mss::Frames(frames);
    match settings {
        Settings::Paper => {
            // Ten attempts, as in its code.
            scenario.mac.max_frame_retries = 9;
            scenario.tcp.send_buffer = Buffer::Bytes(PAPER_BUFFER);
            scenario.tcp.receive_buffer = Buffer::Bytes(PAPER_BUFFER);
        }
        Settings::Kinglet => {
            scenario.tcp.send_buffer = Buffer::Bytes(KINGLET_BUFFERS.0);
            scenario.tcp.receive_buffer = Buffer::Bytes(KINGLET_BUFFERS.1);
        }
    }
    let host = scenario.host();
    let leaves = LEAVES.into_iter().zip(carriers);
    let sensors = leaves.map(|(leaf, carrier)| settings.sensor(leaf, host, carrier, batch));
    scenario.flows = sensors.map(|s| Flow::new(5.0, FlowKind::Anemometer(s))).collect();
    scenario
}

/// Simulated seconds of runs shorter than 24 hours.
pub(super) const fn seconds(effort: Effort) -> f64 {
    match effort {
        Effort::Quick => 600.0,
        Effort::Full => 3_600.0,
    }
}

/// Metrics of sensors with this carrier.
pub(super) fn metrics(carrier: Carrier) -> &'static [Metric] {
    match carrier {
        TCP => &const { all_of(TCP) },
        COAP => &const { all_of(COAP) },
        NON => &const { all_of(NON) },
        IDEAL => &const { all_of(IDEAL) },
        Carrier::Coap(Rto::CocoaAsMeasured) => &const { all_of(COCOA) },
        Carrier::Coap(Rto::Cocoa) => &const { all_of(Carrier::Coap(Rto::Cocoa)) },
    }
}

const fn all_of(carrier: Carrier) -> [Metric; 6] {
    [
        Metric::Reliability(carrier),
        Metric::RadioDutyCycle(carrier),
        Metric::CpuDutyCycle(carrier),
        Metric::CpuWithoutCipher(carrier),
        Metric::Retransmitted(carrier),
        Metric::RetransmittedByTimeout(carrier),
    ]
}

/// Bar chart of a metric of all points, with marks for figures of the paper.
pub(super) fn bars(rows: &[Row], metric: &str, title: &str, marks: &[(&str, f64)]) -> Figure {
    let rows = rows.iter().filter(|row| row.metric == metric);
    Figure::Bars(Bars {
        title: title.to_owned(),
        unit: "%".to_owned(),
        parts: vec![metric.replace('_', " ")],
        bars: rows.map(|row| (row.label.clone(), vec![row.mean])).collect(),
        marks: marks.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
    })
}
