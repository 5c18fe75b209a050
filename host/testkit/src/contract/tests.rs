//! Deliberately broken layers, which the kit must catch.

use super::laws::{self, Law};
use super::*;
use kinglet_time::Duration;
use rand_core::Rng;
use std::sync::atomic::{AtomicU32, Ordering};

/// Defects of a [`Toy`].
mod defect {
    pub(super) const NONE: u8 = 0;
    pub(super) const STALE_DEADLINE: u8 = 1;
    pub(super) const CLOCK_USED_EARLY: u8 = 2;
    pub(super) const ENDLESS_DRAIN: u8 = 3;
    pub(super) const LOST_ON_REFUSAL: u8 = 4;
    pub(super) const NOT_DETERMINISTIC: u8 = 5;
    pub(super) const CATCH_UP_BURST: u8 = 6;
    pub(super) const UNBOUNDED: u8 = 7;
    pub(super) const DATA_STARVES_CONTROL: u8 = 8;
    pub(super) const PANICS: u8 = 9;
    pub(super) const DEADLINE_PUT_OFF: u8 = 10;
    pub(super) const COUNTS_CALLS: u8 = 11;
    pub(super) const WORKS_AT_REST: u8 = 12;
    pub(super) const GIVES_EARLY: u8 = 13;
}

const SLOTS: usize = 4;
const PERIOD: Duration = Duration::from_millis(10);

static SHARED: AtomicU32 = AtomicU32::new(0);

/// Holds each unit for a while, then outputs it; beats once in a period while it holds any.
struct Toy<const DEFECT: u8> {
    waiting: Vec<Instant>,
    ready: usize,
    beat: Option<Instant>,
    beats: u32,
    work: u64,
}

impl<const DEFECT: u8> Toy<DEFECT> {
    fn accept(&mut self, now: Instant, delay_us: u64, limit: usize) -> bool {
        let accepted = DEFECT == defect::UNBOUNDED || self.waiting.len() + self.ready < limit;
        if accepted {
            self.waiting.push(now + Duration::from_micros(1 + delay_us));
            self.beat.get_or_insert(now + PERIOD);
        }
        accepted
    }

    /// Polls a toy without a ready output.
    fn poll_in_vain(&mut self, now: Instant) -> Option<String> {
        match DEFECT {
            defect::DEADLINE_PUT_OFF => {
                self.waiting.iter_mut().for_each(|at| *at += PERIOD / 1_000);
            }
            defect::COUNTS_CALLS => self.beats += 1,
            defect::WORKS_AT_REST => self.work += 1,
            defect::GIVES_EARLY => {
                let soon = self.waiting.iter().position(|&at| at <= now + PERIOD / 10)?;
                self.waiting.remove(soon);
                return Some("unit".to_owned());
            }
            _ => {}
        }
        None
    }

    fn data_limit() -> usize {
        if DEFECT == defect::DATA_STARVES_CONTROL { SLOTS } else { SLOTS - 1 }
    }
}

impl<const DEFECT: u8> Subject for Toy<DEFECT> {
    const DRAIN_BOUND: usize = SLOTS;

    fn fresh(_seed: u64) -> Self {
        Toy { waiting: Vec::new(), ready: 0, beat: None, beats: 0, work: 0 }
    }

