//! Frames found by a receiver, and their correct bits: sensitivity, preambles, rivals.

use crate::common::*;
use kinglet_radio::Access;
use kinglet_sim::World;
use kinglet_sim::ber::{ln_success, mw_from_dbm};
use kinglet_sim::medium::{MediumConfig, Overlap};
use kinglet_sim::profile::{AT86RF233, NOISE_FLOOR_DBM, NRF52840, RadioProfile};
use kinglet_sim::stats::Fate;

const FRAMES: u64 = 4_000;

fn sinr(links: &[(usize, usize, f64)]) -> MediumConfig {
    MediumConfig { connectivity: matrix(links), overlap: Overlap::SinrBer, ..disc() }
}

fn with_radios(radio: RadioProfile, medium: &MediumConfig, devices: Vec<Script>) -> World<Script> {
    let place = |(i, device)| (with_radio(node(i, i as f64 * 8.0), radio), device);
    World::new(1, medium, devices.into_iter().enumerate().map(place).collect())
}

/// Share of frames of `psdu_len` octets lost at `dbm`.
fn loss(radio: RadioProfile, dbm: f64, psdu_len: usize) -> f64 {
    let devices = vec![broadcasts(FRAMES, 0, psdu_len), Script::listening()];
    let mut world = with_radios(radio, &sinr(&[(0, 1, dbm)]), devices);
    run(&mut world, 20_000 + FRAMES * 10_000);
    let fates = world.counters(1).fates;
    assert_eq!(fates.of(Fate::Noise) + fates.of(Fate::Delivered), world.counters(1).arrived);
    1.0 - world.device(1).received() as f64 / FRAMES as f64
}

#[test]
fn the_sensitivity_of_the_sheet_is_where_one_frame_in_a_hundred_is_lost() {
    for radio in [AT86RF233, NRF52840] {
        let snr_db = radio.sensitivity_dbm - NOISE_FLOOR_DBM - radio.implementation_loss_db;
        let lost = 1.0 - ln_success(mw_from_dbm(snr_db), 26.0 * 8.0).exp();
        assert!((lost - 0.01).abs() < 0.000_5, "{}: {lost}", radio.name);
        // Three standard deviations of 4000 frames are 0.5 %.
        let measured = loss(radio, radio.sensitivity_dbm, 20);
        assert!((measured - 0.01).abs() < 0.005, "{}: {measured}", radio.name);
    }
}

#[test]
fn around_the_sensitivity_there_is_a_grey_zone_and_no_cliff() {
    for radio in [AT86RF233, NRF52840] {
        for (below_db, psdu_len) in [(1.0, 20), (2.0, 20), (2.5, 20), (0.0, 127), (1.0, 127)] {
            let snr_db = radio.sensitivity_dbm - below_db - NOISE_FLOOR_DBM;
            let ratio = mw_from_dbm(snr_db - radio.implementation_loss_db);
            let expected = 1.0 - ln_success(ratio, (psdu_len + 6) as f64 * 8.0).exp();
            let measured = loss(radio, radio.sensitivity_dbm - below_db, psdu_len);
            assert!((measured - expected).abs() < 0.024, "{below_db} dB: {measured} {expected}");
        }
    }
}

/// Numbers of A's and C's frames that B receives of 200 each. C is `c_db` stronger than A at B and
/// begins `gap_us` after A.
fn heard(radio: RadioProfile, c_db: f64, gap_us: u64, destination: u16) -> (usize, usize) {
    let frames = |source: u16, from: u64| {
        (0..200).fold(Script::listening(), |script, i| {
            let to = if source == 0 { destination } else { 0xFFFF };
            let frame = data(to, source, i as u8, 120);
            script.send(from + i * 10_000, transmit(Access::Immediate, false), frame)
        })
    };
    let medium = sinr(&[(0, 1, -60.0), (1, 2, -60.0 + c_db)]);
    let devices = vec![frames(0, 10_000), Script::listening(), frames(2, 10_000 + gap_us)];
    let mut world = with_radios(radio, &medium, devices);
    run(&mut world, 3_000_000);
    let of = |source| world.device(1).recorded.iter().filter(|t| t.frame[7] == source).count();
    (of(0), of(2))
}

