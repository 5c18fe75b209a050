//! Causes of radio time: every microsecond has exactly one cause, and the correct one.

use crate::common::{PAN, Script, csma, data, disc, line, listen, run, transmit};
use kinglet_radio::{Access, Command};
use kinglet_sim::World;
use kinglet_sim::energy::RadioState;
use kinglet_sim::ledger::{Cause, Ledger};
use kinglet_sim::timeline::{Kind, Timeline};
use kinglet_time::Instant;

/// A frame of 127 octets on the air, and an acknowledgement.
const FRAME_US: u64 = 4_256;
const ACK_US: u64 = 352;
/// Time from the command to the preamble without channel access: state changes and load.
const PREPARE_US: u64 = 17 + 129;
const TURNAROUND_US: u64 = 192;
const READOUT_US: u64 = 130;

fn data_request(parent: u16, child: u16, sequence: u8) -> Vec<u8> {
    let mut frame = vec![0x63, 0x88, sequence];
    for field in [PAN, parent, child] {
        frame.extend(field.to_le_bytes());
    }
    frame.push(4);
    frame
}

/// Ledger of `node`, after a check of its total.
fn ledger(world: &World<Script>, node: usize) -> Ledger {
    let energy = world.energy(node);
    let off = energy.radio.of(RadioState::Sleep) + energy.radio.starting();
    assert_eq!(energy.radio.total(), energy.elapsed_us);
    assert_eq!(energy.ledger.total(), energy.elapsed_us - off);
    assert_eq!(energy.on_by_hour_us.iter().sum::<u64>(), energy.ledger.total());
    energy.ledger
}

/// A node that wakes up for each frame and is off otherwise.
fn sends(frames: Vec<Vec<u8>>) -> Script {
    (0..).zip(frames).fold(Script::silent(), |script, (i, frame)| {
        let ack = frame[0] & 0x20 != 0;
        script.send(10_000 + i * 20_000, transmit(Access::Immediate, ack), frame)
    })
}

#[test]
fn an_acknowledged_frame_is_sent_once_and_received_once() {
    let mut world = line(&disc(), vec![sends(vec![data(1, 0, 7, 127)]), Script::listening()]);
    run(&mut world, 100_000);
    let sender = ledger(&world, 0);
    assert_eq!(sender.of(Cause::Send), PREPARE_US + FRAME_US + TURNAROUND_US + ACK_US);
    assert_eq!(sender.total(), sender.of(Cause::Send));
    let receiver = ledger(&world, 1);
    // The readout overlaps with the acknowledgement.
    assert_eq!(receiver.of(Cause::Receive), FRAME_US);
    assert_eq!(receiver.of(Cause::Control), TURNAROUND_US + ACK_US);
    let rest = 100_000 - 410 - FRAME_US - TURNAROUND_US - ACK_US;
    assert_eq!(receiver.of(Cause::Listen), rest);
}

#[test]
fn a_repeated_frame_is_a_retry_and_the_next_new_frame_is_not() {
    let same = || data(9, 0, 7, 127);
    let frames = vec![same(), same(), same(), data(9, 0, 8, 127)];
    let mut world = line(&disc(), vec![sends(frames), Script::listening()]);
    run(&mut world, 200_000);
    let sender = ledger(&world, 0);
    assert_eq!(sender.of(Cause::Retry), 2 * sender.of(Cause::Send) / 2);
    // A frame for another node.
    let other = ledger(&world, 1);
    assert_eq!((other.of(Cause::Receive), other.of(Cause::Listen)), (0, 200_000 - 410));
}

#[test]
fn sleep_between_attempts_is_known_and_other_sleep_is_not_counted() {
    let same = || data(9, 0, 7, 127);
    let frames = vec![same(), same(), same(), data(9, 0, 8, 127), data(1, 0, 9, 127), same()];
    let mut world = line(&disc(), vec![sends(frames), Script::listening()]);
    run(&mut world, 200_000);
    let attempt = ledger(&world, 0).of(Cause::Retry) / 3;
    // Counted twice; sleep before another frame or after an acknowledged one does not count.
    let sleep = 20_000 - 410 - attempt;
    assert_eq!(world.energy(0).between_attempts_us, 2 * (sleep - 410));
}

