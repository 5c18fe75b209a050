//! Tasks that use async sockets on simulated nodes.

mod executor;
mod network;
mod streams;
