//! The pins /RST, SLP_TR and IRQ.

use super::registers::{command, time};
use super::{Chip, Shared, State};
use core::convert::Infallible;
use embedded_hal::digital::{ErrorType, InputPin, OutputPin};
use std::rc::Rc;

/// Shortest reset pulse: 625 ns (231, 12.4), in whole microseconds.
const RESET_PULSE_US: u64 = 1;

/// The pin /RST.
pub struct Reset(Shared);
/// The pin SLP_TR.
pub struct SleepTransmit(Shared);
/// The pin IRQ.
pub struct Interrupt(Shared);

impl Reset {
    /// Returns the pin of this chip.
    pub fn new(chip: &Shared) -> Reset {
        Reset(Rc::clone(chip))
    }
}

impl SleepTransmit {
    /// Returns the pin of this chip.
    pub fn new(chip: &Shared) -> SleepTransmit {
        SleepTransmit(Rc::clone(chip))
    }
}

impl Interrupt {
    /// Returns the pin of this chip.
    pub fn new(chip: &Shared) -> Interrupt {
        Interrupt(Rc::clone(chip))
    }
}

impl ErrorType for Reset {
    type Error = Infallible;
}

impl ErrorType for SleepTransmit {
    type Error = Infallible;
}

impl ErrorType for Interrupt {
    type Error = Infallible;
}

impl OutputPin for Reset {
    fn set_low(&mut self) -> Result<(), Infallible> {
        let mut chip = self.0.borrow_mut();
        chip.reset_from = Some(chip.now);
        chip.abort();
        if !matches!(chip.state, State::PowerOn | State::Sleep) {
            chip.state = State::TrxOff;
        }
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        self.0.borrow_mut().end_reset();
        Ok(())
    }
}

impl OutputPin for SleepTransmit {
    fn set_low(&mut self) -> Result<(), Infallible> {
        let mut chip = self.0.borrow_mut();
        chip.slp_tr = false;
        if chip.state == State::Sleep && chip.reset_from.is_none() {
            let wake = chip.between(time::WAKE);
            chip.transition = Some((State::TrxOff, chip.now + wake));
        }
        Ok(())
    }

    fn set_high(&mut self) -> Result<(), Infallible> {
        let mut chip = self.0.borrow_mut();
        let rises = !core::mem::replace(&mut chip.slp_tr, true);
        if rises && !chip.hangs {
            chip.handle_slp_tr();
        }
        Ok(())
    }
}

impl InputPin for Interrupt {
    fn is_high(&mut self) -> Result<bool, Infallible> {
        Ok(self.0.borrow().irq_line)
    }

    fn is_low(&mut self) -> Result<bool, Infallible> {
        Ok(!self.0.borrow().irq_line)
    }
}

impl Chip {
    fn end_reset(&mut self) {
        let Some(from) = self.reset_from.take() else { return };
        if self.now < from + RESET_PULSE_US {
            self.note_misuse("a reset pulse that is too short");
            return;
        }
        self.set_reset_values();
        self.hangs = false;
        match self.state {
            // A chip that has just been powered on stays in this state.
            State::PowerOn => {}
            State::Sleep => {
                let wake = self.between(time::WAKE);
                self.transition = Some((State::TrxOff, self.now + wake));
            }
            _ => {
                let reset = self.between(time::RESET);
                self.transition = Some((State::TrxOff, self.now + reset));
            }
        }
    }

    /// Handles a rising edge of SLP_TR (231, 6.5).
    fn handle_slp_tr(&mut self) {
        match self.state {
            _ if self.transition.is_some() => {
                self.note_misuse("an edge of SLP_TR during a state transition");
            }
            State::TrxOff => {
                self.enter(State::Sleep);
                // The frame buffer has no power.
                self.buffer.fill(0);
                self.raised.clear();
            }
            State::TxAretOn => self.execute(command::TX_START),
            _ => self.note_misuse("an edge of SLP_TR"),
        }
    }
}
