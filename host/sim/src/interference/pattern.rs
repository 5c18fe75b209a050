//! When a source sends, and how strongly it is heard.

use super::pareto::Pareto;
use super::trace::Trace;
use super::wifi::Cell;
use std::sync::Arc;

/// When a source sends while it is active.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Bursts with random gaps.
    Gaps(Gaps),
    /// On for `on_us` at the beginning of every `period_us`.
    Periodic {
        /// Period.
        period_us: u64,
        /// On time in each.
        on_us: u64,
    },
    /// In every slot of `slot_us` with this probability, for its first `on_us`.
    Slots {
        /// Length of a slot.
        slot_us: u64,
        /// On time in a slot that is used.
        on_us: u64,
        /// How likely a slot is used.
        probability: f64,
    },
    /// A Wi-Fi cell whose stations always have something to send.
    Saturated(Cell),
    /// Periods with frames and periods without, in turn.
    OnOff {
        /// Lengths of the periods with frames.
        on: Pareto,
        /// Lengths of those without.
        off: Pareto,
        /// The frames.
        frames: Gaps,
    },
    /// What somebody has recorded. It begins when the source does
    /// ([`Interferer::within_us`](super::Interferer::within_us)) and begins again when it ends.
    Trace(Arc<Trace>),
}

/// Bursts of `busy_us` apart by random whole numbers of `slot_us`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaps {
    /// Length of a burst.
    pub busy_us: u64,
    /// Unit of the gaps.
    pub slot_us: u64,
    /// Their distribution: (share of the gaps, length of that one in whole slots) in rising order,
    /// ending at share 1; between them it is linear, rounded up.
    pub quantiles: &'static [(f64, f64)],
}

/// A Wi-Fi file transfer: JamLab's emulation table (gaps in slots of 1 ms: 0.96 of them one slot,
/// 99th percentile 7, longest 9) with its busy time of 0.11 ms.
pub const WIFI_FILE: Pattern = Pattern::Gaps(FILE_GAPS);

const FILE_GAPS: Gaps =
    Gaps { busy_us: 110, slot_us: 1_000, quantiles: &[(0.96, 1.0), (0.99, 7.0), (1.0, 9.0)] };

/// A Wi-Fi video stream: the same source (0.36 one slot, median 3, 90th percentile 17, 95th and
/// 99th 63, longest 64).
pub const WIFI_VIDEO: Pattern = Pattern::Gaps(Gaps {
    busy_us: 110,
    slot_us: 1_000,
    quantiles: &[(0.36, 1.0), (0.5, 3.0), (0.9, 17.0), (0.95, 63.0), (0.99, 63.0), (1.0, 64.0)],
});

/// Bluetooth: 1600 hops a second over 79 channels of 1 MHz, of which an IEEE 802.15.4 channel
/// covers 2; a single-slot packet takes 366 us (Bluetooth Core, DH1).
pub const BLUETOOTH: Pattern = Pattern::Slots { slot_us: 625, on_us: 366, probability: 2.0 / 79.0 };

/// A microwave oven on mains of 50 Hz: on 9.9 ms, off 10.1 ms (JamLab; Taher et al., MILCOM 2006:
/// off for at least half of each cycle).
pub const MICROWAVE: Pattern = Pattern::Periodic { period_us: 20_000, on_us: 9_900 };

/// A Wi-Fi file transfer that pauses: [`WIFI_FILE`] within periods of a heavy tail, none of it
/// between them.
///
/// That the gaps of Wi-Fi traffic have the tail of a Pareto distribution is what Huang et al.
/// measured (WISE, ICNP 2010); JamLab replays such traffic from traces. No published parameters of
/// either were at hand, so all four numbers are assumptions:
/// * shapes of 1.2 (on) and 1.5 (off), which is what is usually quoted from Crovella and Bestavros
///   (IEEE/ACM ToN 5(6), 1997) for transmission times and pauses of files (not checked there);
/// * not shorter than 10 ms, below which the gaps of [`WIFI_FILE`] take over (its longest is 9);
/// * not longer than 500 ms, up to which loss periods last in the studies that the paper on burst
///   forwarding names (section 2.2).
pub const WIFI_BURSTS: Pattern = Pattern::OnOff {
    on: Pareto { shape: 1.2, least_us: 10_000.0, most_us: 500_000.0 },
    off: Pareto { shape: 1.5, least_us: 10_000.0, most_us: 500_000.0 },
    frames: FILE_GAPS,
};

