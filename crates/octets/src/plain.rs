//! The same without assembly.

/// Copies eight octets per iteration, as two words: source and destination are seldom aligned
/// alike, and the compiler's own copy does not use the fact that a Cortex-M4 loads words from odd
/// addresses.
pub(crate) fn copy_equal(to: &mut [u8], from: &[u8]) {
    let (to_eights, to) = to.as_chunks_mut::<8>();
    let (from_eights, from) = from.as_chunks::<8>();
    for (to, from) in to_eights.iter_mut().zip(from_eights) {
        let &[a, b, c, d, e, f, g, h] = from;
        let (to, last) = to.split_at_mut(4);
        to.copy_from_slice(&[a, b, c, d]);
        last.copy_from_slice(&[e, f, g, h]);
    }
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

/// The ones' complement sum of the octets as words of this machine, padded with zeros.
pub(crate) fn sum_words(octets: &[u8]) -> u32 {
    // Carries accumulate in the upper half: it has room for 2^32 words, more than the octets of a
    // packet.
    let mut total = 0_u64;
    let (words, rest) = octets.as_chunks::<4>();
    for &word in words {
        total = total.wrapping_add(u64::from(u32::from_ne_bytes(word)));
    }
    let mut last = [0; 4];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    total = total.wrapping_add(u64::from(u32::from_ne_bytes(last)));
    let (low, high) = (total as u32, (total >> 32) as u32);
    let (sum, carry) = low.overflowing_add(high);
    sum.wrapping_add(u32::from(carry))
}

#[cfg(test)]
mod tests {
    use crate::{copy, sum};

    #[test]
    fn copying_ends_where_the_shorter_slice_does() {
        let mut octets = [0; 3];
        assert_eq!(copy(&mut octets, &[1, 2]), 2);
        assert_eq!(copy(&mut octets[2..], &[7, 8, 9]), 1);
        assert_eq!(octets, [1, 2, 7]);
        // Longer than one iteration copies.
        let (mut octets, from) = ([0; 30], core::array::from_fn::<u8, 27, _>(|i| i as u8 + 1));
        assert_eq!(copy(&mut octets[2..], &from), 27);
        assert_eq!((octets[0], octets[1], octets[29]), (0, 0, 0));
        assert_eq!(octets[2..29], from);
    }

    /// The algorithm of RFC 1071, 4.1, with each carry added at once.
    fn slow(octets: &[u8]) -> u16 {
        octets.chunks(2).fold(0, |sum: u16, pair| {
            let word = u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]);
            let (sum, carry) = sum.overflowing_add(word);
            sum + u16::from(carry)
        })
    }

    #[test]
    fn the_sum_is_that_of_words_at_every_length_and_place() {
        let octets: [u8; 150] = core::array::from_fn(|i| (i * 89 + 7) as u8);
        for from in 0..8 {
            for to in from..octets.len() {
                assert_eq!(sum(&octets[from..to]), slow(&octets[from..to]), "{from}..{to}");
            }
        }
    }

    #[test]
    fn only_zeros_sum_to_zero() {
        assert_eq!(sum(&[]), 0);
        assert_eq!(sum(&[0; 9]), 0);
        for len in 2..40 {
            assert_eq!(sum(&[0xFF; 40][..len & !1]), 0xFFFF);
        }
    }
}
