//! The CC2420's FIFOs behind a slow bus, to the microsecond.

use crate::common::*;
use kinglet_radio::{Access, air_time};
use kinglet_sim::World;
use kinglet_sim::profile::CC2420;
use kinglet_sim::stats::Fate;

/// Microseconds to copy this number of octets at 500 kHz.
const fn copied(octets: u64) -> u64 {
    octets * 16
}

/// Node 1 does `middle`, and receives one broadcast, without acknowledgement, from each other node.
/// `frames` has the start of each preamble and the length of the broadcast.
fn world(middle: Script, frames: &[(u64, usize)]) -> World<Script> {
    let sender = |(start, len): &(u64, usize)| {
        let command = transmit(Access::Immediate, false);
        let frame = data(0xFFFF, 9, 7, *len);
        // The node sleeps before and receives no frame.
        let begin = start - copied(2 + *len as u64) - CC2420.wake_us();
        Script::silent().send(begin, command, frame)
    };
    let mut scripts: Vec<_> = frames.iter().map(sender).collect();
    scripts.resize_with(scripts.len().max(1), Script::silent);
    scripts.insert(1, middle);
    let place = |(n, script)| (with_radio(node(n, n as f64), CC2420), script);
    let nodes = scripts.into_iter().enumerate().map(place);
    let mut world = World::new(1, &disc(), nodes.collect());
    run(&mut world, 60_000);
    world
}

#[test]
fn a_frame_is_received_while_the_one_before_is_read_out() {
    let end = 10_000 + air_time(127).as_micros();
    let second = end + 50;
    let heard = world(Script::listening(), &[(10_000, 127), (second, 20)]);
    let recorded: Vec<_> = heard.device(1).recorded.iter().map(|t| (t.at, t.frame.len())).collect();
    let first = end + copied(3 + 127);
    assert!(second + air_time(20).as_micros() < first, "it has ended before");
    assert_eq!(recorded, [(first, 125), (first + copied(3 + 20), 18)]);
}

#[test]
fn a_third_finds_the_fifo_full() {
    let end = 10_000 + air_time(127).as_micros();
    let second = end + 10;
    let third = second + air_time(20).as_micros() + 10;
    assert!(third + air_time(10).as_micros() < end + copied(3 + 127));
    let heard = world(Script::listening(), &[(10_000, 127), (second, 20), (third, 10)]);
    assert_eq!(heard.device(1).received(), 2);
    assert_eq!(heard.counters(1).mine.of(Fate::Readout), 1);
    // Slightly later there is space again.
    let later = end + copied(3 + 127);
    let heard = world(Script::listening(), &[(10_000, 127), (second, 20), (later, 10)]);
    assert_eq!(heard.device(1).received(), 3);
}

#[test]
fn a_frame_is_received_while_another_is_loaded_and_delays_nothing() {
    let command = transmit(Access::Cca, false);
    let sending = || Script::listening().send(10_000, command, data(0xFFFF, 1, 7, 127));
    let loaded = 10_000 + copied(2 + 127);
    let heard = world(sending(), &[(10_100, 20)]);
    // Until then the bus is busy with the load; the radio is not.
    assert_eq!(heard.device(1).recorded[0].at, loaded + copied(3 + 20));
    assert_eq!(heard.counters(1).mine.of(Fate::Delivered), 1);
    let air = loaded + 128 + 192;
    let sent = |world: &World<Script>| {
        world.device(1).recorded.iter().find(|t| t.frame.is_empty()).map(|t| t.at)
    };
    assert_eq!(sent(&heard), Some(air + air_time(127).as_micros()));
    assert_eq!(sent(&world(sending(), &[])), sent(&heard));
}
