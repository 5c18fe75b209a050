//! Neighbour discovery: the messages of RFC 4861 and the duplicate address messages of RFC 6775.
//!
//! A message consists of its fixed fields ([`Kind`]) and options ([`NdOption`]). Parsing checks
//! what its octets show (RFC 4861, 6.1, 7.1 and 8.1: code, length, no option of length zero). The
//! caller, which has the IPv6 header, checks hop limit and addresses, and has checked the checksum
//! before ([`icmpv6::verify`](crate::icmpv6::verify)).

mod options;
#[cfg(test)]
mod tests;

pub use options::{
    BorderRouter, Capabilities, ContextInformation, NdOption, Options, PrefixInformation,
    Registration, Servers,
};

use crate::{Error, Field};
use core::net::Ipv6Addr;

/// Type of Router Solicitation.
pub const ROUTER_SOLICITATION: u8 = 133;
/// Type of Router Advertisement.
pub const ROUTER_ADVERTISEMENT: u8 = 134;
/// Type of Neighbour Solicitation.
pub const NEIGHBOUR_SOLICITATION: u8 = 135;
/// Type of Neighbour Advertisement.
pub const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
/// Type of Redirect.
pub const REDIRECT: u8 = 137;
/// Type of Duplicate Address Request (RFC 6775, 4.4).
pub const DUPLICATE_ADDRESS_REQUEST: u8 = 157;
/// Type of Duplicate Address Confirmation (RFC 6775, 4.4).
pub const DUPLICATE_ADDRESS_CONFIRMATION: u8 = 158;

/// All types of messages that [`Message::parse`] reads.
pub const TYPES: [u8; 7] = [
    ROUTER_SOLICITATION,
    ROUTER_ADVERTISEMENT,
    NEIGHBOUR_SOLICITATION,
    NEIGHBOUR_ADVERTISEMENT,
    REDIRECT,
    DUPLICATE_ADDRESS_REQUEST,
    DUPLICATE_ADDRESS_CONFIRMATION,
];

/// Fields of a Router Advertisement (RFC 4861, 4.2). Zero means unspecified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouterAdvertisement {
    /// Cur Hop Limit.
    pub hop_limit: u8,
    /// The M flag: addresses are available by DHCPv6.
    pub managed: bool,
    /// The O flag: other settings are available by DHCPv6.
    pub other: bool,
    /// Router Lifetime as a default router, in seconds; 0: it is none.
    pub lifetime_s: u16,
    /// Reachable Time in milliseconds.
    pub reachable_ms: u32,
    /// Retrans Timer in milliseconds.
    pub retrans_ms: u32,
}

/// Fields of a Neighbour Advertisement (RFC 4861, 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertisement {
    /// The R flag: it is a router.
    pub router: bool,
    /// The S flag: this answers a solicitation.
    pub solicited: bool,
    /// The O flag: the link-layer address replaces a known one.
    pub overriding: bool,
    /// Target Address.
    pub target: Ipv6Addr,
}

/// Status of a registration (RFC 6775, 4.1; RFC 8505, 4.1).
pub mod status {
    /// The address is registered, or no longer if its lifetime is 0.
    pub const SUCCESS: u8 = 0;
    /// The address belongs to another node.
    pub const DUPLICATE: u8 = 1;
    /// The router's table is full.
    pub const FULL: u8 = 2;
    /// There is a later registration of the same address.
    pub const MOVED: u8 = 3;
    /// The router has removed it.
    pub const REMOVED: u8 = 4;
    /// The source of the solicitation is not link-local.
    pub const INVALID_SOURCE: u8 = 7;
    /// The address cannot be used on this link.
    pub const INCORRECT: u8 = 8;
    /// The border router's table is full.
    pub const SATURATED: u8 = 9;
}

/// A registration in the messages between a 6LR and a 6LBR (RFC 6775, 4.4), in the form of RFC
/// 8505, 4.2, if there is a transaction identifier. Verifiers of more than 64 bits are not
/// supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duplicate {
    /// True if it is the confirmation.
    pub confirmation: bool,
    /// Status: 0 in a request.
    pub status: u8,
    /// Transaction identifier.
    pub tid: Option<u8>,
    /// Registration Lifetime in minutes.
    pub lifetime_min: u16,
    /// Registration Ownership Verifier, in RFC 6775 the EUI-64 of the host.
    pub rovr: [u8; 8],
    /// Registered Address.
    pub address: Ipv6Addr,
}

