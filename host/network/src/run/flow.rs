//! Record of a flow: one structure for all kinds. A value that does not apply to a kind, or that is
//! unknown, is absent.
//!
//! | kind | values in addition to `kind`, `from`, `state`, octets and goodput |
//! |---|---|
//! | `tcp-bulk` | `to`, segments, retransmissions, timeouts, `rtt_ms`, `mss` |
//! | `udp-periodic`, `udp-bulk` | `to`, datagrams as segments, delays |
//! | `snack`, `pip` | `to` |
//! | `http-client`, `coap-client` | `to`, `latencies_ms`, `failed`; messages of CoAP |
//! | `anemometer` | `to`, `readings`; counters of its carrier |
//! | servers | only `kind` and `from`: their clients have the records |

use crate::apps::bulk::TimeoutCauses;
use kinglet_scenario::NodeId;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// The state of a flow at the end of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The work was bounded and is done.
    Complete,
    /// Octets arrived; the flow has no end, or has not reached it.
    Open,
    /// The flow has not begun: its start, its first request or its first batch is still to come.
    Waiting,
    /// Nothing arrived, or the connection ended with an error before the work was done.
    Dead,
}

impl State {
    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            State::Complete => "complete",
            State::Open => "open",
            State::Waiting => "waiting",
            State::Dead => "dead",
        }
    }
}

/// The reason for which a flow is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// No application of the scenario listens at the destination.
    NoServer,
    /// A node on the path has no next hop to the other end.
    NoRoute,
    /// No neighbour of the sender acknowledged any of its frames.
    NoLink,
    /// The peer refused the connection.
    Refused,
    /// The peer reset the connection.
    Reset,
    /// TCP gave up: retransmissions, the user timeout or keep-alive probes had no answer.
    TimedOut,
    /// The network reported the destination unreachable.
    Unreachable,
    /// The connection ended at the request of its application.
    Aborted,
    /// Packets were sent, and no response arrived.
    NoAnswer,
}

/// A dead flow: the reason, and the node where it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Death {
    /// The reason.
    pub reason: Reason,
    /// The node without a next hop, without a link, or without a server.
    pub node: NodeId,
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = self.node;
        match self.reason {
            Reason::NoServer => write!(f, "no flow of the scenario listens there on node {node}"),
            Reason::NoRoute => write!(f, "node {node} has no route to the other end"),
            Reason::NoLink => write!(f, "no neighbour acknowledged a frame of node {node}"),
            Reason::Refused => write!(f, "node {node} refused the connection"),
            Reason::Reset => write!(f, "node {node} reset the connection"),
            Reason::TimedOut => write!(f, "node {node} did not answer until TCP gave up"),
            Reason::Unreachable => write!(f, "the network reported node {node} unreachable"),
            Reason::Aborted => write!(f, "the application ended the connection"),
            Reason::NoAnswer => write!(f, "no answer arrived from node {node}"),
        }
    }
}

/// The record of one flow. `None` is absent: null in JSON, an empty cell in tables, NaN in frames.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct FlowResult {
    /// Name of the kind in scenario files.
    pub kind: &'static str,
    /// Sender, client or server.
    pub from: NodeId,
    /// Receiver; for a client its server; absent for a server.
    pub to: Option<NodeId>,
    /// State at the end; absent for a server.
    pub state: Option<State>,
    /// Reason if the flow is dead.
    pub reason: Option<Reason>,
    /// Reason as a sentence with the node, if the flow is dead.
    pub explanation: Option<String>,
    /// Application octets that arrived, each counted once.
    pub bytes: Option<u64>,
    /// Seconds from the flow's start to the last octet of a transfer of given size; to the end of
    /// the simulation if the flow is endless, or nothing arrived.
    pub seconds: Option<f64>,
    /// Application octets per second over that time, in kb/s.
    pub goodput_kbps: Option<f64>,
    /// TCP: segments sent after the SYN, retransmissions included. UDP: datagrams sent. CoAP:
    /// messages sent.
    pub segments_sent: Option<u64>,
    /// TCP: segments that reached the receiver. UDP: datagrams that arrived, each counted once.
    pub segments_received: Option<u64>,
    /// Arrivals of a datagram that had arrived before; of a segment if the wire duplicates.
    pub duplicates: Option<u64>,
    /// Share of sent segments that did not arrive, 0 to 1: losses that link retries did not mask.
    /// If the wire duplicates packets, TCP's segments are counted by identity, else by the counters
    /// of both ends.
    pub segment_loss: Option<f64>,
    /// Sensor over TCP: number of connections that it has opened.
    pub connections: Option<u32>,
    /// Retransmitted data segments or messages.
    pub retransmissions: Option<u64>,
    /// Transfer: entries into fast recovery. Sensor over TCP: segments retransmitted without a
    /// timeout.
    pub fast_retransmissions: Option<u64>,
    /// Expiries of the retransmission timer.
    pub timeouts: Option<u64>,
    /// Transfer: causes of its timeouts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_causes: Option<TimeoutCauses>,
    /// Mean of the round-trip time samples, in milliseconds; absent without samples.
    pub rtt_ms: Option<f64>,
    /// CoAP: mean value from which the first timeout of a message was drawn, in milliseconds;
    /// absent without messages.
    pub timeout_ms: Option<f64>,
    /// TCP: largest segment in octets.
    pub mss: Option<u32>,
    /// Seconds from the simulated death of a relay (`[pairs] failure_after_s`) until its source
    /// had a route without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_s: Option<f64>,
    /// Radio hops of its route, averaged over the duration of the flow; absent if no protocol
    /// discovers routes and none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hops: Option<f64>,
    /// True if every octet that arrived was correct; absent if none arrived or none was compared.
    pub intact: Option<bool>,
    /// True if a transfer of given size has ended, no request has failed, or no reading was lost.
    /// Absent if the flow has no end, had nothing to do, or the outcome of all is open.
    pub complete: Option<bool>,
    /// Time from the dispatch of each answered request to its complete response, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latencies_ms: Option<Vec<f64>>,
    /// UDP: datagrams sent up to the last one that arrived; later ones may still be in flight.
    /// Absent if none arrived.
    pub outcome_known: Option<u64>,
    /// Mean time from the sending of a datagram to its arrival, in milliseconds, over those that
    /// arrived; by the clocks of both ends, which drift.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<f64>,
    /// Longest such time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_delay_ms: Option<f64>,
    /// Requests that were not answered.
    pub failed: Option<u32>,
    /// Sensor: outcomes of its readings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readings: Option<Readings>,
}

