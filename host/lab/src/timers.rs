//! TCP with timers of other systems: a clock that ticks, or expiries in a queue shared with packets
//! (TCPlp App. A.2). Two endpoints of the stack and a link between them are simulated in steps of a
//! millisecond; only the service of timers differs.

use core::hash::Hasher;
use kinglet::tcp::{
    ConnectionConfig, Ecn, Endpoint, Full, HalfOpen, Handle, KnownServer, ListenConfig, Listener,
    Peer, Piece, SegmentRecord, Sizes, Slot, TcpConfig, TimeWait, congestion::NewReno,
};
use kinglet::time::{Duration, Instant};
use kinglet_sim::rng::Stream;
use std::collections::VecDeque;

/// Four segments of 462 octets (TCPlp §7).
const BUFFER: usize = 1_848;
const PORT: u16 = 5_001;
/// One-way delay in milliseconds, and octets per millisecond: 75 kb/s, the paper's one hop.
const DELAY_MS: u64 = 20;
const OCTETS_PER_MS: f64 = 75.0 / 8.0;
/// Time of a thread for an entry of its queue, in milliseconds.
const ENTRY_MS: u64 = 5;

/// Service of timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Service {
    /// At the deadline.
    Deadline,
    /// At the ticks of a clock with this period in milliseconds.
    Tick(u64),
    /// From a queue of this many entries, shared with packets; an expiry that does not fit is lost.
    SharedQueue(usize),
}

/// Settings of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Course {
    /// Service of timers at both ends.
    pub service: Service,
    /// Share of data segments that is lost, 0 to 1.
    pub loss: f64,
    /// The application writes no data.
    pub idle: bool,
    /// Between these two seconds, packets for others arrive as fast as the thread can handle them.
    pub flood_s: Option<(u64, u64)>,
    /// Length in seconds.
    pub seconds: u64,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// Results of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Found {
    /// Application octets per second, kb/s.
    pub goodput_kbps: f64,
    /// Goodput over the last minute, kb/s.
    pub last_kbps: f64,
    /// Timer wake-ups of the sender's CPU per second.
    pub wake_ups_per_s: f64,
    /// Mean time from the deadline of a timer to its service, ms.
    pub late_ms: f64,
    /// Expiries that were lost.
    pub dropped: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Other;

impl Peer for Other {
    fn pseudo_header_sum(&self, tcp_len: usize) -> u16 {
        tcp_len as u16 + 6
    }

    fn hash_into<H: Hasher>(&self, _: &mut H) {}
}

struct Plan;

impl Sizes for Plan {
    type Congestion = NewReno;
    type Features = Full;
    type SendBuffer = [u8; BUFFER];
    type Pieces = [Piece; 0];
    type ReceiveBuffer = [u8; BUFFER];
    type ReceiveMap = [u8; BUFFER / 8];
    type Segments = [SegmentRecord; 6];
    type Connections<K: Peer> = [Slot<K, Self>; 1];
    type Listeners = [Option<Listener>; 1];
    type HalfOpen<K: Peer> = [Option<HalfOpen<K>>; 1];
    type TimeWait<K: Peer> = [Option<TimeWait<K>>; 1];
    type Servers<K: Peer> = [Option<KnownServer<K>>; 1];
}

/// An entry of a thread's queue.
enum Entry {
    Packet(Vec<u8>),
    Expiry,
    /// A packet for another node.
    Other,
}

/// One end: TCP, its driver, and segments in flight to it.
struct End {
    tcp: Endpoint<Other, Plan>,
    handle: Option<Handle>,
    /// (time of arrival, segment)
    coming: VecDeque<(u64, Vec<u8>)>,
    /// Time at which the link to this end is free.
    link_free_ms: f64,
    queue: VecDeque<Entry>,
    busy_until_ms: u64,
    /// The deadline of the last expiry: a one-shot timer fires once.
    fired: Option<Instant>,
    wake_ups: u64,
    late_us: u64,
    served: u64,
    dropped: u64,
}

