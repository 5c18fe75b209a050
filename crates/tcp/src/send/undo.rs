//! What is kept to take back a congestion response that turns out to be needless: Eifel detection
//! by timestamps (RFC 3522), or D-SACK (RFC 3708 §2), and the response of RFC 4015.

use super::flight::Stamp;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    /// cwnd and ssthresh from before, in octets.
    pub(crate) window: u32,
    pub(crate) threshold: u32,
    /// When something was first sent again.
    first: Stamp,
    /// Segments sent again which the peer has not reported as duplicates.
    unproven: u8,
    any: bool,
}

impl Undo {
    pub(crate) fn new(window: u32, threshold: u32) -> Undo {
        Undo { window, threshold, first: Stamp::default(), unproven: 0, any: false }
    }

    /// A segment was sent again.
    pub(crate) fn note_sent(&mut self, at: Stamp) {
        if !self.any {
            self.first = at;
        }
        self.any = true;
        self.unproven = self.unproven.saturating_add(1);
    }

    /// A D-SACK has arrived: whether now all that was sent again is known to have been needless.
    pub(crate) fn note_duplicate(&mut self) -> bool {
        let last = self.unproven == 1;
        self.unproven = self.unproven.saturating_sub(1);
        last
    }

    /// Whether a timestamp of this age is from before anything was sent again. It counts in
    /// milliseconds.
    pub(crate) fn is_before(&self, age_ms: u32, now: Stamp) -> bool {
        self.any && age_ms > (now.since(self.first) / 1000).saturating_add(1)
    }
}
