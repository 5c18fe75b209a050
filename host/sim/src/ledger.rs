//! Causes of radio time: every microsecond in which a radio neither sleeps nor starts has one
//! cause.
//!
//! Causes are derived from frames and radio states, not from the stack, so that they mean the same
//! for any device:
//!
//! | time | cause |
//! |---|---|
//! | receiver on without a frame for this node: waiting, other nodes' or lost frames | listen |
//! | the same for a time set beforehand: channel sampling | poll |
//! | preparing, sensing, sending and awaiting the acknowledgement of a MAC command | poll |
//! | the same for a frame that announces its sender's samples (first attempt) | poll |
//! | the same for a data frame, first attempt | send |
//! | the same for a frame whose last attempt was not acknowledged | retry |
//! | the same for a broadcast | control |
//! | receiving and reading out a MAC command, data frame or broadcast | poll, receive, control |
//! | sending acknowledgements | control |

use crate::frame::{Destination, Header};

/// Cause of radio time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Polling: data requests, channel samples, and frames that announce their times.
    Poll,
    /// Listening without receiving anything for this node.
    Listen,
    /// Sending data.
    Send,
    /// Receiving data.
    Receive,
    /// Retransmission of unacknowledged frames.
    Retry,
    /// Broadcasts, such as routing advertisements, and acknowledgements sent.
    Control,
}

impl Cause {
    /// Every cause, in order.
    pub const ALL: [Cause; 6] =
        [Cause::Poll, Cause::Listen, Cause::Send, Cause::Receive, Cause::Retry, Cause::Control];

    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Poll => "poll",
            Cause::Listen => "listen",
            Cause::Send => "send",
            Cause::Receive => "receive",
            Cause::Retry => "retry",
            Cause::Control => "control",
        }
    }
}

/// Microseconds with the radio on, by [`Cause`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger(pub [u64; 6]);

impl Ledger {
    /// Microseconds for `cause`.
    pub fn of(&self, cause: Cause) -> u64 {
        self.0[cause as usize]
    }

    /// Total: equals the time in which the radio neither slept nor started.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// Frame type 3: MAC command.
const COMMAND: u8 = 3;
const BROADCAST: u16 = 0xFFFF;

/// Cause of a frame that is not a retransmission.
pub(crate) fn cause_of(header: &Header, first: Cause) -> Cause {
    match header.destination {
        Destination::Short { address: BROADCAST, .. } => Cause::Control,
        _ if header.kind == COMMAND || header.announces_csl => Cause::Poll,
        _ if header.is_ack() => Cause::Control,
        _ => first,
    }
}

/// Sequence numbers whose last frame was not acknowledged: another frame with such a number is a
/// retransmission.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unacknowledged([u64; 4]);

impl Unacknowledged {
    fn set(&mut self, sequence: u8, unacknowledged: bool) {
        let bit = 1 << (sequence % 64);
        let word = &mut self.0[usize::from(sequence / 64)];
        *word = if unacknowledged { *word | bit } else { *word & !bit };
    }

    /// Cause of sending the frame with `header` now.
    pub(crate) fn sending(&mut self, header: &Header) -> Cause {
        let Some(sequence) = header.sequence else { return cause_of(header, Cause::Send) };
        // Clears the number half the range ahead: a frame that was given up is forgotten before its
        // number is used again.
        self.set(sequence.wrapping_add(128), false);
        match self.0[usize::from(sequence / 64)] >> (sequence % 64) & 1 {
            0 => cause_of(header, Cause::Send),
            _ => Cause::Retry,
        }
    }

    /// Notes that the frame with `header` was sent, and whether it was acknowledged.
    pub(crate) fn sent(&mut self, header: &Header, acknowledged: bool) {
        if let Some(sequence) = header.sequence {
            self.set(sequence, !acknowledged);
        }
    }
}
