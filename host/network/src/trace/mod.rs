//! A trace of all layers as a file, and the analysis of lost packets in it.
//!
//! | file | subject |
//! |---|---|
//! | `row.rs` | the columns: one form for JSON lines and for Parquet |
//! | `names.rs` | the flow of a packet, the node of an address |
//! | `rows.rs` | conversion of the simulator's events to rows |
//! | `write.rs`, `read.rs` | files |
//! | `why.rs` | lost and late packets, with the place |
//! | `facts.rs` | facts of the whole trace for the story of a packet |
//! | `hops.rs` | fates of a packet's frames on each hop |
//! | `story.rs` | description in words |

mod facts;
mod hops;
mod names;
mod read;
mod row;
mod rows;
mod story;
mod why;
mod write;

pub use facts::Fate;
pub use names::{FlowName, Names, NodeName, Source};
pub use read::{Trace, TraceError, read};
pub use row::{OtherFrame, Row, Word};
pub use why::{Case, Wanted, why};

pub use write::{opening, sink};

/// Version of the trace format. It is incremented when a name or the meaning of a value changes.
pub const VERSION: u32 = 2;
