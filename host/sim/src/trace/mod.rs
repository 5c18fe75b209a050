//! A trace of all layers: the events of each packet from the application that wrote it to the one
//! that read it.
//!
//! The stack has no hooks for it. [`World`](crate::World) inspects a device after each call, and at
//! each frame that the device gives to its radio:
//!
//! | file | subject |
//! |---|---|
//! | `mod.rs` | the events |
//! | `opening.rs` | contents of a frame: link security removed, headers expanded |
//! | `head.rs` | headers of a packet, and their constant fields over all hops |
//! | `tracer.rs` | from frames to packets with an identity |
//! | `station.rs` | packets and fragments at a node |
//! | `looks.rs` | changes in a stack since the last look: reasons, connections |
//! | `losses.rs` | parents, neighbours and other relations that a node has lost |
//!
//! A packet gets its identity at the node that forms it. A relay keeps the identity of the received
//! packet. A TCP retransmission is another packet, which refers to the previous one.

mod head;
mod looks;
mod losses;
mod opening;
mod station;
mod tracer;

pub use head::{Head, Segment};
pub use looks::{Changed, Connection, Counted, Look};
pub use losses::{Loss, Losses};
pub use opening::Opening;
pub use tracer::{Sink, Tracer};

use crate::frame::Destination;
use crate::stats::Fate;

/// The identity of a packet: numbers from 1 in the order in which packets were formed.
pub type PacketId = u64;

/// The identity of a frame, the same in all its transmissions: numbers from 1.
pub type FrameId = u64;

/// An event of the trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Time in microseconds from the start of the run.
    pub at_us: u64,
    /// Node of the event; `None` for the wired host.
    pub node: Option<u32>,
    /// Kind of the event.
    pub what: What,
}

