//! PIP, "Packets in Pipe" (Raman, Chebrolu, Bijwe and Gabale, SenSys 2010), on the radios of the
//! simulator: the bulk transfer that Duquennoy et al. compare burst forwarding with ("Lossy Links,
//! Low Power, High Throughput", SenSys 2011), as they have implemented it (5.3).
//!
//! | module | subject |
//! |---|---|
//! | [`raw`] | what one radio per node can carry at all |
//! | `slot` | slots, and what is in them |
//! | `frame` | formats |
//! | `node`, `source`, `sink` | the protocol |
//! | `line` | the serial line of an end node |
//! | `config`, `run` | a transfer, and what came of it |
//!
//! # The protocol
//!
//! * The path and its channels are known to everybody beforehand, as in the paper's implementation:
//!   each node has a channel on which it listens. Radios are on until the path is torn down.
//! * Even and odd nodes send in turn, in slots for one full frame ([`Slots`]). The source's clock
//!   is that of the path: each node keeps in step by the frames that it has from the side of the
//!   source, which say in which slot they are sent.
//! * A frame that a relay has received goes on in its next slot. On a hop it is sent until it is
//!   acknowledged, if the path has that ([`Config::acknowledged`]), and otherwise once. What a full
//!   queue has no room for is lost.
//! * When the source has sent every frame, it tells the end of the round, and the sink answers with
//!   a bit for each frame that it misses; with these it goes on. A question that is not answered is
//!   asked again. Frames are to travel in one direction at a time: those that meet at a node come
//!   from neighbours that send in the same slots. So questions and answers are given up on a hop
//!   after a while.
//!
//! # Not taken from anywhere
//!
//! Neither paper has formats, the times of a slot, the size of queues or how long the source waits
//! for an answer. Slots follow from the radio ([`Slots::new`]); the rest is said where it stands.
//! What the CPU computes takes no time here, and draws nothing.
//!
//! # Rates
//!
//! Over ten hops without loss 62 kb/s of a file of 100 kB arrive, which are 73 kb/s of whole
//! frames. The original had 63 kb/s and the paper's own implementation 73, and the paper does not
//! say of what. With the copying off the critical path ([`Forwarding::Conditional`]) it is 83 kb/s
//! of the file, and 94 if hops are not acknowledged: an implementation with that and 73 kb/s would
//! lose 0.75 ms of each slot to what is not modelled here. A serial line of 115 200 b/s, whose
//! octets take ten bits, is faster than the path and does not slow it down; the paper's tunnel
//! did, from 73 to 64 kb/s.
//!
//! ```
//! use kinglet_pip::{Config, transfer};
//!
//! let outcome = transfer(&Config::new(3, 5_000), 1);
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

pub use config::{Config, MAX_FILE};
pub use frame::PAYLOAD;
pub use node::Node;
pub use run::{NodeOutcome, Outcome, transfer, world};
pub use slot::{Forwarding, GUARD, Slots};
