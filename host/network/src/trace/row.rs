//! The columns of a trace.

use crate::table::{Sheet, Sparse};
use bytes::Bytes;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Another frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct OtherFrame {
    /// The frame; for an acknowledgment, the frame that it acknowledges.
    pub frame: u64,
    /// Its sender.
    pub node: u32,
}

/// One of a few words, mostly not on the heap.
pub type Word = Cow<'static, str>;

/// A text for Parquet; its octets are not copied.
fn text(word: Word) -> ByteArray {
    ByteArray::from(match word {
        Cow::Borrowed(word) => Bytes::from_static(word.as_bytes()),
        Cow::Owned(word) => Bytes::from(word.into_bytes()),
    })
}

macro_rules! rows {
    ($( $(#[$doc:meta])* $name:ident: $kind:ident; )*) => {
        /// An event. Values that do not apply to it are absent.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(default)]
        pub struct Row {
            /// The kind of event: `begin`, `write`, `formed`, `queued`, `dequeued`, `attempt`,
            /// `air`, `ack`, `received`, `ack-received`, `outcome`, `arrived`, `discarded`, `wire`,
            /// `in_order`, `read`, `window`, `signal`, `lost`,
            /// `restarted`, `end`.
            pub event: Word,
            /// Time in seconds from the start.
            pub t_s: f64,
            $( $(#[$doc])* pub $name: Option<rows!(@ $kind)>, )*
            /// Other frames on the air that the receiver of a lost frame detects.
            pub overlapping: Vec<OtherFrame>,
        }

        impl Row {
            /// Appends this row to `line` as JSON. The names are literals, which need no search for
            /// characters to escape, and are copied with their punctuation.
            pub(super) fn write(&self, line: &mut Vec<u8>) -> serde_json::Result<()> {
                line.extend_from_slice(b"{\"event\":");
                serde_json::to_writer(&mut *line, &self.event)?;
                line.extend_from_slice(b",\"t_s\":");
                serde_json::to_writer(&mut *line, &self.t_s)?;
                $( if let Some(value) = &self.$name {
                    line.extend_from_slice(concat!(",\"", stringify!($name), "\":").as_bytes());
                    serde_json::to_writer(&mut *line, value)?;
                } )*
                if !self.overlapping.is_empty() {
                    line.extend_from_slice(b",\"overlapping\":");
                    serde_json::to_writer(&mut *line, &self.overlapping)?;
                }
                line.push(b'}');
                Ok(())
            }
        }

        /// Rows as the columns of a Parquet file.
        #[derive(Default)]
        pub(super) struct Columns {
            event: Sparse<ByteArrayType>,
            t_s: Sparse<DoubleType>,
            $( $name: Sparse<rows!(# $kind)>, )*
            overlapping: Sparse<ByteArrayType>,
        }

        impl Columns {
            /// Appends a row.
            pub(super) fn push(&mut self, row: Row) {
                let others = (!row.overlapping.is_empty()).then_some(&row.overlapping);
                let others = others.and_then(|others| serde_json::to_string(others).ok());
                self.event.push(Some(text(row.event)));
                self.t_s.push(Some(row.t_s));
                $( self.$name.push(row.$name.map(rows!(! $kind))); )*
                self.overlapping.push(others.map(|others| text(others.into())));
            }

            /// Number of rows.
            pub(super) fn len(&self) -> usize {
                self.event.len()
            }

            /// Removes all rows, and keeps the memory for the next ones.
            pub(super) fn clear(&mut self) {
                self.event.clear();
                self.t_s.clear();
                $( self.$name.clear(); )*
                self.overlapping.clear();
            }

            /// All columns with their names.
            pub(super) fn all(&self) -> Vec<(&'static str, &dyn Sheet)> {
                vec![
                    ("event", &self.event),
                    ("t_s", &self.t_s),
                    $( (stringify!($name), &self.$name), )*
                    ("overlapping", &self.overlapping),
                ]
            }
        }
    };
    (@ Whole) => { u64 };
    (@ Number) => { f64 };
    (@ Flag) => { bool };
    (@ Text) => { String };
    (@ Name) => { Word };
    (# Whole) => { Int64Type };
    (# Number) => { DoubleType };
    (# Flag) => { BoolType };
    (# Text) => { ByteArrayType };
    (# Name) => { ByteArrayType };
    (! Whole) => { |whole| whole as i64 };
    (! Number) => { |number| number };
    (! Flag) => { |flag| flag };
    (! Text) => { |owned| text(owned.into()) };
    (! Name) => { text };
}

rows! {
    /// The node of the event; absent for the wired host.
    node: Whole;
    /// The identity of the packet, the same from the node that forms it to its destination.
    packet: Whole;
    /// The identity of the frame, the same in all attempts.
    frame: Whole;
    /// The number of the flow, if the packet or the connection belongs to one.
    flow: Whole;
    /// Direction: true from the flow's beginning to its server or receiver.
    forward: Flag;
    /// `TCP`, `UDP`, `ICMPv6`, or a number.
    protocol: Name;
    /// Source, or own end of a connection: address and port.
    from: Text;
    /// Destination, or other end of a connection. For a frame: a node, an address, or `all`.
    to: Text;
    /// Flags of TCP, or the type of an ICMPv6 message.
    flags: Text;
    /// Sequence number of TCP.
    seq: Whole;
    /// Acknowledgment number of TCP.
    ack: Whole;
    /// Position of its first octet in the stream of its sender, in octets.
    offset: Whole;
    /// Octets: of payload, read or written, in order, or of a PSDU.
    octets: Whole;
    /// The earlier packet whose data this one retransmits.
    retransmission: Whole;
    /// Time that a packet has waited for the radio, in seconds.
    waited_s: Number;
    /// Packets that wait at this node.
    waiting: Whole;
    /// End of the event in seconds.
    until_s: Number;
    /// Attempts with this frame so far.
    attempt: Whole;
    /// Offset of a fragment in its packet, in octets.
    fragment: Whole;
    /// Octets of the packet that is sent in fragments.
    size: Whole;
    /// MAC sequence number.
    sequence: Whole;
    /// Channel number.
    channel: Whole;
    /// The sender of a frame.
    sender: Whole;
    /// Its fate.
    fate: Name;
    /// True if the packet had arrived here before.
    repeated: Flag;
    /// The layer that discards.
    layer: Name;
    /// Reason; for a lost relation, the reasons counted in the 10 to 20 s before.
    reason: Text;
    /// Number of simultaneous events.
    count: Whole;
    /// Congestion window in octets.
    cwnd: Whole;
    /// Slow start threshold in octets.
    ssthresh: Whole;
    /// Octets sent and not acknowledged.
    in_flight: Whole;
    /// Retransmission timeout in seconds.
    rto_s: Number;
    /// Smoothed round-trip time in seconds.
    srtt_s: Number;
    /// The timer or signal that triggered TCP.
    signal: Name;
    /// A relation to the node `to` that was lost.
    relation: Name;
}
