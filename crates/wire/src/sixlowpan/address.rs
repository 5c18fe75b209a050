//! Addresses in LOWPAN_IPHC (RFC 6282, 3.1.1, 3.2.2 to 3.2.4).
//!
//! All functions work on octets: numbers of 128 bits are expensive on a small core, and octets
//! carried in-line are always a run of the address's own octets.

use super::cursor::{Reader, Writer};
use crate::ieee802154::Address;
use crate::ipv6::is_prefix;
use crate::{Error, Field};
use core::net::Ipv6Addr;

/// An address.
pub(super) type Octets = [u8; 16];

/// A prefix that both ends know by its index, the context identifier (RFC 6282, 3.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// The prefix; bits beyond `len` are ignored.
    pub prefix: Ipv6Addr,
    /// Its length in bits, 0 to 128.
    pub len: u8,
}

impl Context {
    /// Completes the address in `octets`, which end with an interface identifier: context bits are
    /// always used, IID bits fill the bits that the context does not cover, and the rest is zero.
    fn fill(&self, octets: &mut Octets) {
        let prefix = self.prefix.octets();
        if self.len == 64 {
            if let (Some(octets), Some(prefix)) = (octets.first_chunk_mut(), upper(&prefix)) {
                *octets = *prefix;
            }
            return;
        }
        let mut bits = self.len;
        for (octet, prefix) in octets.iter_mut().zip(prefix) {
            if bits < 8 {
                let rest = 0xFF_u8.wrapping_shr(u32::from(bits));
                *octet = (prefix & !rest) | (*octet & rest);
                break;
            }
            *octet = prefix;
            bits = bits.saturating_sub(8);
        }
    }

    /// Writes the prefix of this context into a multicast address,
    /// ffxx:xxLL:PPPP:PPPP:PPPP:PPPP:xxxx:xxxx (RFC 6282, 3.2.4). Returns false for a prefix of
    /// more than 64 bits, which does not fit the form.
    fn fill_multicast(&self, octets: &mut Octets) -> bool {
        let mut prefix = [0; 16];
        self.fill(&mut prefix);
        let [_, _, _, len, middle @ ..] = octets;
        *len = self.len;
        if let (Some(middle), Some(prefix)) = (middle.first_chunk_mut(), upper(&prefix)) {
            *middle = *prefix;
        }
        self.len <= 64
    }

    /// Returns whether `address` is what [`Context::fill`] makes of its own interface identifier.
    fn covers(&self, address: &Octets) -> bool {
        if self.len == 64 {
            let prefix = self.prefix.octets();
            let halves = upper(&prefix).zip(upper(address));
            return halves.is_some_and(|(prefix, half)| same_half(prefix, half));
        }
        let [upper @ .., _, _, _, _, _, _, _, _] = address;
        let clear = |(at, octet): (u8, &u8)| octet & free(self.len.saturating_sub(at << 3)) == 0;
        is_prefix(&self.prefix.octets(), address, self.len)
            && (self.len >= 64 || (0..8).zip(upper).all(clear))
    }

    /// Returns whether two interface identifiers are equal in the bits outside this context.
    fn same_iid(&self, a: &[u8; 8], b: &[u8; 8]) -> bool {
        if self.len <= 64 {
            return same_half(a, b);
        }
        let mut bits = self.len.saturating_sub(64);
        a.iter().zip(b).all(|(a, b)| {
            let rest = free(bits);
            bits = bits.saturating_sub(8);
            (a ^ b) & rest == 0
        })
    }
}

/// Returns the first half of an address.
#[inline]
fn upper(octets: &Octets) -> Option<&[u8; 8]> {
    octets.first_chunk()
}

/// Returns whether two halves of addresses are equal. Compares words, as nearly all prefixes have
/// 64 bits.
#[inline(never)]
fn same_half(a: &[u8; 8], b: &[u8; 8]) -> bool {
    let words = |half: &[u8; 8]| {
        let [a, b, c, d, e, f, g, h] = *half;
        (u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h]))
    };
    let ((a, b), (c, d)) = (words(a), words(b));
    a == c && b == d
}

