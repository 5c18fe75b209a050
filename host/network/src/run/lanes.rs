//! Lanes of a timeline in addition to those of the radios: TCP segments, congestion windows, queues
//! and sources of interference.

use crate::trace::Names;
use kinglet_scenario::Scenario;
use kinglet_scenario::simulated::{interferer_of, start_us};
use kinglet_sim::interference;
use kinglet_sim::trace::{Event, Head, PacketId, What};
use std::collections::BTreeMap;

/// Kind of an item in a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneKind {
    /// A segment with new data, from its creation to its arrival.
    Segment,
    /// A segment with retransmitted data.
    Again,
    /// A segment without data.
    Ack,
    /// A segment that did not arrive.
    Lost,
    /// The congestion window has this size.
    Window,
    /// A packet waits for the radio.
    Queue,
    /// A burst of a source of interference.
    Source,
    /// A frame of a packet, drawn over the radio activity.
    Frame,
}

/// An interval in a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneItem {
    /// Start, in microseconds.
    pub from_us: u64,
    /// End, in microseconds.
    pub to_us: u64,
    /// Its kind.
    pub kind: LaneKind,
    /// Octets of a window, or number of bursts of interference.
    pub count: Option<u32>,
    /// The identity of its packet.
    pub packet: Option<PacketId>,
}

/// A lane.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lane {
    /// Name; empty for the lane of a node's radio.
    pub name: String,
    /// The node whose radio lane the items are drawn over; `None` for a separate lane.
    pub radio: Option<u32>,
    /// Items in any order.
    pub items: Vec<LaneItem>,
}

/// Largest number of intervals that are kept: a page with this number is still fast.
const MOST: usize = 50_000;

/// Largest number of bursts of interference among them, over all sources.
const MOST_BURSTS: usize = 10_000;

/// Selects the bursts that begin an interval: those after the longest gaps, so that there are at
/// most `most` intervals. Equal gaps are sampled at a regular stride.
struct Apart {
    /// Shortest of these gaps.
    gap: u64,
    /// Number of gaps of this length: all, those that count, and those seen so far.
    equal: u64,
    wanted: u64,
    seen: u64,
}

impl Apart {
    /// Creates the selection for these gaps; `None` if no bursts need to be joined.
    fn new(mut gaps: Vec<u64>, most: usize) -> Option<Self> {
        if gaps.len() < most {
            return None;
        }
        gaps.sort_unstable_by_key(|gap| std::cmp::Reverse(*gap));
        let wanted = most.saturating_sub(1);
        let gap = gaps.get(wanted).copied().unwrap_or(0);
        let longer = gaps.partition_point(|other| *other > gap);
        let equal = gaps.iter().filter(|other| **other == gap).count() as u64;
        Some(Apart { gap, equal, wanted: wanted.saturating_sub(longer) as u64, seen: 0 })
    }

    fn begins(&mut self, gap: u64) -> bool {
        if gap != self.gap {
            return gap > self.gap;
        }
        let before = self.seen * self.wanted / self.equal;
        self.seen += 1;
        self.seen * self.wanted / self.equal > before
    }
}

/// Bursts of source number `index` between two instants. If there are more than `most`, those with
/// short gaps between them are joined to one interval with their number.
fn bursts(
    (scenario, seed): (&Scenario, u64),
    index: usize,
    (from, to): (u64, u64),
    most: usize,
) -> Vec<LaneItem> {
    let Some(source) = scenario.interference.get(index) else { return Vec::new() };
    let to = to.min((scenario.duration_s * 1e6) as u64);
    let (source, start_us) = (interferer_of(source), start_us(scenario));
    let visit = |each: &mut dyn FnMut(u64, u64)| {
        interference::bursts(seed, (index as u64, &source), start_us, &(from..to), each);
    };
    let (mut gaps, mut end) = (Vec::new(), None);
    visit(&mut |from_us, to_us| {
        gaps.extend(end.map(|end| from_us.saturating_sub(end)));
        end = Some(to_us);
    });
    let mut apart = Apart::new(gaps, most);
    let mut items: Vec<LaneItem> = Vec::new();
    visit(&mut |from_us, to_us| {
        let mut begins = |end| apart.as_mut().is_none_or(|apart| apart.begins(from_us - end));
        match items.last_mut().filter(|last| !begins(last.to_us.min(from_us))) {
            Some(last) => {
                last.to_us = to_us;
                last.count = last.count.map(|count| count + 1);
            }
            None => {
                let (kind, count) = (LaneKind::Source, Some(1));
                items.push(LaneItem { from_us, to_us, kind, count, packet: None });
            }
        }
    });
    items
}

