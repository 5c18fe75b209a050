//! Two nodes and the air between them, in virtual time, which jumps to the next deadline.

use crate::air::{Air, End};
use kinglet::time::{Instant, earliest};
use kinglet::{Node, Profile};

/// Longer than any image takes, so that one that hangs ends as well.
const GIVE_UP: Instant = Instant::from_secs(600);

/// Both nodes, and the link that joins them.
pub struct World<'a, A: Profile, B: Profile> {
    pub now: Instant,
    pub first: &'a mut Node<A>,
    pub second: &'a mut Node<B>,
    pub air: Air,
}

impl<A: Profile, B: Profile> World<'_, A, B> {
    /// One turn of both loops, after those of the applications. Time then jumps to the next
    /// deadline, at most to `until`. Returns false if there is no deadline, or if time is over.
    pub fn step(&mut self, until: Option<Instant>) -> bool {
        let first = self.first.drive(self.now, &mut self.air.side(End::First));
        let second = self.second.drive(self.now, &mut self.air.side(End::Second));
        let next = earliest(self.air.deadline(), earliest(earliest(first, second), until));
        let Some(next) = next.filter(|&next| next < GIVE_UP) else { return false };
        self.now = self.now.max(next);
        true
    }
}
