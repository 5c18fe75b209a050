//! Times at which the event loop calls a device.

use kinglet_radio::{Command, Event, Filter};
use kinglet_sim::cpu::HostCost;
use kinglet_sim::medium::{MediumConfig, Position};
use kinglet_sim::profile::AT86RF233;
use kinglet_sim::{Device, NodeConfig, World};
use kinglet_time::Instant;

/// Has a deadline, and records the times of polls and wake-ups.
#[derive(Default)]
struct Sleeper {
    deadline: Option<Instant>,
    polled: Vec<u64>,
    woken: Vec<u64>,
}

impl Device for Sleeper {
    fn handle_radio(&mut self, _: Instant, _: Event, _: &[u8]) {}

    fn poll_radio(&mut self, now: Instant) -> Option<(Command, &[u8])> {
        self.polled.push(now.as_micros() / 1_000);
        None
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn handle_deadline(&mut self, now: Instant) {
        self.woken.push(now.as_micros() / 1_000);
        self.deadline = None;
    }
}

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

#[test]
fn a_deadline_is_kept_wherever_it_moves_and_a_device_is_left_alone_until_then() {
    let config = NodeConfig {
        position: Position { x_m: 0.0, y_m: 0.0 },
        filter: Filter { pan_id: 0xABCD, short: 1, extended: [0; 8] },
        radio: AT86RF233,
        host: HostCost::NONE,
        drift_ppm: 0,
        begin_us: 0,
        chip: None,
    };
    let mut world =
        World::new(1, &MediumConfig::unit_disc(1.0), vec![(config, Sleeper::default())]);
    // Later, earlier than all, later than both, and in between.
    for (at, deadline) in [(100, 1_000), (200, 500), (300, 2_000), (600, 1_500)] {
        world.run_until(ms(at));
        world.with_device(0, |sleeper, _| sleeper.deadline = Some(ms(deadline)));
    }
    world.run_until(ms(3_000));
    world.with_device(0, |sleeper, _| sleeper.deadline = Some(ms(3_500)));
    world.run_until(ms(4_000));
    let sleeper = world.device(0);
    assert_eq!(sleeper.woken, [1_500, 3_500]);
    assert_eq!(sleeper.polled, [0, 100, 200, 300, 600, 1_500, 3_000, 3_500]);
}
