//! Cost of a data request without a response, added up from data sheets and the standard.

use kinglet_scenario::RadioProfile;

/// Octets of a data request on the air, and the additional octets of a secured one: control 1,
/// counter 4, key index 1 and MIC 4.
const REQUEST: u64 = 12;
const SECURITY: u64 = 10;
/// Supply voltage, as in the results.
const VOLTS: f64 = 3.0;

/// (microseconds, mA) of consecutive steps.
type Steps = Vec<(u64, f64)>;

/// Steps of the radio's start, which do not count as radio time; steps that do; mA while asleep.
fn steps(radio: RadioProfile, secured: bool) -> (Steps, Steps, f64) {
    let psdu = REQUEST + if secured { SECURITY } else { 0 };
    let air = 192 + 32 * psdu;
    match radio {
        // Data sheet 8351B and Linux's driver: oscillator 330 us at 0.3 mA, PLL 80 us at 11.8 mA;
        // 1 us to PLL_ON, command, length and PSDU over SPI at a microsecond an octet, 16 us to
        // sending; CCA at 11.8 mA; 12 symbols of turnaround; sending at 13.8 mA; 12 symbols and 11
        // octets until the acknowledgement has ended, at 11.8 mA.
        RadioProfile::At86rf233 => (
            vec![(330, 0.3), (80, 11.8)],
            vec![(1 + 2 + psdu + 16, 11.8), (128, 11.8), (192, 11.8), (air, 13.8), (544, 11.8)],
            20e-6,
        ),
        // Product specification and driver: ramp-up of 40 us, no copy, 40 us from CCA to the
        // frame; 6.53 mA while receiving or ramping, 6.40 mA while sending.
        _ => (vec![(40, 6.53)], vec![(128, 6.53), (40, 6.53), (air, 6.40), (544, 6.53)], 0.0),
    }
}

/// Radio time of one request, in microseconds.
pub(super) fn on_us(radio: RadioProfile, secured: bool) -> f64 {
    steps(radio, secured).1.iter().map(|step| step.0).sum::<u64>() as f64
}

/// Energy of one request in `interval_s` including the sleep around it, in microjoules.
pub(super) fn energy_uj(radio: RadioProfile, secured: bool, interval_s: f64) -> f64 {
    let (start, on, asleep_ma) = steps(radio, secured);
    let awake: Steps = start.into_iter().chain(on).collect();
    let awake_us = awake.iter().map(|step| step.0).sum::<u64>() as f64;
    // us * mA are nanocoulombs.
    let charge: f64 = awake.iter().map(|(us, ma)| *us as f64 * ma).sum();
    (charge + (interval_s * 1e6 - awake_us) * asleep_ma) * VOLTS / 1e3
}
