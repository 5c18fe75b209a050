//! The sending side: ring, scoreboard and loss recovery.

pub(crate) mod buffer;
pub(crate) mod recovery;
pub(crate) mod scoreboard;
