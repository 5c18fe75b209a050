//! Frames that a radio repeats in hardware, and channel samples that detect them.

use crate::common::*;
use kinglet_radio::{
    Ack, CCA, Channel, Command, Event, LIFS, SENSES_APART, SIFS, STROBE_GAP, SourceFilter, Start,
    TURNAROUND, air_time,
};
use kinglet_sim::World;
use kinglet_sim::energy::RadioState;
use kinglet_sim::profile::{CC2420_CONTIKI as CC2420, RadioProfile};
use kinglet_time::Duration;

const ACKED: Ack = Ack::Received { frame_pending: false };

fn strobe(senses: u8, ack: bool, lasting_us: u64) -> Command {
    spaced(senses, ack, lasting_us, LIFS)
}

fn spaced(senses: u8, ack: bool, lasting_us: u64, spacing: Duration) -> Command {
    Command::Strobe {
        start: Start::Asap,
        senses,
        channel: Channel::default(),
        power_dbm: 0,
        ack,
        lasting: Duration::from_micros(lasting_us),
        spacing,
    }
}

fn sense(times: u8) -> Command {
    Command::Sense { channel: Channel::default(), times }
}

fn world(radio: RadioProfile, devices: Vec<Script>) -> World<Script> {
    let place = |(i, device)| (with_radio(node(i, i as f64 * 8.0), radio), device);
    World::new(1, &disc(), devices.into_iter().enumerate().map(place).collect())
}

/// Time of the first preamble of a strobe of `psdu_len` octets that was submitted at `at`.
fn begin(at: u64, psdu_len: usize) -> u64 {
    at + CC2420.load_time(psdu_len).as_micros() + CC2420.wake_us()
}

#[test]
fn a_frame_goes_out_until_it_is_acknowledged_and_is_loaded_once() {
    let (psdu_len, wakes) = (100, 40_000);
    let sender = Script::silent().send(1_000, strobe(0, true, 200_000), data(1, 0, 7, psdu_len));
    let sleeper = Script::silent().at(wakes, listen());
    let mut world = world(CC2420, vec![sender, sleeper]);
    run(&mut world, 300_000);
    let [Event::Strobed { sfd, ack: ACKED, times }] = world.device(0).events()[..] else {
        panic!("{:?}", world.device(0).events())
    };
    let each = air_time(psdu_len).as_micros() + STROBE_GAP.as_micros();
    let first_heard = (wakes + CC2420.wake_us() - begin(1_000, psdu_len)).div_ceil(each);
    assert_eq!(u64::from(times), first_heard + 1);
    assert_eq!(sfd.as_micros(), begin(1_000, psdu_len) + first_heard * each + 160);
    assert_eq!((world.device(1).received(), world.counters(0).frames_sent), (1, times.into()));
    let sent = u64::from(times) * air_time(psdu_len).as_micros();
    assert_eq!(world.energy(0).radio.of(RadioState::Transmit), sent);
}

#[test]
fn no_repetition_begins_later_than_that_and_one_is_always_sent() {
    let each = air_time(50).as_micros() + STROBE_GAP.as_micros();
    for (lasting, sent) in [(0, 1), (each - 1, 1), (each, 2), (5 * each, 6)] {
        for ack in [false, true] {
            let sender = Script::silent().send(1_000, strobe(0, ack, lasting), data(1, 0, 7, 50));
            let mut world = world(CC2420, vec![sender]);
            run(&mut world, 300_000);
            let expected = if ack { Ack::Missing } else { Ack::NotAwaited };
            let [Event::Strobed { ack, times, .. }] = world.device(0).events()[..] else {
                panic!("{:?}", world.device(0).events())
            };
            assert_eq!((ack, times), (expected, sent), "{lasting} us");
        }
    }
}

#[test]
fn a_strobe_behind_another_waits_for_the_spacing_by_itself_and_loads_its_frame_meanwhile() {
    let acked = |sfd, psdu_len| {
        let end = sfd + air_time(psdu_len).as_micros() - 160;
        end + (TURNAROUND + air_time(5)).as_micros()
    };
    for (psdu_len, spacing) in [(18, SIFS), (19, LIFS), (127, SIFS), (127, LIFS)] {
        for later in [0, 100, 5_000] {
            let one = |sequence| data(1, 0, sequence, psdu_len);
            let first = begin(1_000, psdu_len) + 160;
            let at = acked(first, psdu_len) + later;
            let sender = Script::silent().send(1_000, strobe(0, true, 0), one(7)).send(
                at,
                spaced(0, true, 0, spacing),
                one(8),
            );
            let mut world = world(CC2420, vec![sender, Script::listening()]);
            run(&mut world, 100_000);
            let [Event::Strobed { ack: ACKED, .. }, Event::Strobed { sfd, ack: ACKED, .. }] =
                world.device(0).events()[..]
            else {
                panic!("{:?}", world.device(0).events())
            };
            let over = acked(first, psdu_len) + spacing.as_micros();
            let expected = begin(at, psdu_len).max(over) + 160;
            assert_eq!(sfd.as_micros(), expected, "{psdu_len} octets, {later} us later");
        }
    }
}