#[test]
fn a_preamble_far_below_another_frame_is_not_found() {
    // C is stronger, begins first, and is received. A begins during it and is not detected, so B is
    // free to receive the next frame of C.
    let devices = |c: Script| vec![broadcasts(100, 0, 127), Script::listening(), c];
    let late = (0..100).fold(Script::listening(), |script, i| {
        // It begins 1 ms before the end of A's frame.
        let frame = data(0xFFFF, 2, i as u8, 60);
        script.send(13_250 + i * 10_000, transmit(Access::Immediate, false), frame)
    });
    let medium = sinr(&[(0, 1, -80.0), (1, 2, -60.0)]);
    let mut world = with_radios(AT86RF233, &medium, devices(late));
    run(&mut world, 2_000_000);
    let of = |source| world.device(1).recorded.iter().filter(|t| t.frame[7] == source).count();
    assert_eq!((of(0), of(2)), (0, 0), "A was found first and holds the receiver");
    let early = (0..100).fold(Script::listening(), |script, i| {
        let frame = data(0xFFFF, 2, i as u8, 60);
        script.send(9_500 + i * 10_000, transmit(Access::Immediate, false), frame)
    });
    let mut world = with_radios(AT86RF233, &medium, devices(early));
    run(&mut world, 2_000_000);
    let of = |source| world.device(1).recorded.iter().filter(|t| t.frame[7] == source).count();
    assert_eq!((of(0), of(2)), (0, 100), "A's preamble drowns in C's frame");
}

#[test]
fn a_stronger_frame_that_begins_within_the_preamble_takes_the_receiver() {
    // The receiver has not decided until the end of the SFD (160 us).
    assert_eq!(heard(AT86RF233, 15.0, 100, 0xFFFF), (0, 200));
    assert_eq!(heard(AT86RF233, 15.0, 120, 0xFFFF), (0, 200));
    assert_eq!(heard(AT86RF233, 15.0, 170, 0xFFFF), (0, 0));
    // The weaker frame does not.
    assert_eq!(heard(AT86RF233, -15.0, 100, 0xFFFF), (200, 0));
}

#[test]
fn a_radio_that_filters_early_leaves_a_frame_for_others() {
    // 416 us after the start of a frame the filter knows its destination.
    for (gap_us, taken) in [(400, 0), (420, 200), (2_000, 200)] {
        assert_eq!(heard(NRF52840, 15.0, gap_us, 9), (0, taken), "{gap_us}");
        assert_eq!(heard(AT86RF233, 15.0, gap_us, 9), (0, 0), "{gap_us}");
    }
    assert_eq!(heard(NRF52840, 15.0, 2_000, 1), (0, 0), "a frame for itself it keeps");
}

#[test]
fn of_two_equal_frames_that_overlap_none_survives_and_the_first_one_wins_with_six_decibels() {
    assert_eq!(heard(AT86RF233, 0.0, 500, 0xFFFF), (0, 0));
    let (first, second) = heard(AT86RF233, -6.0, 500, 0xFFFF);
    assert!(first >= 199 && second == 0, "{first} {second}");
}

#[test]
fn a_command_takes_over_before_the_end_of_the_delimiter_and_not_after_it() {
    // A's frame begins 39 us after its command: 16 + 1 + 22 to load it.
    for (after_us, received) in [(39 + 150, 0), (39 + 170, 1)] {
        let sender =
            Script::listening().send(10_000, transmit(Access::Immediate, false), data(1, 0, 7, 20));
        let answer = Script::listening().send(
            10_000 + after_us,
            transmit(Access::Immediate, false),
            data(0, 1, 7, 20),
        );
        let mut world = line(&disc(), vec![sender, answer]);
        run(&mut world, 50_000);
        assert_eq!(world.device(1).received(), received, "{after_us}");
        let abandoned = world.counters(1).fates.of(Fate::Abandoned);
        assert_eq!(abandoned as usize, 1 - received);
    }
}
