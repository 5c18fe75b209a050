//! Duplicate rejection: a frame whose acknowledgement was lost is sent again with the same sequence
//! number. A sender has one frame on its way at a time, so remembering the last number of each
//! neighbour suffices.

use kinglet_time::{Duration, Instant};

/// The last sequence number of one source, and when it came.
#[derive(Clone, Copy)]
pub(crate) struct LastSequence(Option<(u8, Instant)>);

impl LastSequence {
    pub(crate) const NONE: LastSequence = LastSequence(None);

    /// Tells whether `sequence` repeats the one that came at most `lifetime` ago, else notes it.
    pub(crate) fn repeats(&mut self, now: Instant, sequence: u8, lifetime: Duration) -> bool {
        let repeats = self.0.is_some_and(|(last, at)| last == sequence && now - at <= lifetime);
        if !repeats {
            self.0 = Some((sequence, now));
        }
        repeats
    }
}
