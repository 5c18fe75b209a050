//! Directed scenarios: a rule, or a few that belong together, in the situation that tests them.

mod faults;
mod reception;
mod transmission;

use crate::bench::{Bench, Fault, Setup};
use crate::frame::{Frame, Kind, To};
use crate::kit::{FILTER, Kit, Outgoing};
use crate::rules::Violation;
use core::fmt;
use kinglet_radio::{Access, Capabilities, Channel};
use kinglet_time::Duration;

/// A directed scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Frames of all lengths in both directions.
    Lengths,
    /// Every channel, every power.
    ChannelsAndPowers,
    /// A second transmission, and commands while one is outstanding.
    Outstanding,
    /// Channel access on a busy and on a clear channel.
    BusyChannel,
    /// Random backoff.
    Backoff,
    /// Acknowledgements that come, come late, or do not come.
    AwaitedAcks,
    /// Frame-pending bits.
    PendingBits,
    /// Addresses that pass the filter and that do not, before and after a change.
    Filtering,
    /// The filter after resets and after sleep.
    FilterStays,
    /// Commands during a reception.
    DuringReception,
    /// A transmission that waits for a reception and its acknowledgement.
    AfterAcknowledgement,
    /// A transmission that waits for another node's frame.
    AfterAnother,
    /// The mode `Off`.
    Off,
    /// The mode after a transmission.
    Return,
    /// More frames than the host reads.
    Overrun,
    /// A transmission while a received frame has not been read.
    UnreadFrame,
    /// Resets at any time of a transmission.
    Resets,
    /// Transmissions with a schedule.
    Schedules,
    /// Reception with a beginning and an end.
    Windows,
    /// Calls that a radio asks for without frames.
    Quiet,
    /// Lost interrupts.
    LostInterrupts,
    /// Transfers that fail.
    Transfers,
    /// A chip that stops.
    Stuck,
    /// A supply that drops.
    PowerLoss,
}

impl Check {
    /// All of them.
    pub const ALL: [Check; 24] = [
        Check::Lengths,
        Check::ChannelsAndPowers,
        Check::Outstanding,
        Check::BusyChannel,
        Check::Backoff,
        Check::AwaitedAcks,
        Check::PendingBits,
        Check::Filtering,
        Check::FilterStays,
        Check::DuringReception,
        Check::AfterAcknowledgement,
        Check::AfterAnother,
        Check::Off,
        Check::Return,
        Check::Overrun,
        Check::UnreadFrame,
        Check::Resets,
        Check::Schedules,
        Check::Windows,
        Check::Quiet,
        Check::LostInterrupts,
        Check::Transfers,
        Check::Stuck,
        Check::PowerLoss,
    ];

    /// Runs the scenario on a bench with a radio that has just been switched on. What the radio
    /// does not declare, or the bench cannot do, is left out.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn run<B: Bench>(self, bench: &mut B, setup: Setup) -> Result<(), Violation> {
        let mut kit = Kit::new(bench, setup, self as u64, Duration::ZERO);
        kit.set_filter(FILTER);
        kit.receive(CHANNEL);
        kit.pause();
        match self {
            Check::Lengths => kit.lengths(),
            Check::ChannelsAndPowers => kit.channels_and_powers(setup),
            Check::Outstanding => kit.outstanding(),
            Check::BusyChannel => kit.busy_channel(),
            Check::Backoff => kit.backoff(),
            Check::AwaitedAcks => kit.awaited_acks(),
            Check::PendingBits => kit.pending_bits(),
            Check::Filtering => kit.filtering(),
            Check::FilterStays => kit.filter_stays(),
            Check::DuringReception => kit.during_reception(),
            Check::AfterAcknowledgement => kit.after_acknowledgement(),
            // A radio at the end of a line gets the frame later.
            Check::AfterAnother if setup.latency > Duration::ZERO => {}
            Check::AfterAnother => kit.after_another(),
            Check::Off => kit.in_off(),
            Check::Return => kit.returns(),
            Check::Overrun => kit.overrun(),
            Check::UnreadFrame => kit.unread_frame(),
            Check::Resets => kit.resets(),
            Check::Schedules => kit.schedules(),
            Check::Windows => kit.windows(),
            Check::Quiet => kit.quiet(),
            Check::LostInterrupts => kit.lost_interrupts(),
            Check::Transfers => kit.faults(Fault::Transfer),
            Check::Stuck => kit.faults(Fault::Stuck),
            Check::PowerLoss => kit.faults(Fault::PowerLoss),
        }
        kit.finish();
        kit.pause();
        kit.pause();
        kit.verdict()
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

const CHANNEL: Channel = match Channel::new(15) {
    Some(channel) => channel,
    None => panic!("channel 15 exists"),
};
/// Time in which every change has had its effect.
const PAUSE: Duration = Duration::from_millis(12);
const OWN: To = To::Short(FILTER.short);
const PLAIN: Outgoing =
    Outgoing { access: Access::Immediate, channel: CHANNEL, power_dbm: 0, ack: false, len: 40 };

const fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

impl<B: Bench> Kit<'_, B> {
    pub(super) fn pause(&mut self) {
        self.run_for(PAUSE);
    }

    pub(super) fn hear(&mut self, frame: Frame) {
        self.put(us(400), CHANNEL, frame);
        self.pause();
    }

    pub(super) fn hear_data(&mut self, to: To) {
        let frame = self.frame_from_peer(Kind::Data, true, to, 30);
        self.hear(frame);
    }

    pub(super) fn awaits(&self) -> bool {
        self.has(Capabilities::ACK_WAIT)
    }
}
