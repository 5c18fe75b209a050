//! A modelled chip with its driver in a medium outside, such as that of a simulator.
//!
//! The medium owns time: it calls [`Unit::advance`] at each [`Unit::next_at`]. It decides which
//! frames the receiver finds, whether they arrive whole, and which channels are busy. The chip
//! decides when it listens, assesses and sends.
//!
//! A call of a driver may take time on a bus. The chip is ahead of the medium then, and the driver
//! gets no other call until the medium has followed: commands and events wait. A frame that the
//! medium loses in this time is received if the chip has passed its end.

use crate::air::{SHR_US, Signal, with_fcs};
use crate::at86rf233::Shared;
use crate::bench::Hooks;
use crate::model::{Aerial, Antenna};
use crate::nrf52840::SharedSoc;
use kinglet_radio::{Busy, Command, Driver, Event, Filter, MAX_FRAME, OCTET};
use kinglet_time::{Instant, earliest};
use std::cell::RefCell;
use std::collections::VecDeque;
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
    /// Time of the medium.
    now: Instant,
    /// Commands that came during a call.
    commands: VecDeque<(Command, Vec<u8>)>,
    /// Event of a call that has not ended.
    event: Option<(Event, Vec<u8>)>,
}

impl<D: Driver> Unit<D> {
    /// Connects a driver to the AT86RF233 whose bus and pins it has.
    pub fn new(chip: Shared, driver: D, hooks: Hooks<D>) -> Unit<D> {
        Unit::of(chip, driver, hooks)
    }

    /// Connects a driver to the nRF52840 whose registers it has.
    pub fn with_soc(chip: SharedSoc, driver: D, hooks: Hooks<D>) -> Unit<D> {
        Unit::of(chip, driver, hooks)
    }

    fn of(chip: Rc<RefCell<dyn Aerial>>, driver: D, hooks: Hooks<D>) -> Unit<D> {
        chip.borrow_mut().air().set_outside(false);
        let (now, commands) = (Instant::ZERO, VecDeque::new());
        Unit { chip, driver, hooks, now, commands, event: None }
    }

    /// Sets the addresses of the driver.
    pub fn set_filter(&mut self, filter: Filter) {
        self.driver.set_filter(filter);
    }

    /// Returns the time until which a call of the driver takes, if that is in the future.
    fn busy_until(&self) -> Option<Instant> {
        let chip = Instant::from_micros(self.chip.borrow().now());
        (chip > self.now).then_some(chip)
    }

    /// Passes a command to the driver; time has to have advanced to `now`.
    ///
    /// # Errors
    /// The driver has another transmission.
    pub fn submit(&mut self, now: Instant, command: Command, frame: &[u8]) -> Result<(), Busy> {
        self.now = now;
        if self.busy_until().is_some() {
            self.commands.push_back((command, frame.to_vec()));
            return Ok(());
        }
        self.driver.submit(now, command, frame)
    }

    /// Returns the time of the next call of [`Unit::advance`]; the past for an event that waits.
    pub fn next_at(&self) -> Option<Instant> {
        if let Some(until) = self.busy_until() {
            let mut chip = self.chip.borrow_mut();
            let end = chip.air().ended_after(self.now.as_micros()).map(|(_, end)| *end);
            let begin = self.begin_of(&chip.antenna().0);
            return earliest(earliest(begin, end.map(Instant::from_micros)), Some(until));
        }
        if self.event.is_some() {
            return Some(self.now);
        }
        let chip = self.chip.borrow().next_change().map(Instant::from_micros);
        earliest(chip, (self.hooks.deadline)(&self.driver))
    }

    /// Lets chip and driver work until `now`.
    pub fn advance(&mut self, now: Instant) {
        self.now = now;
        for _ in 0..INTERRUPTS {
            if self.busy_until().is_some() {
                return;
            }
            let edge = self.chip.borrow_mut().advance_to_interrupt(now.as_micros());
            match (edge, self.commands.pop_front()) {
                (Some(at), command) => {
                    self.commands.extend(command);
                    (self.hooks.handle_interrupt)(&mut self.driver, Instant::from_micros(at));
                }
                (None, Some((command, frame))) => {
                    // The medium passes one transmission at a time, so that none is refused.
                    let _ = self.driver.submit(now, command, &frame);
                }
                (None, None) => return,
            }
        }
    }

