//! The queue between a fast wire and a slow radio, at a border router.
//!
//! With [`BorderPolicy::Fair`](crate::BorderPolicy::Fair) packets from the host wait here, and not
//! with those that the node relays by radio. One packet at a time goes on when the radio can take
//! it. Packets are not changed.
//!
//! Each sender paces itself, but many senders together are not paced, and the first relays of a
//! tree have to forward the packets of all of them. So while packets go to many destinations, a
//! packet that others relay delays the next one to another destination by twice the time of its
//! transmission: until the packet is two hops further, and transmissions do not disturb each other
//! any more. If its transmission takes much longer than others because the link is bad, the relays'
//! links are assumed not to be bad. The windows of a few senders fit into a relay's queue, so that
//! their packets are not delayed.
//!
//! Each destination has a queue of its own, and all get the same share of octets (start-time fair
//! queueing, Goyal et al., SIGCOMM 1996). A packet begins at the end of its predecessor in its
//! queue, or at the beginning of the packet that was sent last, whichever is later. The packet with
//! the first beginning is next. A destination that has not been served for a while is next. If
//! there is no room, the destination with most packets loses its oldest (RFC 8290, 4.1.2). CoDel,
//! RFC 8290's other half, is not used: a window of a few segments, as nodes have, bounds the number
//! of waiting packets, and a drop costs it a timeout (docs/decisions/0040).

use crate::outgoing::Queued;
use crate::pool::PacketHandle;
use kinglet_time::{Duration, Instant};

/// The number of relays that forward a packet before the next packet follows.
const RELAYS: u32 = 2;
/// The relays' time for an octet is at most so many times that of the quickest packets.
const SLOWER: u64 = 2;
/// Packets are delayed while the last [`RECENT`] ones went to so many destinations at least: with
/// windows of four segments two of them fill a relay's queue of ten packets, and three do not fit.
const MANY: usize = 3;
/// The number of last packets from which the present destinations are counted.
const RECENT: u32 = 8;

/// Counters of a border queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BorderStats {
    /// The number of packets taken in.
    pub taken: u32,
    /// The number of packets that went on to the radio.
    pub passed: u32,
    /// The number of packets dropped because there was no room.
    pub dropped: u32,
    /// The largest number of packets that waited at a time.
    pub most: u16,
    /// The longest wait of a packet that went on.
    pub longest: Duration,
}

impl BorderStats {
    const ZERO: BorderStats =
        BorderStats { taken: 0, passed: 0, dropped: 0, most: 0, longest: Duration::ZERO };

    /// Returns the reason for which packets from the host were dropped, with its count.
    pub fn reasons(&self) -> impl Iterator<Item = (&'static str, u32)> {
        [("dropped", self.dropped)].into_iter()
    }
}

/// A packet from the host.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    queued: Queued,
    /// The index of its destination.
    flow: u16,
    /// Its beginning, in octets.
    start: u32,
    len: u16,
    since: Instant,
    /// True if it is relayed beyond the next hop.
    relayed: bool,
}

/// A packet that is being sent.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    datagram: u32,
    flow: u16,
    len: u16,
    since: Instant,
    relayed: bool,
}

/// A destination.
#[derive(Clone, Copy, Debug)]
struct Flow {
    key: u32,
    /// The end of its last packet, in octets.
    finish: u32,
    waiting: u16,
    /// The value of [`BorderStats::passed`] when its last packet went on.
    last: u32,
}

/// A packet as it comes from the host.
#[derive(Clone, Copy, Debug)]
pub struct FromHost {
    /// The packet and its next hop.
    pub(crate) queued: Queued,
    /// A number that all packets to its destination share.
    pub(crate) key: u32,
    /// The length in octets.
    pub(crate) len: u16,
    /// True if it is relayed beyond the next hop.
    pub(crate) relayed: bool,
}

/// A border queue, or none: [`BorderQueue`] or `()`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no border queue",
    note = "the `border` of a plan is `()` or `net::BorderQueue`"
)]
pub trait Border {
    /// True if there is one.
    const PRESENT: bool;
    /// An empty queue.
    const EMPTY: Self;

