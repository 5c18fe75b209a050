//! Search for preambles. A listening receiver has a frame when it has found the start of frame
//! delimiter. The search needs no events in the queue: its result is computed on demand, because
//! signals change only at events.
//!
//! Of frames whose preambles overlap, the first is found if all of its bits up to the SFD are
//! correct. Otherwise the strongest of those that began meanwhile is tried. A frame that begins
//! after an SFD is lost at a receiver that stays with its frame.

use super::{Core, SHR_US};
use crate::energy::RadioState;
use crate::radio::{Lock, Phase};
use crate::stats::Fate;
use kinglet_radio::OCTET;

/// Time from the first symbol of a frame until the filter knows its destination: PHR, frame
/// control, sequence number, PAN identifier and short address follow the SFD.
const FILTERED_US: u64 = SHR_US + (1 + 2 + 1 + 2 + 2) * OCTET.as_micros();

impl Core {
    /// Computes the state of the search at `node`.
    #[inline]
    pub(super) fn synchronise(&mut self, node: usize) {
        while let Some(lock) = &self.radios[node].lock
            && !lock.undisturbed
            && !lock.synchronised
            && self.now >= lock.begin + SHR_US
        {
            self.find(node, lock.begin + SHR_US);
        }
    }

    /// Handles the end of the SFD of the frame being searched at `at`: the frame is found, or its
    /// rival is tried.
    fn find(&mut self, node: usize, at: u64) {
        self.account(node, at);
        let radio = &mut self.radios[node];
        let Some(lock) = &mut radio.lock else { return };
        let rival = radio.rival.take();
        let lost = if survives(lock, &mut radio.reception_random) {
            lock.synchronised = true;
            lock.ln_success = 0.0;
            rival
        } else {
            core::mem::replace(&mut radio.lock, rival)
        };
        if radio.lock.is_none() {
            self.set_state(node, at, RadioState::Listen);
        }
        if let Some(lost) = lost {
            self.fate(node, lost.from, lost.cause_of_loss(), lost.mine);
        }
    }

    /// Handles a frame `new` that begins while `node` is busy with `old`, where bit errors decide.
    /// Returns its fate if it is already lost.
    pub(super) fn compete(&mut self, node: usize, old: Lock, new: Lock) -> Option<Fate> {
        let radio = &mut self.radios[node];
        if old.is_found(self.now) {
            let rejected = radio.profile.searches_after_filter
                && radio.phase == Phase::Listen
                && (radio.auto_ack && !old.mine)
                && new.begin >= old.begin + FILTERED_US;
            if !rejected {
                return Some(Fate::Collision);
            }
            radio.lock = Some(new);
            self.fate(node, old.from, Fate::Abandoned, old.mine);
            return None;
        }
        if radio.rival.is_some_and(|rival| rival.mw >= new.mw) {
            return Some(Fate::Collision);
        }
        if let Some(weaker) = radio.rival.replace(new) {
            self.fate(node, weaker.from, Fate::Collision, weaker.mine);
        }
        None
    }
}

impl Lock {
    /// True if its preamble and SFD have been found. For an undisturbed frame this needs no
    /// computation.
    #[inline]
    pub(super) fn is_found(&self, now: u64) -> bool {
        self.synchronised || (self.undisturbed && now >= self.begin + SHR_US)
    }

    /// Fate of a frame with bit errors.
    pub(super) fn cause_of_loss(&self) -> Fate {
        if self.interfered { Fate::Collision } else { Fate::Noise }
    }
}

/// True if all bits of `lock` so far are correct.
pub(super) fn survives(lock: &Lock, random: &mut crate::rng::Stream) -> bool {
    lock.ln_success == 0.0 || random.chance(libm::exp(lock.ln_success))
}
