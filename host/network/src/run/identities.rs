//! Losses and duplicates of TCP by the identity of segments, for wires that duplicate packets: the
//! counters of both ends do not suffice there.

use super::FlowResult;
use crate::trace::Names;
use kinglet_scenario::{NodeId, Scenario};
use kinglet_sim::trace::{Event, PacketId, Segment, What};
use kinglet_wire::tcp::Flags;
use std::collections::BTreeMap;

/// A segment without an event for this time, in microseconds, is lost: the longest reassembly (RFC
/// 4944, 5.3).
const MAY_ARRIVE_US: u64 = 60_000_000;

struct Sent {
    flow: usize,
    goal: NodeId,
    last_us: u64,
    arrived: bool,
    /// True if it is lost unless it has arrived: its data were retransmitted, or the wire has lost
    /// it.
    over: bool,
}

/// Follows segments from the sender of each flow to its receiver.
pub(super) struct Identities {
    names: Names,
    host: NodeId,
    sent: BTreeMap<PacketId, Sent>,
    duplicates: BTreeMap<usize, u64>,
    now_us: u64,
}

impl Identities {
    /// Prepares a run of `scenario`; `None` if its wire duplicates no packets.
    pub(super) fn new(scenario: &Scenario, seed: u64) -> Option<Self> {
        let duplicates = scenario.wire.as_ref().is_some_and(|wire| wire.duplicate > 0.0);
        duplicates.then(|| Identities {
            names: Names::of(scenario, seed),
            host: scenario.host(),
            sent: BTreeMap::new(),
            duplicates: BTreeMap::new(),
            now_us: 0,
        })
    }

    pub(super) fn event(&mut self, event: &Event) {
        self.now_us = event.at_us;
        let node = event.node.unwrap_or(self.host);
        match event.what {
            What::Formed { packet, ref head, again, .. } => {
                if let Some(before) = again.and_then(|before| self.sent.get_mut(&before)) {
                    before.over = true;
                }
                let Some(Segment { flags, .. }) = head.segment else { return };
                let of_flow = self.names.flow_of(head).filter(|(_, forward)| *forward);
                let (Some((flow, _)), Some(goal)) = (of_flow, self.names.node_of(head.dst)) else {
                    return;
                };
                // The records leave out the SYN, which the receiving connection does not count.
                if !flags.contains(Flags::SYN) {
                    let sent =
                        Sent { flow, goal, last_us: event.at_us, arrived: false, over: false };
                    self.sent.insert(packet, sent);
                }
            }
            What::Wire { packet, fate: "lost", .. } => {
                if let Some(sent) = self.sent.get_mut(&packet) {
                    sent.over = true;
                }
            }
            What::Arrived { packet, .. } | What::Wire { packet, fate: "arrived", .. } => {
                let Some(sent) = self.sent.get_mut(&packet) else { return };
                sent.last_us = event.at_us;
                if sent.goal == node && std::mem::replace(&mut sent.arrived, true) {
                    *self.duplicates.entry(sent.flow).or_default() += 1;
                }
            }
            _ => {}
        }
    }

    /// The record of a TCP flow, with the counts by identity.
    pub(super) fn counted(&self, flow: usize, record: FlowResult) -> FlowResult {
        if record.segments_received.is_none() {
            return record;
        }
        let over = |sent: &Sent| sent.over || sent.last_us + MAY_ARRIVE_US < self.now_us;
        let known = |sent: &&Sent| sent.arrived || over(sent);
        let of_flow = self.sent.values().filter(|sent| sent.flow == flow);
        let all = of_flow.clone().filter(known).count() as u64;
        let arrived = of_flow.filter(|sent| sent.arrived).count() as u64;
        FlowResult {
            segments_sent: Some(all),
            segments_received: Some(arrived),
            duplicates: Some(self.duplicates.get(&flow).copied().unwrap_or(0)),
            segment_loss: (all > 0).then(|| 1.0 - arrived as f64 / all as f64),
            ..record
        }
    }
}
