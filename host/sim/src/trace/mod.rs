//! A trace of all layers: what happened to each packet, from the application that wrote it to the
//! one that read it.
//!
//! The stack has no hooks for it. [`World`](crate::World) looks at a device after each call, and
//! at each frame that it gives to its radio:
//!
//! | file | subject |
//! |---|---|
//! | `mod.rs` | the events |
//! | `opening.rs` | what is in a frame: link security removed, headers expanded |
//! | `head.rs` | the headers of a packet, and what of them stays the same on all hops |
//! | `tracer.rs` | from frames to packets with an identity |
//! | `station.rs` | what a node holds: which packets, which fragments |
//! | `looks.rs` | what has changed in a stack since the last look: reasons, connections |
//! | `losses.rs` | parents, neighbours and other relations that a node has lost |
//!
//! A packet gets its identity at the node that forms it. A relay passes on the identity of what it
//! received. A retransmission of TCP is another packet, which names the one before.

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

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// When, in microseconds from the start of the run.
    pub at_us: u64,
    /// The node to which it happened; `None` for the wired host.
    pub node: Option<u32>,
    /// The event itself.
    pub what: What,
}

/// Kinds of events: layers from the application down, then up again.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// An application gave octets to a connection, or took some from it.
    Stream {
        /// The connection.
        connection: Connection,
        /// It was a `write`, and not a `read`.
        written: bool,
        /// Octets of the stream that had been written or read before.
        from: u64,
        /// Octets now.
        to: u64,
    },
    /// The state of a connection has changed that decides when it sends.
    Window {
        /// The connection.
        connection: Connection,
        /// Congestion window, in octets.
        cwnd: u32,
        /// Slow start threshold, in octets; `None` before the first loss.
        ssthresh: Option<u32>,
        /// Octets sent and not yet acknowledged.
        in_flight: u32,
        /// Retransmission timeout, back-off included, in microseconds.
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
    /// The connection has taken a segment in: up to this octet of the peer's stream everything
    /// has come.
    Taken {
        /// The connection.
        connection: Connection,
        /// Octets of the peer's stream in order.
        to: u64,
    },
    /// A packet was formed: its identity from here on.
    Formed {
        /// Its identity.
        packet: PacketId,
        /// Its headers.
        head: Head,
        /// The place of its data in the stream, in octets from the beginning, if it is of TCP and
        /// its SYN has been seen.
        offset: Option<u64>,
        /// The packet that carried the same first octet before.
        again: Option<PacketId>,
        /// Time since TCP or UDP formed it, in which it waited for the radio, in microseconds.
        waited_us: u64,
    },
    /// A packet that is to be forwarded waits for the radio.
    Queued {
        /// Its identity.
        packet: PacketId,
        /// Packets that wait at this node now, this one included.
        waiting: u32,
    },
    /// The first frame of a packet goes to the radio.
    Dequeued {
        /// Its identity.
        packet: PacketId,
        /// Time that it has waited, in microseconds.
        waited_us: u64,
    },
    /// A frame is handed to the radio for another attempt.
    Attempt {
        /// The frame, and its contents.
        frame: Framed,
        /// Attempts so far, this one included.
        attempt: u32,
    },
    /// A frame is being loaded into the radio.
    Load {
        /// The end of that, in microseconds.
        until_us: u64,
    },
    /// The channel has been assessed.
    Assessed {
        /// Somebody sends.
        busy: bool,
    },
    /// A frame begins on the air.
    Air {
        /// The frame; of an acknowledgement, the frame that it acknowledges.
        frame: FrameId,
        /// It is an acknowledgement.
        is_ack: bool,
        /// Octets of the PSDU.
        octets: u16,
        /// MAC sequence number.
        sequence: Option<u8>,
        /// Its recipient.
        to: To,
        /// Its frame-pending bit.
        pending: bool,
        /// Channel number.
        channel: u8,
        /// Its end, in microseconds.
        until_us: u64,
    },
    /// The fate of a frame at a receiver, or of an acknowledgement at the node that waits for
    /// it.
    Fate {
        /// The frame; of an acknowledgement, the frame that it acknowledges.
        frame: FrameId,
        /// It is an acknowledgement.
        is_ack: bool,
        /// Its sender.
        from: u32,
        /// Its packet, if it has one.
        packet: Option<PacketId>,
        /// Its fate.
        fate: Fate,
        /// It was for this receiver.
        mine: bool,
        /// Other frames on the air meanwhile that this receiver notices, by frame and sender, if
        /// the frame was for this receiver and is lost.
        beside: Vec<(FrameId, u32)>,
    },
    /// The sender of a frame knows what became of this attempt.
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
        /// The end of that, in microseconds.
        until_us: u64,
    },
    /// All of a packet has arrived at a node.
    Arrived {
        /// Its identity.
        packet: PacketId,
        /// It has arrived here before.
        repeated: bool,
    },
    /// A stack discarded, evicted, refused or gave something up.
    Discarded {
        /// Of which packet, if that is known.
        packet: Option<PacketId>,
        /// The layer.
        layer: &'static str,
        /// The reason.
        reason: &'static str,
        /// Times at once.
        count: u32,
    },
    /// A node has restarted: nothing is left of what it held.
    Restarted,
    /// A node has lost a relation to another one; it was found now.
    Lost(Loss),
    /// An event on the wire of the border router.
    Wire {
        /// The packet.
        packet: PacketId,
        /// It goes to the host, and not to the mesh.
        to_host: bool,
        /// `sent`, `lost`, `duplicated`, `arrived`.
        fate: &'static str,
    },
}

/// A frame, and its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framed {
    /// Its identity.
    pub frame: FrameId,
    /// Its packet, if it has one and that is known.
    pub packet: Option<PacketId>,
    /// The first octet of the packet that it carries, and the octets of the packet, if it is a
    /// fragment.
    pub fragment: Option<(u16, u16)>,
    /// A MAC command, such as a data request.
    pub command: bool,
    /// Its recipient.
    pub to: To,
}

/// The recipient of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum To {
    /// Nobody in particular: an acknowledgement.
    Absent,
    /// A short address, 0xffff for all.
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
                // On the air the least significant octet comes first.
                address.reverse();
                To::Extended(address)
            }
        }
    }
}
