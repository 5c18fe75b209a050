//! Sequence numbers (RFC 3561, 6.1), which wrap.

/// Returns whether `a` is newer than `b`: their difference counts as a signed number.
pub(crate) const fn is_newer(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() > 0
}

/// Returns the newer one of the known and the received number.
pub(crate) fn newest(known: Option<u32>, advertised: Option<u32>) -> Option<u32> {
    match (known, advertised) {
        (Some(known), Some(advertised)) if is_newer(known, advertised) => Some(known),
        (known, None) => known,
        (_, advertised) => advertised,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap() {
        for (a, b, expected) in [
            (1, 0, true),
            (0, 0, false),
            (0, u32::MAX, true),
            (u32::MAX, 0, false),
            (1 << 31, u32::MAX >> 1, true),
            (5, u32::MAX - 5, true),
            (1 << 31, 1, true),
            (1 << 31, 0, false),
        ] {
            assert_eq!(is_newer(a, b), expected, "{a} {b}");
        }
        assert_eq!(newest(None, None), None);
        assert_eq!(newest(Some(3), None), Some(3));
        assert_eq!(newest(None, Some(3)), Some(3));
        assert_eq!(newest(Some(0), Some(u32::MAX)), Some(0));
        assert_eq!(newest(Some(u32::MAX), Some(0)), Some(0));
    }
}
