//! Types of frames at the interface to the MAC.

use kinglet_wire::ieee802154::Address;

/// Payload of a received frame.
#[derive(Clone, Copy, Debug)]
pub struct FrameIn<'a> {
    /// Link source.
    pub src: Address,
    /// Link destination.
    pub dst: Address,
    /// Payload of the MAC frame.
    pub payload: &'a [u8],
}

/// Capacity of frames to the destination of [`Net::pending`](crate::Net::pending).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameLimits {
    /// Octets of payload in one frame; at least 60.
    pub max_payload: usize,
}

/// Payload of a written frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameOut {
    /// Link destination.
    pub dst: Address,
    /// True if it requests an acknowledgement: all but broadcasts.
    pub ack: bool,
    /// Octets written.
    pub len: usize,
    /// Identifies the datagram, for [`Net::handle_outcome`](crate::Net::handle_outcome).
    pub token: Token,
    /// Priority class.
    pub class: Class,
}

/// Identifies the datagram that a frame is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(pub u32);

/// Priority class of a frame at the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// All other frames.
    Data,
    /// ICMPv6 errors.
    Control,
    /// To a sleeping neighbour that has just polled for it: before all others, because its radio is
    /// on until the frame comes.
    Indirect,
}

/// The next frame, before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Link destination.
    pub dst: Address,
    /// True if it requests an acknowledgement: all but broadcasts.
    pub ack: bool,
    /// Identifies the datagram, for [`Net::handle_outcome`](crate::Net::handle_outcome).
    pub token: Token,
    /// Priority class.
    pub class: Class,
}
