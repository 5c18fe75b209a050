//! The AT86RF233 model, to the microsecond.

use crate::common::*;
use kinglet_radio::{Access, Ack, Capabilities, Channel, Command, Event, Start, air_time};
use kinglet_sim::cpu::HostCost;
use kinglet_sim::profile::{AT86RF233, NRF52840, RadioProfile, frame_time};
use kinglet_sim::stats::Fate;
use kinglet_sim::{NodeConfig, World};
use kinglet_time::{Duration, Instant};

fn us(instant: u64) -> Instant {
    Instant::from_micros(instant)
}

#[test]
fn a_unicast_exchange_takes_the_sum_of_its_parts() {
    let sender = Script::listening().send(10_000, transmit(Access::Cca, true), data(1, 0, 7, 127));
    let mut world = line(&disc(), vec![sender, Script::listening()]);
    run(&mut world, 30_000);
    let parts = frame_time(&AT86RF233, 127, 3);
    let begin = parts.state_change + parts.load + parts.cca + parts.turnaround;
    let done = us(10_000) + (parts.total() - parts.backoff - parts.spacing);
    let ack = Ack::Received { frame_pending: false };
    let sfd = us(10_000) + begin + Duration::from_micros(160);
    let recorded = &world.device(0).recorded;
    assert_eq!(recorded.len(), 1);
    assert_eq!(recorded[0].event, Event::Transmitted { sfd, ack });
    assert_eq!(us(recorded[0].at), done);
    assert_eq!(recorded[0].at, 10_000 + 7_026 - 640 - 1_120);
    // The receiver has the frame after 130 octets at 8 MHz, while its radio is still acknowledging.
    let received = &world.device(1).recorded[0];
    assert_eq!(received.frame, data(1, 0, 7, 127));
    assert_eq!(us(received.at), us(10_000) + begin + parts.air + Duration::from_micros(130));
    assert!(matches!(received.event, Event::Received { sfd: s, len: 125, acked: true, .. }
        if s == sfd));
}

#[test]
fn a_radio_with_ram_copies_nothing() {
    let nodes = vec![
        (
            with_radio(node(0, 0.0), NRF52840),
            Script::listening().send(10_000, transmit(Access::Cca, true), data(1, 0, 7, 127)),
        ),
        (with_radio(node(1, 5.0), NRF52840), Script::listening()),
    ];
    let mut world = World::new(1, &disc(), nodes);
    run(&mut world, 30_000);
    let air_end = 10_000 + 128 + 40 + 4_256;
    assert_eq!(world.device(1).recorded[0].at, air_end);
    assert_eq!(world.device(0).recorded[0].at, air_end + 192 + 352);
}

#[test]
fn an_absent_receiver_is_given_up_after_864_us() {
    let sender = Script::listening().send(1_000, transmit(Access::Cca, true), data(9, 0, 7, 50));
    let mut world = line(&disc(), vec![sender]);
    run(&mut world, 30_000);
    let recorded = &world.device(0).recorded[0];
    assert!(matches!(recorded.event, Event::Transmitted { ack: Ack::Missing, .. }));
    let air_end = 1_000 + 17 + 52 + 128 + 192 + air_time(50).as_micros();
    assert_eq!(recorded.at, air_end + 864);
}

#[test]
fn a_broadcast_is_not_acknowledged() {
    let sender =
        Script::listening().send(1_000, transmit(Access::Cca, false), data(0xFFFF, 0, 7, 50));
    let mut world = line(&disc(), vec![sender, Script::listening()]);
    run(&mut world, 30_000);
    assert!(matches!(
        world.device(0).events()[..],
        [Event::Transmitted { ack: Ack::NotAwaited, .. }]
    ));
    assert!(matches!(world.device(1).events()[..], [Event::Received { acked: false, .. }]));
    assert_eq!(world.counters(1).acks_sent, 0);
}

#[test]
fn frames_for_others_are_filtered() {
    let sender = Script::listening().send(1_000, transmit(Access::Cca, true), data(9, 0, 7, 50));
    let mut world = line(&disc(), vec![sender, Script::listening()]);
    run(&mut world, 30_000);
    assert_eq!(world.device(1).received(), 0);
    assert_eq!(world.counters(1).fates.of(Fate::Filtered), 1);
    assert_eq!(world.counters(1).mine.total(), 0);
}

/// Returns the fate of a frame from node 0, whose preamble starts at `start`, at node 1, which does
/// `busy`.
fn fate_of_frame_at(start: u64, busy: Script) -> Fate {
    let lead = 17 + 22; // a 20-octet frame without channel access
    let sender = Script::listening().send(
        start - lead,
        transmit(Access::Immediate, false),
        data(1, 0, 7, 20),
    );
    let mut world = line(&disc(), vec![sender, busy]);
    run(&mut world, 100_000);
    let mine = world.counters(1).mine;
    assert_eq!(mine.total(), 1);
    Fate::ALL.into_iter().find(|&f| mine.of(f) == 1).unwrap()
}

