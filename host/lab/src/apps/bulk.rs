//! A bulk transfer over TCP: one side writes a known stream as fast as it can, the other checks it.

use super::tcp::{Socket, Speaker, Tcp};
use crate::profile::LabProfile;
use core::any::Any;
use core::net::Ipv6Addr;
use kinglet::tcp::{ConnectionConfig, ConnectionError, Info, ListenConfig, Repair, State};
use kinglet::time::Instant;
use kinglet::{Node, Profile};
use kinglet_apps::{App, BackOff, fill, is_intact};
use serde::Serialize;

/// Octets moved between application and socket at a time.
const CHUNK: usize = 1024;

/// A sample of the congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// When.
    pub at: Instant,
    /// Octets.
    pub cwnd: u32,
    /// Slow start threshold in octets.
    pub ssthresh: u32,
}

/// How often the retransmission timer has expired, by what the sender knew when it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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

/// The sending side, which also opens the connection.
pub struct BulkSender {
    to: (Ipv6Addr, u16),
    start: Instant,
    /// Octets to send; `None` = without end.
    bytes: Option<u64>,
    config: ConnectionConfig,
    handle: Option<Socket>,
    written: u64,
    closed: bool,
    /// The last snapshot of the connection.
    info: Option<Info>,
    rtt_sum_us: u64,
    rtt_samples: u64,
    /// Congestion window over time, if it is recorded.
    windows: Option<Vec<Window>>,
    failed: bool,
    causes: TimeoutCauses,
    /// After refusals.
    back_off: BackOff,
}

impl BulkSender {
    /// A transfer to `to` that begins at `start`.
    pub fn new(
        to: (Ipv6Addr, u16),
        start: Instant,
        bytes: Option<u64>,
        config: ConnectionConfig,
    ) -> Self {
        BulkSender {
            to,
            start,
            bytes,
            config,
            handle: None,
            written: 0,
            closed: false,
            info: None,
            rtt_sum_us: 0,
            rtt_samples: 0,
            windows: None,
            failed: false,
            back_off: BackOff::default(),
            causes: TimeoutCauses::default(),
        }
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

    /// Whether the connection ended with an error.
    pub fn failed(&self) -> bool {
        self.failed
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
            let (cwnd, ssthresh) = (info.cwnd, info.ssthresh);
            if windows.last().is_none_or(|last| (last.cwnd, last.ssthresh) != (cwnd, ssthresh)) {
                windows.push(Window { at: now, cwnd, ssthresh });
            }
        }
        self.failed |= info.error.is_some();
        self.info = Some(info);
    }

    fn write<P: Profile>(&mut self, handle: Socket, tcp: &mut Tcp<'_, P>) -> bool {
        let mut busy = false;
        let mut chunk = [0; CHUNK];
        while !self.closed {
            let left = self.bytes.map_or(u64::MAX, |bytes| bytes - self.written);
            if left == 0 {
                self.closed = tcp.close(handle);
                return true;
            }
            let room = tcp.can_send(handle).min(CHUNK);
            let len = room.min(usize::try_from(left).unwrap_or(CHUNK));
            if len == 0 {
                break;
            }
            fill(self.written, &mut chunk[..len]);
            let taken = tcp.send(handle, &chunk[..len]);
            self.written += taken as u64;
            busy |= taken > 0;
            if taken < len {
                break;
            }
        }
        busy
    }
}

impl<P: Profile> Speaker<P> for BulkSender {
    fn turn(&mut self, now: Instant, tcp: &mut Tcp<'_, P>) -> bool {
        if now < self.start || now < self.back_off.at() {
            return false;
        }
        let Some(handle) = self.handle else {
            self.handle = tcp.connect(now, self.to, self.config);
            return self.handle.is_some();
        };
        if let Some(info) = tcp.info(handle) {
            if info.error == Some(ConnectionError::Refused) {
                // Whoever is to receive may begin later.
                tcp.close(handle);
                (self.handle, self.written, self.closed) = (None, 0, false);
                self.back_off.refused(now);
                return true;
            }
            self.observe(now, info);
        }
        self.write(handle, tcp)
    }

    fn due(&self) -> Option<Instant> {
        self.handle.is_none().then_some(self.start.max(self.back_off.at()))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl App for BulkSender {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        self.turn(now, &mut Tcp::Own(node))
    }

    fn deadline(&self) -> Option<Instant> {
        Speaker::<LabProfile>::due(self)
    }
}

/// The receiving side.
pub struct BulkSink {
    port: u16,
    config: ListenConfig,
    listening: bool,
    handle: Option<Socket>,
    received: u64,
    intact: bool,
    finished: bool,
    last: Instant,
    info: Option<Info>,
}

impl BulkSink {
    /// A sink on `port`.
    pub fn new(port: u16, config: ListenConfig) -> Self {
        BulkSink {
            port,
            config,
            listening: false,
            handle: None,
            received: 0,
            intact: true,
            finished: false,
            last: Instant::ZERO,
            info: None,
        }
    }

    /// Octets that arrived in order.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// When the last of them did.
    pub fn last(&self) -> Instant {
        self.last
    }

    /// Whether all of them were right.
    pub fn intact(&self) -> bool {
        self.intact
    }

    /// Whether the stream has ended as it should.
    pub fn finished(&self) -> bool {
        self.finished
    }

    /// The last snapshot of the connection.
    pub fn info(&self) -> Option<&Info> {
        self.info.as_ref()
    }

    fn read<P: Profile>(&mut self, now: Instant, handle: Socket, tcp: &mut Tcp<'_, P>) -> bool {
        let mut busy = false;
        let mut chunk = [0; CHUNK];
        loop {
            match tcp.recv(handle, &mut chunk) {
                Ok(0) if self.finished => break,
                Ok(0) => {
                    self.finished = true;
                    return tcp.close(handle);
                }
                Ok(len) => {
                    self.intact &= is_intact(self.received, &chunk[..len]);
                    self.received += len as u64;
                    self.last = now;
                    busy = true;
                }
                Err(_) => break,
            }
        }
        busy
    }
}

impl<P: Profile> Speaker<P> for BulkSink {
    fn turn(&mut self, now: Instant, tcp: &mut Tcp<'_, P>) -> bool {
        if !self.listening {
            self.listening = tcp.listen(self.port, self.config);
        }
        let Some(handle) = self.handle else {
            self.handle = tcp.accept(self.port);
            return self.handle.is_some();
        };
        if let Some(info) = tcp.info(handle) {
            self.info = Some(info);
        }
        self.read(now, handle, tcp)
    }

    fn due(&self) -> Option<Instant> {
        (!self.listening).then_some(Instant::ZERO)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl App for BulkSink {
    fn poll<P: Profile>(&mut self, now: Instant, node: &mut Node<P>) -> bool {
        self.turn(now, &mut Tcp::Own(node))
    }

    fn deadline(&self) -> Option<Instant> {
        Speaker::<LabProfile>::due(self)
    }
}
