//! HTTP/1.1 (RFC 9110, RFC 9112), as far as a small server and a small client need it.
//!
//! The server supports keep-alive, pipelined requests (answered in order), `Expect: 100-continue`
//! and `HEAD`; it refuses chunked bodies with 411. The client supports bodies with a length, in
//! chunks and up to the connection's end, and keeps its connection for the next request.
//!
//! Of a received message, only the path and the current line are stored. Sent messages are not
//! stored: head and body are generated when they are sent.

mod answer;
mod client;
mod field;
mod request;
mod server;

pub use client::{Asker, Client, Failure, Request};
pub use request::{Head, Method, Status};
pub use server::{Connection, Server, Sizes, Stats};
