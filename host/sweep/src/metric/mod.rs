//! Metrics of a finished simulation.

mod bursts;
mod drawn;
mod intervals;
mod node;
mod of_frame;
mod pairs;
mod timeout_cause;
mod tree;

pub use bursts::{FULL, OfBursts};
pub use drawn::Drawn;
pub use node::OfNode;
pub use of_frame::OfFrame;
pub use pairs::OfPairs;
pub use timeout_cause::TimeoutCause;
pub use tree::OfTree;

use crate::stats;
use core::ops::Range;
use intervals::{fairness, jain, quantile};
use kinglet_network::cpu::host_cost_of;
use kinglet_network::run::{FlowResult, NodeResult, RunResult};
use kinglet_scenario::{Carrier, FlowKind, Role, Scenario, Sensor};
use kinglet_sim::cpu::CpuWork;
use kinglet_sim::ledger::Cause;

/// Leaf of the office that serves pages: number 12 of TCPlp, three hops from the border router.
pub const SERVER: u32 = 11;

/// A quantity measured in every run of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Received application octets per second, kb/s.
    Goodput,
    /// The same of all flows together.
    GoodputSum,
    /// Goodput of the flow that gets least.
    GoodputMin,
    /// Goodput of the flow with this number, from 0 to 4.
    GoodputOf(u8),
    /// Jain's index of the goodput of all flows over the whole run, %.
    FairnessOfFlows,
    /// Flows that get less than 0.1 kb/s, which is less than a segment in half a minute.
    Starved,
    /// Retransmitted segments of all flows for each segment that was lost.
    RetransmissionsPerLoss,
    /// TCP segments lost in spite of link retries, %.
    SegmentLoss,
    /// The same of all flows together.
    SegmentLossOfAll,
    /// Mean round-trip time sample, ms.
    Rtt,
    /// Data frames put on the air by all nodes, retries included.
    Frames,
    /// The same per received kilobyte (1000 octets).
    FramesPerKb,
    /// Acknowledged frames of all nodes per second.
    FramesAcked,
    /// Transmissions without an acknowledgement, as a share of all; %.
    Unacknowledged,
    /// Runs of CSMA-CA that failed to access the channel, as a share of all; %.
    AccessFailures,
    /// Runs of CSMA-CA per acknowledged frame.
    AttemptsPerFrame,
    /// Mean time of a saturated sender for a frame, acknowledged or given up, ms. Each flow is one
    /// such sender.
    FrameCycle,
    /// Acknowledged frames per second of the second flow's sender.
    FramesAckedOfSecond,
    /// Radio time of the first leaf per frame, where all its frames are data requests; us.
    RadioOnPerPoll,
    /// Its energy per frame including sleep; uJ.
    EnergyPerPoll,
    /// Radio time of the first leaf per received kilobyte (1000 octets); ms.
    LeafRadioPerKb,
    /// Entries into fast recovery.
    FastRetransmissions,
    /// Expiries of the retransmission timer.
    Timeouts,
    /// Expiries of the retransmission timer with this cause.
    TimeoutsOf(TimeoutCause),
    /// Share of time with the congestion window at or above the send buffer, %.
    CwndFull,
    /// Largest segment, octets.
    Mss,
    /// Received readings as a share of those whose fate is known, by carrier; %.
    Reliability(Carrier),
    /// The same of the sensor with the lowest share.
    ReliabilityMin(Carrier),
    /// Share of time with a sensor's radio on, mean over sensors with this carrier; %.
    RadioDutyCycle(Carrier),
    /// The same in one hour of the day; `None` if it is not simulated; %.
    RadioDutyCycleInHour(Carrier, u8),
    /// The same from midnight to seven, if the whole day is simulated; %.
    RadioDutyCycleAtNight(Carrier),
    /// The same from nine to six in the evening; %.
    RadioDutyCycleAtWork(Carrier),
    /// Share of time with a sensor's radio on for one cause; %.
    RadioFor(Carrier, Cause),
    /// Share of time in which a sensor's radio starts, which the duty cycle does not contain; %.
    RadioStarting(Carrier),
    /// Share of time in which a sensor's radio sleeps between attempts to send the same frame; %.
    RadioBetweenAttempts(Carrier),
    /// Transmissions of a sensor, repetitions included, per hour.
    FramesSent(Carrier),
    /// Retransmissions by a sensor's parent to the sensor, per frame.
    IndirectRetries(Carrier),
    /// Share of time with a sensor's CPU working; %.
    CpuDutyCycle(Carrier),
    /// The same without the cipher, as if the radio provided it; %.
    CpuWithoutCipher(Carrier),
    /// Mean of a sensor's round-trip time samples, ms.
    RttOf(Carrier),
    /// Mean of the values from which a sensor's initial timeouts are drawn, ms.
    TimeoutOf(Carrier),
    /// Messages or segments that a sensor retransmitted, per hour.
    Retransmitted(Carrier),
    /// Those retransmitted because a timer expired, per hour.
    RetransmittedByTimeout(Carrier),
    /// Retransmissions of a sensor in relation to the messages or segments sent for the first time;
    /// %.
    RetransmittedShare(Carrier),
    /// Goodput of sensors in intervals of 40 s: median over flows and intervals, kb/s.
    Median,
    /// The same: lower quartile.
    LowerQuartile,
    /// The same: upper quartile.
    UpperQuartile,
    /// Jain's index of all sensors' goodput in an interval of 40 s; mean over intervals, %.
    Fairness,
    /// The same within each pair of sensors, which are listed consecutively.
    FairnessOfPairs,
    /// Packets dropped by nodes because the queue was full or by RED.
    QueueDrops,
    /// Frames given up after all retries, by all nodes.
    FramesFailed,
    /// Time from the dispatch of a request to its complete response: the 1 % quantile, ms. It
    /// stands for the shortest, but excludes requests that profited from the previous one.
    LatencyP1,
    /// The same, first quartile, ms.
    LatencyFirstQuartile,
    /// The same, median, ms.
    LatencyMedian,
    /// The same, third quartile, ms.
    LatencyThirdQuartile,
    /// Requests with a response, per hour.
    Responses,
    /// Share of time with the radio of the requested leaf on; %.
    ServerDutyCycle,
    /// The same for one cause; %.
    ServerFor(Cause),
    /// Requests without a response.
    Failed,
    /// Metric of many flows in one tree.
    OfTree(OfTree),
    /// Metric of a path whose nodes sleep.
    OfBursts(OfBursts),
    /// Metric of the end of a line or of its relays.
    OfNode(OfNode),
    /// Metric of transfers between pairs of nodes.
    OfPairs(OfPairs),
}

