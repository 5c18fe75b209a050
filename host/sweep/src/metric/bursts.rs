//! Metrics of a run in which all nodes sleep.

use super::drawn::When;
use super::{Drawn, OfFrame};
use kinglet_network::build::payload_of;
use kinglet_network::run::{NodeResult, RunResult, Sample, StrobeResult};
use kinglet_scenario::Scenario;

/// Octets that fill a frame over several hops together with the compressed headers.
pub const FULL: u16 = 103;

/// Metric of a path whose nodes sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfBursts {
    /// Share of time in which the busiest node's radio is on or starting, %.
    RadioWorst,
    /// The same as the mean over nodes between the ends of the path, or all nodes if there are
    /// none.
    Radio,
    /// Received payload of a flow of datagrams, in kB/s.
    Throughput,
    /// The same including all octets behind the MAC header, in kB/s; each datagram is a frame of
    /// full length.
    OfFrames,
    /// The same of a file sent by PIP, whose headers have the same length, in kB/s.
    OfPip,
    /// Received frames of full length per second.
    Rate,
    /// Energy of a node between the ends for each kilobyte received, in mJ: radio, CPU and flash.
    EnergyPerKb,
    /// Share of the flash in that energy, %.
    FlashShare,
    /// The same of node 3.
    EnergyOfThird,
    /// Share of time in which the radio of node 3 is on or starting, %.
    RadioOfThird,
    /// The same of node 2, where the flows cross.
    RadioOfMiddle,
    /// Strobes whose first frame was acknowledged, as a share of all, %. The strobes are those of
    /// the node before the one that receives interference.
    HeardAtOnce,
    /// Strobes of the same node without an acknowledgement, %.
    NotHeard,
    /// Received datagrams of the first flow, as a share of those up to the last one received, %.
    Arrived,
    /// Mean time between sending and reception of a datagram, s.
    Delay,
    /// Octets behind the MAC header in frames of the first flow until its end, kB/s.
    First,
    /// The same of the second flow.
    Second,
    /// Throughput of the first flow before the second one begins, kB/s.
    FirstAlone,
    /// Throughput of the first flow during the second one, kB/s.
    FirstConcurrent,
    /// Radio time of node 2 before the second flow begins, %.
    RadioAlone,
    /// Radio time of node 2 during the second flow, %.
    RadioConcurrent,
    /// Lost datagrams of the flows other than the first, %.
    CollectionLoss,
    /// Mean time between sending and reception of those flows' datagrams, s.
    CollectionDelay,
    /// Goodput of the first flow before the interference, B/s, without the first 20 s.
    Before,
    /// The same during the interference.
    During,
    /// The same after the interference, without the first 20 s.
    After,
    /// Retransmitted segments during the interference, as a share of those received, %.
    RetransmittedDuring,
    /// Retransmitted segments of the whole run, as a share of those sent, %.
    Resent,
    /// Radio time of one node during the interference, %.
    RadioDuring(u8),
    /// Mean number of frames that wait in one node during the interference.
    QueueDuring(u8),
    /// Power of a relay before, during or after the interference.
    Drawn(Drawn),
    /// Time or energy that a node spends on a frame.
    OfFrame(OfFrame),
}

/// Octets behind a MAC header with short addresses in a full frame.
const FRAME: f64 = 116.0;

impl OfBursts {
    /// Name in results and unit.
    pub const fn name(self) -> (&'static str, &'static str) {
        match self {
            OfBursts::RadioWorst => ("radio_worst", "%"),
            OfBursts::Radio => ("radio", "%"),
            OfBursts::Throughput => ("throughput", "kB/s"),
            OfBursts::OfFrames | OfBursts::OfPip => ("throughput_of_frames", "kB/s"),
            OfBursts::Rate => ("rate", "frames/s"),
            OfBursts::EnergyPerKb => ("energy", "mJ/kB"),
            OfBursts::FlashShare => ("flash_share", "%"),
            OfBursts::EnergyOfThird => ("energy_3", "mJ/kB"),
            OfBursts::RadioOfThird => ("radio_3", "%"),
            OfBursts::RadioOfMiddle => ("radio_2", "%"),
            OfBursts::HeardAtOnce => ("heard_at_once", "%"),
            OfBursts::NotHeard => ("not_heard", "%"),
            OfBursts::Arrived => ("arrived", "%"),
            OfBursts::Delay => ("delay", "s"),
            OfBursts::First => ("first", "kB/s"),
            OfBursts::Second => ("second", "kB/s"),
            OfBursts::FirstAlone => ("first_alone", "kB/s"),
            OfBursts::FirstConcurrent => ("first_concurrent", "kB/s"),
            OfBursts::RadioAlone => ("radio_2_alone", "%"),
            OfBursts::RadioConcurrent => ("radio_2_concurrent", "%"),
            OfBursts::CollectionLoss => ("collection_loss", "%"),
            OfBursts::CollectionDelay => ("collection_delay", "s"),
            OfBursts::Before => ("before", "B/s"),
            OfBursts::During => ("during", "B/s"),
            OfBursts::After => ("after", "B/s"),
            OfBursts::RetransmittedDuring => ("retransmitted", "%"),
            OfBursts::Resent => ("sent_again", "%"),
            OfBursts::RadioDuring(3) => ("radio_3_during", "%"),
            OfBursts::RadioDuring(5) => ("radio_5_during", "%"),
            OfBursts::RadioDuring(6) => ("radio_6_during", "%"),
            OfBursts::RadioDuring(7) => ("radio_7_during", "%"),
            OfBursts::RadioDuring(9) => ("radio_9_during", "%"),
            OfBursts::RadioDuring(_) => ("radio_during", "%"),
            OfBursts::QueueDuring(5) => ("queue_5_during", "frames"),
            OfBursts::QueueDuring(6) => ("queue_6_during", "frames"),
            OfBursts::QueueDuring(_) => ("queue_during", "frames"),
            OfBursts::Drawn(drawn) => drawn.name(),
            OfBursts::OfFrame(of) => of.name(),
        }
    }