    /// Takes a packet in. Returns the packet that is dropped because at most `limit` may wait,
    /// perhaps this one.
    fn push(&mut self, now: Instant, limit: usize, packet: FromHost) -> Option<PacketHandle>;
    /// Returns the next packet; `None` while it is delayed.
    fn front(&self) -> Option<Queued>;
    /// Removes the next packet, which goes on as the datagram of this number.
    fn pop(&mut self, now: Instant, datagram: u32);
    /// Notes that all frames of this datagram have been sent.
    fn note_sent(&mut self, now: Instant, datagram: u32);
    /// Returns the time for [`Border::handle_deadline`].
    fn deadline(&self) -> Option<Instant>;
    /// Ends a delay that is over.
    fn handle_deadline(&mut self, now: Instant);
    /// Returns whether a packet of this queue was sent last, so that a relayed one is next.
    fn yields(&self) -> bool;
    /// Notes that another packet was sent.
    fn note_other(&mut self);
    /// Returns the number of waiting packets.
    fn waiting(&self) -> usize;
    /// Returns its counters.
    fn stats(&self) -> Option<&BorderStats>;
}

impl Border for () {
    const PRESENT: bool = false;
    const EMPTY: Self = ();

    fn push(&mut self, _: Instant, _: usize, packet: FromHost) -> Option<PacketHandle> {
        Some(packet.queued.packet)
    }

    fn front(&self) -> Option<Queued> {
        None
    }

    fn pop(&mut self, _: Instant, _: u32) {}

    fn note_sent(&mut self, _: Instant, _: u32) {}

    fn deadline(&self) -> Option<Instant> {
        None
    }

    fn handle_deadline(&mut self, _: Instant) {}

    fn yields(&self) -> bool {
        false
    }

    fn note_other(&mut self) {}

    fn waiting(&self) -> usize {
        0
    }

    fn stats(&self) -> Option<&BorderStats> {
        None
    }
}

/// A border queue for `N` packets from the host and as many destinations. Each packet needs a slot,
/// so [`Sizes::Packets`](crate::Sizes::Packets) must have as many more.
#[derive(Debug)]
pub struct BorderQueue<const N: usize> {
    waiting: [Option<Waiting>; N],
    flows: [Flow; N],
    /// The beginning of the packet that was sent last.
    clock: u32,
    len: u16,
    was_last: bool,
    leaving: Option<Leaving>,
    /// The time of the quickest recent packets, in microseconds per octet.
    quickest: u64,
    /// The end of a delay, and the destination of the last packet, to which alone packets may
    /// follow until then.
    closed: Option<(Instant, u16)>,
    stats: BorderStats,
}

impl<const N: usize> BorderQueue<N> {
    /// Returns the distance from the packet that was sent last to `at`; 0 if that is behind it.
    fn ahead(&self, at: u32) -> u32 {
        let ahead = at.wrapping_sub(self.clock);
        if ahead >> 31 == 1 { 0 } else { ahead }
    }

    /// Returns the index of a destination: its own, or that of the idle destination whose turn
    /// would be first.
    fn flow(&mut self, key: u32) -> Option<u16> {
        let known = self.flows.iter().position(|flow| flow.key == key);
        if let Some(place) = known {
            return u16::try_from(place).ok();
        }
        let idle = self.flows.iter().enumerate().filter(|(_, flow)| flow.waiting == 0);
        let (place, _) = idle.min_by_key(|(_, flow)| self.ahead(flow.finish))?;
        let clock = self.clock;
        let last = self.stats.passed.wrapping_sub(RECENT);
        *self.flows.get_mut(place)? = Flow { key, finish: clock, waiting: 0, last };
        u16::try_from(place).ok()
    }