impl Metric {
    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Metric::Goodput => "goodput",
            Metric::GoodputSum => "goodput_sum",
            Metric::GoodputMin => "goodput_min",
            Metric::GoodputOf(0) => "goodput_first",
            Metric::GoodputOf(1) => "goodput_second",
            Metric::GoodputOf(2) => "goodput_third",
            Metric::GoodputOf(3) => "goodput_fourth",
            Metric::GoodputOf(_) => "goodput_fifth",
            Metric::FairnessOfFlows => "fairness",
            Metric::Starved => "starved",
            Metric::RetransmissionsPerLoss => "retransmissions_per_loss",
            Metric::SegmentLoss | Metric::SegmentLossOfAll => "segment_loss",
            Metric::Rtt => "rtt",
            Metric::Frames => "frames",
            Metric::FramesPerKb => "frames_per_kb",
            Metric::RadioOnPerPoll => "radio_on_per_poll",
            Metric::EnergyPerPoll => "energy_per_poll",
            Metric::LeafRadioPerKb => "leaf_radio_per_kb",
            Metric::FramesAcked => "frames_acked",
            Metric::Unacknowledged => "unacknowledged",
            Metric::AccessFailures => "access_failures",
            Metric::AttemptsPerFrame => "attempts_per_frame",
            Metric::FrameCycle => "frame_cycle",
            Metric::FramesAckedOfSecond => "frames_acked_of_second",
            Metric::FastRetransmissions => "fast_retransmissions",
            Metric::Timeouts => "timeouts",
            Metric::TimeoutsOf(cause) => cause.name(),
            Metric::CwndFull => "cwnd_full",
            Metric::Mss => "mss",
            Metric::Reliability(_) => "reliability",
            Metric::ReliabilityMin(_) => "reliability_min",
            Metric::RadioDutyCycle(_) => "radio_duty_cycle",
            Metric::RadioDutyCycleInHour(..) => "radio_duty_cycle_in_hour",
            Metric::RadioDutyCycleAtNight(_) => "radio_duty_cycle_night",
            Metric::RadioDutyCycleAtWork(_) => "radio_duty_cycle_working_hours",
            Metric::RadioFor(_, cause) => of_cause(cause),
            Metric::RadioStarting(_) => "radio_starting",
            Metric::RadioBetweenAttempts(_) => "radio_between_attempts",
            Metric::FramesSent(_) => "frames_sent",
            Metric::IndirectRetries(_) => "indirect_retries",
            Metric::CpuDutyCycle(_) => "cpu_duty_cycle",
            Metric::CpuWithoutCipher(_) => "cpu_without_cipher",
            Metric::RttOf(_) => "rtt",
            Metric::TimeoutOf(_) => "timeout",
            Metric::Retransmitted(_) => "retransmitted",
            Metric::RetransmittedByTimeout(_) => "by_timeout",
            Metric::RetransmittedShare(_) => "retransmitted_share",
            Metric::Median => "goodput_median",
            Metric::LowerQuartile => "goodput_q1",
            Metric::UpperQuartile => "goodput_q3",
            Metric::Fairness => "fairness",
            Metric::FairnessOfPairs => "fairness_of_pairs",
            Metric::QueueDrops => "queue_drops",
            Metric::FramesFailed => "frames_failed",
            Metric::LatencyP1 => "latency_p1",
            Metric::LatencyFirstQuartile => "latency_first_quartile",
            Metric::LatencyMedian => "latency_median",
            Metric::LatencyThirdQuartile => "latency_third_quartile",
            Metric::Responses => "responses",
            Metric::ServerDutyCycle => "radio_duty_cycle",
            Metric::ServerFor(cause) => of_cause(cause),
            Metric::Failed => "failed",
            Metric::OfTree(of) => of.name().0,
            Metric::OfBursts(of) => of.name().0,
            Metric::OfNode(of) => of.name().0,
            Metric::OfPairs(of) => of.name().0,
        }
    }

    /// Unit in results.
    pub const fn unit(self) -> &'static str {
        match self {
            Metric::Goodput
            | Metric::GoodputSum
            | Metric::GoodputMin
            | Metric::GoodputOf(_)
            | Metric::Median
            | Metric::LowerQuartile
            | Metric::UpperQuartile => "kb/s",
            Metric::Starved => "flows",
            Metric::RetransmissionsPerLoss => "ratio",
            Metric::SegmentLoss
            | Metric::SegmentLossOfAll
            | Metric::FairnessOfFlows
            | Metric::CwndFull
            | Metric::Unacknowledged
            | Metric::AccessFailures => "%",
            Metric::FramesAcked | Metric::FramesAckedOfSecond => "frames/s",
            Metric::RadioOnPerPoll => "us",
            Metric::EnergyPerPoll => "uJ",
            Metric::AttemptsPerFrame => "attempts",
            Metric::FrameCycle => "ms",
            Metric::LeafRadioPerKb => "ms/kB",
            Metric::Rtt | Metric::RttOf(_) | Metric::TimeoutOf(_) => "ms",
            Metric::Frames | Metric::FramesFailed => "frames",
            Metric::QueueDrops => "packets",
            Metric::FramesPerKb => "frames/kB",
            Metric::FastRetransmissions | Metric::Timeouts | Metric::TimeoutsOf(_) => "events",
            Metric::Mss => "B",
            Metric::Reliability(_)
            | Metric::ReliabilityMin(_)
            | Metric::RadioDutyCycle(_)
            | Metric::RadioDutyCycleInHour(..)
            | Metric::RadioDutyCycleAtNight(_)
            | Metric::RadioDutyCycleAtWork(_)
            | Metric::RetransmittedShare(_)
            | Metric::RadioFor(..)
            | Metric::ServerDutyCycle
            | Metric::ServerFor(_)
            | Metric::RadioStarting(_)
            | Metric::RadioBetweenAttempts(_)
            | Metric::CpuDutyCycle(_)
            | Metric::CpuWithoutCipher(_) => "%",
            Metric::Retransmitted(_) | Metric::RetransmittedByTimeout(_) => "per hour",
            Metric::FramesSent(_) | Metric::Responses => "per hour",
            Metric::IndirectRetries(_) => "per frame",
            Metric::Fairness | Metric::FairnessOfPairs => "%",
            Metric::LatencyP1
            | Metric::LatencyFirstQuartile
            | Metric::LatencyMedian
            | Metric::LatencyThirdQuartile => "ms",
            Metric::Failed => "requests",
            Metric::OfTree(of) => of.name().1,
            Metric::OfBursts(of) => of.name().1,
            Metric::OfNode(of) => of.name().1,
            Metric::OfPairs(of) => of.name().1,
        }
    }

    /// Value in one run; `None` if the run has no sample, or the metric concerns a flow and there
    /// is none.
    pub fn value(self, scenario: &Scenario, run: &RunResult) -> Option<f64> {
        if let Metric::OfBursts(of) = self {
            return of.value(scenario, run);
        }
        let flow = run.flows.first()?;
        let frames = || run.nodes.iter().map(|n| n.frames_sent).sum::<u64>() as f64;
        let server = || run.nodes.get(SERVER as usize);
        match self {
            Metric::Goodput => flow.goodput_kbps,
            Metric::SegmentLoss => flow.segment_loss.map(|share| share * 100.0),
            Metric::Rtt => flow.rtt_ms,
            Metric::Frames => Some(frames()),
            Metric::FramesPerKb => {
                let bytes = flow.bytes.filter(|bytes| *bytes > 0)?;
                Some(frames() * 1_000.0 / bytes as f64)
            }
            Metric::FastRetransmissions => flow.fast_retransmissions.map(|count| count as f64),
            Metric::Timeouts => flow.timeouts.map(|count| count as f64),
            Metric::TimeoutsOf(cause) => cause.of(flow).map(f64::from),
            Metric::CwndFull => cwnd_full(scenario, flow, run),
            Metric::Mss => flow.mss.map(f64::from),
            Metric::Median => quantile(run, 0.5),
            Metric::LowerQuartile => quantile(run, 0.25),
            Metric::UpperQuartile => quantile(run, 0.75),
            Metric::Fairness => Some(fairness(run, run.flows.len())? * 100.0),
            Metric::FairnessOfPairs => Some(fairness(run, 2)? * 100.0),
            Metric::QueueDrops => Some(over_nodes(run, |n| n.queue_drops) as f64),
            Metric::FramesFailed => Some(over_nodes(run, |n| n.frames_failed) as f64),
            Metric::LatencyP1 => stats::quantile(flow.latencies_ms(), 0.01),
            Metric::LatencyFirstQuartile => stats::quantile(flow.latencies_ms(), 0.25),
            Metric::LatencyMedian => stats::quantile(flow.latencies_ms(), 0.5),
            Metric::LatencyThirdQuartile => stats::quantile(flow.latencies_ms(), 0.75),
            Metric::Responses => Some(per_hour(flow.latencies_ms.as_ref()?.len() as u64, run)),
            Metric::ServerDutyCycle => Some(server()?.duty_cycle * 100.0),
            Metric::ServerFor(cause) => Some(server()?.radio_s.of(cause) * 100.0 / run.sim_seconds),
            Metric::Failed => flow.failed.map(f64::from),
            Metric::OfTree(of) => of.value(scenario, run),
            Metric::OfNode(of) => of.value(run),
            Metric::OfPairs(of) => of.value(scenario, run),
            _ => self
                .of_all_flows(run)
                .or_else(|| self.of_mac(run))
                .or_else(|| self.of_leaf(scenario, run))
                .or_else(|| self.of_flows(scenario, run))
                .or_else(|| self.of_nodes(scenario, run)),
        }
    }

    /// Value of a metric of all flows of any kind; `None` for other metrics.
    fn of_all_flows(self, run: &RunResult) -> Option<f64> {
        let rates = || run.flows.iter().filter_map(|flow| flow.goodput_kbps);
        // Flows whose both ends have counted.
        let counted = |flow: &FlowResult| flow.segments_sent.zip(flow.segments_received);
        let (sent, received) = run
            .flows
            .iter()
            .filter_map(counted)
            .fold((0, 0), |(s, r), both| (s + both.0, r + both.1));
        let lost = sent.saturating_sub(received) as f64;
        let retransmissions =
            || run.flows.iter().filter_map(|flow| flow.retransmissions).sum::<u64>();
        match self {
            Metric::GoodputSum => Some(rates().sum()),
            Metric::GoodputMin => rates().reduce(f64::min),
            Metric::GoodputOf(flow) => run.flows.get(usize::from(flow))?.goodput_kbps,
            Metric::FairnessOfFlows => Some(jain(rates())? * 100.0),
            Metric::Starved => Some(rates().filter(|rate| *rate < 0.1).count() as f64),
            // If no segment was lost, divides by one.
            Metric::RetransmissionsPerLoss => Some(retransmissions() as f64 / lost.max(1.0)),
            Metric::SegmentLossOfAll => (sent > 0).then(|| lost / sent as f64 * 100.0),
            _ => None,
        }
    }

    /// Value of a metric of all MACs; `None` for other metrics.
    fn of_mac(self, run: &RunResult) -> Option<f64> {
        let sum = |count: fn(&NodeResult) -> Option<u64>| over_nodes(run, count);
        let (acked, failed) = (sum(|n| n.frames_acked), sum(|n| n.frames_failed));
        let runs = (acked + failed + sum(|n| n.retries)) as f64;
        let missing = sum(|n| n.acks_missing);
        match self {
            Metric::FramesAcked => Some(acked as f64 / run.sim_seconds),
            Metric::FramesAckedOfSecond => {
                let node = run.nodes.get(run.flows.get(1)?.from as usize)?;
                Some(node.frames_acked? as f64 / run.sim_seconds)
            }
            Metric::Unacknowledged => {
                Some(missing as f64 / sum(|n| Some(n.frames_sent)) as f64 * 100.0)
            }
            // Failed runs without those in which the acknowledgement was missing.
            Metric::AccessFailures => Some((runs - acked as f64 - missing as f64) / runs * 100.0),
            Metric::AttemptsPerFrame => Some(runs / acked as f64),
            Metric::FrameCycle => {
                let frames = (acked + failed) as f64;
                Some(run.flows.len() as f64 * run.sim_seconds / frames * 1e3)
            }
            _ => None,
        }
    }

    /// Value of a metric of the first leaf; `None` for other metrics.
    fn of_leaf(self, scenario: &Scenario, run: &RunResult) -> Option<f64> {
        let leaf = scenario.nodes.iter().position(|place| place.role == Role::Leaf)?;
        let leaf = run.nodes.get(leaf).filter(|leaf| leaf.frames_sent > 0)?;
        let on_s = leaf.duty_cycle * run.sim_seconds;
        // Valid for a leaf that sends only data requests.
        let polls = leaf.frames_sent as f64;
        match self {
            Metric::LeafRadioPerKb => {
                let bytes = run.flows.first()?.bytes.filter(|bytes| *bytes > 0)?;
                Some(on_s * 1e6 / bytes as f64)
            }
            Metric::RadioOnPerPoll => Some(on_s * 1e6 / polls),
            Metric::EnergyPerPoll => Some(leaf.energy_mj * 1e3 / polls),
            _ => None,
        }
    }

    /// Value of a metric of sensors' flows; `None` for other metrics.
    fn of_flows(self, scenario: &Scenario, run: &RunResult) -> Option<f64> {
        let over = |carrier, value: &dyn Fn(&FlowResult) -> Option<f64>| {
            mean(sensors(carrier, scenario, run).filter_map(value))
        };
        match self {
            Metric::Reliability(carrier) => {
                over(carrier, &|flow| Some(flow.readings.as_ref()?.reliability()? * 100.0))
            }
            Metric::ReliabilityMin(carrier) => {
                let shares = sensors(carrier, scenario, run)
                    .filter_map(|flow| flow.readings.as_ref()?.reliability());
                Some(shares.reduce(f64::min)? * 100.0)
            }
            Metric::Retransmitted(carrier) => {
                over(carrier, &|flow| Some(per_hour(flow.retransmissions?, run)))
            }
            Metric::RetransmittedByTimeout(carrier) => over(carrier, &|flow| {
                let fast = flow.fast_retransmissions.unwrap_or(0);
                Some(per_hour(flow.retransmissions? - fast, run))
            }),
            Metric::RetransmittedShare(carrier) => over(carrier, &|flow| {
                let again = flow.retransmissions?;
                let once = flow.segments_sent?.saturating_sub(again);
                (once > 0).then(|| again as f64 / once as f64 * 100.0)
            }),
            Metric::RttOf(carrier) => over(carrier, &|flow| flow.rtt_ms),
            Metric::TimeoutOf(carrier) => over(carrier, &|flow| flow.timeout_ms),
            _ => None,
        }
    }

    /// Value of a metric of sensors' nodes; `None` for other metrics.
    fn of_nodes(self, scenario: &Scenario, run: &RunResult) -> Option<f64> {
        let share = |carrier, share: &dyn Fn(&NodeResult) -> f64| {
            mean(nodes(carrier, scenario, run).map(|node| share(node) * 100.0))
        };
        match self {
            Metric::RadioDutyCycle(carrier) => share(carrier, &|node| node.duty_cycle),
            Metric::RadioDutyCycleInHour(carrier, hour) => {
                let place = usize::try_from(i32::from(hour) - scenario.start_hour as i32).ok()?;
                let in_hour = |node: &NodeResult| node.duty_by_hour.get(place).copied();
                mean(nodes(carrier, scenario, run).filter_map(in_hour).map(|share| share * 100.0))
            }
            Metric::RadioDutyCycleAtNight(carrier) => by_clock(carrier, scenario, run, 0..7),
            Metric::RadioDutyCycleAtWork(carrier) => by_clock(carrier, scenario, run, 9..18),
            Metric::RadioFor(carrier, cause) => {
                share(carrier, &|node| node.radio_s.of(cause) / run.sim_seconds)
            }
            Metric::RadioStarting(carrier) => share(carrier, &|node| node.starting),
            Metric::RadioBetweenAttempts(carrier) => share(carrier, &|node| node.between_attempts),
            Metric::FramesSent(carrier) => {
                mean(nodes(carrier, scenario, run).map(|node| per_hour(node.frames_sent, run)))
            }
            Metric::IndirectRetries(carrier) => {
                let (mut offered, mut taken) = (0, 0);
                for node in nodes(carrier, scenario, run) {
                    offered += node.frames_offered?;
                    taken += node.frames_accepted?;
                }
                (taken > 0).then(|| offered as f64 / taken as f64 - 1.0)
            }
            Metric::CpuDutyCycle(carrier) => {
                let working = nodes(carrier, scenario, run).filter_map(|node| node.cpu_duty_cycle);
                mean(working.map(|share| share * 100.0))
            }
            Metric::CpuWithoutCipher(carrier) => {
                let cost = host_cost_of(&scenario.radio);
                let busy = |node: &NodeResult| {
                    cost.of(CpuWork { cipher_runs: 0, ..node.cpu_work.unwrap_or_default() }) as f64
                        / 1e9
                };
                share(carrier, &|node| busy(node) / run.sim_seconds)
            }
            _ => None,
        }
    }
}

