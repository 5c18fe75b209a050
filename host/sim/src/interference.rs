//! Who else uses the band: sources that neither know nor heed this network.
//!
//! A source is a position, a power and a pattern of bursts; what a node receives of it follows from
//! path loss. Nothing happens in the event queue: when a reception or a channel assessment wants to
//! know, the bursts of the seconds concerned are made from the root seed, so that every question
//! about the same time has the same answer, a silent hour costs nothing, and a run without sources
//! is what it was.

use crate::ber::mw_from_dbm;
use crate::place::{PathLoss, Position};
use crate::rng::{Purpose, Stream, stream_seed};
use std::ops::Range;

/// Bursts of a pattern of gaps are made for one second at a time.
const EPOCH_US: u64 = 1_000_000;
/// How long somebody stays active or quiet: a page, a message, a file of some megabytes.
pub const SESSION_US: u64 = 10 * EPOCH_US;
/// Hours of a day.
const HOUR_US: u64 = 3_600 * EPOCH_US;
/// A source more than this below the noise floor at a node is not counted there, in dB.
const NEGLIGIBLE_DB: f64 = 10.0;

/// When a source sends while it is active.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// Bursts of `busy_us` apart by random whole numbers of `slot_us`. The distribution is given
    /// by `quantiles`, (share of the gaps, length of that one in slots) in rising order and
    /// ending at share 1; between them it is linear.
    Gaps {
        /// Length of a burst.
        busy_us: u64,
        /// Unit of the gaps.
        slot_us: u64,
        /// Their distribution.
        quantiles: &'static [(f64, f64)],
    },
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
}

/// A Wi-Fi file transfer: JamLab's emulation table (gaps in slots of 1 ms: 0.96 of them one slot,
/// 99th percentile 7, longest 9) with its busy time of 0.11 ms.
pub const WIFI_FILE: Pattern = Pattern::Gaps {
    busy_us: 110,
    slot_us: 1_000,
    quantiles: &[(0.96, 1.0), (0.99, 7.0), (1.0, 9.0)],
};

/// A Wi-Fi video stream: the same source (0.36 one slot, median 3, 90th percentile 17, 95th and
/// 99th 63, longest 64).
pub const WIFI_VIDEO: Pattern = Pattern::Gaps {
    busy_us: 110,
    slot_us: 1_000,
    quantiles: &[(0.36, 1.0), (0.5, 3.0), (0.9, 17.0), (0.95, 63.0), (0.99, 63.0), (1.0, 64.0)],
};

/// Bluetooth: 1600 hops a second over 79 channels of 1 MHz, of which an IEEE 802.15.4 channel
/// covers 2; a single-slot packet takes 366 us (Bluetooth Core, DH1).
pub const BLUETOOTH: Pattern = Pattern::Slots { slot_us: 625, on_us: 366, probability: 2.0 / 79.0 };

/// A microwave oven on mains of 50 Hz: on 9.9 ms, off 10.1 ms (JamLab; Taher et al., MILCOM 2006:
/// off for at least half of each cycle).
pub const MICROWAVE: Pattern = Pattern::Periodic { period_us: 20_000, on_us: 9_900 };

/// A source of interference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interferer {
    /// Where it stands.
    pub position: Position,
    /// Power that it radiates into the network's channel, in dBm.
    pub power_dbm: f64,
    /// How that power decreases; shadowing is not counted.
    pub path: PathLoss,
    /// When it sends while it is active.
    pub pattern: Pattern,
    /// Share of the time in which it is active, 0 to 1, in each hour of the day. It is decided anew
    /// for every [`SESSION_US`].
    pub hours: [f64; 24],
}

/// A burst at a node: from, to, milliwatts.
pub(crate) type Burst = (u64, u64, f64);

struct Source {
    pattern: Pattern,
    hours: [f64; 24],
    /// Milliwatts at each node; 0 if negligible there.
    received_mw: Vec<f64>,
    seed: u64,
    /// The epoch that `bursts` are of.
    epoch: u64,
    bursts: Vec<(u64, u64)>,
}

/// All sources of a run.
pub(crate) struct Interference {
    sources: Vec<Source>,
    /// Of the present question.
    found: Vec<Burst>,
    edges: Vec<u64>,
    /// Microseconds from midnight to the start of the run.
    start_us: u64,
}

impl Interference {
    pub(crate) fn new(
        seed: u64,
        interferers: &[Interferer],
        start_us: u64,
        positions: &[Position],
        noise_floor_dbm: f64,
    ) -> Interference {
        let source = |(index, of): (u64, &Interferer)| {
            let received = |at: &Position| {
                let dbm = of.power_dbm - of.path.mean_loss_db(of.position.distance_m(*at));
                if dbm < noise_floor_dbm - NEGLIGIBLE_DB { 0.0 } else { mw_from_dbm(dbm) }
            };
            Source {
                pattern: of.pattern,
                hours: of.hours,
                received_mw: positions.iter().map(received).collect(),
                seed: stream_seed(seed, index, Purpose::Interference),
                epoch: u64::MAX,
                bursts: Vec::new(),
            }
        };
        let sources = (0..).zip(interferers).map(source).collect();
        Interference { sources, found: Vec::new(), edges: Vec::new(), start_us }
    }