    /// Returns the place of the next packet: of those that begin first, the oldest.
    fn first(&self) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        let all = self.waiting.iter().enumerate();
        let all = all.filter_map(|(place, waiting)| Some((place, waiting.as_ref()?)));
        let (place, _) = all.min_by_key(|(_, w)| (self.ahead(w.start), w.since))?;
        Some(place)
    }

    /// Returns the place of the oldest packet of the destination with most packets.
    fn oldest_of_most(&self) -> Option<usize> {
        let flows = self.flows.iter().enumerate();
        let (most, _) = flows.max_by_key(|(_, flow)| flow.waiting)?;
        let all = self.waiting.iter().enumerate();
        let all = all.filter_map(|(place, waiting)| Some((place, waiting.as_ref()?)));
        let its = all.filter(|(_, waiting)| usize::from(waiting.flow) == most);
        its.min_by_key(|(_, waiting)| waiting.since).map(|(place, _)| place)
    }

    /// Returns whether recent packets went to many destinations.
    fn has_many(&self) -> bool {
        let passed = self.stats.passed;
        let recent = |flow: &&Flow| passed.wrapping_sub(flow.last) < RECENT;
        self.flows.iter().filter(recent).count() >= MANY
    }

    fn take(&mut self, place: usize) -> Option<Waiting> {
        let taken = self.waiting.get_mut(place)?.take()?;
        if let Some(flow) = self.flows.get_mut(usize::from(taken.flow)) {
            flow.waiting = flow.waiting.saturating_sub(1);
        }
        self.len = self.len.saturating_sub(1);
        Some(taken)
    }
}

impl<const N: usize> Border for BorderQueue<N> {
    const PRESENT: bool = true;
    const EMPTY: Self = BorderQueue {
        waiting: [None; N],
        flows: [Flow { key: 0, finish: 0, waiting: 0, last: u32::MAX / 2 }; N],
        clock: 0,
        len: 0,
        was_last: false,
        leaving: None,
        quickest: u64::MAX / 4,
        closed: None,
        stats: BorderStats::ZERO,
    };

    fn push(&mut self, now: Instant, limit: usize, packet: FromHost) -> Option<PacketHandle> {
        let FromHost { queued, key, len, relayed } = packet;
        self.stats.taken = self.stats.taken.wrapping_add(1);
        let mut gone = None;
        if self.waiting() >= limit.min(N) {
            self.stats.dropped = self.stats.dropped.wrapping_add(1);
            let place = self.oldest_of_most();
            gone = place.and_then(|place| self.take(place)).map(|taken| taken.queued.packet);
            if gone.is_none() {
                return Some(queued.packet);
            }
        }
        let place = self.waiting.iter().position(Option::is_none);
        let places = place.zip(self.flow(key));
        let Some((place, index)) = places else { return Some(queued.packet) };
        let clock = self.clock;
        let at = usize::from(index);
        let Some(flow) = self.flows.get(at) else { return Some(queued.packet) };
        let start = clock.wrapping_add(self.ahead(flow.finish));
        if let Some(flow) = self.flows.get_mut(at) {
            flow.finish = start.wrapping_add(len.into());
            flow.waiting = flow.waiting.saturating_add(1);
        }
        if let Some(free) = self.waiting.get_mut(place) {
            *free = Some(Waiting { queued, flow: index, start, len, since: now, relayed });
            self.len = self.len.saturating_add(1);
        }
        self.stats.most = self.stats.most.max(self.len);
        gone
    }

    fn front(&self) -> Option<Queued> {
        let first = self.waiting.get(self.first()?)?.as_ref()?;
        let waits = self.closed.is_some_and(|(_, flow)| flow != first.flow);
        (!waits).then_some(first.queued)
    }

    fn pop(&mut self, now: Instant, datagram: u32) {
        let Some(gone) = self.first().and_then(|place| self.take(place)) else { return };
        self.clock = gone.start;
        self.was_last = true;
        self.stats.passed = self.stats.passed.wrapping_add(1);
        self.stats.longest = self.stats.longest.max(now - gone.since);
        let Waiting { flow, relayed, len, .. } = gone;
        if let Some(flow) = self.flows.get_mut(usize::from(flow)) {
            flow.last = self.stats.passed;
        }
        self.leaving = Some(Leaving { datagram, flow, len, since: now, relayed });
    }

