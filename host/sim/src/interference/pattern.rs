//! Patterns of a source's bursts, and their levels.

use super::pareto::Pareto;
use super::trace::Trace;
use super::wifi::Cell;
use std::sync::Arc;

/// Pattern of a source's bursts while it is active.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Bursts with random gaps.
    Gaps(Gaps),
    /// On for `on_us` at the beginning of every `period_us`.
    Periodic {
        /// Period.
        period_us: u64,
        /// On time in each period.
        on_us: u64,
    },
    /// In every slot of `slot_us` with this probability, for its first `on_us`.
    Slots {
        /// Length of a slot.
        slot_us: u64,
        /// On time in a used slot.
        on_us: u64,
        /// Probability that a slot is used.
        probability: f64,
    },
    /// A Wi-Fi cell whose stations always have a frame to send.
    Saturated(Cell),
    /// Periods with frames alternating with periods without.
    OnOff {
        /// Lengths of the periods with frames.
        on: Pareto,
        /// Lengths of the periods without frames.
        off: Pareto,
        /// Frames within the periods.
        frames: Gaps,
    },
    /// A recording. It starts with the source
    /// ([`Interferer::within_us`](super::Interferer::within_us)) and is repeated.
    Trace(Arc<Trace>),
}

/// Bursts of `busy_us` with gaps of random whole numbers of `slot_us`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaps {
    /// Length of a burst.
    pub busy_us: u64,
    /// Unit of the gaps.
    pub slot_us: u64,
    /// Distribution of the gaps: (share of the gaps, longest of them in whole slots) in ascending
    /// order, up to share 1. Values between are interpolated linearly and rounded up.
    pub quantiles: &'static [(f64, f64)],
}

/// Wi-Fi file transfer: JamLab's emulation table (gaps in slots of 1 ms: 0.96 of them one slot,
/// 99th percentile 7, longest 9) with its busy time of 0.11 ms.
pub const WIFI_FILE: Pattern = Pattern::Gaps(FILE_GAPS);

const FILE_GAPS: Gaps =
    Gaps { busy_us: 110, slot_us: 1_000, quantiles: &[(0.96, 1.0), (0.99, 7.0), (1.0, 9.0)] };

/// Wi-Fi video stream from the same source (0.36 one slot, median 3, 90th percentile 17, 95th and
/// 99th 63, longest 64).
pub const WIFI_VIDEO: Pattern = Pattern::Gaps(Gaps {
    busy_us: 110,
    slot_us: 1_000,
    quantiles: &[(0.36, 1.0), (0.5, 3.0), (0.9, 17.0), (0.95, 63.0), (0.99, 63.0), (1.0, 64.0)],
});

/// Bluetooth: 1600 hops per second over 79 channels of 1 MHz; an IEEE 802.15.4 channel covers 2 of
/// them. A single-slot packet takes 366 us (Bluetooth Core, DH1).
pub const BLUETOOTH: Pattern = Pattern::Slots { slot_us: 625, on_us: 366, probability: 2.0 / 79.0 };

/// Microwave oven on mains of 50 Hz: on 9.9 ms, off 10.1 ms (JamLab; Taher et al., MILCOM 2006: off
/// for at least half of each cycle).
pub const MICROWAVE: Pattern = Pattern::Periodic { period_us: 20_000, on_us: 9_900 };

/// Wi-Fi file transfer with pauses: [`WIFI_FILE`] during periods of a heavy-tailed length, and no
/// frames between them.
///
/// Huang et al. measured that gaps of Wi-Fi traffic have the tail of a Pareto distribution (WISE,
/// ICNP 2010); JamLab replays such traffic from traces. No published parameters of either were
/// available, so all four numbers are assumptions:
/// * shapes of 1.2 (on) and 1.5 (off), as usually quoted from Crovella and Bestavros (IEEE/ACM ToN
///   5(6), 1997) for transmission times and pauses of files (not checked there);
/// * at least 10 ms, because shorter gaps are those of [`WIFI_FILE`] (its longest is 9);
/// * at most 500 ms, the longest loss period in the studies that the paper on burst forwarding
///   cites (section 2.2).
pub const WIFI_BURSTS: Pattern = Pattern::OnOff {
    on: Pareto { shape: 1.2, least_us: 10_000.0, most_us: 500_000.0 },
    off: Pareto { shape: 1.5, least_us: 10_000.0, most_us: 500_000.0 },
    frames: FILE_GAPS,
};

/// Level that a CC2420 reads without any signal: the lower end of its RSSI register (data sheet:
/// 100 dB, from -100 to 0 dBm).
const QUIET_DBM: f64 = -100.0;
/// Loss over 1 m of free space at 2.45 GHz, in dB.
const METRE_DB: f64 = 40.2;

/// Difference between busy and idle level of a recorded Wi-Fi station, in dB. Assumed, since no
/// trace was available: a station that radiates 20 dBm over 20 MHz (ETSI EN 300 328), and so 10 dBm
/// into 2 MHz of its channel, recorded by a CC2420 at 1 m of free space.
pub const WIFI_RANGE_DB: f64 = 10.0 - METRE_DB - QUIET_DBM;
/// The same for a microwave oven and this recorder. Assumed: 10 dBm in 2 MHz.
pub const MICROWAVE_RANGE_DB: f64 = 10.0 - METRE_DB - QUIET_DBM;
/// The same for a Bluetooth device of class 2 with its usual 0 dBm and this recorder.
pub const BLUETOOTH_RANGE_DB: f64 = 0.0 - METRE_DB - QUIET_DBM;

impl Pattern {
    /// Long-term share of busy time, 0 to 1. A trace has its own levels and counts as busy.
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

    /// Busy and idle level in dBm for a mean over time of `mean_dbm` and a difference of
    /// `range_db`. With a duty of `d` these are `mean + (1 - d) * range` and `mean - d * range`.
    /// For a trace, the busy level is that of its strongest sample and there is no idle level,
    /// whatever `range_db` is.
    pub fn levels_dbm(&self, mean_dbm: f64, range_db: f64) -> (f64, f64) {
        if let Pattern::Trace(trace) = self {
            return (mean_dbm + trace.peak_dbm() - trace.mean_dbm(), f64::NEG_INFINITY);
        }
        let duty = self.duty();
        (mean_dbm + (1.0 - duty) * range_db, mean_dbm - duty * range_db)
    }
}

/// Share of on time.
pub(super) fn share(on: &Pareto, off: &Pareto) -> f64 {
    on.mean_us() / (on.mean_us() + off.mean_us())
}

impl Gaps {
    /// Share of time in bursts.
    pub fn duty(&self) -> f64 {
        let busy = self.busy_us as f64;
        busy / (busy + self.mean_slots() * self.slot_us as f64)
    }

    /// Mean gap in slots.
    fn mean_slots(&self) -> f64 {
        let (mut share, mut slots) = (0.0, self.quantiles.first().map_or(1.0, |first| first.1));
        let mut sum = 0.0;
        for &(next_share, next_slots) in self.quantiles {
            // Linear from `slots` on and rounded up, the values are slots + 1 to next_slots.
            let mean = if next_slots > slots { (slots + 1.0 + next_slots) / 2.0 } else { slots };
            sum += (next_share - share) * mean;
            (share, slots) = (next_share, next_slots);
        }
        sum
    }

    /// Length in slots that a share of `u` of all gaps does not exceed.
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
