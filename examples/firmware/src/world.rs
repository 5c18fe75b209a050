//! Two nodes and the air between them, in virtual time: it jumps to whatever is due next.

use crate::air::{Air, End};
use kinglet::time::{Instant, earliest};
use kinglet::{Node, Profile};

/// Longer than any image takes, so that one that hangs ends too.
const GIVE_UP: Instant = Instant::from_secs(600);

/// Both nodes, and what joins them.
pub struct World<'a, A: Profile, B: Profile> {
    pub now: Instant,
    pub first: &'a mut Node<A>,
    pub second: &'a mut Node<B>,
    pub air: Air,
}

impl<A: Profile, B: Profile> World<'_, A, B> {
    /// A turn of both loops, after the applications have had theirs; then time jumps to whatever is
    /// due next, at `until` at the latest. False if nothing is, or time is over.
    pub fn step(&mut self, until: Option<Instant>) -> bool {
        let first = self.first.drive(self.now, &mut self.air.side(End::First));
        let second = self.second.drive(self.now, &mut self.air.side(End::Second));
        let next = earliest(self.air.deadline(), earliest(earliest(first, second), until));
        let Some(next) = next.filter(|&next| next < GIVE_UP) else { return false };
        self.now = self.now.max(next);
        true
    }
}
