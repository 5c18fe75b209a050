//! The numbers that standards assign, written once more from the registries: no round trip of a
//! format notices a wrong one.

use crate::icmpv6::{parameter, unreachable};
use crate::ieee802154::{Address, COMMAND_DATA_REQUEST, PanId};
use crate::ipv6::{self, protocol};
use crate::nd::{Capabilities, status};
use crate::tcp::Flags;
use crate::{icmpv6, mld, nd, rpl, sixlowpan};
use std::string::ToString;

/// IANA "IPv6 Multicast Address Space Registry".
#[test]
fn groups() {
    let groups = [ipv6::ALL_NODES, ipv6::ALL_ROUTERS, mld::ROUTERS, rpl::ALL_NODES];
    assert_eq!(groups.map(|it| it.to_string()), ["ff02::1", "ff02::2", "ff02::16", "ff02::1a"]);
    let node = "2001:db8::3412:5678".parse().unwrap();
    assert_eq!(nd::solicited_node(node).to_string(), "ff02::1:ff12:5678");
}

/// IANA "Assigned Internet Protocol Numbers".
#[test]
fn next_headers() {
    use protocol::*;
    let known =
        [HOP_BY_HOP, TCP, UDP, IPV6, ROUTING, FRAGMENT, MOBILITY, ICMPV6, NONE, DESTINATION];
    assert_eq!(known, [0, 6, 17, 41, 43, 44, 135, 58, 59, 60]);
}

/// IANA "ICMPv6 Parameters".
#[test]
fn icmpv6_messages() {
    assert_eq!((icmpv6::FIRST_INFORMATIONAL, mld::QUERY, mld::REPORT), (128, 130, 143));
    assert_eq!(nd::TYPES, [133, 134, 135, 136, 137, 157, 158]);
    assert_eq!(rpl::ICMPV6_TYPE, 155);
    use unreachable::*;
    assert_eq!([NO_ROUTE, BEYOND_SCOPE, ADDRESS, PORT, SOURCE_ROUTE], [0, 2, 3, 4, 7]);
    assert_eq!(rpl::ERROR_IN_SOURCE_ROUTE, SOURCE_ROUTE);
    use parameter::*;
    assert_eq!([HEADER_FIELD, NEXT_HEADER, OPTION, INCOMPLETE_CHAIN], [0, 1, 2, 3]);
}

/// IANA "Address Registration Option Status Values" and "6LoWPAN Capability Bits".
#[test]
fn registrations() {
    use status::*;
    let known = [SUCCESS, DUPLICATE, FULL, MOVED, REMOVED, INVALID_SOURCE, INCORRECT, SATURATED];
    assert_eq!(known, [0, 1, 2, 3, 4, 7, 8, 9]);
    // RFC 8505, 4.3: D, L, B, P, E are bits 10 to 14 of 16.
    let flags = [
        Capabilities::EXTENDED_DUPLICATE,
        Capabilities::ROUTER,
        Capabilities::BORDER_ROUTER,
        Capabilities::REGISTRAR,
        Capabilities::EXTENDED,
    ];
    assert_eq!(flags, [10, 11, 12, 13, 14].map(|bit| 0x8000 >> bit));
}

/// RFC 9293, 3.1; RFC 9768, 3.1.
#[test]
fn flags_of_tcp() {
    use Flags as F;
    let flags = [F::AE, F::CWR, F::ECE, F::URG, F::ACK, F::PSH, F::RST, F::SYN, F::FIN];
    assert_eq!(flags.map(Flags::bits), [256, 128, 64, 32, 16, 8, 4, 2, 1]);
}

/// IEEE 802.15.4-2020, 7.5.4 and 7.2.2.9; RFC 4944, 5.1; RFC 8025, 3.
#[test]
fn link_layer() {
    assert_eq!(COMMAND_DATA_REQUEST, 4);
    assert_eq!((PanId::BROADCAST, Address::BROADCAST), (PanId(0xffff), Address::Short(0xffff)));
    assert_eq!((sixlowpan::DISPATCH_IPV6, sixlowpan::routed::PAGE_1), (0b0100_0001, 0xf1));
}
