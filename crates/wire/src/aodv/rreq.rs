//! Route Request (RFC 3561, 5.1).

use super::{RREQ, emit, extension_len, is_destination, is_device, path_dr, valid};
use crate::{Error, Field};

/// Octets before the extensions.
const FIXED: usize = 20;
/// The flags: only the destination may answer; its sequence number is not known.
const D: u8 = 0x10;
const U: u8 = 0x08;

/// A Route Request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rreq {
    /// The D flag: only the destination may answer.
    pub destination_only: bool,
    /// How many hops it may go yet, the one that it is on included.
    pub ttl: u8,
    /// Hops from its originator to whoever handles it.
    pub hop_count: u8,
    /// RREQ ID: with the originator, what tells one flood from another.
    pub id: u32,
    /// Who is sought.
    pub destination: u16,
    /// The newest sequence number of the destination that is known; `None` if none is (the U flag).
    pub destination_sequence: Option<u32>,
    /// Who seeks.
    pub originator: u16,
    /// The sequence number of who seeks.
    pub originator_sequence: u32,
    /// The delivery ratio of the way so far in units of 1/65535, if the network uses that metric.
    pub path_dr: Option<u16>,
}

impl Rreq {
    pub(super) fn parse(octets: &[u8]) -> Result<Self, Error> {
        let (fixed, extensions) =
            octets.split_first_chunk::<FIXED>().ok_or(Error::Truncated(Field::AodvMessage))?;
        let &[_, flags, ttl, hop_count, a, b, c, d, ..] = fixed;
        let &[.., dst_high, dst_low, e, f, g, h, src_high, src_low, i, j, k, l] = fixed;
        let sequence = u32::from_be_bytes([e, f, g, h]);
        let this = Rreq {
            destination_only: flags & D != 0,
            ttl,
            hop_count,
            id: u32::from_be_bytes([a, b, c, d]),
            destination: u16::from_be_bytes([dst_high, dst_low]),
            destination_sequence: (flags & U == 0).then_some(sequence),
            originator: u16::from_be_bytes([src_high, src_low]),
            originator_sequence: u32::from_be_bytes([i, j, k, l]),
            path_dr: path_dr(extensions)?,
        };
        let devices = is_destination(this.destination) && is_device(this.originator);
        valid(devices, Field::AodvAddress)?;
        Ok(this)
    }

    /// Octets of the message.
    pub const fn buffer_len(&self) -> usize {
        FIXED.saturating_add(extension_len(self.path_dr))
    }

    /// Writes the message to the start of `out`.
    ///
    /// # Errors
    /// [`Error::NoRoom`] if `out` has fewer than [`Rreq::buffer_len`] octets.
    pub fn emit(&self, out: &mut [u8]) -> Result<(), Error> {
        let unknown = if self.destination_sequence.is_none() { U } else { 0 };
        let flags = unknown | if self.destination_only { D } else { 0 };
        let [a, b, c, d] = self.id.to_be_bytes();
        let [e, f] = self.destination.to_be_bytes();
        let [g, h, i, j] = self.destination_sequence.unwrap_or(0).to_be_bytes();
        let [k, l] = self.originator.to_be_bytes();
        let [m, n, o, p] = self.originator_sequence.to_be_bytes();
        let (ttl, hops) = (self.ttl, self.hop_count);
        let fields: [u8; FIXED] =
            [RREQ, flags, ttl, hops, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p];
        emit(&fields, self.path_dr, out)
    }
}