    fn operate(&mut self, now: Instant, random: &mut Pcg32) -> String {
        let delay = u64::from(random.next_u32() % 5_000);
        if DEFECT == defect::PANICS {
            assert!(delay != 77, "a rare input");
        }
        let extra = match DEFECT {
            defect::NOT_DETERMINISTIC => SHARED.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        format!("{} {extra}", self.accept(now, delay, SLOTS))
    }

    fn poll(&mut self, now: Instant) -> Option<String> {
        if self.ready == 0 {
            return self.poll_in_vain(now);
        }
        if DEFECT != defect::ENDLESS_DRAIN {
            self.ready -= 1;
        }
        Some("unit".to_owned())
    }

    fn deadline(&self) -> Option<Instant> {
        self.waiting.iter().copied().chain(self.beat).min()
    }

    fn handle_deadline(&mut self, now: Instant) {
        let due = |at: Instant| DEFECT == defect::CLOCK_USED_EARLY || at <= now;
        let before = self.waiting.len();
        if DEFECT != defect::STALE_DEADLINE {
            self.waiting.retain(|&at| !due(at));
        }
        self.ready += before - self.waiting.len();
        if let Some(beat) = self.beat.filter(|&at| at <= now) {
            self.beats += 1;
            let next = if DEFECT == defect::CATCH_UP_BURST { beat + PERIOD } else { now + PERIOD };
            self.beat = (!self.waiting.is_empty()).then_some(next);
            if DEFECT == defect::CATCH_UP_BURST {
                self.beat = Some(next);
            }
        }
    }

    fn observe(&self) -> String {
        format!("{} {} {}", self.waiting.len(), self.ready, self.beats)
    }

    fn work(&self) -> u64 {
        self.work
    }

    fn refuse(&mut self, _now: Instant) -> bool {
        let something = self.ready > 0;
        if DEFECT == defect::LOST_ON_REFUSAL && something {
            self.ready -= 1;
        }
        something
    }

    fn owed(&self) -> usize {
        self.waiting.len() + self.ready
    }

    fn occupancy(&self) -> Vec<(usize, usize)> {
        vec![(self.waiting.len() + self.ready, SLOTS)]
    }

    fn offer_data(&mut self, now: Instant) -> Option<bool> {
        // The unbounded toy would fill the memory.
        let limit = Self::data_limit();
        Some(self.waiting.len() + self.ready < limit && self.accept(now, 0, limit))
    }

    fn offer_control(&mut self, now: Instant) -> Option<bool> {
        Some(self.accept(now, 0, SLOTS))
    }
}

/// Returns the law that a toy with this defect is found to violate, if only `law` is checked.
fn found<const DEFECT: u8>(law: Law) -> Option<u8> {
    (0..40).find_map(|seed| laws::without_panic::<Toy<DEFECT>>(law, seed, 200).err()).map(|v| v.law)
}

#[test]
fn a_sound_layer_keeps_all_laws() {
    check::<Toy<{ defect::NONE }>>(0..20, 300);
}

#[test]
fn a_stale_deadline_is_caught() {
    assert_eq!(found::<{ defect::STALE_DEADLINE }>(Law::NoStaleDeadline), Some(3));
    assert_eq!(found::<{ defect::STALE_DEADLINE }>(Law::TimeIsMonotone), Some(1));
}

#[test]
fn a_layer_that_acts_before_its_deadline_is_caught() {
    assert_eq!(found::<{ defect::CLOCK_USED_EARLY }>(Law::EarlyIsANoOp), Some(4));
}

#[test]
fn an_endless_drain_is_caught() {
    assert_eq!(found::<{ defect::ENDLESS_DRAIN }>(Law::DrainingEnds), Some(2));
}

#[test]
fn a_unit_lost_on_refusal_is_caught() {
    assert_eq!(found::<{ defect::LOST_ON_REFUSAL }>(Law::NothingIsLostByRefusal), Some(7));
}

#[test]
fn hidden_shared_state_is_caught() {
    assert_eq!(found::<{ defect::NOT_DETERMINISTIC }>(Law::Deterministic), Some(6));
}

#[test]
fn a_catch_up_burst_is_caught() {
    assert_eq!(found::<{ defect::CATCH_UP_BURST }>(Law::LateIsSafe), Some(5));
}

#[test]
fn a_table_without_bound_is_caught() {
    assert_eq!(found::<{ defect::UNBOUNDED }>(Law::Bounded), Some(8));
}

#[test]
fn data_that_starves_control_is_caught() {
    assert_eq!(found::<{ defect::DATA_STARVES_CONTROL }>(Law::ControlProceeds), Some(9));
}

#[test]
fn a_layer_that_works_while_idle_is_caught() {
    assert_eq!(found::<{ defect::DEADLINE_PUT_OFF }>(Law::RestIsFree), Some(11));
    assert_eq!(found::<{ defect::COUNTS_CALLS }>(Law::RestIsFree), Some(11));
    assert_eq!(found::<{ defect::WORKS_AT_REST }>(Law::RestIsFree), Some(11));
    assert_eq!(found::<{ defect::GIVES_EARLY }>(Law::RestIsFree), Some(11));
}

#[test]
fn a_panic_is_caught_whatever_law_was_checked_and_names_its_seed() {
    let violation = (0..200)
        .find_map(|seed| {
            laws::without_panic::<Toy<{ defect::PANICS }>>(Law::Bounded, seed, 200).err()
        })
        .expect("one input in 5000 panics");
    assert_eq!(violation.law, 10);
    assert!(violation.what.contains("a rare input"), "{violation}");
    assert!(violation.to_string().contains(&format!("seed {}", violation.seed)));
}
