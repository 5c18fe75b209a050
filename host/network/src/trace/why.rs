//! Lost and late packets of a trace, with place and cause.

use super::facts::{Fate, Sent, World};
use super::read::Trace;
use super::row::Row;
use super::story;
use serde::Serialize;
use std::collections::BTreeMap;

/// Selection of packets.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Only packets of this flow.
    pub flow: Option<u64>,
    /// Only this packet, whatever its fate.
    pub packet: Option<u64>,
    /// Without packets that are only late.
    pub lost_only: bool,
    /// Also segments without data, SYN and FIN: bare acknowledgments.
    pub acks: bool,
}

/// A packet with the facts known about it.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// Its identity.
    pub packet: u64,
    /// Its flow.
    pub flow: Option<u64>,
    /// Its fate.
    pub fate: Fate,
    /// Time at which it was formed, in seconds.
    pub formed_s: f64,
    /// Time at which it arrived, in seconds.
    pub arrived_s: Option<f64>,
    /// Source.
    pub from: String,
    /// Destination.
    pub to: String,
    /// Position of its first octet in the stream.
    pub offset: Option<u64>,
    /// Octets of its data.
    pub octets: u64,
    /// The node that lost it; absent for the host and for the wire.
    pub node: Option<u64>,
    /// The next node on that hop.
    pub next: Option<u64>,
    /// The cause in a few words, the same for similar cases.
    pub cause: String,
    /// The next packet with the same data.
    pub retransmission: Option<u64>,
    /// The whole case in sentences.
    pub text: String,
}

/// Returns true for segments with data, SYN or FIN, or for all of them.
fn matters(row: &Row, acks: bool) -> bool {
    let opens = row.flags.as_deref().is_some_and(|set| set.contains("SYN") || set.contains("FIN"));
    acks || row.protocol.as_deref() != Some("TCP") || opens || row.octets.unwrap_or(0) > 0
}

/// Time after its last event within which a packet may still arrive, in seconds: the longest
/// reassembly (RFC 4944, 5.3).
const MAY_ARRIVE_S: f64 = 60.0;

/// The `wanted` packets of `trace`, in the order in which they were formed.
///
/// # Errors
/// There is no such flow or packet in it.
pub fn why(trace: &mut Trace, wanted: &Wanted) -> Result<Vec<Case>, String> {
    let names = trace.names.clone();
    if let Some(flow) = wanted.flow
        && flow >= names.flows.len() as u64
    {
        let count = names.flows.len();
        let has = match count {
            0 => "no flows".to_owned(),
            1 => "one flow, number 0".to_owned(),
            _ => format!("flows 0 to {}", count - 1),
        };
        return Err(format!("there is no flow {flow} in this trace, which has {has}"));
    }
    let mut world = World { names: Some(names), ..World::default() };
    let mut rows: BTreeMap<u64, Vec<Row>> = BTreeMap::new();
    for row in trace.by_ref() {
        world.end_s = row.t_s;
        if row.event == "attempt"
            && let Some(frame) = row.frame
        {
            let command = row.protocol.is_some();
            world.frames.insert(frame, Sent { packet: row.packet, node: row.node, command });
        }
        if row.event == "restarted" {
            world.restarts.extend(row.node.map(|node| (node, row.t_s)));
        }
        let Some(packet) = row.packet else { continue };
        if row.event == "formed" {
            if let Some(before) = row.retransmission {
                world.retransmissions.insert(before, packet);
            }
            world.formed.insert(packet, row.clone());
            let is_wanted = match wanted.packet {
                Some(number) => number == packet,
                None => {
                    let of_flow = wanted.flow.is_none() || row.flow == wanted.flow;
                    row.flow.is_some() && of_flow && matters(&row, wanted.acks)
                }
            };
            if is_wanted {
                rows.insert(packet, Vec::new());
            }
        }
        if let Some(rows) = rows.get_mut(&packet) {
            rows.push(row);
        }
    }
    if let (Some(packet), true) = (wanted.packet, rows.is_empty()) {
        let last = world.formed.keys().next_back().copied().unwrap_or(0);
        return Err(format!("there is no packet {packet} in this trace, which has 1 to {last}"));
    }
    let cases = rows.into_iter().filter_map(|(packet, rows)| case(&world, packet, &rows));
    Ok(cases.filter(|case| wanted.packet.is_some() || is_shown(case.fate, wanted)).collect())
}

fn is_shown(fate: Fate, wanted: &Wanted) -> bool {
    fate == Fate::Lost || (fate == Fate::Late && !wanted.lost_only)
}

fn case(world: &World, packet: u64, rows: &[Row]) -> Option<Case> {
    let formed = world.formed.get(&packet)?;
    let arrived_s = arrival(world, formed, rows);
    let again = world.retransmissions.get(&packet).copied();
    let again_s = again.and_then(|again| world.formed.get(&again)).map(|row| row.t_s);
    let last_s = rows.last().map_or(formed.t_s, |row| row.t_s);
    let given_up = rows.iter().any(|row| match &*row.event {
        "discarded" => row.reason.as_deref() != Some("duplicate"),
        "wire" => row.fate.as_deref() == Some("lost"),
        _ => false,
    });
    let fate = match (arrived_s, again_s) {
        (Some(arrived), Some(again)) if again < arrived => Fate::Late,
        (Some(_), _) => Fate::Arrived,
        (None, Some(_)) => Fate::Lost,
        (None, None) if given_up || last_s + MAY_ARRIVE_S < world.end_s => Fate::Lost,
        (None, None) => Fate::Open,
    };
    let story = story::describe(world, formed, rows, (fate, arrived_s, again));
    Some(Case {
        packet,
        flow: formed.flow,
        fate,
        formed_s: formed.t_s,
        arrived_s,
        from: formed.from.clone().unwrap_or_default(),
        to: formed.to.clone().unwrap_or_default(),
        offset: formed.offset,
        octets: formed.octets.unwrap_or(0),
        node: story.node,
        next: story.next,
        cause: story.cause,
        retransmission: again,
        text: story.text,
    })
}

/// Time at which the whole packet was at its destination.
fn arrival(world: &World, formed: &Row, rows: &[Row]) -> Option<f64> {
    let names = world.names.as_ref()?;
    let to = formed.to.as_deref()?;
    let address = to.trim_start_matches('[').split(']').next()?.parse().ok()?;
    let goal = names.node_of(address).map(u64::from);
    let host = names.host.as_ref().map(|host| u64::from(host.node));
    let is = |row: &&Row| match &*row.event {
        "arrived" => row.node == goal && goal.is_some(),
        "wire" => {
            let there = row.fate.as_deref() == Some("arrived");
            there && row.node.is_none() && (goal.is_none() || goal == host)
        }
        _ => false,
    };
    rows.iter().find(is).map(|row| row.t_s)
}
