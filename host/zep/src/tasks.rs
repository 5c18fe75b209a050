//! Tasks that the console has started and that have not ended.

use crate::console::Report;
use crate::profile::Process;
use core::net::Ipv6Addr;
use kinglet::Node;
use kinglet::net::EchoReply;
use kinglet::tcp::{ConnectionConfig, Handle, RecvError, State};
use kinglet_apps::{StreamApp, bulk};
use kinglet_time::{Duration, Instant, earliest};

/// Octets of an echo request.
const PING: [u8; 32] = *b"Kinglet asks whether you are up.";
/// Time between echo requests, and the wait for the last reply.
const PING_PERIOD: Duration = Duration::from_secs(1);
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
            Task::Talk(_) => None,
            Task::Send(send) => send.sender.due(),
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
    left: u16,
    sent: u16,
    answered: u16,
    next: Instant,
    sent_at: Instant,
}

impl Ping {
    pub(crate) const fn new(now: Instant, to: Ipv6Addr, ident: u16, count: u16) -> Self {
        Ping { to, ident, left: count, sent: 0, answered: 0, next: now, sent_at: now }
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
        if self.left == 0 {
            say(Report::Pinged { to: self.to, sent: self.sent, answered: self.answered });
            return true;
        }
        self.left -= 1;
        self.sent = self.sent.saturating_add(1);
        (self.next, self.sent_at) = (now + PING_PERIOD, now);
        if let Err(error) = node.datagrams().ping(now, self.to, self.ident, self.sent, &PING) {
            say(Report::Failed { why: format!("ping {}: {error}", self.to) });
            return true;
        }
        false
    }

    fn answered(&mut self, reply: &EchoReply, say: &mut dyn FnMut(Report)) {
        if reply.ident != self.ident || reply.seq != self.sent {
            return;
        }
        self.answered = self.answered.saturating_add(1);
        let ms = (reply.at - self.sent_at).as_micros() as f64 / 1e3;
        let (from, seq, hop_limit) = (reply.src, reply.seq, reply.hop_limit);
        say(Report::EchoReply { from, seq, hop_limit, ms });
        if self.left == 0 {
            self.next = reply.at;
        }
    }
}

/// A connection that sends one text and prints the response.
pub(crate) struct Talk {
    to: (Ipv6Addr, u16),
    handle: Handle,
    text: Vec<u8>,
    said: usize,
    received: u64,
    began: Instant,
    closed: bool,
}

impl Talk {
    /// Opens a connection; `None` if that is not possible now.
    pub(crate) fn new(
        now: Instant,
        to: (Ipv6Addr, u16),
        text: &str,
        node: &mut Node<Process>,
    ) -> Option<Self> {
        let handle = node.streams().connect(now, to.0, to.1, ConnectionConfig::DEFAULT).ok()?;
        let text = if text.is_empty() { Vec::new() } else { format!("{text}\n").into_bytes() };
        Some(Talk { to, handle, text, said: 0, received: 0, began: now, closed: false })
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
                    self.received += len as u64;
                    let text = String::from_utf8_lossy(chunk.get(..len).unwrap_or_default());
                    say(Report::Received { text: text.into_owned() });
                }
                Err(RecvError::WouldBlock) => break None,
                Err(error) => break Some(Some(error.to_string())),
            }
        };
        let stands = node.tcp().state(self.handle) != Some(State::SynSent);
        if !self.closed && stands && self.said == self.text.len() || ended.is_some() {
            self.closed = true;
            // A connection that ended with an error need not be closed.
            let _ = node.streams().close(self.handle);
        }
        let Some(error) = ended else { return false };
        say(closed(now, node, self.to, self.handle, self.began, error));
        true
    }
}

/// A connection that sends as fast as possible.
pub(crate) struct Send {
    to: (Ipv6Addr, u16),
    sender: bulk::Sender,
    began: Instant,
}

impl Send {
    pub(crate) const fn new(now: Instant, to: (Ipv6Addr, u16), octets: u64) -> Self {
        let sender = bulk::Sender::new(to, now, Some(octets), ConnectionConfig::DEFAULT);
        Send { to, sender, began: now }
    }

    fn step(
        &mut self,
        now: Instant,
        node: &mut Node<Process>,
        say: &mut dyn FnMut(Report),
    ) -> bool {
        while self.sender.step(now, node) {}
        let Some(handle) = self.sender.connection() else { return false };
        let state = node.tcp().state(handle);
        // FIN-WAIT-2: all octets are acknowledged, and the FIN too; further octets of the peer are
        // not needed.
        if !matches!(state, None | Some(State::FinWait2 | State::TimeWait | State::Closed)) {
            return false;
        }
        let error = node.tcp().info(handle).and_then(|info| info.error);
        say(closed(now, node, self.to, handle, self.began, error.map(|error| error.to_string())));
        // Released in time, or ended already.
        let _ = node.streams().release(now, handle, None);
        true
    }
}

fn closed(
    now: Instant,
    node: &Node<Process>,
    to: (Ipv6Addr, u16),
    handle: Handle,
    began: Instant,
    error: Option<String>,
) -> Report {
    let info = node.tcp().info(handle);
    let (sent, received) =
        info.map_or((0, 0), |info| (info.bytes_acked.into(), info.bytes_received.into()));
    let seconds = (now - began).as_micros() as f64 / 1e6;
    Report::Closed { to: to.0, port: to.1, sent, received, seconds, error }
}

/// Returns the earliest deadline.
pub(crate) fn deadline(tasks: &[Task]) -> Option<Instant> {
    tasks.iter().fold(None, |first, task| earliest(first, task.deadline()))
}
