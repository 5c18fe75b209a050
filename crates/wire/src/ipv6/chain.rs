//! Extension headers (RFC 8200, 4): a bounded iterator, and their options.

use super::{HEADER_LEN, NEXT_HEADER_OFFSET, protocol};

/// Maximum number of extension headers of a packet. RFC 8200 sets no bound; RFC 8504, 5.3 lets a
/// node limit what it processes. There are six kinds of header that occur at most once, and
/// destination options occur twice.
pub const MAX_EXTENSIONS: u8 = 7;

/// An extension header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension<'a> {
    /// Its kind: Hop-by-Hop Options (RFC 8200, 4.3), Destination Options (4.6), Routing (4.4) or
    /// Fragment (4.5), by its number in [`protocol`].
    pub kind: u8,
    /// The whole header, at least eight octets.
    pub octets: &'a [u8],
    /// Its offset in the packet.
    pub offset: usize,
}

impl<'a> Extension<'a> {
    /// Returns the options of a Hop-by-Hop or Destination Options header.
    pub const fn options(&self) -> Options<'a> {
        Options { octets: self.octets, at: 2, base: self.offset }
    }

    /// Returns Segments Left of a Routing header.
    pub fn segments_left(&self) -> u8 {
        self.octets.get(3).copied().unwrap_or(0)
    }

    /// Returns whether a Fragment header is that of a first fragment: offset 0.
    pub fn is_first(&self) -> bool {
        matches!(self.octets, [_, _, 0, last, ..] if last & !0b111 == 0)
    }

    /// Returns whether a Fragment header is that of a whole packet: offset 0, and no more
    /// fragments.
    pub fn is_atomic(&self) -> bool {
        // The two bits between the offset and M are reserved.
        matches!(self.octets, [_, _, 0, last, ..] if last & !0b110 == 0)
    }
}

/// Reason for which a chain of extension headers cannot be followed; offsets count from the
/// packet's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The packet ends inside the header.
    Truncated,
    /// A Hop-by-Hop Options header that does not directly follow the IPv6 header (RFC 8200, 4:
    /// treated as an unrecognised Next Header whose field is at this offset).
    HopByHopNotFirst(usize),
    /// More than [`MAX_EXTENSIONS`] headers.
    TooMany,
}

/// Iterator over the extension headers of a packet; ends before the upper layer's header.
#[derive(Clone, Debug)]
pub struct Chain<'a> {
    packet: &'a [u8],
    next_header: u8,
    /// Offset of the field that contains `next_header`.
    field: usize,
    offset: usize,
    left: u8,
    failed: bool,
}

impl<'a> Chain<'a> {
    /// Creates an iterator over a whole packet, whose header contains `next_header`.
    pub const fn new(packet: &'a [u8], next_header: u8) -> Self {
        Chain {
            packet,
            next_header,
            field: NEXT_HEADER_OFFSET,
            offset: HEADER_LEN,
            left: MAX_EXTENSIONS,
            failed: false,
        }
    }

    /// Returns the upper layer's protocol. Valid after the iteration.
    pub const fn next_header(&self) -> u8 {
        self.next_header
    }

    /// Returns the offset of the upper layer's header in the packet. Valid after the iteration.
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the offset of the field that [`Chain::next_header`] comes from, for Parameter
    /// Problem.
    pub const fn next_header_field(&self) -> usize {
        self.field
    }

    fn step(&mut self) -> Result<Extension<'a>, Fault> {
        if self.next_header == protocol::HOP_BY_HOP && self.offset != HEADER_LEN {
            return Err(Fault::HopByHopNotFirst(self.field));
        }
        self.left = self.left.checked_sub(1).ok_or(Fault::TooMany)?;
        let tail = self.packet.get(self.offset..).unwrap_or_default();
        let [next, len, ..] = *tail.first_chunk::<8>().ok_or(Fault::Truncated)?;
        // Every extension header is a multiple of 8 octets; Fragment has no length field.
        let units = if self.next_header == protocol::FRAGMENT { 0 } else { len };
        let len = usize::from(units).saturating_add(1).saturating_mul(8);
        let octets = tail.get(..len).ok_or(Fault::Truncated)?;
        let extension = Extension { kind: self.next_header, octets, offset: self.offset };
        self.next_header = next;
        self.field = self.offset;
        self.offset = self.offset.saturating_add(len);
        Ok(extension)
    }
}

impl<'a> Iterator for Chain<'a> {
    type Item = Result<Extension<'a>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        use protocol::{DESTINATION, FRAGMENT, HOP_BY_HOP, ROUTING};
        if self.failed || !matches!(self.next_header, HOP_BY_HOP | ROUTING | FRAGMENT | DESTINATION)
        {
            return None;
        }
        let step = self.step();
        self.failed = step.is_err();
        Some(step)
    }
}

/// Handling of an option that a node does not recognise: the two highest bits of the option's type
/// (RFC 8200, 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// 00: skip it.
    Skip,
    /// 01: discard the packet.
    Discard,
    /// 10: discard and send Parameter Problem, code 2.
    Report,
    /// 11: discard, and send Parameter Problem, code 2, unless the destination is multicast.
    ReportUnlessMulticast,
}

/// An option of a Hop-by-Hop or Destination Options header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionField<'a> {
    /// Option Type.
    pub kind: u8,
    /// Option Data.
    pub data: &'a [u8],
    /// Offset of the option's type in the packet.
    pub offset: usize,
}

impl OptionField<'_> {
    /// Returns the handling of the option if its type is not recognised.
    pub const fn action(&self) -> Action {
        match self.kind >> 6 {
            0 => Action::Skip,
            1 => Action::Discard,
            2 => Action::Report,
            _ => Action::ReportUnlessMulticast,
        }
    }
}

