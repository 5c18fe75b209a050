//! The link: it delays, loses, duplicates, reorders and damages segments.

use super::course::Faults;
use super::source::Source;
use super::{Host, Side};
use kinglet_tcp::{Ecn, Peer};
use kinglet_time::{Duration, Instant};
use kinglet_wire::tcp::verify_checksum;
use std::collections::{BTreeMap, VecDeque};

/// A segment in flight.
#[derive(Debug)]
pub(super) struct Flying {
    pub(super) at: Instant,
    pub(super) ecn: Ecn,
    pub(super) octets: Vec<u8>,
    /// True if the receiver must detect damage.
    pub(super) damaged: bool,
}

/// One direction.
#[derive(Debug)]
pub(super) struct OneWayLink {
    pub(super) faults: Faults,
    /// Number of consecutive segments that did not arrive unchanged, by connection (its ports).
    /// With a single counter, the luck of one connection could end another.
    streaks: BTreeMap<[u8; 4], u32>,
    pub(super) flying: VecDeque<Flying>,
    pub(super) busy_until: Instant,
}

impl OneWayLink {
    pub(super) fn new(faults: Faults) -> OneWayLink {
        OneWayLink {
            faults,
            streaks: BTreeMap::new(),
            flying: VecDeque::new(),
            busy_until: Instant::ZERO,
        }
    }

    /// Accepts a segment and returns its fate.
    pub(super) fn launch(
        &mut self,
        now: Instant,
        from: Side,
        mut ecn: Ecn,
        octets: &[u8],
        source: &mut dyn Source,
    ) -> &'static str {
        self.busy_until = now + self.faults.per_octet * (octets.len() as u32 + 40);
        let ports = octets.first_chunk().copied().expect("a TCP header");
        let streak = self.streaks.entry(ports).or_default();
        let may_fail = *streak < self.faults.streak;
        *streak += 1;
        if source.chance(self.faults.loss) && may_fail {
            return "lost";
        }
        let copies = 1 + usize::from(source.chance(self.faults.duplicate));
        let mut fate = if copies > 1 { "doubled" } else { "" };
        if ecn != Ecn::NotEct && source.chance(self.faults.mark) {
            ecn = Ecn::Ce;
            fate = "marked";
        }
        for _ in 0..copies {
            let mut at = self.busy_until + self.faults.delay;
            if source.chance(self.faults.reorder) {
                at += Duration::from_millis(u64::from(source.below(600)));
                fate = "held back";
            }
            let mut octets = octets.to_vec();
            let damaged = source.chance(self.faults.damage) && may_fail;
            if damaged {
                fate = "damaged";
                damage(&mut octets, source);
                if verify_checksum(&octets, Host::seen_from(from).pseudo_header_sum(octets.len())) {
                    // One in 65,535 cannot be detected by any TCP.
                    continue;
                }
            }
            if !damaged {
                *streak = 0;
            }
            let place = self.flying.partition_point(|f| f.at <= at);
            self.flying.insert(place, Flying { at, ecn, octets, damaged });
        }
        fate
    }

    /// Returns the next segment that has arrived by `now`.
    pub(super) fn arrived(&mut self, now: Instant) -> Option<Flying> {
        if self.flying.front()?.at <= now { self.flying.pop_front() } else { None }
    }
}

/// Changes an octet or truncates the segment.
fn damage(octets: &mut Vec<u8>, source: &mut dyn Source) {
    let at = source.below(octets.len() as u32) as usize;
    if source.chance(64) {
        octets.truncate(at);
    } else {
        octets[at] ^= 1 + source.below(255) as u8;
    }
}
