//! A cursor over a frame, which takes fields off the front.

use super::Address;
use crate::{Error, Field};

/// Behind the end of the frame all fields are zero. The end is checked once, after the whole
/// header, which takes a third of the code of a check at each field.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    frame: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(frame: &'a [u8]) -> Self {
        Reader { frame, at: 0 }
    }

    /// Returns the offset of the rest, if everything that was taken was there.
    pub(super) const fn finish(&self) -> Result<usize, Error> {
        if self.at <= self.frame.len() {
            Ok(self.at)
        } else {
            Err(Error::Truncated(Field::MacHeader))
        }
    }

    pub(super) const fn position(&self) -> usize {
        self.at
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.at >= self.frame.len()
    }

    /// Returns the octets from `from` to here; none if they are not all there.
    pub(super) fn since(&self, from: usize) -> &'a [u8] {
        self.frame.get(from..self.at).unwrap_or_default()
    }

    pub(super) fn slice(&mut self, len: usize) -> &'a [u8] {
        let from = self.at;
        self.at = from.saturating_add(len);
        self.since(from)
    }

    #[inline(never)]
    pub(super) fn u8(&mut self) -> u8 {
        let octet = self.frame.get(self.at).copied().unwrap_or(0);
        self.at = self.at.saturating_add(1);
        octet
    }

    pub(super) fn array<const N: usize>(&mut self) -> [u8; N] {
        core::array::from_fn(|_| self.u8())
    }

    pub(super) fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    /// Returns the address whose addressing mode is `mode` (two bits). The reserved mode counts as
    /// none.
    #[inline(never)]
    pub(super) fn address(&mut self, mode: u16) -> Address {
        match mode {
            2 => Address::Short(self.u16()),
            3 => {
                let mut octets = [0; 8];
                octets.iter_mut().rev().for_each(|octet| *octet = self.u8());
                Address::Extended(octets)
            }
            _ => Address::None,
        }
    }
}
