//! Tasks that use async sockets on simulated nodes.

mod asleep;
mod datagrams;
mod dropped;
mod executor;
mod network;
mod streams;
