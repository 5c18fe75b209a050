//! Measurements of a bulk transfer.

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
    /// Time of the sample.
    pub at: Instant,
    /// Congestion window in octets.
    pub cwnd: u32,
    /// Slow start threshold in octets; `None` before the first loss.
    pub ssthresh: Option<u32>,
}

/// Expiries of the retransmission timer, by the state of the sender at the expiry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct TimeoutCauses {
    /// During the handshake.
    pub handshake: u32,
    /// During the repair of a loss: a retransmission or its acknowledgement was lost.
    pub repair: u32,
    /// With one segment in flight, so that no later segment could reveal its loss.
    pub single_segment: u32,
    /// With several segments in flight and none of them known to have arrived.
    pub no_feedback: u32,
    /// With several segments in flight and some of them known to have arrived.
    pub other: u32,
    /// Expiries of any kind without a loss: the acknowledgement was only late.
    pub spurious: u32,
}

impl TimeoutCauses {
    /// Counts the expiries between two snapshots.
    fn count(&mut self, before: &Info, now: &Info) {
        let expired = u32::from(now.counters.timeouts.wrapping_sub(before.counters.timeouts));
        let cause = match before.repair {
            _ if before.state == State::SynSent => &mut self.handshake,
            Repair::Fast | Repair::Timeout => &mut self.repair,
            _ if before.bytes_in_flight <= before.mss => &mut self.single_segment,
            _ if before.bytes_sacked == 0 => &mut self.no_feedback,
            _ => &mut self.other,
        };
        *cause += expired;
        if before.repair == Repair::Timeout {
            self.spurious += u32::from(now.counters.undone.wrapping_sub(before.counters.undone));
        }
    }
}

/// Sending side with measurements.
pub struct BulkSender {
    sender: Sender<Socket>,
    /// Last snapshot of the connection.
    info: Option<Info>,
    rtt_sum_us: u64,
    rtt_samples: u64,
    /// Recorded samples of the congestion window, if recording.
    windows: Option<Vec<Window>>,
    /// Error that ended the last connection with data, and last error before any data was sent.
    error: Option<ConnectionError>,
    early: Option<ConnectionError>,
    causes: TimeoutCauses,
}

impl BulkSender {
    /// Creates a sender as [`Sender::new`] does.
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

    /// Connection of the sender.
    pub(crate) const fn connection(&self) -> Option<Socket> {
        self.sender.connection()
    }

    /// Causes of the retransmission timeouts.
    pub const fn timeout_causes(&self) -> TimeoutCauses {
        self.causes
    }

    /// Records the congestion window.
    #[must_use]
    pub fn recording(mut self) -> Self {
        self.windows = Some(Vec::new());
        self
    }

    /// Last snapshot of the connection.
    pub fn info(&self) -> Option<&Info> {
        self.info.as_ref()
    }

    /// Mean of the round-trip time samples in milliseconds.
    pub fn mean_rtt_ms(&self) -> Option<f64> {
        let samples = self.rtt_samples as f64;
        (self.rtt_samples > 0).then(|| self.rtt_sum_us as f64 / samples / 1e3)
    }

    /// Recorded samples of the congestion window.
    pub fn windows(&self) -> &[Window] {
        self.windows.as_deref().unwrap_or_default()
    }

    /// Error that ended the connection, or the last attempt to open one.
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
    fn step<S: Sockets<Handle = Socket>>(&mut self, now: Instant, sockets: &mut S) -> bool {
        let info = self.sender.connection().and_then(|handle| sockets.info(handle));
        // The receiver and the network may start later than the sender.
        let is_early = |info: &Info| {
            let early = [ConnectionError::Refused, ConnectionError::Unreachable];
            info.error.is_some_and(|error| early.contains(&error))
        };
        match info {
            // That connection sent no data, and the next one has counters of its own.
            Some(info) if is_early(&info) => (self.info, self.early) = (None, info.error),
            Some(info) => self.observe(now, info),
            None => {}
        }
        self.sender.step(now, sockets)
    }

    fn due(&self) -> Option<Instant> {
        self.sender.due()
    }
}

/// Receiving side with measurements.
pub struct BulkSink {
    receiver: Receiver<Socket>,
    last: Instant,
    info: Option<Info>,
}

impl BulkSink {
    /// Creates a sink as [`Receiver::new`] does.
    pub fn new(port: u16, config: ListenConfig) -> Self {
        BulkSink { receiver: Receiver::new(port, config), last: Instant::ZERO, info: None }
    }

    /// Octets received in order.
    pub fn received(&self) -> u64 {
        self.receiver.received()
    }

    /// Time at which the last octet was received.
    pub fn last(&self) -> Instant {
        self.last
    }

    /// True if all octets were correct.
    pub fn intact(&self) -> bool {
        self.receiver.intact()
    }

    /// True if the stream ended regularly.
    pub fn finished(&self) -> bool {
        self.receiver.finished()
    }

    /// Last snapshot of the connection.
    pub fn info(&self) -> Option<&Info> {
        self.info.as_ref()
    }
}

impl StreamApp<Socket> for BulkSink {
    fn step<S: Sockets<Handle = Socket>>(&mut self, now: Instant, sockets: &mut S) -> bool {
        let info = self.receiver.connection().and_then(|handle| sockets.info(handle));
        self.info = info.or(self.info);
        let before = self.receiver.received();
        let busy = self.receiver.step(now, sockets);
        if self.receiver.received() != before {
            self.last = now;
        }
        busy
    }

    fn due(&self) -> Option<Instant> {
        self.receiver.due()
    }
}
