//! The simulator's radio profiles, as scenarios name them and closed forms use them.

use crate::scenario::RadioProfile;
use kinglet_sim::profile::{
    self, AT86RF233, CC2420, CC2420_CONTIKI, FrameTime, NRF52840, STANDARD, frame_time,
};

/// The radio of this name.
pub(crate) const fn profile_of(name: RadioProfile) -> profile::RadioProfile {
    match name {
        RadioProfile::At86rf233 => AT86RF233,
        RadioProfile::Nrf52840 => NRF52840,
        RadioProfile::Cc2420 => CC2420,
        RadioProfile::Cc2420Contiki => CC2420_CONTIKI,
        RadioProfile::Standard => STANDARD,
    }
}

/// What a unicast frame of `psdu` octets with its acknowledgement costs its sender, by parts.
pub(crate) fn parts(name: RadioProfile, psdu: usize, min_be: u8) -> FrameTime {
    frame_time(&profile_of(name), psdu, min_be)
}

/// The sum of the parts, in microseconds.
pub(crate) fn frame_us(name: RadioProfile, psdu: usize, min_be: u8) -> f64 {
    parts(name, psdu, min_be).total().as_micros() as f64
}