/// A packet that has not arrived yet.
struct Flying {
    lane: String,
    kind: LaneKind,
    since_us: u64,
    last_us: u64,
    goal: Option<u32>,
}

/// Collects lanes from the events of a trace.
pub(super) struct Lanes {
    names: Names,
    range_us: (u64, u64),
    lanes: BTreeMap<String, Lane>,
    items: usize,
    flying: BTreeMap<PacketId, Flying>,
    queued: BTreeMap<(u32, PacketId), u64>,
    windows: BTreeMap<String, (u64, u32)>,
    packets: BTreeMap<u64, PacketId>,
    end_us: u64,
}

impl Lanes {
    /// Prepares the lanes of a run of `scenario` between two instants in seconds.
    pub(super) fn new(scenario: &Scenario, seed: u64, range_s: (f64, f64)) -> Self {
        let us = |seconds: f64| (seconds * 1e6) as u64;
        let mut lanes = Lanes {
            names: Names::of(scenario, seed),
            range_us: (us(range_s.0), us(range_s.1)),
            lanes: BTreeMap::new(),
            items: 0,
            flying: BTreeMap::new(),
            queued: BTreeMap::new(),
            windows: BTreeMap::new(),
            packets: BTreeMap::new(),
            end_us: 0,
        };
        let sources = lanes.names.interference.clone();
        let most = MOST_BURSTS / sources.len().max(1);
        for (index, source) in sources.iter().enumerate() {
            for item in bursts((scenario, seed), index, lanes.range_us, most) {
                lanes.put(&format!("z {index:06} {}", source.source), None, item);
            }
        }
        lanes
    }

    fn put(&mut self, key: &str, radio: Option<u32>, item: LaneItem) {
        let (from, to) = self.range_us;
        if item.to_us < from || item.from_us > to || self.items >= MOST {
            return;
        }
        self.items += 1;
        let lane = self.lanes.entry(key.to_owned()).or_default();
        lane.radio = radio;
        lane.items.push(item);
    }

    pub(super) fn event(&mut self, event: &Event) {
        self.end_us = event.at_us;
        let Event { at_us, node, .. } = *event;
        match event.what {
            What::Formed { packet, ref head, again, .. } => {
                self.formed((at_us, packet), head, again.is_some());
            }
            What::Queued { packet, .. } => {
                self.queued.insert((node.unwrap_or(0), packet), at_us);
            }
            What::Dequeued { packet, .. } => self.dequeued(at_us, node.unwrap_or(0), packet),
            What::Arrived { packet, .. } | What::Wire { packet, fate: "arrived", .. } => {
                self.arrived(at_us, node, packet);
            }
            What::Window { connection, cwnd, .. } => {
                let flow = self.names.flow("tcp", connection.local, connection.remote);
                if let Some((flow, true)) = flow {
                    self.window(at_us, format!("a cwnd {flow}"), cwnd);
                }
            }
            What::Attempt { frame, .. } => {
                if let Some(packet) = frame.packet {
                    self.packets.insert(frame.frame, packet);
                }
            }
            What::Air { frame, until_us, .. } => {
                let (Some(packet), Some(node)) = (self.packets.get(&frame).copied(), node) else {
                    return;
                };
                let kind = LaneKind::Frame;
                let packet = Some(packet);
                let item = LaneItem { from_us: at_us, to_us: until_us, kind, count: None, packet };
                self.put(&format!("0 {node:06}"), Some(node), item);
            }
            _ => {}
        }
    }

    fn formed(&mut self, (at_us, packet): (u64, PacketId), head: &Head, again: bool) {
        let Some((flow, forward)) = self.names.flow_of(head) else { return };
        if head.segment.is_none() {
            return;
        }
        let kind = match (again, head.payload) {
            (_, 0) => LaneKind::Ack,
            (true, _) => LaneKind::Again,
            (false, _) => LaneKind::Segment,
        };
        let lane = format!("a flow {flow} {}", if forward { "→" } else { "←" });
        let goal = self
            .names
            .node_of(head.dst)
            .filter(|node| self.names.nodes.iter().any(|name| name.node == *node));
        let flying = Flying { lane, kind, since_us: at_us, last_us: at_us, goal };
        self.flying.insert(packet, flying);
    }

