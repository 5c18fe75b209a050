//! Tasks that use async sockets on simulated nodes.

mod asleep;
mod cable;
mod datagrams;
mod dropped;
mod executor;
mod handlers;
mod mqtt;
mod names;
mod network;
mod retries;
mod streams;
mod tls;
