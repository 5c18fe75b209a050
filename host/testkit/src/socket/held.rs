//! What is between an application and its connection: octets that a socket holds back (TCP_CORK,
//! MSG_MORE, MSG_EOR of tcp(7) and send(2)) and octets that it has been lent (MSG_ZEROCOPY).

use kinglet_time::{Duration, Instant};
use std::collections::VecDeque;

/// How long a part of a segment is held back (tcp(7), TCP_CORK).
const CEILING: Duration = Duration::from_millis(200);

/// What a socket has taken and its connection has not.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    pub(super) octets: VecDeque<u8>,
    /// Where records end in `octets`: what follows begins a segment of its own.
    pub(super) ends: VecDeque<usize>,
    /// The connection has a whole record: what follows waits until all of it has left.
    pub(super) fenced: bool,
    /// TCP_CORK.
    pub(super) corked: bool,
    /// The last write had MSG_MORE.
    pub(super) more: bool,
    /// When a part of a segment leaves all the same.
    pub(super) until: Option<Instant>,
}

impl Held {
    pub(super) fn len(&self) -> usize {
        self.octets.len()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.until
    }

    /// What is held leaves, though the cork stays (tcp(7), TCP_NODELAY).
    pub(super) fn release(&mut self, now: Instant) {
        self.until = self.until.and(Some(now));
    }

    /// Starts or ends the time for which a part of a segment is held back. A record that waits for
    /// the one before it waits for as long as that takes.
    pub(super) fn keep_time(&mut self, now: Instant) {
        let parted = !self.octets.is_empty() && !self.fenced;
        self.until = parted.then(|| self.until.unwrap_or(now + CEILING));
    }

    /// How many octets may go to a connection with these many unsent ones, and whether a record
    /// ends there.
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

/// Writes with MSG_ZEROCOPY whose octets may not be changed yet, and what is to be told of others
/// (the kernel's documentation of MSG_ZEROCOPY).
#[derive(Clone, Debug, Default)]
pub(super) struct Lent {
    /// SO_ZEROCOPY.
    pub(super) on: bool,
    /// The number of the next write.
    next: u32,
    /// Their numbers, and how much was written after each.
    writes: VecDeque<(u32, u32)>,
    /// The first and the last of writes that are over.
    over: VecDeque<(u32, u32)>,
}

impl Lent {
    /// A write has ended after `written` octets in all.
    pub(super) fn lend(&mut self, written: u32) {
        if self.on {
            self.writes.push_back((self.next, written));
            self.next = self.next.wrapping_add(1);
        }
    }

    /// The peer has `acked` octets; `None`: nobody will send them again.
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
