//! Loss of full-size frames at the only node in range of a source of interference, by the source's
//! mean level and the signal, and the duty of each source.
//!
//! `cargo run --release -p kinglet-sim --example interference [MINUTES]`
//!
//! A frame of 127 octets is sent at random instants, without carrier sense and without retries, to
//! a CC2420 that alone receives the source. The figures are for comparison with figure 6 of
//! Duquennoy et al., "Lossy Links, Low Power, High Throughput" (SenSys 2011), which does not state
//! the signal strength.

use kinglet_radio::{Access, Channel, Command, Event, Filter, Start};
use kinglet_sim::cpu::HostCost;
use kinglet_sim::interference::{
    Cell, Heard, Interferer, MICROWAVE, MICROWAVE_RANGE_DB, Pattern, WIFI_BURSTS, WIFI_FILE,
    WIFI_RANGE_DB,
};
use kinglet_sim::medium::{Connectivity, MatrixLink, MediumConfig, Overlap, Position};
use kinglet_sim::profile::CC2420;
use kinglet_sim::rng::Stream;
use kinglet_sim::stats::Fate;
use kinglet_sim::{Device, NodeConfig, World};
use kinglet_time::{Duration, Instant};

/// Listens, and sends a frame every 15 to 25 ms if it is the sender.
struct Node {
    sender: bool,
    listening: bool,
    due: Instant,
    random: Stream,
    frame: [u8; 125],
}

impl Device for Node {
    fn handle_radio(&mut self, _: Instant, _: Event, _: &[u8]) {}

    fn poll_radio(&mut self, now: Instant) -> Option<(Command, &[u8])> {
        let (start, channel) = (Start::Asap, Channel::default());
        if !std::mem::replace(&mut self.listening, true) {
            return Some((Command::Receive { start, until: None, channel }, &[]));
        }
        if !self.sender || self.due > now {
            return None;
        }
        self.due = now + Duration::from_micros(15_000 + u64::from(self.random.below(10_000)));
        let access = Access::Immediate;
        let command = Command::Transmit { start, access, channel, power_dbm: 0, ack: false };
        Some((command, &self.frame))
    }

    fn deadline(&self) -> Option<Instant> {
        self.sender.then_some(self.due)
    }

    fn handle_deadline(&mut self, _: Instant) {}
}

/// Share of frames of `signal_dbm` lost within `minutes`.
fn loss(pattern: &Pattern, mean_dbm: f64, range_db: f64, signal_dbm: f64, minutes: u64) -> f64 {
    let heard = Heard::By { node: 1, mean_dbm, range_db };
    let source = Interferer {
        heard,
        pattern: pattern.clone(),
        hours: [1.0; 24],
        within_us: 0..u64::MAX,
        channels: 11..=26,
    };
    let link = MatrixLink { from: 0, to: 1, prr: 1.0, rssi_dbm: signal_dbm };
    let medium = MediumConfig {
        connectivity: Connectivity::LinkMatrix(vec![link]),
        overlap: Overlap::SinrBer,
        // The CC2420's implementation loss in the profile refers to this noise floor.
        noise_floor_dbm: -100.0,
        interferers: vec![source],
        ..MediumConfig::unit_disc(1.0)
    };
    let node = |number: u16| {
        let mut frame = [0; 125];
        frame[..9].copy_from_slice(&[0x41, 0x88, 0, 0xcd, 0xab, 0xff, 0xff, 0, 0]);
        let filter = Filter { pan_id: 0xabcd, short: number, extended: [number as u8; 8] };
        let config = NodeConfig {
            position: Position::default(),
            filter,
            radio: CC2420,
            host: HostCost::NONE,
            drift_ppm: 0,
            begin_us: 0,
            chip: None,
        };
        let random = Stream::from_seed(5);
        let due = Instant::from_millis(10);
        (config, Node { sender: number == 0, listening: false, due, random, frame })
    };
    let mut world = World::new(1, &medium, vec![node(0), node(1)]);
    world.run_until(Instant::from_secs(60 * minutes));
    let fates = world.counters(1).fates;
    1.0 - fates.of(Fate::Delivered) as f64 / fates.total() as f64
}

fn main() {
    let minutes = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5);
    let cell = Cell::saturated(25);
    let sources = [
        ("oven", MICROWAVE, MICROWAVE_RANGE_DB),
        ("wifi-file", WIFI_FILE, WIFI_RANGE_DB),
        ("wifi-bursts", WIFI_BURSTS, WIFI_RANGE_DB),
        ("wifi-saturated", Pattern::Saturated(cell), WIFI_RANGE_DB),
    ];
    println!(
        "saturated, 25 stations: busy {:.0} us, idle {:.0} us, success {:.3}",
        cell.mean_busy_us(),
        cell.mean_idle_us(),
        cell.success()
    );
    if let Pattern::OnOff { on, off, .. } = WIFI_BURSTS {
        println!("wifi-bursts: on {:.0} us, off {:.0} us", on.mean_us(), off.mean_us());
    }
    let signals = [-50.0, -60.0, -70.0, -80.0, -90.0];
    println!("loss in % at signals of {signals:?} dBm:");
    for (name, pattern, range_db) in sources {
        println!("{name}: duty {:.4}, range {range_db:.1} dB", pattern.duty());
        for mean_dbm in [-118.0, -108.0, -98.0, -96.0, -86.0, -76.0, -66.0, -56.0, -46.0] {
            let (busy, idle) = pattern.levels_dbm(mean_dbm, range_db);
            print!("  mean {mean_dbm:>6} busy {busy:>6.1} idle {idle:>6.1} dBm:");
            for signal_dbm in signals {
                print!(" {:5.1}", 100.0 * loss(&pattern, mean_dbm, range_db, signal_dbm, minutes));
            }
            println!();
        }
    }
}
