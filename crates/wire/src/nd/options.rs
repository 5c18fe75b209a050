//! The options of neighbour discovery.

use super::{address, put};
use crate::ieee802154::Address;
use crate::{Error, Field};
use core::net::Ipv6Addr;

const SOURCE_LINK_ADDRESS: u8 = 1;
const TARGET_LINK_ADDRESS: u8 = 2;
const PREFIX_INFORMATION: u8 = 3;
const MTU: u8 = 5;
const RECURSIVE_DNS: u8 = 25;
const REGISTRATION: u8 = 33;
const CONTEXT: u8 = 34;
const BORDER_ROUTER: u8 = 35;
const CAPABILITIES: u8 = 36;

/// Prefix Information (RFC 4861, 4.6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixInformation {
    /// The prefix; bits behind its length are ignored.
    pub prefix: Ipv6Addr,
    /// Prefix Length in bits, 0 to 128.
    pub len: u8,
    /// The L flag: addresses with this prefix are on-link. Never set in a LoWPAN (RFC 6775, 5.4).
    pub on_link: bool,
    /// The A flag: addresses can be formed from it (RFC 4862).
    pub autonomous: bool,
    /// Valid Lifetime in seconds; all ones: for ever.
    pub valid_s: u32,
    /// Preferred Lifetime in seconds; all ones: for ever.
    pub preferred_s: u32,
}

/// Address Registration (RFC 6775, 4.1), or its extension (RFC 8505, 4.1) if there is a transaction
/// identifier. Verifiers of more than 64 bits are not supported: the option is then
/// [`NdOption::Other`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registration {
    /// Status: 0 in a solicitation.
    pub status: u8,
    /// Opaque and the I field, for routing: kept as received.
    pub opaque: (u8, u8),
    /// The R flag: the router shall make the address reachable.
    pub routed: bool,
    /// Transaction identifier (the T flag is set if there is one).
    pub tid: Option<u8>,
    /// Registration Lifetime in minutes; 0 ends the registration.
    pub lifetime_min: u16,
    /// Registration Ownership Verifier, in RFC 6775 the EUI-64.
    pub rovr: [u8; 8],
}

/// 6LoWPAN Context (RFC 6775, 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextInformation {
    /// CID, 0 to 15.
    pub id: u8,
    /// The C flag: it may be used for compression, not only for decompression.
    pub compress: bool,
    /// Context Prefix; bits behind its length are zero.
    pub prefix: Ipv6Addr,
    /// Context Length in bits, 0 to 128.
    pub len: u8,
    /// Valid Lifetime in minutes; 0: remove it.
    pub valid_min: u16,
}

/// Authoritative Border Router (RFC 6775, 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BorderRouter {
    /// The version of its information.
    pub version: u32,
    /// Valid Lifetime in minutes; 0 stands for 10,000.
    pub valid_min: u16,
    /// Its address.
    pub address: Ipv6Addr,
}

/// Capabilities of a node, as bits of 6LoWPAN Capability Indication (RFC 7400, 3.3; RFC 8505, 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities(pub u16);

impl Capabilities {
    /// E: it registers addresses in the form of RFC 8505.
    pub const EXTENDED: u16 = 0x02;
    /// P: it advertises registered addresses elsewhere, as a router of RPL does (RFC 9010, 9.2.2).
    pub const REGISTRAR: u16 = 0x04;
    /// B: it is a 6LBR.
    pub const BORDER_ROUTER: u16 = 0x08;
    /// L: it is a 6LR.
    pub const ROUTER: u16 = 0x10;
    /// D: the 6LBR understands duplicate address messages in the form of RFC 8505.
    pub const EXTENDED_DUPLICATE: u16 = 0x20;

    /// Returns whether all of these bits are set.
    pub const fn has(self, bits: u16) -> bool {
        self.0 & bits == bits
    }
}

/// Addresses of name servers, in the octets of their option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Servers<'a>(&'a [u8]);

