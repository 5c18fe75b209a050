//! Causes of retransmission timeouts.

use kinglet_network::run::FlowResult;

/// Cause of a retransmission timeout, from the sender's state at the timeout and information
/// received later ([`TimeoutCauses`](kinglet_network::apps::bulk::TimeoutCauses)).
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
