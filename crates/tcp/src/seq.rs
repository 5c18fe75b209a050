//! Sequence numbers (RFC 9293 §3.4): 32 bits, modulo 2^32.
//!
//! There is no `Ord` on purpose: order modulo 2^32 is not transitive, so a sort or a `max` that the
//! standard library would offer could be wrong without notice.

use core::fmt;

/// A sequence number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SeqNum(u32);

impl SeqNum {
    /// The sequence number with this value.
    pub const fn new(value: u32) -> SeqNum {
        SeqNum(value)
    }

    /// The value as in a header.
    pub const fn value(self) -> u32 {
        self.0
    }

    /// The number `octets` later.
    pub const fn plus(self, octets: u32) -> SeqNum {
        SeqNum(self.0.wrapping_add(octets))
    }

    /// The number `octets` earlier.
    pub const fn minus(self, octets: u32) -> SeqNum {
        SeqNum(self.0.wrapping_sub(octets))
    }

    /// Returns whether `self` comes before `other`, if they are less than 2^31 apart.
    pub const fn before(self, other: SeqNum) -> bool {
        // The sign of the difference modulo 2^32 is its top bit.
        self.0.wrapping_sub(other.0) >> 31 == 1
    }

    /// Returns whether `self` comes after `other`.
    pub const fn after(self, other: SeqNum) -> bool {
        other.before(self)
    }

    /// Returns whether `self` is `other` or comes before it.
    pub const fn at_or_before(self, other: SeqNum) -> bool {
        !other.before(self)
    }

    /// Octets from `earlier` to `self`; zero if `earlier` is in fact later.
    pub const fn since(self, earlier: SeqNum) -> u32 {
        if self.before(earlier) { 0 } else { self.0.wrapping_sub(earlier.0) }
    }

    /// The earlier of the two.
    pub const fn earlier(self, other: SeqNum) -> SeqNum {
        if self.before(other) { self } else { other }
    }

    /// The later of the two.
    pub const fn later(self, other: SeqNum) -> SeqNum {
        if self.before(other) { other } else { self }
    }

    /// Returns whether `self` is one of the `len` numbers from `start` on.
    pub const fn in_window(self, start: SeqNum, len: u32) -> bool {
        self.0.wrapping_sub(start.0) < len
    }
}

impl fmt::Debug for SeqNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn order_holds_across_the_wrap() {
        let (a, b) = (SeqNum::new(u32::MAX), SeqNum::new(3));
        assert!(a.before(b) && b.after(a) && a.at_or_before(a) && !a.before(a));
        assert_eq!((b.since(a), a.since(b)), (4, 0));
        assert_eq!((a.earlier(b), a.later(b)), (a, b));
        assert!(b.in_window(a, 5) && !b.in_window(a, 4) && !a.in_window(a, 0));
    }

    proptest! {
        #[test]
        fn distances_undo_themselves(start: u32, len in 1u32..0x7fff_ffff) {
            let (a, b) = (SeqNum::new(start), SeqNum::new(start).plus(len));
            prop_assert!(a.before(b) && !b.before(a));
            prop_assert_eq!((b.since(a), b.minus(len)), (len, a));
        }
    }
}
