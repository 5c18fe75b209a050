//! Async sockets over a Kinglet [`Node`](kinglet::Node).
//!
//! A [`Runner`] owns the node's loop: it sleeps until the next deadline of the stack (by
//! `embassy-time`), until the [`Radio`] has an event, or until a task has used a socket. Any number
//! of tasks of the same executor share a [`Stack`], whose sockets implement the traits of
//! `embedded-io-async`, `edge-nal` and `embedded-nal-async`. There is no heap and no global
//! variable, and data is copied only as in the node.
//!
//! ```no_run
//! use core::net::Ipv6Addr;
//! use kinglet::{Config, Mote, Node, radio::Driver};
//! use kinglet_embassy::{Error, Radio, Resources, Stack, TcpListener, TcpSocket};
//!
//! /// Sends back what clients of port 7 send, one client at a time.
//! async fn echo(stack: Stack<'_, Mote>) -> Result<(), Error> {
//!     let listener = TcpListener::bind(stack, 7, Default::default())?;
//!     loop {
//!         let (mut socket, _) = listener.accept().await;
//!         let mut buf = [0; 128];
//!         while let Ok(len @ 1..) = socket.read(&mut buf).await {
//!             socket.write_all(&buf[..len]).await?;
//!         }
//!     }
//! }
//!
//! async fn firmware(mut radio: impl Radio, random: impl FnMut(&mut [u8])) {
//!     let config = Config::new(0x0001, [0; 8], random); // or the identity of a product
//!     let mut node = Node::new(config, radio.capabilities());
//!     let mut resources = Resources::<Mote, 4>::new(&mut node); // four waiting tasks
//!     let (stack, runner) = resources.split();
//!     // One task runs the stack, others use it; here both are in one.
//!     let mut runner = core::pin::pin!(runner.run(&mut radio));
//!     let mut echo = core::pin::pin!(echo(stack));
//!     core::future::poll_fn(|cx| {
//!         let _ = runner.as_mut().poll(cx);
//!         echo.as_mut().poll(cx).map(|_| ())
//!     })
//!     .await
//! }
//! # use core::future::Future;
//! ```
//!
//! # What is dropped
//!
//! A future that is dropped leaves everything as it was: [`TcpSocket::read`] and
//! [`TcpSocket::write`] move octets in the last poll only, so that none is lost or sent twice. A
//! socket that is dropped is released as by `close(2)`: its octets and a FIN still leave. A
//! listener that is dropped refuses the connections that it has not accepted. A dropped `connect`
//! ends the attempt.
//!
//! # Sleeping nodes
//!
//! The runner adds no wake-up of the radio: TCP reports the acknowledgements that it expects. A
//! task states the responses that its protocol expects by [`TcpSocket::set_response_time`], or by
//! [`Stack::with`] and [`expect_response`](kinglet::Node::expect_response). Nothing here sends a
//! keep-alive, and [`flush`](TcpSocket::flush) does not wait for an acknowledgement.
//!
//! | file | subject |
//! |---|---|
//! | `shared.rs` | the node, and the tasks that wait for it |
//! | `resources.rs` | its storage |
//! | `runner.rs` | the loop around node and radio |
//! | `tcp.rs`, `udp.rs` | sockets |
//! | `nal.rs`, `nal_udp.rs` | the traits of other crates |
//! | `records.rs` | a transport for TLS whose reads may be dropped |
//! | `resolver.rs`, `dns.rs` | host names: the exchange, and its messages (RFC 1035) |
//! | `retry.rs` | pauses after attempts that have failed |
//! | `error.rs` | errors, and their kinds |

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]

#[cfg(test)]
extern crate std;

mod dns;
mod error;
mod nal;
mod nal_udp;
mod records;
mod resolver;
mod resources;
mod retry;
mod runner;
mod shared;
mod tcp;
mod udp;

pub use error::Error;
pub use nal_udp::UdpPart;
pub use records::{RecordError, Records};
pub use resolver::Resolver;
pub use resources::Resources;
pub use retry::Retry;
pub use runner::{Radio, Runner};
pub use shared::Stack;
pub use tcp::{TcpListener, TcpReader, TcpSocket, TcpWriter};
pub use udp::UdpSocket;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