    /// Value in one run.
    pub fn value(self, scenario: &Scenario, run: &RunResult) -> Option<f64> {
        let on = |node: &NodeResult| 100.0 * (node.duty_cycle + node.starting);
        let between = between(scenario, run);
        let mean = |of: &dyn Fn(&NodeResult) -> f64| {
            let count = between.len().max(1) as f64;
            between.iter().map(|node| of(node)).sum::<f64>() / count
        };
        let flow = run.flows.first();
        let seconds = scenario.duration_s - scenario.flows.first().map_or(0.0, |f| f.start_s);
        let flash = |node: &NodeResult| node.flash.map_or(0.0, |flash| flash.mj);
        let energy = NodeResult::whole_mj;
        Some(match self {
            OfBursts::RadioWorst => run.nodes.iter().map(on).fold(0.0, f64::max),
            OfBursts::Radio => mean(&on),
            OfBursts::Throughput => flow?.bytes? as f64 / seconds / 1e3,
            OfBursts::OfFrames => flow?.segments_received? as f64 * FRAME / seconds / 1e3,
            OfBursts::OfPip => {
                flow?.bytes? as f64 * (FRAME / kinglet_pip::PAYLOAD as f64) / flow?.seconds? / 1e3
            }
            OfBursts::Rate => flow?.segments_received? as f64 / seconds,
            OfBursts::EnergyPerKb => mean(&energy) / (flow?.bytes? as f64 / 1e3),
            OfBursts::FlashShare => 100.0 * mean(&flash) / mean(&energy),
            OfBursts::EnergyOfThird => energy(run.nodes.get(3)?) / (flow?.bytes? as f64 / 1e3),
            OfBursts::RadioOfThird => on(run.nodes.get(3)?),
            OfBursts::RadioOfMiddle => on(run.nodes.get(MIDDLE)?),
            OfBursts::Resent => {
                100.0 * flow?.retransmissions? as f64 / flow?.segments_sent?.max(1) as f64
            }
            OfBursts::HeardAtOnce => of_strobes(scenario, run, |s| s.acked_at_first)?,
            OfBursts::NotHeard => of_strobes(scenario, run, |s| s.failed)?,
            OfBursts::Delay => flow?.delay_ms? / 1e3,
            OfBursts::First => of_frames(flow?.bytes?, flow?.seconds?),
            OfBursts::Second => {
                let second = run.flows.get(1)?;
                of_frames(second.bytes?, second.seconds?)
            }
            OfBursts::Arrived => {
                100.0 * flow?.segments_received? as f64 / flow?.outcome_known.unwrap_or(1) as f64
            }
            OfBursts::CollectionLoss | OfBursts::CollectionDelay => self.of_collection(run)?,
            OfBursts::OfFrame(of) => of.value(run)?,
            _ => self.of_samples(scenario, run)?,
        })
    }

    /// True if the metric needs a sample of the run every second.
    pub const fn needs_samples(self) -> bool {
        matches!(
            self,
            OfBursts::FirstAlone
                | OfBursts::FirstConcurrent
                | OfBursts::RadioAlone
                | OfBursts::RadioConcurrent
                | OfBursts::Before
                | OfBursts::During
                | OfBursts::After
                | OfBursts::RetransmittedDuring
                | OfBursts::RadioDuring(_)
                | OfBursts::QueueDuring(_)
                | OfBursts::Drawn(_)
        )
    }

    /// Loss or delay over all periodic flows of datagrams.
    fn of_collection(self, run: &RunResult) -> Option<f64> {
        let periodic = || run.flows.iter().filter(|flow| flow.kind == "udp-periodic");
        if self == OfBursts::CollectionDelay {
            let delays = periodic().filter_map(|flow| flow.delay_ms).collect::<Vec<_>>();
            return Some(delays.iter().sum::<f64>() / delays.len().max(1) as f64 / 1e3);
        }
        // Datagrams after the last one received may still be in flight.
        let outcome_known: u64 = periodic().filter_map(|flow| flow.outcome_known).sum();
        let received: u64 = periodic().filter_map(|flow| flow.segments_received).sum();
        Some(100.0 * outcome_known.saturating_sub(received) as f64 / outcome_known.max(1) as f64)
    }

