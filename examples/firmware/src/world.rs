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
    /// Gives the radios what the nodes want of them.
    pub fn submit(&mut self) {
        submit(self.now, &mut self.air, End::First, self.first);
        submit(self.now, &mut self.air, End::Second, self.second);
    }

    /// Jumps to whatever is due next, at `until` at the latest, and does it; false if nothing is,
    /// or time is over.
    pub fn advance(&mut self, until: Option<Instant>) -> bool {
        let nodes = earliest(self.first.deadline(), self.second.deadline());
        let next = earliest(self.air.deadline(), earliest(nodes, until));
        let Some(next) = next.filter(|&next| next < GIVE_UP) else { return false };
        let now = self.now.max(next);
        self.now = now;
        while let Some((end, event, frame)) = self.air.poll_event(now) {
            match end {
                End::First => self.first.handle_radio(now, event, frame),
                End::Second => self.second.handle_radio(now, event, frame),
            }
        }
        handle_deadline(now, self.first);
        handle_deadline(now, self.second);
        true
    }
}

fn submit(now: Instant, air: &mut Air, end: End, node: &mut Node<impl Profile>) {
    while let Some(submission) = node.poll_radio(now) {
        if air.submit(now, end, submission.command, submission.frame).is_err() {
            node.radio_refused(now);
        }
    }
}

fn handle_deadline(now: Instant, node: &mut Node<impl Profile>) {
    if node.deadline().is_some_and(|at| at <= now) {
        node.handle_deadline(now);
    }
}
