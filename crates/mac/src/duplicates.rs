//! Duplicate rejection: a frame whose acknowledgement was lost is retransmitted with the same
//! sequence number and, if it is secured, with the same frame counter. A sender has one frame in
//! flight at a time, so one stored number for each neighbour suffices.
//!
//! A check changes nothing. A repetition is counted, but the time of the original frame stays:
//! otherwise each rejected copy would let the next one in.

use kinglet_time::{Duration, Instant};

/// Last frame of a source, and its time of arrival.
#[derive(Clone, Copy)]
pub(crate) struct LastFrame(Option<Last>);

#[derive(Clone, Copy)]
struct Last {
    sequence: u8,
    repetitions: u8,
    at: Instant,
}

impl LastFrame {
    pub(crate) const NONE: LastFrame = LastFrame(None);

    /// Records a new frame.
    pub(crate) const fn note(&mut self, now: Instant, sequence: u8) {
        self.0 = Some(Last { sequence, repetitions: 0, at: now });
    }

    /// Returns whether `sequence` is that of the last frame, received at most `lifetime` ago.
    pub(crate) fn is_repeated(&self, now: Instant, sequence: u8, lifetime: Duration) -> bool {
        self.0.is_some_and(|last| last.sequence == sequence && now - last.at <= lifetime)
    }

    /// Counts a repetition. Returns whether it is among the first `most`.
    pub(crate) fn count_repetition(&mut self, most: u8) -> bool {
        let last = self.0.as_mut().filter(|last| last.repetitions < most);
        last.map(|last| last.repetitions = last.repetitions.saturating_add(1)).is_some()
    }
}
