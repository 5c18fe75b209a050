//! The ECN field of an IP header (RFC 3168 §5): the two bits that a network and the transports
//! above it share.

/// A codepoint: the capability of the sender, or the mark of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Ecn {
    /// The transport does not support marks: a congested router drops the packet.
    #[default]
    NotEct = 0b00,
    /// ECN-capable transport, the codepoint of experiments (RFC 8311 §3.1).
    Ect1 = 0b01,
    /// ECN-capable transport.
    Ect0 = 0b10,
    /// A router has experienced congestion.
    Ce = 0b11,
}

impl Ecn {
    /// Returns the codepoint in the lower two bits of a Traffic Class; the upper six are DSCP.
    pub const fn of(traffic_class: u8) -> Ecn {
        match traffic_class & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Returns a Traffic Class with this codepoint and a DSCP of zero.
    pub const fn traffic_class(self) -> u8 {
        self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::Ecn;

    #[test]
    fn the_codepoint_is_in_the_lower_two_bits_whatever_the_dscp() {
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
            assert_eq!(Ecn::of(ecn.traffic_class()), ecn);
            assert_eq!(Ecn::of(ecn.traffic_class() | 0b1011_1000), ecn);
        }
        assert_eq!(Ecn::Ce.traffic_class(), 3);
        assert_eq!(Ecn::Ect0.traffic_class(), 2);
    }
}
