//! Loss of single frames by the ratio of signal to noise, simulated and by formula.

use kinglet_radio::{Access, Channel, Command, Event, Filter, Start};
use kinglet_sim::cpu::HostCost;
use kinglet_sim::medium::{Connectivity, MatrixLink, MediumConfig, Overlap, Position};
use kinglet_sim::profile::{NOISE_FLOOR_DBM, RadioProfile};
use kinglet_sim::{Device, NodeConfig, World};
use kinglet_time::{Duration, Instant};

/// Interval between two frames; longer than any frame takes.
const PERIOD: Duration = Duration::from_millis(6);

/// Listens, and if it has a frame, broadcasts it repeatedly.
struct Beacon {
    listening: bool,
    frame: Vec<u8>,
    next: Instant,
    received: u64,
}

impl Device for Beacon {
    fn handle_radio(&mut self, _: Instant, event: Event, _: &[u8]) {
        self.received += u64::from(matches!(event, Event::Received { .. }));
    }

    fn poll_radio(&mut self, now: Instant) -> Option<(Command, &[u8])> {
        let (start, channel) = (Start::Asap, Channel::default());
        if !std::mem::replace(&mut self.listening, true) {
            return Some((Command::Receive { start, until: None, channel }, &[]));
        }
        if now < self.next || self.frame.is_empty() {
            return None;
        }
        self.next += PERIOD;
        let access = Access::Immediate;
        let send = Command::Transmit { start, access, channel, power_dbm: 0, ack: false };
        Some((send, &self.frame))
    }

    fn deadline(&self) -> Option<Instant> {
        (!self.frame.is_empty()).then_some(self.next)
    }

    fn handle_deadline(&mut self, _: Instant) {}
}

/// A broadcast with a PSDU of `psdu` octets, without FCS.
fn broadcast(psdu: usize) -> Vec<u8> {
    // Data, PAN compression, short addresses: a broadcast from 0 in PAN 0xabcd.
    let mut frame = vec![0x41, 0x88, 0, 0xcd, 0xab, 0xff, 0xff, 0, 0];
    frame.resize(psdu - 2, 0);
    frame
}

/// Share of `frames` frames with a PSDU of `psdu` octets that a receiver loses at a signal `snr_db`
/// above the noise.
pub(super) fn simulated(radio: RadioProfile, psdu: usize, snr_db: f64, frames: u32) -> f64 {
    let link = |from, to| MatrixLink { from, to, prr: 1.0, rssi_dbm: NOISE_FLOOR_DBM + snr_db };
    let medium = MediumConfig {
        connectivity: Connectivity::LinkMatrix(vec![link(0, 1), link(1, 0)]),
        overlap: Overlap::SinrBer,
        ..MediumConfig::unit_disc(1.0)
    };
    let node = |short: u16, frame: Vec<u8>| {
        let config = NodeConfig {
            position: Position::default(),
            filter: Filter { pan_id: 0xabcd, short, extended: [short as u8; 8] },
            radio,
            host: HostCost::NONE,
            drift_ppm: 0,
            begin_us: 0,
            chip: None,
        };
        (config, Beacon { listening: false, frame, next: Instant::ZERO + PERIOD, received: 0 })
    };
    let mut world = World::new(1, &medium, vec![node(0, broadcast(psdu)), node(1, Vec::new())]);
    world.run_until(Instant::ZERO + PERIOD * (frames + 1) - Duration::from_micros(1));
    1.0 - world.device(1).received as f64 / f64::from(frames)
}

/// The same by IEEE 802.15.4-2006, Annex E: every bit of preamble, SFD, PHR and PSDU has to be
/// correct. Computed here without the simulator's table.
pub(super) fn by_formula(psdu: usize, snr_db: f64, implementation_loss_db: f64) -> f64 {
    let ratio = 10f64.powf((snr_db - implementation_loss_db) / 10.0);
    let (mut sum, mut choose) = (0.0, 16.0);
    for k in 2..=16 {
        choose *= f64::from(17 - k) / f64::from(k);
        let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
        sum += sign * choose * (20.0 * ratio * (1.0 / f64::from(k) - 1.0)).exp();
    }
    let bit_error_rate = (8.0 / 15.0 / 16.0 * sum).clamp(0.0, 0.5);
    1.0 - (1.0 - bit_error_rate).powi((8 * (psdu + 6)) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_has_the_values_of_others() {
        // ns-3.37, 2000 frames each: an independent implementation of the same annex.
        for (psdu, snr_db, lost) in [(20, -2.0, 0.663), (20, 0.0, 0.036), (127, -1.0, 0.703)] {
            assert!((by_formula(psdu, snr_db, 0.0) - lost).abs() < 0.03);
        }
    }
}
