//! A saturated IEEE 802.11b cell, from the fixed point of its backoff.
//!
//! Garetto and Chiasserini (Performance analysis of 802.11 WLANs under sporadic traffic, Networking
//! 2005), whose model JamLab uses for saturated Wi-Fi, extend that of Bianchi (IEEE JSAC 18(3),
//! 2000). This module has the saturated part: every station attempts with the same probability in
//! every slot in which it may, independently of the others, and a frame collides with a probability
//! independent of earlier collisions. The two probabilities determine each other.

use crate::rng::Stream;

// IEEE 802.11-2020, Table 16-4 (HR/DSSS PHY characteristics), in microseconds.
const SLOT_US: u64 = 20;
const SIFS_US: u64 = 10;
/// The long preamble of 144 bits and the header of 48 bits, both at 1 Mb/s.
const PREAMBLE_US: u64 = 192;
/// aCWmin and aCWmax: the backoff is 0 to this many slots.
const CW_MIN: u32 = 31;
const CW_MAX: u32 = 1023;
/// IEEE 802.11-2020, 10.3.7: DIFS = SIFS + 2 slots.
const DIFS_US: u64 = SIFS_US + 2 * SLOT_US;
/// dot11ShortRetryLimit: maximum attempts of a frame. The RTS threshold is by default above all
/// frames.
const ATTEMPTS: u32 = 7;

/// Octets of a data frame: 1500 of a packet (Ethernet's MTU, as of a file transfer), 8 of LLC and
/// SNAP, 24 of the MAC header and 4 of the FCS.
const DATA_OCTETS: u64 = 1_500 + 8 + 24 + 4;
/// Data rate 11 Mb/s, the highest of 802.11b (assumed: all stations are close).
const DATA_US: u64 = PREAMBLE_US + (DATA_OCTETS * 8).div_ceil(11);
/// An acknowledgement has 14 octets, at the highest basic rate that does not exceed that of the
/// frame (10.6.6.5). Assumed: 1 and 2 Mb/s are basic.
const ACK_US: u64 = PREAMBLE_US + 14 * 8 / 2;
/// 10.3.7: EIFS = SIFS + an acknowledgement at the lowest rate, 1 Mb/s, + DIFS.
const EIFS_US: u64 = SIFS_US + PREAMBLE_US + 14 * 8 + DIFS_US;

/// A frame and its acknowledgement. The SIFS between them counts as busy: it is shorter than a
/// symbol of IEEE 802.15.4 (16 us), and no other station may begin in it.
const SUCCESS_US: u64 = DATA_US + SIFS_US + ACK_US;

/// A cell of stations that always have a full-length frame for each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Probability that no station begins in a slot.
    idle: f64,
    /// Probability of only one station in a slot in which any station begins.
    success: f64,
}

impl Cell {
    /// A cell of `stations` (at least 1).
    pub fn saturated(stations: u32) -> Cell {
        let n = f64::from(stations.max(1));
        let (mut low, mut high) = (0.0, 1.0);
        // More collisions mean fewer attempts, so there is one fixed point.
        for _ in 0..60 {
            let collision = (low + high) / 2.0;
            let found = 1.0 - libm::pow(1.0 - attempt(collision), n - 1.0);
            if found > collision { low = collision } else { high = collision }
        }
        let attempt = attempt(low);
        let idle = libm::pow(1.0 - attempt, n);
        let one = n * attempt * libm::pow(1.0 - attempt, n - 1.0);
        Cell { idle, success: (one / (1.0 - idle)).min(1.0) }
    }

    /// Probability that a busy period is a frame without collision.
    pub fn success(&self) -> f64 {
        self.success
    }

    /// Mean busy period, in microseconds.
    pub fn mean_busy_us(&self) -> f64 {
        self.success * SUCCESS_US as f64 + (1.0 - self.success) * DATA_US as f64
    }

    /// Mean idle period, in microseconds.
    pub fn mean_idle_us(&self) -> f64 {
        let space = self.success * DIFS_US as f64 + (1.0 - self.success) * EIFS_US as f64;
        space + self.idle / (1.0 - self.idle) * SLOT_US as f64
    }

    /// Share of busy time.
    pub fn duty(&self) -> f64 {
        self.mean_busy_us() / (self.mean_busy_us() + self.mean_idle_us())
    }

    /// A busy period and the subsequent idle one, in microseconds.
    pub(super) fn draw(&self, random: &mut Stream) -> (u64, u64) {
        let (busy, space) = match random.chance(self.success) {
            true => (SUCCESS_US, DIFS_US),
            false => (DATA_US, EIFS_US),
        };
        let slots = libm::log(1.0 - random.unit()) / libm::log(self.idle);
        (busy, space + slots as u64 * SLOT_US)
    }
}

/// Probability that a station begins in a slot if each attempt collides with probability
/// `collision`: mean attempts per frame over mean slots per frame. An attempt with a backoff of 0
/// to `w` takes w / 2 slots and one for itself.
fn attempt(collision: f64) -> f64 {
    let (mut reached, mut attempts, mut slots) = (1.0, 0.0, 0.0);
    let mut window = CW_MIN;
    for _ in 0..ATTEMPTS {
        attempts += reached;
        slots += reached * (f64::from(window) / 2.0 + 1.0);
        reached *= collision;
        window = (2 * window + 1).min(CW_MAX);
    }
    attempts / slots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_standard() {
        assert_eq!((DIFS_US, EIFS_US), (50, 364));
        assert_eq!((DATA_US, ACK_US, SUCCESS_US), (1_310, 248, 1_568));
    }

    #[test]
    fn one_station_never_collides_and_waits_half_a_window() {
        let cell = Cell::saturated(1);
        assert_eq!(cell.success(), 1.0);
        assert!((cell.mean_idle_us() - (50.0 + 15.5 * 20.0)).abs() < 1e-6);
    }

    #[test]
    fn collisions_are_those_that_motes_were_programmed_with() {
        // Collision probabilities in JamLab's code for motes, from the same chain with one more
        // attempt: 5, 10 and 20 stations.
        for (stations, coded) in [(5, 0.17795), (10, 0.28727), (20, 0.41020)] {
            let cell = Cell::saturated(stations);
            let attempt = 1.0 - libm::pow(cell.idle, 1.0 / f64::from(stations));
            let collision = 1.0 - libm::pow(1.0 - attempt, f64::from(stations) - 1.0);
            assert!((collision - coded).abs() < 0.02, "{stations}: {collision}");
            let fixed = super::attempt(collision);
            assert!((fixed / attempt - 1.0).abs() < 1e-9, "{stations}: {fixed} {attempt}");
        }
    }

    #[test]
    fn drawn_periods_have_the_means_of_the_closed_form() {
        let cell = Cell::saturated(25);
        let mut random = Stream::from_seed(3);
        let n = 200_000;
        let (mut busy, mut idle) = (0, 0);
        for _ in 0..n {
            let (b, i) = cell.draw(&mut random);
            (busy, idle) = (busy + b, idle + i);
        }
        let mean = |sum: u64| sum as f64 / f64::from(n);
        assert!((mean(busy) / cell.mean_busy_us() - 1.0).abs() < 2e-3);
        assert!((mean(idle) / cell.mean_idle_us() - 1.0).abs() < 1e-2);
    }
}
