//! What was measured, in a journal as that of a sweep, so that nothing of it is simulated again.

use crate::sweep::{Finished, Journal, JournalError, Record};

/// A journal with what was measured in it.
#[derive(Debug)]
pub struct Kept {
    journal: Journal,
    finished: Finished,
}

impl Kept {
    /// Of what [`Journal::open`] gives.
    pub const fn new(journal: Journal, finished: Finished) -> Self {
        Kept { journal, finished }
    }

    /// How many simulations it has.
    pub fn len(&self) -> usize {
        self.finished.len()
    }

    /// Whether it has none.
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
