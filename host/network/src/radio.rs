//! Radio profiles of the simulator, by their names in scenarios, for closed-form models.

use kinglet_scenario::simulated::profile_of;
use kinglet_scenario::{MAC, RadioProfile};
use kinglet_sim::profile::{FrameTime, frame_time};

/// Time that a unicast frame of `psdu` octets with its acknowledgement takes its sender, by parts.
pub fn parts(name: RadioProfile, psdu: usize, min_be: u8) -> FrameTime {
    frame_time(&profile_of(name), psdu, min_be)
}

/// Time of a frame of 127 octets at TCPlp's nodes, in microseconds (Fig. 4a, §6.3).
const TCPLP_FRAME_US: f64 = 7_200.0;

/// Time of their driver for such a frame in microseconds: what our profile of their radio lacks.
pub fn driver_us() -> f64 {
    TCPLP_FRAME_US - frame_us(RadioProfile::At86rf233, 127, MAC.csma_params.min_be)
}

/// Sum of the parts, in microseconds.
pub fn frame_us(name: RadioProfile, psdu: usize, min_be: u8) -> f64 {
    parts(name, psdu, min_be).total().as_micros() as f64
}
