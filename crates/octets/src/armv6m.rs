//! Rust interface of `armv6m.s`.

core::arch::global_asm!(include_str!("armv6m.s"), options(raw));

unsafe extern "C" {
    /// Adds `len` words to `sum`, with end-around carry.
    fn kinglet_sum_words(words: *const u32, len: usize, sum: u32) -> u32;
}

/// Copies between slices of the same length.
#[inline]
pub(crate) fn copy_equal(to: &mut [u8], from: &[u8]) {
    to.copy_from_slice(from);
}

/// The ones' complement sum of the octets as words of this machine, padded with zeros.
pub(crate) fn sum_words(octets: &[u8]) -> u32 {
    // SAFETY: every bit pattern of the octets of a slice is a valid word.
    let (head, words, tail) = unsafe { octets.align_to::<u32>() };
    let mut ends = [[0; 4]; 2];
    let [first, last] = &mut ends;
    first.iter_mut().rev().zip(head.iter().rev()).for_each(|(to, from)| *to = *from);
    last.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
    let [first, last] = ends.map(u32::from_ne_bytes);
    let (sum, carry) = first.overflowing_add(last);
    // SAFETY: the length is that of `words`, and the routine only reads them.
    let sum = unsafe {
        kinglet_sum_words(words.as_ptr(), words.len(), sum.wrapping_add(u32::from(carry)))
    };
    // After an odd head the octets are in the other halves of the words (RFC 1071, 2.B).
    if head.len() % 2 == 1 { sum.rotate_left(8) } else { sum }
}