/// Returns the mask of the bits of an octet after the first `bits` bits.
const fn free(bits: u8) -> u8 {
    match 0xFF_u8.checked_shr(bits as u32) {
        Some(rest) => rest,
        None => 0,
    }
}

/// fe80::/64, the prefix of the codings without a context.
const LINK_LOCAL: Context = Context { prefix: Ipv6Addr::new(0xFE80, 0, 0, 0, 0, 0, 0, 0), len: 64 };

/// The universal/local bit of the first octet of an IID.
const UNIVERSAL: u8 = 2;

/// Returns 0000:00ff:fe00:xxxx (RFC 6282, 3.2.2).
const fn short_iid([a, b]: [u8; 2]) -> [u8; 8] {
    [0, 0, 0, 0xFF, 0xFE, 0, a, b]
}

/// Returns the interface identifier of a link address (RFC 6282, 3.2.2), in the order of the air;
/// `None` for [`Address::None`].
#[inline]
pub const fn derived_iid(link: Address) -> Option<[u8; 8]> {
    match link {
        Address::None => None,
        Address::Short(short) => Some(short_iid(short.to_be_bytes())),
        Address::Extended([first, b, c, d, e, f, g, h]) => {
            Some([first ^ UNIVERSAL, b, c, d, e, f, g, h])
        }
    }
}

/// Returns the link address whose [`derived_iid`] is the IID of `address`.
pub const fn link_address_of(address: Ipv6Addr) -> Address {
    match address.octets() {
        [_, _, _, _, _, _, _, _, 0, 0, 0, 0xFF, 0xFE, 0, a, b] => {
            Address::Short(u16::from_be_bytes([a, b]))
        }
        [_, _, _, _, _, _, _, _, first, b, c, d, e, f, g, h] => {
            Address::Extended([first ^ UNIVERSAL, b, c, d, e, f, g, h])
        }
    }
}

/// SAC or DAC above SAM or DAM.
pub(super) const STATEFUL: u8 = 4;

/// Coding of one address; it fits a register.
#[derive(Clone, Copy, Debug)]
#[repr(align(4))]
pub(super) struct Coding {
    /// SAC and SAM, or DAC and DAM: three bits.
    pub(super) mode: u8,
    /// The context, 0 if none is used.
    pub(super) context: u8,
    /// Number of octets behind the address's first that are carried in-line: flags and scope of a
    /// multicast address.
    lead: u8,
    /// Number of the address's last octets that follow them, 0 to 16.
    tail: u8,
}

impl Coding {
    const fn new(mode: u8, lead: u8, tail: u8) -> Self {
        Coding { mode, context: 0, lead, tail }
    }

    /// Returns the number of octets carried in-line, 0 to 16.
    pub(super) const fn len(&self) -> u8 {
        self.lead.saturating_add(self.tail)
    }

    /// Writes the octets of `address` that are carried in-line.
    pub(super) fn write(&self, octets: &Octets, out: &mut Writer<'_>) {
        let lead = usize::from(self.lead).saturating_add(1);
        let tail = octets.len().saturating_sub(usize::from(self.tail));
        out.put(octets.get(1..lead).unwrap_or_default());
        out.put(octets.get(tail..).unwrap_or_default());
    }
}

/// Returns the shortest coding of a unicast address; `unspecified` is set if `::` may be elided
/// (sources only).
pub(super) fn unicast(
    address: &Octets,
    link: Address,
    contexts: &[Option<Context>],
    unspecified: bool,
) -> Coding {
    if unspecified && *address == [0; 16] {
        return Coding::new(STATEFUL, 0, 0);
    }
    let derived = derived_iid(link);
    let mut best = by_prefix(address, &derived, &LINK_LOCAL);
    for (id, context) in (0u8..16).zip(contexts) {
        // No coding is shorter than zero octets.
        if best.len() == 0 {
            break;
        }
        let Some(context) = context else { continue };
        let coding = by_prefix(address, &derived, context);
        if coding.len() < best.len() {
            best = Coding { mode: coding.mode | STATEFUL, context: id, ..coding };
        }
    }
    best
}

