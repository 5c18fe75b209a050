//! Upper bounds of multi-hop paths with one radio per node: a relay that receives and sends
//! alternately moves one full frame in two slots, and these are the shortest slots.
//!
//! Österlind and Dunkels ("Approaching the maximum 802.15.4 multi-hop throughput", HotEmNets 2008)
//! measured 109 kb/s, 13.6 kB/s, with conditional immediate transmission and called it 97 % of the
//! upper bound. That bound is 112.4 kb/s, which [`theoretical_slot`] gives: full frames without
//! their FCS, a turnaround between them, and no acknowledgement. The spacing that the standard
//! requires of a sender after a long frame (40 symbols) lies within the slot in which it receives.

use kinglet_radio::{MAX_FRAME, MAX_PSDU, OCTET, air_time};
use kinglet_sim::profile::{Buffering, RadioProfile};
use kinglet_time::Duration;

/// The shortest slot: a full frame, and the turnaround from receiving to sending or back.
pub const fn theoretical_slot(radio: &RadioProfile) -> Duration {
    Duration::from_micros(air_time(MAX_PSDU).as_micros() + radio.synthesiser_us)
}

/// The slot with conditional immediate transmission: a frame is copied during its reception, and
/// sent again as soon as its end has been examined.
pub const fn conditional_slot(radio: &RadioProfile) -> Duration {
    Duration::from_micros(theoretical_slot(radio).as_micros() + tail(radio).as_micros())
}

/// The slot if a received frame is first read out, and then loaded.
pub const fn copied_slot(radio: &RadioProfile) -> Duration {
    Duration::from_micros(theoretical_slot(radio).as_micros() + copying(radio).as_micros())
}

/// Capacity of a path in kB/s (1000 octets) of frames: one in two slots, all octets except its FCS.
pub fn kilobytes_per_second(slot: Duration) -> f64 {
    MAX_FRAME as f64 * 1e3 / (2 * slot.as_micros()) as f64
}

/// Time to read a full frame out of the radio and to load it again.
pub(crate) const fn copying(radio: &RadioProfile) -> Duration {
    let (out, back) = (radio.readout_time(MAX_PSDU), radio.load_time(MAX_PSDU));
    Duration::from_micros(out.as_micros() + back.as_micros())
}

/// Part of [`copying`] that remains after the end of a frame that is copied during its reception.
///
/// The bus works in chunks, each with a command octet to read it and one to write it. They are the
/// shortest with which the bus keeps up with the air, so that the last one remains, and the strobe
/// that starts the transmission. A bus that cannot keep up has worked since the first octet. A
/// buffer that both directions share cannot be loaded while a frame is received.
pub(crate) const fn tail(radio: &RadioProfile) -> Duration {
    let Buffering::FifosOverSpi { hz } = radio.buffering else { return copying(radio) };
    let octet_ns = 8_000_000_000_u64.div_ceil(hz as u64);
    let (both_ns, air_ns) = (2 * octet_ns, OCTET.as_micros() * 1_000);
    if both_ns >= air_ns {
        let on_air = MAX_PSDU as u64 * OCTET.as_micros();
        return Duration::from_micros(copying(radio).as_micros().saturating_sub(on_air));
    }
    let chunk = both_ns.div_ceil(air_ns - both_ns);
    Duration::from_micros((both_ns * (chunk + 1) + octet_ns).div_ceil(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kinglet_sim::profile::{AT86RF233, CC2420, CC2420_CONTIKI, NRF52840};

    #[test]
    fn the_bound_is_that_of_which_the_paper_has_97_percent() {
        let bound = kilobytes_per_second(theoretical_slot(&CC2420_CONTIKI));
        // 125 octets in 2 * (4256 + 192) us.
        assert!((bound - 14.05).abs() < 0.01, "{bound}");
        assert!((13.6 / bound - 0.97).abs() < 0.005, "{bound}");
        // Fig. 1: PIP's 7.3 kB/s are 52 % of it.
        assert!((7.3 / bound - 0.52).abs() < 0.005, "{bound}");
    }

    #[test]
    fn conditional_immediate_transmission_comes_near_it_and_copying_does_not() {
        let slots = [theoretical_slot, conditional_slot, copied_slot];
        let [bound, conditional, copied] =
            slots.map(|slot| kilobytes_per_second(slot(&CC2420_CONTIKI)));
        // The paper's 13.6 kB/s: a bus that is never late loses only its last chunk.
        assert!((13.6..14.0).contains(&conditional), "{conditional}");
        assert!((0.97..0.99).contains(&(conditional / bound)), "{}", conditional / bound);
        // Its abstract: with the copying off the critical path throughput nearly doubles.
        assert!((1.4..2.0).contains(&(conditional / copied)), "{}", conditional / copied);
    }

    #[test]
    fn the_time_of_copying_after_a_frame_depends_on_the_bus() {
        // Chunks of two octets: 6 * 9.30 us, and a strobe of 9.30.
        assert_eq!(tail(&CC2420_CONTIKI).as_micros(), 66);
        // 2080 + 2064 us of copying against 4064 us on the air.
        assert_eq!(tail(&CC2420).as_micros(), 80);
        assert_eq!(tail(&AT86RF233), copying(&AT86RF233));
        assert_eq!(tail(&NRF52840), Duration::ZERO);
    }
}
