//! A town of smart meters: rows of houses along streets, a meter at each, one border router in the
//! middle.
//!
//! A house stands on 20 m of its street, on either side of it, and streets are 60 m apart, so that a
//! house has 600 m². Its meter is anywhere on its front. Loss of signal is that of 3GPP TR 38.901
//! (Table 7.4.1-1) for a street canyon without line of sight at 2.44 GHz (22.4 + 35.3 log10 d +
//! 21.3 log10 f, for antennas at 1.5 m), with its shadowing of 7.82 dB. All send with the 8 dBm of an
//! nRF52840.

use super::{NodePlace, Propagation, RadioProfile, Role, Scenario};
use kinglet_sim::rng::{Purpose, stream};

/// Frontage of a house, distance of two streets, and of a front from the middle of its street; in
/// metres.
const FRONT_M: f64 = 20.0;
const STREETS_M: f64 = 60.0;
const SETBACK_M: f64 = 8.0;
/// By how much more or less that is.
const AROUND_M: f64 = 3.0;

/// Loss at a metre: 22.4 + 21.3 log10 2.44.
const LOSS_DB: f64 = 30.65;
const EXPONENT: f64 = 3.53;
const SHADOWING_DB: f64 = 7.82;

impl Scenario {
    /// `meters` meters and a border router, with their radios, and no application. The border
    /// router is the last node.
    pub fn street(meters: u32, seed: u64) -> Self {
        let mut scenario = Scenario { name: format!("{meters} meters"), ..Scenario::default() };
        scenario.radio.profile = RadioProfile::Nrf52840;
        scenario.radio.tx_power_dbm = 8.0;
        // As sensitive as IEEE 802.15.4 wants it at the least (10.2.7): 10 dB above what is received.
        scenario.radio.cca_threshold_dbm = Some(-90.0);
        scenario.medium.propagation = Propagation::PathLoss {
            exponent: EXPONENT,
            reference_loss_db: LOSS_DB,
            shadowing_db: SHADOWING_DB,
            // Thermal noise in 2 MHz, and what the radio adds: see `kinglet_sim::profile::NRF52840`.
            noise_floor_dbm: -105.0,
        };
        // As wide as it is long.
        let houses = f64::from(meters);
        let rows = ((houses * FRONT_M / STREETS_M * 2.0).sqrt() / 2.0).ceil() as u32 * 2;
        let columns = meters.div_ceil(rows);
        let mut random = stream(seed, 0, Purpose::Placement);
        let mut around = |middle: f64, by: f64| middle + (2.0 * random.unit() - 1.0) * by;
        let house = |number: u32| {
            let (row, column) = (number / columns, number % columns);
            let side = if row % 2 == 0 { SETBACK_M } else { -SETBACK_M };
            let street = f64::from(row.div_ceil(2)) * STREETS_M;
            NodePlace {
                x_m: around((f64::from(column) + 0.5) * FRONT_M, FRONT_M / 2.0 - 1.0),
                y_m: around(street + side, AROUND_M),
                role: Role::Router,
                parent: None,
            }
        };
        scenario.nodes = (0..meters).map(house).collect();
        let middle = |of: fn(&NodePlace) -> f64| {
            scenario.nodes.iter().map(of).sum::<f64>() / f64::from(meters.max(1))
        };
        let (x_m, y_m) = (middle(|place| place.x_m), middle(|place| place.y_m));
        scenario.nodes.push(NodePlace { x_m, y_m, role: Role::BorderRouter, parent: None });
        scenario
    }
}
