//! A radio at the other end of the board's serial line, provided by `kinglet gateway --serial`.

use crate::board::Line;
use kinglet::radio::serial::{Receiver, Request, parse_event};
use kinglet::radio::{Busy, Capabilities, Command, Driver, Event, Filter, MAX_FRAME};
use kinglet::time::Instant;

/// The line, and the state of the radio.
pub struct SerialRadio {
    pub line: Line,
    receiver: Receiver,
    /// True if a transmission is outstanding.
    sending: bool,
    /// Number of the last transmission.
    number: u8,
    /// True if the radio samples the channel and repeats frames by itself. Such a radio is on the
    /// board itself: the line has no messages for this, because repetitions begin at given times.
    pub strobes: bool,
}

impl SerialRadio {
    pub fn new(line: Line) -> Self {
        SerialRadio { line, receiver: Receiver::new(), sending: false, number: 0, strobes: false }
    }
}

impl Driver for SerialRadio {
    fn capabilities(&self) -> Capabilities {
        let does = Capabilities::AUTO_ACK | Capabilities::ACK_WAIT | Capabilities::CSMA;
        let wakes = Capabilities::SENSES | Capabilities::STROBES | Capabilities::SCHEDULED;
        if self.strobes { does | wakes } else { does }
    }

    fn set_filter(&mut self, filter: Filter) {
        Request::Filter(filter).send(|octet| self.line.write(octet));
    }

    fn submit(&mut self, _: Instant, command: Command, frame: &[u8]) -> Result<(), Busy> {
        match command {
            Command::Transmit { .. } if self.sending => return Err(Busy),
            Command::Transmit { .. } => {
                self.sending = true;
                self.number = self.number.wrapping_add(1);
            }
            Command::Reset => self.sending = false,
            _ => {}
        }
        let request = Request::Command { command, number: self.number, frame };
        request.send(|octet| self.line.write(octet));
        Ok(())
    }

    fn poll_event(&mut self, now: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event> {
        // As many octets as the line has: the next ones may be the rest of an event.
        while let Some(octet) = self.line.read() {
            let message = self.receiver.push(octet);
            let Some((event, number, octets)) = message.and_then(|m| parse_event(now, m)) else {
                continue;
            };
            if !matches!(event, Event::Received { .. }) {
                if !self.sending || number != self.number {
                    // The event has crossed the reset of its transmission on the line.
                    continue;
                }
                self.sending = false;
            }
            frame.iter_mut().zip(octets).for_each(|(to, from)| *to = *from);
            return Some(event);
        }
        None
    }
}
