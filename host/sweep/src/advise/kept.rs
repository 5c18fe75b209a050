//! Results in a journal like that of a sweep, so that no simulation is repeated.

use crate::sweep::{Finished, Journal, JournalError};
use kinglet_network::table::Record;

/// A journal and the results in it.
#[derive(Debug)]
pub struct Kept {
    journal: Journal,
    finished: Finished,
}

impl Kept {
    /// Results from [`Journal::open`].
    pub const fn new(journal: Journal, finished: Finished) -> Self {
        Kept { journal, finished }
    }

    /// Number of simulations with results.
    pub fn len(&self) -> usize {
        self.finished.len()
    }

    /// True if there are no results.
    pub fn is_empty(&self) -> bool {
        self.finished.is_empty()
    }

    pub(super) fn get(&self, key: &str) -> Option<Record> {
        self.finished.get(key)?.first().cloned()
    }

    pub(super) fn put(&mut self, key: String, measured: &Record) -> Result<(), JournalError> {
        let rows = vec![measured.clone()];
        self.journal.append(&key, &rows)?;
        self.finished.insert(key, rows);
        Ok(())
    }

    pub(super) fn sync(&mut self) -> Result<(), JournalError> {
        self.journal.sync()
    }
}
