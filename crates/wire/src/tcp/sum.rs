//! The Internet checksum (RFC 1071) over octets that come in pieces.

/// A running ones' complement sum; pieces may have odd lengths, as the two halves of a ring do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    total: u64,
    odd: bool,
}

impl Sum {
    /// A sum that starts from `partial`, itself a folded, not inverted sum.
    pub const fn new(partial: u16) -> Sum {
        Sum { total: partial as u64, odd: false }
    }

    /// Adds the next octets.
    pub fn add(&mut self, mut octets: &[u8]) {
        if self.odd
            && let Some((&low, rest)) = octets.split_first()
        {
            self.total = self.total.wrapping_add(u64::from(low));
            self.odd = false;
            octets = rest;
        }
        // 64 bits take 2^32 words of 32 bits before they overflow.
        let mut words = octets.chunks_exact(4);
        for word in &mut words {
            if let &[a, b, c, d] = word {
                self.total = self.total.wrapping_add(u64::from(u32::from_be_bytes([a, b, c, d])));
            }
        }
        let mut pairs = words.remainder().chunks_exact(2);
        for pair in &mut pairs {
            if let &[a, b] = pair {
                self.total = self.total.wrapping_add(u64::from(u16::from_be_bytes([a, b])));
            }
        }
        if let &[last] = pairs.remainder() {
            self.total = self.total.wrapping_add(u64::from(last) << 8);
            self.odd = true;
        }
    }

    /// The sum folded to 16 bits, not inverted.
    pub const fn fold(self) -> u16 {
        let mut total = self.total;
        // 2^16 = 1 modulo 2^16 - 1, so adding the halves keeps the ones' complement sum; a 64-bit
        // value is below 2^16 after at most five rounds.
        while total > 0xffff {
            total = (total & 0xffff).wrapping_add(total >> 16);
        }
        total as u16
    }
}
