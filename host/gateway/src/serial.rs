//! A mote outside the simulation: its radio is a simulated one, at the other end of a serial line
//! (see [`kinglet_radio::serial`]). The line is a Unix socket, as an emulator offers it for a UART.

use crate::beyond::Beyond;
use kinglet_network::build::Site as Simulated;
use kinglet_radio::serial::{Receiver, Request, send_event};
use kinglet_radio::{Command, Event, Filter};
use kinglet_sim::trace::Look;
use kinglet_sim::{Device, cpu::Counted};
use kinglet_time::Instant;
use std::collections::VecDeque;
use std::io;
use std::task::{Context, Poll};
use tokio::net::UnixStream;

/// Octets that may wait for a mote that does not read; further received frames are lost, as they
/// are to a driver that does not empty its radio.
const BACKLOG: usize = 16 * 1024;
/// Largest number of octets read from a line at once.
const CHUNK: usize = 1024;

/// A node of the network.
pub(crate) enum Site {
    /// Stack and applications in the simulation.
    Simulated(Box<Simulated>),
    /// A mote behind a serial line.
    Serial(Box<SerialMote>),
    /// A radio for external devices that share the channel by ZEP.
    Beyond(Box<Beyond>),
}

/// A mote behind a serial line, as the simulated radio uses it.
pub(crate) struct SerialMote {
    line: UnixStream,
    receiver: Receiver,
    /// Commands that the radio has not processed yet, with their numbers and frames.
    commands: VecDeque<(Command, u8, Vec<u8>)>,
    /// The frame of the last processed command.
    frame: Vec<u8>,
    /// The number of the outstanding transmission; a second one has to wait.
    sending: Option<u8>,
    /// The address filter that the mote has set since the last call.
    filter: Option<Filter>,
    /// Octets for the mote.
    out: Vec<u8>,
}

impl SerialMote {
    pub(crate) fn new(line: UnixStream) -> Self {
        SerialMote {
            line,
            receiver: Receiver::new(),
            commands: VecDeque::new(),
            frame: Vec::new(),
            sending: None,
            filter: None,
            out: Vec::new(),
        }
    }

    /// Reads from the mote and writes waiting octets to it, without blocking. Returns the filter
    /// that it has set.
    pub(crate) fn exchange(&mut self) -> io::Result<Option<Filter>> {
        let mut chunk = [0; CHUNK];
        loop {
            match self.line.try_read(&mut chunk) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(len) => chunk.iter().take(len).for_each(|&octet| self.take(octet)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        while !self.out.is_empty() {
            match self.line.try_write(&self.out) {
                Ok(written) => {
                    self.out.drain(..written);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(self.filter.take())
    }

    fn take(&mut self, octet: u8) {
        match self.receiver.push(octet).and_then(|message| Request::parse(message)) {
            Some(Request::Filter(filter)) => self.filter = Some(filter),
            Some(Request::Command { command, number, frame }) => {
                self.commands.push_back((command, number, frame.to_vec()));
            }
            None => {}
        }
    }

    pub(crate) fn poll_readable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.line.poll_read_ready(context)
    }
}

impl Device for SerialMote {
    fn handle_radio(&mut self, _now: Instant, event: Event, frame: &[u8]) {
        let number = match event {
            Event::Received { .. } if self.out.len() > BACKLOG => return,
            Event::Received { .. } => 0,
            _ => self.sending.take().unwrap_or_default(),
        };
        let out = &mut self.out;
        send_event(event, number, frame, |octet| out.push(octet));
    }

    fn poll_radio(&mut self, _now: Instant) -> Option<(Command, &[u8])> {
        let sends = |command| matches!(command, Command::Transmit { .. });
        if let Some(reset) = self.commands.iter().rposition(|c| c.0 == Command::Reset) {
            // Commands before a reset are cancelled.
            self.commands.drain(..reset);
            self.sending = None;
        }
        if self.sending.is_some() && sends(self.commands.front()?.0) {
            return None;
        }
        let (command, number, frame) = self.commands.pop_front()?;
        if sends(command) {
            self.sending = Some(number);
        }
        self.frame = frame;
        Some((command, &self.frame))
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn handle_deadline(&mut self, _now: Instant) {}
}

impl Device for Site {
    fn handle_radio(&mut self, now: Instant, event: Event, frame: &[u8]) {
        match self {
            Site::Simulated(station) => station.handle_radio(now, event, frame),
            Site::Serial(mote) => mote.handle_radio(now, event, frame),
            Site::Beyond(radio) => radio.handle_radio(now, event, frame),
        }
    }

    fn poll_radio(&mut self, now: Instant) -> Option<(Command, &[u8])> {
        match self {
            Site::Simulated(station) => station.poll_radio(now),
            Site::Serial(mote) => mote.poll_radio(now),
            Site::Beyond(radio) => radio.poll_radio(now),
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self {
            Site::Simulated(station) => station.deadline(),
            Site::Serial(mote) => mote.deadline(),
            Site::Beyond(radio) => radio.deadline(),
        }
    }

    fn handle_deadline(&mut self, now: Instant) {
        match self {
            Site::Simulated(station) => station.handle_deadline(now),
            Site::Serial(mote) => mote.handle_deadline(now),
            Site::Beyond(radio) => radio.handle_deadline(now),
        }
    }

    fn work(&mut self) -> Counted {
        match self {
            Site::Simulated(station) => station.work(),
            Site::Serial(mote) => mote.work(),
            Site::Beyond(radio) => radio.work(),
        }
    }

    fn look(&self) -> Option<&dyn Look> {
        match self {
            Site::Simulated(station) => station.look(),
            Site::Serial(_) | Site::Beyond(_) => None,
        }
    }
}
