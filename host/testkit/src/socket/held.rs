//! Octets between an application and its connection: those that a socket holds back (TCP_CORK,
//! MSG_MORE, MSG_EOR of tcp(7) and send(2)) and those that it has been lent (MSG_ZEROCOPY).

use kinglet_time::{Duration, Instant};
use std::collections::VecDeque;

/// Time for which a partial segment is held back (tcp(7), TCP_CORK).
const CEILING: Duration = Duration::from_millis(200);

/// Octets that a socket has accepted and its connection has not.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    pub(super) octets: VecDeque<u8>,
    /// Ends of records in `octets`: the octets after an end begin a new segment.
    pub(super) ends: VecDeque<usize>,
    /// True if the connection has a whole record: further octets wait until all of it has been
    /// sent.
    pub(super) fenced: bool,
    /// TCP_CORK.
    pub(super) corked: bool,
    /// True if the last write had MSG_MORE.
    pub(super) more: bool,
    /// Time at which a partial segment is sent all the same.
    pub(super) until: Option<Instant>,
}

impl Held {
    pub(super) fn len(&self) -> usize {
        self.octets.len()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.until
    }

    /// Releases the held octets, though the cork stays (tcp(7), TCP_NODELAY).
    pub(super) fn release(&mut self, now: Instant) {
        self.until = self.until.and(Some(now));
    }

    /// Starts or stops the timer of a partial segment. A record that waits for the previous one
    /// waits without a limit.
    pub(super) fn keep_time(&mut self, now: Instant) {
        let parted = !self.octets.is_empty() && !self.fenced;
        self.until = parted.then(|| self.until.unwrap_or(now + CEILING));
    }

    /// Returns the number of octets that may be passed to a connection with `unsent` unsent ones,
    /// and whether a record ends there.
    pub(super) fn ready(&self, now: Instant, mss: usize, unsent: usize) -> (usize, bool) {
        let end = self.ends.front().copied();
        let available = end.unwrap_or(self.len());
        let due = self.until.is_some_and(|until| until <= now);
        if end.is_some() || due || !(self.corked || self.more) {
            return (available, end.is_some());
        }
        let whole = (unsent + available) / mss * mss;
        (whole.saturating_sub(unsent), false)
    }
}

/// Writes with MSG_ZEROCOPY whose octets must not be changed yet, and the notifications of
/// completed ones (the kernel's documentation of MSG_ZEROCOPY).
#[derive(Clone, Debug, Default)]
pub(super) struct Lent {
    /// SO_ZEROCOPY.
    pub(super) on: bool,
    /// Number of the next write.
    next: u32,
    /// Numbers of the writes, and the total written after each.
    writes: VecDeque<(u32, u32)>,
    /// First and last numbers of completed writes.
    over: VecDeque<(u32, u32)>,
}

impl Lent {
    /// Records a write that ended after `written` octets in total.
    pub(super) fn lend(&mut self, written: u32) {
        if self.on {
            self.writes.push_back((self.next, written));
            self.next = self.next.wrapping_add(1);
        }
    }

    /// Completes writes up to `acked` octets, which the peer has received; `None`: no octets will
    /// be retransmitted.
    pub(super) fn settle(&mut self, acked: Option<u32>) {
        let has = |written: u32| acked.is_none_or(|acked| acked.wrapping_sub(written) < 1 << 31);
        while let Some(&(number, written)) = self.writes.front() {
            if !has(written) {
                return;
            }
            self.writes.pop_front();
            match self.over.back_mut() {
                Some((_, last)) if last.wrapping_add(1) == number => *last = number,
                _ => self.over.push_back((number, number)),
            }
        }
    }

    pub(super) fn has_news(&self) -> bool {
        !self.over.is_empty()
    }

    pub(super) fn take_news(&mut self) -> Option<(u32, u32)> {
        self.over.pop_front()
    }
}