/// Kinds of events: from the application down the layers, and up again.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// An application wrote octets to a connection or read octets from it.
    Stream {
        /// The connection.
        connection: Connection,
        /// True for a `write`, false for a `read`.
        written: bool,
        /// Octets of the stream written or read before.
        from: u64,
        /// Octets written or read now.
        to: u64,
    },
    /// The state that controls a connection's sending has changed.
    Window {
        /// The connection.
        connection: Connection,
        /// Congestion window, in octets.
        cwnd: u32,
        /// Slow start threshold, in octets; `None` before the first loss.
        ssthresh: Option<u32>,
        /// Octets sent and not yet acknowledged.
        in_flight: u32,
        /// Retransmission timeout including back-off, in microseconds.
        rto_us: u64,
        /// Smoothed round-trip time, in microseconds; `None` before the first sample.
        srtt_us: Option<u64>,
    },
    /// A timer or a signal made a connection act.
    Signal {
        /// The connection.
        connection: Connection,
        /// `retransmission timeout`, `fast recovery`, `window probe`, `duplicate ACK`,
        /// `congestion mark`, `undone`.
        signal: &'static str,
    },
    /// The connection has accepted a segment. Everything up to this octet of the peer's stream has
    /// arrived.
    Taken {
        /// The connection.
        connection: Connection,
        /// Octets of the peer's stream in order.
        to: u64,
    },
    /// A packet was formed and gets its identity.
    Formed {
        /// Its identity.
        packet: PacketId,
        /// Its headers.
        head: Head,
        /// Position of its data in the stream, in octets from the start, for TCP packets whose SYN
        /// has been seen.
        offset: Option<u64>,
        /// Packet that carried the same first octet before.
        again: Option<PacketId>,
        /// Time since TCP or UDP formed it, in which it was queued for the radio, in microseconds.
        waited_us: u64,
    },
    /// A packet to be forwarded is queued for the radio.
    Queued {
        /// Its identity.
        packet: PacketId,
        /// Packets queued at this node, including this one.
        waiting: u32,
    },
    /// The first frame of a packet is given to the radio.
    Dequeued {
        /// Its identity.
        packet: PacketId,
        /// Time in the queue, in microseconds.
        waited_us: u64,
    },
    /// A frame is given to the radio for another attempt.
    Attempt {
        /// The frame, and its contents.
        frame: Framed,
        /// Attempts so far, including this one.
        attempt: u32,
    },
    /// A frame is being loaded into the radio.
    Load {
        /// End of the load, in microseconds.
        until_us: u64,
    },
    /// The channel has been assessed.
    Assessed {
        /// True if the channel is busy.
        busy: bool,
    },
    /// A frame begins on the air.
    Air {
        /// The frame; of an acknowledgement, the frame that it acknowledges.
        frame: FrameId,
        /// True for an acknowledgement.
        is_ack: bool,
        /// Octets of the PSDU.
        octets: u16,
        /// MAC sequence number.
        sequence: Option<u8>,
        /// Its recipient.
        to: To,
        /// Frame pending bit.
        pending: bool,
        /// Channel number.
        channel: u8,
        /// End of the frame, in microseconds.
        until_us: u64,
    },
    /// The fate of a frame at a receiver, or of an acknowledgement at the node that waits for
    /// it.
    Fate {
        /// The frame; of an acknowledgement, the frame that it acknowledges.
        frame: FrameId,
        /// True for an acknowledgement.
        is_ack: bool,
        /// Its sender.
        from: u32,
        /// Its packet, if it has one.
        packet: Option<PacketId>,
        /// Its fate.
        fate: Fate,
        /// True if it was addressed to this receiver.
        mine: bool,
        /// Other frames on the air that affected this receiver, by frame and sender, if the frame
        /// was for this receiver and is lost.
        beside: Vec<(FrameId, u32)>,
    },
    /// The result of an attempt is known to its sender.
    Outcome {
        /// The frame.
        frame: FrameId,
        /// Its packet, if it has one.
        packet: Option<PacketId>,
        /// `acked`, `no-ack`, `sent`, `channel-busy`, `missed`.
        outcome: &'static str,
    },
    /// A received frame is being read out of the radio.
    Readout {
        /// End of the readout, in microseconds.
        until_us: u64,
    },
    /// A packet has arrived completely at a node.
    Arrived {
        /// Its identity.
        packet: PacketId,
        /// It had arrived here before.
        repeated: bool,
    },
    /// A stack discarded, evicted, refused or gave up something.
    Discarded {
        /// Its packet, if known.
        packet: Option<PacketId>,
        /// Layer of the stack.
        layer: &'static str,
        /// Reason of the layer.
        reason: &'static str,
        /// Number of simultaneous events.
        count: u32,
    },
    /// A node has restarted and lost its state.
    Restarted,
    /// A node has lost a relation to another one; the loss was detected now.
    Lost(Loss),
    /// An event on the wire of the border router.
    Wire {
        /// The packet.
        packet: PacketId,
        /// True towards the host, false towards the mesh.
        to_host: bool,
        /// `sent`, `lost`, `duplicated`, `arrived`.
        fate: &'static str,
    },
}

/// A frame with its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framed {
    /// Its identity.
    pub frame: FrameId,
    /// Its packet, if it has one and it is known.
    pub packet: Option<PacketId>,
    /// For a fragment: offset of its first octet in the packet, and octets of the packet.
    pub fragment: Option<(u16, u16)>,
    /// True for a MAC command, such as a data request.
    pub command: bool,
    /// Its recipient.
    pub to: To,
}

/// The recipient of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum To {
    /// No recipient: an acknowledgement.
    Absent,
    /// A short address; 0xffff for all nodes.
    Short(u16),
    /// An EUI-64.
    Extended([u8; 8]),
}

impl From<Destination> for To {
    fn from(destination: Destination) -> Self {
        match destination {
            Destination::Absent => To::Absent,
            Destination::Short { address, .. } => To::Short(address),
            Destination::Extended { mut address, .. } => {
                // The least significant octet is sent first.
                address.reverse();
                To::Extended(address)
            }
        }
    }
}
