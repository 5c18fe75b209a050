//! Measurements of readings over a connection.

use super::reading::{LEN, Numbers, Room, Wind};
use crate::apps::tcp::Socket;
use kinglet::tcp::{ConnectionConfig, Info, State};
use kinglet::time::Instant;
use kinglet_apps::sense::{Readings, Sampling, StreamSensor};
use kinglet_apps::{Peer, Sockets, StreamApp};
use std::collections::VecDeque;

/// Counters over all connections of a sensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// Connections opened.
    pub opened: u32,
    /// Segments sent, acknowledgements included.
    pub segments_sent: u64,
    /// Segments retransmitted because of acknowledgements or link feedback.
    pub fast_retransmits: u64,
    /// Segments retransmitted because of a timeout.
    pub timeout_retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Sum of the round-trip time samples in microseconds, and their number.
    pub rtt: (u64, u64),
    /// Maximum segment size of the last connection.
    pub mss: u32,
}

/// Sensor with a connection to the sink, with measurements.
pub struct TcpUplink {
    pub(super) sensor: StreamSensor<Wind, Room, Socket>,
    pub(super) numbers: Numbers,
    /// Readings in the send buffer: the end of each in the stream, and its number.
    held: VecDeque<(u64, u32)>,
    /// Position in the stream at which the last reading ends.
    end: u64,
    /// Acknowledged octets at the last observation.
    acknowledged: u32,
    /// Counters of the previous connections.
    before: Connections,
    /// Counters including the current connection.
    all: Connections,
}

impl TcpUplink {
    /// Connections to `to`. The first one opens with the first reading; with
    /// `connection_per_batch` there is a connection for each batch.
    pub fn new(
        sampling: Sampling,
        to: Peer,
        config: ConnectionConfig,
        connection_per_batch: bool,
    ) -> Self {
        let readings = Readings::new(sampling, Wind);
        let sensor = StreamSensor::new(readings, to, sampling.start, config);
        TcpUplink {
            sensor: if connection_per_batch { sensor.connection_per_batch() } else { sensor },
            numbers: Numbers::default(),
            held: VecDeque::new(),
            end: 0,
            acknowledged: 0,
            before: Connections::default(),
            all: Connections::default(),
        }
    }

    /// Counters over all connections.
    pub fn connections(&self) -> &Connections {
        &self.all
    }

    pub(super) fn held(&self) -> impl Iterator<Item = u32> {
        self.held.iter().map(|(_, number)| *number)
    }

    pub(super) fn step<S: Sockets<Handle = Socket>>(&mut self, now: Instant, tcp: &mut S) -> bool {
        let before = self.sensor.connection();
        let info = before.and_then(|handle| tcp.info(handle));
        if let Some(info) = info.filter(|info| info.state != State::Closed) {
            self.observe(info);
        }
        let busy = self.sensor.step(now, tcp);
        match (before, self.sensor.connection()) {
            (None, Some(_)) => self.all.opened += 1,
            // The send buffer was discarded; the sink knows which of its readings have arrived.
            (Some(_), None) => {
                self.held.clear();
                (self.end, self.acknowledged, self.before) = (0, 0, self.all);
            }
            _ => {}
        }
        for number in self.numbers.follow(self.sensor.readings()) {
            self.end += LEN as u64;
            self.held.push_back((self.end, number));
        }
        busy
    }

    fn observe(&mut self, info: Info) {
        let acknowledged = self.sensor.written().saturating_sub(u64::from(info.bytes_queued));
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
