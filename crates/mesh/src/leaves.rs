//! Leaves and their parents: the node's own children, and those that other routers advertise.
//!
//! Every router repeats all bindings that it knows. A leaf numbers its attachments, so a later one
//! is recognised wherever it is received. A router that is wrongly advertised as a parent denies
//! it, with the same number and [`NO_PARENT`], which counts as later.

use crate::change::Change;
use crate::message::{Binding, NO_PARENT};
use kinglet_time::{Duration, Instant, earliest};

/// Time for which a leaf's departure from its parent is advertised.
pub(crate) const FAREWELL: Duration = crate::route::LIFETIME;

/// A leaf of the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    pub(crate) binding: Binding,
    /// True if the node was notified that this is its child.
    announced: bool,
    /// True if the child sleeps.
    sleeps: bool,
    /// Expiry: of a child from which nothing is received, or of a leaf without a parent.
    pub(crate) until: Option<Instant>,
}

/// Returns whether attachment number `a` is later than `b` (RFC 1982 with eight bits).
fn is_later(a: u8, b: u8) -> bool {
    (1..128).contains(&a.wrapping_sub(b))
}

impl Binding {
    fn replaces(&self, known: &Binding) -> bool {
        is_later(self.sequence, known.sequence)
            || (self.sequence == known.sequence
                && self.parent == NO_PARENT
                && known.parent != NO_PARENT)
    }
}

/// Result of a leaf's request to be a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Adoption {
    /// It has become a child.
    New,
    /// It was a child already.
    Known,
    /// The table is full.
    Full,
    /// A later attachment is known, with this number.
    Stale(u8),
}

/// A router's view of the table.
pub(crate) struct Leaves<'a> {
    pub(crate) own: u16,
    pub(crate) child_timeout: Duration,
    pub(crate) table: &'a mut [Option<Leaf>],
}

pub(crate) fn find(table: &[Option<Leaf>], child: u16) -> Option<&Leaf> {
    table.iter().flatten().find(|leaf| leaf.binding.child == child)
}

/// Returns whether [`Leaves::poll_change`] has a change for the node.
pub(crate) fn has_change(table: &[Option<Leaf>], own: u16) -> bool {
    table.iter().flatten().any(|leaf| leaf.announced != (leaf.binding.parent == own))
}

