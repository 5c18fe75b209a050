//! CoAP (RFC 7252, RFC 7959) over a node's UDP sockets: the socket that servers, clients and
//! sensors share, a server and a client.

mod client;
mod links;
mod observe;
mod server;
mod socket;

pub use client::{Asker, Client, Failure, Request};
pub use observe::Observer;
pub use server::{Plan, Server, exponent_of};
pub use socket::{Origin, PORT, Socket};

pub use crate::sockets::Peer;
