//! Snack: a file by UDP, as fast as the stack takes it, and again what the other side says is
//! missing (Duquennoy et al., "Lossy Links, Low Power, High Throughput", SenSys 2011, 7.2).
//!
//! The paper has it as a transport that does as PIP does, over UDP: no control of the rate, no
//! acknowledgement of what arrives, and negative ones from end to end. It has no formats and no
//! times; these are ours.
//!
//! The [`Source`] sends every datagram of the file and then asks. The [`Sink`] speaks only when it
//! is asked, and says what is missing, a bit for each datagram from the first missing one to the
//! last; what the source hears begins the next round. A question that is not answered is asked
//! again after one second, and then after ever longer pauses ([`BackOff`](crate::BackOff)): over
//! nodes that sleep an answer may take long, and every question more would only wait in line. When
//! nothing is missing the source says goodbye, and the sink asks for that until it has it, or has
//! tried often enough.
//!
//! | kind | from | content |
//! |---|---|---|
//! | 1 data | source | octets in each datagram (2), index (2), octets of the file |
//! | 2 end | source | round (1), octets in each datagram (2), octets of the file (4) |
//! | 3 missing | sink | round (1), first index (2), bits from there on, lowest first; or none |
//! | 4 goodbye | source | |
//!
//! All numbers are in network order. The file is the known stream ([`fill`](crate::fill)), so that
//! the sink knows each octet.

mod bits;
mod message;
mod sink;
mod source;

pub use message::{MAX_PIECE, MAX_TABLE};
pub use sink::Sink;
pub use source::{Sending, Source};
