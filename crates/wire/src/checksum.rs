//! The Internet checksum (RFC 1071) over pieces, and the IPv6 pseudo-header (RFC 8200, 8.1).
//!
//! A *sum* here is the ones' complement sum of 16-bit words, folded to 16 bits and **not**
//! inverted, so that sums of parts can be combined; the field in a header holds the inverse.
//!
//! ```
//! use kinglet_wire::checksum::{add, field, sum};
//! // The example of RFC 1071, section 3: sum ddf2, whether in one piece or in two.
//! let octets = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
//! assert_eq!(sum(&octets), 0xddf2);
//! assert_eq!(add(sum(&octets[..4]), sum(&octets[4..])), 0xddf2);
//! assert_eq!(field(0xddf2), 0x220d);
//! ```

use core::net::Ipv6Addr;
pub use kinglet_octets::sum;

/// Returns the sum of two sums. The first must be over an even number of octets.
pub const fn add(a: u16, b: u16) -> u16 {
    let (total, carry) = a.overflowing_add(b);
    // After a carry the total is at most 0xFFFE, so this cannot carry again.
    total.wrapping_add(carry as u16)
}

/// Returns the value of a checksum field that makes the whole sum 0xFFFF.
pub const fn field(sum: u16) -> u16 {
    !sum
}

/// Returns the sum over the IPv6 pseudo-header (RFC 8200, 8.1).
pub fn pseudo_header(src: Ipv6Addr, dst: Ipv6Addr, upper_len: u32, next_header: u8) -> u16 {
    let addresses = add(sum(&src.octets()), sum(&dst.octets()));
    add(addresses, length_and_protocol(upper_len, next_header))
}

/// Returns the sum over the pseudo-header without the addresses.
pub const fn length_and_protocol(upper_len: u32, next_header: u8) -> u16 {
    // Each addition of two sums is one of 16 bits with its carry.
    add(add((upper_len >> 16) as u16, upper_len as u16), next_header as u16)
}

/// Sums data that comes in pieces of any length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accumulator {
    sum: u16,
    odd: bool,
}

impl Accumulator {
    /// Starts from `sum` (0, or a pseudo-header's).
    pub const fn new(sum: u16) -> Self {
        Accumulator { sum, odd: false }
    }

    /// Appends `octets`.
    pub fn push(&mut self, octets: &[u8]) {
        let part = sum(octets);
        // A piece that starts at an odd place has its octets in the other halves of the words;
        // ones' complement sums are byte order independent (RFC 1071, 2.B), so swapping suffices.
        self.sum = add(self.sum, if self.odd { part.swap_bytes() } else { part });
        self.odd ^= octets.len() % 2 == 1;
    }

    /// Returns the sum of all pushed octets.
    pub const fn sum(&self) -> u16 {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slow(octets: &[u8]) -> u16 {
        let mut t = 0u32;
        for pair in octets.chunks(2) {
            t += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
            t = (t & 0xFFFF) + (t >> 16);
        }
        t as u16
    }

    #[test]
    fn a_long_run_of_ones_does_not_lose_carries() {
        assert_eq!(sum(&[0xFF; 2048]), 0xFFFF);
    }

    #[test]
    fn the_pseudo_header_counts_length_and_protocol() {
        let (a, b) = (Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED);
        assert_eq!(pseudo_header(a, b, 20, 6), 27);
        assert_eq!(pseudo_header(a, b, 0x1_0000, 6), 8);
        assert_eq!(length_and_protocol(u32::MAX, 6), 6);
    }

    proptest! {
        #[test]
        fn the_fast_sum_is_the_sum_of_words(octets in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(sum(&octets), slow(&octets));
        }

        #[test]
        fn pieces_of_any_length_sum_like_the_whole(
            octets in prop::collection::vec(any::<u8>(), 0..200),
            cuts in prop::collection::vec(0usize..200, 0..5),
        ) {
            let mut cuts: std::vec::Vec<usize> =
                cuts.into_iter().map(|c| c.min(octets.len())).collect();
            cuts.sort_unstable();
            cuts.push(octets.len());
            let (mut acc, mut from) = (Accumulator::new(0), 0);
            for to in cuts {
                acc.push(&octets[from..to]);
                from = to;
            }
            // 0x0000 and 0xFFFF are the two representations of zero.
            prop_assert_eq!(acc.sum() % 0xFFFF, slow(&octets) % 0xFFFF);
        }
    }
}
