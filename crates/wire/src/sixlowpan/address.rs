//! Addresses in LOWPAN_IPHC (RFC 6282, 3.1.1, 3.2.2 to 3.2.4).

use super::iphc::{Reader, Writer};
use crate::Error;
use crate::ieee802154::Address;
use crate::ipv6::prefix_mask;
use core::net::Ipv6Addr;

/// A prefix that both ends know by its index, the context identifier (RFC 6282, 3.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// The prefix; bits beyond `len` do not matter.
    pub prefix: Ipv6Addr,
    /// Its length in bits, 0 to 128.
    pub len: u8,
}

impl Context {
    /// The address that this context and an interface identifier stand for: context bits are
    /// always used, IID bits fill what they do not cover, the rest is zero.
    fn expand(&self, iid: u64) -> u128 {
        let mask = prefix_mask(self.len);
        (self.prefix.to_bits() & mask) | (u128::from(iid) & !mask)
    }
}

const LINK_LOCAL: u128 = 0xFE80 << 112;
/// 0000:00ff:fe00:xxxx (RFC 6282, 3.2.2).
const SHORT_IID: u64 = 0x0000_00FF_FE00_0000;
/// The universal/local bit of an IID.
const UNIVERSAL: u64 = 0x0200_0000_0000_0000;

/// The interface identifier of a link address (RFC 6282, 3.2.2); `None` for [`Address::None`].
pub const fn derived_iid(link: Address) -> Option<u64> {
    match link {
        Address::None => None,
        Address::Short(short) => Some(SHORT_IID | short as u64),
        Address::Extended(eui64) => Some(u64::from_be_bytes(eui64) ^ UNIVERSAL),
    }
}

/// The link address whose [`derived_iid`] is the IID of `address`.
pub const fn link_address_of(address: Ipv6Addr) -> Address {
    // The lower half.
    let iid = address.to_bits() as u64;
    if iid & !0xFFFF == SHORT_IID {
        Address::Short(iid as u16)
    } else {
        Address::Extended((iid ^ UNIVERSAL).to_be_bytes())
    }
}

/// How one address is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coding {
    /// SAC or DAC.
    pub(super) stateful: bool,
    /// SAM or DAM.
    pub(super) mode: u8,
    /// The context, 0 if none is used.
    pub(super) context: u8,
    /// The octets carried in-line, right-aligned.
    inline: u128,
    /// How many of them, 0 to 16.
    pub(super) len: u8,
}

impl Coding {
    const fn full(address: u128) -> Self {
        Coding { stateful: false, mode: 0, context: 0, inline: address, len: 16 }
    }

    /// The same at the other end of a shorter or longer coding: fewer octets win.
    fn or_shorter(self, other: Option<Coding>) -> Self {
        match other {
            Some(other) if other.len < self.len => other,
            _ => self,
        }
    }

    pub(super) fn write(&self, out: &mut Writer<'_>) -> Result<(), Error> {
        let octets = self.inline.to_be_bytes();
        let from = octets.len().saturating_sub(usize::from(self.len));
        out.put(octets.get(from..).unwrap_or_default())
    }
}

/// The two candidates for one address: the shortest with no context or context 0, and the shortest
/// with any. The second never is longer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) default: Coding,
    pub(super) any: Coding,
}

/// Codings of a unicast address; `unspecified` says whether `::` may be elided (sources only).
pub(super) fn unicast(
    address: Ipv6Addr,
    link: Address,
    contexts: &[Option<Context>],
    unspecified: bool,
) -> Choice {
    let bits = address.to_bits();
    if unspecified && bits == 0 {
        let coding = Coding { stateful: true, mode: 0, context: 0, inline: 0, len: 0 };
        return Choice { default: coding, any: coding };
    }
    // The lower half.
    let (iid, derived) = (bits as u64, derived_iid(link));
    let link_local = Context { prefix: Ipv6Addr::from_bits(LINK_LOCAL), len: 64 };
    let mut default = Coding::full(bits).or_shorter(by_prefix(bits, iid, derived, &link_local));
    let mut any = default;
    for (id, context) in (0u8..16).zip(contexts) {
        let Some(context) = context else { continue };
        let coding = by_prefix(bits, iid, derived, context).map(|coding| Coding {
            stateful: true,
            context: id,
            ..coding
        });
        if id == 0 {
            default = default.or_shorter(coding);
        }
        any = any.or_shorter(coding);
    }
    Choice { default, any }
}

