//! Registry of columns: each metric by the name that files use.

use crate::metric::{Drawn, Metric, OfBursts, OfNode, OfPairs, OfTree, TimeoutCause};
use kinglet_coap::Rto;
use kinglet_scenario::Carrier;
use kinglet_sim::ledger::Cause;

/// A column: a metric, the name of it in `experiment.toml`, and its meaning.
pub(super) struct Column {
    /// Unique name: that of the metric, after the family of metrics and a dot if it is of one.
    pub(super) key: &'static str,
    /// Meaning, for readers.
    pub(super) meaning: &'static str,
    of: Of,
}

/// A metric, or one for each carrier of readings, for each of these and each hour of the day, or
/// for each node.
enum Of {
    Run(Metric),
    Sensors(fn(Carrier) -> Metric),
    Hours(fn(Carrier, u8) -> Metric),
    /// Number of a [`Drawn`].
    Nodes(u8),
}

/// Values of the fields that select a metric.
#[derive(Clone, Copy, Default)]
pub(super) struct Given {
    pub(super) carrier: Option<Carrier>,
    pub(super) hour: Option<u8>,
    pub(super) node: Option<u8>,
}

const fn run(key: &'static str, metric: Metric, meaning: &'static str) -> Column {
    Column { key, meaning, of: Of::Run(metric) }
}

const fn sensors(key: &'static str, of: fn(Carrier) -> Metric, meaning: &'static str) -> Column {
    Column { key, meaning, of: Of::Sensors(of) }
}

const fn bursts(key: &'static str, of: OfBursts, meaning: &'static str) -> Column {
    run(key, Metric::OfBursts(of), meaning)
}

const fn tree(key: &'static str, of: OfTree, meaning: &'static str) -> Column {
    run(key, Metric::OfTree(of), meaning)
}

const fn ends(key: &'static str, of: OfNode, meaning: &'static str) -> Column {
    run(key, Metric::OfNode(of), meaning)
}

const fn relay(key: &'static str, number: u8, meaning: &'static str) -> Column {
    Column { key, meaning, of: Of::Nodes(number) }
}

const fn pairs(key: &'static str, of: OfPairs, meaning: &'static str) -> Column {
    run(key, Metric::OfPairs(of), meaning)
}

