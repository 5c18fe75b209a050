//! Duplicate rejection: a frame whose acknowledgement was lost is sent again with the same sequence
//! number and, if it is secured, with the same frame counter. A sender has one frame on its way at
//! a time, so remembering the last one of each neighbour suffices.
//!
//! A check changes nothing. A repetition is counted, but the time of the frame that it repeats
//! stays: otherwise each copy that is refused would let the next one in.

use kinglet_time::{Duration, Instant};

/// The last frame of one source, and when it came first.
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

    /// Notes a new frame.
    pub(crate) const fn note(&mut self, now: Instant, sequence: u8) {
        self.0 = Some(Last { sequence, repetitions: 0, at: now });
    }

    /// Whether `sequence` is that of the last frame, which came at most `lifetime` ago.
    pub(crate) fn is_repeated(&self, now: Instant, sequence: u8, lifetime: Duration) -> bool {
        self.0.is_some_and(|last| last.sequence == sequence && now - last.at <= lifetime)
    }

    /// Counts a repetition; whether there were not more than `most`.
    pub(crate) fn count_repetition(&mut self, most: u8) -> bool {
        let last = self.0.as_mut().filter(|last| last.repetitions < most);
        last.map(|last| last.repetitions = last.repetitions.saturating_add(1)).is_some()
    }
}
