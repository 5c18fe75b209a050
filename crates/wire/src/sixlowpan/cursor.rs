//! Reading and writing compressed headers octet by octet.
//!
//! Neither cursor stops at the end of the octets: the end is checked once, after everything was
//! read or written. A check of each field would be a third of the code of a compressed header.

use crate::{Error, Field};

/// Writes to the start of `out`. Octets that do not fit are left out.
pub(super) struct Writer<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    pub(super) const fn new(out: &'a mut [u8]) -> Self {
        Writer { out, at: 0 }
    }

    #[inline(never)]
    pub(super) fn octet(&mut self, octet: u8) {
        if let Some(place) = self.out.get_mut(self.at) {
            *place = octet;
        }
        self.at = self.at.wrapping_add(1);
    }

    pub(super) fn put(&mut self, octets: &[u8]) {
        for octet in octets {
            self.octet(*octet);
        }
    }

    /// Returns the remaining room, to be written to by others.
    pub(super) fn room(&mut self) -> &mut [u8] {
        self.out.get_mut(self.at..).unwrap_or_default()
    }

    /// Skips octets that were written there.
    pub(super) const fn advance(&mut self, written: usize) {
        self.at = self.at.wrapping_add(written);
    }

    /// Returns the number of octets written, if there was room for all of them.
    pub(super) const fn finish(&self) -> Result<usize, Error> {
        if self.at <= self.out.len() { Ok(self.at) } else { Err(Error::NoRoom(Field::Iphc)) }
    }
}

/// Reads from the start of `octets`, and zeros behind their end.
pub(super) struct Reader<'a> {
    octets: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(octets: &'a [u8]) -> Self {
        Reader { octets, at: 0 }
    }

    #[inline(never)]
    pub(super) fn octet(&mut self) -> u8 {
        let octet = self.octets.get(self.at).copied().unwrap_or(0);
        self.at = self.at.wrapping_add(1);
        octet
    }

    pub(super) fn word(&mut self) -> u16 {
        u16::from_be_bytes([self.octet(), self.octet()])
    }

    /// Fills `out` with the next octets.
    pub(super) fn fill(&mut self, out: &mut [u8]) {
        for octet in out {
            *octet = self.octet();
        }
    }

    /// Returns the number of octets read, if all of them were there.
    pub(super) const fn finish(&self) -> Result<usize, Error> {
        if self.at <= self.octets.len() {
            Ok(self.at)
        } else {
            Err(Error::Truncated(Field::IphcField))
        }
    }
}
