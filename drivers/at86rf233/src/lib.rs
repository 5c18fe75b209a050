//! A [`Driver`](kinglet_radio::Driver) of the AT86RF233, on a bus and pins of `embedded-hal` 1.0.
//!
//! **No board was at hand.** The driver has run on the model of `kinglet-chips` only, in which it
//! passes the conformance kit of `kinglet-drivers`.
//!
//! # Functions of the chip
//!
//! The chip is in its extended operating mode. RX_AACK filters and acknowledges, TX_ARET performs
//! CSMA-CA and waits for the acknowledgement: [`AUTO_ACK`], [`ACK_WAIT`] and [`CSMA`]. Retries are
//! the MAC's. The frame-pending bit is AACK_SET_PD, one for all neighbours. The chip has no timer,
//! so [`SCHEDULED`] is not declared: a frame with a schedule ends with `Missed`. The bounds of a
//! `Receive` are kept as accurately as `poll_event` is called.
//!
//! Deviations from the contract: a frame that requests an acknowledgement is waited for even if
//! `Transmit` does not ask for that, because TX_ARET reads the frame. AACK_SET_PD applies to
//! secured MAC commands of frame version 2 as well, which the chip cannot read (AT86RF231 data
//! sheet,
//! 7.2.7). Frames of version 2 pass the filter if their addressing fields are those of version 1.
//!
//! # Calls
//!
//! No call waits for the chip. A call makes at most eight steps, each with at most one frame on the
//! bus: 0.3 ms at 8 MHz. [`At86rf233::deadline`] is the time of the next call of `poll_event`, and
//! each rising edge of IRQ is another reason. [`At86rf233::handle_interrupt`] takes the time of the
//! edge, and times of SFDs are as accurate as that. They assume that an acknowledgement begins 12
//! symbols after its frame.
//!
//! # Faults
//!
//! Each wait for a state of the chip has a limit. A limit that is exceeded, an access that fails,
//! or an impossible value restarts the chip by its reset pin and configures it again. A frame that
//! has not been started is sent after the restart; one that may have been on the air ends as a
//! frame without acknowledgement. If the restart fails, it is repeated every 10 ms. IRQ_STATUS and
//! the state are read every 50 ms of reception, and every 10 ms of a transmission: so a lost
//! interrupt costs that time, and a drop of the supply is noticed.
//!
//! [`AUTO_ACK`]: kinglet_radio::Capabilities::AUTO_ACK
//! [`ACK_WAIT`]: kinglet_radio::Capabilities::ACK_WAIT
//! [`CSMA`]: kinglet_radio::Capabilities::CSMA
//! [`SCHEDULED`]: kinglet_radio::Capabilities::SCHEDULED

#![no_std]
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![deny(clippy::arithmetic_side_effects)]

mod bus;
mod frame;
mod radio;
mod registers;

pub use radio::{At86rf233, POWER_STEPS_DBM};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
