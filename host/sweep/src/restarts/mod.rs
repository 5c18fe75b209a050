//! Restarts of a node in a working network: the time until all pairs of nodes that communicated
//! before communicate again, and its cost in messages and datagrams.
//!
//! A [`Cell`] names the node that restarts, the time for which it is off, and the kind of network.
//! The network is a line: border router 0, routers 1 to 3, and leaf 4 behind router 3. The border
//! router communicates with each of the others.

mod board;
mod cells;
mod network;
mod watch;

pub use cells::{Cell, Changed, Part, Routing, Traffic};
pub use network::scenario;

use kinglet::time::{Duration, Instant};
use kinglet_scenario::NodeId;
use watch::Watch;

/// The node restarts at this time. The network has formed by then.
const RESTART: Instant = Instant::from_secs(180);
/// Without traffic, datagrams begin this long after the node is back.
const SILENCE: Duration = Duration::from_secs(15);
/// Longest observation after the return of the node.
const OBSERVED: Duration = Duration::from_secs(1_800);
/// The network has recovered after this time of communication without a gap.
const SETTLED: Duration = Duration::from_secs(60);
/// The usual rate of control messages is measured over this time before the restart.
const USUAL: Duration = Duration::from_secs(30);

/// Cost of a restart.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Pairs that communicated before, each in one direction.
    pub pairs: usize,
    /// Seconds from the return of the node until all pairs communicate again; `None` if that takes
    /// more than half an hour.
    pub seconds: Option<f64>,
    /// Control messages per node, in excess of the usual rate, from the return of the node until
    /// all pairs communicate again, or until the end.
    pub control: f64,
    /// Number of datagrams sent from the restart on that were lost.
    pub lost: u32,
    /// Number of datagrams that were sent from the restart on.
    pub sent: u32,
    /// The pairs, sender first, that did not communicate within [`Cell::limit_s`].
    pub late: Vec<(NodeId, NodeId)>,
}

impl Verdict {
    /// No pair has communicated.
    pub const NEVER: Verdict =
        Verdict { pairs: 0, seconds: None, control: 0.0, lost: 0, sent: 0, late: Vec::new() };

    /// Returns whether all pairs communicated again in time.
    pub fn is_in_time(&self, cell: &Cell) -> bool {
        self.seconds.is_some_and(|seconds| seconds <= cell.limit_s())
    }
}

/// Runs a cell.
///
/// # Errors
/// The pairs that did not communicate before the restart, as text.
pub fn run(cell: &Cell, seed: u64) -> Result<Verdict, String> {
    let mut watch = Watch::new(cell, seed);
    watch.advance(RESTART);
    let silent = watch.silent();
    if !silent.is_empty() {
        return Err(format!("{cell:?}, seed {seed}: no datagram yet of {silent:?}"));
    }
    let back = RESTART + cell.off;
    watch.speak(cell.traffic != Traffic::None);
    watch.restart(back, seed ^ 1 << 32);
    let mut from = back;
    if cell.traffic == Traffic::None {
        from += SILENCE;
        watch.advance(from);
        watch.speak(true);
    }
    let mut end = back;
    loop {
        end += SETTLED;
        watch.advance(end);
        let well = watch.well_since().map(|well| well.max(from));
        let well = well.filter(|well| end >= *well + SETTLED);
        if well.is_some() || end >= back + OBSERVED {
            return Ok(watch.verdict(back, well));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_values_of_two_axes_is_in_a_cell() {
        let few = Cell::pairwise();
        assert!(few.len() < 60, "{} cells", few.len());
        for cell in Cell::all() {
            for (a, one) in cell.values().into_iter().enumerate() {
                for (b, two) in cell.values().into_iter().enumerate() {
                    let has = |few: &Cell| few.values()[a] == one && few.values()[b] == two;
                    assert!(few.iter().any(has), "{cell:?}: axes {a} and {b}");
                }
            }
        }
    }
}
