//! RPL Packet Information in a Hop-by-Hop option (RFC 6553, 3; RFC 9008, 4.2).

use crate::{Error, Field};

/// RPL Packet Information (RFC 6550, 11.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketInformation {
    /// The O flag: a downward packet.
    pub down: bool,
    /// The R flag: a rank error was seen once.
    pub rank_error: bool,
    /// The F flag: this packet could not be forwarded further down.
    pub forwarding_error: bool,
    /// RPLInstanceID.
    pub instance: u8,
    /// SenderRank: DAGRank of the last router, zero from a source that is no router.
    pub sender_rank: u16,
}

impl PacketInformation {
    /// Option Type: a node that does not know it discards the packet (RFC 6553).
    pub const DISCARDED_IF_UNKNOWN: u8 = 0x63;
    /// Option Type: a node that does not know it skips it (RFC 9008, 4.2).
    pub const SKIPPED_IF_UNKNOWN: u8 = 0x23;
    /// Octets of the option's data without sub-TLVs.
    pub const LEN: usize = 4;

    /// Returns whether this is one of the two types of the option.
    pub const fn is_type(kind: u8) -> bool {
        matches!(kind, Self::DISCARDED_IF_UNKNOWN | Self::SKIPPED_IF_UNKNOWN)
    }

    /// Reads the data of the option; sub-TLVs behind it are skipped (RFC 6553, 3).
    ///
    /// # Errors
    /// [`Error::Truncated`] with fewer than four octets.
    pub fn read(data: &[u8]) -> Result<Self, Error> {
        let short = Error::Truncated(Field::RplPacketInformation);
        let &[flags, instance, high, low] = data.first_chunk().ok_or(short)?;
        Ok(PacketInformation {
            down: flags & 0x80 != 0,
            rank_error: flags & 0x40 != 0,
            forwarding_error: flags & 0x20 != 0,
            instance,
            sender_rank: u16::from_be_bytes([high, low]),
        })
    }

    /// Writes the data of the option.
    ///
    /// # Errors
    /// [`Error::NoRoom`] with fewer than four octets.
    pub fn emit(&self, out: &mut [u8]) -> Result<(), Error> {
        let none = Error::NoRoom(Field::RplPacketInformation);
        let out = out.first_chunk_mut().ok_or(none)?;
        let flags = u8::from(self.down) << 7
            | u8::from(self.rank_error) << 6
            | u8::from(self.forwarding_error) << 5;
        let [high, low] = self.sender_rank.to_be_bytes();
        *out = [flags, self.instance, high, low];
        Ok(())
    }

    /// Returns a Hop-by-Hop Options header with this option alone; `kind` is one of the two types.
    pub fn hop_by_hop(&self, next_header: u8, kind: u8) -> [u8; 8] {
        let mut header = [next_header, 0, kind, 4, 0, 0, 0, 0];
        let (_, data) = header.split_at_mut(4);
        // There are four octets.
        let _ = self.emit(data);
        header
    }
}