impl<'a> Servers<'a> {
    /// Creates a list from whole addresses, 16 octets each; a remainder is ignored.
    pub const fn new(octets: &'a [u8]) -> Self {
        Servers(octets)
    }

    /// Returns the addresses in order.
    pub fn iter(&self) -> impl Iterator<Item = Ipv6Addr> + 'a {
        self.0.chunks_exact(16).filter_map(address)
    }
}

/// An option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NdOption<'a> {
    /// Source Link-Layer Address, short or extended (RFC 4944, 8).
    SourceLinkAddress(Address),
    /// Target Link-Layer Address.
    TargetLinkAddress(Address),
    /// Prefix Information.
    Prefix(PrefixInformation),
    /// MTU in octets (RFC 4861, 4.6.4).
    Mtu(u32),
    /// Recursive DNS Server (RFC 8106, 5.1).
    RecursiveDns {
        /// Lifetime in seconds; all ones: for ever.
        lifetime_s: u32,
        /// Addresses of the servers.
        servers: Servers<'a>,
    },
    /// Address Registration, extended or not.
    Registration(Registration),
    /// 6LoWPAN Context.
    Context(ContextInformation),
    /// Authoritative Border Router.
    BorderRouter(BorderRouter),
    /// 6LoWPAN Capability Indication.
    Capabilities(Capabilities),
    /// An ignored option: of another type, or of a length that its type does not have.
    Other {
        /// Its type.
        kind: u8,
        /// Its octets behind type and length.
        body: &'a [u8],
    },
}

/// The flag of prefixes of neighbours.
const ON_LINK: u8 = 0x80;
const AUTONOMOUS: u8 = 0x40;
const ROUTED: u8 = 2;
const HAS_TID: u8 = 1;
const COMPRESS: u8 = 0x10;

/// Octets of an extended address, of its option, and of options of one unit.
const LONGEST: usize = 32;

impl<'a> NdOption<'a> {
    /// Reads the option of this type with these octets behind type and length.
    fn read(kind: u8, body: &'a [u8]) -> Self {
        Self::known(kind, body).unwrap_or(NdOption::Other { kind, body })
    }

    //= rfc6775#4.1-3 rfc6775#4.2-3 rfc8505#4.1-3 rfc8505#4.1-5
    fn known(kind: u8, body: &'a [u8]) -> Option<Self> {
        Some(match (kind, body.len()) {
            (SOURCE_LINK_ADDRESS, _) => NdOption::SourceLinkAddress(link_address(body)?),
            (TARGET_LINK_ADDRESS, _) => NdOption::TargetLinkAddress(link_address(body)?),
            (PREFIX_INFORMATION, 30) => {
                let [len, flags, a, b, c, d, e, f, g, h, ..] = *body.first_chunk::<14>()?;
                NdOption::Prefix(PrefixInformation {
                    prefix: address(body.get(14..)?)?,
                    len: Some(len).filter(|len| *len <= 128)?,
                    on_link: flags & ON_LINK != 0,
                    autonomous: flags & AUTONOMOUS != 0,
                    valid_s: u32::from_be_bytes([a, b, c, d]),
                    preferred_s: u32::from_be_bytes([e, f, g, h]),
                })
            }
            (MTU, 6) => {
                let [_, _, a, b, c, d] = *body.first_chunk()?;
                NdOption::Mtu(u32::from_be_bytes([a, b, c, d]))
            }
            // At least one address, and whole ones (RFC 8106, 5.3.1).
            (RECURSIVE_DNS, len) if len >= 22 && len & 15 == 6 => {
                let ([_, _, a, b, c, d], servers) = body.split_first_chunk()?;
                let lifetime_s = u32::from_be_bytes([*a, *b, *c, *d]);
                NdOption::RecursiveDns { lifetime_s, servers: Servers(servers) }
            }
            (REGISTRATION, 14) => {
                let [status, opaque, flags, tid, a, b] = *body.first_chunk()?;
                NdOption::Registration(Registration {
                    status,
                    opaque: (opaque, flags >> 2 & 3),
                    routed: flags & ROUTED != 0,
                    tid: (flags & HAS_TID != 0).then_some(tid),
                    lifetime_min: u16::from_be_bytes([a, b]),
                    rovr: *body.last_chunk()?,
                })
            }
            (CONTEXT, 14 | 22) => {
                let ([len, flags, _, _, a, b], octets) = body.split_first_chunk()?;
                // A prefix of more than 64 bits needs the long form (RFC 6775, 4.2).
                let most = if octets.len() < 16 { 64 } else { 128 };
                let len = Some(*len).filter(|len| *len <= most)?;
                NdOption::Context(ContextInformation {
                    id: flags & 15,
                    compress: flags & COMPRESS != 0,
                    prefix: prefix(octets, len),
                    len,
                    valid_min: u16::from_be_bytes([*a, *b]),
                })
            }
            (BORDER_ROUTER, 22) => {
                let [a, b, c, d, e, f] = *body.first_chunk()?;
                NdOption::BorderRouter(BorderRouter {
                    // The lower half comes first.
                    version: u32::from_be_bytes([c, d, a, b]),
                    valid_min: u16::from_be_bytes([e, f]),
                    address: address(body.get(6..)?)?,
                })
            }
            (CAPABILITIES, 6) => {
                let [a, b] = *body.first_chunk()?;
                NdOption::Capabilities(Capabilities(u16::from_be_bytes([a, b])))
            }
            _ => return None,
        })
    }

