//! What radios are on for: every microsecond in which a radio is neither asleep nor idle has one
//! cause.
//!
//! Causes are told from frames and radio states, not from the stack, so that they mean the same for
//! any device:
//!
//! | time | cause |
//! |---|---|
//! | receiver on without a frame for this node: waiting, hearing what others get or lose | listen |
//! | the same for a time that was set beforehand: sampling the channel | poll |
//! | preparing, sensing, sending and awaiting the acknowledgement of a MAC command | poll |
//! | the same for a frame that says when its sender listens (first attempt) | poll |
//! | the same for a data frame, first attempt | send |
//! | the same for a frame whose last attempt was not acknowledged | retry |
//! | the same for a broadcast | control |
//! | receiving and reading out a MAC command, data frame or broadcast | poll, receive, control |
//! | sending acknowledgements | control |

use crate::frame::{Destination, Header};

/// What a radio is on for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Finding out whether there is anything: data requests, or sampling the channel and telling
    /// when.
    Poll,
    /// Listening without receiving anything for this node.
    Listen,
    /// Sending data.
    Send,
    /// Receiving data.
    Receive,
    /// Sending again what was not acknowledged.
    Retry,
    /// Broadcasts, as routing advertisements are, and acknowledgements sent.
    Control,
}

impl Cause {
    /// Every cause, in order.
    pub const ALL: [Cause; 6] =
        [Cause::Poll, Cause::Listen, Cause::Send, Cause::Receive, Cause::Retry, Cause::Control];

    /// A word for reports.
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

    /// All of them: equals the time in which the radio was neither asleep nor idle.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// Frame type 3: MAC command.
const COMMAND: u8 = 3;
const BROADCAST: u16 = 0xFFFF;

/// What a frame is sent or received for, if it is not a repetition.
pub(crate) fn cause_of(header: &Header, first: Cause) -> Cause {
    match header.destination {
        Destination::Short { address: BROADCAST, .. } => Cause::Control,
        _ if header.kind == COMMAND || header.tells_samples => Cause::Poll,
        _ if header.is_ack() => Cause::Control,
        _ => first,
    }
}

/// Which sequence numbers were sent last without being acknowledged: a frame with such a number is
/// a repetition.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unacknowledged([u64; 4]);

impl Unacknowledged {
    fn set(&mut self, sequence: u8, unacknowledged: bool) {
        let bit = 1 << (sequence % 64);
        let word = &mut self.0[usize::from(sequence / 64)];
        *word = if unacknowledged { *word | bit } else { *word & !bit };
    }

    /// The cause of sending the frame with `header` now.
    pub(crate) fn sending(&mut self, header: &Header) -> Cause {
        let Some(sequence) = header.sequence else { return cause_of(header, Cause::Send) };
        // Half of all numbers ahead: what was given up is forgotten before its number comes again.
        self.set(sequence.wrapping_add(128), false);
        match self.0[usize::from(sequence / 64)] >> (sequence % 64) & 1 {
            0 => cause_of(header, Cause::Send),
            _ => Cause::Retry,
        }
    }

    /// The frame with `header` was sent, and acknowledged or not.
    pub(crate) fn sent(&mut self, header: &Header, acknowledged: bool) {
        if let Some(sequence) = header.sequence {
            self.set(sequence, !acknowledged);
        }
    }
}
