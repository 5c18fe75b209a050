//! Reading and writing compressed headers octet by octet.

use crate::{Error, Field};

pub(super) struct Writer<'a> {
    pub(super) out: &'a mut [u8],
    pub(super) at: usize,
}

impl Writer<'_> {
    pub(super) fn put(&mut self, octets: &[u8]) -> Result<(), Error> {
        let room = self.out.get_mut(self.at..).unwrap_or_default();
        let room = room.get_mut(..octets.len()).ok_or(Error::NoRoom(Field::Iphc))?;
        for (to, from) in room.iter_mut().zip(octets) {
            *to = *from;
        }
        self.at = self.at.saturating_add(octets.len());
        Ok(())
    }
}

pub(super) struct Reader<'a> {
    pub(super) rest: &'a [u8],
}

impl Reader<'_> {
    /// The next `N` octets.
    pub(super) fn octets<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (head, rest) =
            self.rest.split_first_chunk().ok_or(Error::Truncated(Field::IphcField))?;
        self.rest = rest;
        Ok(*head)
    }

    pub(super) fn octet(&mut self) -> Result<u8, Error> {
        let [octet] = self.octets()?;
        Ok(octet)
    }

    pub(super) fn word(&mut self) -> Result<u16, Error> {
        Ok(u16::from_be_bytes(self.octets()?))
    }
}
