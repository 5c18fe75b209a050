//! Tasks that the console has started and that have not ended.

use crate::console::Report;
use crate::profile::Process;
use crate::reasons;
use core::net::Ipv6Addr;
use kinglet::net::EchoReply;
use kinglet::tcp::{ConnectError, ConnectionConfig, ConnectionError, Handle, RecvError, State};
use kinglet::{Node, StreamConnectError};
use kinglet_apps::{StreamApp, bulk};
use kinglet_time::{Duration, Instant, earliest};

/// Octets of an echo request.
const PING: [u8; 32] = *b"Kinglet asks whether you are up.";
/// Time between echo requests, and the wait for the last reply.
const PING_PERIOD: Duration = Duration::from_secs(1);
/// Time from a command to the first progress report of its connection; then reports come after the
/// same time again, up to the second limit.
const QUIET: Duration = Duration::from_secs(2);
const LONGEST_QUIET: Duration = Duration::from_secs(10);
/// Octets read at once.
const CHUNK: usize = 1280;

/// A task in progress.
pub(crate) enum Task {
    Ping(Ping),
    Talk(Talk),
    Send(Box<Send>),
}

impl Task {
    /// Does all work that can be done now. Returns whether the task has ended.
    pub(crate) fn step(
        &mut self,
        now: Instant,
        node: &mut Node<Process>,
        say: &mut dyn FnMut(Report),
    ) -> bool {
        match self {
            Task::Ping(ping) => ping.step(now, node, say),
            Task::Talk(talk) => talk.step(now, node, say),
            Task::Send(send) => send.step(now, node, say),
        }
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self {
            Task::Ping(ping) => Some(ping.next),
            Task::Talk(talk) => Some(talk.watch.next),
            Task::Send(send) => earliest(send.sender.due(), Some(send.watch.next)),
        }
    }

    /// Handles an echo reply, if it is for this task.
    pub(crate) fn answered(&mut self, reply: &EchoReply, say: &mut dyn FnMut(Report)) {
        if let Task::Ping(ping) = self {
            ping.answered(reply, say);
        }
    }
}

/// Echo requests to one address.
pub(crate) struct Ping {
    to: Ipv6Addr,
    ident: u16,
    count: u16,
    /// The requests sent, in the order of their sequence numbers, which begin with 1.
    requests: Vec<Request>,
    answered: u16,
    duplicates: u32,
    next: Instant,
}

struct Request {
    at: Instant,
    answered: bool,
}

impl Ping {
    pub(crate) const fn new(now: Instant, to: Ipv6Addr, ident: u16, count: u16) -> Self {
        let requests = Vec::new();
        Ping { to, ident, count, requests, answered: 0, duplicates: 0, next: now }
    }

    /// Returns the number of requests sent.
    fn sent(&self) -> u16 {
        // There are no more than `count`.
        u16::try_from(self.requests.len()).unwrap_or(u16::MAX)
    }

    fn step(
        &mut self,
        now: Instant,
        node: &mut Node<Process>,
        say: &mut dyn FnMut(Report),
    ) -> bool {
        if now < self.next {
            return false;
        }
        let (to, sent) = (self.to, self.sent());
        if self.requests.last().is_some_and(|last| !last.answered) {
            say(Report::NoReply { to, seq: sent });
        }
        if sent == self.count {
            let (answered, duplicates) = (self.answered, self.duplicates);
            say(Report::Pinged { to, sent, answered, duplicates });
            return true;
        }
        self.next = now + PING_PERIOD;
        self.requests.push(Request { at: now, answered: false });
        if let Err(error) = node.datagrams().ping(now, to, self.ident, self.sent(), &PING) {
            say(Report::Failed { why: format!("ping: {}", reasons::unsent(node, to, error)) });
            return true;
        }
        false
    }

    /// Handles a reply: the first one to each request counts, and others are duplicates.
    fn answered(&mut self, reply: &EchoReply, say: &mut dyn FnMut(Report)) {
        let index = usize::from(reply.seq).checked_sub(1);
        let request = index.and_then(|index| self.requests.get_mut(index));
        let Some(request) = request.filter(|_| reply.ident == self.ident) else { return };
        let duplicate = core::mem::replace(&mut request.answered, true);
        let ms = (reply.at - request.at).as_micros() as f64 / 1e3;
        if duplicate {
            self.duplicates = self.duplicates.saturating_add(1);
        } else {
            self.answered = self.answered.saturating_add(1);
        }
        let (from, seq, hop_limit) = (reply.src, reply.seq, reply.hop_limit);
        say(Report::EchoReply { from, seq, hop_limit, ms, duplicate });
        if self.answered == self.count {
            self.next = reply.at;
        }
    }
}

/// The state of a connection, and the time of its next progress report.
struct Watch {
    to: (Ipv6Addr, u16),
    began: Instant,
    next: Instant,
    opened: bool,
    /// Octets that the peer has acknowledged, and those received from it.
    octets: (u64, u64),
}

impl Watch {
    fn new(now: Instant, to: (Ipv6Addr, u16)) -> Self {
        Watch { to, began: now, next: now + QUIET, opened: false, octets: (0, 0) }
    }

