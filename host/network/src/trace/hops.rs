//! Fates of a packet's frames on each hop.

use super::facts::World;
use super::row::Row;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Fates of the attempts with one frame.
#[derive(Default)]
pub(super) struct Tries {
    fragment: Option<(u64, u64)>,
    /// Times that it was given to the radio.
    pub(super) attempts: u64,
    busy: u64,
    pub(super) acked: bool,
    received: u64,
    /// Fates at the receiver, with the overlapping frames.
    lost: BTreeMap<String, u64>,
    acks_lost: BTreeMap<String, u64>,
    from_s: f64,
    to_s: f64,
}

/// The frames of a packet over one hop, by number.
pub(super) type Hop = BTreeMap<u64, Tries>;

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
    let mut others: Vec<_> = row.overlapping.iter().map(|other| world.of_frame(other)).collect();
    others.dedup();
    match others.is_empty() {
        true if fate.starts_with("collided") => "collided with another frame".to_owned(),
        true => fate.to_owned(),
        false => format!("{fate} {}", others.join(" and ")),
    }
}

/// Cause of bit errors without another frame: noise, or an active source of interference.
fn noise(world: &World, row: &Row) -> String {
    let sources = world.names.iter().flat_map(|names| &names.interference);
    let active = sources.filter(|source| {
        source.from_s <= row.t_s && source.until_s.is_none_or(|until| row.t_s <= until)
    });
    let names: Vec<&str> = active.map(|source| source.source.as_str()).collect();
    let overlapped = !row.overlapping.is_empty();
    match (overlapped, names.is_empty()) {
        (true, _) => with(world, row, "had bit errors, overlapped by"),
        (false, true) => "had bit errors by noise".to_owned(),
        (false, false) => format!("had bit errors while {} was active", names.join(" and ")),
    }
}

/// The attempts with the frames of a packet, at each node that sent them.
pub(super) fn hops(world: &World, rows: &[Row]) -> Vec<(u64, Hop)> {
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
            let first =
                Tries { fragment: row.fragment.zip(row.size), from_s: row.t_s, ..Tries::default() };
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
            ("received", Some("delivered")) => tries.received += 1,
            ("received", _) => *tries.lost.entry(lost(world, row)).or_default() += 1,
            ("ack-received", Some("delivered")) => {}
            ("ack-received", _) => *tries.acks_lost.entry(lost(world, row)).or_default() += 1,
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

/// Describes the frame that was lost on a hop.
pub(super) fn failure(node: u64, next: Option<u64>, tries: &Tries) -> String {
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

/// The most frequent fate of the attempts, in a few words that are the same for similar cases.
pub(super) fn main_cause(tries: &Tries) -> String {
    let most = tries.lost.iter().max_by_key(|(_, count)| **count);
    match most {
        _ if tries.received > 0 => "its acknowledgments were lost".to_owned(),
        Some((what, count)) if *count >= tries.busy => what.clone(),
        _ if tries.busy > 0 => "channel access failure".to_owned(),
        _ => "not received".to_owned(),
    }
}
