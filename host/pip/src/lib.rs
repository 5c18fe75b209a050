//! PIP, "Packets in Pipe" (Raman, Chebrolu, Bijwe and Gabale, SenSys 2010), on the radios of the
//! simulator. Duquennoy et al. implemented this bulk transfer (5.3) and compared burst forwarding
//! with it ("Lossy Links, Low Power, High Throughput", SenSys 2011).
//!
//! | module | subject |
//! |---|---|
//! | [`raw`] | upper bounds with one radio per node |
//! | `slot` | slots and their contents |
//! | `frame` | formats |
//! | `node`, `source`, `sink` | the protocol |
//! | `line` | the serial line of an end node |
//! | `config`, `run` | a transfer and its outcome |
//!
//! # The protocol
//!
//! * All nodes know the path and its channels beforehand, as in the paper's implementation: each
//!   node has a channel on which it listens. Radios are on until the path is torn down.
//! * Even and odd nodes send alternately, in slots for one full frame ([`Slots`]). The source's
//!   clock is that of the path: each node synchronises to the frames from the side of the source,
//!   which carry the number of their slot.
//! * A relay forwards a received frame in its next slot. On a hop it is sent until it is
//!   acknowledged, if the path uses acknowledgements ([`PipConfig::acknowledged`]), and otherwise
//!   once. Frames that do not fit into a full queue are lost.
//! * When the source has sent every frame, it signals the end of the round, and the sink responds
//!   with a bit for each missing frame. The source continues with these. A question without a
//!   response is repeated. Frames are meant to travel in one direction at a time: those that meet
//!   at a node come from neighbours that send in the same slots. Questions and responses are
//!   therefore given up on a hop after a while.
//!
//! # Assumptions
//!
//! Neither paper specifies formats, the timing of a slot, the size of queues or the time for which
//! the source waits for a response. Slots follow from the radio ([`Slots::new`]); other assumptions
//! are documented where they are made. Computation by the CPU takes neither time nor energy here.
//!
//! # Rates
//!
//! Over ten hops without loss 62 kb/s of a file of 100 kB arrive, which are 73 kb/s of whole
//! frames. The original had 63 kb/s and the paper's own implementation 73; the paper does not say
//! which octets it counts. With the copying off the critical path ([`Forwarding::Conditional`]) the
//! rate is 83 kb/s of the file, and 94 if hops are not acknowledged: an implementation with that
//! and 73 kb/s would lose 0.75 ms of each slot to effects that are not modelled here. A serial line
//! of 115 200 b/s, with ten bits per octet, is faster than the path and does not slow it down; the
//! paper's tunnel did, from 73 to 64 kb/s.
//!
//! ```
//! use kinglet_pip::{PipConfig, transfer};
//!
//! let outcome = transfer(&PipConfig::new(3, 5_000), 1);
//! assert!(outcome.complete && outcome.intact && outcome.octets == 5_000);
//! ```

#![forbid(unsafe_code)]

mod config;
mod frame;
mod line;
mod node;
pub mod raw;
mod run;
mod sink;
mod slot;
mod source;

pub use config::{MAX_FILE, PipConfig};
pub use frame::PAYLOAD;
pub use node::Node;
pub use run::{NodeOutcome, Outcome, transfer, world};
pub use slot::{Forwarding, GUARD, Slots};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
