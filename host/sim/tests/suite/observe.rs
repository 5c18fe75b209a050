//! Recording of a run, energy, and the handling of a broken device.

use crate::common::*;
use kinglet_radio::{Access, Command, Event};
use kinglet_sim::cpu::HostCost;
use kinglet_sim::energy::RadioState;
use kinglet_sim::medium::MediumConfig;
use kinglet_sim::profile::AT86RF233;
use kinglet_sim::timeline::{Interval, Kind, Timeline};
use kinglet_sim::{Device, NodeConfig, World};
use kinglet_time::{Duration, Instant};

fn exchange() -> World<Script> {
    let sender = Script::listening().send(10_000, transmit(Access::Cca, true), data(1, 0, 7, 127));
    line(&disc(), vec![sender, Script::listening()])
}

#[test]
fn a_timeline_shows_an_exchange() {
    let mut world = exchange();
    let window = (Instant::ZERO, Instant::from_secs(1));
    world.set_timeline(Some(Timeline::new(window.0, window.1, 100)));
    run(&mut world, 50_000);
    let timeline = world.set_timeline(None).unwrap();
    let interval = |node, start_us, end_us, kind| Interval { node, start_us, end_us, kind };
    let air = 10_000 + 146 + 128 + 192;
    let ack = air + 4_256 + 192;
    let expected = [
        interval(0, 10_000, 10_146, Kind::Load),
        interval(0, 10_146, 10_274, Kind::Sense),
        interval(0, air, air + 4_256, Kind::Send),
        interval(1, air, air + 4_256, Kind::Receive),
        interval(1, air + 4_256, air + 4_256 + 130, Kind::Readout),
        interval(1, ack, ack + 352, Kind::SendAck),
        interval(0, ack, ack + 352, Kind::Receive),
    ];
    let busy = timeline.intervals().iter().filter(|i| i.kind != Kind::On).copied();
    assert_eq!(busy.collect::<Vec<_>>(), expected);
    // Both listen in the remaining time.
    let on = timeline.intervals().iter().filter(|i| i.kind == Kind::On).copied();
    assert_eq!(on.collect::<Vec<_>>(), [0, 1].map(|node| interval(node, 410, 50_000, Kind::On)));
}

#[test]
fn a_timeline_is_bounded_by_window_and_limit() {
    let mut world = exchange();
    let us = Instant::from_micros;
    world.set_timeline(Some(Timeline::new(us(10_000), us(10_147), 100)));
    run(&mut world, 50_000);
    let timeline = world.set_timeline(None).unwrap();
    assert_eq!(timeline.intervals().iter().filter(|i| i.kind != Kind::On).count(), 2);
    let mut world = exchange();
    world.set_timeline(Some(Timeline::new(us(0), us(1_000_000), 3)));
    run(&mut world, 50_000);
    assert_eq!(world.set_timeline(None).unwrap().intervals().len(), 3);
}

#[test]
fn watching_changes_nothing() {
    let mut plain = exchange();
    run(&mut plain, 50_000);
    let mut watched = exchange();
    let (trace, events) = to_memory();
    watched.set_trace(Some(trace));
    run(&mut watched, 50_000);
    assert!(!events.lock().expect("no panic").is_empty());
    assert_eq!(plain.events(), watched.events());
    assert_eq!(plain.device(0).recorded, watched.device(0).recorded);
    for n in 0..2 {
        assert_eq!(plain.counters(n), watched.counters(n));
        assert_eq!(plain.energy(n), watched.energy(n));
    }
}

#[test]
fn an_exchange_needs_few_events() {
    let mut world = exchange();
    run(&mut world, 50_000);
    // Two wake-ups of radios (with a deadline of each script) and the exchange itself.
    assert!(world.events() <= 14, "{} events", world.events());
}

#[test]
fn time_in_states_follows_the_exchange() {
    let mut world = exchange();
    run(&mut world, 50_000);
    let (sender, receiver) = (world.energy(0), world.energy(1));
    let of = |e: &kinglet_sim::energy::Energy, s| e.radio.of(s);
    assert_eq!(of(&sender, RadioState::Transmit), 4_256);
    assert_eq!(of(&sender, RadioState::Receive), 352);
    assert_eq!(of(&sender, RadioState::Ready), 146 + 192);
    assert_eq!(of(&receiver, RadioState::Transmit), 352);
    assert_eq!(of(&receiver, RadioState::Receive), 4_256);
    assert_eq!(of(&receiver, RadioState::Ready), 192);
    for energy in [&sender, &receiver] {
        assert_eq!(of(energy, RadioState::Idle), 330, "the oscillator starts");
        assert_eq!(of(energy, RadioState::Settle), 80, "the synthesiser starts");
        assert_eq!(energy.radio.total(), 50_000);
    }
    let listening = 50_000 - 410 - 352;
    let currents = AT86RF233.currents;
    let starting = 330 * currents.idle_ua + 80 * currents.ready_ua;
    let nano = starting + listening * currents.listen_ua + 352 * currents.transmit_ua;
    assert!((receiver.radio_uc - nano as f64 / 1e6).abs() < 1e-9);
}

#[test]
fn a_host_that_cannot_keep_up_drops_frames_and_says_so() {
    let cost = HostCost::per_frame(Duration::from_millis(100));
    let script = (0..80u64).fold(Script::listening(), |script, i| {
        let frame = data(0xFFFF, 0, i as u8, 20);
        script.send(10_000 + i * 5_000, transmit(Access::Immediate, false), frame)
    });
    let slow = NodeConfig { host: cost, ..node(1, 5.0) };
    let nodes = vec![(node(0, 0.0), script), (slow, Script::listening())];
    let mut world = World::new(1, &disc(), nodes);
    run(&mut world, 20_000_000);
    let dropped = world.counters(1).host_dropped;
    assert!(dropped > 20, "{dropped}");
    assert_eq!(world.device(1).received() as u64 + dropped, 80);
    assert_eq!(world.energy(1).cpu_active_us, (80 - dropped) * 100_000);
}

/// A device whose deadline never moves.
struct Stuck;

impl Device for Stuck {
    fn handle_radio(&mut self, _: Instant, _: Event, _: &[u8]) {}

    fn poll_radio(&mut self, _: Instant) -> Option<(Command, &[u8])> {
        None
    }

    fn deadline(&self) -> Option<Instant> {
        Some(Instant::from_millis(5))
    }

    fn handle_deadline(&mut self, _: Instant) {}
}

#[test]
#[should_panic(expected = "stale deadline")]
fn a_stale_deadline_is_found_out() {
    let mut world = World::new(1, &MediumConfig::unit_disc(1.0), vec![(node(0, 0.0), Stuck)]);
    world.run_until(Instant::from_secs(1));
}
