//! Route Request (RFC 3561, 5.1).

use super::{RREQ, emit, extension_len, is_destination, is_device, path_dr, valid};
use crate::{Error, Field};

/// Octets before the extensions.
const FIXED: usize = 20;
/// The flags: only the destination may reply; its sequence number is unknown.
const D: u8 = 0x10;
const U: u8 = 0x08;

/// A Route Request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rreq {
    /// The D flag: only the destination may reply.
    pub destination_only: bool,
    /// Number of hops that it may still travel, the current one included.
    pub ttl: u8,
    /// Hops from its originator to the node that handles it.
    pub hop_count: u8,
    /// RREQ ID: identifies the flood, together with the originator.
    pub id: u32,
    /// The destination that is searched for.
    pub destination: u16,
    /// The newest known sequence number of the destination; `None` if there is none (the U flag).
    pub destination_sequence: Option<u32>,
    /// The originator of the request.
    pub originator: u16,
    /// The sequence number of the originator.
    pub originator_sequence: u32,
    /// The delivery ratio of the path so far in units of 1/65535, if the network uses that metric.
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
