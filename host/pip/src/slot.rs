//! Slots: how long they are, and whose they are.
//!
//! Node `i` of a path sends in the slots whose number is even or odd as `i` is, and listens in the
//! others. So neighbours never send in the same slot, in whichever direction frames travel, and a
//! frame that has come in one slot goes on in the next.

use crate::raw;
use kinglet_radio::{ACK_WAIT, MAX_PSDU, air_time};
use kinglet_sim::profile::RadioProfile;
use kinglet_time::{Duration, Instant};

/// How wrong crystals may be, in parts per million (IEEE 802.15.4-2015, 10.1.4).
const CRYSTAL_PPM: u64 = 40;
/// How long loss periods last (section 2.2 of the paper on burst forwarding): so long may a node
/// hear nothing of its neighbour and still be in step.
const SILENCE_US: u64 = 500_000;
/// A tick of Contiki's `rtimer` on a Tmote Sky: 32 768 Hz.
const TICK_US: u64 = 1_000_000_u64.div_ceil(32_768);

/// What lies between the end of what happens in a slot and the next one: by so much two
/// neighbours may disagree about its beginning. Two crystals drift apart for as long as a loss
/// period, and each end tells the time by a timer that is wrong by a tick at most.
pub const GUARD: Duration =
    Duration::from_micros(2 * CRYSTAL_PPM * SILENCE_US / 1_000_000 + 2 * TICK_US);

/// When a relay copies a frame from its receive buffer to its send buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forwarding {
    /// Between the two slots: read out when it has come, and loaded then. It goes on in the next
    /// slot.
    ///
    /// This gives the slot of the paper's own implementation (5.3): 73 kb/s are 71.9 full frames of
    /// 127 octets a second, 6.95 ms a slot.
    Between,
    /// Read out while the node sends the frame before it, loaded while it receives the one after
    /// it, as in the driver of the original, which pipelines radio and bus. It goes on three slots
    /// later.
    Pipelined,
    /// While it comes, octet by octet, so that it can go on at once: conditional immediate
    /// transmission as its authors have it ([`raw::conditional_slot`]).
    Conditional,
}

impl Forwarding {
    /// Slots from the one in which a relay receives a frame to that in which it sends it.
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
    /// After a frame has ended its sender waits for the acknowledgement, if hops are acknowledged,
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

    /// From the beginning of a slot, when its frame's preamble begins, to that of the next.
    pub const fn length(&self) -> Duration {
        self.length
    }

    /// The first slot of node `of` that begins at `from` or later, if slot `known` begins at
    /// `begin`: its number and when it begins.
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
        // Two to the 32nd is even: whose it is survives the wrap.
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
        // acknowledgement is over by then.
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
    fn neighbours_take_turns_and_nobody_is_early() {
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
