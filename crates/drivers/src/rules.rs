//! The rules of the radio contract, by name.

use core::fmt;
use kinglet_time::Instant;

/// A rule of the radio contract ([`kinglet_radio`], "Rules for drivers").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Each transmission ends with exactly one event, and without one there is none.
    OneEvent,
    /// The event of a transmission comes within the time limit.
    TimeLimit,
    /// The event says what was on the air: the frame, once, as it was submitted, or nothing.
    Truth,
    /// The frame is on its channel, with the power nearest to the requested one.
    ChannelAndPower,
    /// The event has the time of the SFD of the frame.
    TimeOfSent,
    /// The event has the result of the wait for the acknowledgement, with its frame-pending bit.
    AckResult,
    /// Channel access is as requested: none, one assessment, or CSMA-CA with its limits.
    Access,
    /// A listening radio reports each intact frame that passes its filter, once and unchanged.
    Reception,
    /// Nothing else is reported: frames with a wrong FCS, on other channels, for others, or while
    /// the mode is `Off`.
    NothingElse,
    /// A received frame has the time of its SFD.
    TimeOfReceived,
    /// A received frame has its signal strength.
    Strength,
    /// A frame that requests an acknowledgement gets it 12 symbols after its end, others get none.
    Acknowledgement,
    /// A received frame says if it has been acknowledged, and an acknowledged frame is reported.
    AckedIsReported,
    /// The frame-pending bit is the one that was set last for data requests, and zero for others.
    FramePending,
    /// A frame that is being received is received to its end before a command takes effect.
    ReceptionFirst,
    /// Nothing is on the air within SIFS after an acknowledgement of the radio.
    Spacing,
    /// A transmission that assesses the channel, and was submitted during another node's frame,
    /// does not meet that frame's acknowledgement, although the channel is idle before it.
    Turnaround,
    /// A transmission while another one is outstanding is refused, and changes nothing.
    Refusal,
    /// After a transmission the radio is in the mode that was submitted last.
    Return,
    /// In the mode `Off` the radio draws its lowest current.
    Sleep,
    /// After `Reset` there is no event of an earlier command, no frame is pending, the mode is
    /// `Off`, and the filter stays.
    Reset,
    /// A schedule is met, or the transmission is reported as missed.
    Schedule,
    /// After a fault of the chip, or of the lines to it, the radio works again.
    Recovery,
    /// No call takes longer than [`CALL_LIMIT`](crate::CALL_LIMIT).
    CallTime,
    /// A radio without frames asks for few calls, so that its CPU can sleep.
    Calls,
    /// The driver does nothing that the data sheet forbids.
    DataSheet,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rule::OneEvent => "a transmission ends with exactly one event",
            Rule::TimeLimit => "the event of a transmission comes within the time limit",
            Rule::Truth => "the event of a transmission says what was on the air",
            Rule::ChannelAndPower => "a frame has the requested channel and power",
            Rule::TimeOfSent => "a sent frame is reported with the time of its SFD",
            Rule::AckResult => "the result of the wait for an acknowledgement is reported",
            Rule::Access => "channel access is as requested",
            Rule::Reception => "each frame that passes the filter is reported once, unchanged",
            Rule::NothingElse => "no other frame is reported",
            Rule::TimeOfReceived => "a received frame is reported with the time of its SFD",
            Rule::Strength => "a received frame is reported with its signal strength",
            Rule::Acknowledgement => {
                "frames are acknowledged on request, 12 symbols after their end"
            }
            Rule::AckedIsReported => "the report of a frame and its acknowledgement agree",
            Rule::FramePending => "acknowledgements have the frame-pending bit that was set",
            Rule::ReceptionFirst => "commands wait for the end of a reception",
            Rule::Spacing => "nothing is sent within SIFS after an acknowledgement",
            Rule::Turnaround => "a frame does not meet the acknowledgement of another node's frame",
            Rule::Refusal => "a second transmission is refused and changes nothing",
            Rule::Return => "the radio returns to its mode",
            Rule::Sleep => "the radio sleeps while it is off",
            Rule::Reset => "after a reset nothing of before is left but the filter",
            Rule::Schedule => "a schedule is met or reported as missed",
            Rule::Recovery => "the radio works again after a fault",
            Rule::CallTime => "no call takes long",
            Rule::Calls => "an idle radio asks for few calls",
            Rule::DataSheet => "the driver respects the data sheet",
        })
    }
}

/// A broken rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The time at which it was noticed.
    pub at: Instant,
    /// What was wrong.
    pub detail: &'static str,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}, at {} us", self.rule, self.detail, self.at.as_micros())
    }
}
