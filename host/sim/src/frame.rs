//! The part of a MAC header that radio hardware reads: frame type, acknowledgement request,
//! sequence number and destination (IEEE 802.15.4-2015, 7.2), and the frame check sequence
//! (7.2.10).

use kinglet::wire::ieee802154::Frame;
use kinglet_radio::{FCS_LEN, Filter, MAX_PSDU, OCTET};

/// Time from the first symbol of the preamble to the end of the SFD: four octets and one.
pub(crate) const SHR_US: u64 = 5 * OCTET.as_micros();

/// Frame type 2: acknowledgement.
const TYPE_ACK: u8 = 2;
/// Frame type 3: MAC command.
const TYPE_COMMAND: u8 = 3;
/// Frame pending bit in the first octet of the frame control field.
const FRAME_PENDING: u8 = 1 << 4;
/// Information elements present bit in its second octet.
const IE_PRESENT: u8 = 1 << 1;
/// Command identifier of a data request (7.5.5).
const DATA_REQUEST: u8 = 4;

/// A frame on the air: a PSDU with its FCS.
#[derive(Clone)]
pub(crate) struct Psdu {
    octets: [u8; MAX_PSDU],
    len: u8,
    pub(crate) header: Header,
}

/// Destination in a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    Absent,
    Short {
        pan: u16,
        address: u16,
    },
    /// Octets of the address in transmission order, least significant first.
    Extended {
        pan: u16,
        address: [u8; 8],
    },
}

/// Fields that the hardware reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: u8,
    pub(crate) ack_request: bool,
    pub(crate) frame_pending: bool,
    pub(crate) sequence: Option<u8>,
    pub(crate) destination: Destination,
    /// Short source address of a data request, if it is readable.
    pub(crate) data_request_of: Option<u16>,
    /// True if the frame announces the sender's samples (CSL IE).
    pub(crate) announces_csl: bool,
}

impl Psdu {
    pub(crate) const EMPTY: Psdu = Psdu {
        octets: [0; MAX_PSDU],
        len: 0,
        header: Header {
            kind: 7,
            ack_request: false,
            frame_pending: false,
            sequence: None,
            destination: Destination::Absent,
            data_request_of: None,
            announces_csl: false,
        },
    };

    /// Loads `frame` (1 to [`kinglet_radio::MAX_FRAME`] octets). [`Psdu::with_fcs`] adds the FCS on
    /// demand.
    pub(crate) fn load(&mut self, frame: &[u8]) {
        self.octets[..frame.len()].copy_from_slice(frame);
        self.len = (frame.len() + FCS_LEN) as u8;
        self.header = Header::parse(frame);
    }

    /// Loads the immediate acknowledgement of sequence number `sequence` (7.3.3).
    pub(crate) fn load_ack(&mut self, sequence: u8, frame_pending: bool) {
        let pending = if frame_pending { FRAME_PENDING } else { 0 };
        self.load(&[TYPE_ACK | pending, 0, sequence]);
    }

    /// Frame without FCS, for decryption.
    pub(crate) fn frame_mut(&mut self) -> &mut [u8] {
        &mut self.octets[..usize::from(self.len).saturating_sub(FCS_LEN)]
    }

    /// Octets of the PSDU, FCS included.
    pub(crate) fn psdu_len(&self) -> usize {
        usize::from(self.len)
    }

    /// Frame without FCS.
    pub(crate) fn frame(&self) -> &[u8] {
        &self.octets[..usize::from(self.len).saturating_sub(FCS_LEN)]
    }

    /// Complete PSDU with a correct FCS.
    pub(crate) fn with_fcs(&self) -> ([u8; MAX_PSDU], usize) {
        let mut octets = self.octets;
        let end = self.frame().len();
        octets[end..end + FCS_LEN].copy_from_slice(&fcs(self.frame()).to_le_bytes());
        (octets, end + FCS_LEN)
    }
}

impl Header {
    /// Parses `frame`; a field beyond its end counts as absent.
    pub(crate) fn parse(frame: &[u8]) -> Header {
        let mut header = Psdu::EMPTY.header;
        let &[low, high, ref rest @ ..] = frame else { return header };
        header.kind = low & 7;
        header.frame_pending = low & FRAME_PENDING != 0;
        header.ack_request = low & 0x20 != 0;
        let compressed = low & 0x40 != 0;
        let (destination, source) = ((high >> 2) & 3, (high >> 6) & 3);
        let version_2015 = (high >> 4) & 3 == 2;
        let mut at = rest;
        if !(version_2015 && high & 1 != 0) {
            let Some((&sequence, tail)) = at.split_first() else { return header };
            header.sequence = Some(sequence);
            at = tail;
        }
        // Table 7-2: cases in which a frame of version 2 omits the destination PAN.
        let no_pan =
            version_2015 && compressed && (source == 0 || (source == 3 && destination == 3));
        let mut pan = 0xFFFF;
        if destination != 0 && !no_pan {
            let Some((field, tail)) = at.split_first_chunk::<2>() else { return header };
            pan = u16::from_le_bytes(*field);
            at = tail;
        }
        let after = match destination {
            2 => at.split_first_chunk::<2>().map(|(a, rest)| {
                (Destination::Short { pan, address: u16::from_le_bytes(*a) }, rest)
            }),
            3 => at
                .split_first_chunk::<8>()
                .map(|(a, rest)| (Destination::Extended { pan, address: *a }, rest)),
            _ => None,
        };
        let Some((destination, rest)) = after else { return header };
        header.destination = destination;
        header.announces_csl = version_2015 && high & IE_PRESENT != 0 && {
            Frame::parse(frame).is_ok_and(|frame| frame.csl().is_some())
        };
        if header.kind == TYPE_COMMAND && !version_2015 {
            header.data_request_of = Header::data_request_of(low, high, rest);
        }
        header
    }

