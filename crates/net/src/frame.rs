//! Frames, as the MAC gives and takes them.

use kinglet_wire::ieee802154::Address;

/// A frame's payload as it came from the MAC.
#[derive(Clone, Copy, Debug)]
pub struct FrameIn<'a> {
    /// Link source.
    pub src: Address,
    /// Link destination.
    pub dst: Address,
    /// What the MAC frame carried.
    pub payload: &'a [u8],
}

/// What the MAC can carry to the destination of [`Net::pending`](crate::Net::pending).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameLimits {
    /// Octets of payload in one frame; 60 are needed at the least.
    pub max_payload: usize,
}

/// A frame's payload that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameOut {
    /// Link destination.
    pub dst: Address,
    /// Whether an acknowledgement is asked for: for all but broadcasts.
    pub ack: bool,
    /// Octets written.
    pub len: usize,
    /// Names the datagram, for [`Net::handle_outcome`](crate::Net::handle_outcome).
    pub token: Token,
    /// How it competes.
    pub class: Class,
}

/// Names the datagram that a frame is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(pub u32);

/// How a frame competes at the MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Everything else.
    Data,
    /// ICMPv6 errors.
    Control,
    /// To a neighbour that sleeps and has just asked for it: before everything else, because its
    /// radio is on until it comes.
    Indirect,
}

/// The next frame, before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Link destination.
    pub dst: Address,
    /// Whether an acknowledgement is asked for: for all but broadcasts.
    pub ack: bool,
    /// Names the datagram, for [`Net::handle_outcome`](crate::Net::handle_outcome).
    pub token: Token,
    /// How it competes.
    pub class: Class,
}
