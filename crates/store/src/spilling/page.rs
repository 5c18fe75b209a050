//! Format of a frame in flash, and detection of damage.
//!
//! A frame has a slot of [`SLOT`] octets in a page, so that a page of 256 octets holds two:
//!
//! | octets | content |
//! |---|---|
//! | 2, 3 | arrival number of the frame, likewise |
//! | 4 | neighbour that the frame is for |
//! | 5 | length of the payload in octets |
//! | 5 | octets of the payload |
//! | 6, 7 | tag, least significant octet first |
//! | 8 … | payload |
//!
//! All but the payload is also in memory. So the header serves only to detect a frame other than
//! the written one: one from before the sector was erased, or from before the start.
//!
//! The check sum is the CRC of ITU-T V.41 with the polynomial x^16 + x^12 + x^5 + 1, with ones as
//! initial value. Sums modulo 255 would not do: they do not distinguish 0x00 from 0xFF, which an
//! incomplete program leaves.

use super::record::Record;
use crate::MAX_PAYLOAD;
use kinglet_mem::copy;

/// Octets before the payload.
pub(super) const HEADER: usize = 8;
/// Octets of the longest frame with its header.
pub(super) const LONGEST: usize = HEADER + MAX_PAYLOAD;
/// Octets from one frame to the next in a page.
pub(super) const SLOT: u16 = 128;

const _: () = assert!(LONGEST <= SLOT as usize);

/// Returns the number of octets that a frame takes in a slot.
pub(super) fn len(record: &Record) -> usize {
    HEADER.saturating_add(usize::from(record.len))
}

/// Writes the header before the payload.
pub(super) fn seal(octets: &mut [u8; LONGEST], record: &Record) {
    let header = header(record);
    let payload = octets.get(HEADER..len(record)).unwrap_or_default();
    let sum = check_sum(check_sum(u16::MAX, &header), payload);
    copy(octets, &sum.to_le_bytes());
    copy(octets.get_mut(2..).unwrap_or_default(), &header);
}

/// Returns the payload, if the octets are those of this frame and undamaged.
pub(super) fn open<'a>(octets: &'a [u8], record: &Record) -> Option<&'a [u8]> {
    let (sum, rest) = octets.get(..len(record))?.split_first_chunk()?;
    let (header_read, payload) = rest.split_first_chunk()?;
    let whole = check_sum(u16::MAX, rest) == u16::from_le_bytes(*sum);
    (whole && *header_read == header(record)).then_some(payload)
}

fn header(record: &Record) -> [u8; 6] {
    let (number, tag) = (record.number.to_le_bytes(), record.tag.to_le_bytes());
    [number[0], number[1], record.to, record.len, tag[0], tag[1]]
}

/// Updates the check sum, an octet at a time without a table: the four terms are those of the
/// polynomial.
fn check_sum(before: u16, octets: &[u8]) -> u16 {
    octets.iter().fold(before, |sum, &octet| {
        let mut sum = sum.swap_bytes() ^ u16::from(octet);
        sum ^= (sum & 0xff) >> 4;
        sum ^= sum << 12;
        sum ^ (sum & 0xff) << 5
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Label;

    const RECORD: Record = Record::new(Label { to: 3, tag: 0x1234 }, 5, 77);

    #[test]
    fn the_check_sum_is_that_of_the_catalogues() {
        assert_eq!(check_sum(u16::MAX, b"123456789"), 0x29b1);
    }

    #[test]
    fn a_sealed_page_opens() {
        let mut octets = [0; LONGEST];
        octets[HEADER..HEADER + 5].copy_from_slice(b"hello");
        seal(&mut octets, &RECORD);
        assert_eq!(open(&octets, &RECORD), Some(&b"hello"[..]));
        assert_eq!(open(&octets[..HEADER + 4], &RECORD), None, "too short");
    }

    #[test]
    fn other_frames_and_damaged_ones_do_not_open() {
        let mut octets = [0; LONGEST];
        seal(&mut octets, &RECORD);
        let others = [
            Record { to: 4, ..RECORD },
            Record { tag: 0x1235, ..RECORD },
            Record { number: 78, ..RECORD },
            Record { len: 4, ..RECORD },
            Record { len: 6, ..RECORD },
        ];
        assert!(others.iter().all(|other| open(&octets, other).is_none()));
        for bit in 0..8 * len(&RECORD) {
            octets[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(open(&octets, &RECORD), None, "bit {bit}");
            octets[bit / 8] ^= 1 << (bit % 8);
        }
        for torn in 0..len(&RECORD) {
            let mut part = octets;
            part[torn..].fill(0xff);
            assert_eq!(open(&part, &RECORD), None, "{torn} octets were programmed");
        }
        assert_eq!(open(&[0xff; LONGEST], &RECORD), None);
        assert_eq!(open(&[0; LONGEST], &RECORD), None);
    }
}
