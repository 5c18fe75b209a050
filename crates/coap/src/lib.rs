//! CoAP (RFC 7252) for microcontrollers, over any datagram service. It knows no addresses, no UDP,
//! no radio and no clock, and it has no heap: the caller brings time, octets and a key for each
//! peer.
//!
//! | done | |
//! |---|---|
//! | RFC 7252 §3–5 | messages, reliability, duplicates, responses piggybacked and separate |
//! | RFC 7252 §4.7 | NSTART: requests to one peer wait their turn |
//! | RFC 7959 | Block1, Block2, Size1, Size2, early negotiation: [`Download`], [`Upload`], … |
//! | CoCoA | draft-ietf-core-cocoa-03, and as it was measured against TCPlp: [`Rto`] |
//!
//! Not: observe, multicast, proxying, DTLS. A message that may have to be sent again stays in a
//! buffer of its exchange ([`Sizes::Message`]); everything longer goes block by block, each made
//! when it leaves.
//!
//! ```
//! use kinglet_coap::*;
//! use kinglet_time::Instant;
//!
//! struct Plan;
//! impl Sizes for Plan {
//!     type Message = [u8; 128];
//!     type Requests<K: Copy + Eq> = [Slot<K, [u8; 128]>; 1];
//!     type Served<K: Copy + Eq> = [Slot<K, [u8; 128]>; 2];
//!     type Peers<K: Copy + Eq> = [Option<PeerEstimate<K>>; 1];
//!     type Resets<K: Copy + Eq> = [Option<Reset<K>>; 2];
//! }
//!
//! /// The next message of an endpoint; a real caller gives it to a socket.
//! fn datagram(now: Instant, from: &mut Endpoint<u8, Plan>) -> Option<Vec<u8>> {
//!     let mut out = Vec::new();
//!     let sent = from.poll_message(now, |_peer, octets| {
//!         out.extend_from_slice(octets);
//!         Ok::<(), ()>(())
//!     });
//!     sent.map(|_| out)
//! }
//!
//! let (client, server) = (0u8, 1u8);
//! let mut ends: [Endpoint<u8, Plan>; 2] = [1, 2].map(|seed| Endpoint::new(Config::new(seed)));
//! let now = Instant::from_secs(1);
//! ends[0].request(now, server, Delivery::Confirmable, Code::GET, |request| {
//!     request.path("temperature")
//! }).unwrap();
//!
//! let request = datagram(now, &mut ends[0]).unwrap();
//! let Ok(Event::Request { ticket, message }) = ends[1].handle_message(now, client, &request)
//!     else { panic!() };
//! assert!(message.is_path("temperature"));
//! ends[1].respond(now, ticket, Code::CONTENT, |response| response.payload(b"21.5")).unwrap();
//!
//! let response = datagram(now, &mut ends[1]).unwrap();
//! let Ok(Event::Response { message, .. }) = ends[0].handle_message(now, server, &response)
//!     else { panic!() };
//! assert_eq!((message.header.code, message.payload), (Code::CONTENT, &b"21.5"[..]));
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests compute with constants"))]

#[cfg(test)]
extern crate std;

mod block;
mod config;
mod endpoint;
mod info;
mod message;
mod rto;

pub mod option;

pub use block::{
    Accepted, Block, Download, MAX_EXPONENT, Part, Piece, Reception, TransferError, Upload,
    UploadStep,
};
pub use config::{Config, Sizes};
pub use endpoint::{
    Delivery, Endpoint, Event, Handle, PeerEstimate, RequestError, Reset, RespondError, Slot,
    Ticket,
};
pub use info::{Discard, Expected, Failure, Info, Stats};
pub use message::{
    Code, HEADER_LEN, Header, Kind, MAX_TOKEN, Message, Options, ParseError, Token, WriteError,
    Writer, uint,
};
pub use rto::Rto;