    /// Returns the next event of the driver, if it asks for the call; the octets of a received
    /// frame are in `frame`.
    pub fn poll_event(&mut self, now: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event> {
        self.now = now;
        if self.busy_until().is_some() {
            return None;
        }
        if let Some((event, octets)) = self.event.take() {
            frame.copy_from_slice(&octets);
            return Some(event);
        }
        let is_due = (self.hooks.deadline)(&self.driver).is_some_and(|at| at <= now);
        let event = is_due.then(|| self.driver.poll_event(now, frame)).flatten();
        if self.busy_until().is_some() {
            self.event = event.map(|event| (event, frame.to_vec()));
            return None;
        }
        event
    }

    /// Returns what the chip does with its antenna, and the number of its channel.
    pub fn antenna(&self) -> (Antenna, u8) {
        let mut chip = self.chip.borrow_mut();
        if let Some((sent, _)) = chip.air().ended_after(self.now.as_micros()) {
            return (Antenna::sends(sent), sent.channel);
        }
        let (antenna, channel) = chip.antenna();
        match self.begin_of(&antenna) {
            Some(_) => {
                (Antenna::Ramp { sends: matches!(antenna, Antenna::Sending { .. }) }, channel)
            }
            None => (antenna, channel),
        }
    }

    /// Returns the time at which the chip begins with this, if that is in the future.
    fn begin_of(&self, antenna: &Antenna) -> Option<Instant> {
        let from = match antenna {
            Antenna::Listening { from } | Antenna::Sending { from, .. } => *from,
            Antenna::Assessing { from } => *from,
            _ => return None,
        };
        Some(Instant::from_micros(from)).filter(|from| *from > self.now)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bus, Chip};
    use embedded_hal::spi::{Operation, SpiDevice};
    use kinglet_radio::Capabilities;

    /// Reads a hundred octets in each call of `poll_event`, and reports a busy channel.
    struct Slow {
        bus: Bus,
        submitted: Vec<Instant>,
    }

    impl Driver for Slow {
        fn capabilities(&self) -> Capabilities {
            Capabilities::NONE
        }

        fn set_filter(&mut self, _: Filter) {}

        fn submit(&mut self, now: Instant, _: Command, _: &[u8]) -> Result<(), Busy> {
            self.submitted.push(now);
            Ok(())
        }

        fn poll_event(&mut self, _: Instant, _: &mut [u8; MAX_FRAME]) -> Option<Event> {
            let mut octets = [0; 100];
            let mut read = [Operation::Write(&[0x20]), Operation::Read(&mut octets)];
            self.bus.transaction(&mut read).expect("the bus works");
            Some(Event::ChannelBusy)
        }
    }

    #[test]
    fn events_and_commands_wait_for_the_end_of_a_call() {
        let chip = Chip::new(1, 8);
        let driver = Slow { bus: Bus::new(&chip), submitted: Vec::new() };
        let hooks = Hooks { handle_interrupt: |_, _| (), deadline: |_| Some(Instant::ZERO) };
        let mut unit = Unit::new(chip, driver, hooks);
        let (begin, mut frame) = (Instant::from_micros(1_000), [0; MAX_FRAME]);
        unit.advance(begin);
        assert_eq!(unit.poll_event(begin, &mut frame), None);
        let end = unit.next_at().expect("the end of the call");
        assert!(end >= begin + OCTET * 3, "{end:?}");
        unit.submit(begin, Command::Off, &[]).expect("it waits");
        unit.advance(end - OCTET);
        assert!(unit.driver.submitted.is_empty());
        unit.advance(end);
        assert_eq!(unit.driver.submitted, [end]);
        assert_eq!(unit.next_at(), Some(end));
        assert_eq!(unit.poll_event(end, &mut frame), Some(Event::ChannelBusy));
    }
}
