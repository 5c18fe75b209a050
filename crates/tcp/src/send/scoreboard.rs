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