    fn note_sent(&mut self, now: Instant, datagram: u32) {
        let Some(sent) = self.leaving.take_if(|leaving| leaving.datagram == datagram) else {
            return;
        };
        let octets = u64::from(sent.len.max(1));
        let took = (now - sent.since).as_micros().checked_div(octets).unwrap_or(0);
        self.quickest = took.min(self.quickest.saturating_add(self.quickest / 8).saturating_add(1));
        if sent.relayed && self.has_many() {
            let pace = took.min(self.quickest.saturating_mul(SLOWER));
            let gap = Duration::from_micros(pace.saturating_mul(octets)) * RELAYS;
            self.closed = Some((now + gap, sent.flow));
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.closed.map(|(until, _)| until)
    }

    fn handle_deadline(&mut self, now: Instant) {
        let _ = self.closed.take_if(|(until, _)| *until <= now);
    }

    fn yields(&self) -> bool {
        self.was_last
    }

    fn note_other(&mut self) {
        self.was_last = false;
    }

    fn waiting(&self) -> usize {
        usize::from(self.len)
    }

    fn stats(&self) -> Option<&BorderStats> {
        Some(&self.stats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Pool;
    use crate::pool::Slot;
    use kinglet_wire::ieee802154::Address;
    use std::vec::Vec;

    const N: usize = 8;
    const DATAGRAM: u32 = 5;
    /// Packets to this destination and those with higher numbers are not relayed.
    const NEAR: u32 = 99;
    type Slots = [Slot<[u8; 4]>; 16];

    struct Test {
        queue: BorderQueue<N>,
        pool: Pool<Slots, [u8; 4]>,
        now: Instant,
        /// The destination of the packet in each slot.
        of: Vec<(PacketHandle, u32)>,
    }

    impl Test {
        fn new() -> Self {
            let (queue, pool) = (BorderQueue::EMPTY, Pool::new());
            Test { queue, pool, now: Instant::ZERO, of: Vec::new() }
        }

        /// Takes in a packet for a destination. Returns the destination of the dropped packet.
        fn push(&mut self, key: u32, len: u16) -> Option<u32> {
            self.now += Duration::from_millis(1);
            let packet = self.pool.alloc(0).expect("a slot");
            self.of.push((packet, key));
            let queued = Queued { packet, next_hop: Address::Short(1) };
            let packet = FromHost { queued, key, len, relayed: key < NEAR };
            let gone = self.queue.push(self.now, N, packet)?;
            Some(self.release(gone))
        }

        /// Notes after `ms` milliseconds that the packet that left last has been sent.
        fn sent(&mut self, ms: u64) {
            self.now += Duration::from_millis(ms);
            self.queue.note_sent(self.now, DATAGRAM);
        }

        fn release(&mut self, packet: PacketHandle) -> u32 {
            let place = self.of.iter().position(|(it, _)| *it == packet).expect("it is known");
            assert!(self.pool.release(packet));
            self.of.remove(place).1
        }

        fn pop(&mut self) -> Option<u32> {
            self.now += Duration::from_millis(1);
            let packet = self.queue.front()?.packet;
            self.queue.pop(self.now, DATAGRAM);
            Some(self.release(packet))
        }

        /// Passes packets on to as many other destinations as are needed for a delay.
        fn many(&mut self) {
            for key in (NEAR..).take(MANY - 1) {
                pass(self, key);
            }
        }

        fn drain(&mut self) -> Vec<u32> {
            core::iter::from_fn(|| self.pop()).collect()
        }
    }

    /// Passes on a packet to a destination.
    fn pass(test: &mut Test, key: u32) {
        assert_eq!((test.push(key, 100), test.pop()), (None, Some(key)));
    }

    #[test]
    fn destinations_are_served_round_robin() {
        let mut test = Test::new();
        for key in [1, 1, 1, 2, 2, 3] {
            assert_eq!(test.push(key, 100), None);
        }
        assert_eq!(test.drain(), [1, 2, 3, 1, 2, 1]);
        assert_eq!(test.queue.waiting(), 0);
    }

    #[test]
    fn shares_are_of_octets_and_not_of_packets() {
        let mut test = Test::new();
        for (key, len) in [(1, 400), (1, 400), (2, 100), (2, 100), (2, 100), (2, 100)] {
            test.push(key, len);
        }
        assert_eq!(test.drain(), [1, 2, 2, 2, 2, 1]);
    }

    #[test]
    fn a_destination_with_one_packet_waiting_gets_no_more_than_one_with_many() {
        let mut test = Test::new();
        (0..4).for_each(|_| assert_eq!(test.push(1, 100), None));
        let mut sent = [0; 2];
        for _ in 0..200 {
            if !test.of.iter().any(|(_, key)| *key == 2) {
                test.push(2, 100);
            }
            while test.of.iter().filter(|(_, key)| *key == 1).count() < 4 {
                test.push(1, 100);
            }
            let key = test.pop().expect("something waits");
            sent[key as usize - 1] += 1;
        }
        assert_eq!(sent, [100, 100]);
    }

    #[test]
    fn without_room_the_one_with_most_loses_its_oldest() {
        let mut test = Test::new();
        for key in [1, 2, 2, 2, 2, 2, 3, 3] {
            assert_eq!(test.push(key, 100), None);
        }
        let oldest = test.of[1].0;
        assert_eq!(test.push(1, 100), Some(2));
        assert!(test.of.iter().all(|(packet, _)| *packet != oldest));
        assert_eq!(test.push(2, 100), Some(2), "its own if it has most");
        let stats = *test.queue.stats().expect("it is one");
        assert_eq!((stats.taken, stats.dropped, stats.most), (10, 2, N as u16));
    }

    #[test]
    fn the_clock_wraps_and_more_destinations_come_than_there_are_places() {
        let mut test = Test::new();
        test.queue.clock = u32::MAX - 150;
        for flow in &mut test.queue.flows {
            flow.finish = u32::MAX - 150;
        }
        for round in 0..40 {
            for key in [3 * round + 1, 3 * round + 1, 3 * round + 2] {
                assert_eq!(test.push(key, 100), None);
            }
            assert_eq!(test.drain(), [3 * round + 1, 3 * round + 2, 3 * round + 1]);
        }
    }

    #[test]
    fn another_destination_waits_until_two_relays_have_passed_the_packet_on() {
        let mut test = Test::new();
        test.many();
        for key in [1, 2, 2] {
            test.push(key, 100);
        }
        assert_eq!(test.pop(), Some(1));
        test.sent(10);
        assert_eq!(test.pop(), None);
        let until = test.queue.deadline().expect("it waits");
        assert_eq!(until - test.now, Duration::from_millis(20 - 1), "a pop takes a millisecond");
        test.queue.handle_deadline(until - Duration::from_micros(1));
        assert_eq!(test.pop(), None);
        test.queue.handle_deadline(until);
        assert_eq!((test.pop(), test.queue.deadline()), (Some(2), None));
        test.sent(10);
        assert_eq!(test.pop(), Some(2), "whoever sends there has an eye on what is on the way");
    }

    #[test]
    fn a_packet_that_takes_long_is_waited_for_no_longer_than_four_quick_ones_take() {
        let mut test = Test::new();
        test.many();
        for (key, took, waits) in [(1, 9, 18), (2, 99, 40), (3, 9, 18)] {
            test.push(key, 100);
            assert_eq!(test.pop(), Some(key));
            test.sent(took);
            let until = test.queue.deadline().expect("the next waits");
            let left = (until - test.now).as_micros() / 1_000;
            assert!(left.abs_diff(waits) <= 2, "{key}: {left} ms");
            test.queue.handle_deadline(until);
        }
    }

    #[test]
    fn packets_to_few_destinations_of_late_are_not_delayed() {
        let mut test = Test::new();
        let delays = |test: &mut Test| {
            pass(test, 1);
            test.sent(10);
            let until = test.queue.deadline();
            until.inspect(|&until| test.queue.handle_deadline(until)).is_some()
        };
        (2..MANY as u32).for_each(|key| pass(&mut test, key));
        assert!(!delays(&mut test));
        pass(&mut test, MANY as u32);
        // Two packets have followed the one to destination 2; it counts until eight have.
        let counted = (0..RECENT).filter(|_| delays(&mut test)).count();
        assert_eq!(counted, RECENT as usize - 3);
    }

    #[test]
    fn no_packet_waits_for_one_that_is_not_relayed() {
        let mut test = Test::new();
        test.push(NEAR, 100);
        test.push(1, 100);
        assert_eq!(test.pop(), Some(NEAR));
        test.sent(10);
        assert_eq!((test.queue.deadline(), test.pop()), (None, Some(1)));
        test.queue.note_sent(test.now, DATAGRAM + 1);
        assert_eq!(test.queue.deadline(), None, "that is another datagram");
    }
}