/// The fixed fields of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Router Solicitation (RFC 4861, 4.1).
    RouterSolicitation,
    /// Router Advertisement (4.2).
    RouterAdvertisement(RouterAdvertisement),
    /// Neighbour Solicitation (4.3) for this target address.
    NeighbourSolicitation(Ipv6Addr),
    /// Neighbour Advertisement (4.4).
    NeighbourAdvertisement(Advertisement),
    /// Redirect (4.5).
    Redirect {
        /// Target Address: the better first hop.
        target: Ipv6Addr,
        /// Destination Address of the packets concerned.
        destination: Ipv6Addr,
    },
    /// Duplicate Address Request or Confirmation (RFC 6775, 4.4).
    Duplicate(Duplicate),
}

/// Octets before the options: type, code, checksum, then the fields.
const fn fixed_len(kind: u8) -> Option<usize> {
    Some(match kind {
        ROUTER_SOLICITATION => 8,
        ROUTER_ADVERTISEMENT => 16,
        NEIGHBOUR_SOLICITATION | NEIGHBOUR_ADVERTISEMENT => 24,
        DUPLICATE_ADDRESS_REQUEST | DUPLICATE_ADDRESS_CONFIRMATION => 32,
        REDIRECT => 40,
        _ => return None,
    })
}

/// Octets of the longest fixed part.
const MAX_FIXED: usize = 40;

const ROUTER: u8 = 0x80;
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;
const MANAGED: u8 = 0x80;
const OTHER: u8 = 0x40;
/// Bits of the code of a duplicate address message: the Code Suffix, and its value for verifiers of
/// 64 bits (RFC 8505, 4.2).
const SUFFIX: u8 = 0x0F;
const EXTENDED: u8 = 1;

impl Kind {
    /// Returns the message's type octet.
    pub const fn type_octet(&self) -> u8 {
        match self {
            Kind::RouterSolicitation => ROUTER_SOLICITATION,
            Kind::RouterAdvertisement(_) => ROUTER_ADVERTISEMENT,
            Kind::NeighbourSolicitation(_) => NEIGHBOUR_SOLICITATION,
            Kind::NeighbourAdvertisement(_) => NEIGHBOUR_ADVERTISEMENT,
            Kind::Redirect { .. } => REDIRECT,
            Kind::Duplicate(it) if it.confirmation => DUPLICATE_ADDRESS_CONFIRMATION,
            Kind::Duplicate(_) => DUPLICATE_ADDRESS_REQUEST,
        }
    }

    //= rfc6775#4.4-2 rfc6775#4.4-4 rfc6775#8.2.1-2 rfc8505#4.2-1 rfc8505#4.2-3
    fn read(kind: u8, fixed: &[u8; MAX_FIXED]) -> Option<Self> {
        let [_, code, _, _, a, b, c, d, rest @ ..] = fixed;
        let target = || address(rest);
        Some(match kind {
            ROUTER_SOLICITATION => Kind::RouterSolicitation,
            ROUTER_ADVERTISEMENT => {
                let [e, f, g, h, i, j, k, l, ..] = *rest;
                Kind::RouterAdvertisement(RouterAdvertisement {
                    hop_limit: *a,
                    managed: b & MANAGED != 0,
                    other: b & OTHER != 0,
                    lifetime_s: u16::from_be_bytes([*c, *d]),
                    reachable_ms: u32::from_be_bytes([e, f, g, h]),
                    retrans_ms: u32::from_be_bytes([i, j, k, l]),
                })
            }
            NEIGHBOUR_SOLICITATION => Kind::NeighbourSolicitation(target()?),
            NEIGHBOUR_ADVERTISEMENT => Kind::NeighbourAdvertisement(Advertisement {
                router: a & ROUTER != 0,
                solicited: a & SOLICITED != 0,
                overriding: a & OVERRIDE != 0,
                target: target()?,
            }),
            REDIRECT => {
                Kind::Redirect { target: target()?, destination: address(rest.get(16..)?)? }
            }
            DUPLICATE_ADDRESS_REQUEST | DUPLICATE_ADDRESS_CONFIRMATION => {
                let extended = match code & SUFFIX {
                    0 => false,
                    EXTENDED => true,
                    _ => return None,
                };
                Kind::Duplicate(Duplicate {
                    confirmation: kind == DUPLICATE_ADDRESS_CONFIRMATION,
                    status: *a,
                    tid: extended.then_some(*b),
                    lifetime_min: u16::from_be_bytes([*c, *d]),
                    rovr: *rest.first_chunk()?,
                    address: address(rest.get(8..)?)?,
                })
            }
            _ => return None,
        })
    }

