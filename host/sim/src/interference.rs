//! Interference by other users of the band, whose sources do not defer to this network.
//!
//! A source is a pattern of bursts and its range: around a place, with path loss, or at one node
//! alone with a given strength, as in experiments that expose one node to a recorded source. It
//! puts no events into the queue. When a reception or a channel assessment needs the bursts of some
//! seconds, they are generated from the root seed. So all queries for the same time return the same
//! bursts, hours without traffic cost nothing, and a run without sources is unaffected.

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
    /// Receivers of the source, and its strength.
    pub heard: Heard,
    /// Bursts of the source while it is active.
    pub pattern: Pattern,
    /// Share of active time in each hour of the day, 0 to 1. It is drawn again for every
    /// [`SESSION_US`].
    pub hours: [f64; 24],
    /// Time for which it is switched on, in microseconds from the start of the run.
    pub within_us: Range<u64>,
    /// Numbers of the channels that it covers.
    pub channels: RangeInclusive<u8>,
}

/// Receivers of a source, and its strength.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// All nodes, with path loss. There is no signal between bursts.
    Around {
        /// Position of the source.
        position: Position,
        /// Power radiated into the network's channel while busy, in dBm; for a trace, the power of
        /// its strongest sample.
        power_dbm: f64,
        /// Path loss, without shadowing.
        path: PathLoss,
    },
    /// One node only.
    ///
    /// The strength is that of a recorded trace: the mean over time of its level in dBm, with the
    /// recorder's own noise as idle level. A gain on all samples shifts mean, busy and idle level
    /// equally, so the mean determines both levels ([`Pattern::levels_dbm`]). It is the mean of the
    /// active source alone; the receiver's noise is added and may be stronger. It is the mean over
    /// instantaneous levels. A register that averages over eight symbols shows more for bursts
    /// shorter than that (the tests have the differences).
    By {
        /// Node that receives it.
        node: usize,
        /// Mean in dBm.
        mean_dbm: f64,
        /// Difference between busy and idle level, in dB; a trace has its own.
        range_db: f64,
    },
}

/// An interval of one source at a node: start, end, milliwatts.
type Burst = (u64, u64, f64);

/// Calls `visit(from, to)`, in order of time, for the bursts in `span_us` of source number `index`
/// of a run with `seed` that begins `start_us` after midnight, regardless of receivers.
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
    /// Bursts of the current query by source, each in order of time.
    found: Vec<Burst>,
    /// For each source, the range of `found` that is not yet over.
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

    /// True if the run has any source.
    pub(crate) fn exists(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Calls `visit(from, to, milliwatts)` for consecutive intervals that together make up `span`,
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

    /// Mean power at `node` on `channel` in `span`, in milliwatts, as energy detection measures it.
    pub(crate) fn mean_mw(&mut self, node: usize, channel: Channel, span: Range<u64>) -> f64 {
        let length = span.end.saturating_sub(span.start).max(1) as f64;
        let mut energy = 0.0;
        self.stretches(node, channel, span, |from, to, mw| energy += mw * (to - from) as f64);
        energy / length
    }
}
