//! What became of a packet, in sentences.

use super::row::Row;
use super::why::{Fate, World, visited};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Where a packet was lost, why, and all of it in sentences.
pub(super) struct Story {
    pub(super) node: Option<u64>,
    pub(super) next: Option<u64>,
    pub(super) cause: String,
    pub(super) text: String,
}

/// What became of the attempts with one frame of a hop.
#[derive(Default)]
struct Tries {
    fragment: Option<(u64, u64)>,
    /// Given to the radio, and on the air at the receiver.
    attempts: u64,
    busy: u64,
    acked: bool,
    received: u64,
    /// Fates at the receiver, with what else was on the air.
    lost: BTreeMap<String, u64>,
    acks_lost: BTreeMap<String, u64>,
    from_s: f64,
    to_s: f64,
}

/// The frames of a packet over one hop, by number.
type Hop = BTreeMap<u64, Tries>;

/// A fate, and the frames that overlapped.
fn lost(world: &World, row: &Row) -> String {
    let fate = row.fate.as_deref().unwrap_or_default();
    let fate = match fate {
        "collision" => "collided with",
        "noise" => return noise(world, row),
        "loss" => return "lost by the link's own loss".to_owned(),
        "asleep" => return "sent while the receiver was off".to_owned(),
        "transmitting" => return with(world, row, "sent while the receiver was sending"),
        "acknowledging" => return "sent while the receiver was acknowledging".to_owned(),
        "other-channel" => return "sent while the receiver was on another channel".to_owned(),
        "awaiting-ack" => {
            return "sent while the receiver waited for an acknowledgment".to_owned();
        }
        "truncated" => return "cut off when the sender was reset".to_owned(),
        other => return format!("sent while the receiver was busy ({other})"),
    };
    with(world, row, fate)
}

fn with(world: &World, row: &Row, fate: &str) -> String {
    let mut others: Vec<_> = row.beside.iter().map(|beside| world.of_frame(beside)).collect();
    others.dedup();
    match others.is_empty() {
        true if fate.starts_with("collided") => "collided with another frame".to_owned(),
        true => fate.to_owned(),
        false => format!("{fate} {}", others.join(" and ")),
    }
}

/// Bit errors without another frame: noise, or a source of interference that was there.
fn noise(world: &World, row: &Row) -> String {
    let sources = world.names.iter().flat_map(|names| &names.interference);
    let active = sources.filter(|source| {
        source.from_s <= row.t_s && source.until_s.is_none_or(|until| row.t_s <= until)
    });
    let names: Vec<&str> = active.map(|source| source.source.as_str()).collect();
    let overlapped = !row.beside.is_empty();
    match (overlapped, names.is_empty()) {
        (true, _) => with(world, row, "had bit errors beside"),
        (false, true) => "had bit errors by noise".to_owned(),
        (false, false) => format!("had bit errors while {} was active", names.join(" and ")),
    }
}

fn hops(world: &World, rows: &[Row]) -> Vec<(u64, Hop)> {
    let mut hops: Vec<(u64, Hop)> = Vec::new();
    for row in rows {
        let Some(frame) = row.frame else { continue };
        if row.event == "attempt" {
            let Some(node) = row.node else { continue };
            if !hops.iter().any(|(at, _)| *at == node) {
                hops.push((node, Hop::new()));
            }
            let hop = hops.iter_mut().find(|(at, _)| *at == node);
            let Some((_, hop)) = hop else { continue };
            let first = Tries {
                fragment: row.fragment.zip(row.size),
                from_s: row.t_s,
                ..Tries::default()
            };
            let tries = hop.entry(frame).or_insert(first);
            tries.attempts += 1;
            tries.to_s = row.t_s;
            continue;
        }
        let Some(tries) = hops.iter_mut().find_map(|(_, hop)| hop.get_mut(&frame)) else {
            continue;
        };
        match (&*row.event, row.fate.as_deref()) {
            ("outcome", Some("channel-busy")) => tries.busy += 1,
            ("outcome", Some("acked" | "sent")) => tries.acked = true,
            ("heard", Some("delivered")) => tries.received += 1,
            ("heard", _) => *tries.lost.entry(lost(world, row)).or_default() += 1,
            ("ack-heard", Some("delivered")) => {}
            ("ack-heard", _) => *tries.acks_lost.entry(lost(world, row)).or_default() += 1,
            _ => {}
        }
    }
    hops
}

