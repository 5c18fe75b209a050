//! The radio of a process: frames as UDP datagrams, or a coprocessor.

use crate::air::{Air, Ears, Heard, Identity};
use crate::link::Link;
use crate::radio::Radio;
use core::fmt;
use kinglet_radio::{Busy, Capabilities, Command, Driver, Event, Filter, MAX_FRAME};
use kinglet_spinel::stick::StickTrouble;
use kinglet_spinel::{LineError, Stats, Stick};
use kinglet_time::{Duration, Instant};
use std::io;

/// Time within which a coprocessor answers: it restarts, at first its radio, then its processor.
const READY: Duration = Duration::from_secs(5);

/// A change of a coprocessor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// A word for it: `restarted`, `trouble`, `works`, `damaged` or `whole`.
    pub what: &'static str,
    /// A sentence about it.
    pub text: String,
}

/// Compares the state of a coprocessor with its last one.
#[derive(Debug, Default)]
pub struct Watch {
    trouble: Option<StickTrouble>,
    restarts: u64,
    line: Quality,
}

/// Period in which damaged messages are counted, their least number, and the least share of all
/// messages, as a divisor, of a line that is reported.
const COUNTED: Duration = Duration::from_secs(10);
const MANY: u64 = 5;
const SHARE: u64 = 100;

/// Messages of a line.
#[derive(Debug, Default)]
struct Quality {
    /// Begin of the period, and the counters then.
    since: Instant,
    messages: u64,
    damaged: u64,
    is_bad: bool,
}

impl Quality {
    /// Returns the change of the line, at the end of a period.
    fn change(&mut self, now: Instant, stats: &Stats) -> Option<Change> {
        if now - self.since < COUNTED {
            return None;
        }
        let damaged = stats.damaged - self.damaged;
        let all = stats.messages - self.messages + damaged;
        (self.since, self.messages, self.damaged) = (now, stats.messages, stats.damaged);
        let is_bad = damaged >= MANY && damaged * SHARE >= all;
        if core::mem::replace(&mut self.is_bad, is_bad) == is_bad {
            return None;
        }
        let text = match is_bad {
            true => format!(
                "the line to the radio damages messages, {damaged} of the last {all}; its cable or \
                 its port may be faulty, or flow=hardware may be missing"
            ),
            false => "the line to the radio is whole again".to_owned(),
        };
        Some(Change { what: if is_bad { "damaged" } else { "whole" }, text })
    }
}

impl Watch {
    /// Returns the changes since the last call.
    pub fn changes(&mut self, now: Instant, device: &Device) -> Vec<Change> {
        let Some(stick) = device.stick() else { return Vec::new() };
        let (trouble, status) = (stick.trouble(), stick.status());
        let mut changes: Vec<_> = self.line.change(now, status.stats).into_iter().collect();
        let restarts = status.stats.restarts;
        if core::mem::replace(&mut self.restarts, restarts) != restarts {
            let text = "the radio has restarted; it gets its settings again".to_owned();
            changes.push(Change { what: "restarted", text });
        }
        let (what, text) = match (&trouble, status.identity) {
            _ if trouble == self.trouble => return changes,
            (Some(trouble), _) => ("trouble", format!("the radio does not work: {trouble}")),
            (None, Some(it)) => ("works", format!("the radio works again: {}", it.version)),
            // It has not answered yet.
            (None, None) => return changes,
        };
        self.trouble = trouble;
        changes.push(Change { what, text });
        changes
    }
}

/// A radio of a process.
pub enum Device {
    /// Frames as UDP datagrams.
    Zep {
        /// The driver.
        radio: Radio,
        /// Its socket.
        air: Air,
    },
    /// A coprocessor.
    Spinel(Box<Stick>),
}

/// Reason for which a radio cannot be used.
#[derive(Debug)]
pub enum DeviceError {
    /// The error of a socket, with its address.
    Zep(io::Error),
    /// The line to a coprocessor cannot be opened.
    Line(LineError),
    /// The coprocessor does not work.
    Stick(StickTrouble),
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceError::Zep(error) => error.fmt(f),
            DeviceError::Line(error) => error.fmt(f),
            DeviceError::Stick(trouble) => trouble.fmt(f),
        }
    }
}

impl std::error::Error for DeviceError {}

impl From<io::Error> for DeviceError {
    fn from(error: io::Error) -> Self {
        DeviceError::Zep(error)
    }
}