    /// Writes the option to the start of `out`. Returns its length in octets.
    ///
    /// # Errors
    /// [`Error::NoRoom`], or [`Error::Invalid`] if it cannot be encoded: no link address, or more
    /// octets than an option has.
    pub fn emit(&self, out: &mut [u8]) -> Result<usize, Error> {
        let mut body = [0; LONGEST];
        let (kind, len, tail) = self.body(&mut body).ok_or(Error::Invalid(Field::NdOption))?;
        let total = len.saturating_add(tail.len()).saturating_add(2);
        let units = u8::try_from(total >> 3).ok().filter(|_| total & 7 == 0);
        let units = units.ok_or(Error::Invalid(Field::NdOption))?;
        let room = out.get_mut(..total).ok_or(Error::NoRoom(Field::NdOption))?;
        put(room, 0, &[kind, units]);
        put(room, 2, body.get(..len).unwrap_or_default());
        put(room, len.saturating_add(2), tail);
        Ok(total)
    }

    /// Returns the type, the number of octets of `body` that follow type and length, and the octets
    /// behind those.
    //= rfc6775#4.2-1 rfc8505#4.1-4 rfc8505#4.1-7
    fn body(&self, body: &mut [u8; LONGEST]) -> Option<(u8, usize, &'a [u8])> {
        Some(match *self {
            NdOption::SourceLinkAddress(link) => (SOURCE_LINK_ADDRESS, put_link(body, link)?, &[]),
            NdOption::TargetLinkAddress(link) => (TARGET_LINK_ADDRESS, put_link(body, link)?, &[]),
            NdOption::Prefix(prefix) => {
                let flags = if prefix.on_link { ON_LINK } else { 0 };
                let flags = flags | if prefix.autonomous { AUTONOMOUS } else { 0 };
                put(body, 0, &[prefix.len, flags]);
                put(body, 2, &prefix.valid_s.to_be_bytes());
                put(body, 6, &prefix.preferred_s.to_be_bytes());
                put(body, 14, &prefix.prefix.octets());
                (PREFIX_INFORMATION, 30, &[])
            }
            NdOption::Mtu(mtu) => {
                put(body, 2, &mtu.to_be_bytes());
                (MTU, 6, &[])
            }
            NdOption::RecursiveDns { lifetime_s, servers: Servers(servers) } => {
                put(body, 2, &lifetime_s.to_be_bytes());
                (RECURSIVE_DNS, 6, servers)
            }
            NdOption::Registration(it) => {
                let (opaque, topology) = it.opaque;
                let flags = (topology & 3) << 2
                    | if it.routed { ROUTED } else { 0 }
                    | if it.tid.is_some() { HAS_TID } else { 0 };
                put(body, 0, &[it.status, opaque, flags, it.tid.unwrap_or(0)]);
                put(body, 4, &it.lifetime_min.to_be_bytes());
                put(body, 6, &it.rovr);
                (REGISTRATION, 14, &[])
            }
            NdOption::Context(it) => {
                let flags = it.id & 15 | if it.compress { COMPRESS } else { 0 };
                put(body, 0, &[it.len, flags]);
                put(body, 4, &it.valid_min.to_be_bytes());
                put(body, 6, &it.prefix.octets());
                (CONTEXT, if it.len > 64 { 22 } else { 14 }, &[])
            }
            NdOption::BorderRouter(it) => {
                let [a, b, c, d] = it.version.to_be_bytes();
                put(body, 0, &[c, d, a, b]);
                put(body, 4, &it.valid_min.to_be_bytes());
                put(body, 6, &it.address.octets());
                (BORDER_ROUTER, 22, &[])
            }
            NdOption::Capabilities(Capabilities(bits)) => {
                put(body, 0, &bits.to_be_bytes());
                (CAPABILITIES, 6, &[])
            }
            NdOption::Other { kind, body } => (kind, 0, body),
        })
    }
}

