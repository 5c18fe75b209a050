//! Neighbours that sleep, and the packets that wait for them (`net/indirect.rs`).

use crate::allowance::Allowance;
use crate::pool::PacketHandle;
use kinglet_time::{Duration, Instant};

/// Parameters of the queue for sleeping children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indirect {
    /// The maximum number of packets that wait for one child. Default 6: a window of four segments
    /// (TCPlp §6.2) and packets of another peer. With 4, a child with a window of six that polls
    /// every second loses 1 %.
    pub limit: u8,
    /// The maximum waiting time of a packet. Default 8 min: two of a Thread child's longest sleeps,
    /// so that one data request may get lost.
    pub lifetime: Duration,
    /// The number of data requests at which a frame is tried before its packet is given up. Default
    /// 4 (OpenThread's count).
    pub polls: u8,
    /// True if one data request fetches all waiting frames: each frame but the last then announces
    /// the next one, and the child stays awake. If false, each frame has a data request of its own,
    /// as in OpenThread. Default true.
    pub burst: bool,
}

impl Indirect {
    /// The defaults.
    pub const DEFAULT: Indirect =
        Indirect { limit: 6, lifetime: Duration::from_secs(480), polls: 4, burst: true };
}

/// A neighbour that sleeps.
#[derive(Clone, Copy, Debug)]
pub struct Child {
    pub(crate) short: u16,
    /// The state that [`Net::poll_pending_change`](crate::Net::poll_pending_change) has last
    /// returned for it.
    pub(crate) announced: bool,
    /// Its listening state, with respect to a frame that it has not been given yet.
    pub(crate) asked: Asked,
    /// The limit on the cost of unsolicited packets from outside the mesh.
    pub(crate) allowance: Allowance,
}

/// The listening state of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    No,
    /// Perhaps: it samples the channel, or a data request has come again, and so perhaps from
    /// another device.
    Again,
    Yes,
}

/// A packet that waits for a child.
#[derive(Clone, Copy, Debug)]
pub struct Parked {
    pub(crate) packet: PacketHandle,
    pub(crate) child: u16,
    pub(crate) expires: Instant,
    /// The number of octets of the uncompressed packet that have arrived, and the time of their
    /// arrival.
    pub(crate) sent: u16,
    pub(crate) sent_at: Instant,
    /// The value of `sent` once the frame that the MAC has is delivered.
    pub(crate) at_mac: Option<u16>,
    /// The token of the packet, once its first frame has been written.
    pub(crate) token: Option<u32>,
    /// The number of data requests at which its next frame was tried.
    pub(crate) failures: u8,
    /// True if the frame that the MAC has is tried at one more data request.
    pub(crate) counts: bool,
}