    /// Short source address of a data request, whose octets after the destination are `rest`. In
    /// frame versions 0 and 1 the command identifier is authenticated but never encrypted.
    fn data_request_of(low: u8, high: u8, rest: &[u8]) -> Option<u16> {
        let source_pan = if low & 0x40 != 0 { 0 } else { 2 };
        let (source, rest) = rest.get(source_pan..)?.split_first_chunk::<2>()?;
        let security = match rest.first() {
            Some(control) if low & 8 != 0 => 5 + [0, 1, 5, 9][usize::from(control >> 3 & 3)],
            _ => 0,
        };
        let is_request = (high >> 6) & 3 == 2 && rest.get(security) == Some(&DATA_REQUEST);
        is_request.then_some(u16::from_le_bytes(*source))
    }

    pub(crate) fn is_ack(&self) -> bool {
        self.kind == TYPE_ACK
    }

    /// Returns whether a radio with address filter `filter` accepts this frame (6.7.2), and whether
    /// the frame is a unicast to this node.
    pub(crate) fn accepted_by(&self, filter: &Filter) -> (bool, bool) {
        let for_pan = |pan: u16| pan == 0xFFFF || pan == filter.pan_id;
        match self.destination {
            _ if self.is_ack() => (false, false),
            Destination::Absent => (self.kind == 0, false),
            Destination::Short { pan, address: 0xFFFF } => (for_pan(pan), false),
            Destination::Short { pan, address } => {
                let mine = for_pan(pan) && address == filter.short && address < 0xFFFE;
                (mine, mine)
            }
            Destination::Extended { pan, address } => {
                let mut own = filter.extended;
                own.reverse();
                let mine = for_pan(pan) && address == own;
                (mine, mine)
            }
        }
    }

    /// True if its destination has to acknowledge it: data (1) and MAC command frames.
    pub(crate) fn wants_ack(&self) -> bool {
        self.ack_request && (self.kind == 1 || self.kind == TYPE_COMMAND)
    }
}

/// The 16-bit ITU-T CRC of `octets`: x^16 + x^12 + x^5 + 1, least significant bit first, initial
/// value 0.
pub fn fcs(octets: &[u8]) -> u16 {
    octets.iter().fold(0, |crc, &octet| {
        let mut crc = crc ^ u16::from(octet);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x8408 } else { crc >> 1 };
        }
        crc
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILTER: Filter =
        Filter { pan_id: 0xABCD, short: 0x0005, extended: [1, 2, 3, 4, 5, 6, 7, 8] };

    #[test]
    fn fcs_has_the_check_value_of_its_crc() {
        // CRC-16/KERMIT in the catalogue of parametrised CRCs.
        assert_eq!(fcs(b"123456789"), 0x2189);
    }

    #[test]
    fn short_and_extended_destinations_are_matched() {
        let short = Header::parse(&[0x61, 0x88, 9, 0xCD, 0xAB, 0x05, 0x00, 1, 0]);
        assert_eq!(short.accepted_by(&FILTER), (true, true));
        assert!(short.wants_ack() && short.sequence == Some(9));
        let other = Header::parse(&[0x61, 0x88, 9, 0xCD, 0xAB, 0x06, 0x00, 1, 0]);
        assert_eq!(other.accepted_by(&FILTER), (false, false));
        let all = Header::parse(&[0x41, 0x88, 9, 0xCD, 0xAB, 0xFF, 0xFF, 1, 0]);
        assert_eq!(all.accepted_by(&FILTER), (true, false));
        let long = Header::parse(&[0x41, 0xCC, 9, 0xCD, 0xAB, 8, 7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(long.accepted_by(&FILTER), (true, true));
        let foreign = Header::parse(&[0x41, 0x88, 9, 0xCE, 0xAB, 0x05, 0x00, 1, 0]);
        assert_eq!(foreign.accepted_by(&FILTER), (false, false));
    }

    #[test]
    fn octets_that_end_early_are_not_accepted() {
        for len in 0..7 {
            let cut = &[0x61, 0x88, 9, 0xCD, 0xAB, 0x05, 0x00][..len.min(6)];
            assert_eq!(Header::parse(cut).accepted_by(&FILTER), (false, false));
        }
    }
}
