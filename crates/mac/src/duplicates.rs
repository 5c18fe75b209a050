//! Duplicate rejection: a frame whose acknowledgement was lost is sent again with the same sequence
//! number. A sender has one frame on its way at a time, so remembering the last number of each
//! neighbour suffices.

use kinglet_time::{Duration, Instant};

/// The last sequence number of one source, and when it came.
#[derive(Clone, Copy)]
pub(crate) struct LastSequence(Option<(u8, Instant)>);

impl LastSequence {
    pub(crate) const NONE: LastSequence = LastSequence(None);

    /// Notes `sequence` and tells whether it repeats the one before it, at most `lifetime` ago.
    pub(crate) fn repeats(&mut self, now: Instant, sequence: u8, lifetime: Duration) -> bool {
        let before = self.0.replace((sequence, now));
        before.is_some_and(|(last, at)| last == sequence && now - at <= lifetime)
    }
}
