//! A coprocessor at its line, as a driver for a loop that waits with `poll`.
//!
//! The loop waits for octets of [`Stick::fd`], for space there if [`Stick::wants_write`], and until
//! [`Stick::deadline`]; then it calls [`Stick::exchange`], and after that drives the node.

use crate::identity::Identity;
use crate::line::{Line, LineError};
use crate::rcp::{Rcp, Stats};
use crate::url::Url;
use core::fmt;
use kinglet_radio::{Busy, Capabilities, Command, Driver, Event, Filter, MAX_FRAME};
use kinglet_time::{Duration, Instant, earliest};
use std::os::fd::BorrowedFd;

/// Period with which a line that is gone is opened again.
const REOPEN: Duration = Duration::from_millis(500);
/// Octets of one read, and most reads of one call.
const CHUNK: usize = 4_096;
const READS: usize = 16;

/// A coprocessor, its line and its driver.
#[derive(Debug)]
pub struct Stick {
    url: Url,
    rcp: Rcp,
    line: Result<Line, LineError>,
    /// Time at which the line is opened again, if it is gone.
    reopen_at: Instant,
    /// Number of times that it was opened again.
    reopened: u64,
}

/// State of a stick, for its operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StickStatus<'a> {
    /// Properties of the coprocessor, if it is ready.
    pub identity: Option<&'a Identity>,
    /// Counters of the driver.
    pub stats: &'a Stats,
    /// Number of times that the line was opened again.
    pub reopened: u64,
}

/// Reason for which a stick does not work, as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StickTrouble(String);

impl fmt::Display for StickTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Stick {
    /// Opens the line. The coprocessor identifies itself later, during [`Stick::exchange`].
    ///
    /// # Errors
    /// [`LineError`]
    pub fn open(now: Instant, url: &Url) -> Result<Stick, LineError> {
        let line = Ok(Line::open(url)?);
        let rcp = Rcp::new(now, url.baud());
        let mut stick = Stick { url: url.clone(), rcp, line, reopen_at: now, reopened: 0 };
        stick.flush(now);
        Ok(stick)
    }

    /// Reads what has come and writes what waits; opens a line again that is gone.
    pub fn exchange(&mut self, now: Instant) {
        if self.line.is_err() && self.reopen_at <= now {
            self.reopen_at = now + REOPEN;
            self.line = Line::open(&self.url);
            if self.line.is_ok() {
                self.reopened += 1;
                self.rcp.restart(now);
            }
        }
        let mut octets = [0; CHUNK];
        for _ in 0..READS {
            let Ok(line) = &self.line else { break };
            match line.read(&mut octets) {
                Ok(Some(len)) => {
                    self.rcp.handle_octets(now, octets.get(..len).unwrap_or_default());
                }
                Ok(None) => break,
                Err(error) => self.lose(now, error),
            }
        }
        self.rcp.handle_deadline(now);
        self.flush(now);
    }

    fn lose(&mut self, now: Instant, error: LineError) {
        self.line = Err(error);
        self.reopen_at = now + REOPEN;
    }

    fn flush(&mut self, now: Instant) {
        while !self.rcp.octets().is_empty() {
            match self.line.as_ref().map(|line| line.write(self.rcp.octets())) {
                Ok(Ok(0)) => return,
                Ok(Ok(len)) => self.rcp.consume(len),
                Ok(Err(error)) => self.lose(now, error),
                // They are for a coprocessor that is gone.
                Err(_) => self.rcp.consume(usize::MAX),
            }
        }
    }

    /// Returns the descriptor of the line; `None` while it is gone.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.line.as_ref().ok().map(Line::fd)
    }

    /// Returns whether octets wait for space on the line.
    pub fn wants_write(&self) -> bool {
        !self.rcp.octets().is_empty()
    }

    /// Returns the latest time of the next call of [`Stick::exchange`].
    pub fn deadline(&self) -> Option<Instant> {
        earliest(self.rcp.deadline(), self.line.as_ref().err().map(|_| self.reopen_at))
    }

    /// Returns the reason for which the radio does not work, if there is one.
    pub fn trouble(&self) -> Option<StickTrouble> {
        let place = |trouble: &dyn fmt::Display| match &self.url {
            Url::Serial { path, baud, .. } => {
                StickTrouble(format!("{} at {baud} bits a second: {trouble}", path.display()))
            }
            Url::Exec { program, .. } => StickTrouble(format!("{}: {trouble}", program.display())),
        };
        match &self.line {
            Err(error) => Some(StickTrouble(error.to_string())),
            Ok(_) => self.rcp.trouble().map(|trouble| place(trouble)),
        }
    }

    /// Returns the EUI-64 of the coprocessor, most significant octet first; `None` before it has
    /// identified itself.
    pub fn eui64(&self) -> Option<[u8; 8]> {
        self.rcp.identity().map(|identity| identity.eui64)
    }

    /// Returns the state.
    pub fn status(&self) -> StickStatus<'_> {
        let identity = self.rcp.identity().filter(|_| self.line.is_ok());
        StickStatus { identity, stats: self.rcp.stats(), reopened: self.reopened }
    }
}

impl Driver for Stick {
    fn capabilities(&self) -> Capabilities {
        self.rcp.capabilities()
    }

    fn set_filter(&mut self, filter: Filter) {
        self.rcp.set_filter(filter);
    }

    fn submit(&mut self, now: Instant, command: Command, frame: &[u8]) -> Result<(), Busy> {
        let result = self.rcp.submit(now, command, frame);
        self.flush(now);
        result
    }

    fn can_prepare(&self) -> bool {
        self.rcp.can_prepare()
    }

    fn prepare(&mut self, now: Instant, command: Command, frame: &[u8]) {
        self.rcp.prepare(now, command, frame);
        self.flush(now);
    }

    fn poll_event(&mut self, now: Instant, frame: &mut [u8; MAX_FRAME]) -> Option<Event> {
        let event = self.rcp.poll_event(now, frame);
        self.flush(now);
        event
    }
}
