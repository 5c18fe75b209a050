//! Reasons for discards, and counters of frames.

use kinglet_wire::Error;

kinglet_mem::reasons! {
    /// Why a frame or event was discarded.
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
        /// Secured, and older than the last frame of the same source, or a data request that is too
        /// old to be repeated.
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
}

kinglet_mem::counters! {
    /// Counters since the start; each stops at its maximum.
    pub struct Stats {
        /// Frames accepted by `enqueue`.
        enqueued,
        /// Transmissions on the air, retries included, acknowledgements not.
        transmissions,
        /// Transmissions after a missing acknowledgement.
        retries,
        /// Transmissions whose acknowledgement did not come.
        ack_missing,
        /// Assessments that found the channel busy (hardware CSMA-CA: whole attempts).
        channel_busy,
        /// Outcomes: delivered, or sent where no acknowledgement was asked for.
        delivered,
        /// Frames handed up.
        received,
        /// Data requests handed up, repetitions included.
        data_requests,
        /// Empty data frames received: there was nothing after all.
        received_empty,
        /// Empty data frames for neighbours that asked in vain, because the radio promises a frame
        /// to all or none.
        answered_in_vain,
        /// Frames that gave way to an indirect one between two attempts.
        preempted,
        /// Acknowledgements sent by the MAC itself.
        acks_sent,
        /// Runs of the block cipher, each on one block or on two that cost the same, wrapping: what
        /// security costs the CPU.
        cipher_runs,
    }
    reasons {
        /// Frames refused by `enqueue`.
        queue_full,
        /// Outcomes: no acknowledgement after the last retry.
        no_ack,
        /// Outcomes: channel access failure.
        channel_access_failure,
        /// Outcomes: the radio missed its start.
        missed,
        /// Transmissions of which the radio did not say in time what became of them; it was reset.
        radio_silent,
        /// Outcomes: nothing is known of the last attempt, for that reason.
        unknown,
        /// Acknowledgements that the MAC owed but could not send in time.
        acks_not_sent,
        /// Commands that the driver refused.
        refused,
        /// Frames not sent because the frame counter is used up.
        counter_errors,
    }
    discards Discard
}

kinglet_mem::counters! {
    /// What has happened at wake-ups ([`Waking`](crate::Waking)); each counter stops at its
    /// maximum.
    pub struct WakeStats {
        /// Wake-ups at which the channel was sampled.
        wake_ups,
        /// Of these, those at which the samples noticed something.
        roused,
        /// Of those, how often the channel fell silent without a frame for this device.
        in_vain,
    }
    reasons {
        /// Of those, how often it was busy for longer than a frame can be.
        by_noise,
        /// Of those, how often neither a frame nor silence came in time.
        too_long,
        /// Bursts whose next frame did not come.
        bursts_broken,
        /// Bursts that went on for longer than one can last, and were left.
        endless,
        /// Bursts and frames that were cut short for want of room.
        refused,
    }
}

kinglet_mem::counters! {
    /// What has happened to strobes ([`Strobing`](crate::Strobing)); each counter stops at its
    /// maximum.
    pub struct StrobeStats {
        /// Strobes: of a frame once or again and again.
        strobes,
        /// Of these, those that followed another one in a burst.
        in_bursts,
        /// Those before which the channel was busy.
        busy,
        /// Those for whose recipient no rhythm was known.
        searching,
        /// Those that began an answer to a burst.
        answers,
        /// Those that were acknowledged when the frame was on the air for the first time.
        at_once,
    }
    reasons {
        /// Of all, those without the acknowledgement that they asked for.
        failed,
    }
}

/// Counts one, without wrapping.
pub(crate) fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}
