//! A town of smart meters: rows of houses along streets, a meter at each, one border router in the
//! middle.
//!
//! A house has 20 m of frontage, on either side of its street, and streets are 60 m apart, so that
//! a house has 600 m². Its meter is anywhere on its front. Path loss is that of 3GPP TR 38.901
//! (Table 7.4.1-1) for a street canyon without line of sight at 2.44 GHz (22.4 + 35.3 log10 d +
//! 21.3 log10 f, for antennas at 1.5 m), with its shadowing of 7.82 dB. All nodes send with the 8
//! dBm of an nRF52840.

use super::{
    Carrier, Fading, Flow, FlowKind, HostTcp, NodeId, NodePlace, Propagation, RadioProfile, Role,
    Scenario, Sensor, Wire,
};
use kinglet_sim::rng::{Purpose, stream};

/// Frontage of a house, distance of two streets, and of a front from the middle of its street; in
/// metres.
const FRONT_M: f64 = 20.0;
const STREETS_M: f64 = 60.0;
const SETBACK_M: f64 = 8.0;
/// Random deviation of that distance, in either direction.
const AROUND_M: f64 = 3.0;

/// Loss at a metre: 22.4 + 21.3 log10 2.44.
const LOSS_DB: f64 = 30.65;
const EXPONENT: f64 = 3.53;
const SHADOWING_DB: f64 = 7.82;

/// A meter makes a reading every 10 to 15 min: each has its own period, in milliseconds.
const PERIOD_MS: std::ops::Range<u32> = 600_000..900_000;
/// Readings that wait at a meter without a route: those of at least an hour.
const QUEUE: u16 = 6;

impl Scenario {
    /// `meters` meters and a border router, with their radios and a wire to a Linux host, without
    /// applications. The border router is the last node.
    pub fn street(meters: u32, seed: u64) -> Self {
        let mut scenario = Scenario { name: format!("{meters} meters"), ..Scenario::default() };
        scenario.wire = Some(Wire { host: HostTcp::Linux, ..Wire::PERFECT });
        scenario.radio.profile = RadioProfile::Nrf52840;
        scenario.radio.tx_power_dbm = 8.0;
        // The lowest sensitivity that IEEE 802.15.4 allows (10.2.7): 10 dB above that of the
        // receiver.
        scenario.radio.cca_threshold_dbm = Some(-90.0);
        scenario.medium.propagation = Propagation::PathLoss {
            exponent: EXPONENT,
            reference_loss_db: LOSS_DB,
            shadowing_db: SHADOWING_DB,
            asymmetry_db: 0.0,
            fading: Fading::NONE,
            // Thermal noise in 2 MHz, and that of the radio: see `kinglet_sim::profile::NRF52840`.
            noise_floor_dbm: -105.0,
        };
        // A square area.
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
        let middle =
            |of: fn(&NodePlace) -> f64| scenario.nodes.iter().map(of).sum::<f64>() / houses;
        let (x_m, y_m) = (middle(|place| place.x_m), middle(|place| place.y_m));
        scenario.nodes.push(NodePlace { x_m, y_m, role: Role::BorderRouter, parent: None });
        scenario
    }

    /// Readings of all nodes except the border router to the host from `start_s` on, each node over
    /// its own persistent connection.
    #[must_use]
    pub fn meters(&self, start_s: f64) -> Vec<Flow> {
        let host = self.host();
        let meters = (0..).zip(&self.nodes).filter(|(_, place)| place.role != Role::BorderRouter);
        let flow = |(meter, _): (NodeId, &NodePlace)| {
            let mut random = stream(self.seed, meter.into(), Purpose::Application);
            let period_ms = PERIOD_MS.start + random.below(PERIOD_MS.end - PERIOD_MS.start);
            let sensor = Sensor::new(meter, host, Carrier::Tcp);
            let sensor = Sensor { period_ms, batch: 1, queue: QUEUE, ..sensor };
            Flow::new(start_s, FlowKind::Anemometer(sensor))
        };
        meters.map(flow).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_town_has_a_meter_for_each_600_square_metres_and_its_border_router_in_the_middle() {
        let town = Scenario::street(1_000, 1);
        assert_eq!((town.nodes.len(), town.root()), (1_001, 1_000));
        let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
        for place in &town.nodes {
            for (axis, at) in [place.x_m, place.y_m].into_iter().enumerate() {
                low[axis] = low[axis].min(at);
                high[axis] = high[axis].max(at);
            }
        }
        let [wide, long] = [0, 1].map(|axis| high[axis] - low[axis]);
        assert!((540.0..720.0).contains(&(wide * long / 1_000.0)), "{wide} m, {long} m");
        assert!((0.8..1.25).contains(&(wide / long)), "{wide} m, {long} m");
        let root = town.nodes.last().expect("it has nodes");
        assert!((root.x_m - low[0] - wide / 2.0).abs() < wide / 20.0, "{root:?}");
        assert_ne!(town.nodes, Scenario::street(1_000, 2).nodes);
    }

    #[test]
    fn each_meter_has_a_period_of_10_to_15_minutes() {
        let flows = Scenario::street(200, 1).meters(60.0);
        assert_eq!(flows.len(), 200);
        let period = |flow: &Flow| match flow.kind {
            FlowKind::Anemometer(ref sensor) => sensor.period_ms,
            _ => 0,
        };
        let periods: Vec<_> = flows.iter().map(period).collect();
        assert!(periods.iter().all(|period| PERIOD_MS.contains(period)));
        let mean = periods.iter().sum::<u32>() / 200;
        assert!((720_000..780_000).contains(&mean), "{mean}");
    }
}
