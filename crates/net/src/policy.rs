//! The border policy: two tables of packets that may not cross the host interface.
//!
//! A packet that a row matches is dropped without an ICMPv6 error, because its source may be
//! forged, and is counted by the reason of that row
//! ([`Stats::discarded`](crate::Stats::discarded)). The first matching row counts. The routes
//! define the inside of the mesh: addresses whose route leads to the radio (RFC 3704, 2.2: strict
//! reverse path forwarding), and those with the prefix of an own address. Addresses behind the host
//! are outside. An address with a static route of 128 bits to the host is outside too, regardless
//! of its prefix: the computer behind the far end of a tunnel is of that kind.
//!
//! Deviation: RFC 9008, 12, lets a Routing header without segments left cross. None is let in here,
//! as RFC 6554, 5.1, says, and the nodes of a mesh send none with segments left.

use crate::stats::Discard;
use core::net::Ipv6Addr;
use kinglet_wire::ipv6::{AddressType, Chain, Header, is_link_local, protocol};
use kinglet_wire::rpl::PacketInformation;

/// A row of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Name of its counter.
    pub name: &'static str,
    /// Its counter.
    pub reason: Discard,
    /// The RFC and its section.
    pub source: &'static str,
}

macro_rules! policy {
    ($($(#[$doc:meta])* $table:ident, $find:ident:
        $($name:literal, $reason:ident, $source:literal, |$it:ident| $drops:expr;)+)+
    ) => {$(
        $(#[$doc])*
        pub const $table: &[Rule] =
            &[$(Rule { name: $name, reason: Discard::$reason, source: $source }),+];

        /// Returns the first row of the table that drops a packet.
        pub(crate) fn $find(packet: &Crossing) -> Option<Discard> {
            $(let $it = packet;
            if $drops {
                return Some(Discard::$reason);
            })+
            None
        }
    )+};
}

policy! {
    /// Rules that drop packets from the host. `kinglet gateway --json` shows the counters by their
    /// names.
    FROM_HOST, from_host:
    "source_unspecified", BorderUnspecified, "RFC 4291, 2.5.2 and 2.5.3",
        |it| matches!(it.kind, AddressType::Unspecified | AddressType::Loopback);
    "source_multicast", BorderMulticastSource, "RFC 4291, 2.7", |it| it.src.is_multicast();
    "link_local", BorderLinkLocal, "RFC 4007, 9",
        |it| is_link_local(it.src) || is_link_local(it.dst);
    "multicast_scope", BorderScope, "RFC 4007, 9; RFC 7346, 2", |it| ends_at_border(it.dst);
    "source_inside", BorderSourceInside, "RFC 2827, 3", |it| it.inside == Some(true);
    "ipv6_in_ipv6", BorderTunnel, "RFC 9008, 12", |it| it.tunnel;
    "routing_header", BorderRoutingHeader, "RFC 6554, 5.1", |it| it.route.is_some();
    "rpl_option", BorderRplOption, "RFC 9008, 12", |it| it.option;

    /// Rules that drop packets to the host.
    TO_HOST, to_host:
    "source_outside", BorderSourceOutside, "RFC 2827, 3; RFC 9008, 12",
        |it| it.inside == Some(false);
    "route_left", BorderRouteLeft, "RFC 6554, 5.1; RFC 9008, 12",
        |it| it.route.is_some_and(|left| left > 0);
}

/// Returns whether this is a group with a scope that is not larger than a mesh, or without a
/// meaning: realm-local (3) is the mesh (RFC 7346, 5), and 0 and 15 are reserved.
fn ends_at_border(dst: Ipv6Addr) -> bool {
    dst.is_multicast() && matches!(dst.octets(), [_, flags, ..] if matches!(flags & 15, 0..=3 | 15))
}

/// A packet at the host interface, with the properties that the rules check.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crossing {
    src: Ipv6Addr,
    dst: Ipv6Addr,
    /// Type of the source address.
    kind: AddressType,
    /// True if the source is inside the mesh; `None` without a route to it.
    inside: Option<bool>,
    /// True if it contains an IPv6 packet.
    tunnel: bool,
    /// Segments left in a Routing header.
    route: Option<u8>,
    /// True if it has the RPL option.
    option: bool,
    /// True if its chain of extension headers is invalid. The other properties are those of the
    /// headers before the fault.
    pub(crate) is_broken: bool,
}

impl Crossing {
    /// Reads the packet in `octets`.
    pub(crate) fn read(octets: &[u8], header: &Header, inside: Option<bool>) -> Self {
        let Header { src, dst, next_header, .. } = *header;
        let mut chain = Chain::new(octets, next_header);
        let (mut route, mut option, mut later, mut is_broken) = (None, false, false, false);
        for extension in &mut chain {
            let Ok(extension) = extension else {
                is_broken = true;
                break;
            };
            match extension.kind {
                protocol::ROUTING => {
                    route = Some(extension.segments_left().max(route.unwrap_or(0)))
                }
                protocol::HOP_BY_HOP => {
                    let mut options = extension.options().flatten();
                    option |= options.any(|it| PacketInformation::is_type(it.kind));
                }
                // A later fragment has no headers behind this one.
                protocol::FRAGMENT if !extension.is_first() => {
                    later = true;
                    break;
                }
                _ => {}
            }
        }
        let tunnel = chain.next_header() == protocol::IPV6 && !later;
        let kind = AddressType::of(&src);
        Crossing { src, dst, kind, inside, tunnel, route, option, is_broken }
    }
}
