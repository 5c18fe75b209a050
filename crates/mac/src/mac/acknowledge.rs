//! Acknowledgements in software, for radios that do not acknowledge by themselves.

use super::{Mac, Outstanding, Sizes};
use crate::air::{PREAMBLE_SFD, end_of_frame};
use crate::stats::count;
use kinglet_radio::{
    ACK_PSDU, ACK_WAIT, Access, Capabilities, Command, FCS_LEN, Start, TURNAROUND, air_time,
    time_limit,
};
use kinglet_time::Instant;
use kinglet_wire::ieee802154::Repr;

/// An immediate acknowledgement to be sent for a frame that has just been received.
pub(crate) struct OwedAck {
    frame: [u8; ACK_PSDU - FCS_LEN],
    /// End of the frame to be acknowledged; `None` if no acknowledgement is to be sent.
    received: Option<Instant>,
}

impl OwedAck {
    pub(crate) const NONE: OwedAck = OwedAck { frame: [0; ACK_PSDU - FCS_LEN], received: None };

    pub(crate) const fn frame(&self) -> &[u8] {
        &self.frame
    }

    pub(crate) const fn is_waiting(&self) -> bool {
        self.received.is_some()
    }
}

impl<S: Sizes> Mac<S> {
    /// Records that a frame of `len` octets requested an acknowledgement, which gets this
    /// frame-pending bit.
    pub(crate) fn owe_ack(&mut self, sfd: Instant, len: usize, sequence: u8, pending: bool) {
        // While the radio has another frame to send it cannot accept this one, and afterwards it is
        // too late: the sender will retransmit.
        let possible = self.outstanding == Outstanding::None
            && Repr::ack(sequence, pending).emit(&mut self.owed_ack.frame).is_ok();
        let before = match possible {
            true => self.owed_ack.received.replace(end_of_frame(sfd, len)),
            false => Some(sfd),
        };
        if before.is_some() {
            count(&mut self.stats.acks_not_sent);
        }
    }

    /// Discards the pending acknowledgement if it is too late for it: the sender waits
    /// macAckWaitDuration for its end.
    pub(crate) fn drop_late_ack(&mut self, now: Instant) {
        let start = |received| received + (ACK_WAIT - air_time(ACK_PSDU));
        if self.owed_ack.received.is_some_and(|received| now > start(received)) {
            self.owed_ack.received = None;
            count(&mut self.stats.acks_not_sent);
        }
    }

    /// Returns the command that sends the pending acknowledgement.
    pub(crate) fn take_owed_ack(&mut self, now: Instant) -> Option<Command> {
        let received = self.owed_ack.received.take()?;
        self.outstanding = Outstanding::Ack;
        // It is due within macAckWaitDuration, which the limit includes anyway.
        self.silent_at = now + time_limit(Access::Immediate);
        let start = match self.capabilities.contains(Capabilities::SCHEDULED) {
            true => Start::At(received + TURNAROUND + PREAMBLE_SFD),
            false => Start::Asap,
        };
        let (channel, power_dbm) = (self.listens_on(), self.config.power_dbm);
        let access = Access::Immediate;
        Some(Command::Transmit { start, access, channel, power_dbm, ack: false })
    }
}