#[test]
fn the_single_buffer_makes_a_sender_deaf() {
    // Node 1 sends to node 9 (absent) at 10 ms: 1 + 129 + 16 us until the assessment, 128 us of
    // assessment, 192 us of turnaround, 4256 us on the air, 864 us of waiting.
    let busy = || Script::listening().send(10_000, transmit(Access::Cca, true), data(9, 1, 7, 127));
    assert_eq!(fate_of_frame_at(10_001, busy()), Fate::Loading);
    assert_eq!(fate_of_frame_at(10_145, busy()), Fate::Loading);
    assert_eq!(fate_of_frame_at(10_150, Script::listening()), Fate::Delivered);
    // A frame during the assessment makes the channel busy: it is lost here, and the other one is
    // not sent.
    assert_eq!(fate_of_frame_at(10_150, busy()), Fate::Sensing);
    assert_eq!(fate_of_frame_at(10_300, busy()), Fate::Turnaround);
    assert_eq!(fate_of_frame_at(12_000, busy()), Fate::Transmitting);
    assert_eq!(fate_of_frame_at(14_730, busy()), Fate::AwaitingAck);
    assert_eq!(fate_of_frame_at(15_600, busy()), Fate::Delivered);
}

#[test]
fn hardware_backoff_is_deaf() {
    // macMinBE = macMaxBE = 8 allows a backoff of up to 82 ms; seed 1 does not draw zero.
    let params = kinglet_radio::CsmaParams { min_be: 8, max_be: 8, max_backoffs: 4 };
    let busy =
        Script::listening().send(10_000, transmit(Access::Csma(params), false), data(9, 1, 7, 127));
    assert_eq!(fate_of_frame_at(10_200, busy), Fate::Backoff);
    // During a software backoff the radio listens and receives the same frame.
    assert_eq!(fate_of_frame_at(10_200, Script::listening()), Fate::Delivered);
}

#[test]
fn an_unread_frame_blocks_the_shared_buffer() {
    // Two consecutive senders; the second preamble starts 50 us after the end of the first frame,
    // within the 130 us of its readout.
    let first = || {
        Script::listening().send(
            10_000,
            transmit(Access::Immediate, false),
            data(0xFFFF, 0, 1, 127),
        )
    };
    let start = 10_000 + 17 + 129;
    let second = |gap: u64| {
        Script::listening().send(
            start + 4_256 + gap - (17 + 22),
            transmit(Access::Immediate, false),
            data(0xFFFF, 2, 1, 20),
        )
    };
    for (gap, fate) in [(50, Fate::Readout), (129, Fate::Readout), (131, Fate::Delivered)] {
        let mut world = line(&disc(), vec![first(), Script::listening(), second(gap)]);
        run(&mut world, 50_000);
        let fates = world.counters(1).fates;
        let expected = if fate == Fate::Delivered { 2 } else { 1 };
        assert_eq!(fates.of(Fate::Delivered), expected, "gap {gap}");
        assert_eq!(fates.total(), 2);
        assert!(fates.of(fate) >= 1);
    }
}

#[test]
fn a_sleeping_radio_receives_nothing_and_wakes_in_410_us() {
    let asleep = || Script::silent().at(9_000, Command::Off);
    assert_eq!(fate_of_frame_at(10_000, asleep()), Fate::Asleep);
    let waking = || Script::silent().at(10_000, listen());
    assert_eq!(fate_of_frame_at(10_400, waking()), Fate::Asleep);
    assert_eq!(fate_of_frame_at(10_411, waking()), Fate::Delivered);
}

#[test]
fn a_transmission_waits_for_the_frame_that_is_being_received() {
    // Node 0 sends to node 1 from 1 ms on; node 1 gets a command to send during that frame.
    let sender = Script::listening().send(1_000, transmit(Access::Cca, true), data(1, 0, 7, 127));
    let other = Script::listening().send(3_000, transmit(Access::Cca, true), data(0, 1, 9, 20));
    let mut world = line(&disc(), vec![sender, other]);
    run(&mut world, 50_000);
    let ack = |n: usize| {
        world
            .device(n)
            .events()
            .iter()
            .any(|e| matches!(e, Event::Transmitted { ack: Ack::Received { .. }, .. }))
    };
    assert!(ack(0) && ack(1));
    assert_eq!((world.device(0).received(), world.device(1).received()), (1, 1));
}