impl FlowResult {
    /// This record at the end of the simulation, with the reason if the flow is dead.
    #[must_use]
    pub(crate) fn ended(self, state: State, death: Option<Death>) -> Self {
        FlowResult {
            state: Some(state),
            reason: death.map(|death| death.reason),
            explanation: death.map(|death| death.to_string()),
            ..self
        }
    }

    /// Returns true if the flow is dead.
    pub fn is_dead(&self) -> bool {
        self.state == Some(State::Dead)
    }

    /// Returns true if its work was bounded and is done.
    pub fn is_complete(&self) -> bool {
        self.complete == Some(true)
    }

    /// Returns true if it carried data, all of it correct, and completed its work if that has an
    /// end.
    pub fn is_well(&self) -> bool {
        !self.is_dead() && self.is_intact() && self.complete != Some(false)
    }

    /// Returns true if no incorrect data arrived.
    pub fn is_intact(&self) -> bool {
        self.intact != Some(false)
    }

    /// Latencies of its answered requests, in milliseconds; empty for flows without requests.
    pub fn latencies_ms(&self) -> &[f64] {
        self.latencies_ms.as_deref().unwrap_or_default()
    }

    /// A record in which every value is present, for their names and types.
    pub(super) fn with_every_value() -> Self {
        FlowResult {
            kind: "",
            from: 0,
            to: Some(0),
            state: Some(State::Open),
            reason: Some(Reason::NoRoute),
            explanation: Some(String::new()),
            bytes: Some(0),
            seconds: Some(0.0),
            goodput_kbps: Some(0.0),
            segments_sent: Some(0),
            segments_received: Some(0),
            duplicates: Some(0),
            segment_loss: Some(0.0),
            connections: Some(0),
            retransmissions: Some(0),
            fast_retransmissions: Some(0),
            timeouts: Some(0),
            timeout_causes: Some(TimeoutCauses::default()),
            rtt_ms: Some(0.0),
            timeout_ms: Some(0.0),
            mss: Some(0),
            recovery_s: Some(0.0),
            hops: Some(0.0),
            intact: Some(true),
            complete: Some(true),
            latencies_ms: Some(vec![0.0]),
            outcome_known: Some(0),
            delay_ms: Some(0.0),
            longest_delay_ms: Some(0.0),
            failed: Some(0),
            readings: Some(Readings::default()),
        }
    }
}

/// Outcomes of a sensor's readings.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct Readings {
    /// Readings generated.
    pub generated: u32,
    /// Readings that arrived, each counted once.
    pub delivered: u32,
    /// Readings that were dropped because the queue was full.
    pub dropped: u32,
    /// Readings that neither arrived nor were in flight at the end, dropped ones included.
    pub lost: u32,
    /// New octets per interval of 40 s from the start of the simulation on, in kb/s (TCPlp §8.3).
    pub intervals_kbps: Vec<f64>,
}

impl Readings {
    /// Share of readings with a known outcome that arrived, 0 to 1; `None` if there are none.
    pub fn reliability(&self) -> Option<f64> {
        let known = f64::from(self.delivered) + f64::from(self.lost);
        (known > 0.0).then(|| f64::from(self.delivered) / known)
    }
}
