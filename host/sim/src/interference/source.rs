//! Bursts of one source, generated on demand.

use super::pattern::{Gaps, share};
use super::wifi::Cell;
use super::{Heard, Interferer, Pareto, Pattern};
use crate::ber::mw_from_dbm;
use crate::place::Position;
use crate::rng::{Purpose, Stream, stream_seed};
use kinglet_radio::Channel;
use std::ops::{Range, RangeInclusive};

/// Random bursts are generated for one second at a time.
const EPOCH_US: u64 = 1_000_000;
/// Length for which periods with and without frames are generated: a hundred times the longest.
const PERIODS_US: u64 = 60 * EPOCH_US;
/// Time for which a source stays active or inactive: a page, a message, a file of some megabytes.
pub const SESSION_US: u64 = 10 * EPOCH_US;
/// Length of an hour.
const HOUR_US: u64 = 3_600 * EPOCH_US;
/// Power relative to a trace's strongest sample below which the channel counts as free: 30 dB less.
const QUIET: f64 = 1e-3;
/// Margin below the noise floor at a node under which a level is ignored, in dB.
const NEGLIGIBLE_DB: f64 = 10.0;

/// Random draws, each with its own seed. The numbers are part of the seed: never renumber.
#[derive(Clone, Copy)]
enum Draw {
    Bursts = 0,
    Slot = 1,
    Session = 2,
    Periods = 3,
}

pub(super) struct Source {
    pattern: Pattern,
    hours: [f64; 24],
    within_us: Range<u64>,
    channels: RangeInclusive<u8>,
    /// Levels at each node.
    levels: Vec<Levels>,
    seed: u64,
    bursts: Made,
    periods: Made,
}

/// Received power at a node in milliwatts; 0 if negligible.
#[derive(Clone, Copy, Default)]
struct Levels {
    busy: f64,
    idle: f64,
}

/// Bursts or periods generated last: starts and ends in order of time.
#[derive(Default)]
struct Made {
    epoch: Option<u64>,
    list: Vec<(u64, u64)>,
}

impl Source {
    pub(super) fn new(
        seed: u64,
        index: u64,
        of: &Interferer,
        positions: &[Position],
        noise_floor_dbm: f64,
    ) -> Source {
        let audible = |dbm: f64| match dbm < noise_floor_dbm - NEGLIGIBLE_DB {
            true => 0.0,
            false => mw_from_dbm(dbm),
        };
        let level = |(at, position): (usize, &Position)| match &of.heard {
            Heard::Around { position: here, power_dbm, path } => {
                let busy = audible(power_dbm - path.mean_loss_db(here.distance_m(*position)));
                Levels { busy, idle: 0.0 }
            }
            Heard::By { node, mean_dbm, range_db } if *node == at => {
                let (busy, idle) = of.pattern.levels_dbm(*mean_dbm, *range_db);
                Levels { busy: audible(busy), idle: audible(idle) }
            }
            Heard::By { .. } => Levels::default(),
        };
        Source {
            pattern: of.pattern.clone(),
            hours: of.hours,
            within_us: of.within_us.clone(),
            channels: of.channels.clone(),
            levels: positions.iter().enumerate().map(level).collect(),
            seed: stream_seed(seed, index, Purpose::Interference),
            bursts: Made::default(),
            periods: Made::default(),
        }
    }

    /// True if the source covers this channel.
    pub(super) fn covers(&self, channel: Channel) -> bool {
        self.channels.contains(&channel.number())
    }

    /// Calls `visit(from, to, milliwatts)`, in order of time, for the signals that `node` receives
    /// in `span`. It is not called for intervals without a signal.
    pub(super) fn visit(
        &mut self,
        node: usize,
        span: &Range<u64>,
        start_us: u64,
        mut visit: impl FnMut(u64, u64, f64),
    ) {
        let Levels { busy, idle } = self.levels[node];
        if busy == 0.0 {
            return;
        }
        for epoch in self.epochs(span) {
            let Some(part) = self.part(epoch, span, start_us) else { continue };
            let mut done = part.start;
            self.bursts_in(epoch, &part, |from, to, share| {
                if idle > 0.0 && done < from {
                    visit(done, from, idle);
                }
                visit(from, to, busy * share);
                done = to;
            });
            if idle > 0.0 && done < part.end {
                visit(done, part.end, idle);
            }
        }
    }