    /// Whether there can be any.
    pub(crate) fn exists(&self) -> bool {
        !self.sources.is_empty()
    }

    /// Calls `visit(from, to, milliwatts)` for consecutive stretches that together make up `span`,
    /// with the power that `node` receives in each.
    pub(crate) fn stretches(
        &mut self,
        node: usize,
        span: Range<u64>,
        mut visit: impl FnMut(u64, u64, f64),
    ) {
        self.found.clear();
        for source in &mut self.sources {
            let mw = source.received_mw[node];
            if mw > 0.0 {
                source.bursts_in(&span, self.start_us, |from, to| self.found.push((from, to, mw)));
            }
        }
        self.edges.clear();
        self.edges.push(span.start);
        self.edges.extend(self.found.iter().flat_map(|(from, to, _)| [*from, *to]));
        self.edges.push(span.end);
        self.edges.sort_unstable();
        for edge in self.edges.windows(2).filter(|edge| edge[0] < edge[1]) {
            let covers = |burst: &&Burst| burst.0 <= edge[0] && edge[1] <= burst.1;
            let mw = self.found.iter().filter(covers).map(|burst| burst.2).sum();
            visit(edge[0], edge[1], mw);
        }
    }

    /// Mean power at `node` in `span`, in milliwatts: what energy detection measures.
    pub(crate) fn mean_mw(&mut self, node: usize, span: Range<u64>) -> f64 {
        let length = span.end.saturating_sub(span.start).max(1) as f64;
        let mut energy = 0.0;
        self.stretches(node, span, |from, to, mw| energy += mw * (to - from) as f64);
        energy / length
    }
}

impl Source {
    /// Calls `visit` for every burst of this source that overlaps `span`, cut to it.
    fn bursts_in(&mut self, span: &Range<u64>, start_us: u64, mut visit: impl FnMut(u64, u64)) {
        let mut cut = |from: u64, to: u64| {
            let (from, to) = (from.max(span.start), to.min(span.end));
            if from < to {
                visit(from, to);
            }
        };
        match self.pattern {
            Pattern::Periodic { period_us, on_us } => {
                // Mains have the same phase for everybody; a session begins with it at zero.
                for period in span.start / period_us..=span.end / period_us {
                    let from = period * period_us;
                    if self.is_active(from, start_us) {
                        cut(from, from + on_us);
                    }
                }
            }
            Pattern::Slots { slot_us, on_us, probability } => {
                for slot in span.start / slot_us..=span.end / slot_us {
                    let from = slot * slot_us;
                    if self.draw(slot, 1) < probability && self.is_active(from, start_us) {
                        cut(from, from + on_us);
                    }
                }
            }
            Pattern::Gaps { busy_us, slot_us, quantiles } => {
                for epoch in span.start / EPOCH_US..=span.end / EPOCH_US {
                    if self.is_active(epoch * EPOCH_US, start_us) {
                        self.make(epoch, busy_us, slot_us, quantiles);
                        let first = self.bursts.partition_point(|burst| burst.1 <= span.start);
                        let rest = self.bursts.get(first..).unwrap_or(&[]);
                        rest.iter().take_while(|b| b.0 < span.end).for_each(|b| cut(b.0, b.1));
                    }
                }
            }
        }
    }

    /// Whether somebody uses it at `at`.
    fn is_active(&self, at: u64, start_us: u64) -> bool {
        let hour = (start_us + at) / HOUR_US % 24;
        let share = self.hours.get(hour as usize).copied().unwrap_or(0.0);
        share > 0.0 && self.draw(at / SESSION_US, 2) < share
    }

    /// Uniform from 0 to 1, the same for the same number.
    fn draw(&self, number: u64, what: u64) -> f64 {
        let bits = stream_seed(self.seed ^ what, number, Purpose::Interference) >> 32;
        bits as f64 / 4_294_967_296.0
    }

    /// Makes the bursts of `epoch`, unless they are there.
    fn make(&mut self, epoch: u64, busy_us: u64, slot_us: u64, quantiles: &[(f64, f64)]) {
        if self.epoch == epoch {
            return;
        }
        self.epoch = epoch;
        self.bursts.clear();
        let seed = stream_seed(self.seed, epoch, Purpose::Interference);
        let mut random = Stream::from_seed(seed);
        let end = (epoch + 1) * EPOCH_US;
        // The second begins somewhere in a gap.
        let first = random.unit() * (gap(quantiles, random.unit()) * slot_us) as f64;
        let mut at = epoch * EPOCH_US + first as u64;
        while at < end {
            self.bursts.push((at, (at + busy_us).min(end)));
            at += busy_us + gap(quantiles, random.unit()) * slot_us;
        }
    }
}