    fn of_samples(self, scenario: &Scenario, run: &RunResult) -> Option<f64> {
        let begins = |index: usize| scenario.flows.get(index).map(|flow| flow.start_s);
        let disturbed = || {
            let source = scenario.interference.first()?;
            Some((source.from_s, source.until_s?))
        };
        let when = match self {
            OfBursts::Before => When::Before,
            OfBursts::After => When::After,
            OfBursts::Drawn(drawn) => drawn.when(),
            _ => When::During,
        };
        let span = match self {
            OfBursts::FirstAlone | OfBursts::RadioAlone => (SETTLED_S, begins(1)?),
            OfBursts::FirstConcurrent | OfBursts::RadioConcurrent => {
                let begin = begins(1)?;
                (begin, (begin + run.flows.get(1)?.seconds?).min(scenario.duration_s))
            }
            _ => match when {
                When::Before => (SETTLED_S, disturbed()?.0),
                When::During => disturbed()?,
                When::After => (disturbed()?.1 + SETTLED_S, scenario.duration_s),
            },
        };
        if let OfBursts::QueueDuring(node) = self {
            let inside = run.samples.iter().filter(|it| (span.0..=span.1).contains(&it.at_s));
            let waiting: Option<Vec<_>> =
                inside.map(|it| it.waiting.get(usize::from(node))).collect();
            let waiting = waiting.filter(|all| !all.is_empty())?;
            return Some(waiting.iter().map(|n| **n as f64).sum::<f64>() / waiting.len() as f64);
        }
        let samples = Within::new(&run.samples, span)?;
        Some(match self {
            OfBursts::FirstAlone | OfBursts::FirstConcurrent => {
                of_frames(samples.bytes()?, samples.seconds())
            }
            OfBursts::RadioAlone | OfBursts::RadioConcurrent => {
                100.0 * samples.on_s(MIDDLE)? / samples.seconds()
            }
            OfBursts::Drawn(drawn) => drawn.value(samples.0, samples.1)?,
            OfBursts::RadioDuring(node) => 100.0 * samples.on_s(node.into())? / samples.seconds(),
            OfBursts::RetransmittedDuring => {
                let arrived = samples.bytes()? as f64 / f64::from(payload_of(scenario));
                100.0 * samples.retransmitted() as f64 / arrived.max(1.0)
            }
            _ => samples.bytes()? as f64 / samples.seconds(),
        })
    }
}

/// Node at which two lines cross.
const MIDDLE: usize = 2;
/// Seconds after the start of a transfer by which senders know the receivers' channels and times.
const SETTLED_S: f64 = 20.0;

/// First and last sample within a span of time.
struct Within<'a>(&'a Sample, &'a Sample);

impl<'a> Within<'a> {
    fn new(samples: &'a [Sample], (from, to): (f64, f64)) -> Option<Self> {
        let mut inside = samples.iter().filter(|sample| (from..=to).contains(&sample.at_s));
        let first = inside.next()?;
        let last = inside.next_back()?;
        Some(Within(first, last))
    }

    fn seconds(&self) -> f64 {
        self.1.at_s - self.0.at_s
    }

    fn bytes(&self) -> Option<u64> {
        Some(self.1.bytes.first()? - self.0.bytes.first()?)
    }

    fn on_s(&self, node: usize) -> Option<f64> {
        Some(self.1.on_s.get(node)? - self.0.on_s.get(node)?)
    }

    fn retransmitted(&self) -> u64 {
        self.1.retransmitted - self.0.retransmitted
    }
}

/// Octets behind the MAC header of frames with this payload in total, kB/s.
fn of_frames(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 * (FRAME / f64::from(FULL)) / seconds.max(1e-9) / 1e3
}

/// Share of strobes of the node before the one that receives interference, on the path of the first
/// flow, %.
fn of_strobes(scenario: &Scenario, run: &RunResult, of: fn(&StrobeResult) -> u32) -> Option<f64> {
    let node = scenario.interference.first()?.node?;
    let flow = run.flows.first()?;
    let before = if flow.from < flow.to? { node.checked_sub(1)? } else { node + 1 };
    let strobes = run.nodes.get(before as usize)?.strobes?;
    Some(100.0 * f64::from(of(&strobes)) / f64::from(strobes.all.max(1)))
}

/// Nodes between the ends of the first flow; all nodes if there are none or no flow.
fn between<'a>(scenario: &Scenario, run: &'a RunResult) -> Vec<&'a NodeResult> {
    let ends: Vec<_> =
        run.flows.first().map(|flow| [Some(flow.from), flow.to]).into_iter().flatten().collect();
    let is_end = |node: &NodeResult| ends.contains(&Some(node.id));
    let inner: Vec<_> = run.nodes.iter().filter(|node| !is_end(node)).collect();
    if inner.is_empty() || scenario.flows.is_empty() { run.nodes.iter().collect() } else { inner }
}
