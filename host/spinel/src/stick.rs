//! A coprocessor at its line, as a driver for a loop that waits with `poll`.
//!
//! The loop waits for octets of [`Stick::fd`], for space there if [`Stick::wants_write`], and until
//! [`Stick::deadline`]; then it calls [`Stick::exchange`], and after that drives the node.

use crate::identity::Identity;
use crate::line::{Line, LineError};
use crate::rcp::{Rcp, Stats, Trouble};
use crate::url::Url;
use core::fmt;
use kinglet_radio::{Busy, Capabilities, Command, Driver, Event, Filter, MAX_FRAME};
use kinglet_time::{Duration, Instant, earliest};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::BorrowedFd;

/// Period with which a line that is gone is opened again.
const REOPEN: Duration = Duration::from_millis(500);
/// Limits of one wait for the line: a reopened one may be ready at once.
const MIN_WAIT: Duration = Duration::from_millis(1);
const MAX_WAIT: Duration = Duration::from_millis(500);
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

    /// Waits until the coprocessor has identified itself, at most until `limit` has passed on the
    /// clock of the owner.
    ///
    /// # Errors
    /// It cannot be used, or has not answered; with the reason.
    pub fn wait_until_ready(
        &mut self,
        clock: impl Fn() -> Instant,
        limit: Duration,
    ) -> Result<(), StickTrouble> {
        let until = clock() + limit;
        loop {
            let now = clock();
            self.exchange(now);
            if self.status().identity.is_some() {
                return Ok(());
            }
            let is_refused = matches!(self.rcp.trouble(), Some(Trouble::Refused(_)));
            if is_refused || now >= until {
                let damaged = self.rcp.stats().damaged;
                let unknown = || {
                    let what =
                        format!("it is not identified; {damaged} of its messages are damaged");
                    self.at_place(&what)
                };
                return Err(self.trouble().unwrap_or_else(unknown));
            }
            self.wait(now, earliest(self.deadline(), Some(until)).unwrap_or(until));
        }
    }

    /// Waits for the line until then.
    fn wait(&self, now: Instant, until: Instant) {
        let micros = (until - now).as_micros().clamp(MIN_WAIT.as_micros(), MAX_WAIT.as_micros());
        let time = Timespec { tv_sec: 0, tv_nsec: (micros * 1_000) as _ };
        let writes = if self.wants_write() { PollFlags::OUT } else { PollFlags::empty() };
        let fd = self.fd().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN | writes));
        // A signal only ends the wait early.
        let _ = poll(&mut fd.into_iter().collect::<Vec<_>>(), Some(&time));
    }

    /// Reads what has come and writes what waits; opens a line again that is gone. Returns true if
    /// octets may be left on the line, because one call reads at most 64 KiB.
    pub fn exchange(&mut self, now: Instant) -> bool {
        if self.line.is_err() && self.reopen_at <= now {
            self.reopen_at = now + REOPEN;
            self.line = Line::open(&self.url);
            if self.line.is_ok() {
                self.reopened += 1;
                self.rcp.restart(now);
            }
        }
        let has_more = self.read(now);
        self.rcp.handle_deadline(now);
        self.flush(now);
        has_more
    }

    fn read(&mut self, now: Instant) -> bool {
        let mut octets = [0; CHUNK];
        for _ in 0..READS {
            let Ok(line) = &self.line else { return false };
            match line.read(&mut octets) {
                Ok(Some(len)) => {
                    self.rcp.handle_octets(now, octets.get(..len).unwrap_or_default());
                }
                Ok(None) => return false,
                Err(error) => self.lose(now, error),
            }
        }
        true
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
        match &self.line {
            Err(error) => Some(StickTrouble(error.to_string())),
            Ok(_) => self.rcp.trouble().map(|trouble| self.at_place(trouble)),
        }
    }

    fn at_place(&self, trouble: &dyn fmt::Display) -> StickTrouble {
        StickTrouble(match &self.url {
            Url::Serial { path, baud, .. } => {
                format!("{} at {baud} bits a second: {trouble}", path.display())
            }
            Url::Exec { program, .. } => format!("{}: {trouble}", program.display()),
        })
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
