//! Capture files with timestamps in microseconds. [`Pcap`]: classic pcap with link type 283
//! (LINKTYPE_IEEE802_15_4_TAP), every frame on the air with its FCS. [`Captures`]: pcapng, a file
//! per node with the frames that its radio sent and received, and one for the host's wire.

use kinglet_radio::Channel;
use std::io::{self, Write};

/// LINKTYPE_IEEE802_15_4_TAP.
const LINK_TYPE: u32 = 283;

/// Writes a capture. The first failed write ends the capture, but not the run.
pub struct Pcap {
    out: Box<dyn Write + Send>,
}

impl Pcap {
    /// Writes the file header.
    ///
    /// # Errors
    /// The writer's error.
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
        let data = tap(channel, Some(power_dbm), psdu);
        let mut record = Vec::with_capacity(16 + data.len());
        let len = data.len() as u32;
        record.extend(((now_us / 1_000_000) as u32).to_le_bytes());
        record.extend(((now_us % 1_000_000) as u32).to_le_bytes());
        record.extend(len.to_le_bytes());
        record.extend(len.to_le_bytes());
        record.extend(data);
        self.out.write_all(&record)
    }

    /// Flushes everything written so far to the operating system.
    ///
    /// # Errors
    /// The writer's error.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A frame with its TAP header: FCS type, strength in dBm if known, and channel.
fn tap(channel: Channel, strength_dbm: Option<i8>, psdu: &[u8]) -> Vec<u8> {
    let mut data = vec![0, 0, 0, 0]; // TAP version 0, and the header's length, below
    tlv(&mut data, 0, 1, [1, 0, 0, 0]); // FCS type: 16-bit CRC
    if let Some(dbm) = strength_dbm {
        tlv(&mut data, 1, 4, f32::from(dbm).to_le_bytes());
    }
    tlv(&mut data, 3, 3, [channel.number(), 0, 0, 0]); // channel, page 0
    let len = data.len() as u16;
    data[2..4].copy_from_slice(&len.to_le_bytes());
    data.extend(psdu);
    data
}

/// One TLV whose value is padded to four octets.
fn tlv(record: &mut Vec<u8>, kind: u16, len: u16, value: [u8; 4]) {
    record.extend(kind.to_le_bytes());
    record.extend(len.to_le_bytes());
    record.extend(value);
}

/// LINKTYPE_IPV6.
const LINK_TYPE_IPV6: u32 = 229;

/// Direction of a frame or packet, as in `epb_flags` (pcapng, 4.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    In = 1,
    Out = 2,
}

/// A pcapng file with one interface. The first failed write ends the file, but not the run.
pub struct PcapNg {
    out: Option<Box<dyn Write + Send>>,
}

impl PcapNg {
    /// Creates the capture of a node's radio.
    ///
    /// # Errors
    /// The writer's error.
    pub fn of_radio(out: Box<dyn Write + Send>, name: &str) -> io::Result<PcapNg> {
        PcapNg::new(out, name, LINK_TYPE)
    }

    /// Creates the capture of a wire with IPv6 packets.
    ///
    /// # Errors
    /// The writer's error.
    pub fn of_wire(out: Box<dyn Write + Send>, name: &str) -> io::Result<PcapNg> {
        PcapNg::new(out, name, LINK_TYPE_IPV6)
    }

    fn new(mut out: Box<dyn Write + Send>, name: &str, link_type: u32) -> io::Result<PcapNg> {
        let mut section = Vec::new();
        section.extend(0x1A2B_3C4D_u32.to_le_bytes()); // the writer's octet order
        section.extend([1, 0, 0, 0]); // version 1.0
        section.extend(u64::MAX.to_le_bytes()); // the length is unspecified
        let mut interface = link_type.to_le_bytes().to_vec();
        interface.extend([0; 4]); // no limit
        option(&mut interface, 2, name.as_bytes());
        interface.extend([0; 4]);
        out.write_all(&block(0x0A0D_0D0A, &section))?;
        out.write_all(&block(1, &interface))?;
        Ok(PcapNg { out: Some(out) })
    }

    fn put(&mut self, now_us: u64, direction: Direction, comment: &str, data: &[u8]) {
        let mut packet = vec![0; 4]; // interface 0
        packet.extend(((now_us >> 32) as u32).to_le_bytes());
        packet.extend((now_us as u32).to_le_bytes());
        packet.extend((data.len() as u32).to_le_bytes());
        packet.extend((data.len() as u32).to_le_bytes());
        packet.extend(data);
        pad(&mut packet);
        if !comment.is_empty() {
            option(&mut packet, 1, comment.as_bytes());
        }
        option(&mut packet, 2, &(direction as u32).to_le_bytes());
        packet.extend([0; 4]);
        if let Some(out) = &mut self.out
            && out.write_all(&block(6, &packet)).is_err()
        {
            self.out = None;
        }
    }
}

/// One file per node, and one for the host's wire.
pub struct Captures {
    /// Captures of the radios, in order of the nodes.
    pub nodes: Vec<PcapNg>,
    /// Capture of the wire at the host's end, if there is one.
    pub host: Option<PcapNg>,
}

impl Captures {
    /// Writes a frame that `node` has begun to send or has received.
    pub(crate) fn frame(
        &mut self,
        (now_us, node): (u64, usize),
        direction: Direction,
        comment: &str,
        (channel, strength_dbm, psdu): (Channel, Option<i8>, &[u8]),
    ) {
        if let Some(file) = self.nodes.get_mut(node) {
            file.put(now_us, direction, comment, &tap(channel, strength_dbm, psdu));
        }
    }

    /// Writes a packet that the host has sent or received.
    pub(crate) fn packet(&mut self, now_us: u64, out: bool, comment: &str, octets: &[u8]) {
        if let Some(file) = &mut self.host {
            let direction = if out { Direction::Out } else { Direction::In };
            file.put(now_us, direction, comment, octets);
        }
    }
}

/// A block with its length before and after it.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let len = (12 + body.len() as u32).to_le_bytes();
    [&kind.to_le_bytes(), &len[..], body, &len].concat()
}

/// Pads to a multiple of four octets.
fn pad(octets: &mut Vec<u8>) {
    octets.resize(octets.len().next_multiple_of(4), 0);
}

fn option(octets: &mut Vec<u8>, code: u16, value: &[u8]) {
    octets.extend(code.to_le_bytes());
    octets.extend((value.len() as u16).to_le_bytes());
    octets.extend(value);
    pad(octets);
}