impl Leaves<'_> {
    fn get(&mut self, child: u16) -> Option<&mut Leaf> {
        self.table.iter_mut().flatten().find(|leaf| leaf.binding.child == child)
    }

    /// Stores a binding in its existing or a new entry; `None` if the table is full.
    fn put(&mut self, binding: Binding, until: Option<Instant>) -> Option<()> {
        match self.get(binding.child) {
            Some(leaf) => (leaf.binding, leaf.until) = (binding, until),
            None => {
                let place = self.table.iter_mut().find(|place| place.is_none())?;
                *place = Some(Leaf { binding, announced: false, sleeps: false, until });
            }
        }
        Some(())
    }

    /// Processes a leaf's request to be a child.
    pub(crate) fn adopt(
        &mut self,
        now: Instant,
        child: u16,
        sequence: u8,
        sleeps: bool,
    ) -> Adoption {
        let binding = Binding { child, parent: self.own, sequence };
        let known = self.get(child).map(|leaf| leaf.binding);
        match known {
            Some(known) if known != binding && !binding.replaces(&known) => {
                return Adoption::Stale(known.sequence);
            }
            _ => {}
        }
        if self.put(binding, Some(now + self.child_timeout)).is_none() {
            return Adoption::Full;
        }
        if let Some(leaf) = self.get(child) {
            leaf.sleeps = sleeps;
        }
        if known == Some(binding) { Adoption::Known } else { Adoption::New }
    }

    /// Adopts a sleeping leaf that considers this router its parent although the router has lost
    /// its entry, as after a restart. The leaf becomes a child again under the next attachment
    /// number, which replaces a denial. Returns whether this is new and the table has room.
    pub(crate) fn readopt(&mut self, now: Instant, child: u16) -> bool {
        let known = self.get(child).map(|leaf| leaf.binding);
        if known.is_some_and(|known| known.parent == self.own) {
            return false;
        }
        let sequence = known.map_or(0, |known| known.sequence.wrapping_add(1));
        self.adopt(now, child, sequence, true) == Adoption::New
    }

    /// Processes a frame from `from`, if it is a child.
    pub(crate) fn hear(&mut self, now: Instant, from: u16) {
        let (own, until) = (self.own, now + self.child_timeout);
        if let Some(child) = self.get(from).filter(|leaf| leaf.binding.parent == own) {
            child.until = Some(until);
        }
    }

    /// Processes another router's binding. Returns whether others should be notified soon. A parent
    /// without a known route is not accepted.
    pub(crate) fn consider(&mut self, now: Instant, heard: Binding, parent_known: bool) -> bool {
        let known = self.get(heard.child).map(|leaf| leaf.binding);
        let gone = Binding { parent: NO_PARENT, ..heard };
        match known {
            Some(known) if heard == known || !heard.replaces(&known) => false,
            // It is a child, and other routers know a later attachment number.
            Some(known) if (known.parent, heard.parent) == (self.own, self.own) => {
                self.put(heard, Some(now + self.child_timeout)).is_some()
            }
            // A binding to this node is wrong, or this node has lost its entry.
            _ if heard.parent == self.own => self.put(gone, Some(now + FAREWELL)).is_some(),
            None if heard.parent == NO_PARENT => false,
            _ if heard.parent == NO_PARENT => self.put(gone, Some(now + FAREWELL)).is_some(),
            _ => parent_known && self.put(heard, None).is_some(),
        }
    }

    /// Expires what is due. Returns whether others should be notified soon.
    pub(crate) fn handle_deadline(&mut self, now: Instant) -> bool {
        let (own, mut changed) = (self.own, false);
        for place in self.table.iter_mut() {
            let Some(leaf) = place.as_mut().filter(|leaf| leaf.until.is_some_and(|at| at <= now))
            else {
                continue;
            };
            if leaf.binding.parent == own {
                leaf.binding.parent = NO_PARENT;
                leaf.until = Some(now + FAREWELL);
                changed = true;
            } else if !leaf.announced {
                *place = None;
            } else {
                // The node has not polled the change yet, so the entry stays for another period.
                leaf.until = Some(now + FAREWELL);
            }
        }
        changed
    }

    /// Removes the leaves of parents that are no longer known; they would come back from any router
    /// that still had a route.
    pub(crate) fn forget(&mut self, is_known: impl Fn(u16) -> bool) {
        let own = self.own;
        for place in self.table.iter_mut() {
            let orphan = |leaf: &mut Leaf| {
                let parent = leaf.binding.parent;
                parent != own && parent != NO_PARENT && !leaf.announced && !is_known(parent)
            };
            let _ = place.take_if(orphan);
        }
    }

    /// Returns a leaf that has attached or detached since the last call.
    pub(crate) fn poll_change(&mut self) -> Option<Change> {
        let own = self.own;
        let changed = |leaf: &&mut Leaf| leaf.announced != (leaf.binding.parent == own);
        let leaf = self.table.iter_mut().flatten().find(changed)?;
        leaf.announced = !leaf.announced;
        let (child, sleeps) = (leaf.binding.child, leaf.sleeps);
        Some(if leaf.announced {
            Change::ChildAdded { child, sleeps }
        } else {
            Change::ChildRemoved(child)
        })
    }
}

