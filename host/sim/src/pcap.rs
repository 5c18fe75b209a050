//! Capture files: classic pcap with microsecond timestamps and link type 283
//! (LINKTYPE_IEEE802_15_4_TAP), every frame on the air with its FCS.

use kinglet_radio::Channel;
use std::io::{self, Write};

/// LINKTYPE_IEEE802_15_4_TAP.
const LINK_TYPE: u32 = 283;
/// TAP header (4 octets) and the TLVs FCS type, signal strength and channel (8 octets each).
const TAP_LEN: u16 = 4 + 3 * 8;

/// Writes a capture. The first failed write ends the capture, not the run.
pub struct Pcap {
    out: Box<dyn Write + Send>,
}

impl Pcap {
    /// Writes the file header.
    ///
    /// # Errors
    /// What the writer reports.
    pub fn new(mut out: Box<dyn Write + Send>) -> io::Result<Pcap> {
        let mut header = Vec::with_capacity(24);
        header.extend(0xA1B2_C3D4_u32.to_le_bytes()); // microseconds, in the writer's octet order
        header.extend(2u16.to_le_bytes());
        header.extend(4u16.to_le_bytes());
        header.extend([0; 8]);
        header.extend(256u32.to_le_bytes());
        header.extend(LINK_TYPE.to_le_bytes());
        out.write_all(&header)?;
        Ok(Pcap { out })
    }

    /// Writes one frame that started at `now_us`; `psdu` includes its FCS.
    pub(crate) fn frame(
        &mut self,
        now_us: u64,
        channel: Channel,
        power_dbm: i8,
        psdu: &[u8],
    ) -> io::Result<()> {
        let mut record = Vec::with_capacity(16 + usize::from(TAP_LEN) + psdu.len());
        let len = u32::from(TAP_LEN) + psdu.len() as u32;
        record.extend(((now_us / 1_000_000) as u32).to_le_bytes());
        record.extend(((now_us % 1_000_000) as u32).to_le_bytes());
        record.extend(len.to_le_bytes());
        record.extend(len.to_le_bytes());
        record.extend([0, 0]); // TAP version 0
        record.extend(TAP_LEN.to_le_bytes());
        tlv(&mut record, 0, 1, [1, 0, 0, 0]); // FCS type: 16-bit CRC
        tlv(&mut record, 1, 4, f32::from(power_dbm).to_le_bytes()); // strength, at the sender
        tlv(&mut record, 3, 3, [channel.number(), 0, 0, 0]); // channel, page 0
        record.extend(psdu);
        self.out.write_all(&record)
    }

    /// Hands everything written so far to the operating system.
    ///
    /// # Errors
    /// What the writer reports.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// One TLV whose value is padded to four octets.
fn tlv(record: &mut Vec<u8>, kind: u16, len: u16, value: [u8; 4]) {
    record.extend(kind.to_le_bytes());
    record.extend(len.to_le_bytes());
    record.extend(value);
}
