//! Network data of a [`Meshed`](crate::Meshed): the prefix of the addresses and the 6LoWPAN
//! contexts of the mesh.
//!
//! | octets | content |
//! |---|---|
//! | 8 | prefix of the addresses, of 64 bits |
//! | each context: 1, 1, *n* | identifier, length in bits, the octets with so many bits |
//!
//! No octets at all mean that there is neither a prefix nor a context.

use crate::message::MAX_DATA;
use core::net::Ipv6Addr;
use kinglet_wire::sixlowpan::Context;

/// Number of context identifiers (RFC 6282, 3.1.2).
const CONTEXTS: u8 = 16;
const PREFIX: usize = 8;

/// Writes network data. Returns their length; `None` if they are too long, or if a context cannot
/// exist.
pub(crate) fn emit(
    prefix: Ipv6Addr,
    contexts: &[(u8, Context)],
    out: &mut [u8; MAX_DATA],
) -> Option<usize> {
    let (first, mut rest) = out.split_first_chunk_mut::<PREFIX>()?;
    let [a, b, c, d, e, f, g, h, ..] = prefix.octets();
    *first = [a, b, c, d, e, f, g, h];
    for &(id, Context { prefix, len: bits }) in contexts {
        if id >= CONTEXTS || bits > 128 {
            return None;
        }
        let octets = prefix.octets();
        let octets = octets.get(..usize::from(bits.div_ceil(8)))?;
        let (head, tail) = rest.split_first_chunk_mut()?;
        *head = [id, bits];
        let (body, tail) = tail.split_at_mut_checked(octets.len())?;
        kinglet_mem::copy(body, octets);
        rest = tail;
    }
    MAX_DATA.checked_sub(rest.len())
}

/// Network data as received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NetworkData<'a> {
    /// The prefix of the addresses.
    pub(crate) prefix: Option<Ipv6Addr>,
    contexts: &'a [u8],
}

impl<'a> NetworkData<'a> {
    /// Returns `None` if the octets are malformed.
    pub(crate) fn parse(octets: &'a [u8]) -> Option<Self> {
        if octets.is_empty() {
            return Some(NetworkData { prefix: None, contexts: &[] });
        }
        let (&[a, b, c, d, e, f, g, h], contexts) = octets.split_first_chunk()?;
        let prefix = Some(Ipv6Addr::from([a, b, c, d, e, f, g, h, 0, 0, 0, 0, 0, 0, 0, 0]));
        let mut rest = contexts;
        while !rest.is_empty() {
            (_, rest) = next(rest)?;
        }
        Some(NetworkData { prefix, contexts })
    }

    /// Returns the context with this identifier.
    pub(crate) fn context(&self, id: u8) -> Option<Context> {
        let mut rest = self.contexts;
        while let Some(((found, context), others)) = next(rest) {
            if found == id {
                return Some(context);
            }
            rest = others;
        }
        None
    }
}

/// Splits off the first context.
fn next(octets: &[u8]) -> Option<((u8, Context), &[u8])> {
    let (&[id, len], rest) = octets.split_first_chunk()?;
    let (octets, rest) = rest.split_at_checked(usize::from(len.div_ceil(8)))?;
    let mut prefix = [0; 16];
    kinglet_mem::copy(prefix.get_mut(..octets.len())?, octets);
    let context = Context { prefix: Ipv6Addr::from(prefix), len };
    (id < CONTEXTS && len <= 128).then_some(((id, context), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const PREFIX: Ipv6Addr = Ipv6Addr::new(0xFD00, 1, 2, 3, 0, 0, 0, 0);
    const HOST: Ipv6Addr = Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, 9);

    #[test]
    fn prefix_and_contexts_survive_the_air() {
        let contexts = [
            (0, Context { prefix: PREFIX, len: 64 }),
            (15, Context { prefix: HOST, len: 128 }),
            (3, Context { prefix: Ipv6Addr::new(0x2001, 0x800, 0, 0, 0, 0, 0, 0), len: 21 }),
            (4, Context { prefix: Ipv6Addr::UNSPECIFIED, len: 0 }),
        ];
        let mut octets = [0; MAX_DATA];
        let len = emit(PREFIX, &contexts, &mut octets).unwrap();
        assert_eq!(len, 8 + 10 + 18 + 5 + 2);
        let data = NetworkData::parse(&octets[..len]).unwrap();
        assert_eq!(data.prefix, Some(PREFIX));
        for (id, context) in contexts {
            assert_eq!(data.context(id), Some(context));
        }
        assert_eq!(data.context(1), None);
        // Shorter by any octet they are malformed, unless a whole context is missing.
        let whole: Vec<usize> =
            (1..len).filter(|&len| NetworkData::parse(&octets[..len]).is_some()).collect();
        assert_eq!(whole, [8, 18, 36, 41]);
    }

    #[test]
    fn contexts_that_cannot_exist_are_refused() {
        let mut octets = [0; MAX_DATA];
        let context = Context { prefix: HOST, len: 128 };
        assert_eq!(emit(PREFIX, &[(16, context)], &mut octets), None);
        assert_eq!(emit(PREFIX, &[(0, Context { len: 129, ..context })], &mut octets), None);
        // Three of 18 octets fit behind the prefix, and four do not.
        assert!(emit(PREFIX, &[(1, context); 3], &mut octets).is_some());
        assert_eq!(emit(PREFIX, &[(1, context); 4], &mut octets), None);
        for context in [&[16, 0][..], &[0, 129], &[0, 8], &[0]] {
            let octets = [&[0; 8], context, &[0; 16]].concat();
            let octets = &octets[..octets.len() - if context == [0, 129] { 0 } else { 16 }];
            assert_eq!(NetworkData::parse(octets), None, "{octets:?}");
        }
        assert_eq!(NetworkData::parse(&[1; 7]), None);
        assert_eq!(NetworkData::parse(&[]).unwrap().prefix, None);
    }
}