impl End {
    fn new(secret: u8) -> Self {
        End {
            tcp: Endpoint::new(TcpConfig::new([secret; 16])),
            handle: None,
            coming: VecDeque::new(),
            link_free_ms: 0.0,
            queue: VecDeque::new(),
            busy_until_ms: 0,
            fired: None,
            wake_ups: 0,
            late_us: 0,
            served: 0,
            dropped: 0,
        }
    }

    fn is_due(&self, now: Instant) -> bool {
        self.tcp.deadline().is_some_and(|due| due <= now)
    }

    fn serve(&mut self, now: Instant) {
        let Some(due) = self.tcp.deadline().filter(|due| *due <= now) else { return };
        self.late_us += now.checked_since(due).unwrap_or_default().as_micros();
        self.served += 1;
        self.tcp.handle_deadline(now);
    }

    fn timers(&mut self, now: Instant, service: Service) {
        match service {
            Service::Deadline if self.is_due(now) => {
                self.wake_ups += 1;
                self.serve(now);
            }
            Service::Tick(period) if now.as_millis().is_multiple_of(period) => {
                self.wake_ups += 1;
                self.serve(now);
            }
            Service::SharedQueue(entries) if self.is_due(now) => {
                let due = self.tcp.deadline();
                if self.fired != due {
                    self.fired = due;
                    self.wake_ups += 1;
                    if !self.enqueue(entries, Entry::Expiry) {
                        self.dropped += 1;
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns false if the queue is full.
    fn enqueue(&mut self, entries: usize, entry: Entry) -> bool {
        let room = self.queue.len() < entries;
        if room {
            self.queue.push_back(entry);
        }
        room
    }

    /// Queues arrived segments, and handles one entry if the thread is idle.
    fn packets(&mut self, now: Instant, flooded: bool, service: Service) {
        let entries = match service {
            Service::SharedQueue(entries) => entries,
            // A queue for packets only.
            Service::Deadline | Service::Tick(_) => 8,
        };
        let ms = now.as_millis();
        while self.coming.front().is_some_and(|(at, _)| *at <= ms) {
            let Some((_, segment)) = self.coming.pop_front() else { break };
            self.enqueue(entries, Entry::Packet(segment));
        }
        if flooded {
            while self.enqueue(entries, Entry::Other) {}
        }
        if ms < self.busy_until_ms {
            return;
        }
        if let Some(entry) = self.queue.pop_front() {
            self.busy_until_ms = ms + ENTRY_MS;
            match entry {
                Entry::Packet(segment) => {
                    let ecn = Ecn::NotEct;
                    // Segments are never damaged, and TCP handles late ones.
                    let _ = self.tcp.handle_packet(now, Other, ecn, &segment);
                }
                Entry::Expiry => self.serve(now),
                Entry::Other => {}
            }
        }
    }
}

/// Runs a simulation.
pub(crate) fn run(course: Course) -> Found {
    let mut ends = [End::new(1), End::new(2)];
    let mut dice = Stream::from_seed(course.seed);
    let config = ConnectionConfig {
        mss: 462,
        pacing: false,
        link_losses: false,
        ..ConnectionConfig::DEFAULT
    };
    let [sender, receiver] = &mut ends;
    // Both tables are empty.
    let _ =
        receiver.tcp.listen(PORT, ListenConfig { connection: config, ..ListenConfig::default() });
    sender.handle = sender.tcp.connect(Instant::ZERO, Other, PORT, config).ok();
    let (mut received, mut before_last) = (0, 0);
    for ms in 0..course.seconds * 1_000 {
        let now = Instant::ZERO + Duration::from_millis(ms);
        let [sender, receiver] = &mut ends;
        if let (Some(handle), false) = (sender.handle, course.idle) {
            let room = sender.tcp.can_send(handle);
            // There is room for the data.
            let _ = sender.tcp.send(handle, &[0x55; BUFFER][..room.min(BUFFER)]);
        }
        receiver.handle = receiver.handle.or_else(|| receiver.tcp.accept(PORT));
        if let Some(handle) = receiver.handle {
            received += receiver.tcp.recv(handle, &mut [0; BUFFER]).unwrap_or(0);
        }
        let flooded = course.flood_s.is_some_and(|(from, to)| (from..to).contains(&(ms / 1_000)));
        sender.packets(now, flooded, course.service);
        receiver.packets(now, false, course.service);
        for side in 0..2 {
            ends[side].timers(now, course.service);
            let lost = if side == 0 { course.loss } else { 0.0 };
            transmit(&mut ends, side, now, lost, &mut dice);
        }
        if ms + 60_000 == course.seconds * 1_000 {
            before_last = received;
        }
    }
    let (seconds, sender) = (course.seconds as f64, &ends[0]);
    Found {
        goodput_kbps: received as f64 * 8.0 / 1e3 / seconds,
        last_kbps: (received - before_last) as f64 * 8.0 / 1e3 / 60.0,
        wake_ups_per_s: sender.wake_ups as f64 / seconds,
        late_ms: sender.late_us as f64 / 1e3 / sender.served.max(1) as f64,
        dropped: sender.dropped,
    }
}

/// Sends the segments of one end to the other, unless they are lost.
fn transmit(ends: &mut [End; 2], side: usize, now: Instant, lost: f64, dice: &mut Stream) {
    while let Some(packet) = ends[side].tcp.poll_packet(now) {
        let mut segment = packet.header.to_vec();
        let header = segment.len();
        let len = usize::from(packet.payload.len);
        segment.resize(header + len, 0);
        if len > 0
            && ends[side].tcp.read_payload(packet.payload, 0, &mut segment[header..]).is_err()
        {
            continue;
        }
        let other = &mut ends[1 - side];
        let free = other.link_free_ms.max(now.as_millis() as f64);
        other.link_free_ms = free + segment.len() as f64 / OCTETS_PER_MS;
        if len == 0 || !dice.chance(lost) {
            other.coming.push_back((other.link_free_ms as u64 + DELAY_MS, segment));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COURSE: Course = Course {
        service: Service::Deadline,
        loss: 0.0,
        idle: false,
        flood_s: None,
        seconds: 120,
        seed: 1,
    };

    #[test]
    fn without_loss_the_link_is_full_and_nothing_is_late() {
        let found = run(COURSE);
        assert!((60.0..75.0).contains(&found.goodput_kbps), "{found:?}");
        assert!(found.late_ms <= 1.0, "{found:?}");
    }

    #[test]
    fn an_idle_connection_wakes_no_node_but_a_tick_does() {
        let idle = |service| run(Course { service, idle: true, ..COURSE }).wake_ups_per_s;
        assert!(idle(Service::Deadline) < 0.05);
        assert!((idle(Service::Tick(500)) - 2.0).abs() < 0.05);
    }

    #[test]
    fn a_tick_serves_timers_late_by_up_to_itself() {
        let late = |ms| run(Course { service: Service::Tick(ms), loss: 0.05, ..COURSE }).late_ms;
        assert!((20.0..200.0).contains(&late(200)), "{}", late(200));
        assert!((50.0..500.0).contains(&late(500)), "{}", late(500));
    }

    #[test]
    fn an_expiry_that_finds_the_queue_full_is_lost_and_the_connection_hangs() {
        let flood = Course { loss: 0.05, flood_s: Some((20, 40)), ..COURSE };
        let shared = run(Course { service: Service::SharedQueue(8), ..flood });
        let own = run(flood);
        assert!(shared.dropped > 0 && shared.last_kbps == 0.0, "{shared:?}");
        assert!(own.dropped == 0 && own.last_kbps > 30.0, "{own:?}");
    }
}
