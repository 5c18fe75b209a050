//! A bit for each datagram.

/// `8 * N` bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits<const N: usize>([u8; N]);

impl<const N: usize> Bits<N> {
    /// Number of bits.
    pub(super) const LEN: usize = N.saturating_mul(8);
    /// No bit is set.
    pub(super) const NONE: Self = Bits([0; N]);

    /// Returns the value with the first `count` bits set.
    pub(super) fn first(count: usize) -> Self {
        let mut bits = Self::NONE;
        let mut left = count;
        for octet in &mut bits.0 {
            *octet = low(left);
            left = left.saturating_sub(8);
        }
        bits
    }

    /// Sets or clears a bit. Returns whether that has changed it. Bits from [`Bits::LEN`] on do not
    /// exist.
    pub(super) fn change(&mut self, index: usize, set: bool) -> bool {
        let mask = 1u8.wrapping_shl((index % 8) as u32);
        let Some(octet) = self.0.get_mut(index / 8) else { return false };
        let changed = (*octet & mask != 0) != set;
        *octet = if set { *octet | mask } else { *octet & !mask };
        changed
    }

    /// Returns whether it is set.
    pub(super) fn has(&self, index: usize) -> bool {
        let octet = self.0.get(index / 8).copied().unwrap_or(0);
        octet.wrapping_shr((index % 8) as u32) & 1 == 1
    }

    /// Returns the first set bit from `from` on.
    pub(super) fn next(&self, from: usize) -> Option<usize> {
        // Eight at a time after the octet of `from`.
        let aligned = from.min(Self::LEN).next_multiple_of(8);
        if let Some(index) = (from..aligned).find(|&index| self.has(index)) {
            return Some(index);
        }
        let octets = self.0.get(aligned / 8..)?;
        let at = octets.iter().position(|octet| *octet != 0)?;
        let first = octets.get(at)?.trailing_zeros() as usize;
        Some(aligned.saturating_add(at.saturating_mul(8)).saturating_add(first))
    }

    /// Returns the octet of bits `8 * at` to `8 * at + 7`, inverted, and limited to the first
    /// `count` bits.
    pub(super) fn unset(&self, at: usize, count: usize) -> u8 {
        let octet = self.0.get(at).copied().unwrap_or(0);
        !octet & low(count.saturating_sub(at.saturating_mul(8)))
    }
}

/// Returns a mask of the lowest `count` bits of an octet, all of them from eight on.
fn low(count: usize) -> u8 {
    match count {
        0..8 => 1u8.wrapping_shl(count as u32).wrapping_sub(1),
        _ => u8::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_found_wherever_they_are() {
        for set in 0..32 {
            let mut bits = Bits::<4>::NONE;
            assert_eq!(bits.next(0), None);
            assert!(bits.change(set, true) && !bits.change(set, true) && bits.has(set));
            for from in 0..40 {
                assert_eq!(bits.next(from), (from <= set).then_some(set), "{set} from {from}");
            }
            assert!(bits.change(set, false) && !bits.has(set));
        }
        let mut bits = Bits::<4>::NONE;
        assert!(!bits.change(32, true) && !bits.has(32));
    }

    #[test]
    fn bits_beyond_the_end_of_the_file_do_not_count_as_missing() {
        let mut bits = Bits::<2>::first(3);
        assert!(bits.has(2) && !bits.has(3));
        bits.change(9, true);
        assert_eq!([bits.unset(0, 11), bits.unset(1, 11), bits.unset(2, 11)], [0xf8, 0b101, 0]);
        assert_eq!(Bits::<2>::first(99).next(0), Some(0));
        assert_eq!(Bits::<2>::first(16).unset(1, 16), 0);
    }
}
