//! Snack: a file over UDP, sent as fast as the stack accepts it. Parts that the other side reports
//! as missing are sent again (Duquennoy et al., "Lossy Links, Low Power, High Throughput", SenSys
//! 2011, 7.2).
//!
//! The paper describes a transport over UDP that works like PIP: no rate control, no positive
//! acknowledgements, and end-to-end negative ones. It defines no formats and no times; those here
//! are this project's.
//!
//! The [`Source`] sends every datagram of the file and then a query. The [`Sink`] responds only to
//! queries, and reports the missing datagrams with a bit for each, from the first missing one to
//! the last; its report begins the next round. A query without a response is repeated after one
//! second, and then with growing pauses ([`kinglet_time::BackOff`]): over sleepy nodes a response
//! may take long, and further queries would only wait in the queues. When nothing is missing the
//! source says goodbye, and the sink requests that until it is received, or until it has tried
//! often enough.
//!
//! | kind | from | content |
//! |---|---|---|
//! | 1 data | source | octets in each datagram (2), index (2), octets of the file |
//! | 2 end | source | round (1), octets in each datagram (2), octets of the file (4) |
//! | 3 missing | sink | round (1), first index (2), bits from it on, lowest first; or none |
//! | 4 goodbye | source | |
//!
//! All numbers are in network byte order. The file is the known stream ([`fill`](crate::fill)), so
//! that the sink knows each octet.

mod bits;
mod message;
mod sink;
mod source;

pub use message::{MAX_PIECE, MAX_TABLE};
pub use sink::Sink;
pub use source::{Sending, Source};
