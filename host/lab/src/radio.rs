//! The simulator's radio profiles, as closed forms use them.

use crate::scenario::RadioProfile;
use kinglet_sim::profile::{AT86RF233, FrameTime, NRF52840, frame_time};

/// What a unicast frame of `psdu` octets with its acknowledgement costs its sender, by parts.
pub(crate) fn parts(profile: RadioProfile, psdu: usize, min_be: u8) -> FrameTime {
    let profile = match profile {
        RadioProfile::At86rf233 => &AT86RF233,
        RadioProfile::Nrf52840 => &NRF52840,
    };
    frame_time(profile, psdu, min_be)
}

/// The sum of the parts, in microseconds.
pub(crate) fn frame_us(profile: RadioProfile, psdu: usize, min_be: u8) -> f64 {
    parts(profile, psdu, min_be).total().as_micros() as f64
}
