//! Frames of the other end, and the filter of a radio, from the standard alone.

use kinglet_radio::{Filter, MAX_FRAME};
use kinglet_random::Random;

/// Octets of an acknowledgement without FCS.
pub(crate) const ACK_LEN: usize = 3;
const BROADCAST: u16 = 0xffff;
/// Identifier of the data request among MAC commands (IEEE 802.15.4-2015, Table 7-49).
const DATA_REQUEST: u8 = 4;

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Data,
    DataRequest,
    /// Another MAC command.
    Command,
}

/// Destination of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    Short(u16),
    Extended([u8; 8]),
}

/// Fields of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) ack: bool,
    pub(crate) sequence: u8,
    pub(crate) pan: u16,
    pub(crate) to: To,
    pub(crate) from: u16,
    /// The source has no PAN identifier of its own (PAN ID Compression).
    pub(crate) is_compressed: bool,
    /// Link security, and its key identifier mode.
    pub(crate) key_mode: Option<u8>,
}

/// Octets of a frame.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    octets: [u8; MAX_FRAME],
    len: usize,
    is_data_request: bool,
}

/// Octets of the key identifier, by its mode (IEEE 802.15.4-2015, 9.4.3).
const KEY_IDENTIFIER: [usize; 4] = [0, 1, 5, 9];
/// Octets of the MIC of security level 5, and that level.
const MIC: usize = 4;
const LEVEL: u8 = 5;

impl Frame {
    /// Writes a frame of about `len` octets; those after the header are random.
    pub(crate) fn new(header: &Header, len: usize, random: &mut Random) -> Frame {
        let mut frame = Frame::from(&[]);
        let kind = match header.kind {
            Kind::Data => 1,
            Kind::DataRequest | Kind::Command => 3,
        };
        // Frame version 2006.
        let flags = u8::from(header.ack) << 5 | u8::from(header.is_compressed) << 6;
        frame.push(kind | u8::from(header.key_mode.is_some()) << 3 | flags);
        let mode = match header.to {
            To::Short(_) => 2,
            To::Extended(_) => 3,
        };
        frame.push(mode << 2 | 1 << 4 | 2 << 6);
        frame.push(header.sequence);
        frame.extend(&header.pan.to_le_bytes());
        match header.to {
            To::Short(address) => frame.extend(&address.to_le_bytes()),
            To::Extended(address) => address.iter().rev().for_each(|octet| frame.push(*octet)),
        }
        if !header.is_compressed {
            frame.extend(&header.pan.to_le_bytes());
        }
        frame.extend(&header.from.to_le_bytes());
        if let Some(mode) = header.key_mode {
            // Security control, frame counter, key identifier (9.4).
            frame.push(LEVEL | mode << 3);
            let identifier = KEY_IDENTIFIER.get(usize::from(mode)).copied().unwrap_or_default();
            frame.fill(identifier.saturating_add(4), random);
        }
        let rest = match header.kind {
            Kind::Data => len.saturating_sub(frame.len),
            Kind::DataRequest | Kind::Command => {
                frame.is_data_request = header.kind == Kind::DataRequest;
                // An orphan notification has no payload either.
                let other = if frame.is_data_request { 0 } else { 2 };
                frame.push(DATA_REQUEST.saturating_add(other));
                if header.key_mode.is_some() { MIC } else { 0 }
            }
        };
        frame.fill(rest, random);
        frame
    }

    /// Appends random octets.
    fn fill(&mut self, count: usize, random: &mut Random) {
        for _ in 0..count.min(MAX_FRAME) {
            self.push(random.bits(8) as u8);
        }
    }

    pub(crate) fn from(octets: &[u8]) -> Frame {
        let mut frame = Frame { octets: [0; MAX_FRAME], len: 0, is_data_request: false };
        frame.extend(octets);
        frame
    }

    pub(crate) fn octets(&self) -> &[u8] {
        self.octets.get(..self.len).unwrap_or_default()
    }

    /// Returns the octets of the PSDU.
    pub(crate) fn psdu_len(&self) -> usize {
        self.len.saturating_add(kinglet_radio::FCS_LEN)
    }

    pub(crate) fn sequence(&self) -> u8 {
        self.octets().get(2).copied().unwrap_or_default()
    }

    fn control(&self) -> u16 {
        match self.octets() {
            [low, high, ..] => u16::from_le_bytes([*low, *high]),
            _ => 0,
        }
    }

    pub(crate) fn is_ack(&self) -> bool {
        self.len == ACK_LEN && self.control() & 7 == 2
    }

    pub(crate) fn pending(&self) -> bool {
        self.control() & 0x10 != 0
    }

    pub(crate) fn requests_ack(&self) -> bool {
        self.control() & 0x20 != 0 && !self.is_broadcast()
    }

    /// Returns whether it was made as a data request, and is one for a chip that reads secured
    /// frames or does not.
    pub(crate) fn is_data_request(&self, reads_secured: bool) -> bool {
        let is_secured = self.control() & 8 != 0;
        self.is_data_request && (reads_secured || !is_secured)
    }

    fn destination(&self) -> Option<(u16, To)> {
        let pan = self.octets().get(3..5)?.first_chunk().map(|pan| u16::from_le_bytes(*pan))?;
        let address = self.octets().get(5..)?;
        match self.control() >> 10 & 3 {
            2 => {
                let short = u16::from_le_bytes(*address.first_chunk()?);
                Some((pan, To::Short(short)))
            }
            3 => {
                let extended = u64::from_le_bytes(*address.first_chunk()?).to_be_bytes();
                Some((pan, To::Extended(extended)))
            }
            _ => None,
        }
    }

    fn is_broadcast(&self) -> bool {
        matches!(self.destination(), Some((_, To::Short(BROADCAST))))
    }

    /// Returns whether a radio with this filter accepts the frame (IEEE 802.15.4-2015, 6.7.2).
    pub(crate) fn passes(&self, filter: &Filter) -> bool {
        let Some((pan, to)) = self.destination() else { return false };
        let own = match to {
            To::Short(short) => short == BROADCAST || short == filter.short && short != 0xfffe,
            To::Extended(extended) => extended == filter.extended,
        };
        own && (pan == BROADCAST || pan == filter.pan_id)
    }

    fn push(&mut self, octet: u8) {
        if let Some(to) = self.octets.get_mut(self.len) {
            *to = octet;
            self.len = self.len.saturating_add(1);
        }
    }

    fn extend(&mut self, octets: &[u8]) {
        octets.iter().for_each(|octet| self.push(*octet));
    }
}
