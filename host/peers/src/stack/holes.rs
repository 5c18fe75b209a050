//! Holes between selectively acknowledged data (FreeBSD's `tcp_sack.c`).

use crate::seq::Seq;
use kinglet_wire::tcp::SackBlock;

/// Octets that the peer lacks below others that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hole {
    pub(crate) start: Seq,
    pub(crate) end: Seq,
    /// Octets of it before this number were retransmitted.
    pub(crate) sent_again: Seq,
}

/// All holes, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holes {
    holes: Vec<Hole>,
    /// End of the selectively acknowledged data (`snd_fack`).
    fack: Option<Seq>,
}

impl Holes {
    pub(crate) fn clear(&mut self) {
        *self = Holes::default();
    }

    /// End of the selectively acknowledged data, at least `una`.
    pub(crate) fn fack(&self, una: Seq) -> Seq {
        self.fack.map_or(una, |fack| fack.later(una))
    }

    /// Octets that were retransmitted and are not known to have arrived (`sack_bytes_rexmit`).
    pub(crate) fn sent_again(&self) -> u32 {
        self.holes.iter().map(|hole| hole.sent_again.since(hole.start)).sum()
    }

    /// Octets from `una` on that are selectively acknowledged.
    pub(crate) fn sacked(&self, una: Seq) -> u32 {
        let lacking: u32 = self.holes.iter().map(|hole| hole.end.since(hole.start)).sum();
        self.fack(una).since(una).saturating_sub(lacking)
    }

    /// The first hole that was not completely retransmitted.
    pub(crate) fn next(&mut self) -> Option<&mut Hole> {
        self.holes.iter_mut().find(|hole| hole.sent_again.before(hole.end))
    }

    /// Processes an acknowledgement of all data before `una`, and its blocks below `max`.
    pub(crate) fn update(&mut self, una: Seq, max: Seq, blocks: &[SackBlock]) {
        self.remove(Seq(una.0.wrapping_sub(1 << 30)), una);
        let mut known: Vec<(Seq, Seq)> = blocks
            .iter()
            .map(|block| (Seq(block.left), Seq(block.right)))
            .filter(|(left, right)| left.before(*right) && !left.before(una) && !max.before(*right))
            .collect();
        known.sort_by_key(|(left, _)| left.since(una));
        for (left, right) in known {
            let fack = self.fack(una);
            if fack.before(left) {
                self.holes.push(Hole { start: fack, end: left, sent_again: fack });
            }
            self.remove(left, right);
            self.fack = Some(fack.later(right));
        }
    }

    /// Removes the range from all holes.
    fn remove(&mut self, left: Seq, right: Seq) {
        let parts = self.holes.iter().flat_map(|hole| {
            let before = Hole { end: hole.end.earlier(left), ..*hole };
            let after = Hole { start: hole.start.later(right), ..*hole };
            [before, after]
        });
        let parts = parts.filter(|hole| hole.start.before(hole.end)).map(|hole| Hole {
            sent_again: hole.sent_again.later(hole.start).earlier(hole.end),
            ..hole
        });
        self.holes = parts.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(left: u32, right: u32) -> SackBlock {
        SackBlock { left, right }
    }

    #[test]
    fn holes_are_what_lies_between_the_blocks() {
        let mut holes = Holes::default();
        holes.update(Seq(100), Seq(900), &[block(500, 600), block(200, 300)]);
        let first = *holes.next().expect("a hole");
        assert_eq!((first.start, first.end), (Seq(100), Seq(200)));
        assert_eq!(holes.fack(Seq(100)), Seq(600));
        assert_eq!(holes.sacked(Seq(100)), 200);
        holes.next().expect("a hole").sent_again = Seq(200);
        assert_eq!(holes.sent_again(), 100);
        let second = *holes.next().expect("another");
        assert_eq!((second.start, second.end), (Seq(300), Seq(500)));
        // The middle of the second hole arrives after all.
        holes.next().expect("it").sent_again = Seq(450);
        holes.update(Seq(200), Seq(900), &[block(350, 400)]);
        assert_eq!(holes.sent_again(), 50 + 50);
        let rest = *holes.next().expect("the rest");
        assert_eq!((rest.start, rest.end, rest.sent_again), (Seq(400), Seq(500), Seq(450)));
        holes.update(Seq(600), Seq(900), &[]);
        assert!(holes.next().is_none());
    }

    #[test]
    fn blocks_beyond_what_was_sent_are_not_accepted() {
        let mut holes = Holes::default();
        holes.update(Seq(100), Seq(200), &[block(150, 300), block(50, 90)]);
        assert!(holes.next().is_none());
        assert_eq!(holes.fack(Seq(100)), Seq(100));
    }
}
