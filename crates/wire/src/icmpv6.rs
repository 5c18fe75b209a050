//! ICMPv6 (RFC 4443): echo and the four error messages; other types are passed through unread.

use crate::{Error, Field, checksum};

/// Octets before a message's body: type, code, checksum and the four octets that every message
/// known here uses.
pub const HEADER_LEN: usize = 8;

/// Octets that every message has: type, code and checksum. Some messages of other protocols have
/// only two octets behind them (DIS, RFC 6550, 6.2).
pub const MIN_LEN: usize = 4;

/// Types below this are errors (RFC 4443, 2.1).
pub const FIRST_INFORMATIONAL: u8 = 128;

/// Codes of Destination Unreachable (RFC 4443, 3.1).
pub mod unreachable {
    /// No route to destination.
    pub const NO_ROUTE: u8 = 0;
    /// Beyond scope of source address.
    pub const BEYOND_SCOPE: u8 = 2;
    /// Address unreachable.
    pub const ADDRESS: u8 = 3;
    /// Port unreachable.
    pub const PORT: u8 = 4;
    /// Error in Source Routing Header (RFC 6550, 20.18).
    pub const SOURCE_ROUTE: u8 = 7;
}

/// Codes of Parameter Problem (RFC 4443, 3.4).
pub mod parameter {
    /// Erroneous header field encountered.
    pub const HEADER_FIELD: u8 = 0;
    /// Unrecognized Next Header type encountered.
    pub const NEXT_HEADER: u8 = 1;
    /// Unrecognized IPv6 option encountered.
    pub const OPTION: u8 = 2;
    /// The first fragment does not hold all headers (RFC 7112, 5).
    pub const INCOMPLETE_CHAIN: u8 = 3;
}

/// Type and fields of a message; its body (echo data or the quoted packet) follows the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Type 1; the code is one of [`mod@unreachable`]'s.
    DestinationUnreachable {
        /// The code.
        code: u8,
    },
    /// Type 2.
    PacketTooBig {
        /// MTU of the next-hop link in octets.
        mtu: u32,
    },
    /// Type 3; code 0: hop limit exceeded in transit, 1: fragment reassembly time exceeded.
    TimeExceeded {
        /// The code.
        code: u8,
    },
    /// Type 4; the code is one of [`parameter`]'s.
    ParameterProblem {
        /// The code.
        code: u8,
        /// Octet offset of the error in the quoted packet.
        pointer: u32,
    },
    /// Type 128.
    EchoRequest {
        /// Identifier.
        ident: u16,
        /// Sequence number.
        seq: u16,
    },
    /// Type 129.
    EchoReply {
        /// Identifier.
        ident: u16,
        /// Sequence number.
        seq: u16,
    },
    /// Any other type.
    Other {
        /// The type.
        kind: u8,
        /// The code.
        code: u8,
        /// The four octets after the checksum.
        word: u32,
    },
}

impl Kind {
    /// Returns the message's type octet.
    pub const fn type_octet(&self) -> u8 {
        match *self {
            Kind::DestinationUnreachable { .. } => 1,
            Kind::PacketTooBig { .. } => 2,
            Kind::TimeExceeded { .. } => 3,
            Kind::ParameterProblem { .. } => 4,
            Kind::EchoRequest { .. } => 128,
            Kind::EchoReply { .. } => 129,
            Kind::Other { kind, .. } => kind,
        }
    }

    /// Returns whether it is an error message (RFC 4443, 2.1).
    pub const fn is_error(&self) -> bool {
        self.type_octet() < FIRST_INFORMATIONAL
    }

    /// Writes the eight octets before the body, checksum zero.
    ///
    /// # Errors
    /// [`Error::NoRoom`] if `out` has fewer than [`HEADER_LEN`] octets.
    pub fn emit(&self, out: &mut [u8]) -> Result<(), Error> {
        let out = out.first_chunk_mut::<HEADER_LEN>().ok_or(Error::NoRoom(Field::Icmpv6Header))?;
        let (code, word) = match *self {
            Kind::DestinationUnreachable { code } | Kind::TimeExceeded { code } => (code, 0),
            Kind::PacketTooBig { mtu } => (0, mtu),
            Kind::ParameterProblem { code, pointer } => (code, pointer),
            Kind::EchoRequest { ident, seq } | Kind::EchoReply { ident, seq } => {
                (0, u32::from(ident) << 16 | u32::from(seq))
            }
            Kind::Other { code, word, .. } => (code, word),
        };
        let [a, b, c, d] = word.to_be_bytes();
        *out = [self.type_octet(), code, 0, 0, a, b, c, d];
        Ok(())
    }
}

/// A message with a correct checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    kind: Kind,
    body: &'a [u8],
}