    fn dequeued(&mut self, at_us: u64, node: u32, packet: PacketId) {
        let Some(from_us) = self.queued.remove(&(node, packet)) else { return };
        let kind = LaneKind::Queue;
        let item = LaneItem { from_us, to_us: at_us, kind, count: None, packet: Some(packet) };
        self.put(&format!("q {node:06}"), None, item);
    }

    fn arrived(&mut self, at_us: u64, node: Option<u32>, packet: PacketId) {
        let Some(flying) = self.flying.get_mut(&packet) else { return };
        flying.last_us = at_us;
        if flying.goal == node {
            let Some(Flying { lane, kind, since_us, .. }) = self.flying.remove(&packet) else {
                return;
            };
            let packet = Some(packet);
            let item = LaneItem { from_us: since_us, to_us: at_us, kind, count: None, packet };
            self.put(&lane, None, item);
        }
    }

    fn window(&mut self, at_us: u64, lane: String, cwnd: u32) {
        let before = self.windows.insert(lane.clone(), (at_us, cwnd));
        let Some((from_us, count)) = before else { return };
        let (kind, count) = (LaneKind::Window, Some(count));
        self.put(&lane, None, LaneItem { from_us, to_us: at_us, kind, count, packet: None });
    }

    /// The lanes, in the order of display.
    pub(super) fn finish(&mut self) -> Vec<Lane> {
        for (packet, flying) in std::mem::take(&mut self.flying) {
            let Flying { lane, since_us, last_us, .. } = flying;
            // A packet of the last second may still arrive.
            let kind = if last_us + 1_000_000 > self.end_us { continue } else { LaneKind::Lost };
            let packet = Some(packet);
            let item = LaneItem { from_us: since_us, to_us: last_us, kind, count: None, packet };
            self.put(&lane, None, item);
        }
        for (lane, _) in self.windows.clone() {
            // The last one lasts until the end.
            self.window(self.end_us, lane, 0);
        }
        let named = |(key, lane): (String, Lane)| {
            let name = match key.split_once(' ') {
                Some(("q", node)) => {
                    format!("queue {}", node.trim_start_matches('0').parse::<u32>().unwrap_or(0))
                }
                Some(("0", _)) | None => String::new(),
                Some(("z", source)) => {
                    source.trim_start_matches(char::is_numeric).trim().to_owned()
                }
                Some((_, name)) => name.to_owned(),
            };
            Lane { name, ..lane }
        };
        std::mem::take(&mut self.lanes).into_iter().map(named).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_burst_of_interference_is_shown_until_there_are_too_many() {
        let text = "duration_s = 100\nstart_hour = 10\n[topology]\nline = { hops = 1 }\n\
                    [[interference]]\nsource = \"microwave\"\nfrom_s = 1\nuntil_s = 90\n\
                    [[interference]]\nsource = \"wifi-file\"\n";
        let mut scenario = Scenario::from_toml("bursts.toml", text).expect("a scenario");
        scenario.interference.iter_mut().for_each(|source| source.share = 1.0);
        let of = |index, most| bursts((&scenario, 3), index, (0, 60_000_000), most);
        let all = of(0, MOST_BURSTS);
        assert!(all.len() > 1_000, "a microwave oven follows the mains: {}", all.len());
        assert!(all.iter().all(|item| item.count == Some(1) && item.from_us >= 1_000_000));
        let few = of(0, 100);
        assert_eq!(few.len(), 100);
        let longest = few.iter().filter_map(|item| item.count).max();
        assert!(longest < Some(all.len() as u32 / 50), "equal gaps are shared out: {longest:?}");
        let count: u32 = few.iter().filter_map(|item| item.count).sum();
        assert_eq!(count as usize, all.len());
        let lanes = Lanes::new(&scenario, 3, (0.0, 60.0)).finish();
        let names: Vec<&str> = lanes.iter().map(|lane| lane.name.as_str()).collect();
        assert_eq!(names, ["microwave", "wifi-file"]);
        assert!(lanes.iter().all(|lane| lane.items.len() > 1_000));
        assert!(lanes.iter().all(|lane| lane.items.len() <= MOST_BURSTS / 2));
        // More bursts than allowed: the lane has the largest number of intervals, and they cover
        // all bursts.
        let many = of(1, MOST_BURSTS / 2);
        let count: u32 = many.iter().filter_map(|item| item.count).sum();
        assert!(many.len() == MOST_BURSTS / 2 && count as usize > MOST_BURSTS, "{count}");
    }
}
