//! The IEEE 802.15.4 MAC without I/O: a device in a beaconless PAN, always on or duty-cycled.
//!
//! * Unslotted CSMA-CA (IEEE 802.15.4-2015, 6.2.5.1), in software, where the radio receives during
//!   backoff, or in hardware, where it may not ("deaf listening", TCPlp §4.2). The backoff is a
//!   type of the memory plan ([`Backoff`]): the standard's, or TinyOS's.
//! * Interframe spacing (6.2.4).
//! * Acknowledgements and retries (6.7.4), with a random delay between link retries against hidden
//!   terminals (TCPlp §7.1).
//! * Indirect transmission (6.7.3): a leaf whose radio is off fetches its frames from its parent by
//!   data requests ([`Mac::request_data`]), and the parent answers before it does anything else
//!   ([`Mac::set_pending`], [`Class::Indirect`]).
//! * Address filter and duplicate rejection (6.7.2, 6.7.4).
//! * Link security with one key for all ([`Security`]) and replay protection (9.2), by a chosen
//!   cipher, by the radio, or none ([`LinkSecurity`]).
//! * Coordinated sampled listening (6.12.2; [`Csl`]).
//! * ContikiMAC with bursts, for networks in which all nodes sleep ([`Mac::set_wake`]).
//! * Control of the receiver, and delivery to devices whose radio is off, as types of the memory
//!   plan ([`Listening`], [`DeliveryMethod`]).
//! * Per-neighbour link statistics, ETX in the unit of RFC 6551 §4.3.2.
//!
//! The MAC leaves to the chip the functions that it has
//! ([`Capabilities`](kinglet_radio::Capabilities)), and does the rest in software. Not implemented:
//! beacons and other MAC commands, which are counted and dropped; enhanced acknowledgements: every
//! frame gets an immediate one, also frames of version 2.
//!
//! The canonical loop: pass every radio event to [`Mac::handle_radio`]; when [`Mac::deadline`] has
//! come, call [`Mac::handle_deadline`]; after either, drain [`Mac::poll_radio`],
//! [`Mac::poll_outcome`] and, on a leaf, [`Mac::poll_data_request`].
//!
//! ```
//! use kinglet_mac::{AlwaysOn, Class, Exponential, Mac, MacConfig, Neighbour, Sizes, Slot, Token};
//! use kinglet_mac::TxRequest;
//! use kinglet_radio::{Capabilities, Command};
//! use kinglet_time::Instant;
//! use kinglet_wire::ieee802154::Address;
//!
//! struct Plan;
//! impl Sizes for Plan {
//!     type Queue = [Slot; 4];
//!     type Neighbours = [Neighbour; 4];
//!     type Listening = AlwaysOn;
//!     type DeliveryMethod = ();
//!     type Security = ();
//!     type Backoff = Exponential;
//! }
//!
//! let capabilities = Capabilities::AUTO_ACK | Capabilities::ACK_WAIT;
//! let config = MacConfig { short: 1, ..MacConfig::DEFAULT }.unsecured();
//! let mut mac: Mac<Plan> = Mac::new(config, capabilities, 42);
//! let listen = mac.poll_radio(Instant::ZERO).map(|submission| submission.command);
//! assert!(matches!(listen, Some(Command::Receive { .. })));
//!
//! let (dst, token) = (Address::Short(2), Token(7));
//! let request = TxRequest { dst, ack: true, token, class: Class::Data, frame_pending: false };
//! mac.enqueue(Instant::ZERO, request, |room| {
//!     room[..5].copy_from_slice(b"hello");
//!     5
//! })
//! .unwrap();
//! let now = mac.deadline().unwrap_or(Instant::ZERO); // the end of the random backoff
//! mac.handle_deadline(now);
//! let submission = mac.poll_radio(now).unwrap();
//! assert!(matches!(submission.command, Command::Transmit { ack: true, .. }));
//! assert!(submission.frame.ends_with(b"hello"));
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `mac/` | the engine: [`Mac`] and its plan [`Sizes`]; all other files are independent of it |
//! | `mac/receive.rs`, `acknowledge.rs` | reception |
//! | `mac/transmit.rs`, `spacing.rs` | transmission |
//! | `mac/strobe.rs` | transmission to nodes that sleep |
//! | `mac/secure.rs` | securing and opening frames |
//! | `listening.rs`: `polled.rs`, `sampled.rs`, `waking.rs` | control of the receiver |
//! | `delivery_method.rs`: `sleepers.rs`, `samples.rs` | delivery to devices whose radio is off |
//! | `strobing.rs` | delivery to devices that wake by themselves |
//! | `sharing.rs` | wake-up periods left to other devices |
//! | `security.rs`: `ccm.rs`, `cipher.rs`, `replay.rs` | link security |
//! | `queue.rs`, `link.rs`, `duplicates.rs` | frames and neighbours |
//! | `csma.rs` | backoff before the channel is assessed |
//! | `retry.rs`, `csl.rs`, `wake.rs`, `air.rs` | calculations |

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]
#![cfg_attr(test, allow(clippy::arithmetic_side_effects, reason = "tests compute with constants"))]

#[cfg(test)]
extern crate std;

mod air;
mod ccm;
mod cipher;
mod config;
mod csl;
mod csma;
mod delivery_method;
mod duplicates;
mod level;
mod link;
mod listening;
mod mac;
mod plain;
mod polled;
mod queue;
mod replay;
mod retry;
mod rhythm;
mod sampled;
mod samples;
mod security;
mod sharing;
mod sleepers;
mod stats;
mod strobing;
#[cfg(test)]
mod tests;
mod wake;
mod waking;

pub use cipher::{Block, BlockCipher, Sliced, Tabled};
pub use config::{ConfigError, Csma, MacConfig};
pub use csl::Csl;
pub use csma::{Backoff, Exponential, TinyOs};
pub use delivery_method::{DeliveryMethod, Indirect, SendTiming, Strobe, StrobeEnd, TableFull};
pub use kinglet_radio::Key;
pub use kinglet_random::Random;
pub use link::{Link, Neighbour};
pub use listening::{AlwaysOn, DataRequestOutcome, Listening};
pub use mac::strobe::CannotWake;
pub use mac::{Indication, Info, KeyOf, Mac, RadioUse, Sizes, Submission};
pub use polled::Polled;
pub use queue::{Class, Delivery, Outcome, QueueFull, Slot, Token, TxRequest, TxState};
pub use replay::PeerCounter;
pub use sampled::Sampled;
pub use samples::Samples;
pub use security::{ByRadio, CcmStar, LinkSecurity, Runs, Security};
pub use sleepers::{Schedule, Sleeper, Sleepers};
pub use stats::{Discard, Stats, StrobeStats, WakeStats};
pub use strobing::{Strobed, Strobing};
pub use wake::{Admission, Wake};
pub use waking::Waking;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