#[test]
fn assessments_before_a_strobe_notice_another_whenever_it_has_begun() {
    // A strobe takes 20 ms, and the other one begins during it.
    for later in (0..5_000).step_by(37) {
        let first = Script::silent().send(1_000, strobe(0, false, 20_000), data(9, 0, 7, 30));
        let at = begin(1_000, 30) + later;
        let second = Script::silent().send(at, strobe(2, false, 20_000), data(9, 1, 8, 30));
        let mut world = world(CC2420, vec![first, second]);
        run(&mut world, 100_000);
        assert_eq!(world.device(1).events(), [Event::ChannelBusy], "{later}");
        assert_eq!(world.counters(1).frames_sent, 0);
    }
}

#[test]
fn two_samples_notice_a_strobe_and_the_radio_sleeps_between_them() {
    let quiet = Script::silent().at(1_000, sense(2));
    let mut world = world(CC2420, vec![quiet]);
    run(&mut world, 50_000);
    let took = CC2420.wake_us() + 2 * CCA.as_micros() + SENSES_APART.as_micros();
    let recorded = &world.device(0).recorded[0];
    assert_eq!((recorded.event, recorded.at), (Event::Sensed { busy: false }, 1_000 + took));
    let times = world.energy(0).radio;
    assert_eq!(times.of(RadioState::Listen), 2 * CCA.as_micros());
    assert_eq!(times.starting(), 2 * TURNAROUND.as_micros());
    assert_eq!(times.total(), 50_000);
}

#[test]
fn a_listener_that_senses_hears_when_it_is_silent() {
    let sender = Script::silent().send(1_000, strobe(0, true, 0), data(9, 0, 7, 100));
    let end = begin(1_000, 100) + air_time(100).as_micros();
    let listener = Script::listening()
        .at(end - 1_000, sense(3))
        .at(end + 200, sense(3))
        .at(end + 9_000, sense(1));
    let mut world = world(CC2420, vec![sender, listener]);
    run(&mut world, 100_000);
    let sensed: Vec<_> =
        world.device(1).recorded.iter().map(|recorded| (recorded.event, recorded.at)).collect();
    let apart = (CCA + SENSES_APART).as_micros();
    let expected = [
        (Event::Sensed { busy: true }, end - 1_000),
        (Event::Sensed { busy: false }, end + 200 + 2 * apart),
        (Event::Sensed { busy: false }, end + 9_000),
    ];
    assert_eq!(sensed, expected);
}

/// Listens until `until_us` for some neighbours only, while neighbour 0 strobes from 1 ms on.
/// Returns the result of the strobe, its repetitions, and the number of received frames.
fn strobed_at(source_filter: SourceFilter, until_us: u64) -> (Ack, u16, usize) {
    let awaits = Command::Await {
        start: Start::Asap,
        until: kinglet_time::Instant::from_micros(until_us),
        channel: Channel::default(),
        source_filter,
    };
    let sender = Script::silent().send(1_000, strobe(0, true, 50_000), data(1, 0, 7, 100));
    let mut world = world(CC2420, vec![sender, Script::silent().at(0, awaits)]);
    run(&mut world, 300_000);
    let [Event::Strobed { ack, times, .. }] = world.device(0).events()[..] else {
        panic!("{:?}", world.device(0).events())
    };
    (ack, times, world.device(1).received())
}

#[test]
fn a_radio_that_awaits_some_neighbours_does_not_receive_others() {
    for source_filter in [SourceFilter::Any, SourceFilter::Only(0), SourceFilter::AllBut(9)] {
        assert_eq!(strobed_at(source_filter, 400_000), (ACKED, 1, 1), "{source_filter:?}");
    }
    for source_filter in [SourceFilter::Only(9), SourceFilter::AllBut(0)] {
        let (ack, times, heard) = strobed_at(source_filter, 400_000);
        assert_eq!((ack, times > 5, heard), (Ack::Missing, true, 0), "{source_filter:?}");
    }
}

#[test]
fn a_frame_that_begins_before_the_radio_goes_off_is_filtered_too() {
    // The radio goes off during a repetition.
    for until_us in (20_000..25_000).step_by(500) {
        assert_eq!(strobed_at(SourceFilter::AllBut(0), until_us).2, 0, "{until_us}");
    }
}