/// All columns. Those of sensors are of the sensors with the point's `carrier`.
pub(super) static COLUMNS: &[Column] = &[
    run("goodput", Metric::Goodput, "received application octets of the first flow"),
    run("goodput_first", Metric::GoodputOf(0), "the same"),
    run("goodput_second", Metric::GoodputOf(1), "of the second flow"),
    run("goodput_third", Metric::GoodputOf(2), "of the third flow"),
    run("goodput_fourth", Metric::GoodputOf(3), "of the fourth flow"),
    run("goodput_fifth", Metric::GoodputOf(4), "of the fifth flow"),
    run("goodput_sum", Metric::GoodputSum, "of all flows"),
    run("goodput_min", Metric::GoodputMin, "of the flow with the least"),
    run("flows.fairness", Metric::FairnessOfFlows, "Jain's index of all flows"),
    run("starved", Metric::Starved, "flows below 0.1 kb/s"),
    run("segment_loss", Metric::SegmentLoss, "segments lost in spite of link retries"),
    run("flows.segment_loss", Metric::SegmentLossOfAll, "the same of all flows"),
    run("retransmissions_per_loss", Metric::RetransmissionsPerLoss, "of all flows"),
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
        "with several segments in flight, and none of them had arrived",
    ),
    run(
        "timeouts_other",
        Metric::TimeoutsOf(TimeoutCause::Other),
        "with several segments in flight, and some of them had arrived",
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
    Column {
        key: "radio_duty_cycle_in_hour",
        meaning: "the same in the `hour` of the day",
        of: Of::Hours(Metric::RadioDutyCycleInHour),
    },
    sensors("radio_duty_cycle_night", Metric::RadioDutyCycleAtNight, "from midnight to seven"),
    sensors(
        "radio_duty_cycle_working_hours",
        Metric::RadioDutyCycleAtWork,
        "from nine to six in the evening",
    ),
    sensors("radio_poll", |it| Metric::RadioFor(it, Cause::Poll), "radio on while it polls"),
    sensors("radio_listen", |it| Metric::RadioFor(it, Cause::Listen), "radio on while it waits"),
    sensors("radio_send", |it| Metric::RadioFor(it, Cause::Send), "while it sends"),
    sensors("radio_receive", |it| Metric::RadioFor(it, Cause::Receive), "while it receives"),
    sensors("radio_retry", |it| Metric::RadioFor(it, Cause::Retry), "while it repeats frames"),
    sensors("radio_control", |it| Metric::RadioFor(it, Cause::Control), "for control messages"),
    sensors("cpu_duty_cycle", Metric::CpuDutyCycle, "time with the sensor's CPU working"),
    sensors("cpu_without_cipher", Metric::CpuWithoutCipher, "the same without the cipher"),
    sensors("retransmitted", Metric::Retransmitted, "messages or segments that were repeated"),
    sensors("by_timeout", Metric::RetransmittedByTimeout, "those that a timer repeated"),
    sensors(
        "retransmitted_share",
        Metric::RetransmittedShare,
        "repeated messages or segments by those sent once",
    ),
    sensors("sensors.rtt", Metric::RttOf, "mean of the sensors' round-trip time samples"),
    sensors("timeout", Metric::TimeoutOf, "from which their initial timeouts are drawn, mean"),
    sensors("radio_starting", Metric::RadioStarting, "radio starts, not part of the duty cycle"),
    sensors("radio_between_attempts", Metric::RadioBetweenAttempts, "sleep between attempts"),
    sensors("frames_sent", Metric::FramesSent, "transmissions, repetitions included"),
    sensors("indirect_retries", Metric::IndirectRetries, "of a parent to its sensor"),
    run("latency_p1", Metric::LatencyP1, "time of a request: 1 % quantile"),
    run("latency_first_quartile", Metric::LatencyFirstQuartile, "the same, first quartile"),
    run("latency_median", Metric::LatencyMedian, "the same, median"),
    run("latency_third_quartile", Metric::LatencyThirdQuartile, "the same, third quartile"),
    run("responses", Metric::Responses, "requests with a response"),
    run("failed", Metric::Failed, "requests without a response"),
    run("server.radio_duty_cycle", Metric::ServerDutyCycle, "radio of the requested leaf on"),
    run("server.radio_poll", Metric::ServerFor(Cause::Poll), "the same while it polls"),
    run("server.radio_listen", Metric::ServerFor(Cause::Listen), "while it waits"),
    run("server.radio_send", Metric::ServerFor(Cause::Send), "while it sends"),
    run("server.radio_receive", Metric::ServerFor(Cause::Receive), "while it receives"),
    run("server.radio_retry", Metric::ServerFor(Cause::Retry), "while it repeats frames"),
    run("server.radio_control", Metric::ServerFor(Cause::Control), "for control messages"),
    ends("line.radio_end", OfNode::EndRadio, "radio of the last node on or starting"),
    ends("line.power_end", OfNode::EndPower, "its power"),
    ends("line.energy_end", OfNode::EndEnergy, "its energy by received data"),
    ends("line.radio_relays", OfNode::RelayRadio, "radio on or starting, mean of relays"),
    ends("line.power_relays", OfNode::RelayPower, "their power"),
    ends("line.energy_relays", OfNode::RelayEnergy, "their energy by received data"),
    ends("line.latency_mean", OfNode::Latency, "time of a request, mean"),
    bursts("bursts.radio_worst", OfBursts::RadioWorst, "radio on or starting, busiest node"),
    bursts("bursts.radio", OfBursts::Radio, "the same, mean of relays, or of all nodes"),
    bursts("bursts.throughput", OfBursts::Throughput, "received payload"),
    bursts("bursts.throughput_of_frames", OfBursts::OfFrames, "with all headers behind the MAC's"),
    bursts("pip.throughput_of_frames", OfBursts::OfPip, "the same of a file sent by PIP"),
    bursts("bursts.rate", OfBursts::Rate, "received frames of full length"),
    bursts("bursts.energy", OfBursts::EnergyPerKb, "of a relay by received data"),
    bursts("bursts.flash_share", OfBursts::FlashShare, "share of the flash in it"),
    bursts("bursts.energy_3", OfBursts::EnergyOfThird, "the same of node 3"),
    bursts("bursts.radio_3", OfBursts::RadioOfThird, "radio of node 3 on or starting"),
    bursts("bursts.radio_2", OfBursts::RadioOfMiddle, "radio of node 2 on or starting"),
    bursts("bursts.heard_at_once", OfBursts::HeardAtOnce, "strobes acknowledged at once"),
    bursts("bursts.not_heard", OfBursts::NotHeard, "strobes without an acknowledgement"),
    bursts("bursts.arrived", OfBursts::Arrived, "received datagrams of the first flow"),
    bursts("bursts.delay", OfBursts::Delay, "of a datagram, mean"),
    bursts("bursts.first", OfBursts::First, "first flow, octets behind the MAC header"),
    bursts("bursts.second", OfBursts::Second, "the same of the second flow"),
    bursts("bursts.first_alone", OfBursts::FirstAlone, "first flow before the second"),
    bursts("bursts.first_concurrent", OfBursts::FirstConcurrent, "first flow during the second"),
    bursts("bursts.radio_2_alone", OfBursts::RadioAlone, "radio of node 2 before the second flow"),
    bursts("bursts.radio_2_concurrent", OfBursts::RadioConcurrent, "radio of node 2 during it"),
    bursts("bursts.collection_loss", OfBursts::CollectionLoss, "lost datagrams of other flows"),
    bursts("bursts.collection_delay", OfBursts::CollectionDelay, "delay of theirs, mean"),
    bursts("bursts.sent_again", OfBursts::Resent, "retransmitted segments by those sent"),
    bursts("bursts.before", OfBursts::Before, "octets of the first flow, before the interference"),
    bursts("bursts.during", OfBursts::During, "during it"),
    bursts("bursts.after", OfBursts::After, "after it"),
    bursts("bursts.retransmitted", OfBursts::RetransmittedDuring, "segments during it"),
    bursts("bursts.radio_3_during", OfBursts::RadioDuring(3), "radio of node 3 during it"),
    bursts("bursts.radio_5_during", OfBursts::RadioDuring(5), "of node 5"),
    bursts("bursts.radio_6_during", OfBursts::RadioDuring(6), "of node 6"),
    bursts("bursts.radio_7_during", OfBursts::RadioDuring(7), "of node 7"),
    bursts("bursts.radio_9_during", OfBursts::RadioDuring(9), "of node 9"),
    bursts("bursts.queue_5_during", OfBursts::QueueDuring(5), "queue of node 5 during it, mean"),
    bursts("bursts.queue_6_during", OfBursts::QueueDuring(6), "of node 6"),
    relay("relay.radio_before", 0, "radio of the `node` on or starting, before the interference"),
    relay("relay.cpu_before", 1, "its CPU works"),
    relay("relay.receive_before", 2, "its radio receives or starts"),
    relay("relay.transmit_before", 3, "it sends or prepares to"),
    relay("relay.flash_before", 4, "its flash works"),
    relay("relay.rest_before", 5, "what it draws when it is idle"),
    relay("relay.radio_during", 6, "radio of the `node` on or starting, during it"),
    relay("relay.cpu_during", 7, "its CPU works"),
    relay("relay.receive_during", 8, "its radio receives or starts"),
    relay("relay.transmit_during", 9, "it sends or prepares to"),
    relay("relay.flash_during", 10, "its flash works"),
    relay("relay.rest_during", 11, "what it draws when it is idle"),
    relay("relay.radio_after", 12, "radio of the `node` on or starting, after it"),
    relay("relay.cpu_after", 13, "its CPU works"),
    relay("relay.receive_after", 14, "its radio receives or starts"),
    relay("relay.transmit_after", 15, "it sends or prepares to"),
    relay("relay.flash_after", 16, "its flash works"),
    relay("relay.rest_after", 17, "what it draws when it is idle"),
    tree("tree.throughput", OfTree::Throughput, "received packets, mean over nodes"),
    tree("tree.throughput_min", OfTree::ThroughputMin, "the same of the node with the least"),
    tree("tree.throughput_hops_1", OfTree::ThroughputAt(1), "mean over nodes at one hop"),
    tree("tree.throughput_hops_2", OfTree::ThroughputAt(2), "at two hops"),
    tree("tree.throughput_hops_3", OfTree::ThroughputAt(3), "at three hops"),
    tree("tree.throughput_hops_4", OfTree::ThroughputAt(4), "at four hops"),
    tree("tree.throughput_hops_5", OfTree::ThroughputAt(5), "at five hops"),
    tree("tree.throughput_hops_6", OfTree::ThroughputAt(6), "at six hops"),
    tree("tree.throughput_hops_7", OfTree::ThroughputAt(7), "at seven hops"),
    tree("tree.variation", OfTree::Variation, "standard deviation over nodes by the mean"),
    tree("tree.fairness", OfTree::Fairness, "Jain's index over nodes"),
    tree(
        "tree.throughput_by_hops",
        OfTree::ThroughputByHops,
        "rank correlation of throughput and hops",
    ),
    tree(
        "tree.throughput_by_rtt",
        OfTree::ThroughputByRtt,
        "rank correlation of throughput and round-trip time",
    ),
    tree("tree.rtt", OfTree::Rtt, "round-trip time, mean over nodes"),
    tree("tree.rtt_by_hops", OfTree::RttByHops, "rank correlation of round-trip time and hops"),
    tree("tree.loss", OfTree::Loss, "lost packets, mean over nodes"),
    tree("tree.loss_spread", OfTree::LossSpread, "standard deviation of it over nodes"),
    tree("tree.delivered", OfTree::Delivered, "received packets of those that TCP accepted"),
    tree("tree.connections", OfTree::Connections, "opened connections, mean over nodes"),
    tree("tree.segments", OfTree::SegmentsPerConnection, "TCP segments of a connection"),
    tree("tree.tcp_etx", OfTree::TcpEtx, "TCP segments by those sent once"),
    tree("tree.overhead", OfTree::Overhead, "TCP segments by received packets"),
    tree("tree.link_etx", OfTree::LinkEtx, "transmissions of a frame, median over nodes"),
    tree("tree.link_etx_worst", OfTree::LinkEtxWorst, "the same of the worst node"),
    tree("tree.queue_loss", OfTree::QueueLoss, "packets dropped at full queues, mean over nodes"),
    tree(
        "tree.queue_loss_of_three",
        OfTree::QueueLossConcentrated,
        "share of the three nodes with the most",
    ),
    tree("tree.border_loss", OfTree::BorderLoss, "queue drops of the border router"),
    tree("tree.border_share", OfTree::BorderShare, "its share in all queue drops"),
    tree("tree.control", OfTree::Control, "RPL messages of a node"),
    tree("tree.parent_changes", OfTree::ParentChanges, "parent changes of a node"),
    tree("tree.depth", OfTree::Depth, "hops of the farthest node, mean over time"),
    pairs("pairs.goodput", OfPairs::Goodput, "of completed transfers, mean"),
    pairs("pairs.goodput_hops_1", OfPairs::GoodputAt(1), "the same over one hop"),
    pairs("pairs.goodput_hops_2", OfPairs::GoodputAt(2), "over two hops"),
    pairs("pairs.goodput_hops_3", OfPairs::GoodputAt(3), "over three hops"),
    pairs("pairs.goodput_hops_4", OfPairs::GoodputAt(4), "over four hops"),
    pairs("pairs.goodput_hops_5", OfPairs::GoodputAt(5), "over five hops"),
    pairs("pairs.goodput_hops_6", OfPairs::GoodputAt(6), "over six hops"),
    pairs("pairs.rtt", OfPairs::Rtt, "round-trip time of their segments, mean"),
    pairs("pairs.success", OfPairs::Success, "completed transfers"),
    pairs("pairs.hops", OfPairs::Hops, "hops of all transfers, mean"),
    pairs("pairs.hops_spread", OfPairs::HopsSpread, "standard deviation of these hops"),
    pairs(
        "pairs.failed_transmissions",
        OfPairs::Failed,
        "transmissions without an acknowledgement",
    ),
    pairs("pairs.dropped_frames", OfPairs::Dropped, "frames given up"),
    pairs("pairs.repairs", OfPairs::Repairs, "links that AODV considers broken"),
    pairs("pairs.timeouts", OfPairs::Timeouts, "expiries of the retransmission timer"),
    pairs("pairs.fairness", OfPairs::Fairness, "Jain's index of concurrent transfers"),
    pairs("pairs.recovery", OfPairs::Recovery, "time to a route around a failed relay"),
    pairs("pairs.segments", OfPairs::Segments, "data segments without retransmissions"),
    pairs("pairs.won_again", OfPairs::WonAgain, "transmissions after one of the same node"),
];

