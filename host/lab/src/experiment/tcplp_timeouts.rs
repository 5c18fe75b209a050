//! §7.3's "something else": causes of retransmission timeouts where hidden terminals hardly matter.

use super::{Effort, Experiment, ExperimentResult, Metric, Point, Rows, line_scenario};
use crate::chart::{Bars, Figure};
use crate::run::FlowResult;
use kinglet_peers::Stack;

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "tcplp-timeouts",
    title: "Why retransmission timers expire",
    source: "TCPlp §7.3, Fig. 6b, which leaves it open",
    question: "Timeouts do not fall with the retry delay as fast retransmissions do. What does a \
               sender know when its timer expires, and was a segment lost?",
    method: "Bulk transfer over three hops for d of 0 to 100 ms with the paper's settings, half \
             an hour each; every expiry is counted by the connection's state before it: in the \
             handshake, during a recovery, with one segment in flight, with several and no sign \
             of a loss, with several and a sign of one. Spurious ones, which Eifel, D-SACK or \
             FreeBSD's clock undoes, are counted as well. In addition to the paper's TCP: \
             Kinglet's (stack=kinglet), without and with loss reports of the link.",
    threats: &[
        "Kinglet's TCP has RACK and tail loss probes, which replace most timeouts.",
        "A spurious expiry is counted as such only if it was detected; FreeBSD takes an expiry \
         for spurious if an acknowledgement arrives within half a smoothed round trip, even after \
         a loss.",
    ],
    main: "d_ms=40",
    plan,
    refine: |_: &mut Rows| (),
    figures,
};

/// Cause of a retransmission timeout, from the sender's state at the timeout and information
/// received later ([`TimeoutCauses`](crate::apps::bulk::TimeoutCauses)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutCause {
    /// The connection was not yet open.
    Handshake,
    /// A loss was under repair.
    Repair,
    /// One segment was in flight.
    SingleSegment,
    /// Several segments were in flight, and none had arrived.
    NoFeedback,
    /// Several segments were in flight, and some had arrived.
    Other,
    /// No segment was lost.
    Spurious,
}

impl TimeoutCause {
    /// All causes.
    pub const ALL: [TimeoutCause; 6] = [
        TimeoutCause::Handshake,
        TimeoutCause::Repair,
        TimeoutCause::SingleSegment,
        TimeoutCause::NoFeedback,
        TimeoutCause::Other,
        TimeoutCause::Spurious,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            TimeoutCause::Handshake => "timeouts_handshake",
            TimeoutCause::Repair => "timeouts_repair",
            TimeoutCause::SingleSegment => "timeouts_single_segment",
            TimeoutCause::NoFeedback => "timeouts_no_feedback",
            TimeoutCause::Other => "timeouts_other",
            TimeoutCause::Spurious => "timeouts_spurious",
        }
    }

    pub(super) fn of(self, flow: &FlowResult) -> Option<u32> {
        let causes = flow.timeout_causes?;
        Some(match self {
            TimeoutCause::Handshake => causes.handshake,
            TimeoutCause::Repair => causes.repair,
            TimeoutCause::SingleSegment => causes.single_segment,
            TimeoutCause::NoFeedback => causes.no_feedback,
            TimeoutCause::Other => causes.other,
            TimeoutCause::Spurious => causes.spurious,
        })
    }
}

const DELAYS_MS: [u32; 6] = [0, 10, 20, 40, 60, 100];
/// Delays with Kinglet's TCP, and with link feedback on losses as well.
const OWN_MS: [u32; 5] = [10, 20, 40, 60, 100];
const LINK_REPORT_MS: [u32; 2] = [10, 40];
/// Label suffix, series, TCP, whether the link reports losses to it, d in milliseconds.
type Sender = (&'static str, &'static str, Option<Stack>, bool, &'static [u32]);
const SENDERS: [Sender; 3] = [
    ("", "paper", Some(Stack::FreeBsd), false, &DELAYS_MS),
    (" stack=kinglet", "Kinglet's TCP", None, false, &OWN_MS),
    (" stack=kinglet link=tells", "the link tells", None, true, &LINK_REPORT_MS),
];
const METRICS: &[Metric] = &[
    Metric::Timeouts,
    Metric::TimeoutsOf(TimeoutCause::Handshake),
    Metric::TimeoutsOf(TimeoutCause::Repair),
    Metric::TimeoutsOf(TimeoutCause::SingleSegment),
    Metric::TimeoutsOf(TimeoutCause::NoFeedback),
    Metric::TimeoutsOf(TimeoutCause::Other),
    Metric::TimeoutsOf(TimeoutCause::Spurious),
    Metric::FastRetransmissions,
    Metric::SegmentLoss,
    Metric::Rtt,
];

fn plan(effort: Effort) -> Vec<Point> {
    let mut points = Vec::new();
    for (suffix, series, stack, reports, delays) in SENDERS {
        for d in delays {
            let mut scenario = line_scenario(effort, 3, *d);
            scenario.duration_s = 6.0 * effort.seconds();
            scenario.tcp.stack = stack;
            scenario.tcp.connection.link_losses = reports;
            points.push(Point {
                label: format!("d_ms={d}{suffix}"),
                series,
                x: f64::from(*d),
                scenario,
                metrics: METRICS,
                timeline_s: None,
            });
        }
    }
    points
}

fn figures(result: &ExperimentResult) -> Vec<Figure> {
    let causes = || TimeoutCause::ALL.into_iter().filter(|cause| *cause != TimeoutCause::Spurious);
    let rows = Rows { all: result.rows.clone(), ..Rows::default() };
    let bar = |d: u32| {
        let label = format!("d_ms={d}");
        let of = |cause: TimeoutCause| rows.mean(&label, cause.name()).unwrap_or(0.0);
        (label.clone(), causes().map(of).collect())
    };
    vec![Figure::Bars(Bars {
        title: "Expiries of the retransmission timer in half an hour, by cause".to_owned(),
        unit: "events".to_owned(),
        parts: causes().map(|cause| cause.name().replace('_', " ")).collect(),
        bars: DELAYS_MS.map(bar).into(),
        marks: Vec::new(),
    })]
}
