//! Eviction: which slot of a full table a new entry takes.
//!
//! All tables of neighbours follow one rule, whichever layer owns them:
//!
//! 1. A new entry takes a free slot.
//! 2. In a full table it takes the slot of the idle entry with the least key. The key is the time
//!    of the last use in tables that serve packets, and the quality of the path in tables that
//!    select routes.
//! 3. An entry that packets, routes or an exchange depend on stays. If all entries are in use, the
//!    new one is refused.
//!
//! A table states the [`Claim`] of each entry, and [`slot_for_new`] applies the rule.

/// Claim of an entry to its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim<K> {
    /// The slot is free.
    Free,
    /// The entry may be evicted. Of several such entries the one with the least key goes, the first
    /// one of equals.
    Idle(K),
    /// The entry stays.
    InUse,
}

/// Returns the index of the slot for a new entry; `None` if all entries are in use. The caller
/// has searched the table for an entry to update before.
///
/// ```
/// use kinglet_mem::{Claim, slot_for_new};
///
/// // The time of the last use of each entry; the entry with 3 is in use.
/// let mut table = [Some(7), Some(3), Some(5)];
/// let claim = |entry: &Option<u32>| match *entry {
///     None => Claim::Free,
///     Some(3) => Claim::InUse,
///     Some(used) => Claim::Idle(used),
/// };
/// assert_eq!(slot_for_new(&table, claim), Some(2));
/// table[0] = None;
/// assert_eq!(slot_for_new(&table, claim), Some(0));
/// assert_eq!(slot_for_new(&table[1..2], claim), None);
/// ```
#[inline]
pub fn slot_for_new<T, K: PartialOrd>(
    table: &[T],
    claim: impl Fn(&T) -> Claim<K>,
) -> Option<usize> {
    let mut least: Option<(K, usize)> = None;
    for (index, entry) in table.iter().enumerate() {
        match claim(entry) {
            Claim::Free => return Some(index),
            Claim::Idle(key) => {
                if least.as_ref().is_none_or(|(least, _)| key < *least) {
                    least = Some((key, index));
                }
            }
            Claim::InUse => {}
        }
    }
    least.map(|(_, index)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_free_slot_precedes_any_eviction() {
        let table = [Claim::Idle(0), Claim::Free, Claim::Free];
        assert_eq!(slot_for_new(&table, |claim| *claim), Some(1));
    }

    #[test]
    fn the_idle_entry_with_the_least_key_goes_and_the_first_of_equals() {
        let table = [Claim::InUse, Claim::Idle(5), Claim::Idle(2), Claim::Idle(2), Claim::Idle(9)];
        assert_eq!(slot_for_new(&table, |claim| *claim), Some(2));
    }

    #[test]
    fn a_table_of_entries_in_use_refuses() {
        assert_eq!(slot_for_new(&[Claim::<u8>::InUse; 3], |claim| *claim), None);
        assert_eq!(slot_for_new(&[], |claim: &Claim<u8>| *claim), None);
    }
}
