//! A bench with a modelled chip.

use crate::air::{Answer as AirAnswer, SHR_US, Signal as AirSignal, with_fcs};
use crate::at86rf233::Shared;
use crate::coprocessor::SharedCoprocessor;
use crate::model::Model;
use crate::nrf52840::SharedSoc;
use kinglet_drivers::{Answer, Bench, Fault, Sent, Signal};
use kinglet_radio::{Channel, Driver, FCS_LEN, MAX_FRAME};
use kinglet_time::Instant;
use kinglet_wire::ieee802154::fcs_is_right;
use std::cell::RefCell;
use std::rc::Rc;

/// Calls of a driver that the contract does not have.
#[derive(Clone, Copy, Debug)]
pub struct Hooks<D> {
    /// Notes a rising edge of the interrupt line, or the arrival of octets.
    pub handle_interrupt: fn(&mut D, Instant),
    /// Returns the latest time of the next `poll_event`.
    pub deadline: fn(&D) -> Option<Instant>,
}

/// A chip, its driver and its air.
pub struct Board<D> {
    chip: Rc<RefCell<dyn Model>>,
    driver: D,
    hooks: Hooks<D>,
}

impl<D: Driver> Board<D> {
    /// Connects a driver to the AT86RF233 whose bus and pins it has.
    pub fn new(chip: Shared, driver: D, hooks: Hooks<D>) -> Board<D> {
        Board { chip, driver, hooks }
    }

    /// Connects a driver to the nRF52840 whose registers it has.
    pub fn with_soc(chip: SharedSoc, driver: D, hooks: Hooks<D>) -> Board<D> {
        Board { chip, driver, hooks }
    }

    /// Connects a driver to the coprocessor at the end of its line.
    pub fn with_coprocessor(chip: SharedCoprocessor, driver: D, hooks: Hooks<D>) -> Board<D> {
        Board { chip, driver, hooks }
    }

    /// Lets time pass until `until`, or to the next edge of the interrupt line.
    fn advance(&mut self, until: Instant) -> bool {
        let edge = self.chip.borrow_mut().advance_to_interrupt(until.as_micros());
        if let Some(at) = edge {
            (self.hooks.handle_interrupt)(&mut self.driver, Instant::from_micros(at));
        }
        edge.is_some()
    }
}

impl<D: Driver> Bench for Board<D> {
    type Radio = D;

    fn now(&self) -> Instant {
        Instant::from_micros(self.chip.borrow().now())
    }

    fn radio(&mut self) -> &mut D {
        &mut self.driver
    }

    fn wait(&mut self, until: Instant) {
        let deadline = (self.hooks.deadline)(&self.driver);
        self.advance(deadline.map_or(until, |at| at.min(until)));
    }

    fn pass(&mut self, until: Instant) {
        while self.now() < until {
            self.advance(until);
        }
    }

    fn put_on_air(&mut self, signal: Signal<'_>) {
        let mut psdu = with_fcs(signal.frame);
        if !signal.intact
            && let Some(last) = psdu.last_mut()
        {
            *last ^= 0x55;
        }
        let preamble_at = signal.sfd.as_micros() - SHR_US;
        let channel = signal.channel.number();
        let rssi_dbm = signal.rssi_dbm;
        self.chip.borrow_mut().air().put(AirSignal { preamble_at, channel, psdu, rssi_dbm });
    }

    fn disturb(&mut self, channel: Channel, from: Instant, until: Instant, dbm: i8) {
        let (from, until) = (from.as_micros(), until.as_micros());
        self.chip.borrow_mut().air().disturb(channel.number(), from, until, dbm);
    }

    fn set_answer(&mut self, answer: Option<Answer>) {
        self.chip.borrow_mut().air().answer = answer.map(|answer| AirAnswer {
            pending: answer.pending,
            late_us: answer.late.as_micros(),
            is_strange: answer.is_strange,
            intact: answer.intact,
            is_second: answer.is_second,
        });
    }

    fn sent(&mut self, frame: &mut [u8; MAX_FRAME]) -> Option<Sent> {
        let sent = self.chip.borrow_mut().air().take_sent()?;
        let len = sent.psdu.len().saturating_sub(FCS_LEN);
        frame[..len].copy_from_slice(&sent.psdu[..len]);
        Some(Sent {
            sfd: Instant::from_micros(sent.preamble_at + SHR_US),
            channel: Channel::new(sent.channel).unwrap_or_default(),
            len: len as u8,
            power_dbm: sent.power_dbm,
            whole: sent.whole && fcs_is_right(&sent.psdu),
        })
    }

    fn cause(&mut self, fault: Fault) -> bool {
        self.chip.borrow_mut().cause(fault)
    }

    fn is_asleep(&self) -> Option<bool> {
        Some(self.chip.borrow().is_asleep())
    }

    fn misuse(&mut self) -> Option<&'static str> {
        self.chip.borrow_mut().misuse()
    }
}
