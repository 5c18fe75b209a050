//! HTTP/1.1 (RFC 9110, RFC 9112), as much as a small server and a small client need.
//!
//! The server understands keep-alive, requests before the answer to the one before (answered in
//! their order), `Expect: 100-continue` and `HEAD`; chunked bodies are refused with 411. The client
//! understands bodies with a length, in chunks and up to the connection's end, and keeps its
//! connection for the next request.
//!
//! Nothing of a request or an answer is kept but its path and the line that is being read, and
//! nothing of what is sent but what it says: head and body are made where they are sent.

mod answer;
mod client;
mod field;
mod request;
mod server;

pub use client::{Asker, Client, Failure, Request};
pub use request::{Head, Method, Status};
pub use server::{Connection, Server, Sizes, Stats};
