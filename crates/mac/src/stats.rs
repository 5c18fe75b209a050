//! Discard reasons, and counters of frames.

use kinglet_wire::Error;

kinglet_mem::reasons! {
    /// Reason for which a frame or event was discarded.
    pub enum Discard {
        /// The header is malformed or of an unsupported kind.
        Malformed(Error),
        /// An acknowledgement that is not awaited.
        UnawaitedAck,
        /// For another PAN or another device.
        OtherDestination,
        /// From an address that no other device can have: this device's, or broadcast.
        BadSource,
        /// Secured, but not with the level or key of this device, or this device has no key.
        Secured,
        /// Not secured, although this device has a key.
        Unsecured,
        /// The message integrity code is wrong: the frame is damaged, forged or secured with
        /// another key.
        BadMic,
        /// Secured, and older than the last frame of the same source, or a data request that is too
        /// old to be repeated.
        Replay,
        /// Secured by a device for which [`CcmStar`](crate::CcmStar) has no free entry.
        TooManyPeers,
        /// A beacon, or a MAC command other than a data request.
        NotData,
        /// A repetition of the previous frame.
        Duplicate,
        /// An event that does not match the outstanding command.
        UnexpectedEvent,
    }
}

kinglet_mem::counters! {
    /// Counters since the start; each saturates.
    pub struct Stats {
        /// Frames accepted by `enqueue`.
        enqueued,
        /// Transmissions on the air, retries included, acknowledgements not.
        transmissions,
        /// Transmissions after a missing acknowledgement.
        retries,
        /// Transmissions whose acknowledgement is missing.
        ack_missing,
        /// Assessments that found the channel busy (hardware CSMA-CA: whole attempts).
        channel_busy,
        /// Outcomes: delivered, or sent if no acknowledgement was requested.
        delivered,
        /// Frames handed up.
        received,
        /// Data requests handed up, repetitions included.
        data_requests,
        /// Empty data frames received: no frame was pending after all.
        received_empty,
        /// Empty data frames for neighbours without a pending frame, because the radio sets the
        /// frame-pending bit for all neighbours or none.
        answered_in_vain,
        /// Frames that yielded to an indirect one between two attempts.
        preempted,
        /// Acknowledgements sent by the MAC itself.
        acks_sent,
        /// Runs of the block cipher, each on one block or on two that cost the same, wrapping: the
        /// CPU cost of security.
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
        /// Transmissions whose result the radio did not report in time; it was reset.
        radio_silent,
        /// Outcomes: the result of the last attempt is unknown, for that reason.
        unknown,
        /// Acknowledgements that the MAC could not send in time.
        acks_not_sent,
        /// Commands that the driver refused.
        refused,
        /// Frames not sent because the frame counter is used up.
        counter_errors,
    }
    discards Discard
}

kinglet_mem::counters! {
    /// Events at wake-ups ([`Waking`](crate::Waking)); each counter saturates.
    pub struct WakeStats {
        /// Wake-ups at which the channel was sampled.
        wake_ups,
        /// Of these, those at which the samples found the channel busy.
        roused,
        /// Of those, those after which the channel fell silent without a frame for this device.
        in_vain,
    }
    reasons {
        /// Of those, those after which it was busy for longer than a frame can be.
        by_noise,
        /// Of those, those after which neither a frame nor silence came in time.
        too_long,
        /// Bursts whose next frame did not arrive.
        bursts_broken,
        /// Bursts that lasted for longer than one can, and were abandoned.
        endless,
        /// Bursts and frames that were cut short because of a lack of buffer space.
        refused,
    }
}

kinglet_mem::counters! {
    /// Results of strobes ([`Strobing`](crate::Strobing)); each counter saturates.
    pub struct StrobeStats {
        /// Strobes: of a frame once or repeatedly.
        strobes,
        /// Of these, those that followed another one in a burst.
        in_bursts,
        /// Those before which the channel was busy.
        busy,
        /// Those to a recipient whose wake-up phase was unknown.
        searching,
        /// Those that began an answer to a burst.
        answers,
        /// Those that were acknowledged at the first copy of the frame.
        at_once,
    }
    reasons {
        /// Of all, those without the acknowledgement that they requested.
        failed,
    }
}

/// Counts one, without wrapping.
pub(crate) fn count(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}