/// What a CC2420 reads where nobody sends: the lower end of its RSSI register (data sheet: 100 dB,
/// from -100 to 0 dBm).
const QUIET_DBM: f64 = -100.0;
/// Loss over 1 m of free space at 2.45 GHz, in dB.
const METRE_DB: f64 = 40.2;

/// Busy less idle level of a recorded Wi-Fi station, in dB. Assumed, since no trace was at hand: a
/// station that radiates 20 dBm over 20 MHz (ETSI EN 300 328) and so 10 dBm into 2 MHz of its own
/// channel, recorded at 1 m of free space by a CC2420.
pub const WIFI_RANGE_DB: f64 = 10.0 - METRE_DB - QUIET_DBM;
/// That of a microwave oven, recorded in the same way. Assumed: 10 dBm in 2 MHz.
pub const MICROWAVE_RANGE_DB: f64 = 10.0 - METRE_DB - QUIET_DBM;
/// That of a Bluetooth device of class 2 with its usual 0 dBm, recorded in the same way.
pub const BLUETOOTH_RANGE_DB: f64 = 0.0 - METRE_DB - QUIET_DBM;

impl Pattern {
    /// The share of the time in which it is busy, in the mean of long times, 0 to 1. A trace has
    /// levels of its own and counts as busy.
    pub fn duty(&self) -> f64 {
        match self {
            Pattern::Gaps(gaps) => gaps.duty(),
            Pattern::Periodic { period_us, on_us } => *on_us as f64 / *period_us as f64,
            Pattern::Slots { slot_us, on_us, probability } => {
                probability * *on_us as f64 / *slot_us as f64
            }
            Pattern::Saturated(cell) => cell.duty(),
            Pattern::OnOff { on, off, frames } => share(on, off) * frames.duty(),
            Pattern::Trace(_) => 1.0,
        }
    }

    /// Its levels in dBm where their mean over time is `mean_dbm` and the busy one is `range_db`
    /// above the idle one: (busy, idle). With a duty of `d` these are `mean + (1 - d) * range` and
    /// `mean - d * range`. Of a trace it is the level of its strongest sample, and nothing between
    /// samples, whatever `range_db` is.
    pub fn levels_dbm(&self, mean_dbm: f64, range_db: f64) -> (f64, f64) {
        if let Pattern::Trace(trace) = self {
            return (mean_dbm + trace.peak_dbm() - trace.mean_dbm(), f64::NEG_INFINITY);
        }
        let duty = self.duty();
        (mean_dbm + (1.0 - duty) * range_db, mean_dbm - duty * range_db)
    }
}

/// The share of the time that is on.
pub(super) fn share(on: &Pareto, off: &Pareto) -> f64 {
    on.mean_us() / (on.mean_us() + off.mean_us())
}

impl Gaps {
    /// The share of the time in bursts.
    pub fn duty(&self) -> f64 {
        let busy = self.busy_us as f64;
        busy / (busy + self.mean_slots() * self.slot_us as f64)
    }

    /// The mean gap in slots.
    fn mean_slots(&self) -> f64 {
        let (mut share, mut slots) = (0.0, self.quantiles.first().map_or(1.0, |first| first.1));
        let mut sum = 0.0;
        for &(next_share, next_slots) in self.quantiles {
            // Rounded up, what is linear from `slots` on has the values slots + 1 to next_slots.
            let mean = if next_slots > slots { (slots + 1.0 + next_slots) / 2.0 } else { slots };
            sum += (next_share - share) * mean;
            (share, slots) = (next_share, next_slots);
        }
        sum
    }

    /// The length in slots that a share of `u` of all gaps does not exceed.
    pub(super) fn gap(&self, u: f64) -> u64 {
        let (mut share, mut slots) = (0.0, self.quantiles.first().map_or(1.0, |first| first.1));
        for &(next_share, next_slots) in self.quantiles {
            if u < next_share {
                let part = (u - share) / (next_share - share);
                return libm::ceil(slots + part * (next_slots - slots)) as u64;
            }
            (share, slots) = (next_share, next_slots);
        }
        slots as u64
    }
}
