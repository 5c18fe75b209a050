//! The columns of a trace.

use crate::table::{Cells, Column, Table};
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

macro_rules! rows {
    ($( $(#[$doc:meta])* $name:ident: $kind:ident, $unit:literal; )*) => {
        /// An event. Values that do not apply to it are absent.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
        #[serde(default)]
        pub struct Row {
            /// The kind of event: `begin`, `write`, `formed`, `queued`, `dequeued`, `attempt`,
            /// `air`, `ack`, `received`, `ack-received`, `outcome`, `arrived`, `discarded`, `wire`,
            /// `in_order`, `read`, `window`, `signal`, `lost`,
            /// `restarted`, `end`.
            pub event: Word,
            /// Time in seconds from the start.
            pub t_s: f64,
            $( $(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")]
               pub $name: Option<rows!(@ $kind)>, )*
            /// Other frames on the air that the receiver of a lost frame detects.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            pub overlapping: Vec<OtherFrame>,
        }

        impl Row {
            /// Converts rows to columns.
            pub(super) fn table(rows: &[Row]) -> Table {
                let column = |name: &str, unit, cells| {
                    Column { name: name.to_owned(), unit, cells }
                };
                let overlapping = |row: &Row| {
                    let some = (!row.overlapping.is_empty()).then_some(&row.overlapping);
                    some.and_then(|overlapping| serde_json::to_string(overlapping).ok())
                };
                let events = rows.iter().map(|row| Some(row.event.to_string())).collect();
                let times = rows.iter().map(|row| Some(row.t_s)).collect();
                let columns = vec![
                    column("event", "", Cells::Text(events)),
                    column("t_s", "s", Cells::Number(times)),
                    $( column(stringify!($name), $unit, {
                        let cells = rows.iter().map(|row| rows!(# $kind row.$name));
                        (rows!(! $kind))(cells.collect())
                    }), )*
                    column("overlapping", "", Cells::Text(rows.iter().map(overlapping).collect())),
                ];
                Table { columns }
            }
        }
    };
    (@ Whole) => { u64 };
    (@ Number) => { f64 };
    (@ Flag) => { bool };
    (@ Text) => { String };
    (@ Name) => { Word };
    (# Whole $cell:expr) => { $cell.map(|it| it as i64) };
    (# Number $cell:expr) => { $cell };
    (# Flag $cell:expr) => { $cell };
    (# Text $cell:expr) => { $cell.clone() };
    (# Name $cell:expr) => { $cell.as_deref().map(str::to_owned) };
    (! Name) => { Cells::Text };
    (! Whole) => { Cells::Whole };
    (! Number) => { Cells::Number };
    (! Flag) => { Cells::Flag };
    (! Text) => { Cells::Text };
}

rows! {
    /// The node of the event; absent for the wired host.
    node: Whole, "";
    /// The identity of the packet, the same from the node that forms it to its destination.
    packet: Whole, "";
    /// The identity of the frame, the same in all attempts.
    frame: Whole, "";
    /// The number of the flow, if the packet or the connection belongs to one.
    flow: Whole, "";
    /// Direction: true from the flow's beginning to its server or receiver.
    forward: Flag, "";
    /// `TCP`, `UDP`, `ICMPv6`, or a number.
    protocol: Name, "";
    /// Source, or own end of a connection: address and port.
    from: Text, "";
    /// Destination, or other end of a connection. For a frame: a node, an address, or `all`.
    to: Text, "";
    /// Flags of TCP, or the type of an ICMPv6 message.
    flags: Text, "";
    /// Sequence number of TCP.
    seq: Whole, "";
    /// Acknowledgment number of TCP.
    ack: Whole, "";
    /// Position of its first octet in the stream of its sender.
    offset: Whole, "octets";
    /// Octets: of payload, read or written, in order, or of a PSDU.
    octets: Whole, "octets";
    /// The earlier packet whose data this one retransmits.
    retransmission: Whole, "";
    /// Time that a packet has waited for the radio.
    waited_s: Number, "s";
    /// Packets that wait at this node.
    waiting: Whole, "packets";
    /// End of the event.
    until_s: Number, "s";
    /// Attempts with this frame so far.
    attempt: Whole, "";
    /// Offset of a fragment in its packet.
    fragment: Whole, "octets";
    /// Octets of the packet that is sent in fragments.
    size: Whole, "octets";
    /// MAC sequence number.
    sequence: Whole, "";
    /// Channel number.
    channel: Whole, "";
    /// The sender of a frame.
    sender: Whole, "";
    /// Its fate.
    fate: Name, "";
    /// True if the packet had arrived here before.
    repeated: Flag, "";
    /// The layer that discards.
    layer: Name, "";
    /// Reason; for a lost relation, the reasons counted in the 10 to 20 s before.
    reason: Text, "";
    /// Number of simultaneous events.
    count: Whole, "";
    /// Congestion window.
    cwnd: Whole, "octets";
    /// Slow start threshold.
    ssthresh: Whole, "octets";
    /// Octets sent and not acknowledged.
    in_flight: Whole, "octets";
    /// Retransmission timeout.
    rto_s: Number, "s";
    /// Smoothed round-trip time.
    srtt_s: Number, "s";
    /// The timer or signal that triggered TCP.
    signal: Name, "";
    /// A relation to the node `to` that was lost.
    relation: Name, "";
}
