//! Format of the datagrams.

use crate::udp::MAX_DATAGRAM;
use kinglet_mem::copy;

/// Octets before those of the file.
const DATA: usize = 5;
/// Octets before the bits.
const MISSING: usize = 4;
/// Largest number of octets of the file in a datagram.
pub const MAX_PIECE: usize = MAX_DATAGRAM - DATA;
/// Largest number of octets of bits in a datagram, and so of the table of a [`Sink`](super::Sink)
/// and a [`Source`](super::Source).
pub const MAX_TABLE: usize = MAX_DATAGRAM - MISSING;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message<'a> {
    Data { piece: u16, index: u16, octets: &'a [u8] },
    End { round: u8, piece: u16, octets: u32 },
    Missing { round: u8, first: u16, bits: &'a [u8] },
    Goodbye,
}

impl<'a> Message<'a> {
    /// Writes it to `out`, which has space for it. Returns its length.
    pub(super) fn write(&self, out: &mut [u8; MAX_DATAGRAM]) -> usize {
        match *self {
            Message::Data { piece, index, octets } => {
                let ([a, b], [c, d]) = (piece.to_be_bytes(), index.to_be_bytes());
                join(out, &[1, a, b, c, d], octets)
            }
            Message::End { round, piece, octets } => {
                let [a, b] = piece.to_be_bytes();
                join(out, &[2, round, a, b], &octets.to_be_bytes())
            }
            Message::Missing { round, first, bits } => {
                let [a, b] = first.to_be_bytes();
                join(out, &[3, round, a, b], bits)
            }
            Message::Goodbye => join(out, &[4], &[]),
        }
    }

    /// Parses a datagram; `None` if it is unknown.
    pub(super) fn parse(datagram: &'a [u8]) -> Option<Self> {
        Some(match *datagram {
            [1, a, b, c, d, ref octets @ ..] => {
                let (piece, index) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
                Message::Data { piece, index, octets }
            }
            [2, round, a, b, c, d, e, f] => {
                let piece = u16::from_be_bytes([a, b]);
                Message::End { round, piece, octets: u32::from_be_bytes([c, d, e, f]) }
            }
            [3, round, a, b, ref bits @ ..] => {
                Message::Missing { round, first: u16::from_be_bytes([a, b]), bits }
            }
            [4] => Message::Goodbye,
            _ => return None,
        })
    }
}

fn join(out: &mut [u8; MAX_DATAGRAM], head: &[u8], tail: &[u8]) -> usize {
    let at = copy(out, head);
    at.saturating_add(copy(out.get_mut(at..).unwrap_or_default(), tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_written() {
        let (piece, table) = ([3; MAX_PIECE], [5; MAX_TABLE]);
        let mut out = [0; MAX_DATAGRAM];
        for message in [
            Message::Data { piece: 1_227, index: 0x0102, octets: &piece },
            Message::Data { piece: 80, index: 9, octets: &[] },
            Message::End { round: 7, piece: 80, octets: 0x0102_0304 },
            Message::Missing { round: 7, first: 0x0203, bits: &table },
            Message::Missing { round: 7, first: 0, bits: &[] },
            Message::Goodbye,
        ] {
            let len = message.write(&mut out);
            assert_eq!(Message::parse(&out[..len]), Some(message));
        }
    }

    #[test]
    fn truncated_and_unknown_messages_are_not_parsed() {
        for datagram in [&[][..], &[0], &[1, 0, 0, 0], &[2, 0, 0, 80, 0, 0, 0], &[3, 0, 0], &[5]] {
            assert_eq!(Message::parse(datagram), None);
        }
        assert_eq!(Message::parse(&[4, 0]), None);
    }
}
