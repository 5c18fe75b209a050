//! Interframe spacing (IEEE 802.15.4-2015, 6.2.4): receivers of a frame need time to process it
//! before the next frame of the same device. CSMA-CA for a frame begins when the spacing after the
//! previous transmission of this MAC is over; acknowledgements do not wait. After an
//! acknowledgement that the radio has sent by itself, the radio waits (see the rules of
//! [`kinglet_radio`]). The radio also waits within a burst, where long frames too are SIFS apart as
//! long as their recipient receives them (`strobing.rs`).

use super::{Mac, Sizes};
use kinglet_radio::{FCS_LEN, spacing_after};
use kinglet_time::Instant;

impl<S: Sizes> Mac<S> {
    /// Records that a frame of `len` octets without FCS, or its acknowledgement, ended at `end`.
    #[inline(never)]
    pub(crate) fn space_after(&mut self, end: Instant, len: usize) {
        let until = end + spacing_after(len.saturating_add(FCS_LEN));
        self.spaced_until = self.spaced_until.max(until);
    }
}
