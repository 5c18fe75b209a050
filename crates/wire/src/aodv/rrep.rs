//! Route Reply (RFC 3561, 5.2).

use super::{RREP, emit, extension_len, is_destination, is_device, path_dr, valid};
use crate::{Error, Field};

/// Octets before the extensions.
const FIXED: usize = 16;
/// The bits of Prefix Size.
const PREFIX_SIZE: u8 = 0x1F;

/// A Route Reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rrep {
    /// Hops from the destination to the node that handles it.
    pub hop_count: u8,
    /// The destination of the route.
    pub destination: u16,
    /// The sequence number of the destination.
    pub destination_sequence: u32,
    /// The originator of the request.
    pub originator: u16,
    /// Lifetime of the route in milliseconds.
    pub lifetime_ms: u32,
    /// The delivery ratio of the path so far in units of 1/65535, if the network uses that metric.
    pub path_dr: Option<u16>,
}

impl Rrep {
    pub(super) fn parse(octets: &[u8]) -> Result<Self, Error> {
        let (fixed, extensions) =
            octets.split_first_chunk::<FIXED>().ok_or(Error::Truncated(Field::AodvMessage))?;
        let &[_, _, prefix, hop_count, a, b, c, d, e, f, g, h, i, j, k, l] = fixed;
        let this = Rrep {
            hop_count,
            destination: u16::from_be_bytes([a, b]),
            destination_sequence: u32::from_be_bytes([c, d, e, f]),
            originator: u16::from_be_bytes([g, h]),
            lifetime_ms: u32::from_be_bytes([i, j, k, l]),
            path_dr: path_dr(extensions)?,
        };
        if prefix & PREFIX_SIZE != 0 {
            return Err(Error::Unsupported(Field::AodvPrefixSize));
        }
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
    /// [`Error::NoRoom`] if `out` has fewer than [`Rrep::buffer_len`] octets.
    pub fn emit(&self, out: &mut [u8]) -> Result<(), Error> {
        let [a, b] = self.destination.to_be_bytes();
        let [c, d, e, f] = self.destination_sequence.to_be_bytes();
        let [g, h] = self.originator.to_be_bytes();
        let [i, j, k, l] = self.lifetime_ms.to_be_bytes();
        let fields: [u8; FIXED] = [RREP, 0, 0, self.hop_count, a, b, c, d, e, f, g, h, i, j, k, l];
        emit(&fields, self.path_dr, out)
    }
}
