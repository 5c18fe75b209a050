//! Length and assignment of slots.
//!
//! Node `i` of a path sends in the slots with the parity of `i`, and listens in the others.
//! Neighbours therefore never send in the same slot, whatever the direction of frames, and a frame
//! that was received in one slot is forwarded in the next.

use crate::raw;
use kinglet_radio::{ACK_WAIT, MAX_PSDU, air_time};
use kinglet_sim::profile::RadioProfile;
use kinglet_time::{Duration, Instant};

/// Largest error of crystals, in parts per million (IEEE 802.15.4-2015, 10.1.4).
const CRYSTAL_PPM: u64 = 40;
/// Length of loss periods (section 2.2 of the paper on burst forwarding): a node may receive no
/// frame of its neighbour for this time without losing synchronisation.
const SILENCE_US: u64 = 500_000;
/// A tick of Contiki's `rtimer` on a Tmote Sky: 32 768 Hz.
const TICK_US: u64 = 1_000_000_u64.div_ceil(32_768);

/// Guard time at the end of a slot: the largest difference of two neighbours about its beginning.
/// Two crystals drift apart for the length of a loss period, and the timer of each end has an error
/// of at most a tick.
pub const GUARD: Duration =
    Duration::from_micros(2 * CRYSTAL_PPM * SILENCE_US / 1_000_000 + 2 * TICK_US);

/// Time at which a relay copies a frame from its receive buffer to its send buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarding {
    /// Between the two slots: read out after reception, then loaded. It is forwarded in the next
    /// slot.
    ///
    /// This gives the slot of the paper's own implementation (5.3): 73 kb/s are 71.9 full frames of
    /// 127 octets a second, 6.95 ms a slot.
    Between,
    /// Read out while the node sends the previous frame, loaded while it receives the next one, as
    /// in the driver of the original, which pipelines radio and bus. It is forwarded three slots
    /// later.
    Pipelined,
    /// During reception, octet by octet, so that it can be forwarded at once: conditional immediate
    /// transmission as its authors describe it ([`raw::conditional_slot`]).
    Conditional,
}

impl Forwarding {
    /// Slots from the one in which a relay receives a frame to the one in which it sends it.
    pub(crate) const fn lag(self) -> u32 {
        match self {
            Forwarding::Between | Forwarding::Conditional => 1,
            Forwarding::Pipelined => 3,
        }
    }
}

/// The slots of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    length: Duration,
}

impl Slots {
    /// Slots for full frames between radios of this kind, with `guard` after them.
    ///
    /// After the end of a frame its sender waits for the acknowledgement, if hops are acknowledged,
    /// while its receiver copies it and turns around to send; the longer of both counts.
    pub fn new(
        radio: &RadioProfile,
        forwarding: Forwarding,
        acknowledged: bool,
        guard: Duration,
    ) -> Slots {
        let copied = match forwarding {
            Forwarding::Between => raw::copying(radio),
            Forwarding::Pipelined => Duration::ZERO,
            Forwarding::Conditional => raw::tail(radio),
        };
        let turned = copied + Duration::from_micros(radio.synthesiser_us);
        let acknowledgement = if acknowledged { ACK_WAIT } else { Duration::ZERO };
        Slots { length: air_time(MAX_PSDU) + turned.max(acknowledgement) + guard }
    }

    /// Time from the beginning of a slot, when its frame's preamble begins, to that of the next.
    pub const fn length(&self) -> Duration {
        self.length
    }

    /// Number and beginning of the first slot of node `of` that begins at `from` or later, if slot
    /// `known` begins at `begin`.
    pub(crate) fn next(
        &self,
        (known, begin): (u32, Instant),
        of: usize,
        from: Instant,
    ) -> (u32, Instant) {
        let gone = from.checked_since(begin).unwrap_or(Duration::ZERO);
        let mut ahead = gone.as_micros().div_ceil(self.length.as_micros());
        if (u64::from(known) + ahead) % 2 != of as u64 % 2 {
            ahead += 1;
        }
        let begin = begin + Duration::from_micros(ahead * self.length.as_micros());
        // Two to the 32nd is even: the parity survives the wrap.
        (known.wrapping_add(ahead as u32), begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_sim::profile::{CC2420_CONTIKI, NRF52840};

    fn slot_us(forwarding: Forwarding, acknowledged: bool) -> u64 {
        Slots::new(&CC2420_CONTIKI, forwarding, acknowledged, GUARD).length().as_micros()
    }

    #[test]
    fn the_guard_is_a_loss_period_of_drift_and_two_ticks() {
        assert_eq!(GUARD.as_micros(), 40 + 2 * 31);
    }

    #[test]
    fn a_slot_is_the_sum_of_its_parts() {
        // 4256 on the air, 1210 to read out, 1200 to load, 192 to turn around, 102 of guard: the
        // acknowledgement ends before that.
        assert_eq!(slot_us(Forwarding::Between, false), 6_960);
        assert_eq!(slot_us(Forwarding::Between, true), 6_960);
        assert_eq!(slot_us(Forwarding::Pipelined, false), 4_256 + 192 + 102);
        assert_eq!(slot_us(Forwarding::Pipelined, true), 4_256 + 864 + 102);
        assert_eq!(slot_us(Forwarding::Conditional, false), 4_256 + 66 + 192 + 102);
        assert_eq!(slot_us(Forwarding::Conditional, true), 4_256 + 864 + 102);
    }

    #[test]
    fn frames_that_need_no_copying_need_no_time_for_it() {
        let between = Slots::new(&NRF52840, Forwarding::Between, false, Duration::ZERO);
        let conditional = Slots::new(&NRF52840, Forwarding::Conditional, false, Duration::ZERO);
        assert_eq!(between, conditional);
        assert_eq!(between.length().as_micros(), 4_256 + 40);
    }

    #[test]
    fn neighbours_send_round_robin_and_none_is_early() {
        let slots = Slots { length: Duration::from_micros(1_000) };
        let at = Instant::from_micros;
        let known = (7, at(10_000));
        assert_eq!(slots.next(known, 1, at(10_000)), (7, at(10_000)));
        assert_eq!(slots.next(known, 3, at(10_001)), (9, at(12_000)));
        assert_eq!(slots.next(known, 0, at(10_001)), (8, at(11_000)));
        assert_eq!(slots.next(known, 2, at(11_001)), (10, at(13_000)));
        assert_eq!(slots.next(known, 2, at(0)), (8, at(11_000)), "the past is not planned");
        let last = (u32::MAX, at(0));
        assert_eq!(slots.next(last, 0, at(1)), (0, at(1_000)), "numbers wrap");
        assert_eq!(slots.next(last, 1, at(1)), (1, at(2_000)));
    }
}
