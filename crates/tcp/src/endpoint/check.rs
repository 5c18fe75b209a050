//! Check of the invariants of an endpoint, for tests.

use super::{Endpoint, Peer, Sizes};
use crate::error::Violation;
use kinglet_mem::Array;

impl<K: Peer, S: Sizes> Endpoint<K, S> {
    /// Checks the invariants, which hold between any two calls whatever their arguments. For tests,
    /// after each step: it costs nothing in an image that does not call it.
    ///
    /// # Errors
    /// The first one that is violated.
    pub fn check(&self) -> Result<(), Violation> {
        let slots = self.slots.as_slice();
        for (index, slot) in slots.iter().enumerate() {
            let Some(entry) = &slot.entry else { continue };
            entry.conn.check()?;
            let (local, remote) = (entry.local_port, entry.remote_port);
            let mut others = slots.iter().skip(index.saturating_add(1));
            if slot.matches(&entry.peer, local, remote)
                && others.any(|other| other.matches(&entry.peer, local, remote))
            {
                return Err(Violation::Namesakes);
            }
        }
        let first = self.first_timer().deadline(self.epoch);
        match self.due.get() {
            Some(known) if known != first => Err(Violation::Deadline),
            _ => Ok(()),
        }
    }
}