    /// Calls `visit(from, to)`, in order of time, for the bursts in `span`, independent of
    /// receivers; for a recorded trace, for samples of more than [`QUIET`] times the strongest one.
    pub(super) fn every(
        &mut self,
        span: &Range<u64>,
        start_us: u64,
        mut visit: impl FnMut(u64, u64),
    ) {
        for epoch in self.epochs(span) {
            let Some(part) = self.part(epoch, span, start_us) else { continue };
            self.bursts_in(epoch, &part, |from, to, share| {
                if share > QUIET {
                    visit(from, to);
                }
            });
        }
    }

    /// Seconds of `span` in which the source is switched on.
    fn epochs(&self, span: &Range<u64>) -> Range<u64> {
        let from = span.start.max(self.within_us.start);
        let to = span.end.min(self.within_us.end);
        if from < to { from / EPOCH_US..(to - 1) / EPOCH_US + 1 } else { 0..0 }
    }

    /// Part of `span` in `epoch`, if the source is active then.
    fn part(&self, epoch: u64, span: &Range<u64>, start_us: u64) -> Option<Range<u64>> {
        let begin = epoch * EPOCH_US;
        let from = span.start.max(self.within_us.start).max(begin);
        let to = span.end.min(self.within_us.end).min(begin + EPOCH_US);
        self.is_active(begin, start_us).then_some(from..to)
    }

    /// Calls `visit(from, to, share of the busy level)` for every burst of `epoch` that overlaps
    /// `part`, truncated to it.
    fn bursts_in(&mut self, epoch: u64, part: &Range<u64>, mut visit: impl FnMut(u64, u64, f64)) {
        let mut cut = |from: u64, to: u64| {
            let (from, to) = (from.max(part.start), to.min(part.end));
            if from < to {
                visit(from, to, 1.0);
            }
        };
        match &self.pattern {
            // The phase of the mains is the same for all sources, and zero at the start of a
            // session.
            Pattern::Periodic { period_us, on_us } => {
                for period in part.start / period_us..=part.end / period_us {
                    cut(period * period_us, period * period_us + on_us);
                }
            }
            Pattern::Slots { slot_us, on_us, probability } => {
                for slot in part.start / slot_us..=part.end / slot_us {
                    if self.draw(slot, Draw::Slot) < *probability {
                        cut(slot * slot_us, slot * slot_us + on_us);
                    }
                }
            }
            Pattern::Trace(trace) => trace.visit(self.within_us.start, part, visit),
            Pattern::Gaps(_) | Pattern::Saturated(_) | Pattern::OnOff { .. } => {
                self.make(epoch);
                self.bursts.within(part).for_each(|(from, to)| cut(from, to));
            }
        }
    }

    /// Generates the bursts of `epoch` unless they exist.
    fn make(&mut self, epoch: u64) {
        if self.bursts.epoch == Some(epoch) {
            return;
        }
        let span = epoch * EPOCH_US..(epoch + 1) * EPOCH_US;
        let mut random = self.random(epoch, Draw::Bursts);
        if let Pattern::OnOff { on, off, .. } = &self.pattern {
            let number = epoch * EPOCH_US / PERIODS_US;
            if self.periods.epoch != Some(number) {
                let mut random = self.random(number, Draw::Periods);
                let span = number * PERIODS_US..(number + 1) * PERIODS_US;
                self.periods.epoch = Some(number);
                periods(on, off, &span, &mut random, &mut self.periods.list);
            }
        }
        let Source { pattern, bursts: Made { epoch: made, list }, periods, .. } = self;
        *made = Some(epoch);
        match pattern {
            Pattern::Gaps(gaps) => frames(gaps, &span, &mut random, list),
            Pattern::Saturated(cell) => saturated(cell, &span, &mut random, list),
            Pattern::OnOff { frames: gaps, .. } => {
                frames(gaps, &span, &mut random, list);
                only_in(list, periods.within(&span));
            }
            Pattern::Periodic { .. } | Pattern::Slots { .. } | Pattern::Trace(_) => list.clear(),
        }
    }

