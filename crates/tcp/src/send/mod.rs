//! The sending side: ring, segments in flight, loss detection and recovery.

pub(crate) mod arrival;
pub(crate) mod buffer;
pub(crate) mod flight;
pub(crate) mod prr;
pub(crate) mod rack;
pub(crate) mod recovery;
pub(crate) mod scoreboard;
pub(crate) mod undo;