/// Returns the coding by this prefix, not yet marked as that of a context. An address with another
/// prefix is carried whole.
fn by_prefix(address: &Octets, derived: &Option<[u8; 8]>, prefix: &Context) -> Coding {
    let [_, _, _, _, _, _, _, _, iid @ ..] = address;
    let [.., a, b] = *iid;
    if !prefix.covers(address) {
        Coding::new(0, 0, 16)
    } else if derived.is_some_and(|derived| prefix.same_iid(&derived, iid)) {
        Coding::new(3, 0, 0)
    } else if prefix.same_iid(&short_iid([a, b]), iid) {
        // The context may cover bits of the IID, which then need not look like
        // 0000:00ff:fe00:xxxx.
        Coding::new(2, 0, 2)
    } else {
        Coding::new(1, 0, 8)
    }
}

/// Returns the shortest coding of a multicast address.
pub(super) fn multicast(address: &Octets, contexts: &[Option<Context>]) -> Coding {
    let mut best = match *address {
        [0xFF, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, _] => Coding::new(3, 0, 1),
        [0xFF, _, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ..] => Coding::new(2, 1, 3),
        [0xFF, _, 0, 0, 0, 0, 0, 0, 0, 0, 0, ..] => Coding::new(1, 1, 5),
        _ => Coding::new(0, 0, 16),
    };
    for (id, context) in (0u8..16).zip(contexts) {
        let mut expanded = *address;
        if best.len() > 6
            && context.is_some_and(|context| context.fill_multicast(&mut expanded))
            && expanded == *address
        {
            best = Coding { context: id, ..Coding::new(STATEFUL, 2, 4) };
        }
    }
    best
}

/// Reads a unicast address in the form `mode` into `out`; the caller has handled the form
/// [`STATEFUL`] alone.
pub(super) fn read_unicast(
    input: &mut Reader<'_>,
    mode: u8,
    link: Address,
    context: Option<&Context>,
    out: &mut Octets,
) -> Result<(), Error> {
    *out = [0; 16];
    let prefix = if mode < STATEFUL { Some(&LINK_LOCAL) } else { context };
    let prefix = prefix.ok_or(Error::Invalid(Field::ContextIdentifier))?;
    let iid = out.last_chunk_mut().ok_or(Error::NoRoom(Field::Ipv6Header))?;
    match mode & 3 {
        0 => {
            input.fill(out);
            return Ok(());
        }
        1 => input.fill(iid),
        2 => *iid = short_iid(input.word().to_be_bytes()),
        _ => *iid = derived_iid(link).ok_or(Error::Invalid(Field::ElidedAddress))?,
    }
    prefix.fill(out);
    Ok(())
}

/// Reads a multicast address in the form `mode` into `out`.
pub(super) fn read_multicast(
    input: &mut Reader<'_>,
    mode: u8,
    context: Option<&Context>,
    out: &mut Octets,
) -> Result<(), Error> {
    *out = [0xFF, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let (lead, tail) = match mode {
        0 => {
            input.fill(out);
            let multicast = matches!(out, [0xFF, ..]);
            return if multicast { Ok(()) } else { Err(Error::Invalid(Field::MulticastAddress)) };
        }
        1 => (1, 5),
        2 => (1, 3),
        3 => (0, 1),
        STATEFUL => {
            let context = context.ok_or(Error::Invalid(Field::ContextIdentifier))?;
            if !context.fill_multicast(out) {
                return Err(Error::Invalid(Field::ContextPrefixLength));
            }
            (2, 4)
        }
        _ => return Err(Error::Invalid(Field::Dam)),
    };
    let [_, front @ ..] = out;
    input.fill(front.get_mut(..lead).unwrap_or_default());
    input.fill(front.get_mut(15_usize.saturating_sub(tail)..).unwrap_or_default());
    Ok(())
}