#[test]
fn a_scheduled_sfd_ends_when_it_should() {
    let at = Start::At(us(20_000));
    for access in [Access::Immediate, Access::Cca] {
        for off in [false, true] {
            let script = if off { Script::silent() } else { Script::listening() };
            let sender = script.send(10_000, transmit_at(at, access, false), data(1, 0, 7, 60));
            let mut world = line(&disc(), vec![sender, Script::listening()]);
            run(&mut world, 50_000);
            let sfd = us(20_000);
            let expected = Event::Transmitted { sfd, ack: Ack::NotAwaited };
            assert_eq!(world.device(0).events(), [expected], "{access:?} {off}");
            assert!(matches!(world.device(1).events()[..],
                [Event::Received { sfd: s, .. }] if s == sfd));
        }
    }
}

#[test]
fn a_start_that_cannot_be_met_is_missed() {
    let at = Start::At(us(10_100));
    let sender = Script::listening().send(
        10_000,
        transmit_at(at, Access::Immediate, false),
        data(1, 0, 7, 60),
    );
    let mut world = line(&disc(), vec![sender]);
    run(&mut world, 50_000);
    assert_eq!(world.device(0).events(), [Event::Missed]);
    assert_eq!(world.counters(0).missed, 1);
}

#[test]
fn listening_starts_and_ends_as_scheduled() {
    let window = || {
        let channel = Channel::default();
        let receive =
            Command::Receive { start: Start::At(us(20_000)), until: Some(us(30_000)), channel };
        Script::silent().at(1_000, receive)
    };
    assert_eq!(fate_of_frame_at(19_999, window()), Fate::Asleep);
    assert_eq!(fate_of_frame_at(20_001, window()), Fate::Delivered);
    // A frame for this node whose SFD ended in time is received completely.
    assert_eq!(fate_of_frame_at(29_839, window()), Fate::Delivered);
    assert_eq!(fate_of_frame_at(29_841, window()), Fate::Abandoned);
    assert_eq!(fate_of_frame_at(30_001, window()), Fate::Asleep);
}

#[test]
fn another_channel_is_another_world() {
    let channel = Channel::new(11).unwrap();
    let other =
        Script::silent().at(0, Command::Receive { start: Start::Asap, until: None, channel });
    assert_eq!(fate_of_frame_at(10_000, other), Fate::OtherChannel);
}

#[test]
fn a_second_transmission_is_refused_and_the_first_goes_on() {
    let sender = Script::listening()
        .send(1_000, transmit(Access::Cca, true), data(1, 0, 7, 127))
        .send(1_100, transmit(Access::Cca, true), data(1, 0, 8, 127));
    let mut world = line(&disc(), vec![sender, Script::listening()]);
    run(&mut world, 50_000);
    assert_eq!(world.counters(0).refused, 1);
    assert_eq!(world.device(1).received(), 1);
    assert_eq!(world.device(1).recorded[0].frame[2], 7);
}

#[test]
fn hardware_csma_gives_up_after_its_attempts() {
    // Two neighbours keep the channel occupied: each sends consecutive frames to an absent node,
    // and loads them during the frames of the other.
    let jammer = |source: u16, from: u64| {
        (0..60u64).fold(Script::listening(), |script, i| {
            let frame = data(9, source, i as u8, 127);
            script.send(from + i * 4_420, transmit(Access::Immediate, false), frame)
        })
    };
    let sender = Script::listening().send(20_000, transmit(csma(), true), data(0, 1, 7, 20));
    let mut world = line(&disc(), vec![jammer(0, 10_000), sender, jammer(2, 12_200)]);
    run(&mut world, 300_000);
    assert_eq!(world.device(1).events(), [Event::ChannelBusy]);
    let counters = world.counters(1);
    assert_eq!((counters.assessments, counters.assessments_busy), (5, 5));
    assert_eq!(counters.channel_busy, 1);
}

#[test]
fn hardware_csma_sends_on_a_clear_channel() {
    let sender = Script::listening().send(1_000, transmit(csma(), true), data(1, 0, 7, 60));
    let mut world = line(&disc(), vec![sender, Script::listening()]);
    run(&mut world, 100_000);
    let recorded = &world.device(0).recorded[0];
    assert!(matches!(recorded.event, Event::Transmitted { ack: Ack::Received { .. }, .. }));
    // Apart from 0 to 7 backoff periods it takes as long as with a single assessment.
    let base = 1_000 + 17 + 62 + 128 + 192 + air_time(60).as_micros() + 192 + 352;
    let extra = recorded.at - base;
    assert!(extra.is_multiple_of(320) && extra <= 7 * 320, "{extra}");
}