/// Name, unit and meaning of each column that an `experiment.toml` can have.
pub fn columns() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    COLUMNS.iter().map(|column| {
        // The unit is the same for all carriers.
        let unit = column.metric(ANY).map_or("", Metric::unit);
        (column.key, unit, column.meaning)
    })
}

impl Column {
    /// The column with this key.
    pub(super) fn find(key: &str) -> Option<&'static Column> {
        COLUMNS.iter().find(|column| column.key == key)
    }

    /// Its metric; `None` if it needs a field that is not given.
    pub(super) fn metric(&self, given: Given) -> Option<Metric> {
        match self.of {
            Of::Run(metric) => Some(metric),
            Of::Sensors(of) => given.carrier.map(of),
            Of::Hours(of) => Some(of(given.carrier?, given.hour?)),
            Of::Nodes(number) => {
                Some(Metric::OfBursts(OfBursts::Drawn(Drawn::of(number, given.node?))))
            }
        }
    }

    /// The fields that it needs, in words.
    pub(super) const fn needs(&self) -> &'static str {
        match self.of {
            Of::Run(_) => "no field",
            Of::Sensors(_) => "the field `carrier`",
            Of::Hours(_) => "the field `carrier`, and `hour` with an hour of the day",
            Of::Nodes(_) => "the field `node` with a number",
        }
    }
}

/// One metric of each column. All metrics of a column have its name and unit.
const ANY: Given = Given { carrier: Some(Carrier::Tcp), hour: Some(0), node: Some(0) };

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
            let metric = column.metric(ANY).expect("all are given");
            let name = column.key.rsplit_once('.').map_or(column.key, |(_, name)| name);
            assert_eq!(metric.name(), name);
        }
    }

    #[test]
    fn the_documentation_has_all_columns() {
        let text = include_str!("../../../../lab/EXPERIMENTS.md");
        for (key, unit, meaning) in columns() {
            let row = format!("| `{key}` | {unit} | {meaning} |");
            assert!(text.contains(&row), "EXPERIMENTS.md lacks: {row}");
        }
    }
}
