//! A modelled chip with its driver in a medium outside, such as that of a simulator.
//!
//! The medium owns time: it calls [`Unit::advance`] at each [`Unit::next_at`]. It decides which
//! frames the receiver finds, whether they arrive whole, and which channels are busy. The chip
//! decides when it listens, assesses and sends.

use crate::air::{SHR_US, Signal, with_fcs};
use crate::bench::Hooks;
use crate::model::{Aerial, Antenna, Model};
use crate::nrf52840::SharedSoc;
use kinglet_radio::{Busy, Command, Driver, Event, Filter, MAX_FRAME, OCTET};
use kinglet_time::{Instant, earliest};
use std::cell::RefCell;
use std::rc::Rc;

/// Interrupts of a chip at one instant; more indicate a bug of model or driver.
const INTERRUPTS: usize = 64;

/// A frame that the receiver follows from its preamble on.
#[derive(Clone, Copy, Debug)]
pub struct Heard<'a> {
    /// Start of the preamble.
    pub begin: Instant,
    /// Number of its channel.
    pub channel: u8,
    /// Its octets without FCS, 1 to [`MAX_FRAME`].
    pub frame: &'a [u8],
    /// Its strength in dBm.
    pub rssi_dbm: i8,
}

/// A chip and its driver.
pub struct Unit<D> {
    chip: Rc<RefCell<dyn Aerial>>,
    driver: D,
    hooks: Hooks<D>,
}

impl<D: Driver> Unit<D> {
    /// Connects a driver to the nRF52840 whose registers it has.
    pub fn with_soc(chip: SharedSoc, driver: D, hooks: Hooks<D>) -> Unit<D> {
        chip.borrow_mut().air().set_outside(false);
        Unit { chip, driver, hooks }
    }

    /// Sets the addresses of the driver.
    pub fn set_filter(&mut self, filter: Filter) {
        self.driver.set_filter(filter);
    }

    /// Passes a command to the driver; time has to have advanced to `now`.
    ///
    /// # Errors
    /// The driver has another transmission.
    pub fn submit(&mut self, now: Instant, command: Command, frame: &[u8]) -> Result<(), Busy> {
        self.driver.submit(now, command, frame)
    }

    /// Returns the time of the next call of [`Unit::advance`]; the past for an event that waits.
    pub fn next_at(&self) -> Option<Instant> {
        let chip = self.chip.borrow().next_change().map(Instant::from_micros);
        earliest(chip, (self.hooks.deadline)(&self.driver))
    }

    /// Lets chip and driver work until `now`.
    pub fn advance(&mut self, now: Instant) {
        for _ in 0..INTERRUPTS {
            let edge = self.chip.borrow_mut().advance_to_interrupt(now.as_micros());
            let Some(at) = edge else { return };
            (self.hooks.handle_interrupt)(&mut self.driver, Instant::from_micros(at));
        }
    }

    /// Returns the next event of the driver, if it asks for the call; the octets of a received
    /// frame are in `frame`.
    pub fn poll_event(&mut self, now: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event> {
        let is_due = (self.hooks.deadline)(&self.driver).is_some_and(|at| at <= now);
        is_due.then(|| self.driver.poll_event(now, frame)).flatten()
    }

    /// Returns what the chip does with its antenna, and the number of its channel.
    pub fn antenna(&self) -> (Antenna, u8) {
        self.chip.borrow().antenna()
    }

    /// Reports a frame that begins now while the chip listens, or that began before and that the
    /// receiver follows from now on.
    pub fn hear(&mut self, heard: Heard<'_>) {
        let Heard { begin, channel, frame, rssi_dbm } = heard;
        let (preamble_at, psdu) = (begin.as_micros(), with_fcs(frame));
        let mut chip = self.chip.borrow_mut();
        chip.air().put(Signal { preamble_at, channel, psdu, rssi_dbm });
    }

    /// Reports that a frame is lost at this receiver: it has not found the SFD, or finds a wrong
    /// FCS at the end.
    pub fn lose(&mut self, begin: Instant) {
        let mut chip = self.chip.borrow_mut();
        let now = chip.now();
        chip.air().lose(now, begin.as_micros());
    }

    /// Reports the state of the channel, for the assessment that ends next.
    pub fn set_busy(&mut self, busy: bool) {
        self.chip.borrow_mut().air().set_outside(busy);
    }

    /// Returns something that the driver did since the last call and that the data sheet of the
    /// chip forbids.
    pub fn misuse(&mut self) -> Option<&'static str> {
        self.chip.borrow_mut().misuse()
    }
}

// A frame is found at the end of its SFD: four octets of preamble and one.
const _: () = assert!(SHR_US == 5 * OCTET.as_micros());