    /// True if the source is active at `at`.
    fn is_active(&self, at: u64, start_us: u64) -> bool {
        let hour = (start_us + at) / HOUR_US % 24;
        let share = self.hours.get(hour as usize).copied().unwrap_or(0.0);
        share > 0.0 && self.draw(at / SESSION_US, Draw::Session) < share
    }

    fn seed(&self, number: u64, what: Draw) -> u64 {
        stream_seed(self.seed ^ what as u64, number, Purpose::Interference)
    }

    /// Uniform from 0 to 1; the same for the same number.
    fn draw(&self, number: u64, what: Draw) -> f64 {
        (self.seed(number, what) >> 32) as f64 / 4_294_967_296.0
    }

    /// A stream; the same for the same number.
    fn random(&self, number: u64, what: Draw) -> Stream {
        Stream::from_seed(self.seed(number, what))
    }
}

impl Made {
    /// Entries that overlap `span`.
    fn within(&self, span: &Range<u64>) -> impl Iterator<Item = (u64, u64)> {
        let first = self.list.partition_point(|burst| burst.1 <= span.start);
        let end = span.end;
        self.list.iter().skip(first).copied().take_while(move |burst| burst.0 < end)
    }
}

/// Generates bursts with random gaps; `span` begins within a gap.
fn frames(gaps: &Gaps, span: &Range<u64>, random: &mut Stream, list: &mut Vec<(u64, u64)>) {
    list.clear();
    let Gaps { busy_us, slot_us, .. } = *gaps;
    let first = random.unit() * (gaps.gap(random.unit()) * slot_us) as f64;
    let mut at = span.start + first as u64;
    while at < span.end {
        list.push((at, (at + busy_us).min(span.end)));
        at += busy_us + gaps.gap(random.unit()) * slot_us;
    }
}

/// Generates busy periods of a saturated cell; `span` begins within a busy or idle period.
fn saturated(cell: &Cell, span: &Range<u64>, random: &mut Stream, list: &mut Vec<(u64, u64)>) {
    list.clear();
    let (mut busy, mut idle) = cell.draw(random);
    let over = (random.unit() * (busy + idle) as f64) as u64;
    // Remainder of the first one.
    (busy, idle) = (busy.saturating_sub(over), idle.min(busy + idle - over));
    let mut at = span.start;
    while at < span.end {
        if busy > 0 {
            list.push((at, (at + busy).min(span.end)));
        }
        at += busy + idle;
        (busy, idle) = cell.draw(random);
    }
}

/// Generates periods with frames; `span` begins within a period of either kind.
fn periods(
    on: &Pareto,
    off: &Pareto,
    span: &Range<u64>,
    random: &mut Stream,
    list: &mut Vec<(u64, u64)>,
) {
    list.clear();
    let mut is_on = random.chance(share(on, off));
    let met = if is_on { on } else { off };
    let mut length = random.unit() * met.quantile_met_us(random.unit());
    let mut at = span.start;
    while at < span.end {
        let end = at + (length as u64).max(1);
        if is_on {
            list.push((at, end.min(span.end)));
        }
        at = end;
        is_on = !is_on;
        length = if is_on { on } else { off }.quantile_us(random.unit());
    }
}

/// Keeps the parts of `list` within `periods`, which are in order of time.
fn only_in(list: &mut Vec<(u64, u64)>, periods: impl Iterator<Item = (u64, u64)>) {
    let mut periods = periods.peekable();
    list.retain_mut(|burst| {
        // Periods of both kinds are longer than bursts, so a burst overlaps at most one.
        while periods.next_if(|period| period.1 <= burst.0).is_some() {}
        let Some(period) = periods.peek() else { return false };
        *burst = (burst.0.max(period.0), burst.1.min(period.1));
        burst.0 < burst.1
    });
}