/// Counts in words, the most frequent first.
fn counted(counts: &BTreeMap<String, u64>) -> String {
    let mut all: Vec<_> = counts.iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let each = all.into_iter().map(|(what, count)| format!("{count} {what}"));
    each.collect::<Vec<_>>().join(", ")
}

/// The sentence about the frame that did not get over a hop.
fn failure(node: u64, next: Option<u64>, tries: &Tries) -> String {
    let which = match tries.fragment {
        Some((offset, size)) => format!("the fragment from octet {offset} of {size}"),
        None => "the frame".to_owned(),
    };
    let to = next.map_or("its neighbour".to_owned(), |next| format!("node {next}"));
    let plural = if tries.attempts == 1 { "once" } else { "times" };
    let times = match tries.attempts {
        1 => plural.to_owned(),
        count => format!("{count} {plural}"),
    };
    let mut text = format!(
        "{which} was tried {times} from node {node} to {to} between {:.3} and {:.3} s",
        tries.from_s, tries.to_s
    );
    if tries.busy > 0 {
        let _ = write!(text, "; the channel was busy at {} of them", tries.busy);
    }
    if !tries.lost.is_empty() {
        let _ = write!(text, "; {}", counted(&tries.lost));
    }
    if tries.received > 0 {
        let _ = write!(text, "; {} received", tries.received);
    }
    if !tries.acks_lost.is_empty() {
        let _ = write!(text, "; acknowledgments: {}", counted(&tries.acks_lost));
    }
    text
}

/// What became of a packet.
pub(super) fn tell(
    world: &World,
    formed: &Row,
    rows: &[Row],
    (fate, arrived_s, again): (Fate, Option<f64>, Option<u64>),
) -> Story {
    let mut text = opening(formed, fate);
    let hops = hops(world, rows);
    let had = visited(rows);
    let next_of = |node: u64| {
        let place = hops.iter().position(|(at, _)| *at == node)?;
        let heard = rows.iter().filter(|row| row.event == "heard" && row.sender == Some(node));
        let to = rows.iter().find(|row| row.event == "attempt" && row.node == Some(node));
        let named = to.and_then(|row| row.to.as_deref()?.strip_prefix("node ")?.parse().ok());
        named.or_else(|| heard.filter_map(|row| row.node).next()).or_else(|| {
            hops.get(place + 1).map(|(node, _)| *node)
        })
    };
    let path: Vec<String> = hops.iter().map(|(node, _)| format!("node {node}")).collect();
    if !path.is_empty() {
        let _ = write!(text, " Path: {}", path.join(", "));
        let last = hops.last().and_then(|(node, _)| next_of(*node));
        let _ = match last {
            Some(node) => write!(text, ", to node {node}."),
            None => write!(text, "."),
        };
    }
    // A frame that came again as its acknowledgment was lost is no loss.
    let repeated = |row: &&Row| row.reason.as_deref() == Some("duplicate");
    let discards = rows.iter().filter(|row| row.event == "discarded" && !repeated(row));
    let named = |row: &Row| {
        let layer = row.layer.as_deref().unwrap_or_default();
        format!("{layer}.{}", row.reason.as_deref().unwrap_or_default())
    };
    let discard = discards.clone().next_back();
    let on_wire = rows.iter().find(|row| row.event == "wire" && row.fate.as_deref() == Some("lost"));
    let stuck = hops.iter().rev().find_map(|(node, hop)| {
        let worst = hop.values().filter(|tries| tries.received == 0).max_by_key(|it| it.attempts)?;
        let next = next_of(*node);
        let there = next.is_some_and(|next| had.contains(&next));
        (!there || fate == Fate::Late).then_some((*node, next, worst))
    });
    let mut story = Story { node: None, next: None, cause: String::new(), text: String::new() };
    if fate == Fate::Lost {
        if let Some((node, next, tries)) = stuck {
            (story.node, story.next) = (Some(node), next);
            story.cause = main_cause(tries);
            let _ = write!(text, " It was lost there: {}.", failure(node, next, tries));
        } else if let Some(row) = on_wire {
            story.node = row.node;
            story.cause = "lost on the wire".to_owned();
            let _ = write!(text, " It was lost on the wire to the {} at {:.6} s.",
                row.to.as_deref().unwrap_or("host"), row.t_s);
        } else if let Some((node, _)) = hops.last() {
            (story.node, story.next) = (Some(*node), next_of(*node));
            story.cause = "not all fragments were sent".to_owned();
        }
        if let Some(row) = discard {
            let reason = named(row);
            story.node = story.node.or(row.node);
            if story.cause.is_empty() || stuck.is_none() && on_wire.is_none() {
                story.node = row.node;
                story.cause = format!("discarded: {reason}");
            }
            let mut all: Vec<String> = Vec::new();
            for row in discards {
                let at = row.node.map_or("the host".to_owned(), |node| format!("node {node}"));
                all.push(format!("{at} counted {} at {:.6} s", named(row), row.t_s));
            }
            all.dedup();
            let _ = write!(text, " {}.", capital(&all.join("; ")));
        }
    }
    if fate == Fate::Late {
        let (cause, sentence) = lateness(rows, arrived_s, formed);
        story.cause = cause;
        let _ = write!(text, "{sentence}");
    }
    if let Some(again) = again {
        let row = world.formed.get(&again);
        let at = row.map_or(0.0, |row| row.t_s);
        let _ = write!(text, " Its data were sent again {:.3} s after it as packet {again}.",
            at - formed.t_s);
    }
    if story.cause.is_empty() {
        story.cause = match fate {
            Fate::Arrived => "arrived",
            Fate::Open => "the trace ends before",
            Fate::Lost | Fate::Late => "unknown",
        }
        .to_owned();
    }
    Story { text, ..story }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}