fn by_prefix(bits: u128, iid: u64, derived: Option<u64>, prefix: &Context) -> Option<Coding> {
    let coding =
        |mode, inline, len| Some(Coding { stateful: false, mode, context: 0, inline, len });
    if derived.is_some_and(|derived| prefix.expand(derived) == bits) {
        return coding(3, 0, 0);
    }
    // The context may cover bits of the IID, which then need not look like 0000:00ff:fe00:xxxx.
    if prefix.expand(SHORT_IID | (iid & 0xFFFF)) == bits {
        return coding(2, bits & 0xFFFF, 2);
    }
    if prefix.expand(iid) == bits {
        return coding(1, u128::from(iid), 8);
    }
    None
}

/// Codings of a multicast address.
pub(super) fn multicast(address: Ipv6Addr, contexts: &[Option<Context>]) -> Choice {
    let bits = address.to_bits();
    let coding = |mode, inline, len| Coding { stateful: false, mode, context: 0, inline, len };
    let flags_scope = (bits >> 112) & 0xFF;
    let below = |octets: u32| bits & !(0xFFFFu128 << 112) & !mask(octets) == 0;
    let default = if bits >> 8 == 0xFF02 << 104 {
        coding(3, bits & 0xFF, 1)
    } else if below(3) {
        coding(2, flags_scope << 24 | (bits & mask(3)), 4)
    } else if below(5) {
        coding(1, flags_scope << 40 | (bits & mask(5)), 6)
    } else {
        Coding::full(bits)
    };
    let mut choice = Choice { default, any: default };
    for (id, context) in (0u8..16).zip(contexts) {
        let Some(context) = context else { continue };
        let inline = (bits >> 104 & 0xFFFF) << 32 | (bits & mask(4));
        if expand_multicast(context, inline) != Some(bits) {
            continue;
        }
        let coding = Some(Coding { stateful: true, context: id, ..coding(0, inline, 6) });
        if id == 0 {
            choice.default = choice.default.or_shorter(coding);
        }
        choice.any = choice.any.or_shorter(coding);
    }
    choice
}

/// The lowest `octets` octets.
fn mask(octets: u32) -> u128 {
    1u128.wrapping_shl(octets.wrapping_mul(8)).wrapping_sub(1)
}

/// ffxx:xxLL:PPPP:PPPP:PPPP:PPPP:xxxx:xxxx (RFC 6282, 3.2.4); a longer prefix than 64 bits does
/// not fit the form.
fn expand_multicast(context: &Context, inline: u128) -> Option<u128> {
    if context.len > 64 {
        return None;
    }
    let prefix = (context.prefix.to_bits() & prefix_mask(context.len)) >> 64;
    let head = 0xFFu128 << 120 | (inline >> 32 & 0xFFFF) << 104;
    Some(head | u128::from(context.len) << 96 | prefix << 32 | (inline & 0xFFFF_FFFF))
}

/// Reads a unicast address in the form (`stateful`, `mode`); the caller has dealt with the form
/// (true, 0).
pub(super) fn read_unicast(
    input: &mut Reader<'_>,
    stateful: bool,
    mode: u8,
    link: Address,
    context: Option<Context>,
) -> Result<Ipv6Addr, Error> {
    if mode == 0 {
        return Ok(Ipv6Addr::from_bits(input.number(16)?));
    }
    let prefix = if stateful {
        context.ok_or(Error::Invalid("context identifier"))?
    } else {
        Context { prefix: Ipv6Addr::from_bits(LINK_LOCAL), len: 64 }
    };
    let iid = match mode {
        // Eight octets.
        1 => input.number(8)? as u64,
        // Two octets.
        2 => SHORT_IID | input.number(2)? as u64,
        _ => derived_iid(link).ok_or(Error::Invalid("elided address"))?,
    };
    Ok(Ipv6Addr::from_bits(prefix.expand(iid)))
}

/// Reads a multicast address.
pub(super) fn read_multicast(
    input: &mut Reader<'_>,
    stateful: bool,
    mode: u8,
    context: Option<Context>,
) -> Result<Ipv6Addr, Error> {
    let sparse = |inline: u128, octets: u32| {
        let shift = octets.wrapping_mul(8);
        0xFFu128 << 120 | inline.wrapping_shr(shift) << 112 | (inline & mask(octets))
    };
    let bits = match (stateful, mode) {
        (false, 0) => {
            let bits = input.number(16)?;
            if bits >> 120 != 0xFF {
                return Err(Error::Invalid("multicast address"));
            }
            bits
        }
        (false, 1) => sparse(input.number(6)?, 5),
        (false, 2) => sparse(input.number(4)?, 3),
        (false, _) => 0xFF02 << 112 | input.number(1)?,
        (true, 0) => {
            let context = context.ok_or(Error::Invalid("context identifier"))?;
            let inline = input.number(6)?;
            expand_multicast(&context, inline).ok_or(Error::Invalid("context prefix length"))?
        }
        (true, _) => return Err(Error::Invalid("DAM")),
    };
    Ok(Ipv6Addr::from_bits(bits))
}
