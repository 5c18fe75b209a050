//! Who else uses the band: sources that neither know nor heed this network.
//!
//! A source is a pattern of bursts and where it is heard: around a place, after path loss, or by
//! one node alone at a given strength, as in experiments that expose one node to a recorded source.
//! Nothing happens in the event queue: when a reception or a channel assessment wants to know, the
//! bursts of the seconds concerned are made from the root seed, so that every question about the
//! same time has the same answer, a silent hour costs nothing, and a run without sources is what it
//! was.

mod pareto;
mod pattern;
mod source;
#[cfg(test)]
mod tests;
mod trace;
mod wifi;

pub use pareto::Pareto;
pub use pattern::{
    BLUETOOTH, BLUETOOTH_RANGE_DB, Gaps, MICROWAVE, MICROWAVE_RANGE_DB, Pattern, WIFI_BURSTS,
    WIFI_FILE, WIFI_RANGE_DB, WIFI_VIDEO,
};
pub use trace::{Trace, TraceError};
pub use wifi::Cell;

use crate::place::{PathLoss, Position};
use kinglet_radio::Channel;
pub use source::SESSION_US;
use source::Source;
use std::ops::{Range, RangeInclusive};

/// A source of interference.
#[derive(Clone, Debug, PartialEq)]
pub struct Interferer {
    /// Who hears it, and how strongly.
    pub heard: Heard,
    /// When it sends while it is active.
    pub pattern: Pattern,
    /// Share of the time in which it is active, 0 to 1, in each hour of the day. It is decided anew
    /// for every [`SESSION_US`].
    pub hours: [f64; 24],
    /// When it is switched on and off, in microseconds from the start of the run.
    pub within_us: Range<u64>,
    /// The channels that it covers, by their numbers.
    pub channels: RangeInclusive<u8>,
}

/// Who hears a source.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// Everyone, after path loss. Between bursts there is nothing.
    Around {
        /// Where it stands.
        position: Position,
        /// Power that it radiates into the network's channel while it is busy (of a trace: with its
        /// strongest sample), in dBm.
        power_dbm: f64,
        /// How that power decreases; shadowing is not counted.
        path: PathLoss,
    },
    /// One node alone.
    ///
    /// Strength is that of a recorded trace: the mean over time of its level in dBm, with the
    /// recorder's own noise as idle level. A gain on all samples shifts mean, busy and idle level
    /// alike, so that the mean tells both levels ([`Pattern::levels_dbm`]). It is the mean of the
    /// source alone, while it is active: the noise of the receiver comes on top and may well be
    /// above it. It is taken over levels at each instant; a register that averages over eight
    /// symbols reads more of bursts that are shorter (see the tests for how much).
    By {
        /// The node.
        node: usize,
        /// The mean in dBm.
        mean_dbm: f64,
        /// The busy level less the idle one, in dB; a trace has its own.
        range_db: f64,
    },
}

/// A stretch of one source at a node: from, to, milliwatts.
type Burst = (u64, u64, f64);

/// Calls `visit(from, to)`, in order of time, for the bursts in `span_us` of source number `index`
/// of a run with `seed` that begins `start_us` after midnight, whoever hears them.
pub fn bursts(
    seed: u64,
    (index, of): (u64, &Interferer),
    start_us: u64,
    span_us: &Range<u64>,
    visit: impl FnMut(u64, u64),
) {
    Source::new(seed, index, of, &[], 0.0).every(span_us, start_us, visit);
}

/// All sources of a run.
pub(crate) struct Interference {
    sources: Vec<Source>,
    /// Of the present question, source after source, each in order of time.
    found: Vec<Burst>,
    /// What of `found` is of one source and not yet over.
    left: Vec<Range<usize>>,
    edges: Vec<u64>,
    /// Microseconds from midnight to the start of the run.
    start_us: u64,
}

impl Interference {
    pub(crate) fn new(
        seed: u64,
        interferers: &[Interferer],
        start_us: u64,
        positions: &[Position],
        noise_floor_dbm: f64,
    ) -> Interference {
        let source = |(index, of): (u64, &Interferer)| {
            Source::new(seed, index, of, positions, noise_floor_dbm)
        };
        let sources = (0..).zip(interferers).map(source).collect();
        let (found, left, edges) = Default::default();
        Interference { sources, found, left, edges, start_us }
    }

    /// Whether there can be any.
    pub(crate) fn exists(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Calls `visit(from, to, milliwatts)` for consecutive stretches that together make up `span`,
    /// with the power that `node` receives on `channel` in each.
    pub(crate) fn stretches(
        &mut self,
        node: usize,
        channel: Channel,
        span: Range<u64>,
        mut visit: impl FnMut(u64, u64, f64),
    ) {
        let Interference { sources, found, left, edges, start_us } = self;
        found.clear();
        left.clear();
        for source in sources.iter_mut().filter(|source| source.covers(channel)) {
            let first = found.len();
            source.visit(node, &span, *start_us, |from, to, mw| found.push((from, to, mw)));
            if found.len() > first {
                left.push(first..found.len());
            }
        }
        edges.clear();
        edges.push(span.start);
        edges.extend(found.iter().flat_map(|(from, to, _)| [*from, *to]));
        edges.push(span.end);
        edges.sort_unstable();
        for edge in edges.windows(2).filter(|edge| edge[0] < edge[1]) {
            let mut mw = 0.0;
            for left in left.iter_mut() {
                while left.start < left.end && found[left.start].1 <= edge[0] {
                    left.start += 1;
                }
                let present = found[left.clone()].first().filter(|burst| burst.0 <= edge[0]);
                mw += present.map_or(0.0, |burst| burst.2);
            }
            visit(edge[0], edge[1], mw);
        }
    }

    /// Mean power at `node` on `channel` in `span`, in milliwatts: what energy detection measures.
    pub(crate) fn mean_mw(&mut self, node: usize, channel: Channel, span: Range<u64>) -> f64 {
        let length = span.end.saturating_sub(span.start).max(1) as f64;
        let mut energy = 0.0;
        self.stretches(node, channel, span, |from, to, mw| energy += mw * (to - from) as f64);
        energy / length
    }
}
