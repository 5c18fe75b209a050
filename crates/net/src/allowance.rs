//! A token bucket of radio time bounds the cost of unsolicited packets to a sleeping neighbour.
//!
//! A packet from outside the mesh that the neighbour has not requested takes the cost of its frames
//! from the bucket. The neighbour's response takes its own cost afterwards, so the bucket may be
//! overdrawn. Over any interval unsolicited packets cost at most [`RATE`] of the time plus one full
//! bucket. Packets of the neighbour's own flows are free: a TCP connection that the neighbour has
//! opened or in which it has sent more than SYN-ACK and RST, UDP to a peer to which the neighbour
//! sent first, and replies to its echo requests.

use core::num::NonZeroU32;
use kinglet_time::{Duration, Instant};

/// Cost of a frame, in microseconds of radio, with its share of the data request that fetches it,
/// of acknowledgements and of the back-off. At leaves of the office of
/// `examples/gateway-office.toml` it is 7 ms for one of 50 octets and 9 ms for one of 120; where
/// the same strangers flood the routers, retransmissions make it 18 ms and more (`soak attacked`).
const FRAME_US: u32 = 20_000;
/// Octets of packets that are in a frame.
const FRAME_LEN: usize = 80;
/// Content of a full bucket: half a dozen echo requests with their replies.
const DEPTH_US: u32 = 240_000;
/// The bucket fills by one part in 2^8 of the time: 0.39 %.
const RATE: u32 = 8;
/// Places for own flows and for flows of strangers. A new flow replaces the oldest.
const OWN: usize = 4;
const FOREIGN: usize = 3;

/// The side that began a flow, as far as a packet of the neighbour shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The neighbour: it has requested the packets of the other direction.
    Own,
    /// The stranger: this is a response.
    Answer,
    /// Either side: UDP does not show it.
    Either,
}

/// The bucket of one neighbour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    spent_us: u32,
    since: Instant,
    /// The newest first.
    own: [Option<NonZeroU32>; OWN],
    foreign: [Option<NonZeroU32>; FOREIGN],
}

/// Frames of a packet of so many octets.
const fn cost(len: usize) -> u32 {
    // Packets have at most 65,535 octets.
    let frames = (len / FRAME_LEN) as u32;
    frames.saturating_add(1).saturating_mul(FRAME_US)
}

fn remember(table: &mut [Option<NonZeroU32>], key: NonZeroU32) {
    if !table.contains(&Some(key)) {
        table.rotate_right(1);
        if let Some(first) = table.first_mut() {
            *first = Some(key);
        }
    }
}

impl Allowance {
    pub(crate) const FULL: Allowance =
        Allowance { spent_us: 0, since: Instant::ZERO, own: [None; OWN], foreign: [None; FOREIGN] };

    /// Lets time fill the bucket.
    fn settle(&mut self, now: Instant) {
        let earned = (now - self.since).as_micros() >> RATE;
        self.since += Duration::from_micros(earned << RATE);
        self.spent_us = self.spent_us.saturating_sub(u32::try_from(earned).unwrap_or(u32::MAX));
    }

    /// Charges a stranger's packet of `len` octets, unless it is solicited; `asked` if it may be.
    /// Returns whether the packet may wait.
    pub(crate) fn takes(&mut self, now: Instant, key: NonZeroU32, asked: bool, len: usize) -> bool {
        if asked && self.own.contains(&Some(key)) {
            return true;
        }
        self.settle(now);
        // The response may cost as much again; a packet that exceeds the bucket needs a full one.
        let after = self.spent_us.saturating_add(cost(len).saturating_mul(2));
        if after > DEPTH_US && self.spent_us > 0 {
            return false;
        }
        self.spent_us = self.spent_us.saturating_add(cost(len));
        remember(&mut self.foreign, key);
        true
    }

    /// Notes a packet of `len` octets from the neighbour to a stranger.
    pub(crate) fn note(&mut self, now: Instant, key: NonZeroU32, sent: Sent, len: usize) {
        if sent == Sent::Own || sent == Sent::Either && !self.foreign.contains(&Some(key)) {
            return remember(&mut self.own, key);
        }
        self.settle(now);
        self.spent_us = self.spent_us.saturating_add(cost(len));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u32) -> NonZeroU32 {
        NonZeroU32::new(number).unwrap()
    }

    /// Returns the milliseconds that packets of these octets, with responses of the same size, cost
    /// in an hour, if one comes after each `wait`.
    fn spent_in_an_hour(len: usize, answers: u32, wait: Duration) -> u32 {
        let (mut bucket, mut now, mut cost_us) = (Allowance::FULL, Instant::from_secs(9), 0);
        let end = now + Duration::from_secs(3_600);
        while now < end {
            if bucket.takes(now, key(1), true, len) {
                cost_us += cost(len) * (1 + answers);
                (0..answers).for_each(|_| bucket.note(now, key(1), Sent::Answer, len));
            }
            now += wait;
        }
        cost_us / 1_000
    }

    #[test]
    fn strangers_cost_at_most_their_share_at_any_rate() {
        // 0.39 % of an hour, a full bucket, and a packet that was longer than the bucket.
        let most = 3_600_000 / 256 + DEPTH_US / 1_000 + 2 * cost(1_280) / 1_000;
        for wait_ms in [1, 10, 300, 1_000, 7_000] {
            for (len, answers) in [(50, 1), (64, 8), (1_248, 1), (65, 0)] {
                let spent = spent_in_an_hour(len, answers, Duration::from_millis(wait_ms));
                assert!(spent <= most, "{len} octets every {wait_ms} ms: {spent} ms");
            }
        }
        let rare = spent_in_an_hour(50, 1, Duration::from_secs(60));
        assert_eq!(rare, 60 * 2 * FRAME_US / 1_000, "rare ones pass");
    }

    #[test]
    fn own_connections_are_free_and_answers_do_not_open_one() {
        let (mut bucket, now) = (Allowance::FULL, Instant::from_secs(9));
        bucket.note(now, key(7), Sent::Own, 60);
        bucket.note(now, key(8), Sent::Either, 60);
        assert!((0..99).all(|_| bucket.takes(now, key(7), true, 1_280)));
        assert!((0..99).all(|_| bucket.takes(now, key(8), true, 1_280)));
        // An attacker repeats SYNs with the addresses and ports of a known connection.
        assert_eq!((0..99).filter(|_| bucket.takes(now, key(7), false, 60)).count(), 11);
        let mut bucket = Allowance::FULL;
        assert!(bucket.takes(now, key(9), true, 60));
        bucket.note(now, key(9), Sent::Either, 60);
        assert_eq!((0..99).filter(|_| bucket.takes(now, key(9), true, 60)).count(), 9);
        assert!(!bucket.takes(now + Duration::from_millis(2_000), key(9), true, 60));
        assert!(bucket.takes(now + Duration::from_millis(5_120), key(9), true, 60));
    }
}