    /// Returns the fixed part, checksum zero.
    //= rfc6775#4.4-2 rfc6775#4.4-4 rfc8505#4.2-1 rfc8505#4.2-2
    fn fixed(&self) -> [u8; MAX_FIXED] {
        let mut fixed = [0; MAX_FIXED];
        let [kind, code, _, _, a, b, c, d, rest @ ..] = &mut fixed;
        *kind = self.type_octet();
        match *self {
            Kind::RouterSolicitation => {}
            Kind::RouterAdvertisement(RouterAdvertisement {
                hop_limit,
                managed,
                other,
                lifetime_s,
                reachable_ms,
                retrans_ms,
            }) => {
                *a = hop_limit;
                *b = if managed { MANAGED } else { 0 } | if other { OTHER } else { 0 };
                [*c, *d] = lifetime_s.to_be_bytes();
                put(rest, 0, &reachable_ms.to_be_bytes());
                put(rest, 4, &retrans_ms.to_be_bytes());
            }
            Kind::NeighbourSolicitation(target) => put(rest, 0, &target.octets()),
            Kind::NeighbourAdvertisement(Advertisement {
                router,
                solicited,
                overriding,
                target,
            }) => {
                let flag = |set, bit| if set { bit } else { 0 };
                *a = flag(router, ROUTER) | flag(solicited, SOLICITED) | flag(overriding, OVERRIDE);
                put(rest, 0, &target.octets());
            }
            Kind::Redirect { target, destination } => {
                put(rest, 0, &target.octets());
                put(rest, 16, &destination.octets());
            }
            Kind::Duplicate(Duplicate { status, tid, lifetime_min, rovr, address, .. }) => {
                *code = if tid.is_some() { EXTENDED } else { 0 };
                (*a, *b) = (status, tid.unwrap_or(0));
                [*c, *d] = lifetime_min.to_be_bytes();
                put(rest, 0, &rovr);
                put(rest, 8, &address.octets());
            }
        }
        fixed
    }
}

fn address(octets: &[u8]) -> Option<Ipv6Addr> {
    octets.first_chunk::<16>().map(|octets| Ipv6Addr::from(*octets))
}

/// Copies `octets` to `out` from `at` on, as far as there is room.
fn put(out: &mut [u8], at: usize, octets: &[u8]) {
    for (place, octet) in out.iter_mut().skip(at).zip(octets) {
        *place = *octet;
    }
}

/// A message whose octets are well-formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    kind: Kind,
    options: Options<'a>,
}

impl<'a> Message<'a> {
    /// Reads a message, from its type on.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for another type or a verifier of more than 64 bits,
    /// [`Error::Truncated`] if it ends early,
    /// [`Error::Invalid`] for a code other than 0 or an option of length zero or beyond the end.
    pub fn parse(octets: &'a [u8]) -> Result<Self, Error> {
        let (Some(&kind), Some(&code)) = (octets.first(), octets.get(1)) else {
            return Err(Error::Truncated(Field::Icmpv6Header));
        };
        let len = fixed_len(kind).ok_or(Error::Unsupported(Field::Icmpv6Type))?;
        let (head, rest) =
            octets.split_at_checked(len).ok_or(Error::Truncated(Field::NdMessage))?;
        // The code of a duplicate address message is the size of the verifier (RFC 8505, 4.2).
        if code != 0 && kind <= REDIRECT {
            return Err(Error::Invalid(Field::Icmpv6Code));
        }
        let mut fixed = [0; MAX_FIXED];
        put(&mut fixed, 0, head);
        let kind = Kind::read(kind, &fixed).ok_or(Error::Unsupported(Field::Icmpv6Type))?;
        Ok(Message { kind, options: Options::check(rest)? })
    }

    /// Its fixed fields.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Its options, in their order.
    pub const fn options(&self) -> Options<'a> {
        self.options
    }
}

/// Writes a message: its fixed fields, then options one by one.
#[derive(Debug)]
pub struct Builder<'a> {
    out: &'a mut [u8],
    len: usize,
}

impl<'a> Builder<'a> {
    /// Begins a message at the start of `out`, checksum zero.
    ///
    /// # Errors
    /// [`Error::NoRoom`]
    pub fn new(out: &'a mut [u8], kind: &Kind) -> Result<Self, Error> {
        // Every kind has a length.
        let len = fixed_len(kind.type_octet()).unwrap_or(MAX_FIXED);
        let fixed = kind.fixed();
        let head = out.get_mut(..len).ok_or(Error::NoRoom(Field::NdMessage))?;
        put(head, 0, &fixed);
        Ok(Builder { out, len })
    }

    /// Adds an option.
    ///
    /// # Errors
    /// [`Error::NoRoom`]; the message is as it was.
    pub fn option(&mut self, option: &NdOption<'_>) -> Result<(), Error> {
        let room = self.out.get_mut(self.len..).unwrap_or_default();
        self.len = self.len.saturating_add(option.emit(room)?);
        Ok(())
    }

    /// Returns the octets of the message.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns whether the message is empty, which it never is.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// The solicited-node multicast address of an address: ff02::1:ffXX:XXXX (RFC 4291, 2.7.1).
pub const fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = address.octets();
    Ipv6Addr::from_octets([0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xFF, a, b, c])
}