/// The length in slots that a share of `u` of all gaps does not exceed.
fn gap(quantiles: &[(f64, f64)], u: f64) -> u64 {
    let (mut share, mut slots) = (0.0, quantiles.first().map_or(1.0, |first| first.1));
    for &(next_share, next_slots) in quantiles {
        if u < next_share {
            let part = (u - share) / (next_share - share);
            return libm::ceil(slots + part * (next_slots - slots)) as u64;
        }
        (share, slots) = (next_share, next_slots);
    }
    slots as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: Position = Position { x_m: 0.0, y_m: 0.0 };

    fn one(pattern: Pattern, hours: [f64; 24]) -> Interference {
        let path = PathLoss::INDOOR_NLOS;
        let at = Position { x_m: 1.0, y_m: 0.0 };
        let of = Interferer { position: at, power_dbm: 26.77, path, pattern, hours };
        Interference::new(7, &[of], 0, &[NODE], -105.0)
    }

    /// Bursts within `seconds`, asked for frame by frame.
    fn bursts(interference: &mut Interference, seconds: u64) -> Vec<(u64, u64)> {
        let mut all: Vec<(u64, u64)> = Vec::new();
        for start in (0..seconds * EPOCH_US).step_by(4_000) {
            interference.stretches(0, start..start + 4_000, |from, to, mw| {
                if mw > 0.0 {
                    match all.last_mut().filter(|last| last.1 == from) {
                        Some(last) => last.1 = to,
                        None => all.push((from, to)),
                    }
                }
            });
        }
        all
    }

    fn duty(bursts: &[(u64, u64)], seconds: u64) -> f64 {
        bursts.iter().map(|b| b.1 - b.0).sum::<u64>() as f64 / (seconds * EPOCH_US) as f64
    }

    #[test]
    fn duties_are_those_of_the_sources() {
        // Notes of each source: file transfer 9 %, video 1.2 %, Bluetooth 2/79 * 366/625, oven 49.5
        // %.
        for (pattern, expected) in
            [(WIFI_FILE, 0.09), (WIFI_VIDEO, 0.012), (BLUETOOTH, 0.0148), (MICROWAVE, 0.495)]
        {
            let found = duty(&bursts(&mut one(pattern, [1.0; 24]), 200), 200);
            assert!((found / expected - 1.0).abs() < 0.15, "{pattern:?}: {found}");
        }
    }

    #[test]
    fn gaps_have_the_published_quantiles() {
        for (pattern, ones, p90, p99, mean) in
            [(WIFI_FILE, 0.96, 1.0, 7.0, 1.2), (WIFI_VIDEO, 0.36, 17.0, 63.0, 9.1)]
        {
            let found = bursts(&mut one(pattern, [1.0; 24]), 300);
            // Gaps over the end of a second are cut; they are few.
            let mut gaps: Vec<f64> =
                found.windows(2).map(|w| ((w[1].0 - w[0].1) as f64 / 1e3).round()).collect();
            gaps.sort_by(f64::total_cmp);
            let at = |share: f64| gaps[(share * gaps.len() as f64) as usize];
            let one_slot = gaps.iter().filter(|g| **g <= 1.0).count() as f64 / gaps.len() as f64;
            assert!((one_slot - ones).abs() < 0.03, "{one_slot}");
            assert!((at(0.9) - p90).abs() <= 1.0 && (at(0.985) - p99).abs() <= 2.0, "{p90} {p99}");
            let average = gaps.iter().sum::<f64>() / gaps.len() as f64;
            assert!((average / mean - 1.0).abs() < 0.12, "{average}");
        }
    }

    #[test]
    fn answers_do_not_depend_on_what_was_asked_before() {
        let mut forwards = one(WIFI_VIDEO, [0.5; 24]);
        let mut once = one(WIFI_VIDEO, [0.5; 24]);
        bursts(&mut forwards, 30);
        let at = 17 * EPOCH_US + 123;
        assert_eq!(
            forwards.mean_mw(0, at..at + 90_000).to_bits(),
            once.mean_mw(0, at..at + 90_000).to_bits()
        );
    }

    #[test]
    fn an_hour_without_activity_is_silent_and_others_have_their_share() {
        let mut hours = [0.0; 24];
        hours[1] = 0.4;
        let mut interference = one(MICROWAVE, hours);
        let mut active = 0;
        for session in 0..720 {
            let at = session * SESSION_US;
            let energy = interference.mean_mw(0, at..at + 40_000);
            assert!(energy == 0.0 || session >= 360, "session {session} is at night");
            active += u32::from(energy > 0.0);
        }
        assert!((100..190).contains(&active), "{active} of 360 sessions");
    }

    #[test]
    fn power_follows_path_loss_and_what_is_negligible_is_nothing() {
        let far = Position { x_m: 2_001.0, y_m: 0.0 };
        let of = Interferer {
            position: Position { x_m: 1.0, y_m: 0.0 },
            power_dbm: 26.77,
            path: PathLoss::INDOOR_NLOS,
            pattern: MICROWAVE,
            hours: [1.0; 24],
        };
        let mut interference = Interference::new(7, &[of], 0, &[NODE, far], -105.0);
        // 26.77 dB are lost at one metre: 1 mW while on.
        assert!((interference.mean_mw(0, 0..20_000) - 0.495).abs() < 1e-6);
        assert_eq!(interference.mean_mw(1, 0..20_000), 0.0);
    }
}
