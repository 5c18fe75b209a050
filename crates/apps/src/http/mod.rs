//! HTTP/1.1 (RFC 9110, RFC 9112), as much as a small server needs.
//!
//! Keep-alive, requests before the answer to the one before (answered in their order),
//! `Expect: 100-continue` and `HEAD` are understood; chunked bodies are refused with 411.
//!
//! Nothing of a request is kept but its path and the line that is being read, and nothing of an
//! answer but what it says: head and body are made where they are sent.

mod request;
mod server;

pub use request::{Head, Method, Status};
pub use server::{Connection, Place, Server, Sizes, Stats};
