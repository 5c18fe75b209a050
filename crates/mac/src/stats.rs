//! Counters, and why frames are discarded.

use kinglet_wire::Error;

/// What has happened since start-up; each counter stops at its maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Frames accepted by `enqueue`.
    pub enqueued: u32,
    /// Frames refused by `enqueue`.
    pub queue_full: u32,
    /// Transmissions on the air, retries included, acknowledgements not.
    pub transmissions: u32,
    /// Transmissions after a missing acknowledgement.
    pub retries: u32,
    /// Transmissions whose acknowledgement did not come.
    pub ack_missing: u32,
    /// Assessments that found the channel busy (hardware CSMA-CA: whole attempts).
    pub channel_busy: u32,
    /// Outcomes: delivered, or sent where no acknowledgement was asked for.
    pub delivered: u32,
    /// Outcomes: no acknowledgement after the last retry.
    pub no_ack: u32,
    /// Outcomes: channel access failure.
    pub channel_access_failure: u32,
    /// Outcomes: the radio missed its start.
    pub missed: u32,
    /// Transmissions of which the radio did not say in time what became of them; it was reset.
    pub radio_silent: u32,
    /// Outcomes: nothing is known of the last attempt, for that reason.
    pub unknown: u32,
    /// Frames handed up.
    pub received: u32,
    /// Data requests handed up, repetitions included.
    pub data_requests: u32,
    /// Empty data frames received: there was nothing after all.
    pub received_empty: u32,
    /// Empty data frames for neighbours that asked in vain, because the radio promises a frame to
    /// all or none.
    pub answered_in_vain: u32,
    /// Frames that gave way to an indirect one between two attempts.
    pub preempted: u32,
    /// Acknowledgements sent by the MAC itself.
    pub acks_sent: u32,
    /// Acknowledgements that the MAC owed but could not send in time.
    pub acks_not_sent: u32,
    /// Commands that the driver refused.
    pub refused: u32,
    /// Acknowledgements received that nobody awaited.
    pub discarded_ack: u32,
    /// Frames discarded: malformed header.
    pub discarded_malformed: u32,
    /// Frames discarded: for another PAN or device.
    pub discarded_other_destination: u32,
    /// Frames discarded: from an impossible source, such as this device itself.
    pub discarded_bad_source: u32,
    /// Frames not sent because the frame counter is used up.
    pub counter_errors: u32,
    /// Runs of the block cipher, each on one block or on two that cost the same, wrapping: what
    /// security costs the CPU.
    pub cipher_runs: u32,
    /// Frames discarded: secured, and not in the way or with the key that this device has.
    pub discarded_secured: u32,
    /// Frames discarded: not secured, although this device has a key.
    pub discarded_unsecured: u32,
    /// Frames discarded: the message integrity code is wrong.
    pub discarded_mic: u32,
    /// Frames discarded: older than the last one of the same source.
    pub discarded_replay: u32,
    /// Frames discarded: from devices that the table of frame counters has no place for.
    pub discarded_peers: u32,
    /// Frames discarded: beacons and commands.
    pub discarded_not_data: u32,
    /// Frames discarded: repetitions.
    pub discarded_duplicate: u32,
    /// Events that fit no command.
    pub unexpected_events: u32,
}

impl Stats {
    /// All zero; `Default` is not available in constants.
    pub(crate) const NONE: Stats = Stats {
        enqueued: 0,
        queue_full: 0,
        transmissions: 0,
        retries: 0,
        ack_missing: 0,
        channel_busy: 0,
        delivered: 0,
        no_ack: 0,
        channel_access_failure: 0,
        missed: 0,
        radio_silent: 0,
        unknown: 0,
        received: 0,
        data_requests: 0,
        received_empty: 0,
        answered_in_vain: 0,
        preempted: 0,
        acks_sent: 0,
        acks_not_sent: 0,
        refused: 0,
        discarded_ack: 0,
        discarded_malformed: 0,
        discarded_other_destination: 0,
        discarded_bad_source: 0,
        counter_errors: 0,
        cipher_runs: 0,
        discarded_secured: 0,
        discarded_unsecured: 0,
        discarded_mic: 0,
        discarded_replay: 0,
        discarded_peers: 0,
        discarded_not_data: 0,
        discarded_duplicate: 0,
        unexpected_events: 0,
    };
}

/// What has happened at wake-ups ([`Waking`](crate::Waking)); each counter stops at its maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WakeStats {
    /// Wake-ups at which the channel was sampled.
    pub wake_ups: u32,
    /// Of these, those at which the samples noticed something.
    pub roused: u32,
    /// Of those, how often the channel fell silent without a frame for this device.
    pub in_vain: u32,
    /// Of those, how often it was busy for longer than a frame can be.
    pub by_noise: u32,
    /// Of those, how often neither a frame nor silence came in time.
    pub too_long: u32,
    /// Bursts whose next frame did not come.
    pub bursts_broken: u32,
    /// Bursts that went on for longer than one can last, and were left.
    pub endless: u32,
    /// Bursts and frames that were cut short for want of room.
    pub refused: u32,
}

impl WakeStats {
    pub(crate) const NONE: WakeStats = WakeStats {
        wake_ups: 0,
        roused: 0,
        in_vain: 0,
        by_noise: 0,
        too_long: 0,
        bursts_broken: 0,
        endless: 0,
        refused: 0,
    };
}

/// What has happened to strobes ([`Strobing`](crate::Strobing)); each counter stops at its maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StrobeStats {
    /// Strobes: of a frame once or again and again.
    pub strobes: u32,
    /// Of these, those that followed another one in a burst.
    pub in_bursts: u32,
    /// Of all, those without the acknowledgement that they asked for.
    pub failed: u32,
    /// Those before which the channel was busy.
    pub busy: u32,
    /// Those for whose recipient no rhythm was known.
    pub searching: u32,
    /// Those that began an answer to a burst.
    pub answers: u32,
    /// Those that were acknowledged when the frame was on the air for the first time.
    pub at_once: u32,
}

impl StrobeStats {
    pub(crate) const NONE: StrobeStats = StrobeStats {
        strobes: 0,
        in_bursts: 0,
        failed: 0,
        busy: 0,
        searching: 0,
        answers: 0,
        at_once: 0,
    };
}

/// Why a frame or event was discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// The header is malformed or of a kind that is not supported.
    Malformed(Error),
    /// An acknowledgement that nobody awaits.
    UnawaitedAck,
    /// For another PAN or another device.
    OtherDestination,
    /// From an address that no other device can have: this device's, or broadcast.
    BadSource,
    /// Secured, but not at the level or with the key that this device has, or it has none.
    Secured,
    /// Not secured, although this device has a key.
    Unsecured,
    /// The message integrity code is wrong: damaged, forged or secured with another key.
    BadMic,
    /// Secured, and older than the last frame of the same source, or a data request that is too old
    /// to be repeated.
    Replay,
    /// Secured by a device that [`CcmStar`](crate::CcmStar) has no place for.
    TooManyPeers,
    /// A beacon, or a MAC command other than a data request.
    NotData,
    /// A repetition of the frame before it.
    Duplicate,
    /// An event that fits no command that was submitted.
    UnexpectedEvent,
}

/// Counts one, without wrapping.
pub(crate) fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}