/// Returns the first `len` bits of an address, followed by zeros.
fn prefix(octets: &[u8], len: u8) -> Ipv6Addr {
    let mut prefix = [0; 16];
    put(&mut prefix, 0, octets);
    let mut bits = len;
    for octet in &mut prefix {
        // An octet without prefix bits becomes zero.
        *octet &= !0xFF_u8.checked_shr(u32::from(bits)).unwrap_or(0);
        bits = bits.saturating_sub(8);
    }
    Ipv6Addr::from(prefix)
}

/// Returns the address in a link-layer address option: of two octets in one unit, of eight in two
/// (RFC 4944, 8). The other octets of a unit are padding.
//= rfc6775#14-4
fn link_address(body: &[u8]) -> Option<Address> {
    match *body {
        [a, b, _, _, _, _] => Some(Address::Short(u16::from_be_bytes([a, b]))),
        [a, b, c, d, e, f, g, h, _, _, _, _, _, _] => {
            Some(Address::Extended([a, b, c, d, e, f, g, h]))
        }
        _ => None,
    }
}

fn put_link(body: &mut [u8], link: Address) -> Option<usize> {
    match link {
        Address::None => None,
        Address::Short(short) => {
            put(body, 0, &short.to_be_bytes());
            Some(6)
        }
        Address::Extended(extended) => {
            put(body, 0, &extended);
            Some(14)
        }
    }
}

/// Options with valid lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options<'a>(&'a [u8]);

impl<'a> Options<'a> {
    /// Checks that options of whole units follow each other to the end.
    pub(super) fn check(octets: &'a [u8]) -> Result<Self, Error> {
        let mut rest = octets;
        while !rest.is_empty() {
            (_, rest) = split(rest).ok_or(Error::Invalid(Field::NdOption))?;
        }
        Ok(Options(octets))
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = NdOption<'a>;

    fn next(&mut self) -> Option<NdOption<'a>> {
        let (option, rest) = split(self.0)?;
        self.0 = rest;
        let (head, body) = option.split_first_chunk::<2>()?;
        Some(NdOption::read(head[0], body))
    }
}

/// Returns the first option and the rest; `None` if the option has no length or exceeds the end.
fn split(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let units = *octets.get(1)?;
    let len = usize::from(units) << 3;
    if len == 0 { None } else { octets.split_at_checked(len) }
}
