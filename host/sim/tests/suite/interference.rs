//! Effect of sources outside the network on frames and carrier sense.

use crate::common::{Script, csma, data, listen, node, run, to_memory, transmit};
use kinglet_radio::Access;
use kinglet_sim::World;
use kinglet_sim::interference::{Heard, Interferer, Pattern};
use kinglet_sim::medium::{Connectivity, MediumConfig, Overlap, PathLoss, Position};
use kinglet_sim::profile::AT86RF233;
use kinglet_sim::stats::Fate;

const FRAMES: u64 = 400;
const SPACING_US: u64 = 20_000;
/// Loss over the 8 m between the nodes of these tests, in dB.
const LOSS_DB: f64 = 26.77 + 38.3 * 0.903_09;

fn medium(interferers: Vec<Interferer>) -> MediumConfig {
    MediumConfig {
        connectivity: Connectivity::PathLoss(PathLoss {
            shadowing_sigma_db: 0.0,
            ..PathLoss::INDOOR_NLOS
        }),
        overlap: Overlap::SinrBer,
        interferers,
        ..MediumConfig::unit_disc(1.0)
    }
}

/// A source at 1 m from the receiver, where it is `below_db` weaker than a frame of 0 dBm.
fn source(below_db: f64, on_us: u64) -> Interferer {
    at(9.0, -LOSS_DB - below_db + 26.77, on_us)
}

fn at(x_m: f64, power_dbm: f64, on_us: u64) -> Interferer {
    let position = Position { x_m, y_m: 0.0 };
    Interferer {
        heard: Heard::Around { position, power_dbm, path: PathLoss::INDOOR_NLOS },
        pattern: Pattern::Periodic { period_us: SPACING_US, on_us },
        hours: [1.0; 24],
        within_us: 0..u64::MAX,
        channels: 11..=26,
    }
}

/// A sender of full frames, a receiver, and these sources.
fn world(interferers: Vec<Interferer>, access: Access) -> World<Script> {
    let mut sender = Script::silent().at(0, listen());
    for i in 0..FRAMES {
        let command = transmit(access, false);
        sender = sender.send(1_000 + i * SPACING_US, command, data(1, 0, i as u8, 127));
    }
    let nodes = [(node(0, 0.0), sender), (node(1, 8.0), Script::listening())];
    World::new(1, &medium(interferers), nodes.into())
}

/// Share of received frames for this ratio at the demodulator while the source is on.
fn received(ratio_db: f64, on_us: u64) -> f64 {
    let below_db = ratio_db + AT86RF233.implementation_loss_db;
    let mut world = world(vec![source(below_db, on_us)], Access::Immediate);
    run(&mut world, FRAMES * SPACING_US + 10_000);
    let fates = world.counters(1).fates;
    assert_eq!(fates.total(), FRAMES);
    assert_eq!(fates.of(Fate::Delivered) + fates.of(Fate::Noise), FRAMES);
    fates.of(Fate::Delivered) as f64 / FRAMES as f64
}

#[test]
fn loss_follows_the_bit_error_rate_of_the_ratio() {
    // The probability is 0.5 at -0.68 dB for a completely disturbed frame (see `ber.rs`).
    assert!((received(-0.68, SPACING_US) - 0.5).abs() < 0.08);
    assert!(received(3.0, SPACING_US) > 0.99);
    assert!(received(-4.0, SPACING_US) < 0.01);
}

#[test]
fn only_the_disturbed_part_of_a_frame_counts() {
    // Frames begin about a millisecond into the period, after the end of this burst.
    assert!(received(-20.0, 900) > 0.99);
    // At -2 dB the bit error rate is 5.2e-3: half a millisecond (125 bits) is survived by 0.52.
    let half = received(-2.0, 1_000 + 147 + 500);
    assert!((half - 0.52).abs() < 0.09, "{half}");
}

#[test]
fn carrier_sense_measures_the_energy_of_others() {
    for (above_threshold_db, clear) in [(3.0, false), (-3.0, true)] {
        // Received by the sender, 1 m away, around the threshold of -80 dBm.
        let one = at(-1.0, -80.0 + above_threshold_db + 26.77, SPACING_US);
        let mut world = world(vec![one], csma());
        run(&mut world, FRAMES * SPACING_US + 10_000);
        let counters = world.counters(0);
        assert_eq!(counters.frames_sent == 0, !clear, "{counters:?}");
        assert_eq!(counters.channel_busy == 0, clear, "{counters:?}");
    }
}

#[test]
fn silent_sources_change_nothing() {
    let trace = |interferers| {
        let mut world = world(interferers, csma());
        let (trace, events) = to_memory();
        world.set_trace(Some(trace));
        run(&mut world, FRAMES * SPACING_US);
        let events = events.lock().expect("no panic").clone();
        (events, world.events())
    };
    let silent = Interferer { hours: [0.0; 24], ..source(-20.0, SPACING_US) };
    let (with, without) = (trace(vec![silent; 5]), trace(Vec::new()));
    assert!(with == without && !with.0.is_empty());
}

#[test]
fn a_source_of_the_sender_stops_carrier_sense_and_one_of_the_receiver_frames() {
    // Always on, so that busy and mean level are equal: above the threshold, and above the signal
    // of -61 dBm.
    let by = |node| Interferer {
        heard: Heard::By { node, mean_dbm: -50.0, range_db: 60.0 },
        ..source(0.0, SPACING_US)
    };
    let mut sender = world(vec![by(0)], csma());
    run(&mut sender, FRAMES * SPACING_US + 10_000);
    assert_eq!((sender.counters(0).frames_sent, sender.counters(1).fates.total()), (0, 0));
    let mut receiver = world(vec![by(1)], csma());
    run(&mut receiver, FRAMES * SPACING_US + 10_000);
    assert_eq!(receiver.counters(0).frames_sent, FRAMES);
    assert_eq!(receiver.counters(1).fates.of(Fate::Noise), FRAMES);
}

#[test]
fn frames_are_lost_while_the_source_is_switched_on() {
    let half = FRAMES * SPACING_US / 2;
    let limited = Interferer { within_us: 0..half, ..source(20.0, SPACING_US) };
    let strong = Interferer { within_us: 0..half, ..source(-20.0, SPACING_US) };
    for (interferer, lost) in [(limited, 0), (strong, FRAMES / 2)] {
        let mut world = world(vec![interferer], Access::Immediate);
        run(&mut world, FRAMES * SPACING_US + 10_000);
        assert_eq!(world.counters(1).fates.of(Fate::Noise), lost);
    }
}
