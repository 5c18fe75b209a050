//! Which octets above SND.UNA the peer holds (RFC 6675 §3), as a bounded list of ranges.
//!
//! If the peer reports more ranges than fit, the highest is forgotten, which costs at worst a
//! needless retransmission: a scoreboard may always know less than was reported.

use crate::seq::SeqNum;

/// Ranges kept. Windows here are a few segments; TCPlp keeps five holes per connection.
pub(crate) const RANGES: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
struct Range {
    left: SeqNum,
    right: SeqNum,
}

/// Ranges in order, apart from each other by at least one octet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scoreboard {
    ranges: [Range; RANGES],
    len: u8,
}

impl Scoreboard {
    fn held(&self) -> &[Range] {
        self.ranges.get(..usize::from(self.len)).unwrap_or(&[])
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Octets held by the peer.
    pub(crate) fn octets(&self) -> u32 {
        self.held().iter().fold(0, |sum, r| sum.saturating_add(r.right.since(r.left)))
    }

    /// After the highest octet the peer holds.
    pub(crate) fn highest(&self) -> Option<SeqNum> {
        self.held().last().map(|r| r.right)
    }

    /// Adds `left..right` and answers how many octets are newly known to have arrived.
    pub(crate) fn insert(&mut self, left: SeqNum, right: SeqNum) -> u32 {
        if !left.before(right) {
            return 0;
        }
        let before = self.octets();
        let mut merged = Range { left, right };
        let mut out = [Range::default(); RANGES.saturating_add(1)];
        let mut count: usize = 0;
        let mut placed = false;
        for r in self.held() {
            if r.right.before(merged.left) {
                put(&mut out, &mut count, *r);
            } else if merged.right.before(r.left) {
                if !placed {
                    put(&mut out, &mut count, merged);
                    placed = true;
                }
                put(&mut out, &mut count, *r);
            } else {
                merged =
                    Range { left: merged.left.earlier(r.left), right: merged.right.later(r.right) };
            }
        }
        if !placed {
            put(&mut out, &mut count, merged);
        }
        let kept = count.min(RANGES);
        for (slot, range) in self.ranges.iter_mut().zip(out.iter().take(kept)) {
            *slot = *range;
        }
        self.len = u8::try_from(kept).unwrap_or(0);
        self.octets().saturating_sub(before)
    }

    /// Forgets what lies before `una`.
    pub(crate) fn advance(&mut self, una: SeqNum) {
        let mut count: u8 = 0;
        let mut out = [Range::default(); RANGES];
        for r in self.held() {
            if una.before(r.right)
                && let Some(slot) = out.get_mut(usize::from(count))
            {
                *slot = Range { left: r.left.later(una), right: r.right };
                count = count.saturating_add(1);
            }
        }
        self.ranges = out;
        self.len = count;
    }

    /// The gap that begins at `from` or, if the peer holds `from`, after that: `(start, end)`, cut
    /// at `limit`; `None` if nothing is missing before `limit`.
    pub(crate) fn gap(&self, from: SeqNum, limit: SeqNum) -> Option<(SeqNum, SeqNum)> {
        let mut start = from;
        for r in self.held() {
            if start.before(r.left) {
                break;
            }
            start = start.later(r.right);
        }
        if !start.before(limit) {
            return None;
        }
        let end = self.held().iter().find(|r| start.before(r.left)).map_or(limit, |r| r.left);
        Some((start, end.earlier(limit)))
    }

    /// Octets and ranges that the peer holds above `seq`.
    pub(crate) fn above(&self, seq: SeqNum) -> (u32, usize) {
        self.held().iter().filter(|r| seq.before(r.right)).fold((0, 0), |(octets, count), r| {
            let octets = octets_of(octets, r, seq);
            (octets, usize::saturating_add(count, 1))
        })
    }
}

fn octets_of(sum: u32, range: &Range, above: SeqNum) -> u32 {
    sum.saturating_add(range.right.since(range.left.later(above)))
}

fn put(out: &mut [Range], count: &mut usize, range: Range) {
    if let Some(slot) = out.get_mut(*count) {
        *slot = range;
        *count = count.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn seq(base: u32, i: usize) -> SeqNum {
        SeqNum::new(base).plus(i as u32)
    }

    proptest! {
        /// With few enough ranges the board knows exactly what a map of octets knows.
        #[test]
        fn the_board_agrees_with_a_map_of_octets(
            base: u32,
            // Blocks of ten leave at most six ranges in 120 octets.
            blocks in proptest::collection::vec((0usize..12, 1usize..4), 0..20),
            una in 0usize..60,
            from in 0usize..120,
        ) {
            let mut board = Scoreboard::default();
            let mut naive = [false; 200];
            for (left, len) in blocks {
                let (l, r) = (left * 10, (left + len).min(12) * 10);
                let fresh = naive[l..r].iter().filter(|held| !**held).count();
                naive[l..r].fill(true);
                prop_assert_eq!(board.insert(seq(base, l), seq(base, r)) as usize, fresh);
            }
            naive[..una].fill(false);
            board.advance(seq(base, una));
            let held: Vec<usize> = (0..200).filter(|i| naive[*i]).collect();
            prop_assert_eq!(board.octets() as usize, held.len());
            prop_assert_eq!(board.highest(), held.last().map(|i| seq(base, i + 1)));
            let from = from.max(una);
            let start = (from..200).find(|i| !naive[*i]).unwrap();
            let end = (start..150).find(|i| naive[*i]).unwrap_or(150);
            let want = (start < 150).then(|| (seq(base, start), seq(base, end)));
            prop_assert_eq!(board.gap(seq(base, from), seq(base, 150)), want);
            let above = held.iter().filter(|i| **i >= from).count();
            prop_assert_eq!(board.above(seq(base, from)).0 as usize, above);
        }

        /// However many ranges a peer invents, what the board claims was reported.
        #[test]
        fn a_full_board_never_claims_too_much(
            base: u32,
            blocks in proptest::collection::vec((0usize..300, 1usize..9), 0..60),
        ) {
            let mut board = Scoreboard::default();
            let mut naive = [false; 400];
            for (left, len) in blocks {
                naive[left..left + len].fill(true);
                board.insert(seq(base, left), seq(base, left + len));
                let mut from = seq(base, 0);
                let mut gaps = [true; 400];
                while let Some((start, end)) = board.gap(from, seq(base, 400)) {
                    let (l, r) = (start.since(seq(base, 0)), end.since(seq(base, 0)));
                    gaps[l as usize..r as usize].fill(false);
                    from = end;
                }
                for i in 0..400 {
                    prop_assert!(!gaps[i] || naive[i], "claims {} to have arrived", i);
                }
            }
        }
    }
}
