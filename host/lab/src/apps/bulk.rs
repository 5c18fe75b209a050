//! What is measured of a bulk transfer.

use super::tcp::Socket;
use kinglet::tcp::{ConnectionConfig, ConnectionError, Info, ListenConfig, Repair, State};
use kinglet::time::Instant;
use kinglet_apps::bulk::{Receiver, Sender};
use kinglet_apps::{Peer, Sockets, StreamApp};
use schemars::JsonSchema;
use serde::Serialize;

/// A sample of the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// When.
    pub at: Instant,
    /// Octets.
    pub cwnd: u32,
    /// Slow start threshold in octets; `None` before the first loss, while there is none.
    pub ssthresh: Option<u32>,
}

/// How often the retransmission timer has expired, by what the sender knew when it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct TimeoutCauses {
    /// In the handshake.
    pub handshake: u32,
    /// While a loss was being repaired: what was sent again was lost, or its acknowledgement.
    pub repair: u32,
    /// One segment was in flight, so that nothing later could show that it was lost.
    pub lone: u32,
    /// Several were, and nothing of them had arrived.
    pub silence: u32,
    /// Several were, and some of them had arrived.
    pub other: u32,
    /// Any of these that turned out to be needless: nothing was lost, the answer was late.
    pub needless: u32,
}

impl TimeoutCauses {
    /// Counts what has happened from one snapshot to the next.
    fn count(&mut self, before: &Info, now: &Info) {
        let expired = u32::from(now.counters.timeouts.wrapping_sub(before.counters.timeouts));
        let cause = match before.repair {
            _ if before.state == State::SynSent => &mut self.handshake,
            Repair::Fast | Repair::Timeout => &mut self.repair,
            _ if before.bytes_in_flight <= before.mss => &mut self.lone,
            _ if before.bytes_sacked == 0 => &mut self.silence,
            _ => &mut self.other,
        };
        *cause += expired;
        if before.repair == Repair::Timeout {
            self.needless += u32::from(now.counters.undone.wrapping_sub(before.counters.undone));
        }
    }
}

/// The sending side, watched.
pub struct BulkSender {
    sender: Sender<Socket>,
    /// The last snapshot of the connection.
    info: Option<Info>,
    rtt_sum_us: u64,
    rtt_samples: u64,
    /// Congestion window over time, if it is recorded.
    windows: Option<Vec<Window>>,
    /// The error that ended its last connection, and the last that came before any octet.
    error: Option<ConnectionError>,
    early: Option<ConnectionError>,
    causes: TimeoutCauses,
}

impl BulkSender {
    /// As [`Sender::new`].
    pub fn new(to: Peer, start: Instant, bytes: Option<u64>, config: ConnectionConfig) -> Self {
        BulkSender {
            sender: Sender::new(to, start, bytes, config),
            info: None,
            rtt_sum_us: 0,
            rtt_samples: 0,
            windows: None,
            error: None,
            early: None,
            causes: TimeoutCauses::default(),
        }
    }

    /// Its connection.
    pub(crate) const fn connection(&self) -> Option<Socket> {
        self.sender.connection()
    }

    /// Why the retransmission timer has expired.
    pub const fn timeout_causes(&self) -> TimeoutCauses {
        self.causes
    }

    /// Records the congestion window.
    #[must_use]
    pub fn recording(mut self) -> Self {
        self.windows = Some(Vec::new());
        self
    }

    /// The last snapshot of the connection.
    pub fn info(&self) -> Option<&Info> {
        self.info.as_ref()
    }

    /// The mean of the round-trip time samples in milliseconds.
    pub fn mean_rtt_ms(&self) -> Option<f64> {
        let samples = self.rtt_samples as f64;
        (self.rtt_samples > 0).then(|| self.rtt_sum_us as f64 / samples / 1e3)
    }

    /// The recorded congestion window.
    pub fn windows(&self) -> &[Window] {
        self.windows.as_deref().unwrap_or_default()
    }

    /// The error that ended the connection, or the last attempt to open one.
    pub fn error(&self) -> Option<ConnectionError> {
        self.error.or(self.early.filter(|_| self.info.is_none()))
    }

    fn observe(&mut self, now: Instant, info: Info) {
        if let Some(before) = &self.info {
            self.causes.count(before, &info);
        }
        if self.info.is_some_and(|before| before.bytes_acked < info.bytes_acked) {
            self.rtt_sum_us += info.last_rtt.as_micros();
            self.rtt_samples += 1;
        }
        if let Some(windows) = &mut self.windows {
            // "As high as possible" until there has been a loss (RFC 5681 §3.1).
            let (cwnd, ssthresh) = (info.cwnd, (info.ssthresh < u32::MAX).then_some(info.ssthresh));
            if windows.last().is_none_or(|last| (last.cwnd, last.ssthresh) != (cwnd, ssthresh)) {
                windows.push(Window { at: now, cwnd, ssthresh });
            }
        }
        self.error = info.error.or(self.error);
        self.info = Some(info);
    }
}

impl StreamApp<Socket> for BulkSender {
    fn turn<S: Sockets<Handle = Socket>>(&mut self, now: Instant, sockets: &mut S) -> bool {
        let info = self.sender.connection().and_then(|handle| sockets.info(handle));
        // Whoever is to receive may begin later, and so may the network.
        let is_early = |info: &Info| {
            let early = [ConnectionError::Refused, ConnectionError::Unreachable];
            info.error.is_some_and(|error| early.contains(&error))
        };
        match info {
            // Nothing was sent by that one; what it counted is not what the next one counts.
            Some(info) if is_early(&info) => (self.info, self.early) = (None, info.error),
            Some(info) => self.observe(now, info),
            None => {}
        }
        self.sender.turn(now, sockets)
    }

    fn due(&self) -> Option<Instant> {
        self.sender.due()
    }
}

/// The receiving side, watched.
pub struct BulkSink {
    receiver: Receiver<Socket>,
    last: Instant,
    info: Option<Info>,
}

impl BulkSink {
    /// As [`Receiver::new`].
    pub fn new(port: u16, config: ListenConfig) -> Self {
        BulkSink { receiver: Receiver::new(port, config), last: Instant::ZERO, info: None }
    }

    /// Octets that arrived in order.
    pub fn received(&self) -> u64 {
        self.receiver.received()
    }

    /// When the last of them did.
    pub fn last(&self) -> Instant {
        self.last
    }

    /// Whether all of them were right.
    pub fn intact(&self) -> bool {
        self.receiver.intact()
    }

    /// Whether the stream has ended as it should.
    pub fn finished(&self) -> bool {
        self.receiver.finished()
    }

    /// The last snapshot of the connection.
    pub fn info(&self) -> Option<&Info> {
        self.info.as_ref()
    }
}

impl StreamApp<Socket> for BulkSink {
    fn turn<S: Sockets<Handle = Socket>>(&mut self, now: Instant, sockets: &mut S) -> bool {
        let info = self.receiver.connection().and_then(|handle| sockets.info(handle));
        self.info = info.or(self.info);
        let before = self.receiver.received();
        let busy = self.receiver.turn(now, sockets);
        if self.receiver.received() != before {
            self.last = now;
        }
        busy
    }

    fn due(&self) -> Option<Instant> {
        self.receiver.due()
    }
}
