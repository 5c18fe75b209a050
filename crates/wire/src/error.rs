//! Errors of formats.

use core::fmt;

/// The reason for which octets were refused, and the field.
///
/// A small core returns it in a register, which would be impossible with a text. It is aligned to a
/// word, so that the other content of a `Result` is aligned too, and copied by words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(4))]
pub enum Error {
    /// The octets end inside or before this field.
    Truncated(Field),
    /// This field has a value that the format forbids.
    Invalid(Field),
    /// This field has a legal value that Kinglet does not implement.
    Unsupported(Field),
    /// The checksum of this header is wrong.
    Checksum(Field),
    /// The output buffer is too short for this header.
    NoRoom(Field),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Truncated(field) => write!(f, "octets end before or inside of {field}"),
            Error::Invalid(field) => write!(f, "{field} has a forbidden value"),
            Error::Unsupported(field) => write!(f, "{field} has a value that is not supported"),
            Error::Checksum(header) => write!(f, "wrong checksum in {header}"),
            Error::NoRoom(header) => write!(f, "output buffer too short for {header}"),
        }
    }
}

impl core::error::Error for Error {}

macro_rules! fields {
    ($($field:ident => $name:literal,)+) => {
        /// A field or header, named as in its RFC or standard.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Field {
            $(#[doc = $name] $field,)+
        }

        impl fmt::Display for Field {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Field::$field => $name,)+
                })
            }
        }
    };
}

fields! {
    AddressingMode => "addressing mode",
    AodvAddress => "AODV address",
    AodvDestCount => "AODV DestCount",
    AodvExtension => "AODV extension",
    AodvMessage => "AODV message",
    AodvPrefixSize => "AODV Prefix Size",
    AodvType => "AODV type",
    ContextIdentifier => "context identifier",
    ContextPrefixLength => "context prefix length",
    CslIe => "CSL IE",
    Dam => "DAM",
    DatagramOffset => "datagram_offset",
    DatagramSize => "datagram_size",
    ElidedAddress => "elided address",
    ElidedUdpChecksum => "elided UDP checksum",
    Filling => "filling",
    FragmentDispatch => "fragment dispatch",
    FragmentHeader => "fragment header",
    FrameType => "frame type",
    FrameVersion => "frame version",
    HeaderIeType => "header IE type",
    Icmpv6 => "ICMPv6",
    Icmpv6Code => "ICMPv6 code",
    Icmpv6Header => "ICMPv6 header",
    Icmpv6Type => "ICMPv6 type",
    Iphc => "IPHC",
    IphcDispatch => "IPHC dispatch",
    IphcField => "IPHC field",
    Ipv6Header => "IPv6 header",
    Ipv6Payload => "IPv6 payload",
    Ipv6Version => "IPv6 version",
    LowpanNhc => "LOWPAN_NHC",
    LowpanRoutingHeader => "6LoWPAN Routing Header",
    MacHeader => "MAC header",
    Mld => "MLD",
    MulticastAddress => "multicast address",
    NdMessage => "neighbour discovery message",
    NdOption => "neighbour discovery option",
    PanIdCompression => "PAN ID compression",
    PayloadIeType => "payload IE type",
    RplCode => "RPL code",
    RplDagMetric => "DAG metric object",
    RplMessage => "RPL message",
    RplOption => "RPL control message option",
    RplPacketInformation => "RPL Packet Information",
    RplPrefixLength => "prefix length of an RPL option",
    SecurityOfVersion0 => "security of frame version 0",
    SegmentsLeft => "Segments Left",
    SourceRoutingHeader => "source routing header",
    TcpDataOffset => "TCP data offset",
    TcpHeader => "TCP header",
    TcpOptionLength => "TCP option length",
    TcpOptions => "TCP options",
    Udp => "UDP",
    UdpHeader => "UDP header",
    UdpLength => "UDP length",
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn an_error_names_its_field_and_fits_into_a_register() {
        let error = Error::Truncated(Field::SecurityOfVersion0);
        assert_eq!(error.to_string(), "octets end before or inside of security of frame version 0");
        assert_eq!(size_of::<Result<u16, Error>>(), 4);
    }
}
