//! The outstanding transmission.

use crate::message::{Status, Tid};
use crate::raw::Outcome;
use kinglet_radio::{
    ACK_PSDU, ACK_WAIT, Access, Ack, Channel, Event, FCS_LEN, MAX_PSDU, OCTET, TURNAROUND,
    UNIT_BACKOFF, air_time,
};
use kinglet_time::{Duration, Instant};

/// Exponent of the longest backoff of a coprocessor (macMaxBe), and its largest number of
/// assessments; the longest acknowledgement timeout of one is OpenThread's in software.
const LONGEST_BACKOFF: u32 = 32;
const ACK_TIMEOUT: Duration = Duration::from_millis(16);
/// Allowance for the delays of the coprocessor and of other reports before the result.
const ALLOWANCE: core::ops::RangeInclusive<Duration> =
    Duration::from_millis(5)..=Duration::from_millis(100);

/// The longest recent delay of a result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delay(Duration);

impl Delay {
    /// No result has come yet.
    pub(super) const UNKNOWN: Delay = Delay(*ALLOWANCE.end());

    /// Notes a result, which came so long after its command.
    pub(super) fn note(&mut self, delay: Duration) {
        let forgotten = Duration::from_micros(self.0.as_micros() / 16 * 15);
        self.0 = forgotten.max(delay);
    }

    /// Returns the time to add to that of the longest course of a transmission.
    fn allowance(self) -> Duration {
        (self.0 * 2).clamp(*ALLOWANCE.start(), *ALLOWANCE.end())
    }
}

/// Progress of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It waits for the settings, or until then for the coprocessor.
    Waiting { from: Instant },
    /// Its command has been written, and its result is due until then.
    Written {
        tid: Tid,
        until: Instant,
        /// Time at which the line has sent the command.
        since: Instant,
        /// A report of a damaged command is about this one, if no other is outstanding.
        is_alone: bool,
    },
}

/// A transmission.
#[derive(Clone, Debug)]
pub(super) struct Sending {
    pub(super) frame: Vec<u8>,
    pub(super) channel: Channel,
    pub(super) access: Access,
    pub(super) ack: bool,
    pub(super) progress: Progress,
    /// It has been written before.
    pub(super) is_repeated: bool,
}

impl Sending {
    /// Returns the identifier of its command, if the coprocessor has got that.
    pub(super) fn tid(&self) -> Option<Tid> {
        match self.progress {
            Progress::Written { tid, .. } => Some(tid),
            Progress::Waiting { .. } => None,
        }
    }

    /// Returns the time until which its result is due.
    pub(super) fn written_until(&self) -> Option<Instant> {
        match self.progress {
            Progress::Written { until, .. } => Some(until),
            Progress::Waiting { .. } => None,
        }
    }

    /// Returns the time until which it waits.
    pub(super) fn waits_until(&self) -> Option<Instant> {
        match self.progress {
            Progress::Waiting { from } => Some(from),
            Progress::Written { .. } => None,
        }
    }

    /// Has it written again from `from` on.
    pub(super) fn repeat(&mut self, from: Instant) {
        (self.progress, self.is_repeated) = (Progress::Waiting { from }, true);
    }

    /// Returns the longest time from the command to its result: after it, either of both was lost.
    pub(super) fn longest(&self, delay: Delay) -> Duration {
        let assessments = match self.access {
            Access::Immediate | Access::Cca => 0,
            Access::Csma(params) => u32::from(params.max_backoffs) + 1,
        };
        // Before it, a reception ends.
        let air = air_time(MAX_PSDU) + air_time(MAX_PSDU);
        UNIT_BACKOFF * (LONGEST_BACKOFF * assessments) + air + ACK_TIMEOUT + delay.allowance()
    }

    /// Returns the event of a result that the coprocessor began to report at `at`; `None` if the
    /// frame has to be sent again.
    pub(super) fn event(&self, at: Instant, outcome: Outcome) -> Option<Event> {
        let answered = TURNAROUND + air_time(outcome.ack_len.unwrap_or(ACK_PSDU));
        let (since, ack) = match outcome.status {
            Status::OK if !self.ack => (Duration::ZERO, Ack::NotAwaited),
            Status::OK => (answered, Ack::Received { frame_pending: outcome.frame_pending }),
            Status::NO_ACK if self.ack => (ACK_WAIT, Ack::Missing),
            Status::NO_ACK => (ACK_WAIT, Ack::NotAwaited),
            Status::CCA_FAILURE => return Some(Event::ChannelBusy),
            _ => return None,
        };
        let after_sfd = OCTET + OCTET * (self.frame.len() + FCS_LEN) as u32;
        Some(Event::Transmitted { sfd: at - since - after_sfd, ack })
    }
}
