//! Readings over a connection that is kept open.

use super::queue::Queue;
use crate::apps::tcp::Socket;
use kinglet::tcp::{ConnectionConfig, Info, State};
use kinglet::time::{Duration, Instant};
use kinglet_apps::{Peer, Sockets};
use std::collections::VecDeque;

/// From the end of a connection to the next attempt: the paper's application.
const RETRY: Duration = Duration::from_secs(3);

/// What the connections have done, over all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// Connections opened.
    pub opened: u32,
    /// Segments sent, acknowledgements included.
    pub segments_sent: u64,
    /// Segments sent again because of what acknowledgements or the link said.
    pub fast_retransmits: u64,
    /// Segments sent again because of a timeout.
    pub timeout_retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Sum of the round-trip time samples in microseconds, and their number.
    pub rtt: (u64, u64),
    /// Largest segment of the last one.
    pub mss: u32,
}

/// A connection to the sink.
pub struct TcpUplink {
    to: Peer,
    config: ConnectionConfig,
    handle: Option<Socket>,
    next_attempt: Instant,
    /// Octets given to the connection.
    written: u64,
    /// Readings in its send buffer: where they end in the stream, and their number.
    held: VecDeque<(u64, u32)>,
    /// Acknowledged when it was last looked at.
    acknowledged: u32,
    /// Of the connections before this one.
    before: Connections,
    /// With this one.
    all: Connections,
}

impl TcpUplink {
    /// Connections to `to`, the first one at `start`.
    pub fn new(to: Peer, start: Instant, config: ConnectionConfig) -> Self {
        TcpUplink {
            to,
            config,
            handle: None,
            next_attempt: start,
            written: 0,
            held: VecDeque::new(),
            acknowledged: 0,
            before: Connections::default(),
            all: Connections::default(),
        }
    }

    /// What the connections have done.
    pub fn connections(&self) -> &Connections {
        &self.all
    }

    pub(super) fn held(&self) -> impl Iterator<Item = u32> {
        self.held.iter().map(|(_, number)| *number)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        // A connection wakes the node by itself.
        self.handle.is_none().then_some(self.next_attempt)
    }

    pub(super) fn poll<S: Sockets<Handle = Socket>>(
        &mut self,
        now: Instant,
        tcp: &mut S,
        queue: &mut Queue,
    ) -> bool {
        let Some(handle) = self.handle else { return self.connect(now, tcp) };
        let info = tcp.info(handle);
        let alive = info.filter(|info| info.error.is_none() && info.state != State::Closed);
        let Some(info) = alive else {
            self.give_up(now, queue);
            return true;
        };
        self.observe(info);
        let mut busy = false;
        while queue.is_ready() {
            let Some(piece) = queue.take(tcp.can_send(handle)) else { break };
            // There is room, and an end of the connection is seen at the next poll.
            let _ = tcp.send(handle, &piece.octets);
            let ends = piece.ends.iter().map(|(end, n)| (self.written + *end as u64, *n));
            self.held.extend(ends);
            self.written += piece.octets.len() as u64;
            busy = true;
        }
        busy
    }

    fn connect<S: Sockets<Handle = Socket>>(&mut self, now: Instant, tcp: &mut S) -> bool {
        if now < self.next_attempt {
            return false;
        }
        self.handle = tcp.connect(now, self.to, self.config);
        self.next_attempt = now + RETRY;
        self.all.opened += u32::from(self.handle.is_some());
        true
    }

    /// What was in the send buffer is gone; whether it arrived the sink knows.
    fn give_up(&mut self, now: Instant, queue: &mut Queue) {
        self.handle = None;
        self.next_attempt = now + RETRY;
        self.written = 0;
        self.held.clear();
        queue.restart();
        self.acknowledged = 0;
        self.before = self.all;
    }

    fn observe(&mut self, info: Info) {
        let acknowledged = self.written.saturating_sub(u64::from(info.bytes_queued));
        while self.held.front().is_some_and(|(end, _)| *end <= acknowledged) {
            self.held.pop_front();
        }
        let (counters, before) = (info.counters, self.before);
        let mut rtt = self.all.rtt;
        if self.acknowledged < info.bytes_acked {
            rtt = (rtt.0 + info.last_rtt.as_micros(), rtt.1 + 1);
        }
        self.all = Connections {
            opened: self.all.opened,
            segments_sent: before.segments_sent + u64::from(counters.segments_sent),
            fast_retransmits: before.fast_retransmits + u64::from(counters.fast_retransmits),
            timeout_retransmits: before.timeout_retransmits
                + u64::from(counters.timeout_retransmits),
            timeouts: before.timeouts + u64::from(counters.timeouts),
            rtt,
            mss: info.mss,
        };
        self.acknowledged = info.bytes_acked;
    }
}
