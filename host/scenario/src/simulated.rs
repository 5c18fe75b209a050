//! Values of the simulator for those of a scenario: radio, medium, interference.

use crate::{Cca, Interferer, Link, NodeId, Overlap, Propagation, RadioProfile, Scenario, Source};
use kinglet_sim::interference;
use kinglet_sim::medium::{self, Connectivity, MatrixLink, MediumConfig, PathLoss, Position};
use kinglet_sim::profile::{
    self, AT86RF233, CC2420, CC2420_CONTIKI, CcaMode, NOISE_FLOOR_DBM, NRF52840, STANDARD,
};

/// Radio profile of this name.
pub const fn profile_of(name: RadioProfile) -> profile::RadioProfile {
    match name {
        RadioProfile::At86rf233 => AT86RF233,
        RadioProfile::Nrf52840 => NRF52840,
        RadioProfile::Cc2420 => CC2420,
        RadioProfile::Cc2420Contiki => CC2420_CONTIKI,
        RadioProfile::Standard => STANDARD,
    }
}

/// Radio profile of a scenario.
pub fn radio_of(scenario: &Scenario) -> profile::RadioProfile {
    let mut radio = profile_of(scenario.radio.profile);
    radio.cca.mode = match scenario.radio.cca {
        Cca::Energy => CcaMode::Energy,
        Cca::Carrier => CcaMode::Carrier,
        Cca::Either => CcaMode::Either,
        Cca::Both => CcaMode::Both,
    };
    radio.cca.threshold_dbm = scenario.radio.cca_threshold_dbm.unwrap_or(radio.cca.threshold_dbm);
    radio
}

/// Medium of a scenario, with its interferers.
pub fn medium_of(scenario: &Scenario) -> MediumConfig {
    let medium = &scenario.medium;
    let mut noise_floor_dbm = NOISE_FLOOR_DBM;
    let connectivity = match &medium.propagation {
        Propagation::UnitDisc { range_m, interference_range_m, rssi_dbm } => {
            Connectivity::UnitDisc {
                range_m: *range_m,
                interference_range_m: Some(*interference_range_m),
                rssi_dbm: *rssi_dbm,
            }
        }
        Propagation::LinkMatrix { links } => Connectivity::LinkMatrix(
            links.iter().flat_map(|link| both_ways(link).into_iter().flatten()).collect(),
        ),
        Propagation::PathLoss {
            exponent,
            reference_loss_db,
            shadowing_db,
            asymmetry_db,
            fading,
            noise_floor_dbm: floor,
        } => {
            noise_floor_dbm = *floor;
            Connectivity::PathLoss(PathLoss {
                exponent: *exponent,
                reference_loss_db: *reference_loss_db,
                shadowing_sigma_db: *shadowing_db,
                asymmetry_sigma_db: *asymmetry_db,
                fading: *fading,
            })
        }
    };
    MediumConfig {
        connectivity,
        overlap: match medium.overlap {
            Overlap::Strict => medium::Overlap::Strict,
            Overlap::SinrBer => medium::Overlap::SinrBer,
            // Co-channel rejection of 3 dB, as in Cooja for CC2420-class radios.
            Overlap::Capture => medium::Overlap::Capture { threshold_db: 3.0, relock: true },
        },
        noise_floor_dbm,
        frame_loss: medium.frame_loss,
        hidden_terminals: medium.hidden_terminals,
        interferers: scenario.interference.iter().map(interferer_of).collect(),
        start_us: start_us(scenario),
    }
}

/// Start of a run, in microseconds from midnight.
pub fn start_us(scenario: &Scenario) -> u64 {
    (scenario.start_hour * 3.6e9) as u64
}

/// Interferer of the medium, with times in microseconds from the start.
pub fn interferer_of(of: &Interferer) -> interference::Interferer {
    let pattern = match of.source {
        Source::WifiFile => interference::WIFI_FILE,
        Source::WifiVideo => interference::WIFI_VIDEO,
        Source::Bluetooth => interference::BLUETOOTH,
        Source::Microwave => interference::MICROWAVE,
        Source::WifiSaturated => {
            interference::Pattern::Saturated(interference::Cell::saturated(of.stations))
        }
        Source::WifiBursts => interference::WIFI_BURSTS,
        Source::Trace => interference::Pattern::Trace(of.trace.clone().unwrap_or_default()),
    };
    let recorded_dbm = of.trace.as_ref().map_or(0.0, |trace| trace.mean_dbm() + of.gain_db);
    let heard = match of.node {
        None => interference::Heard::Around {
            position: Position { x_m: of.x_m, y_m: of.y_m },
            power_dbm: of.power_dbm,
            path: PathLoss::INDOOR_NLOS,
        },
        Some(node) => interference::Heard::By {
            node: node as usize,
            mean_dbm: of.mean_dbm.unwrap_or(recorded_dbm),
            range_db: of.range_db.unwrap_or(of.source.range_db()),
        },
    };
    let us = |seconds: f64| (seconds * 1e6) as u64;
    interference::Interferer {
        heard,
        pattern,
        hours: of.hours.profile().map(|share| share * of.share),
        within_us: us(of.from_s)..of.until_s.map_or(u64::MAX, us),
        channels: of.lowest_channel..=of.highest_channel,
    }
}

fn both_ways(link: &Link) -> [Option<MatrixLink>; 2] {
    let one = |from: NodeId, to: NodeId| MatrixLink {
        from: from as usize,
        to: to as usize,
        prr: 1.0 - link.loss,
        rssi_dbm: link.rssi_dbm,
    };
    let back = link.symmetric.then(|| one(link.to, link.from));
    [Some(one(link.from, link.to)), back]
}
