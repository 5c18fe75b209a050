//! Errors in three families: misuse of an operation, end of a connection, dropped input.

use core::fmt;

/// Reason for the early end of a connection. Sticky: every later call reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionError {
    /// The peer reset the connection.
    Reset,
    /// The peer refused it: RST in response to SYN.
    Refused,
    /// Retransmissions, the user timeout or keep-alive probes ended without a response.
    TimedOut,
    /// The application aborted it, or closed it before the peer had answered.
    Aborted,
    /// The network reported the destination unreachable while the connection was being opened.
    Unreachable,
}

/// Reason for which [`crate::Endpoint::send`] took nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The handle is not, or no longer, that of a connection.
    InvalidHandle,
    /// The application has closed its side.
    Closed,
    /// The connection has ended.
    Ended(ConnectionError),
}

/// Reason for which [`crate::Endpoint::recv`] gave nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvError {
    /// The handle is not, or no longer, that of a connection.
    InvalidHandle,
    /// Nothing has arrived yet.
    WouldBlock,
    /// The connection has ended, and all that had arrived has been read.
    Ended(ConnectionError),
}

/// Reason for which [`crate::Endpoint::connect`] failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectError {
    /// Every connection slot is in use.
    NoSlot,
    /// Every ephemeral port towards this peer and port is in use.
    NoPort,
    /// The peer is not unicast, or the port is zero.
    BadAddress,
}

/// Reason for which [`crate::Endpoint::listen`] failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenError {
    /// The port has a listener already.
    InUse,
    /// Every listener slot is in use.
    NoSlot,
    /// Port zero.
    BadPort,
}

/// Error that the network has reported about a connection, which continues nevertheless (RFC 5461).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoftError {
    /// A router reports that the destination cannot be reached (RFC 9293 §3.9.2.2).
    Unreachable,
    /// A router or the destination reports that a limit was exceeded: the hop limit of a packet, as
    /// in a routing loop, or the reassembly time of fragments (ICMPv6 Time Exceeded).
    TimeExceeded,
    /// A node could not process a header (ICMPv6 Parameter Problem).
    ParameterProblem,
    /// The link has given up three segments in a row.
    LinkDown,
}

/// The handle is not, or no longer, that of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidHandle;

/// The octets a payload reference names are no longer in the send ring: they have been
/// acknowledged, or the connection is gone. The packet that was to carry them can be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stale;

kinglet_mem::reasons! {
    /// Reason for which a segment was dropped; counted in [`crate::Stats::discarded`].
    pub enum Discard {
        /// The header ends early or an option's length is impossible.
        Malformed,
        /// The checksum is wrong.
        Checksum,
        /// The peer's address is not unicast.
        NotUnicast,
        /// No connection and no listener; answered with RST if that is allowed.
        NoConnection,
        /// The listener's backlog is full, or there is no connection slot left.
        BacklogFull,
        /// Step 1 of RFC 9293 §3.10.7.4: no octet is inside the receive window.
        OutsideWindow,
        /// RFC 7323 §5.3: the timestamp is older than the last one.
        Paws,
        /// RFC 7323 §3.2: timestamps were agreed upon, and the segment has none.
        NoTimestamp,
        /// RFC 5961 §3: RST inside the window, but not exactly at RCV.NXT.
        ResetNotExact,
        /// RFC 5961 §4: SYN in a synchronised state.
        SynInWindow,
        /// Step 5: the ACK bit is off.
        NoAck,
        /// RFC 5961 §5: the acknowledgment number is too old.
        AckTooOld,
        /// The acknowledgment is for something not yet sent.
        AckUnsent,
        /// RST without a valid acknowledgment in SYN-SENT.
        ResetUnproven,
    }
}

impl Discard {
    /// Returns whether the response to a segment, a `reset` or another, is an ACK that a rate limit
    /// may withhold: challenge ACKs (RFC 5961 §7), and responses to ACKs, with which two confused
    /// ends could otherwise answer each other for ever.
    //= rfc5961#3.2-1 rfc5961#3.2-5
    pub(crate) const fn is_challenged(self, reset: bool) -> bool {
        match self {
            Discard::ResetNotExact
            | Discard::SynInWindow
            | Discard::AckTooOld
            | Discard::AckUnsent
            | Discard::Paws => true,
            // "If an incoming segment is not acceptable, an acknowledgment should be sent in reply
            // (unless the RST bit is set)". A segment without timestamp or ACK is dropped in
            // silence.
            Discard::OutsideWindow => !reset,
            _ => false,
        }
    }
}

/// A violated invariant, which is a bug of this crate; see
/// [`Endpoint::check`](crate::Endpoint::check).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// SND.UNA is after SND.NXT.
    SendOrder,
    /// The send queue does not begin at SND.UNA, or ends before SND.NXT.
    SendQueue,
    /// The state of the data in flight does not cover SND.UNA to SND.NXT.
    Flight,
    /// Data is in flight, but no timer runs and no retransmission is pending.
    NoTimer,
    /// The advertised window ends before RCV.NXT, or exceeds the free space.
    ReceiveWindow,
    /// The receive ring holds more octets than its capacity.
    ReceiveRing,
    /// More acknowledgments are owed than the bound allows.
    Owed,
    /// The congestion window or the segment size is zero.
    CongestionWindow,
    /// A timer runs on a connection that is over.
    TimerOfTheDead,
    /// Two connections have the same addresses and ports.
    Namesakes,
    /// The stored deadline is not that of the first timer.
    Deadline,
}

macro_rules! display_as_debug {
    ($($error:ty),+) => {$(
        impl fmt::Display for $error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self, f)
            }
        }
        impl core::error::Error for $error {}
    )+};
}

display_as_debug!(
    ConnectionError,
    SendError,
    RecvError,
    ConnectError,
    ListenError,
    InvalidHandle,
    Stale,
    Discard,
    Violation
);