/// Sum of a count over all nodes.
fn over_nodes(run: &RunResult, count: fn(&NodeResult) -> Option<u64>) -> u64 {
    run.nodes.iter().filter_map(count).sum()
}

const fn of_cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Poll => "radio_poll",
        Cause::Listen => "radio_listen",
        Cause::Send => "radio_send",
        Cause::Receive => "radio_receive",
        Cause::Retry => "radio_retry",
        Cause::Control => "radio_control",
    }
}

/// Flows of sensors with this carrier.
fn sensors<'a>(
    carrier: Carrier,
    scenario: &'a Scenario,
    run: &'a RunResult,
) -> impl Iterator<Item = &'a FlowResult> {
    let flows = scenario.flows.iter().zip(&run.flows);
    flows.filter_map(move |(flow, result)| match flow.kind {
        FlowKind::Anemometer(Sensor { carrier: this, .. }) if this == carrier => Some(result),
        _ => None,
    })
}

/// Nodes of sensors with this carrier.
fn nodes<'a>(
    carrier: Carrier,
    scenario: &'a Scenario,
    run: &'a RunResult,
) -> impl Iterator<Item = &'a NodeResult> {
    sensors(carrier, scenario, run).filter_map(|flow| run.nodes.get(flow.from as usize))
}

/// Share of radio time in these hours of the day, in per cent; `None` unless the simulation begins
/// at midnight and covers them.
fn by_clock(
    carrier: Carrier,
    scenario: &Scenario,
    run: &RunResult,
    hours: Range<usize>,
) -> Option<f64> {
    if scenario.start_hour != 0.0 {
        return None;
    }
    let of = |node: &NodeResult| {
        let hours = node.duty_by_hour.get(hours.clone())?;
        Some(mean(hours.iter().copied())? * 100.0)
    };
    mean(nodes(carrier, scenario, run).filter_map(of))
}

