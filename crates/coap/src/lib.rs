//! CoAP (RFC 7252) for microcontrollers, over any datagram service. It depends on no addresses,
//! UDP, radio or clock, and uses no heap: the caller provides time, octets and a key for each peer.
//!
//! | implemented | |
//! |---|---|
//! | RFC 7252 §3–5 | messages, reliability, duplicates, responses piggybacked and separate |
//! | RFC 7252 §4.7 | NSTART: requests to one peer are queued |
//! | RFC 7641 | observed resources, [`Endpoint::notify`], and observers, [`Newest`] |
//! | RFC 7252 §8 | servers that receive group requests: [`Endpoint::respond_at_leisure`] |
//! | RFC 7959 | Block1, Block2, Size1, Size2, early negotiation: [`Download`], [`Upload`], … |
//! | CoCoA | draft-ietf-core-cocoa-03, and the variant measured against TCPlp: [`Rto`] |
//!
//! Not implemented: group requests of a client, proxying, DTLS. A message that may have to be
//! retransmitted stays in a buffer of its exchange ([`Sizes::Message`]); longer bodies go block by
//! block, each generated when it is sent.
//!
//! # A request and its response
//!
//! ```
//! use kinglet_coap::*;
//! use kinglet_time::Instant;
//!
//! struct Plan; // how much of everything there is
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
//! // A peer is whatever names one: here a number, elsewhere an address and a port. A product draws
//! // seeds from its source of entropy.
//! let (client, server) = (0u8, 1u8);
//! let mut ends: [Endpoint<u8, Plan>; 2] = [1, 2].map(|seed| Endpoint::new(CoapConfig::new(seed)));
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
//!
//! # The loop of a caller, and long bodies
//!
//! Here a client reads 300 octets in blocks of 64 over a path that loses every third message:
//!
//! ```
//! # use kinglet_coap::*;
//! # struct Plan;
//! # impl Sizes for Plan {
//! #     type Message = [u8; 128];
//! #     type Requests<K: Copy + Eq> = [Slot<K, [u8; 128]>; 1];
//! #     type Served<K: Copy + Eq> = [Slot<K, [u8; 128]>; 2];
//! #     type Peers<K: Copy + Eq> = [Option<PeerEstimate<K>>; 1];
//! #     type Resets<K: Copy + Eq> = [Option<Reset<K>>; 2];
//! # }
//! use kinglet_time::{Instant, earliest};
//!
//! static PAGE: [u8; 300] = [b'.'; 300];
//! const BLOCKS: u8 = 2; // of 2^(2 + 4) octets
//!
//! fn ask(now: Instant, client: &mut Endpoint<usize, Plan>, download: &Download) {
//!     let made = client.request(now, 1, Delivery::Confirmable, Code::GET, |request| {
//!         request.path("page")?;
//!         download.write(request)
//!     });
//!     made.unwrap(); // one at a time, and it fits
//! }
//!
//! /// What has arrived at an endpoint; whether the page is complete.
//! fn take(
//!     now: Instant, end: &mut Endpoint<usize, Plan>, from: usize, datagram: &[u8],
//!     (download, body): &mut (Download, Vec<u8>),
//! ) -> bool {
//!     match end.handle_message(now, from, datagram) {
//!         Ok(Event::Request { ticket, message }) if message.is_path("page") => {
//!             let part = Part::of(&message, PAGE.len(), BLOCKS);
//!             let code = part.err().unwrap_or(Code::CONTENT);
//!             let done = end.respond(now, ticket, code, |response| {
//!                 let Ok(part) = part else { return Ok(()) };
//!                 part.write(response)?;
//!                 response.payload(&PAGE[part.range()])
//!             });
//!             done.unwrap(); // the ticket is fresh, and it fits
//!         }
//!         Ok(Event::Request { ticket, .. }) => {
//!             end.respond(now, ticket, Code::NOT_FOUND, |_| Ok(())).unwrap();
//!         }
//!         Ok(Event::Response { message, .. }) => {
//!             let piece = download.handle(&message).unwrap();
//!             body.extend(piece.data);
//!             if piece.is_last {
//!                 return true;
//!             }
//!             ask(now, end, download);
//!         }
//!         // Acknowledgements; what has come twice. Whatever is to be answered the endpoint does.
//!         Ok(Event::Nothing) | Err(_) => {}
//!     }
//!     false
//! }
//!
//! let mut ends = [1, 2].map(|seed| Endpoint::new(CoapConfig::new(seed)));
//! let (mut now, mut sent, mut complete) = (Instant::ZERO, 0, false);
//! let mut page = (Download::new(BLOCKS), Vec::new());
//! ask(now, &mut ends[0], &page.0);
//! while !complete {
//!     // On every wake-up: what is due, what has arrived, then what is to be sent.
//!     for side in [0, 1] {
//!         if ends[side].deadline().is_some_and(|at| at <= now) {
//!             ends[side].handle_deadline(now);
//!         }
//!         let mut datagram = Vec::new();
//!         while let Some(_result) = ends[side].poll_message(now, |_peer, octets| {
//!             datagram = octets.to_vec();
//!             Ok::<(), ()>(()) // an error: it is offered again later
//!         }) {
//!             sent += 1;
//!             if sent % 3 != 0 {
//!                 complete |= take(now, &mut ends[1 - side], side, &datagram, &mut page);
//!             }
//!         }
//!     }
//!     assert_eq!(ends[0].poll_failure(), None); // a failure follows four retransmissions
//!     // Sleep until then, or until something arrives.
//!     let deadline = earliest(ends[0].deadline(), ends[1].deadline());
//!     now = deadline.map_or(now, |at| now.max(at));
//! }
//! assert_eq!(page.1, PAGE);
//! assert!(ends[0].stats().retransmissions > 0);
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `message.rs`, `option.rs` | the format: reading and writing |
//! | `exchange.rs` | a request and its response: states and stored messages |
//! | `endpoint/` | requests: `input.rs` received messages, `output.rs` sent messages |
//! | `endpoint/notify.rs` | notifications |
//! | `newest.rs` | the order of notifications |
//! | `rto.rs` | retransmission timeout |
//! | `block.rs` | bodies in blocks |
//! | `handler.rs` | the interfaces of `coap-message` and `coap-handler` |

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
mod exchange;
mod handler;
mod info;
mod message;
mod newest;
mod rto;

pub mod option;

pub use block::{
    Accepted, Block, Download, MAX_EXPONENT, Part, Piece, Reception, TransferError, Upload,
    UploadStep,
};
pub use config::{CoapConfig, Sizes};
pub use endpoint::{Delivery, Endpoint, Event, RequestError, RespondError};
pub use exchange::{Handle, PeerEstimate, Reset, Slot, Ticket};
pub use handler::ReadOption;
pub use info::{Discard, Failure, Info, Stats};
pub use kinglet_time::Expected;
pub use message::{
    Code, HEADER_LEN, Header, Kind, MAX_TOKEN, Message, Options, ParseError, Token, WriteError,
    Writer, uint,
};
pub use newest::Newest;
pub use rto::Rto;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
