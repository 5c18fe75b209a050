//! A [`Driver`](kinglet_radio::Driver) of the radio of the nRF52840, at the level of its registers.
//!
//! **No board was at hand.** The driver has run on the model of `kinglet-chips` only, in which it
//! passes the conformance kit of `kinglet-drivers`. The driver accesses registers and buffers
//! through the trait [`Hardware`]. [`Mmio`] is the chip itself, and the model is another one.
//!
//! # Functions
//!
//! The radio filters, acknowledges and waits for acknowledgements ([`AUTO_ACK`], [`ACK_WAIT`]): the
//! filter runs in [`Nrf52840::handle_interrupt`], and a compare event of TIMER0 starts the
//! acknowledgement through the PPI, 12 symbols after the frame. The same timer keeps schedules
//! ([`SCHEDULED`]), to a microsecond. Frame-pending bits belong to source addresses
//! ([`SOURCE_MATCH`], eight of them; more than that count as not pending). CSMA-CA, `Sense`,
//! `Strobe` and security are the MAC's.
//!
//! The channel is assessed by energy, with a threshold of -75 dBm. Two received frames fit into
//! the buffers; the radio does not listen while both are full. A reception that has passed its SFD
//! is finished before a command takes effect. A data request from an extended address has the
//! frame-pending bit zero.
//!
//! # Calls and faults
//!
//! The interrupts of RADIO, TIMER0 and CLOCK call [`Nrf52840::handle_interrupt`]. If that comes
//! later than 129 us after the end of a frame, the frame is not acknowledged, and reported so.
//! [`Nrf52840::deadline`] is the time of the next call of `poll_event`. The driver looks for lost
//! interrupts every 10 ms of a transmission and every 50 ms of reception.
//!
//! [`AUTO_ACK`]: kinglet_radio::Capabilities::AUTO_ACK
//! [`ACK_WAIT`]: kinglet_radio::Capabilities::ACK_WAIT
//! [`SCHEDULED`]: kinglet_radio::Capabilities::SCHEDULED
//! [`SOURCE_MATCH`]: kinglet_radio::Capabilities::SOURCE_MATCH

#![no_std]
#![deny(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]

mod frame;
mod hardware;
#[allow(unsafe_code, reason = "registers and the memory of EasyDMA are raw addresses")]
mod mmio;
mod radio;
mod registers;

pub use hardware::{Buffer, Hardware};
pub use mmio::{Buffers, Mmio};
pub use radio::{Nrf52840, POWER_STEPS_DBM};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