impl Device {
    /// Opens the link to a radio, which is off then. A coprocessor has answered when this returns;
    /// `clock` is the clock of its owner. A ZEP link waits `ack_wait` for an acknowledgement after
    /// the end of its frame, and passes received items to `hear` on a thread, as [`Air::open`].
    ///
    /// # Errors
    /// [`DeviceError`]
    pub fn open(
        link: &Link,
        filter: Filter,
        ack_wait: Duration,
        clock: impl Fn() -> Instant,
        hear: impl FnMut(Heard) -> bool + Send + 'static,
    ) -> Result<Device, DeviceError> {
        match link {
            Link::Zep(ends) => {
                let ears = Ears { identity: Identity::Device(filter), channel: None };
                let air = Air::open(ends.local, ends.remote, ears, hear)?;
                Ok(Device::Zep { radio: Radio::new(air.clone(), ack_wait), air })
            }
            Link::Spinel(url) => {
                let mut stick = Stick::open(clock(), url).map_err(DeviceError::Line)?;
                stick.wait_until_ready(clock, READY).map_err(DeviceError::Stick)?;
                stick.set_filter(filter);
                Ok(Device::Spinel(Box::new(stick)))
            }
        }
    }

    /// Announces the node, once its radio listens: a dispatcher of ZEP learns of it by that.
    ///
    /// # Errors
    /// The error of the socket.
    pub fn greet(&self) -> io::Result<()> {
        match self {
            Device::Zep { air, .. } => air.greet(),
            Device::Spinel(_) => Ok(()),
        }
    }

    /// Sets the wait for acknowledgements; a coprocessor has that of the standard.
    pub fn set_ack_wait(&mut self, ack_wait: Duration) {
        match self {
            Device::Zep { radio, .. } => radio.set_ack_wait(ack_wait),
            Device::Spinel(_) => {}
        }
    }

    /// Handles an item that `hear` has got.
    pub fn hear(&mut self, heard: Heard) {
        match self {
            Device::Zep { radio, .. } => radio.hear(heard),
            Device::Spinel(_) => {}
        }
    }

    /// Returns the socket of a ZEP link, if it is one.
    pub fn air(&self) -> Option<&Air> {
        match self {
            Device::Zep { air, .. } => Some(air),
            Device::Spinel(_) => None,
        }
    }

    /// Returns the coprocessor, if it is one.
    pub fn stick(&self) -> Option<&Stick> {
        match self {
            Device::Zep { .. } => None,
            Device::Spinel(stick) => Some(stick),
        }
    }

    /// Returns the coprocessor, if it is one, to exchange octets with it.
    pub fn stick_mut(&mut self) -> Option<&mut Stick> {
        match self {
            Device::Zep { .. } => None,
            Device::Spinel(stick) => Some(stick),
        }
    }

    /// Returns the time of the next event, or of the next exchange with a coprocessor, if nothing
    /// arrives.
    pub fn deadline(&self) -> Option<Instant> {
        match self {
            Device::Zep { radio, .. } => radio.deadline(),
            Device::Spinel(stick) => stick.deadline(),
        }
    }
}

impl Driver for Device {
    fn capabilities(&self) -> Capabilities {
        match self {
            Device::Zep { radio, .. } => radio.capabilities(),
            Device::Spinel(stick) => stick.capabilities(),
        }
    }

    fn set_filter(&mut self, filter: Filter) {
        match self {
            Device::Zep { radio, .. } => radio.set_filter(filter),
            Device::Spinel(stick) => stick.set_filter(filter),
        }
    }

    fn submit(&mut self, now: Instant, command: Command, frame: &[u8]) -> Result<(), Busy> {
        match self {
            Device::Zep { radio, .. } => radio.submit(now, command, frame),
            Device::Spinel(stick) => stick.submit(now, command, frame),
        }
    }

    fn can_prepare(&self) -> bool {
        match self {
            Device::Zep { radio, .. } => radio.can_prepare(),
            Device::Spinel(stick) => stick.can_prepare(),
        }
    }

    fn prepare(&mut self, now: Instant, command: Command, frame: &[u8]) {
        match self {
            Device::Zep { radio, .. } => radio.prepare(now, command, frame),
            Device::Spinel(stick) => stick.prepare(now, command, frame),
        }
    }

    fn poll_event(&mut self, now: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event> {
        match self {
            Device::Zep { radio, .. } => radio.poll_event(now, frame),
            Device::Spinel(stick) => stick.poll_event(now, frame),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_damages_messages_is_reported_once_until_it_is_whole() {
        let mut line = Quality::default();
        let mut look = |seconds, messages, damaged| {
            let stats = Stats { messages, damaged, ..Stats::default() };
            line.change(Instant::from_secs(seconds), &stats).map(|change| change.text)
        };
        assert_eq!(look(9, 100, 50), None, "the period has not ended");
        assert_eq!(look(10, 396, 4), None, "few");
        assert_eq!(look(20, 896, 9), None, "five of 505");
        let text = look(30, 1_391, 14).unwrap();
        assert!(text.contains("damages messages, 5 of the last 500; "), "{text}");
        assert_eq!(look(40, 1_400, 100), None);
        let text = look(50, 1_500, 100);
        assert_eq!(text.as_deref(), Some("the line to the radio is whole again"));
        assert_eq!(look(60, 1_600, 100), None);
    }
}
