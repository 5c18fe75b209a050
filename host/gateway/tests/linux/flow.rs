//! One of Kinglet's connections: its application, and its progress.

use crate::bridge::{RING, Tcp};
use crate::host::{TO_KINGLET, TO_LINUX, octet};
use kinglet_tcp::{Handle, RecvError, State};
use kinglet_time::{Duration, Instant};
use std::collections::VecDeque;

/// Longest silence without a lost packet: a few RTOs of some 250 ms.
const SILENCE: Duration = Duration::from_secs(1);
/// A silence is checked if the bridge ran late for at most this share of it, 1 / n.
const LATE: u64 = 20;
/// Number of packets that a failure's report shows.
const LOG: usize = 80;

/// One direction's progress.
struct Progress {
    done: u64,
    since: Instant,
    /// Time by which the bridge had run late by then.
    late: Duration,
    /// For each lost packet: the value of `done` from which it cannot be the reason for a silence.
    losses: Vec<u64>,
    longest: Duration,
}

pub(crate) struct Flow {
    pub(crate) handle: Handle,
    /// The ports, Kinglet's first.
    pub(crate) ports: (u16, u16),
    pub(crate) total: usize,
    sent: usize,
    got: usize,
    eof: bool,
    closed: bool,
    /// Progress to Linux, and from Linux.
    progress: [Progress; 2],
    /// The last packets and their fates, for a failure's report.
    log: VecDeque<String>,
}

impl Flow {
    pub(crate) fn new(now: Instant, handle: Handle, ports: (u16, u16), total: usize) -> Flow {
        let progress = || Progress {
            done: 0,
            since: now,
            late: Duration::ZERO,
            losses: Vec::new(),
            longest: Duration::ZERO,
        };
        Flow {
            handle,
            ports,
            total,
            sent: 0,
            got: 0,
            eof: false,
            closed: false,
            progress: [progress(), progress()],
            log: VecDeque::new(),
        }
    }

    /// Whether all octets have been read and all sent octets are acknowledged.
    pub(crate) fn is_over(&self, tcp: &Tcp) -> bool {
        let acked = tcp.info(self.handle).is_none_or(|info| info.bytes_queued == 0);
        self.eof && self.closed && acked
    }

    pub(crate) fn run(&mut self, tcp: &mut Tcp) {
        while self.sent < self.total {
            let room = tcp.can_send(self.handle).min(self.total - self.sent);
            let data: Vec<u8> = (self.sent..self.sent + room).map(|i| octet(i, TO_LINUX)).collect();
            let taken = tcp.send(self.handle, &data).expect("an open connection");
            self.sent += taken;
            if taken == 0 {
                break;
            }
        }
        // In SYN-SENT, closing would discard the queued octets.
        let open = tcp.state(self.handle) != Some(State::SynSent);
        if self.sent == self.total && !self.closed && open {
            tcp.close(self.handle).unwrap();
            self.closed = true;
        }
        let mut data = [0; 4096];
        while !self.eof {
            match tcp.recv(self.handle, &mut data) {
                Ok(0) => {
                    assert_eq!(self.got, self.total, "ports {:?}: octets read", self.ports);
                    self.eof = true;
                }
                Ok(count) => {
                    for &found in &data[..count] {
                        let expected = octet(self.got, TO_KINGLET);
                        assert_eq!(found, expected, "ports {:?}: octet {}", self.ports, self.got);
                        self.got += 1;
                    }
                }
                Err(RecvError::WouldBlock) => break,
                Err(error) => panic!("ports {:?}: {error} after {} octets", self.ports, self.got),
            }
        }
    }

    /// Keeps `line` for a failure's report.
    pub(crate) fn note(&mut self, line: String) {
        self.log.truncate(LOG - 1);
        self.log.push_front(line);
    }

    /// Records a deliberate loss of a packet of this connection, in the window in flight.
    pub(crate) fn lost(&mut self) {
        for progress in &mut self.progress {
            progress.losses.push(progress.done + RING as u64);
        }
    }

    /// Checks the length of the silence when there is progress. `late` is the time by which the
    /// bridge has run late so far: nobody promises a fast retransmission on a machine that stands
    /// still.
    pub(crate) fn watch(&mut self, now: Instant, late: Duration, tcp: &Tcp) {
        let Some(info) = tcp.info(self.handle) else { return };
        let end = self.total as u64;
        for (direction, done) in [(0, info.bytes_acked), (1, info.bytes_received)] {
            let done = u64::from(done);
            let progress = &mut self.progress[direction];
            if progress.done >= end || done == progress.done {
                continue;
            }
            let (silence, lost) = (now - progress.since, progress.losses.len());
            let late_by = late - progress.late;
            let is_idle = late_by.as_micros() <= silence.as_micros() / LATE;
            // Each loss may double the RTO.
            let allowed = SILENCE.max(info.rto * 2) * (1 << lost.min(6));
            assert!(
                silence <= allowed || !is_idle,
                "ports {:?}, {direction}: {silence:?} of silence after {} octets, with {lost} \
                 lost and the bridge {late_by:?} late: {info:?}\nlatest first:\n{}",
                self.ports,
                progress.done,
                self.log.iter().map(|line| format!("{line}\n")).collect::<String>()
            );
            progress.longest = progress.longest.max(silence);
            progress.losses.retain(|&until| done < until);
            (progress.done, progress.since, progress.late) = (done, now, late);
        }
    }

    pub(crate) fn longest_silence(&self) -> Duration {
        self.progress[0].longest.max(self.progress[1].longest)
    }

    pub(crate) fn status(&self, tcp: &Tcp) -> String {
        let Flow { ports, total, sent, got, eof, closed, .. } = self;
        let info = tcp.info(self.handle);
        format!(
            "\nports {ports:?}: {sent} sent and {got} read of {total}, eof {eof}, closed {closed}; \
             {info:?}"
        )
    }
}
