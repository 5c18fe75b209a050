//! A cursor over a frame: takes fields off the front and knows how far it is.

use super::{Address, PanId};
use crate::{Error, Field};

#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    frame: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(frame: &'a [u8]) -> Self {
        Reader { frame, rest: frame }
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn position(&self) -> usize {
        self.frame.len().saturating_sub(self.rest.len())
    }

    pub(super) fn slice(&mut self, len: usize, field: Field) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(Error::Truncated(field))?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self, field: Field) -> Result<[u8; N], Error> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Error::Truncated(field))?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(super) fn u8(&mut self, field: Field) -> Result<u8, Error> {
        self.array(field).map(|[octet]| octet)
    }

    pub(super) fn u16(&mut self, field: Field) -> Result<u16, Error> {
        self.array(field).map(u16::from_le_bytes)
    }

    pub(super) fn pan_id(&mut self, field: Field) -> Result<PanId, Error> {
        self.u16(field).map(PanId)
    }

    /// The address whose addressing mode is `mode` (two bits).
    pub(super) fn address(&mut self, mode: u16, field: Field) -> Result<Address, Error> {
        match mode {
            0 => Ok(Address::None),
            2 => self.u16(field).map(Address::Short),
            3 => {
                let mut octets: [u8; 8] = self.array(field)?;
                octets.reverse();
                Ok(Address::Extended(octets))
            }
            _ => Err(Error::Invalid(Field::AddressingMode)),
        }
    }
}