fn per_hour(count: u64, run: &RunResult) -> f64 {
    count as f64 * 3_600.0 / run.sim_seconds.max(1.0)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

/// Share of the observed time with a full window, in per cent, without one second of slow start.
/// There is a sample per change; it is valid until the next one, the last one until the end.
fn cwnd_full(scenario: &Scenario, flow: &FlowResult, run: &RunResult) -> Option<f64> {
    let buffer = scenario.tcp.send_buffer.bytes(flow.mss? as usize) as f64;
    let start = scenario.flows.first()?.start_s + 1.0;
    let samples: Vec<_> = run.cwnd.iter().filter(|s| s.flow == 0).collect();
    let ends = samples.iter().skip(1).map(|s| s.at_s).chain([run.sim_seconds]);
    let (mut full, mut all) = (0.0, 0.0);
    for (sample, end) in samples.iter().zip(ends) {
        let span = (end - sample.at_s.max(start)).max(0.0);
        all += span;
        if f64::from(sample.cwnd) >= buffer {
            full += span;
        }
    }
    (all > 0.0).then(|| full / all * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_network::run::{CwndSample, RadioSeconds, Readings};
    use kinglet_scenario::Flow;

    fn scenario() -> Scenario {
        Scenario { flows: vec![Flow::bulk(1, 0)], ..Scenario::default() }
    }

    #[test]
    fn frames_are_summed_over_nodes_and_related_to_what_arrived() {
        let run = RunResult {
            flows: vec![FlowResult { bytes: Some(2_000), ..FlowResult::default() }],
            nodes: vec![
                NodeResult { frames_sent: 10, ..NodeResult::default() },
                NodeResult { frames_sent: 20, ..NodeResult::default() },
            ],
            ..RunResult::default()
        };
        assert_eq!(Metric::Frames.value(&scenario(), &run), Some(30.0));
        assert_eq!(Metric::FramesPerKb.value(&scenario(), &run), Some(15.0));
    }

    #[test]
    fn the_window_is_full_for_the_share_of_time_that_it_is() {
        let sample = |at_s, cwnd| CwndSample { flow: 0, at_s, cwnd, ssthresh: None };
        let run = RunResult {
            flows: vec![FlowResult { mss: Some(100), ..FlowResult::default() }],
            // The buffer has 4 segments of 100. Samples before the third second do not count.
            cwnd: vec![sample(0.5, 1), sample(1.0, 400), sample(5.0, 100), sample(6.0, 400)],
            sim_seconds: 12.0,
            ..RunResult::default()
        };
        assert_eq!(Metric::CwndFull.value(&scenario(), &run), Some(90.0));
    }

    #[test]
    fn sensors_are_averaged_by_what_carries_their_readings() {
        let sensor = |from, carrier| {
            let kind = FlowKind::Anemometer(Sensor::new(from, 9, carrier));
            Flow::new(0.0, kind)
        };
        let carriers = [Carrier::Tcp, Carrier::Ideal, Carrier::Tcp];
        let flows = (0..).zip(carriers).map(|(node, carrier)| sensor(node, carrier)).collect();
        let scenario = Scenario { flows, ..Scenario::default() };
        let result = |from, delivered, lost| FlowResult {
            from,
            retransmissions: Some(u64::from(from)),
            readings: Some(Readings { delivered, lost, ..Readings::default() }),
            ..FlowResult::default()
        };
        let node = |duty_cycle| NodeResult { duty_cycle, ..NodeResult::default() };
        let run = RunResult {
            flows: vec![result(0, 99, 1), result(1, 1, 1), result(2, 97, 3)],
            nodes: vec![node(0.01), node(0.5), node(0.03)],
            sim_seconds: 7_200.0,
            ..RunResult::default()
        };
        assert_eq!(Metric::Reliability(Carrier::Tcp).value(&scenario, &run), Some(98.0));
        assert_eq!(Metric::RadioDutyCycle(Carrier::Tcp).value(&scenario, &run), Some(2.0));
        assert_eq!(Metric::RadioDutyCycle(Carrier::Ideal).value(&scenario, &run), Some(50.0));
        assert_eq!(Metric::Retransmitted(Carrier::Tcp).value(&scenario, &run), Some(0.5));
        assert_eq!(Metric::RttOf(Carrier::Ideal).value(&scenario, &run), None);
    }

    #[test]
    fn repetitions_are_related_to_what_was_sent_once() {
        let kind = FlowKind::Anemometer(Sensor::new(0, 9, Carrier::Tcp));
        let flows = vec![Flow::new(0.0, kind)];
        let scenario = Scenario { flows, ..Scenario::default() };
        let flow = FlowResult {
            segments_sent: Some(110),
            retransmissions: Some(10),
            rtt_ms: Some(250.0),
            timeout_ms: Some(3_000.0),
            ..FlowResult::default()
        };
        let radio_s = RadioSeconds { listen: 9.0, ..RadioSeconds::default() };
        let node = NodeResult {
            starting: 0.01,
            between_attempts: 0.02,
            frames_sent: 500,
            frames_offered: Some(130),
            frames_accepted: Some(100),
            radio_s,
            ..NodeResult::default()
        };
        let run = RunResult {
            flows: vec![flow],
            nodes: vec![node],
            sim_seconds: 900.0,
            ..RunResult::default()
        };
        for (metric, value) in [
            (Metric::RetransmittedShare(Carrier::Tcp), 10.0),
            (Metric::IndirectRetries(Carrier::Tcp), 0.3),
            (Metric::RttOf(Carrier::Tcp), 250.0),
            (Metric::TimeoutOf(Carrier::Tcp), 3_000.0),
            (Metric::RadioStarting(Carrier::Tcp), 1.0),
            (Metric::RadioBetweenAttempts(Carrier::Tcp), 2.0),
            (Metric::RadioFor(Carrier::Tcp, Cause::Listen), 1.0),
            (Metric::FramesSent(Carrier::Tcp), 2_000.0),
        ] {
            let found = metric.value(&scenario, &run).expect("it is measured");
            assert!((found - value).abs() < 1e-9, "{metric:?} {found}");
        }
    }

    #[test]
    fn night_and_working_hours_are_those_of_the_clock_and_need_the_day() {
        let kind = FlowKind::Anemometer(Sensor::new(0, 9, Carrier::Tcp));
        let flows = vec![Flow::new(0.0, kind)];
        let mut scenario = Scenario { flows, start_hour: 0.0, ..Scenario::default() };
        let day = |hours: u8| RunResult {
            flows: vec![FlowResult::default()],
            nodes: vec![NodeResult {
                duty_by_hour: (0..hours).map(f64::from).collect(),
                ..NodeResult::default()
            }],
            ..RunResult::default()
        };
        let (night, work) = (Metric::RadioDutyCycleAtNight, Metric::RadioDutyCycleAtWork);
        assert_eq!(night(Carrier::Tcp).value(&scenario, &day(24)), Some(300.0));
        assert_eq!(work(Carrier::Tcp).value(&scenario, &day(24)), Some(1_300.0));
        assert_eq!(work(Carrier::Tcp).value(&scenario, &day(17)), None);
        scenario.start_hour = 11.0;
        assert_eq!(night(Carrier::Tcp).value(&scenario, &day(24)), None);
        let hour =
            |hour| Metric::RadioDutyCycleInHour(Carrier::Tcp, hour).value(&scenario, &day(3));
        assert_eq!([10, 12, 14].map(hour), [None, Some(100.0), None]);
    }

    #[test]
    fn a_run_without_flows_has_no_values() {
        assert_eq!(Metric::Goodput.value(&scenario(), &RunResult::default()), None);
    }
}
