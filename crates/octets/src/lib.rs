//! Copies, clears and sums octets in bulk, for cores that load words from even addresses only. To
//! save code size it also has the divisions for which such cores lack an instruction.
//!
//! | | ARMv6-M | everywhere else |
//! |---|---|---|
//! | `memcpy`, `memmove`, `memset`, `__aeabi_*` | `armv6m.s` | the compiler's own |
//! | [`copy`] | `memcpy` | words in Rust |
//! | [`sum`] | `armv6m.s` | words in Rust |
//! | `__aeabi_uidiv`, `…mod`, `__aeabi_uldivmod` | `armv6m.s` | the compiler's own |
//!
//! A Cortex-M0+ moves four words with two instructions if both ends are word-aligned. The
//! compiler's own copy detects that late, and moves octets where the alignments differ. A binary
//! that links this crate uses these routines instead, for its slices and for structures that are
//! moved. The compiler's divisions are unrolled, to 1.4 kB; those here take 120 octets. They loop
//! over the bits, which costs little in a stack that hardly divides while data flows.
//!
//! This is the only crate of the stack with `unsafe` code: it calls assembly. The image `octets` of
//! `examples/firmware` compares every routine with a plain one, at each length and alignment or for
//! numbers of each length.

#![no_std]
#![deny(unsafe_code)]

#[cfg(armv6m)]
#[allow(unsafe_code, reason = "calls assembly")]
mod armv6m;
#[cfg(not(armv6m))]
mod plain;

#[cfg(armv6m)]
use armv6m::{copy_equal, sum_words};
#[cfg(not(armv6m))]
use plain::{copy_equal, sum_words};

/// Copies octets from the start of `from` to the start of `to`, as many as both have, and returns
/// their number. `copy_from_slice` panics if the lengths differ, and the compiler can seldom prove
/// that they are equal.
#[inline]
pub fn copy(to: &mut [u8], from: &[u8]) -> usize {
    let len = to.len().min(from.len());
    if let (Some(to), Some(from)) = (to.get_mut(..len), from.get(..len)) {
        copy_equal(to, from);
    }
    len
}

/// The ones' complement sum (RFC 1071) of the octets as 16-bit words, most significant octets
/// first, folded to 16 bits and not inverted. An odd last octet counts as if a zero octet followed.
/// It is 0 only if all octets are.
///
/// ```
/// // The example of RFC 1071, section 3.
/// assert_eq!(kinglet_octets::sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
/// ```
pub fn sum(octets: &[u8]) -> u16 {
    let total = sum_words(octets);
    let folded = (total & 0xFFFF).wrapping_add(total >> 16);
    // At most 0x1FFFE, so one more folding leaves 16 bits.
    let folded = (folded & 0xFFFF).wrapping_add(folded >> 16);
    // Sums do not depend on the order of octets in a word (RFC 1071, 2.B).
    u16::from_be(folded as u16)
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
