//! Frame formats on the air.
//!
//! A data frame of IEEE 802.15.4 with short addresses (9 octets), followed by the kind (1), the
//! slot in which it is sent (4: the time stamp by which neighbours synchronise) and the content of
//! its kind, all of it least significant octet first. Node `i` of the path has the short address
//! `i`.
//!
//! | kind | from | content |
//! |---|---|---|
//! | 1 data | source | index (2), octets of the file |
//! | 2 end of a round | source | round (1), octets of the file (4) |
//! | 3 missing | sink | round (1), parts of it (1), window (1), a bit for each data frame |
//! | 4 tear-down | source | |

use kinglet_radio::MAX_FRAME;

/// PAN id of the path.
pub(crate) const PAN: u16 = 0xabcd;
/// Octets of the MAC header.
const MAC: usize = 9;
/// Octets of kind and slot.
const COMMON: usize = 5;
/// Octets of the file in a full data frame: 109.
pub const PAYLOAD: usize = MAX_FRAME - MAC - COMMON - 2;
/// Number of data frames that one response of the sink covers.
pub(crate) const WINDOW: usize = (MAX_FRAME - MAC - COMMON - 3) * 8;

/// Content of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content<'a> {
    Data { index: u16, payload: &'a [u8] },
    End { round: u8, octets: u32 },
    Missing { round: u8, parts: u8, window: u8, bits: &'a [u8] },
    TearDown,
}

impl<'a> Content<'a> {
    /// Writes it as it passes through queues: kind, and the octets after the slot.
    pub(crate) fn write(&self) -> Vec<u8> {
        match *self {
            Content::Data { index, payload } => {
                let [low, high] = index.to_le_bytes();
                [&[1, low, high], payload].concat()
            }
            Content::End { round, octets } => [&[2, round][..], &octets.to_le_bytes()].concat(),
            Content::Missing { round, parts, window, bits } => {
                [&[3, round, parts, window], bits].concat()
            }
            Content::TearDown => vec![4],
        }
    }

    /// Parses the octets of [`Content::write`]; `None` if they are invalid.
    pub(crate) fn parse(octets: &'a [u8]) -> Option<Content<'a>> {
        match *octets {
            [1, low, high, ref payload @ ..] => {
                Some(Content::Data { index: u16::from_le_bytes([low, high]), payload })
            }
            [2, round, a, b, c, d] => {
                Some(Content::End { round, octets: u32::from_le_bytes([a, b, c, d]) })
            }
            [3, round, parts, window, ref bits @ ..] => {
                Some(Content::Missing { round, parts, window, bits })
            }
            [4] => Some(Content::TearDown),
            _ => None,
        }
    }
}

/// Fields of a frame of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts<'a> {
    pub(crate) from: u16,
    pub(crate) to: u16,
    pub(crate) acknowledged: bool,
    pub(crate) sequence: u8,
    pub(crate) slot: u32,
    pub(crate) content: &'a [u8],
}

impl<'a> Parts<'a> {
    /// Octets of the frame with `content`, without FCS.
    pub(crate) const fn len(content: &[u8]) -> usize {
        MAC + COMMON - 1 + content.len()
    }

    /// Writes the frame, without FCS.
    pub(crate) fn write(&self) -> Vec<u8> {
        // Data, PAN compression, short addresses, and the acknowledgement request bit.
        let control = if self.acknowledged { 0x61 } else { 0x41 };
        let mut frame = vec![control, 0x88, self.sequence];
        for field in [PAN, self.to, self.from] {
            frame.extend(field.to_le_bytes());
        }
        let (kind, rest) = self.content.split_at(1);
        frame.extend(kind);
        frame.extend(self.slot.to_le_bytes());
        frame.extend(rest);
        frame
    }

    /// Parses the octets of [`Parts::write`], with the content copied to `content`; `None` if they
    /// are invalid.
    pub(crate) fn parse(frame: &[u8], content: &'a mut Vec<u8>) -> Option<Parts<'a>> {
        let (head, body) = frame.split_first_chunk::<MAC>()?;
        let [control, 0x88, sequence, pan @ .., to0, to1, from0, from1] = *head else {
            return None;
        };
        let (common, rest) = body.split_first_chunk::<COMMON>()?;
        let [kind, slot @ ..] = *common;
        if control & !0x20 != 0x41 || u16::from_le_bytes(pan) != PAN {
            return None;
        }
        content.clear();
        content.push(kind);
        content.extend(rest);
        Some(Parts {
            from: u16::from_le_bytes([from0, from1]),
            to: u16::from_le_bytes([to0, to1]),
            acknowledged: control & 0x20 != 0,
            sequence,
            slot: u32::from_le_bytes(slot),
            content,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_as_written() {
        let payload = [7; PAYLOAD];
        let bits = [0xff; WINDOW / 8];
        for content in [
            Content::Data { index: 0x1234, payload: &payload },
            Content::End { round: 9, octets: 70_000 },
            Content::Missing { round: 9, parts: 2, window: 1, bits: &bits },
            Content::TearDown,
        ] {
            let octets = content.write();
            let (from, to, acknowledged, sequence, slot) = (3, 4, true, 200, 0x0102_0304);
            let parts = Parts { from, to, acknowledged, sequence, slot, content: &octets };
            let frame = parts.write();
            assert!(frame.len() == Parts::len(&octets) && frame.len() <= MAX_FRAME);
            let mut again = Vec::new();
            assert_eq!(Parts::parse(&frame, &mut again), Some(parts));
            assert_eq!(Content::parse(&octets), Some(content));
        }
    }

    #[test]
    fn full_frames_are_full() {
        assert_eq!(PAYLOAD, 109);
        assert_eq!(Parts::len(&Content::Data { index: 0, payload: &[0; PAYLOAD] }.write()), 125);
    }

    #[test]
    fn other_frames_are_left_alone() {
        let mut content = Vec::new();
        for len in 0..14 {
            assert_eq!(Parts::parse(&[0x41; 14][..len], &mut content), None);
        }
        assert_eq!(
            Parts::parse(&[0x41, 0x88, 0, 1, 1, 0, 0, 0, 0, 4, 0, 0, 0, 0], &mut content),
            None
        );
        for octets in [&[][..], &[0], &[2, 0, 0], &[3, 1, 1], &[4, 0], &[5]] {
            assert_eq!(Content::parse(octets), None);
        }
    }
}
