//! The fate of a packet, in sentences.

use super::facts::{Fate, World, visited};
use super::hops::{Hop, failure, hops, main_cause};
use super::row::Row;
use std::fmt::Write as _;

/// Place and cause of a loss, and its description in sentences.
#[derive(Default)]
pub(super) struct Story {
    pub(super) node: Option<u64>,
    pub(super) next: Option<u64>,
    pub(super) cause: String,
    pub(super) text: String,
}

/// Writes the story of a packet.
pub(super) fn describe(
    world: &World,
    formed: &Row,
    rows: &[Row],
    (fate, arrived_s, again): (Fate, Option<f64>, Option<u64>),
) -> Story {
    let mut story = Story { text: opening(formed, fate), ..Story::default() };
    let hops = hops(world, rows);
    let path: Vec<String> = hops.iter().map(|(node, _)| format!("node {node}")).collect();
    if let Some((last, _)) = hops.last() {
        let _ = write!(story.text, " Path: {}", path.join(", "));
        let next = next_of(&hops, rows, *last);
        let _ = next.map_or(Ok(()), |node| write!(story.text, ", to node {node}"));
        story.text.push('.');
    }
    match fate {
        Fate::Lost => match world.restarted(rows) {
            Some((node, at_s)) => {
                story.node = Some(node);
                story.cause = "its node restarted".to_owned();
                let _ = write!(story.text, " Node {node}, which had it, restarted at {at_s:.6} s.");
            }
            None => {
                lost_where(&mut story, &hops, rows);
                discards(&mut story, rows);
            }
        },
        Fate::Late => lateness(&mut story, rows, arrived_s, formed),
        Fate::Arrived => story.cause = "arrived".to_owned(),
        Fate::Open => story.cause = "the trace ends before".to_owned(),
    }
    if let Some(again) = again {
        let at = world.formed.get(&again).map_or(0.0, |row| row.t_s);
        let after = at - formed.t_s;
        let _ = write!(
            story.text,
            " Its data were sent again {after:.3} s after it as packet {again}."
        );
    }
    if story.cause.is_empty() {
        story.cause = "unknown".to_owned();
    }
    story
}

/// The node to which `node` sent the packet.
fn next_of(hops: &[(u64, Hop)], rows: &[Row], node: u64) -> Option<u64> {
    let place = hops.iter().position(|(at, _)| *at == node)?;
    let mut heard = rows.iter().filter(|row| row.event == "received" && row.sender == Some(node));
    let to = rows.iter().find(|row| row.event == "attempt" && row.node == Some(node));
    let named = to.and_then(|row| row.to.as_deref()?.strip_prefix("node ")?.parse().ok());
    let heard = || heard.find_map(|row| row.node);
    named.or_else(heard).or_else(|| hops.get(place + 1).map(|(node, _)| *node))
}

/// Adds the place of a loss: a hop, or the wire.
fn lost_where(story: &mut Story, hops: &[(u64, Hop)], rows: &[Row]) {
    let had = visited(rows);
    let stuck = hops.iter().rev().find_map(|(node, hop)| {
        let failed = hop.values().filter(|tries| !tries.acked);
        let worst = failed.max_by_key(|tries| tries.attempts)?;
        let next = next_of(hops, rows, *node);
        let there = next.is_some_and(|next| had.contains(&next));
        (!there).then_some((*node, next, worst))
    });
    let is_lost = |row: &&Row| row.event == "wire" && row.fate.as_deref() == Some("lost");
    if let Some((node, next, tries)) = stuck {
        (story.node, story.next) = (Some(node), next);
        story.cause = main_cause(tries);
        let _ = write!(story.text, " It was lost there: {}.", failure(node, next, tries));
    } else if let Some(row) = rows.iter().find(is_lost) {
        story.cause = format!("lost on the wire to the {}", row.to.as_deref().unwrap_or("host"));
        let _ = write!(story.text, " It was {} at {:.6} s.", story.cause, row.t_s);
    }
}

/// Adds the nodes that discarded a packet. The last one is the cause, if no other is known.
fn discards(story: &mut Story, rows: &[Row]) {
    // A frame that was repeated because its acknowledgment was lost is not a loss.
    let repeated = |row: &&Row| row.reason.as_deref() == Some("duplicate");
    let all = rows.iter().filter(|row| row.event == "discarded" && !repeated(row));
    let named = |row: &Row| {
        let layer = row.layer.as_deref().unwrap_or_default();
        format!("{layer}.{}", row.reason.as_deref().unwrap_or_default())
    };
    let Some(last) = all.clone().next_back() else { return };
    if story.cause.is_empty() {
        (story.node, story.next) = (last.node, None);
        story.cause = format!("discarded: {}", named(last));
    }
    let sentence = |row: &Row| {
        let at = row.node.map_or("the host".to_owned(), |node| format!("node {node}"));
        format!("{at} counted {} at {:.6} s", named(row), row.t_s)
    };
    let mut sentences: Vec<String> = all.map(sentence).collect();
    sentences.dedup();
    let _ = write!(story.text, " {}.", capital(&sentences.join("; ")));
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
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
    let again = match formed.retransmission {
        Some(before) => format!(", a retransmission of packet {before}"),
        None => String::new(),
    };
    let state = match fate {
        Fate::Lost => "lost",
        Fate::Late => "late",
        Fate::Arrived => "arrived",
        Fate::Open => "in flight at the end of the trace",
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

/// Adds the place where a late packet spent its time: a queue, or attempts.
fn lateness(story: &mut Story, rows: &[Row], arrived_s: Option<f64>, formed: &Row) {
    let took = arrived_s.map_or(0.0, |at| at - formed.t_s);
    let waits = rows.iter().filter(|row| row.event == "dequeued" || row.event == "formed");
    let waits = waits.filter_map(|row| Some((row.waited_s?, row.node)));
    let longest = waits.max_by(|a, b| a.0.total_cmp(&b.0));
    let attempts = rows.iter().filter(|row| row.event == "attempt");
    let frames = attempts.clone().filter(|row| row.attempt == Some(1)).count();
    let tries = format!("{frames} frames in {} attempts", attempts.count());
    let _ = write!(story.text, " It arrived after {took:.3} s, {tries}");
    if let Some((waited, Some(node))) = longest.filter(|(waited, _)| waited * 2.0 > took) {
        story.cause = "waited for the radio".to_owned();
        story.node = Some(node);
        let _ = write!(story.text, ". It waited {waited:.3} s of that at node {node}.");
    } else {
        story.cause = "took long on its route".to_owned();
        story.text.push('.');
    }
}