/// What happened most often to the attempts.
fn main_cause(tries: &Tries) -> String {
    let most = tries.lost.iter().max_by_key(|(_, count)| **count);
    match most {
        Some((what, count)) if *count >= tries.busy => what.clone(),
        _ if tries.busy > 0 => "channel access failure".to_owned(),
        _ => "not received".to_owned(),
    }
}

fn opening(formed: &Row, fate: Fate) -> String {
    let mut text = format!("Packet {}", formed.packet.unwrap_or(0));
    if let Some(flow) = formed.flow {
        let back = if formed.forward == Some(false) { ", back" } else { "" };
        let _ = write!(text, " (flow {flow}{back})");
    }
    let from = formed.from.as_deref().unwrap_or("?");
    let to = formed.to.as_deref().unwrap_or("?");
    let octets = formed.octets.unwrap_or(0);
    let data = match (formed.offset, octets) {
        (Some(offset), 1..) => format!("octets {offset} to {}", offset + octets),
        (None, 1..) => format!("{octets} octets"),
        _ => "no data".to_owned(),
    };
    let flags = formed.flags.as_deref().map_or(String::new(), |flags| format!(" {flags}"));
    let at = formed.node.map_or("the host".to_owned(), |node| format!("node {node}"));
    let again = match formed.again {
        Some(before) => format!(", a retransmission of packet {before}"),
        None => String::new(),
    };
    let state = match fate {
        Fate::Lost => "lost",
        Fate::Late => "late",
        Fate::Arrived => "arrived",
        Fate::Open => "on its way at the end of the trace",
    };
    let protocol = formed.protocol.as_deref().unwrap_or("packet");
    let _ = write!(
        text,
        ": {state}. {protocol}{flags}, {data}{again}, from {from} to {to}, formed at {at} at \
         {:.6} s.",
        formed.t_s
    );
    text
}

/// Where a late packet spent its time: the longest stretch between two events.
fn lateness(rows: &[Row], arrived_s: Option<f64>, formed: &Row) -> (String, String) {
    let waited = rows.iter().filter(|row| row.event == "dequeued" || row.event == "formed");
    let longest = waited.max_by(|a, b| a.waited_s.unwrap_or(0.0).total_cmp(&b.waited_s.unwrap_or(0.0)));
    let took = arrived_s.map_or(0.0, |at| at - formed.t_s);
    let attempts = rows.iter().filter(|row| row.event == "attempt").count();
    let frames = rows.iter().filter(|row| row.event == "attempt" && row.attempt == Some(1)).count();
    let tries = format!("{frames} frames in {attempts} attempts");
    match longest {
        Some(row) if row.waited_s.unwrap_or(0.0) * 2.0 > took => {
            let (node, s) = (row.node.unwrap_or(0), row.waited_s.unwrap_or(0.0));
            let text = format!(
                " It arrived after {took:.3} s, of which it waited {s:.3} s at node {node} ({tries})."
            );
            ("waited for the radio".to_owned(), text)
        }
        _ => {
            let text = format!(" It arrived after {took:.3} s, in {tries}.");
            ("took many attempts".to_owned(), text)
        }
    }
}