#[test]
fn a_number_that_comes_again_after_all_others_is_no_retry() {
    let lost = (0..=255).chain([0]).map(|n| data(9, 0, n, 127)).collect();
    let mut world = line(&disc(), vec![sends(lost)]);
    run(&mut world, 10_000_000);
    assert_eq!(ledger(&world, 0).of(Cause::Retry), 0);
}

#[test]
fn polls_and_broadcasts_have_their_own_entries() {
    let frames = vec![data_request(1, 0, 1), data(0xFFFF, 0, 2, 127)];
    let mut world = line(&disc(), vec![sends(frames), Script::listening()]);
    run(&mut world, 100_000);
    let sender = ledger(&world, 0);
    let request_us = 32 * (6 + 12);
    let load_us = 2 + 12;
    assert_eq!(sender.of(Cause::Poll), 17 + load_us + request_us + TURNAROUND_US + ACK_US);
    assert_eq!(sender.of(Cause::Control), PREPARE_US + FRAME_US);
    let parent = ledger(&world, 1);
    assert_eq!(parent.of(Cause::Poll), request_us);
    let control = TURNAROUND_US + ACK_US + FRAME_US + READOUT_US;
    assert_eq!(parent.of(Cause::Control), control);
}

#[test]
fn hours_are_kept_apart() {
    const HOUR: u64 = 3_600_000_000;
    let sleeper = Script::silent().at(HOUR - 1_000_410, listen()).at(2 * HOUR + 5, Command::Off);
    let mut world = line(&disc(), vec![sleeper]);
    run(&mut world, 4 * HOUR - 1);
    ledger(&world, 0);
    assert_eq!(world.energy(0).on_by_hour_us, [1_000_000, HOUR, 5, 0]);
}

#[test]
fn any_traffic_adds_up() {
    let busy = |own: u16, to: u16| {
        (0..40u64).fold(Script::listening(), |script, i| {
            let frame = data(to, own, (i / 2) as u8, 60 + own as usize * 9);
            script.send(5_000 + i * 9_000 + u64::from(own) * 700, transmit(csma(), true), frame)
        })
    };
    let mut world = line(&disc(), vec![busy(0, 1), busy(1, 2), busy(2, 1), busy(3, 2)]);
    for end in [1_000, 77_777, 200_001, 500_000] {
        run(&mut world, end);
        let sums = (0..4).map(|node| ledger(&world, node).total());
        assert!(sums.into_iter().all(|on| on <= end));
    }
    assert!(ledger(&world, 1).of(Cause::Retry) > 0);
}

#[test]
fn the_timeline_has_one_interval_per_stretch_in_which_a_radio_is_on() {
    let sleeper = Script::silent().at(1_000, listen()).at(9_000, Command::Off);
    let frames = sends(vec![data(1, 0, 7, 127)]);
    let mut world = line(&disc(), vec![frames, sleeper]);
    world.set_timeline(Some(Timeline::new(Instant::ZERO, Instant::from_secs(1), 100)));
    run(&mut world, 100_000);
    let timeline = world.set_timeline(None).expect("it was set");
    let on: Vec<(u32, u64, u64)> = timeline
        .intervals()
        .iter()
        .filter(|i| i.kind == Kind::On)
        .map(|i| (i.node, i.start_us, i.end_us))
        .collect();
    assert_eq!(on.len(), 2, "{on:?}");
    assert!(on.contains(&(1, 1_410, 9_000)));
    let sent = on.iter().find(|i| i.0 == 0).expect("the sender was on");
    assert_eq!(sent.2 - sent.1, world.energy(0).ledger.total());
}
