//! The bursts of one source, made when somebody asks.

use super::pattern::{Gaps, share};
use super::wifi::Cell;
use super::{Heard, Interferer, Pareto, Pattern};
use crate::ber::mw_from_dbm;
use crate::place::Position;
use crate::rng::{Purpose, Stream, stream_seed};
use kinglet_radio::Channel;
use std::ops::{Range, RangeInclusive};

/// Random bursts are made for one second at a time.
const EPOCH_US: u64 = 1_000_000;
/// Periods with and without frames are made for this long at a time: a hundred times the longest.
const PERIODS_US: u64 = 60 * EPOCH_US;
/// How long somebody stays active or quiet: a page, a message, a file of some megabytes.
pub const SESSION_US: u64 = 10 * EPOCH_US;
/// Hours of a day.
const HOUR_US: u64 = 3_600 * EPOCH_US;
/// Share of a trace's strongest sample, in milliwatts, under which nobody sends: 30 dB less.
const QUIET: f64 = 1e-3;
/// A level more than this below the noise floor at a node is not counted there, in dB.
const NEGLIGIBLE_DB: f64 = 10.0;

/// What is drawn, each with a seed of its own. The numbers are part of the seed: never renumber.
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
    /// At each node.
    levels: Vec<Levels>,
    seed: u64,
    bursts: Made,
    periods: Made,
}

/// Milliwatts at a node; 0 if negligible there.
#[derive(Clone, Copy, Default)]
struct Levels {
    busy: f64,
    idle: f64,
}

/// What was made last: beginnings and ends in order of time.
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

    /// Whether it is heard there.
    pub(super) fn covers(&self, channel: Channel) -> bool {
        self.channels.contains(&channel.number())
    }

    /// Calls `visit(from, to, milliwatts)`, in order of time, for what `node` receives in `span`.
    /// Where there is nothing, it is not called.
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

    /// Calls `visit(from, to)`, in order of time, for what it sends in `span`, whoever hears it; of
    /// a recorded trace, what is at most [`QUIET`] under its strongest sample.
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

    /// The seconds of `span` in which it is switched on.
    fn epochs(&self, span: &Range<u64>) -> Range<u64> {
        let from = span.start.max(self.within_us.start);
        let to = span.end.min(self.within_us.end);
        if from < to { from / EPOCH_US..(to - 1) / EPOCH_US + 1 } else { 0..0 }
    }

    /// The part of `span` that is in `epoch`, if it is active then.
    fn part(&self, epoch: u64, span: &Range<u64>, start_us: u64) -> Option<Range<u64>> {
        let begin = epoch * EPOCH_US;
        let from = span.start.max(self.within_us.start).max(begin);
        let to = span.end.min(self.within_us.end).min(begin + EPOCH_US);
        self.is_active(begin, start_us).then_some(from..to)
    }

    /// Calls `visit(from, to, share of the busy level)` for every burst that overlaps `part`, which
    /// is of `epoch`, cut to it.
    fn bursts_in(&mut self, epoch: u64, part: &Range<u64>, mut visit: impl FnMut(u64, u64, f64)) {
        let mut cut = |from: u64, to: u64| {
            let (from, to) = (from.max(part.start), to.min(part.end));
            if from < to {
                visit(from, to, 1.0);
            }
        };
        match &self.pattern {
            // Mains have the same phase for everybody; a session begins with it at zero.
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

    /// Makes the bursts of `epoch`, unless they are there.
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

    /// Whether somebody uses it at `at`.
    fn is_active(&self, at: u64, start_us: u64) -> bool {
        let hour = (start_us + at) / HOUR_US % 24;
        let share = self.hours.get(hour as usize).copied().unwrap_or(0.0);
        share > 0.0 && self.draw(at / SESSION_US, Draw::Session) < share
    }

    fn seed(&self, number: u64, what: Draw) -> u64 {
        stream_seed(self.seed ^ what as u64, number, Purpose::Interference)
    }

    /// Uniform from 0 to 1, the same for the same number.
    fn draw(&self, number: u64, what: Draw) -> f64 {
        (self.seed(number, what) >> 32) as f64 / 4_294_967_296.0
    }

    /// A stream that is the same for the same number.
    fn random(&self, number: u64, what: Draw) -> Stream {
        Stream::from_seed(self.seed(number, what))
    }
}

impl Made {
    /// What overlaps `span`.
    fn within(&self, span: &Range<u64>) -> impl Iterator<Item = (u64, u64)> {
        let first = self.list.partition_point(|burst| burst.1 <= span.start);
        let end = span.end;
        self.list.iter().skip(first).copied().take_while(move |burst| burst.0 < end)
    }
}

/// Bursts with random gaps; `span` begins somewhere in a gap.
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

/// Busy periods of a saturated cell; `span` begins somewhere between two beginnings.
fn saturated(cell: &Cell, span: &Range<u64>, random: &mut Stream, list: &mut Vec<(u64, u64)>) {
    list.clear();
    let (mut busy, mut idle) = cell.draw(random);
    let over = (random.unit() * (busy + idle) as f64) as u64;
    // What lasts of the first one.
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

/// Periods with frames; `span` begins somewhere in a period of either kind.
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

/// Leaves of `list` what is within `periods`, which are in order of time too.
fn only_in(list: &mut Vec<(u64, u64)>, periods: impl Iterator<Item = (u64, u64)>) {
    let mut periods = periods.peekable();
    list.retain_mut(|burst| {
        // Both kinds of periods are longer than bursts, so that a burst meets one at most.
        while periods.next_if(|period| period.1 <= burst.0).is_some() {}
        let Some(period) = periods.peek() else { return false };
        *burst = (burst.0.max(period.0), burst.1.min(period.1));
        burst.0 < burst.1
    });
}
