//! Sequence numbers (RFC 9293 §3.4).

/// A sequence number; comparisons are modulo 2³².
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Seq(pub(crate) u32);

impl Seq {
    /// The sequence number `octets` after this one.
    pub(crate) const fn plus(self, octets: u32) -> Seq {
        Seq(self.0.wrapping_add(octets))
    }

    /// Distance of this number from `earlier`, which is before it.
    pub(crate) const fn since(self, earlier: Seq) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// Returns true if this is before `other`.
    pub(crate) const fn before(self, other: Seq) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// The later of both.
    pub(crate) const fn later(self, other: Seq) -> Seq {
        if self.before(other) { other } else { self }
    }

    /// The earlier of both.
    pub(crate) const fn earlier(self, other: Seq) -> Seq {
        if other.before(self) { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_goes_round() {
        let last = Seq(u32::MAX);
        assert!(last.before(last.plus(2)));
        assert_eq!(last.plus(2).since(last), 2);
        assert_eq!(last.later(Seq(1)), Seq(1));
        assert_eq!(last.earlier(Seq(1)), last);
        assert!(!last.before(last));
    }
}
