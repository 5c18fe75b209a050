//! A trace of all layers as a file, and what it says of lost packets.
//!
//! | file | subject |
//! |---|---|
//! | `row.rs` | the columns: one form for JSON lines and for Parquet |
//! | `names.rs` | which flow a packet is of, which node an address |
//! | `rows.rs` | from the simulator's events to rows |
//! | `write.rs`, `read.rs` | files |
//! | `why.rs` | which packets are lost or late, and where |
//! | `facts.rs` | what the whole trace says that the story of a packet needs |
//! | `hops.rs` | what became of a packet's frames on each hop |
//! | `story.rs` | all of that in words |

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
pub use row::{Beside, Row, Word};
pub use why::{Case, Wanted, why};

pub use write::{opening, sink};

/// The version of the form of a trace. It grows when a name or the meaning of a value changes.
pub const VERSION: u32 = 1;