/// Iterator over the options of one header, without padding. An option that exceeds the end of its
/// header is an `Err` with its offset in the packet, and the last item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options<'a> {
    octets: &'a [u8],
    at: usize,
    base: usize,
}

const PAD1: u8 = 0;
const PADN: u8 = 1;

impl<'a> Iterator for Options<'a> {
    type Item = Result<OptionField<'a>, usize>;

    fn next(&mut self) -> Option<Self::Item> {
        // Ends: each iteration takes at least one octet of a header of at most 2048.
        loop {
            let offset = self.base.saturating_add(self.at);
            let (&kind, rest) = self.octets.get(self.at..)?.split_first()?;
            if kind == PAD1 {
                self.at = self.at.saturating_add(1);
                continue;
            }
            let data = rest.split_first().and_then(|(&len, data)| data.get(..usize::from(len)));
            let Some(data) = data else {
                self.at = self.octets.len();
                return Some(Err(offset));
            };
            self.at = self.at.saturating_add(data.len()).saturating_add(2);
            if kind != PADN {
                return Some(Ok(OptionField { kind, data, offset }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Header, Packet};
    use super::*;
    use core::net::Ipv6Addr;
    use std::vec::Vec;

    fn packet(next_header: u8, payload: &[u8]) -> Vec<u8> {
        let header = Header {
            traffic_class: 0,
            flow_label: 0,
            payload_len: payload.len() as u16,
            next_header,
            hop_limit: 64,
            src: Ipv6Addr::LOCALHOST,
            dst: Ipv6Addr::LOCALHOST,
        };
        let mut octets = std::vec![0; HEADER_LEN];
        header.emit(&mut octets).unwrap();
        octets.extend_from_slice(payload);
        octets
    }

    #[test]
    fn a_chain_of_all_kinds_ends_at_the_upper_layer() {
        let payload = [
            60, 0, 1, 4, 0, 0, 0, 0, // hop-by-hop, PadN
            43, 1, 0, 0, 0, 0xC2, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0, // destination: Pad1 ×3, 0xC2
            44, 0, 9, 3, 0, 0, 0, 0, // routing type 9
            17, 0, 0, 0x11, 0, 0, 0, 7, // fragment at 16, more
            0xAA,
        ];
        let octets = packet(protocol::HOP_BY_HOP, &payload);
        let packet = Packet::parse(&octets).unwrap();
        assert_eq!(packet.upper(), Ok((protocol::UDP, 80..81)));
        let all: Vec<_> = packet.extensions().map(Result::unwrap).collect();
        let places: Vec<_> = all.iter().map(|it| (it.kind, it.offset, it.octets.len())).collect();
        assert_eq!(places, [(0, 40, 8), (60, 48, 16), (43, 64, 8), (44, 72, 8)]);
        assert_eq!(all[0].options().count(), 0);
        let option = all[1].options().next().unwrap().unwrap();
        assert_eq!((option.kind, option.offset, option.data.len()), (0xC2, 53, 8));
        assert_eq!(option.action(), Action::ReportUnlessMulticast);
        assert_eq!(all[2].segments_left(), 3);
        assert!(!all[3].is_atomic());
    }

    #[test]
    fn a_fragment_is_atomic_with_nothing_before_it_and_nothing_behind() {
        let is_atomic = |field: u16| {
            let [a, b] = field.to_be_bytes();
            Extension { kind: 44, octets: &[17, 0, a, b, 0, 0, 0, 7], offset: 40 }.is_atomic()
        };
        assert!(is_atomic(0) && is_atomic(0b110));
        assert!(!is_atomic(1) && !is_atomic(8) && !is_atomic(0x8000));
    }

    #[test]
    fn hop_by_hop_elsewhere_than_first_is_a_fault_with_its_field() {
        let octets = packet(60, &[0, 0, 1, 4, 0, 0, 0, 0, 59, 0, 1, 4, 0, 0, 0, 0]);
        assert_eq!(Packet::parse(&octets).unwrap().upper(), Err(Fault::HopByHopNotFirst(40)));
    }

    #[test]
    fn an_endless_chain_is_cut_at_the_bound() {
        let octets = packet(60, &[60, 0, 1, 4, 0, 0, 0, 0].repeat(20));
        let packet = Packet::parse(&octets).unwrap();
        assert_eq!(packet.upper(), Err(Fault::TooMany));
        assert_eq!(packet.extensions().count(), usize::from(MAX_EXTENSIONS) + 1);
    }

    #[test]
    fn a_header_longer_than_the_packet_is_truncated() {
        let octets = packet(60, &[59, 1, 1, 4, 0, 0, 0, 0]);
        assert_eq!(Packet::parse(&octets).unwrap().upper(), Err(Fault::Truncated));
    }

    #[test]
    fn an_option_over_the_end_of_its_header_is_an_error_once() {
        let octets = packet(60, &[59, 0, 0x3E, 5, 0, 0, 0, 0]);
        let first = Packet::parse(&octets).unwrap().extensions().next();
        let options = first.unwrap().unwrap().options();
        assert_eq!(options.collect::<Vec<_>>(), [Err(42)]);
    }

    //= rfc9293#MUST-50 type=test
    #[test]
    fn unknown_options_are_classified_by_their_action_bits() {
        let action = |kind| OptionField { kind, data: &[], offset: 0 }.action();
        assert_eq!(action(0x3E), Action::Skip);
        assert_eq!(action(0x7E), Action::Discard);
        assert_eq!(action(0xBE), Action::Report);
        assert_eq!(action(0xFE), Action::ReportUnlessMulticast);
    }
}