impl<'a> Message<'a> {
    /// Checks `octets`, an IPv6 packet's whole upper layer, against `pseudo_sum`, the
    /// [`checksum::pseudo_header`] over `octets.len()` octets.
    ///
    /// # Errors
    /// [`Error::Truncated`] with fewer than [`HEADER_LEN`] octets, or [`Error::Checksum`].
    pub fn parse(octets: &'a [u8], pseudo_sum: u16) -> Result<Self, Error> {
        let (head, body) = octets
            .split_first_chunk::<HEADER_LEN>()
            .ok_or(Error::Truncated(Field::Icmpv6Header))?;
        if checksum::add(pseudo_sum, checksum::sum(octets)) != 0xFFFF {
            return Err(Error::Checksum(Field::Icmpv6));
        }
        let [kind, code, _, _, a, b, c, d] = *head;
        let word = u32::from_be_bytes([a, b, c, d]);
        let (ident, seq) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        let kind = match kind {
            1 => Kind::DestinationUnreachable { code },
            2 => Kind::PacketTooBig { mtu: word },
            3 => Kind::TimeExceeded { code },
            4 => Kind::ParameterProblem { code, pointer: word },
            128 => Kind::EchoRequest { ident, seq },
            129 => Kind::EchoReply { ident, seq },
            _ => Kind::Other { kind, code, word },
        };
        Ok(Message { kind, body })
    }

    /// Returns type and fields.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the echo data, or the quoted part of the offending packet.
    pub const fn body(&self) -> &'a [u8] {
        self.body
    }
}

/// Checks a message of a type that is unknown here; `pseudo_sum` as for [`Message::parse`].
///
/// # Errors
/// [`Error::Truncated`] with fewer than [`MIN_LEN`] octets, or [`Error::Checksum`].
pub fn verify(octets: &[u8], pseudo_sum: u16) -> Result<(), Error> {
    if octets.len() < MIN_LEN {
        return Err(Error::Truncated(Field::Icmpv6Header));
    }
    if checksum::add(pseudo_sum, checksum::sum(octets)) != 0xFFFF {
        return Err(Error::Checksum(Field::Icmpv6));
    }
    Ok(())
}

/// Sets the checksum field of the message in `octets` (header and body).
///
/// # Errors
/// [`Error::NoRoom`] with fewer than [`MIN_LEN`] octets.
pub fn fill_checksum(octets: &mut [u8], pseudo_sum: u16) -> Result<(), Error> {
    let header = octets.first_chunk_mut::<MIN_LEN>().ok_or(Error::NoRoom(Field::Icmpv6Header))?;
    [header[2], header[3]] = [0, 0];
    let value = checksum::field(checksum::add(pseudo_sum, checksum::sum(octets)));
    if let Some(header) = octets.first_chunk_mut::<MIN_LEN>() {
        [header[2], header[3]] = value.to_be_bytes();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kinds() -> impl Strategy<Value = Kind> {
        prop_oneof![
            any::<u8>().prop_map(|code| Kind::DestinationUnreachable { code }),
            any::<u32>().prop_map(|mtu| Kind::PacketTooBig { mtu }),
            any::<u8>().prop_map(|code| Kind::TimeExceeded { code }),
            any::<(u8, u32)>().prop_map(|(code, pointer)| Kind::ParameterProblem { code, pointer }),
            any::<(u16, u16)>().prop_map(|(ident, seq)| Kind::EchoRequest { ident, seq }),
            any::<(u16, u16)>().prop_map(|(ident, seq)| Kind::EchoReply { ident, seq }),
            (130..=255u8, any::<u8>(), any::<u32>()).prop_map(|(kind, code, word)| Kind::Other {
                kind,
                code,
                word
            }),
        ]
    }

    proptest! {
        #[test]
        fn every_message_round_trips(
            kind in kinds(),
            body in prop::collection::vec(any::<u8>(), 0..64),
            pseudo in any::<u16>(),
        ) {
            let mut octets = std::vec![0; HEADER_LEN];
            kind.emit(&mut octets).unwrap();
            octets.extend_from_slice(&body);
            fill_checksum(&mut octets, pseudo).unwrap();
            // Packet Too Big is sent with code 0, so the round trip is exact for every kind.
            let parsed = Message::parse(&octets, pseudo).unwrap();
            prop_assert_eq!((parsed.kind(), parsed.body()), (kind, &body[..]));
            octets[0] ^= 1;
            prop_assert_eq!(Message::parse(&octets, pseudo), Err(Error::Checksum(Field::Icmpv6)));
        }

        #[test]
        fn no_octets_panic(
            octets in prop::collection::vec(any::<u8>(), 0..32), pseudo in any::<u16>(),
        ) {
            let _ = Message::parse(&octets, pseudo);
            let _ = verify(&octets, pseudo);
        }

        #[test]
        fn a_message_of_four_octets_or_more_is_verified(
            mut octets in prop::collection::vec(any::<u8>(), 0..12), pseudo in any::<u16>(),
        ) {
            let filled = fill_checksum(&mut octets, pseudo);
            prop_assert_eq!(filled.is_ok(), octets.len() >= MIN_LEN);
            prop_assert_eq!(verify(&octets, pseudo).is_ok(), octets.len() >= MIN_LEN);
            if let Some(first) = octets.first_mut() {
                *first ^= 1;
            }
            prop_assert!(verify(&octets, pseudo).is_err());
        }
    }

    #[test]
    fn errors_are_the_types_below_128() {
        assert!(Kind::PacketTooBig { mtu: 0 }.is_error());
        assert!(Kind::Other { kind: 127, code: 0, word: 0 }.is_error());
        assert!(!Kind::EchoRequest { ident: 0, seq: 0 }.is_error());
        assert!(!Kind::Other { kind: 135, code: 0, word: 0 }.is_error());
    }
}