#[test]
fn presets_declare_their_abilities() {
    let all = AT86RF233.capabilities();
    assert!(all.contains(Capabilities::AUTO_ACK | Capabilities::CSMA));
    assert!(!NRF52840.capabilities().contains(Capabilities::CSMA));
}

#[test]
fn a_radio_without_abilities_leaves_everything_to_the_mac() {
    let bare = RadioProfile { abilities: &[], ..AT86RF233 };
    let sender = Script::listening().send(1_000, transmit(Access::Cca, true), data(1, 0, 7, 60));
    let nodes = vec![
        (with_radio(node(0, 0.0), bare), sender),
        (with_radio(node(1, 5.0), bare), Script::listening()),
        (with_radio(node(2, 5.0), bare), Script::listening()),
    ];
    let mut world = World::new(1, &disc(), nodes);
    run(&mut world, 50_000);
    assert!(matches!(
        world.device(0).events()[..],
        [Event::Transmitted { ack: Ack::NotAwaited, .. }]
    ));
    for n in [1, 2] {
        assert!(matches!(world.device(n).events()[..], [Event::Received { acked: false, .. }]));
    }
}

#[test]
fn a_host_cost_delays_frames_one_after_the_other() {
    let cost = HostCost { active_ua: 1_000, ..HostCost::per_frame(Duration::from_millis(5)) };
    let sender = Script::listening()
        .send(1_000, transmit(Access::Immediate, false), data(0xFFFF, 0, 1, 20))
        .send(3_000, transmit(Access::Immediate, false), data(0xFFFF, 0, 2, 20));
    let slow = NodeConfig { host: cost, ..node(1, 5.0) };
    let nodes = vec![(node(0, 0.0), sender), (slow, Script::listening())];
    let mut world = World::new(1, &disc(), nodes);
    run(&mut world, 50_000);
    // Load 17 + 22, air 832, readout 23.
    let first = 1_000 + 39 + 832 + 23;
    let at: Vec<u64> = world.device(1).recorded.iter().map(|t| t.at).collect();
    assert_eq!(at, [first + 5_000, first + 10_000]);
    assert_eq!(world.energy(1).cpu_active_us, 10_000);
    assert!((world.energy(1).cpu_uc - 10.0).abs() < 1e-9);
}

#[test]
fn a_host_cost_delays_commands_too() {
    let cost = HostCost { active_ua: 1_000, ..HostCost::per_frame(Duration::from_millis(2)) };
    let sender = Script::listening().send(1_000, transmit(Access::Cca, true), data(1, 0, 7, 127));
    let nodes = vec![
        (NodeConfig { host: cost, ..node(0, 0.0) }, sender),
        (node(1, 5.0), Script::listening()),
    ];
    let mut world = World::new(1, &disc(), nodes);
    run(&mut world, 50_000);
    assert_eq!(world.device(0).recorded[0].at, 1_000 + 2_000 + 6_386 - 1_120);
}

#[test]
fn a_reset_gives_a_transmission_up_and_nothing_more_is_heard_of_it() {
    let send = transmit(Access::Cca, true);
    let sender = |at: [u64; 3]| {
        let script = Script::listening().send(1_000, send, data(1, 0, 7, 127));
        script.at(at[0], Command::Reset).at(at[1], listen()).send(at[2], send, data(1, 0, 8, 60))
    };
    let mut world = line(&disc(), vec![sender([3_000, 3_000, 3_000]), Script::listening()]);
    run(&mut world, 50_000);
    assert_eq!((world.device(0).recorded.len(), world.device(1).received()), (1, 1));
    assert_eq!(world.device(1).recorded[0].frame[2], 8);
    assert_eq!(world.counters(1).fates.of(Fate::Truncated), 1);

    // With a slow CPU: at the event it is processing a second frame, which the radio gets before
    // the reset.
    let host = HostCost::per_frame(Duration::from_millis(5));
    let script = Script::listening().send(1_000, send, data(1, 0, 7, 127));
    let script = script.send(9_000, send, data(1, 0, 8, 60)).at(12_000, Command::Reset);
    let script = script.at(12_000, listen()).send(20_000, send, data(1, 0, 9, 60));
    let slow = NodeConfig { host, ..node(0, 0.0) };
    let nodes = vec![(slow, script), (node(1, 5.0), Script::listening())];
    let mut world = World::new(1, &disc(), nodes);
    run(&mut world, 11_900);
    assert_eq!((world.counters(0).acked, world.device(0).recorded.len()), (1, 0), "it waits");
    run(&mut world, 50_000);
    assert_eq!((world.counters(0).acked, world.device(0).recorded.len()), (2, 1));
    let heard: Vec<u8> =
        world.device(1).recorded.iter().map(|recorded| recorded.frame[2]).collect();
    assert_eq!(heard, [7, 9]);
}
