//! Secures and opens the frames of a [`Mac`] with the [`LinkSecurity`] of its plan.

use super::{Mac, Sizes};
use crate::level::{HEADER, MIC, Sealed};
use crate::queue::{Queue, Slot};
use crate::security::{CounterError, LinkSecurity};
use crate::stats::Discard;
use kinglet_time::Instant;
use kinglet_wire::ieee802154::{self, Address};

impl<S: Sizes> Mac<S> {
    /// Returns a bound on the frame counters, to be written to flash, for
    /// [`Security::first_counter`](crate::Security::first_counter) after the next start: once right
    /// after a start, and later when half of the counters up to the last bound are used. Call this
    /// before [`Mac::poll_radio`]. The first bound must be in flash before the first frame is on
    /// the air; for each later one there is time for 8192 frames.
    pub fn poll_counter_bound(&mut self, _now: Instant) -> Option<u32> {
        self.security.poll_counter_bound(&self.key)
    }

    /// Returns the security header of a queued frame; its counter is set at the transmission.
    pub(crate) fn security_header(&self) -> Option<ieee802154::Security> {
        S::Security::is_on(&self.key).then_some(HEADER)
    }

    /// Returns the number of octets to be reserved at the end of a frame.
    pub(crate) fn mic_len(&self) -> usize {
        if S::Security::is_on(&self.key) { MIC } else { 0 }
    }

    /// Secures the head of the queue, unless it is secured already or stays unsecured.
    pub(crate) fn secure_head(&mut self) -> Result<(), CounterError> {
        self.secure(Queue::head_mut)
    }

    /// The same for the frame that follows it.
    pub(crate) fn secure_second(&mut self) -> Result<(), CounterError> {
        self.secure(Queue::second_mut)
    }

    #[inline(always)]
    fn secure(
        &mut self,
        which: impl FnOnce(&mut Queue<S::Queue>) -> Option<&mut Slot>,
    ) -> Result<(), CounterError> {
        if !S::Security::is_on(&self.key) {
            return Ok(());
        }
        let source = self.config.source();
        let Some(slot) = which(&mut self.queue).filter(|slot| !slot.secured) else { return Ok(()) };
        let frame = slot.frame.get_mut(..usize::from(slot.len)).ok_or(CounterError)?;
        self.security.secure(&self.key, self.capabilities, source, frame)?;
        slot.secured = true;
        self.stats.cipher_runs = self.security.cipher_runs();
        Ok(())
    }

    /// Decrypts a frame in place; see [`LinkSecurity::open`].
    pub(crate) fn open(
        &mut self,
        source: Address,
        frame: &mut [u8],
        sealed: Sealed,
    ) -> Result<(usize, bool), Discard> {
        let opened = self.security.open(&self.key, self.capabilities, source, frame, sealed);
        self.stats.cipher_runs = self.security.cipher_runs();
        opened
    }
}
