//! A deterministic discrete-event simulator of IEEE 802.15.4 networks.
//!
//! | module | subject |
//! |---|---|
//! | [`world`] | the event loop, the [`Device`] trait, faults |
//! | [`medium`] | links; the effect of overlapping frames |
//! | [`profile`] | radios as data, with sources; the time of one frame by parts |
//! | [`chip`] | radio chips with their drivers in place of these radios |
//! | [`cpu`] | processors as data; the cost of frames and segments |
//! | [`energy`], [`stats`] | time and charge per state; the fate of every frame |
//! | [`trace`], [`pcap`], [`timeline`] | events of packets, captures, frame timeline |
//! | [`station`], [`wire`] | the real stack with its applications; a faulty wire to a host |
//! | [`rng`] | one root seed, one stream per (node, purpose) |
//! | [`ber`] | bit errors of O-QPSK |
//!
//! Time is integer microseconds. Events are totally ordered by (time, class, sequence), so a run is
//! a function of its configuration and its seed.
//!
//! ```
//! use kinglet_radio::{Access, Ack, Channel, Command, Event, Filter, Start};
//! use kinglet_sim::medium::{MediumConfig, Position};
//! use kinglet_sim::cpu::HostCost;
//! use kinglet_sim::profile::AT86RF233;
//! use kinglet_sim::{Device, NodeConfig, World};
//! use kinglet_time::Instant;
//!
//! /// Listens, and sends one frame if it has one.
//! struct Once { frame: Option<Vec<u8>>, sent: Vec<u8>, listening: bool, events: Vec<Event> }
//! impl Device for Once {
//!     fn handle_radio(&mut self, _: Instant, event: Event, _: &[u8]) { self.events.push(event) }
//!     fn poll_radio(&mut self, _: Instant) -> Option<(Command, &[u8])> {
//!         let (start, channel) = (Start::Asap, Channel::default());
//!         if !std::mem::replace(&mut self.listening, true) {
//!             return Some((Command::Receive { start, until: None, channel }, &[]));
//!         }
//!         self.sent = self.frame.take()?;
//!         let access = Access::Cca;
//!         let send = Command::Transmit { start, access, channel, power_dbm: 0, ack: true };
//!         Some((send, &self.sent))
//!     }
//!     fn deadline(&self) -> Option<Instant> { None }
//!     fn handle_deadline(&mut self, _: Instant) {}
//! }
//!
//! let once = |frame| Once { frame, sent: vec![], listening: false, events: vec![] };
//! let place = |short, x_m| NodeConfig {
//!     position: Position { x_m, y_m: 0.0 },
//!     filter: Filter { pan_id: 0xABCD, short, extended: [0; 8] },
//!     radio: AT86RF233,
//!     host: HostCost::NONE,
//!     drift_ppm: 0,
//!     begin_us: 0,
//!     chip: None,
//! };
//! let frame = vec![0x61, 0x88, 7, 0xCD, 0xAB, 1, 0, 0, 0];
//! let nodes = vec![(place(0, 0.0), once(None)), (place(1, 5.0), once(None))];
//! let mut world = World::new(42, &MediumConfig::unit_disc(10.0), nodes);
//! world.run_until(Instant::from_millis(1)); // both listen now
//! world.with_device(0, |device, _| device.frame = Some(frame));
//! world.run_until(Instant::from_millis(10));
//! assert!(matches!(world.device(0).events[..],
//!     [Event::Transmitted { ack: Ack::Received { .. }, .. }]));
//! assert!(matches!(world.device(1).events[..], [Event::Received { acked: true, .. }]));
//! ```
//!
//! Not modelled: signal propagation delay (0.1 us over 30 m), enhanced acknowledgements, oscillator
//! offset between symbols, and receivers that begin to listen within a preamble and still find it.

#![forbid(unsafe_code)]

pub mod app;
pub mod ber;
pub mod chip;
mod clock;
pub mod cpu;
pub mod energy;
mod engine;
mod fading;
pub mod flash;
mod frame;
pub mod interference;
pub mod ledger;
pub mod medium;
mod observe;
pub mod pcap;
pub mod place;
mod processor;
pub mod profile;
mod quality;
mod queue;
mod radio;
pub mod rng;
mod secure;
pub mod station;
pub mod stats;
pub mod timeline;
pub mod trace;
pub mod wire;
pub mod world;

pub use app::Hosted;
pub use frame::fcs;
pub use radio::NodeConfig;
pub use station::Station;
pub use wire::{SameStack, Wire, WireConfig};
pub use world::{Device, Fault, World};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
