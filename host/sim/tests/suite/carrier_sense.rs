//! Clear channel assessment: energy and carrier, modes and averaging.

use crate::common::*;
use kinglet_radio::{Access, Ack, Channel, Command, Event};
use kinglet_sim::World;
use kinglet_sim::medium::{Connectivity, MediumConfig};
use kinglet_sim::profile::{AT86RF233, CC2420_CONTIKI, Cca, CcaMode, NRF52840, RadioProfile};

/// Returns whether a node with `radio` that begins to assess at `at_us` finds the channel busy with
/// a frame of 127 octets, on the air from 10,017 + 129 us on for 4,256 us, at `dbm`.
fn busy(radio: RadioProfile, dbm: f64, at_us: u64) -> bool {
    let sender =
        Script::listening().send(10_000, transmit(Access::Immediate, false), data(9, 0, 7, 127));
    // An AT86RF233 prepares a frame of 20 octets for 39 us.
    let lead = if radio.load_time(20).as_micros() == 0 { 0 } else { 39 };
    let senser =
        Script::listening().send(at_us - lead, transmit(Access::Cca, false), data(9, 1, 7, 20));
    let medium = MediumConfig { connectivity: matrix(&[(0, 1, dbm)]), ..disc() };
    let nodes = vec![(node(0, 0.0), sender), (with_radio(node(1, 8.0), radio), senser)];
    let mut world = World::new(1, &medium, nodes);
    run(&mut world, 50_000);
    world.device(1).events().contains(&Event::ChannelBusy)
}

fn with_mode(mode: CcaMode) -> RadioProfile {
    RadioProfile { cca: Cca { mode, threshold_dbm: -80.0 }, ..AT86RF233 }
}

const BEGIN: u64 = 10_000 + 17 + 129;
const END: u64 = BEGIN + 4_256;

#[test]
fn each_mode_detects_what_it_is_made_for() {
    // Strong enough for both, for carrier sense only, and for neither.
    let cases = [
        (CcaMode::Energy, [true, false, false]),
        (CcaMode::Carrier, [true, true, false]),
        (CcaMode::Either, [true, true, false]),
        (CcaMode::Both, [true, false, false]),
    ];
    for (mode, expected) in cases {
        let found = [-79.0, -90.0, -102.0].map(|dbm| busy(with_mode(mode), dbm, BEGIN + 1_000));
        assert_eq!(found, expected, "{mode:?}");
    }
}

#[test]
fn both_parts_measure_energy_by_default() {
    assert_eq!((AT86RF233.cca.mode, NRF52840.cca.mode), (CcaMode::Energy, CcaMode::Energy));
    for (radio, threshold) in [(AT86RF233, -80.0), (NRF52840, -75.0)] {
        assert!(busy(radio, threshold + 0.1, BEGIN + 1_000), "{}", radio.name);
        assert!(!busy(radio, threshold - 0.1, BEGIN + 1_000), "{}", radio.name);
    }
}

#[test]
fn energy_is_averaged_over_the_eight_symbols() {
    let energy = with_mode(CcaMode::Energy);
    // The frame ends 64 us after the start of the assessment: half of the energy remains, 3.01 dB
    // less.
    assert!(busy(energy, -76.9, END - 64) && !busy(energy, -77.1, END - 64));
    // The frame begins 64 us before the end of the assessment.
    assert!(busy(energy, -76.9, BEGIN - 64) && !busy(energy, -77.1, BEGIN - 64));
    // An eighth of the energy.
    assert!(busy(energy, -70.9, END - 16) && !busy(energy, -71.1, END - 16));
    assert!(!busy(energy, -30.0, END) && !busy(energy, -30.0, BEGIN - 128));
    // Carrier sense detects the shortest overlap.
    let carrier = with_mode(CcaMode::Carrier);
    assert!(busy(carrier, -90.0, END - 1) && !busy(carrier, -90.0, END));
}

/// Returns whether a listening receiver that is asked at `at_us` finds that the channel was busy
/// with that frame.
fn was_busy(dbm: f64, at_us: u64) -> bool {
    let cca = Cca { mode: CcaMode::Energy, threshold_dbm: -80.0 };
    let radio = RadioProfile { cca, ..CC2420_CONTIKI };
    let sender =
        Script::listening().send(10_000, transmit(Access::Immediate, false), data(9, 0, 7, 127));
    let sense = Command::Sense { channel: Channel::default(), times: 1 };
    let medium = MediumConfig { connectivity: matrix(&[(0, 1, dbm)]), ..disc() };
    let receiver = Script::listening().at(at_us, sense);
    let nodes = vec![(node(0, 0.0), sender), (with_radio(node(1, 8.0), radio), receiver)];
    let mut world = World::new(1, &medium, nodes);
    run(&mut world, 50_000);
    world.device(1).events().contains(&Event::Sensed { busy: true })
}

#[test]
fn a_receiver_that_listens_averages_energy_over_the_eight_symbols_before() {
    // The frame has ended 64 us before: half of the energy remains, 3.01 dB less.
    assert!(was_busy(-76.9, END + 64) && !was_busy(-77.1, END + 64));
    assert!(was_busy(-76.9, BEGIN + 64) && !was_busy(-77.1, BEGIN + 64));
    assert!(was_busy(-79.9, BEGIN + 128) && was_busy(-79.9, END) && !was_busy(-80.1, END));
    assert!(!was_busy(-30.0, BEGIN) && !was_busy(-30.0, END + 128));
}

#[test]
fn a_wider_interference_range_does_not_cure_hidden_terminals() {
    // Senders at 0 and 16 m, a sink at 8 m; a range of 10 m.
    let lost = |interference_range_m: f64| {
        let saturated = |source: u16, phase: u64| {
            (0..400).fold(Script::listening(), |script, i| {
                // Periods of different length.
                let at = 10_000 + phase + i * (6_000 + 37 * u64::from(source));
                script.send(at, transmit(Access::Cca, true), data(1, source, i as u8, 60))
            })
        };
        let mut medium = disc();
        medium.connectivity = Connectivity::UnitDisc {
            range_m: 10.0,
            interference_range_m: Some(interference_range_m),
            rssi_dbm: -60.0,
        };
        let devices = vec![saturated(0, 0), Script::listening(), saturated(2, 2_000)];
        let mut world = line(&medium, devices);
        run(&mut world, 4_000_000);
        let missing = |e: &&Event| matches!(e, Event::Transmitted { ack: Ack::Missing, .. });
        [0, 2]
            .map(|n| world.device(n).events().iter().filter(missing).count())
            .iter()
            .sum::<usize>()
    };
    let (near, far) = (lost(10.0), lost(20.0));
    assert!(near > 300, "{near}");
    // The acknowledgement for one sender now overlaps with the other's frame there, too.
    assert!(far >= near, "{near} {far}");
}
