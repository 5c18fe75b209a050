//! Neighbours that sleep, and the packets that wait for them (`net/indirect.rs`).

use crate::allowance::Allowance;
use crate::pool::PacketHandle;
use kinglet_time::{Duration, Instant};

/// How packets for sleeping children are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Indirect {
    /// The most packets that wait for one child. Default 6: a window of four segments (TCPlp §6.2)
    /// and somebody else's. With 4, a child with a window of six that asks every second loses 1 %.
    pub limit: u8,
    /// How long a packet waits. Default 8 min: two of a Thread child's longest sleeps, so that one
    /// data request may go astray.
    pub lifetime: Duration,
    /// At how many data requests a frame is tried before its packet is given up. Default 4
    /// (OpenThread's count).
    pub polls: u8,
    /// Whether one data request fetches all that waits; each frame but the last then says that the
    /// next one follows, and the child stays awake. If not, each frame has a data request of its
    /// own, as in OpenThread. Default true.
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
    /// What [`Net::poll_pending_change`](crate::Net::poll_pending_change) has last told of it.
    pub(crate) announced: bool,
    /// Whether it listens for a frame that it has not been given yet.
    pub(crate) asked: Asked,
    /// What strangers may cost it.
    pub(crate) allowance: Allowance,
}

/// Whether a child listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    No,
    /// Perhaps: it samples the channel, or a data request has come that had come before, and so
    /// perhaps not from the child.
    Again,
    Yes,
}

/// A packet that waits for a child.
#[derive(Clone, Copy, Debug)]
pub struct Parked {
    pub(crate) packet: PacketHandle,
    pub(crate) child: u16,
    pub(crate) expires: Instant,
    /// Octets of the uncompressed packet that have arrived, and since when.
    pub(crate) sent: u16,
    pub(crate) sent_at: Instant,
    /// What `sent` will be when the frame that the MAC has is delivered.
    pub(crate) at_mac: Option<u16>,
    /// Names it, once its first frame has been written.
    pub(crate) token: Option<u32>,
    /// Data requests at which its next frame was tried.
    pub(crate) failures: u8,
    /// The frame that the MAC has is tried at one more.
    pub(crate) counts: bool,
}
