//! Route Error (RFC 3561, 5.3).

use super::{RERR, is_destination, valid};
use crate::{Error, Field};

/// Octets before the first destination, and of each destination.
const FIXED: usize = 4;
const ENTRY: usize = 6;
/// The N flag: routes are being repaired, and stay.
const N: u8 = 0x80;

/// A destination that is no longer reachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreachable {
    /// Its address.
    pub destination: u16,
    /// Its sequence number: older routes are invalid.
    pub sequence: u32,
}

/// A Route Error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rerr<'a> {
    /// The N flag: the routes must not be deleted.
    pub no_delete: bool,
    entries: &'a [[u8; ENTRY]],
}

impl<'a> Rerr<'a> {
    pub(super) fn parse(octets: &'a [u8]) -> Result<Self, Error> {
        let (&[_, flags, _, count], rest) =
            octets.split_first_chunk::<FIXED>().ok_or(Error::Truncated(Field::AodvMessage))?;
        let (entries, behind) = rest.as_chunks();
        let whole = behind.is_empty() && count > 0 && entries.len() == usize::from(count);
        valid(whole, Field::AodvDestCount)?;
        let this = Rerr { no_delete: flags & N != 0, entries };
        valid(this.entries().all(|entry| is_destination(entry.destination)), Field::AodvAddress)?;
        Ok(this)
    }

    /// Returns the destinations, at least one.
    pub fn entries(&self) -> impl Iterator<Item = Unreachable> + use<'a> {
        self.entries.iter().map(|&[a, b, c, d, e, f]| Unreachable {
            destination: u16::from_be_bytes([a, b]),
            sequence: u32::from_be_bytes([c, d, e, f]),
        })
    }
}

/// Writes a Route Error, destination by destination.
pub struct RerrWriter<'a> {
    out: &'a mut [u8],
    len: usize,
}

impl<'a> RerrWriter<'a> {
    /// # Errors
    /// [`Error::NoRoom`] if there is no room for one destination.
    pub fn new(out: &'a mut [u8]) -> Result<Self, Error> {
        if out.len() < FIXED.saturating_add(ENTRY) {
            return Err(Error::NoRoom(Field::AodvMessage));
        }
        kinglet_octets::copy(out, &[RERR, 0, 0, 0]);
        Ok(RerrWriter { out, len: FIXED })
    }

    /// # Errors
    /// [`Error::NoRoom`] if there is none for another destination.
    pub fn entry(&mut self, entry: Unreachable) -> Result<(), Error> {
        let full = Error::NoRoom(Field::AodvMessage);
        let room = self.out.get_mut(self.len..).and_then(|rest| rest.get_mut(..ENTRY));
        let [a, b] = entry.destination.to_be_bytes();
        let [c, d, e, f] = entry.sequence.to_be_bytes();
        kinglet_octets::copy(room.ok_or(full)?, &[a, b, c, d, e, f]);
        let count = self.out.get_mut(3).ok_or(full)?;
        *count = count.checked_add(1).ok_or(full)?;
        self.len = self.len.saturating_add(ENTRY);
        Ok(())
    }

    /// Returns the number of octets written.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there is no destination: then it is no valid message.
    pub const fn is_empty(&self) -> bool {
        self.len == FIXED
    }
}
