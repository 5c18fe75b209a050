//! One of Kinglet's connections: its application, and how it gets on.

use crate::bridge::Tcp;
use crate::host::{Hash, TO_LINUX, octet};
use kinglet_tcp::{Handle, RecvError, State};
use kinglet_time::{Duration, Instant};
use sha2::{Digest, Sha256};

/// Longest silence that needs no lost packet: RTO of some 250 ms, and threads that wait for a core.
const SILENCE: Duration = Duration::from_secs(1);

/// One direction's progress.
struct Progress {
    done: u64,
    since: Instant,
    /// Packets of the connection lost since then.
    lost: u32,
    /// How much later than planned the loop has run since then, in all.
    late: Duration,
    longest: Duration,
}

pub(crate) struct Flow {
    pub(crate) handle: Handle,
    /// The ports, Kinglet's first.
    pub(crate) ports: (u16, u16),
    pub(crate) total: usize,
    sent: usize,
    got: usize,
    hash: Sha256,
    eof: bool,
    closed: bool,
    /// To Linux, from Linux.
    progress: [Progress; 2],
}

impl Flow {
    pub(crate) fn new(now: Instant, handle: Handle, ports: (u16, u16), total: usize) -> Flow {
        let progress = || Progress {
            done: 0,
            since: now,
            lost: 0,
            late: Duration::ZERO,
            longest: Duration::ZERO,
        };
        Flow {
            handle,
            ports,
            total,
            sent: 0,
            got: 0,
            hash: Sha256::new(),
            eof: false,
            closed: false,
            progress: [progress(), progress()],
        }
    }

    /// What has been read, when all has been read and all that was sent is acknowledged.
    pub(crate) fn digest(&self, tcp: &Tcp) -> Option<Hash> {
        let acked = tcp.info(self.handle).is_none_or(|info| info.bytes_queued == 0);
        (self.eof && self.closed && acked).then(|| self.hash.clone().finalize().into())
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
        // In SYN-SENT closing would take back what is queued.
        let open = tcp.state(self.handle) != Some(State::SynSent);
        if self.sent == self.total && !self.closed && open {
            tcp.close(self.handle).unwrap();
            self.closed = true;
        }
        let mut data = [0; 4096];
        while !self.eof {
            match tcp.recv(self.handle, &mut data) {
                Ok(0) => self.eof = true,
                Ok(count) => {
                    self.hash.update(&data[..count]);
                    self.got += count;
                }
                Err(RecvError::WouldBlock) => break,
                Err(error) => panic!("ports {:?}: {error} after {} octets", self.ports, self.got),
            }
        }
    }

    /// A packet of this connection was lost on purpose.
    pub(crate) fn lost(&mut self) {
        self.progress.iter_mut().for_each(|progress| progress.lost += 1);
    }

    /// The loop has run so much later than it wanted to.
    pub(crate) fn late(&mut self, by: Duration) {
        self.progress.iter_mut().for_each(|progress| progress.late += by);
    }

    /// Judges the silence before what has come about, if something has.
    pub(crate) fn watch(&mut self, now: Instant, tcp: &Tcp) {
        let Some(info) = tcp.info(self.handle) else { return };
        let end = self.total as u64;
        for (way, done) in [(0, info.bytes_acked), (1, info.bytes_received)] {
            let done = u64::from(done);
            let progress = &mut self.progress[way];
            if progress.done >= end {
                continue;
            }
            if done > progress.done || done >= end {
                let silence = now - progress.since;
                // Each loss may double the RTO, which is long if threads have waited for a core.
                let rto = SILENCE.max(info.rto * 2);
                let allowed = rto * (1 << progress.lost.min(6)) + progress.late;
                assert!(
                    silence <= allowed,
                    "ports {:?}, way {way}: {silence:?} of silence after {} octets, with {} lost: \
                     {info:?}",
                    self.ports,
                    progress.done,
                    progress.lost
                );
                progress.longest = progress.longest.max(silence);
                (progress.done, progress.since) = (done, now);
                (progress.lost, progress.late) = (0, Duration::ZERO);
            }
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
