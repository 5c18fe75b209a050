//! Facts of a whole trace that the story of one packet needs.

use super::names::Names;
use super::row::{OtherFrame, Row};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It has not arrived, and will not.
    Lost,
    /// It arrived after its data had been retransmitted.
    Late,
    /// It arrived.
    Arrived,
    /// The trace ends before its fate is known.
    Open,
}

/// A frame that was sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent {
    pub(super) packet: Option<u64>,
    pub(super) node: Option<u64>,
    pub(super) command: bool,
}

/// Facts of the whole trace that more than one story needs.
#[derive(Debug, Default)]
pub(super) struct World {
    pub(super) names: Option<Names>,
    pub(super) frames: BTreeMap<u64, Sent>,
    /// The `formed` row of each packet.
    pub(super) formed: BTreeMap<u64, Row>,
    /// The next packet with the same data.
    pub(super) retransmissions: BTreeMap<u64, u64>,
    /// Nodes that restarted, with the time of the restart.
    pub(super) restarts: Vec<(u64, f64)>,
    pub(super) end_s: f64,
}

impl World {
    /// Node and time of a restart that lost the packet. The node had the packet, or a part of it,
    /// when it restarted: it waited there, or one of its frames had been sent shortly before.
    /// `None` if the packet was lost earlier.
    pub(super) fn restarted(&self, rows: &[Row]) -> Option<(u64, f64)> {
        /// Longest interval between attempts with a frame, in seconds.
        const ATTEMPTS: f64 = 1.0;
        let last_s = rows.last()?.t_s;
        let came = |row: &Row| match &*row.event {
            "arrived" | "queued" => true,
            "received" => row.fate.as_deref() == Some("delivered"),
            _ => false,
        };
        let left = |row: &Row| matches!(&*row.event, "formed" | "dequeued" | "attempt");
        let last = |is: &dyn Fn(&Row) -> bool| rows.iter().rfind(|row| is(row))?.node;
        let given_up =
            |row: &Row| row.event == "discarded" && row.reason.as_deref() != Some("duplicate");
        if rows.iter().any(given_up) {
            return None;
        }
        let nodes = [last(&left), last(&came)];
        let had = |(node, at_s): &&(u64, f64)| {
            let waits = !rows.iter().any(|row| left(row) && row.node == Some(*node));
            let after_s = at_s - last_s;
            nodes.contains(&Some(*node)) && after_s >= 0.0 && (waits || after_s < ATTEMPTS)
        };
        self.restarts.iter().find(had).copied()
    }

    /// A frame in a few words.
    pub(super) fn of_frame(&self, other: &OtherFrame) -> String {
        let sent = self.frames.get(&other.frame);
        let formed = sent.and_then(|sent| sent.packet).and_then(|packet| self.formed.get(&packet));
        // The node that acknowledges a frame is not its sender.
        let acks = sent.is_some_and(|sent| sent.node != Some(other.node.into()));
        let of = match (formed.map(|row| (row.flow, row.protocol.as_deref())), sent) {
            (Some((Some(flow), _)), _) => format!("flow {flow}"),
            (Some((None, Some("ICMPv6"))), _) => "routing or discovery".to_owned(),
            (Some((None, Some(protocol))), _) => protocol.to_owned(),
            (_, Some(sent)) if sent.command => "a data request".to_owned(),
            _ => "an unknown frame".to_owned(),
        };
        let what = if acks { "the link-layer acknowledgment for " } else { "" };
        format!("{what}{of} from node {}", other.node)
    }
}

/// The nodes that had all of the packet, in order.
pub(super) fn visited(rows: &[Row]) -> BTreeSet<u64> {
    let here = |row: &&Row| matches!(&*row.event, "arrived" | "dequeued" | "formed");
    rows.iter().filter(here).filter_map(|row| row.node).collect()
}