    /// Samples the connection, which has no record any more once it is closed, and reports progress
    /// if that is due.
    fn look(
        &mut self,
        now: Instant,
        node: &Node<Process>,
        handle: Handle,
        say: &mut dyn FnMut(Report),
    ) {
        let due = now >= self.next;
        if due {
            self.next = now + (now - self.began).min(LONGEST_QUIET);
        }
        let Some(info) = node.tcp().info(handle) else { return };
        self.octets = (info.bytes_acked.into(), info.bytes_received.into());
        self.opened |= !matches!(info.state, State::SynSent | State::Closed);
        if !due || info.state == State::Closed {
            return;
        }
        let ((to, port), (sent, received)) = (self.to, self.octets);
        let (opened, seconds) = (self.opened, self.seconds(now));
        let trouble = info.soft_error.map(reasons::trouble);
        say(Report::Progress { to, port, opened, sent, received, seconds, trouble });
    }

    fn seconds(&self, now: Instant) -> f64 {
        (now - self.began).as_micros() as f64 / 1e6
    }

    fn closed(&self, now: Instant, error: Option<ConnectionError>) -> Report {
        let ((to, port), (sent, received)) = (self.to, self.octets);
        let error = error.map(|error| reasons::ended(error, self.opened));
        Report::Closed { to, port, sent, received, seconds: self.seconds(now), error }
    }
}

/// A connection that sends one text and prints the response.
pub(crate) struct Talk {
    handle: Handle,
    text: Vec<u8>,
    said: usize,
    closed: bool,
    watch: Watch,
}

impl Talk {
    /// Opens a connection.
    ///
    /// # Errors
    /// The reason for which that is not possible now.
    pub(crate) fn new(
        now: Instant,
        to: (Ipv6Addr, u16),
        text: &str,
        node: &mut Node<Process>,
    ) -> Result<Self, String> {
        if let Some(why) = reasons::obstacle(node, to) {
            return Err(why);
        }
        let handle = node.streams().connect(now, to.0, to.1, ConnectionConfig::DEFAULT);
        let handle = handle.map_err(|error| reasons::refused(error, to))?;
        let text = if text.is_empty() { Vec::new() } else { format!("{text}\n").into_bytes() };
        Ok(Talk { handle, text, said: 0, closed: false, watch: Watch::new(now, to) })
    }

    fn step(
        &mut self,
        now: Instant,
        node: &mut Node<Process>,
        say: &mut dyn FnMut(Report),
    ) -> bool {
        let mut streams = node.streams();
        let rest = self.text.get(self.said..).unwrap_or_default();
        // A read then returns the error.
        self.said += streams.send(self.handle, rest).unwrap_or_default();
        let mut chunk = [0; CHUNK];
        let ended = loop {
            match streams.recv(self.handle, &mut chunk) {
                Ok(0) => break Some(None),
                Ok(len) => {
                    let text = String::from_utf8_lossy(chunk.get(..len).unwrap_or_default());
                    say(Report::Received { text: text.into_owned() });
                }
                Err(RecvError::WouldBlock) => break None,
                Err(RecvError::Ended(error)) => break Some(Some(error)),
                // Only this task closes the connection.
                Err(RecvError::InvalidHandle) => break Some(Some(ConnectionError::Aborted)),
            }
        };
        self.watch.look(now, node, self.handle, say);
        let stands = node.tcp().state(self.handle) != Some(State::SynSent);
        if !self.closed && stands && self.said == self.text.len() || ended.is_some() {
            self.closed = true;
            // A connection that ended with an error need not be closed.
            let _ = node.streams().close(self.handle);
        }
        let Some(error) = ended else { return false };
        say(self.watch.closed(now, error));
        true
    }
}

/// A connection that sends as fast as possible.
pub(crate) struct Send {
    sender: bulk::Sender,
    watch: Watch,
}

impl Send {
    /// Prepares a connection.
    ///
    /// # Errors
    /// The reason for which none can be opened now.
    pub(crate) fn new(
        now: Instant,
        to: (Ipv6Addr, u16),
        octets: u64,
        node: &Node<Process>,
    ) -> Result<Self, String> {
        if let Some(why) = reasons::obstacle(node, to) {
            return Err(why);
        }
        let sender = bulk::Sender::new(to, now, Some(octets), ConnectionConfig::DEFAULT);
        Ok(Send { sender, watch: Watch::new(now, to) })
    }

    fn step(
        &mut self,
        now: Instant,
        node: &mut Node<Process>,
        say: &mut dyn FnMut(Report),
    ) -> bool {
        // The sender would try again, and forget the error.
        let failed = |node: &Node<Process>, handle| node.tcp().info(handle)?.error;
        let before = self.sender.connection();
        if before.and_then(|handle| failed(node, handle)).is_none() {
            while self.sender.step(now, node) {}
        }
        let Some(handle) = self.sender.connection() else {
            let error = StreamConnectError::Tcp(ConnectError::NoSlot);
            say(Report::Failed { why: reasons::refused(error, self.watch.to) });
            return true;
        };
        self.watch.look(now, node, handle, say);
        let state = node.tcp().state(handle);
        // FIN-WAIT-2: all octets are acknowledged, and the FIN too; further octets of the peer are
        // not needed.
        if !matches!(state, None | Some(State::FinWait2 | State::TimeWait | State::Closed)) {
            return false;
        }
        say(self.watch.closed(now, failed(node, handle)));
        // Released in time, or ended already.
        let _ = node.streams().release(now, handle, None);
        true
    }
}

/// Returns the earliest deadline.
pub(crate) fn deadline(tasks: &[Task]) -> Option<Instant> {
    tasks.iter().fold(None, |first, task| earliest(first, task.deadline()))
}