pub(crate) fn deadline(table: &[Option<Leaf>]) -> Option<Instant> {
    table.iter().flatten().fold(None, |first, leaf| earliest(first, leaf.until))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: u16 = 1;
    const ADDED: Change = Change::ChildAdded { child: 9, sleeps: true };
    const REMOVED: Change = Change::ChildRemoved(9);
    const TIMEOUT: Duration = Duration::from_secs(240);

    fn view(table: &mut [Option<Leaf>]) -> Leaves<'_> {
        Leaves { own: OWN, child_timeout: TIMEOUT, table }
    }

    fn says(parent: u16, sequence: u8) -> Binding {
        Binding { child: 9, parent, sequence }
    }

    #[test]
    fn the_later_attachment_wins_wherever_it_is_heard() {
        let (mut table, now) = ([None; 2], Instant::from_secs(1));
        let mut leaves = view(&mut table);
        assert_eq!(leaves.adopt(now, 9, 250, true), Adoption::New);
        assert_eq!(leaves.poll_change(), Some(ADDED));
        assert_eq!(leaves.adopt(now, 9, 250, true), Adoption::Known);
        assert!(!leaves.consider(now, says(2, 249), true), "older");
        assert!(leaves.consider(now, says(2, 3), true), "later, past the wrap");
        assert_eq!(leaves.poll_change(), Some(REMOVED));
        assert_eq!(leaves.adopt(now, 9, 3, true), Adoption::Stale(3));
        assert_eq!(leaves.adopt(now, 9, 4, true), Adoption::New);
        assert_eq!((leaves.poll_change(), leaves.poll_change()), (Some(ADDED), None));
        assert_eq!(leaves.adopt(now, 8, 0, true), Adoption::New);
        assert_eq!(leaves.adopt(now, 7, 0, true), Adoption::Full);
    }

    #[test]
    fn a_silent_child_is_given_up_and_advertised_as_such() {
        let (mut table, now) = ([None; 1], Instant::from_secs(1));
        let mut leaves = view(&mut table);
        leaves.adopt(now, 9, 1, true);
        leaves.poll_change();
        leaves.hear(now + TIMEOUT / 2, 9);
        assert!(!leaves.handle_deadline(now + TIMEOUT));
        let end = now + TIMEOUT * 3 / 2;
        assert!(leaves.handle_deadline(end));
        assert_eq!(leaves.poll_change(), Some(REMOVED));
        assert_eq!(find(leaves.table, 9).unwrap().binding, says(NO_PARENT, 1));
        assert!(!leaves.handle_deadline(end + FAREWELL));
        assert_eq!(table, [None]);
    }

    #[test]
    fn a_router_that_has_forgotten_a_child_denies_it() {
        let (mut table, now) = ([None; 1], Instant::from_secs(1));
        let mut leaves = view(&mut table);
        assert!(leaves.consider(now, says(OWN, 5), true));
        assert_eq!(find(leaves.table, 9).unwrap().binding, says(NO_PARENT, 5));
        assert_eq!(leaves.adopt(now, 9, 5, true), Adoption::Stale(5));
        // On other routers the denial undoes the binding that it denies.
        let mut table = [None; 1];
        let mut leaves = view(&mut table);
        assert!(!leaves.consider(now, says(2, 5), false), "no way to that parent");
        assert!(leaves.consider(now, says(2, 5), true));
        assert!(leaves.consider(now, says(NO_PARENT, 5), false));
        assert!(!leaves.consider(now, says(2, 5), true));
    }

    #[test]
    fn a_leaf_that_asks_a_router_that_has_forgotten_it_is_its_child_again() {
        let (mut table, now) = ([None; 1], Instant::from_secs(1));
        let mut leaves = view(&mut table);
        // Its data request comes before other routers advertise anything,
        assert!(leaves.readopt(now, 9) && !leaves.readopt(now, 9));
        assert_eq!(leaves.poll_change(), Some(ADDED));
        assert!(leaves.consider(now, says(OWN, 5), true));
        assert_eq!(find(leaves.table, 9).unwrap().binding, says(OWN, 5));
        assert_eq!(leaves.poll_change(), None);
        // or after that.
        let mut table = [None; 1];
        let mut leaves = view(&mut table);
        assert!(leaves.consider(now, says(OWN, 5), true));
        assert!(leaves.readopt(now, 9));
        assert!(says(OWN, 6).replaces(&says(NO_PARENT, 5)));
        assert_eq!(find(leaves.table, 9).unwrap().binding, says(OWN, 6));
        // The leaf learns the number when it reports to its parent.
        assert_eq!(leaves.adopt(now, 9, 5, true), Adoption::Stale(6));
        assert!(!leaves.readopt(now, 8), "there is no room");
    }

    #[test]
    fn leaves_of_unknown_parents_are_forgotten() {
        let (mut table, now) = ([None; 2], Instant::from_secs(1));
        let mut leaves = view(&mut table);
        leaves.consider(now, says(2, 1), true);
        leaves.adopt(now, 8, 1, true);
        leaves.forget(|parent| parent == 2);
        assert!(find(leaves.table, 9).is_some());
        leaves.forget(|_| false);
        assert!(find(leaves.table, 9).is_none() && find(leaves.table, 8).is_some());
    }
}
